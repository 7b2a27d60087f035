"""What really happened in a year among six friends: kept beside the server, to be compared with what it says."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import select

from server.errors import Refused
from server.store import engine, people
from server.store.models import Game, Mail, Seat
from server.store.statements import TURN, TurnRow
from tests.conftest import NOW
from tests.support.decisions import DecisionLog, Span

STEP = timedelta(hours=5)
HABITS = (
    # Who talks by email, when; quiet hours; how eager they are to answer.
    ("Alice", "turns", "each", (22 * 60, 7 * 60), 0.9),
    ("Bob", "once", "each", None, 0.8),
    ("Charlie", "turns", "digest", None, 0.7),
    ("Daphne", "once", "each", (60, 8 * 60), 0.6),
    ("Eirene", "never", "each", None, 0.9),
    ("Felix", "turns", "each", None, 0.4),
)


@dataclass(frozen=True)
class Saying:
    """Something that was said, with the entry of the log after which it stands."""

    text: str
    game_id: str
    id: str
    sayer: int


@dataclass(kw_only=True)
class YearGame(DecisionLog):
    """A game of the year.

    Args:
        first, holders: who held each seat at the beginning, and who does now; None for bots and those who have left.
        seated: whose the seat is, also if they have left.
        everybody: who ever held a seat.
        over: it has ended.
    """

    first: dict[int, int | None]
    holders: dict[int, int | None]
    seated: dict[int, int]
    everybody: set[int]
    head: int = 0
    over: bool = False


@dataclass(kw_only=True)
class Events:
    """The friends, and what is known of them from outside.

    Args:
        seed: of everything they do.
    """

    seed: int
    now: datetime = NOW
    ids: dict[str, int] = field(default_factory=dict)
    eager: dict[int, float] = field(default_factory=dict)
    quiet: dict[int, tuple[int, int]] = field(default_factory=dict)
    absences: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list))
    outages: list[Span] = field(default_factory=list)
    lives: dict[str, YearGame] = field(default_factory=dict)
    unreached: set[int] = field(default_factory=set)
    erased: set[int] = field(default_factory=set)
    blocked: set[tuple[int, int]] = field(default_factory=set)
    muted: set[tuple[int, int]] = field(default_factory=set)
    said: dict[str, Saying] = field(default_factory=dict)
    delivered: dict[datetime, set[tuple[str, int, int]]] = field(default_factory=dict)
    """The turns that were open when emails went out, which a daily email lists: game, seat, and seq of the opening."""
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        with engine.transaction() as session:
            for name, talk, cadence, quiet, eager in HABITS:
                person = people.get_or_create(session, address(name), name, self.now)
                person.accepted, person.time_zone = True, "UTC"
                person.talk, person.cadence = talk, cadence
                person.handle, person.shown = f"{name}-handle", "all"
                person.skeleton = person.handle.lower().translate(str.maketrans("oli_s", "011-5"))
                if quiet is not None:
                    person.quiet_from, person.quiet_to = quiet
                session.flush()
                self.ids[name], self.eager[person.id] = person.id, eager
                if quiet is not None:
                    self.quiet[person.id] = quiet
            mia = people.get_or_create(session, "mia@example.org", "Mia", self.now)
            mia.moderator = True
            session.flush()
            self.mia = mia.id
        self.names = {number: name for name, number in self.ids.items()}

    @property
    def alive(self) -> list[int]:
        """The people who have not been erased."""
        return [number for number in sorted(self.names) if number not in self.erased]

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in this share of cases."""
        return self.draw.random() < share

    def running(self) -> list[str]:
        """Return the games that go on."""
        return [game_id for game_id, life in self.lives.items() if not life.over]

    def blocks(self, one: int, other: int) -> bool:
        """Whether a block stands between two people."""
        return (one, other) in self.blocked or (other, one) in self.blocked

    def is_deaf(self, reader: int, sayer: int) -> bool:
        """Whether a reader must not read what somebody says."""
        return (reader, sayer) in self.blocked | self.muted

    def may_read(self, reader: int, word: Saying) -> bool:
        """Whether a reader may read something that was said."""
        seated = reader in self.lives[word.game_id].seated.values()
        return seated and word.sayer not in self.erased and not self.is_deaf(reader, word.sayer)

    def hidden(self, game: Game, reader: int) -> bool:
        """Whether a block with somebody there hides a table, whose session is open, from a reader."""
        there = {seat.person_id for seat in game.seats if seat.status == "seated"} | {game.organiser_id}
        return any(self.blocks(reader, other) for other in there if other is not None)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Let something happen, and note what it did in each game; a refusal is none of our business."""
        before, unreached = self._turns(), set(self.unreached)
        with suppress(Refused):
            yield
        self._note(before, unreached)

    def _turns(self) -> Mapping[str, dict[int, TurnRow]]:
        found: dict[str, dict[int, TurnRow]] = defaultdict(dict)
        with engine.reading() as session:
            for turn in (TurnRow(*row) for row in session.execute(select(*TURN))):
                found[turn.game_id][turn.seat] = turn
        return found

    def _note(self, before: Mapping[str, dict[int, TurnRow]], unreached: set[int]) -> None:
        ended = [game_id for game_id, life in self.lives.items() if life.over]
        with engine.reading() as session:
            begun = select(Game).where(Game.status.in_(("running", "over")), Game.id.not_in(ended))
            games = session.scalars(begun.order_by(Game.id)).all()
        for game in games:
            life = self.lives.get(game.id) or self._met(game)
            if game.head > life.head:
                new = life.entries()[life.head :]
                life.tell(new, before.get(game.id, {}), life.holders, unreached, self.now)
                self.counts["entries"] += len(new)
                life.head, life.over = game.head, game.status == "over"

    def _met(self, game: Game) -> YearGame:
        with engine.reading() as session:
            seats = session.scalars(select(Seat).where(Seat.game_id == game.id)).all()
        people = {seat.seat: seat.person_id for seat in seats}
        held = {number: person for number, person in people.items() if person is not None}
        life = YearGame(
            game_id=game.id,
            size=len(seats),
            absences=self.absences,
            outages=self.outages,
            quiet=self.quiet,
            days_off=game.days_off,
            first=dict(people),
            holders=dict(people),
            seated=held,
            everybody=set(held.values()),
        )
        self.lives[game.id] = life
        return life

    def takes(self, game_id: str, seat: int, person: int | None) -> None:
        """Note that a seat has another holder: a person, or None for a bot."""
        life = self.lives[game_id]
        life.holders[seat] = person
        life.seated.pop(seat, None)
        if person is not None:
            life.seated[seat] = person
            life.everybody.add(person)

    def mails_went_out(self) -> None:
        """Note which turns a daily email could list."""
        open_now = ((game_id, turn) for game_id, turns in self._turns().items() for turn in turns.values())
        self.delivered[self.now] = {(game_id, turn.seat, turn.opened_seq) for game_id, turn in open_now}

    def mail_failed(self, mail: Mail) -> None:
        """Note that an email to a person failed: no open turn that it was about counts."""
        for game_id, turns in self._turns().items():
            life = self.lives[game_id]
            for turn in turns.values():
                about = (mail.game_id, mail.seat, mail.seq) == (game_id, turn.seat, turn.opened_seq)
                listed = mail.kind == "digest" and life.seated.get(turn.seat) == mail.person_id
                listed &= (game_id, turn.seat, turn.opened_seq) in self.delivered.get(
                    mail.finished_at or self.now, ()
                )
                if listed or (about and mail.kind in ("turn", "remind")):
                    life.failed.add((turn.seat, turn.opened_seq))


def address(name: str) -> str:
    """Return the email address of a friend."""
    return f"{name.lower()}@example.org"
