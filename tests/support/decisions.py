"""What people decided in a game, written down from outside, to be compared with what the server counts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from byzanz import record, umpire
from byzanz.record import Cause
from server import play
from server.errors import Refused
from server.play import positions
from server.play.moderation import Newcomer
from server.store import engine, log, people
from server.store.facts import Fact
from server.store.models import Absence, Game, Mail, Outage, Person
from server.store.statements import TurnRow
from tests.conftest import Table
from tests.support.games import loaded, start_clock

Span = tuple[datetime, datetime]
DAY = timedelta(days=1)
SERVERS = ("clock", "autopilot")


@dataclass
class Told:
    """What the diary says of an entry: who held its seat, the turn that was open before, and the time."""

    holder: int | None
    turn: TurnRow | None
    now: datetime
    unreached: bool


@dataclass(kw_only=True)
class DecisionLog:
    """What really happened in a game.

    Args:
        game_id: which game.
        size: its seats.
        told: what is known of each entry, by seq.
        failed: the turns about which an email failed, as seat and seq of their opening.
        absences: of each person.
        quiet: hours of each person, as minutes of the day in UTC.
        days_off: of the game, as ISO numbers.
    """

    game_id: str
    size: int
    told: dict[int, Told] = field(default_factory=dict)
    failed: set[tuple[int, int]] = field(default_factory=set)
    outages: list[Span] = field(default_factory=list)
    absences: dict[int, list[Span]] = field(default_factory=dict)
    quiet: dict[int, tuple[int, int]] = field(default_factory=dict)
    days_off: str = ""

    def entries(self) -> list[record.Entry]:
        """Return the log."""
        with engine.reading() as session:
            return log.entries(session, self.game_id)

    def tell(
        self,
        entries: Iterable[record.Entry],
        before: dict[int, TurnRow],
        holders: dict[int, int | None],
        unreached: set[int],
        now: datetime,
    ) -> None:
        """Note who held the seats of new entries, and which turns were open before."""
        for entry in entries:
            if entry.seat is not None:
                turn = before.pop(entry.seat, None) if not entry.move.startswith("!") else None
                who = holders[entry.seat]
                self.told[entry.seq] = Told(who, turn, now, who in unreached)

    def expected(self, person: int) -> list[list[int]]:
        """Return the decisions of a person that count, as seq and seconds, -1 if missed."""
        with engine.reading() as session:
            game = session.get_one(Game, self.game_id)
            rules = positions.current(loaded(session, game.id)).rules
        answers: dict[tuple[int, str], list[record.Entry]] = {}
        state = rules.setup(self.size, {})
        for entry in record.effective(self.entries()):
            move = umpire.read_logged(rules, entry.move)
            seat, own = entry.seat, entry.by in ("player", "order", *SERVERS)
            if seat is not None and own and not rules.is_out_of_turn(state, seat, move):
                assert len(rules.moves(state, seat)) >= 2, "a forced move is nobody's decision"
                answers.setdefault((seat, str(rules.awaited(state)[seat])), []).append(entry)
            state = rules.apply(state, entry.seat, move)
        found = [self._decision(parts, person) for parts in answers.values()]
        return sorted(each for each in found if each is not None)

    def _decision(self, parts: list[record.Entry], person: int) -> list[int] | None:
        late = [part for part in parts if part.by in SERVERS]
        told = late[0] if late else parts[-1]
        diary = self.told[told.seq]
        if diary.holder != person:
            return None
        turn = diary.turn or next(
            (self.told[part.seq].turn for part in parts if self.told[part.seq].turn), None
        )
        opened = turn.opened_at if turn is not None else diary.now
        if any(begin < diary.now and opened < end for begin, end in self.outages):
            return None
        absences = self.absences.get(person, [])
        if any(begin <= opened and diary.now < end for begin, end in absences):
            return None if turn is not None or late else [told.seq, 0]
        if turn is not None and (turn.seat, turn.opened_seq) in self.failed:
            return None
        if turn is None and late and diary.unreached:
            return None
        if late:
            return [told.seq, -1]
        if turn is None or turn.started_at is None:
            return [told.seq, 0]
        return [told.seq, self._counted(turn, person, diary.now)]

    def _counted(self, turn: TurnRow, person: int, now: datetime) -> int:
        """Return the seconds since the clock of a turn started that no span covers which the clock leaves out."""
        assert turn.started_at is not None
        at, seconds = turn.started_at, 0.0
        for begin, end in sorted(self._left_out(turn, person, now)):
            seconds += max(0.0, (min(begin, now) - at).total_seconds())
            at = max(at, min(end, now))
        return int(seconds + (now - at).total_seconds())

    def _left_out(self, turn: TurnRow, person: int, now: datetime) -> Iterator[Span]:
        for begin, end in json.loads(turn.hours).get("absences", ()):
            yield datetime.fromisoformat(begin), datetime.fromisoformat(end)
        assert turn.started_at is not None
        day = turn.started_at.replace(hour=0, minute=0) - DAY
        while day < now:
            if str(day.isoweekday()) in self.days_off:
                yield day, day + DAY
            if person in self.quiet:
                begin, end = (timedelta(minutes=minutes) for minutes in self.quiet[person])
                yield day + begin, day + end + (DAY if end <= begin else timedelta())
            day += DAY


# ---- games in which people answer, are late, leave and return ----

HOUR = timedelta(hours=1)


@dataclass
class LivedGame(DecisionLog):
    """A game that is lived by chance.

    Args:
        mia: a moderator's id.
        holders: who holds each seat; None for a bot and for nobody.
    """

    game: Table
    dice: random.Random
    now: datetime
    mia: int
    holders: dict[int, int | None]
    unreached: set[int] = field(default_factory=set)
    newcomers: int = 0

    def run(self) -> None:
        """Live the game to its end."""
        for _ in range(4000):
            with engine.reading() as session:
                if session.get_one(Game, self.game.id).status == "over":
                    return
            self.now += self.dice.randrange(1, 90) * timedelta(minutes=1)
            self._note(self.dice.choices(*zip(*self._acts(), strict=True))[0])
        raise AssertionError("the game goes on")

    def _acts(self) -> list[tuple[Any, float]]:
        return [
            (self.answer, 60),
            (self.start_clocks, 30),
            (self.time_passes, 5),
            (self.back, 4),
            (self.leave, 0.7),
            (self.replace, 0.5),
            (self.order, 1),
            (self.email_fails, 1),
            (self.email_works, 3),
            (self.outage, 1),
            (self.absence, 0.7),
            (self.void, 0.4),
        ]

    def _note(self, act: Any) -> None:
        before, head = self.turns(), len(self.entries())
        unreached = set(self.unreached)
        with suppress(Refused):
            act()
        self.tell(self.entries()[head:], before, self.holders, unreached, self.now)

    def turns(self) -> dict[int, TurnRow]:
        with engine.reading() as session:
            return loaded(session, self.game.id).turns

    # What may happen

    def answer(self) -> None:
        with engine.reading() as session:
            at = positions.current(loaded(session, self.game.id))
        if not at.awaited:
            return
        seat = self.dice.choice(sorted(at.awaited))
        aside = at.rules.out_of_turn_moves(at.state, seat) if self.dice.random() < 0.2 else ()
        moves = aside or at.rules.moves(at.state, seat)
        by = Cause.BOT if self.is_bot(seat) else Cause.PLAYER
        if by == Cause.PLAYER and self.holders[seat] is None:
            return
        move = self.dice.choice(list(moves[:6]))
        request = f"{at.head}-{seat}-{self.now}".replace(" ", "")
        play.submit(self.game.id, seat, move, seen=at.head, request_id=request[:64], now=self.now, by=by)

    def is_bot(self, seat: int) -> bool:
        with engine.reading() as session:
            return positions.seats_of(session, self.game.id)[seat].bot is not None

    def start_clocks(self) -> None:
        for seat, turn in self.turns().items():
            if not turn.bot and turn.started_at is None and turn.refused is None:
                start_clock(self.game.id, seat, self.now)

    def time_passes(self) -> None:
        waiting = [turn for turn in self.turns().values() if turn.due_at]
        if waiting:
            turn = min(waiting, key=lambda each: (each.due_at, each.seat))
            assert turn.due_at is not None
            self.now = max(self.now, turn.due_at)
            play.time_out(self.game.id, turn.seat, turn.question, self.now)

    def back(self) -> None:
        seat = self.dice.choice(sorted(self.holders))
        with engine.reading() as session:
            row = positions.seats_of(session, self.game.id)[seat]
        if row.person_id is not None and play.reclaim(self.game.id, seat, now=self.now):
            self.holders[seat] = row.person_id

    def leave(self) -> None:
        seat = self.dice.choice(sorted(self.holders))
        if self.holders[seat] is not None and play.leave(self.game.id, seat, now=self.now):
            self.holders[seat] = None

    def replace(self) -> None:
        seat, self.newcomers = self.dice.choice(sorted(self.holders)), self.newcomers + 1
        name = f"Newcomer {self.newcomers}"
        address = f"{self.game.id}-{self.newcomers}@example.org"
        bot = "greedy" if self.dice.random() < 0.3 and sum(map(bool, self.holders.values())) > 2 else None
        who = Newcomer(name, "" if bot else address, bot)
        self.moderate(f"!replace {seat}", who)
        with engine.reading() as session:
            self.holders[seat] = positions.seats_of(session, self.game.id)[seat].person_id

    def order(self) -> None:
        seat = self.dice.choice(sorted(self.holders))
        if self.holders[seat] is not None:
            play.place_order(self.game.id, seat, "tax best always", now=self.now)

    def email_fails(self) -> None:
        for seat, turn in self.turns().items():
            if self.holders[seat] is None:
                continue
            with engine.transaction() as session:
                about = (Mail.game_id == self.game.id, Mail.kind == "turn", Mail.seat == seat)
                if session.scalar(select(Mail.id).where(*about, Mail.seq == turn.opened_seq).limit(1)):
                    key = self.game.id, seat, turn.opened_seq
                    refused = self.dice.random() < 0.5
                    play.mail_failed(session, key, Fact("no_address"), self.now, bounced=not refused)
                    self.failed.add((seat, turn.opened_seq))
                    person = session.get_one(Person, self.holders[seat])
                    person.unreachable = Fact("no_address")
                    self.unreached.add(person.id)
            return

    def email_works(self) -> None:
        for person_id in sorted(self.unreached):
            with engine.transaction() as session:
                play.address_works(session, person_id, self.now)
                session.get_one(Person, person_id).unreachable = None
            self.unreached.discard(person_id)

    def outage(self) -> None:
        begin = self.now
        self.now += self.dice.randrange(1, 5) * HOUR
        with engine.transaction() as session:
            session.add(Outage(part="web", from_at=begin, to_at=self.now))
        self.outages.append((begin, self.now))

    def absence(self) -> None:
        person = self.dice.choice([each for each in self.holders.values() if each is not None] or [self.mia])
        span = self.now, self.now + self.dice.randrange(1, 6) * 12 * HOUR
        if any(begin < span[1] and span[0] < end for begin, end in self.absences.get(person, [])):
            return
        with engine.transaction() as session:
            session.add(Absence(person_id=person, from_at=span[0], to_at=span[1], created_at=self.now))
        self.absences.setdefault(person, []).append(span)

    def void(self) -> None:
        counting = [entry.seq for entry in record.effective(self.entries()) if entry.seat is not None]
        if not counting:
            return
        self.moderate(f"!void {self.dice.choice(counting[-4:])}")
        self.now += HOUR
        self.moderate("!resume")

    def moderate(self, act: str, who: Newcomer | None = None) -> None:
        play.moderate(self.game.id, act, reason="so", person_id=self.mia, now=self.now, newcomer=who)


def lived(game: Table, seed: int, now: datetime) -> LivedGame:
    """Live a game that has just begun to its end."""
    with engine.transaction() as session:
        mia = people.get_or_create(session, "mia@example.org", "Mia", now).id
    life = LivedGame(
        game,
        random.Random(seed),
        now,
        mia,
        dict(enumerate(game.people)),
        game_id=game.id,
        size=len(game.people),
    )
    life.run()
    return life
