"""Carrying out a reply or an email to the table: its moves and orders are played, its words are said.

The lines of moves and orders are parsed, then played one after another. Nothing is played unless every line can be
parsed. Each line has its own request id, so that a line played before a crash is not played again after it.

Words and moves do not depend on each other: a refused move does not swallow the words, nor refused words the move.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from sqlalchemy import func, or_, select

from byzanz.moves import RulesError
from byzanz.rules import Rules
from server import play
from server.community import talk
from server.community.talk import is_masked
from server.errors import NotYourTurn, Refused, Stale
from server.mail.incoming import reply
from server.mail.incoming.quoting import SAY, OwnLine
from server.play import positions
from server.store.engine import reading
from server.store.facts import Fact
from server.store.links import SeatAccess
from server.store.models import Entry, IncomingMail, StandingOrder, Turn

LOGGER = logging.getLogger(__name__)
WRAP_LENGTH = 60
"""Length from which mail clients may wrap a line; a shorter line ends because its writer ended it."""
ALIKE = 0.75
"""How much of a word must be that of a verb to be taken for it mistyped."""


class BadReply(Refused):
    """A reply that cannot be used; the message says what to do."""

    status = 422
    code = "bad_mail"


@dataclass(slots=True)
class ReplyLine:
    """A line of a reply and its outcome.

    Args:
        kind: move, order or off (withdraw all orders); `text` of an order is without the word "order".
        done: played, ordered or withdrawn; empty if it was not carried out.
        seq: of the resulting entry; for withdrawn orders their number.
        order: the standing order, canonical.
        fault: why it was not carried out.
    """

    source: str
    text: str
    kind: str
    done: str = ""
    seq: int = 0
    order: str = ""
    fault: RulesError | Refused | None = None

    def as_details(self) -> dict[str, Any]:
        """Return the line as the answer's details store it."""
        row = {"text": self.source, "done": self.done, "seq": self.seq, "order": self.order}
        return row | refusal_details(self.fault)


def _carry_out_moves(
    access: SeatAccess, said: tuple[str, ...], row: IncomingMail, now: datetime
) -> tuple[list[ReplyLine], RulesError | Refused | None]:
    """Carry out a reply: nothing unless each line can be parsed, then line by line until one is refused.

    Args:
        access: the seat that its address opens.
        said: its lines.
        row: the incoming mail, claimed.

    Returns:
        The outcome of each line, and what is wrong with the mail as a whole, if anything.
    """
    if not said:
        return [], BadReply(
            "Your email contains no move, so nothing has changed. Write each move on a line of its own, above the "
            "quoted text."
        )
    if len(said) > reply.MOST_OWN_LINES:
        return [], BadReply(
            "Your email has more than %(most)s lines besides the quoted text, so nothing was played. Write each move "
            "on a line of its own and nothing else.",
            most=reply.MOST_OWN_LINES,
        )
    rules = positions.rules_of(access.game)
    lines = read_lines(rules, said)
    understood = any(line.fault is None for line in lines)
    if not any(line.fault for line in lines):
        _play_all(access, lines, row, now)
    if understood and (access.seat.autopilot or access.seat.missed):
        _reclaim(access, now)
    return lines, None


def read_lines(rules: Rules[Any, Any], said: tuple[str, ...]) -> list[ReplyLine]:
    """Parse each line as a move or an order; a line that a mail client wrapped is joined."""
    lines: list[ReplyLine] = []
    for text in said:
        line = _read_line(rules, text)
        if line.fault and lines and len(lines[-1].source) >= WRAP_LENGTH:
            mended = _read_line(rules, f"{lines[-1].source} {text}")
            if not mended.fault:
                lines[-1] = mended
                continue
        lines.append(line)
    return lines


def is_readable(rules: Rules[Any, Any], said: str) -> bool:
    """Whether a line can be read as a move or an order of this game, legal or not, or asks about one."""
    return _read_line(rules, " ".join(said.replace("?", " ").split())).fault is None


def is_like_move(rules: Rules[Any, Any], said: str) -> bool:
    """Whether a line could be meant as a move or an order: it has a verb of this game, perhaps mistyped."""
    typed = said.encode("ascii", "ignore").decode().casefold().split()
    if is_readable(rules, said) or not typed:
        return bool(typed)
    try:
        rules.parse(" ".join(typed))
    except RulesError as error:
        known = str(error.places.get("known", "")).split(", ")
    else:
        return True
    verbs = [*known, "order", "orders"]
    return known == [""] or any(get_close_matches(word, verbs, 1, ALIKE) for word in typed)


