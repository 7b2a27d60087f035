"""Games in which people answer, are late, leave, return, are replaced, are away or get no email; and a diary of it.

The diary knows from outside what happened, so that what the server counts from its tables can be compared with it.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from byzanz import record
from byzanz.record import Cause
from server import play
from server.errors import Refused
from server.play import positions, turns
from server.play.moderation import Newcomer
from server.store import engine, people
from server.store.facts import Fact
from server.store.models import Absence, Game, Mail, Outage, Person, Turn
from tests.conftest import Table
from tests.support.diary import Diary
from tests.support.in_hand import start_clock

HOUR = timedelta(hours=1)


@dataclass
class Life(Diary):
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

    def turns(self) -> dict[int, Turn]:
        with engine.reading() as session:
            return {turn.seat: turn for turn in turns.open_turns(session, self.game.id)}

    # What may happen

    def answer(self) -> None:
        with engine.reading() as session:
            at = positions.load(session, session.get_one(Game, self.game.id))
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
                mail = session.scalar(select(Mail).where(*about, Mail.seq == turn.opened_seq).limit(1))
                if mail is not None:
                    refused = self.dice.random() < 0.5
                    play.mail_failed(session, mail, Fact("no_address"), self.now, bounced=not refused)
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


def lived(game: Table, seed: int, now: datetime) -> Life:
    """Live a game that has just begun to its end."""
    with engine.transaction() as session:
        mia = people.get_or_create(session, "mia@example.org", "Mia", now).id
    life = Life(
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
