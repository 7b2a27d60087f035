"""Words to the table by email: the `say` lines of a reply, or all of a mail to the address of table talk.

Words and moves do not depend on each other: a refused move does not swallow the words, nor refused words the move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from byzanz.moves import RulesError
from server.community import talk
from server.community.plain_text import is_masked
from server.errors import Refused
from server.mail.incoming import commands, reply
from server.mail.incoming.commands import BadReply, ReplyLine
from server.mail.incoming.quoting import SAY, OwnLine
from server.play import positions
from server.store.facts import Fact
from server.store.links import SeatAccess
from server.store.models import IncomingMail


@dataclass(frozen=True, slots=True)
class Read:
    """What a mail asks for.

    Args:
        moves: the lines that are moves and orders, or nonsense.
        words: to the table, or empty.
        fault: why the mail cannot be used at all.
        meant: it has a fault, but was meant for the game or its table.
    """

    moves: tuple[OwnLine, ...] = ()
    words: str = ""
    fault: BadReply | None = None
    meant: bool = False

    @property
    def only_words(self) -> bool:
        """Whether it is talk and nothing else: that proves nothing about what its writer has read on their page."""
        return bool(self.words) and not self.moves


@dataclass(slots=True)
class Outcome:
    """What was made of an email.

    Args:
        lines: its moves and orders.
        fault: what is wrong with the mail as a whole.
        said: whether its words were said.
        masked: whether an email address or a personal link in them was replaced.
        cut: whether more could have been words, so that their writer has to hear where the quote was found.
        unsaid: why they were not.
    """

    lines: list[ReplyLine] = field(default_factory=list)
    fault: RulesError | Refused | None = None
    said: bool = False
    masked: bool = False
    cut: bool = False
    unsaid: Refused | None = None

    @property
    def kind(self) -> str:
        """How the mail is remembered."""
        return "reply" if self.said or any(line.done for line in self.lines) else "refused"

    @property
    def needs_answer(self) -> bool:
        """Whether its writer gets an answer; words that were said as they were typed need none."""
        return bool(self.lines or self.fault or self.unsaid or self.masked or self.cut)

    def as_fact(self) -> Fact:
        """Return the outcome for moderators, without any of the words."""
        lines = Fact(
            "carried_out", {"done": sum(bool(line.done) for line in self.lines), "of": len(self.lines)}
        )
        if not self.said and self.unsaid is None:
            return lines
        words = Fact("said" if self.said else "not_said")
        return Fact("with_words", {"lines": lines, "words": words}) if self.lines or self.fault else words

    def as_details(self) -> dict[str, Any]:
        """Return the outcome as the answer's details store it."""
        details = {
            "lines": [line.as_details() for line in self.lines],
            **commands.refusal_details(self.fault),
        }
        if self.said or self.unsaid is not None:
            about = {"said": self.said, "masked": self.masked, "cut": self.cut}
            details["words"] = {**about, **commands.refusal_details(self.unsaid)}
        return details


def read_reply(access: SeatAccess, lines: Sequence[OwnLine]) -> Read:
    """Part the lines of a reply: those that begin with `say` are words, the others are for the game.

    A line that a mail program may have broken off from words belongs to them, unless it can be read as a move: then
    nobody can tell, and nothing is done. What closes a mail is left out, unless it could be meant as a move.
    """
    if len(lines) > reply.MOST_OWN_LINES:
        return Read(moves=tuple(lines))
    rules = positions.rules_of(access.game)
    moves: list[OwnLine] = []
    words: list[str] = []
    saying = False
    for line in lines:
        found = SAY.match(line.typed) or SAY.match(line)
        if found is not None:
            saying = True
            words.append(found[2].rstrip("*_") if set("*_") & set(found[1]) else found[2])
        elif line.closes and not commands.is_like_move(rules, line):
            continue
        elif not (saying and line.joins):
            saying = False
            moves.append(line)
        elif commands.is_readable(rules, line):
            return Read(fault=_either(line), meant=True)
        else:
            words[-1] += " " + line.typed
    return Read(tuple(moves), "\n".join(words))


def read_talk(access: SeatAccess, lines: Sequence[OwnLine]) -> Read:
    """Read a mail to the address of table talk: all of it is words, unless every line could be a move.

    Moves sent there by mistake would show the table cards that its players do not know.
    """
    if len(lines) > reply.MOST_OWN_LINES:
        most = reply.MOST_OWN_LINES
        return Read(
            fault=BadReply("Your email has more than %(most)s lines, so nothing was said.", most=most)
        )
    if not lines:
        return Read(
            fault=BadReply("Your email contains no words above the quoted text, so nothing was said.")
        )
    rules = positions.rules_of(access.game)
    if all(commands.is_readable(rules, line) for line in lines):
        return Read(
            meant=True,
            fault=BadReply(
                "“%(text)s” reads like a move, but everyone at the table reads replies to this address. Nothing was "
                "said or played. To play it, reply to the email about your turn.",
                text=lines[0],
            ),
        )
    words = lines[0].typed
    for line in lines[1:]:
        words += (" " if line.joins else "\n") + line.typed
    return Read(words=words)


def is_understood(access: SeatAccess, asked: Read, *, wholly: bool = False) -> bool:
    """Whether a mail says anything that is meant for us: words, or a line that is a move or an order, possible or not.

    Only then does it show that the player is back and that their address works; an absence note may lack every header
    by which it would be known.

    Args:
        wholly: all of its lines must be such.
    """
    if asked.meant or (asked.words and not (wholly and asked.moves)):
        return True
    if len(asked.moves) > reply.MOST_OWN_LINES:
        return False
    rules = positions.rules_of(access.game)
    read = [line.fault is None for line in commands.read_lines(rules, asked.moves)]
    return any(read) and (all(read) or not wholly)


def _either(line: OwnLine) -> BadReply:
    return BadReply(
        "“%(text)s” could be a move or the end of your words, so nothing was played and nothing was said. Put an empty "
        "line between them and send them again.",
        text=line,
    )


def carry_out(access: SeatAccess, asked: Read, row: IncomingMail, now: datetime) -> Outcome:
    """Say the words of a mail, then carry out its moves.

    Args:
        access: the seat that its address opens.
        row: the incoming mail, claimed; its digest makes that the words are said once, however often it comes.
    """
    if asked.fault is not None:
        return Outcome(fault=asked.fault)
    done = Outcome()
    if asked.words:
        done.unsaid = _say(access, asked.words, row, now, done)
    if not asked.only_words:
        done.lines, done.fault = commands.carry_out(access, asked.moves, row, now)
    return done


def _say(access: SeatAccess, words: str, row: IncomingMail, now: datetime, done: Outcome) -> Refused | None:
    try:
        word = talk.say(
            access.game.id,
            access.link.person_id,
            words,
            request_id=f"mail-{row.digest[:40]}",
            now=now,
            link_id=access.link.id,
        )
    except Refused as refused:
        return refused
    done.said, done.masked = True, is_masked(word.text)
    return None
