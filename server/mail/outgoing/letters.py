"""What emails tell, as their templates lay it out: typed objects that decide what is shown.

Only what is said of table talk is read from the database here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.record import Cause
from server.community import talk
from server.community.talk import Said
from server.mail.text import one_line
from server.store import links, log, mail_kinds, people
from server.store.mail_kinds import Content, Stop
from server.store.models import SeatStatus
from server.store.statements import GameRow, MailRow, PersonRow, SeatRow

# ---- a turn ----

EXAMPLES = 3
"""How many example replies a turn mail shows."""
LONGEST_EXAMPLE = 60
"""Characters that mail clients leave on one line."""
LEGAL_MOVES = 40
"""How many moves a reply to a mail lists at most; the page has all of them."""
NEWS = 4
"""How many lines of news a turn mail shows."""


class Choice(NamedTuple):
    """A move as a turn mail offers it.

    Args:
        address: of the turn page with the move chosen.
        typed: the mail also shows how to reply with it.
    """

    move: str
    address: str
    typed: bool


class News(NamedTuple):
    """The newest of what has happened; `whole` if there are more lines, or none, so that the log tells everything."""

    lines: list[str]
    whole: bool


@dataclass(frozen=True, kw_only=True)
class TurnMail:
    """A turn, or the reminder of it.

    Args:
        link: of the turn page; `at`: where the log stood.
        reply: the address to which moves are sent, if any.
        missed: the reader missed the turn before, too.
        fallback: the move that is played if no answer comes.
        entries: since the reader's last move, as they may see them; `left_out`: how many older ones are not among them.
        facts: what the moves did, by the number of their entry.
        stopped: standing orders that have stopped, with their text and the reason.
    """

    link: str | None
    at: str
    reply: str | None
    reminder: bool
    missed: bool
    moves: Sequence[str]
    fallback: str
    entries: Sequence[record.Entry]
    left_out: int
    facts: Mapping[int, Any]
    stopped: Sequence[Mapping[str, str]]

    @cached_property
    def examples(self) -> list[str]:
        """The moves that show how to reply."""
        return examples(self.moves, self.fallback)

    @cached_property
    def choices(self) -> list[Choice]:
        """The moves that the mail links to."""
        shown = self.examples
        return [
            Choice(
                move,
                f"{self.link}?{urlencode({'move': move, 'at': self.at})}",
                self.reply is not None and move in shown,
            )
            for move in linked(shown, self.fallback)
        ]

    @property
    def other_examples(self) -> list[str]:
        """The example replies that no link shows; none where nobody can reply."""
        chosen = linked(self.examples, self.fallback)
        return [move for move in self.examples if move not in chosen] if self.reply is not None else []

    def newest(self, lines: str) -> News:
        """Return what the mail shows of the lines in which a game tells its news."""
        said = [line for line in map(type(lines).strip, lines.splitlines()) if line]
        return News(said[:NEWS], not said or self.left_out > 0 or len(said) > NEWS)

    def is_default(self, entry: record.Entry, reader: int | None) -> bool:
        """Whether a move was played for the reader because they ran out of time."""
        return entry.by == Cause.CLOCK and entry.seat == reader and not record.table_act(entry)

    def is_logged(self, entry: record.Entry, news: News) -> bool:
        """Whether the mail lists an entry: what its news leave out, table acts, and what has a note."""
        return news.whole or bool(entry.note) or record.table_act(entry) is not None


def examples(moves: Sequence[str], fallback: str) -> list[str]:
    """Choose moves that show how to reply by email: one per verb, then any, all short enough for one line.

    Any of a long list would be there for no reason: the shortest stands for all if nothing else is left.

    Args:
        moves: the legal moves.
        fallback: the move that is played if no answer comes.
    """
    others = [move for move in moves if move != fallback]
    verbs = {move.partition(" ")[0]: move for move in reversed(others)}
    spread = [others[0], others[len(others) // 2], others[-1]] if 0 < len(others) < LEGAL_MOVES else []
    verbs = {verb: move for verb, move in verbs.items() if len(verbs) > 1 or spread}
    candidates = dict.fromkeys((fallback, *reversed(verbs.values()), *spread))
    return [move for move in candidates if len(move) <= LONGEST_EXAMPLE][:EXAMPLES] or [_short(moves)]


def _short(moves: Sequence[str]) -> str:
    """Return the shortest move with more than a verb, which shows how to write the others; any if there is none."""
    return min(moves, key=lambda move: (" " not in move, len(move)))


def linked(shown: Sequence[str], fallback: str) -> list[str]:
    """Return the moves that a turn mail links to: its examples; a fallback too long for them comes first instead.

    Args:
        shown: the example replies.
        fallback: the move that is played if no answer comes.
    """
    return list(shown) if fallback in shown else [fallback, *(move for move in shown if " " not in move)]


# ---- an invitation ----


class Guest(NamedTuple):
    """A seat as an invitation lists it; `known`: `you`, `invited`, `declined`, `bot`, or nothing."""

    name: str
    known: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationMail:
    """An invitation, or the reminder of it.

    Args:
        reminder: it is one.
        before: the name of the game that this one follows, if its reader held a seat there.
        own_game: its reader organises the game.
        company: other people are invited, too.
        message: the organiser's line.
        names, statuses, bots: of the seats; `me`: the reader's.
    """

    reminder: bool
    before: str | None
    own_game: bool
    company: bool
    message: str
    names: Sequence[str]
    statuses: Sequence[str]
    bots: Sequence[int]
    me: int | None

    @property
    def guests(self) -> list[Guest]:
        """The seats in order."""
        return [Guest(name, self._known(seat) if name else "") for seat, name in enumerate(self.names)]

    def _known(self, seat: int) -> str:
        if seat == self.me:
            return "you"
        if self.statuses[seat] in (SeatStatus.INVITED, SeatStatus.DECLINED):
            return str(self.statuses[seat])
        return "bot" if seat in self.bots else ""


# ---- the end ----


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingMail:
    """How a game ended.

    Args:
        scores, winners: by seat; `me`: the reader's.
        ranking: the place of each seat, with the seat, the best first.
        tied: the seats that were placed by something else than their scores.
        abandoned: a moderator has ended it early.
    """

    scores: Sequence[int]
    winners: Sequence[int]
    ranking: Sequence[tuple[int, int]]
    tied: Sequence[int]
    abandoned: bool
    me: int

    @property
    def outcome(self) -> str:
        """What the first sentence says: `abandoned`, `won`, `lost` of two, `placed`, or `shared` by others."""
        if self.abandoned:
            return "abandoned"
        if self.me in self.winners:
            return "won"
        if len(self.winners) > 1:
            return "shared"
        return "lost" if len(self.scores) == 2 else "placed"

    @property
    def place(self) -> int:
        """The reader's place."""
        return next(place for place, seat in self.ranking if seat == self.me)

    @property
    def own_score(self) -> int:
        """The reader's score."""
        return self.scores[self.me]

    @property
    def best_score(self) -> int | None:
        """The score of the winner; None if nobody has won."""
        return self.scores[self.winners[0]] if self.winners else None