def _read_line(rules: Rules[Any, Any], said: str) -> ReplyLine:
    if "?" in said:
        question = BadReply(
            "This is a question, so nothing was played. Write the move without a question mark."
        )
        return ReplyLine(said, said, "move", fault=question)
    first, _blank, rest = said.partition(" ")
    word = first.casefold()
    if word in ("order", "orders") and rest.casefold() in ("off", "none"):
        return ReplyLine(said, "", "off")
    kind, typed = ("order", rest) if word == "order" else ("move", said)
    line = ReplyLine(said, rules.reply_text(typed), kind)
    try:
        text = line.text[: play.LONGEST_TEXT + 1]
        rules.parse_order(text) if line.kind == "order" else rules.parse(text)
    except RulesError as error:
        line.fault = error
    return line


def _play_all(access: SeatAccess, lines: list[ReplyLine], row: IncomingMail, now: datetime) -> None:
    """Play one line after another, each in its own transaction; stop at the first refusal."""
    seen = access.link.seq or 0
    left = _orders_already_left(access, row)
    for number, line in enumerate(lines, 1):
        try:
            if line.kind == "order" and left:
                left -= 1  # left before a crash; the first ones were stored
                line.done, line.order = "ordered", line.text
            elif line.kind == "order":
                ordered = play.place_order(
                    access.game.id,
                    access.seat.seat,
                    line.text,
                    now=now,
                    link_id=access.link.id,
                    left_at=row.at,
                )
                line.done, line.order = "ordered", ordered.text
            elif line.kind == "off":
                line.seq = play.withdraw_order(
                    access.game.id, access.seat.seat, None, now=now, link_id=access.link.id
                )
                line.done = "withdrawn"
            else:
                seen = _play(access, line, f"mail-{row.digest[:40]}-{number}", seen, now)
        except (NotYourTurn, Stale):
            line.fault = _outdated(access, lines)
            return
        except (RulesError, Refused) as error:
            line.fault = error
            return


def _outdated(access: SeatAccess, lines: list[ReplyLine]) -> Refused:
    if any(line.done for line in lines):
        return Stale("Not played: the game moved on after the previous line. Reply to the latest email.")
    return Stale(
        "That turn is over. If it is your turn again, reply to the latest email about “%(game)s”.",
        game=access.game.name,
    )


def _play(access: SeatAccess, line: ReplyLine, request_id: str, seen: int, now: datetime) -> int:
    """Play a move and return the seq that its writer counts as having seen for the next line."""
    receipt = play.submit(
        access.game.id,
        access.seat.seat,
        line.text,
        seen=seen,
        request_id=request_id,
        now=now,
        link_id=access.link.id,
    )
    line.done, line.seq = "played", receipt.seq
    return max(seen, _opened_by(access, receipt.seq))


def _opened_by(access: SeatAccess, seq: int) -> int:
    """Return the head at which this seat's own move opened its next question with nothing else in between; else 0.

    "bid …" and "tax …" in one mail mean the tax on that bid. A question that came after another player, chance or a
    moderator has moved cannot have been meant.
    """
    with reading() as session:
        turn = session.get(Turn, (access.game.id, access.seat.seat))
        if turn is None:
            return 0
        between = (Entry.game_id == access.game.id, Entry.seq > seq, Entry.seq <= turn.opened_seq)
        of_others = or_(Entry.seat.is_(None), Entry.seat != access.seat.seat)
        others = select(func.count()).where(*between, of_others)
        return 0 if session.scalar(others) else turn.opened_seq


def _orders_already_left(access: SeatAccess, row: IncomingMail) -> int:
    """Count the orders of this mail left before a crash: they carry the time of its first claim."""
    own = (StandingOrder.game_id == access.game.id, StandingOrder.seat == access.seat.seat)
    with reading() as session:
        return session.scalar(select(func.count()).where(*own, StandingOrder.left_at == row.at)) or 0


def _reclaim(access: SeatAccess, now: datetime) -> None:
    """End the seat's autopilot: a line that could be read shows that the player is back."""
    try:
        play.reclaim(access.game.id, access.seat.seat, now=now, link_id=access.link.id)
    except Refused as refused:
        LOGGER.info("game %s: not reclaimed by mail: %s", access.game.id, refused)


def refusal_details(fault: RulesError | Refused | None) -> dict[str, Any]:
    """Return a refusal in the form stored with the answer, to be translated for its reader."""
    if fault is None:
        return {"message": "", "places": {}}
    places = {
        name: value if isinstance(value, int) else str(value)[:200] for name, value in fault.places.items()
    }
    return {"message": fault.message, "places": places}


# ---- words, and a whole email: the `say` lines of a reply, or all of an email to the address of table talk ----


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
            **refusal_details(self.fault),
        }
        if self.said or self.unsaid is not None:
            about = {"said": self.said, "masked": self.masked, "cut": self.cut}
            details["words"] = {**about, **refusal_details(self.unsaid)}
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
        elif line.closes and not is_like_move(rules, line):
            continue
        elif not (saying and line.joins):
            saying = False
            moves.append(line)
        elif is_readable(rules, line):
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
    if all(is_readable(rules, line) for line in lines):
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
    read = [line.fault is None for line in read_lines(rules, asked.moves)]
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
        done.lines, done.fault = _carry_out_moves(access, asked.moves, row, now)
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