# ---- the answer to an email ----


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMail:
    """What came of an email of the reader.

    Args:
        lines: of their email, each with its text, what was `done`, and `why` it was refused.
        fault: why the email as a whole was refused, or empty.
        speech: whether the words in it were said, or empty.
        asked: it is the reader's turn now.
        moves: those that they can reply with.
    """

    lines: Sequence[Mapping[str, Any]]
    fault: str
    speech: str
    asked: bool
    moves: Sequence[str]

    @property
    def played(self) -> int:
        """How many lines were carried out."""
        return sum(bool(line["done"]) for line in self.lines)

    @property
    def outcome(self) -> str:
        """What the first sentence says: `fault`, `said`, `partly`, `nothing`, `nothing_changed` or `done`."""
        if self.fault:
            return "fault"
        if self.speech and not self.lines:
            return "said"
        if not any(line["why"] for line in self.lines):
            return "done"
        if self.played:
            return "partly"
        return "nothing" if self.speech else "nothing_changed"

    @property
    def listed(self) -> list[str]:
        """The moves that it lists."""
        return list(self.moves[:LEGAL_MOVES])

    @property
    def more(self) -> int:
        """How many moves are only on the page."""
        return len(self.moves) - len(self.listed)


# ---- table talk: what others have said, as one reader may read it; no clock ever depends on it ----

LINES_OF_WORDS = 3
"""Lines of one person's words that an email shows."""
WORDS = 20
"""Words that one email shows at most, the newest; the page has all of them."""
_HASH = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b", re.IGNORECASE)
"""A whole hash: with it, words could look like the lines from which an email's reader checks the log."""


@dataclass(frozen=True, slots=True)
class Talk:
    """The table talk that an email quotes.

    Args:
        words: the name of the speaker and the lines shown of each, oldest first.
        left_out: how many older ones are only on the page.
    """

    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.words)

    def __len__(self) -> int:
        return len(self.words) + self.left_out


def is_talk(mail: MailRow) -> bool:
    """Whether a mail is about nothing but table talk."""
    return mail_kinds.of(mail.kind).stop is Stop.TALK


def talk_in_mail(
    session: Session,
    mail: MailRow,
    game: GameRow | None,
    seat: SeatRow | None,
    reader: PersonRow,
    context: Mapping[str, Any],
) -> Talk:
    """Return the table talk that a mail tells.

    Args:
        context: the rest of what its template gets.
    """
    merged = context["merged_mails"]
    if game is None or seat is None or not wants_talk(game, reader):
        return Talk()
    if is_talk(mail):
        return talk_news(session, game, mail, merged)
    after = _told_before(session, game, seat.seat, context)
    return Talk() if after is None else talk_since(session, game, reader, after, merged)


def _told_before(session: Session, game: GameRow, seat: int, context: Mapping[str, Any]) -> int | None:
    """Return the entry from which on a mail tells the table talk; None if it tells none.

    That is the reader's own last move; in an answer, the head when the turn opened to which they replied.
    """
    kind = mail_kinds.of(context["kind"])
    if kind.about_turn:
        return int(context["last_own"])
    if kind.content is Content.ENDING:
        return log.last_move(session, game.id, seat, (Cause.PLAYER, Cause.BOT))
    address = context["details"].get("reply") if kind.answers_email else None
    used = links.get(session, address) if address is not None else None
    return used.seq if used is not None else None


def wants_talk(game: GameRow, person: PersonRow) -> bool:
    """Whether emails tell this person what is said at a table, and anything ever was: this asks no database."""
    return game.said > 0 and person.talk != "never"


def talk_since(
    session: Session, game: GameRow, person: PersonRow, seq: int, merged: Sequence[MailRow] = ()
) -> Talk:
    """Return what others have said after an entry, and all that emails merged into this one would have told.

    Args:
        merged: other emails; those about anything but talk do not count.
    """
    if not wants_talk(game, person):
        return Talk()
    found = talk.said_since(session, game, person.id, seq)
    if any(is_talk(mail) for mail in merged):
        known = {said.id for said in found}
        found = [
            each for each in unread_words(session, game, person.id, merged) if each.id not in known
        ] + found
    return _shown_words(found)


def talk_news(session: Session, game: GameRow, mail: MailRow, merged: Sequence[MailRow] = ()) -> Talk:
    """Return what an email about nothing but talk tells, with those merged into it; nothing if all has been read."""
    return _shown_words(unread_words(session, game, mail.person_id, [mail, *merged]))


def unread_words(session: Session, game: GameRow, person_id: int, mails: Sequence[MailRow]) -> list[Said]:
    """Return what emails about talk were queued to tell, and what was said since, unless its reader was at the table.

    Args:
        mails: queued; those about anything else do not count.
    """
    first = min(mail.created_at for mail in mails if is_talk(mail))
    read_at = people.last(session, person_id, [game.id])
    found = talk.words(session, game, person_id)
    heard = (said for said in found if said.at >= first and not said.own and not said.hidden)
    return [said for said in heard if read_at is None or said.at > read_at]


def _shown_words(words: Iterable[Said]) -> Talk:
    found = list(words)
    rows = tuple((one_line(said.name), _lines_of_words(said.text)) for said in found[-WORDS:])
    return Talk(rows, len(found) - len(rows))


def _lines_of_words(text: str) -> tuple[str, ...]:
    lines = [_HASH.sub(r"\1…", one_line(line)) for line in text.split("\n") if line.strip()]
    return tuple(lines[:LINES_OF_WORDS] + ["…"] * (len(lines) > LINES_OF_WORDS))
