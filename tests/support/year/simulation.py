"""Six friends who live on a server for a year: they play, leave, return, are away, block, mute, talk and take seats.

The server takes time as an argument, so a year passes in a minute. `Chronicle` keeps what really happened.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import select

from byzanz.games import latest
from server import play
from server.errors import Refused
from server.lobby import create, invitations, open_tables, rematch
from server.lobby.open_tables import Wanted
from server.play import positions
from server.play.moderation import Newcomer
from server.play.powers import Asker
from server.scheduler import jobs
from server.store import engine, links, operations
from server.store.models import Game, GameSettings, LinkPurpose
from server.validation import Guest
from tests.conftest import NOW
from tests.support import game_data
from tests.support.decisions import DAY
from tests.support.games import loaded
from tests.support.year.behaviour import Behaviour
from tests.support.year.events import STEP, address

SIZES = {rules.slug: tuple(rules.seats) for rules in latest()}
ORDERS = game_data.of_all("ORDER")
AT_ONCE = 4
"""Games at the same time."""
LONGEST_WAIT = 6
"""Steps after which a table starts with those who are there."""
BEAT = STEP.total_seconds()


@dataclass(kw_only=True)
class Year(Behaviour):
    """The friends at their tables."""

    waiting: dict[str, int] = field(default_factory=dict)
    """The tables that wait for players, and for how many steps."""
    asked: set[str] = field(default_factory=set)
    """Finished games after which somebody may press Again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.recorders = [operations.HeartbeatRecorder(part, BEAT) for part in operations.PARTS]
        for person in self.alive:
            open_tables.add(person, Wanted(), self.now)

    def live(self) -> None:
        """Let the time pass until all games are over."""
        while len(self.lives) < self.games or self.running():
            assert self.now < NOW + 1200 * DAY, "a game goes on for ever"
            self.step()
        for game_id in [*self.waiting]:
            self._call_off(game_id)
        for _ in range(3):
            self.now += STEP
            self.tick()

    def step(self) -> None:
        """Let a few hours pass."""
        self.now += STEP
        if self.chance(0.004):
            self.now += 8 * STEP
            self.outages.append((self.now - 9 * STEP, self.now))
        self.tick()
        self.meet()
        for _ in range(3):
            self.answer()
        self.chat()
        self.quarrel()
        self.come_and_go()
        self.own_affairs()
        self.post.look()

    def tick(self) -> None:
        """Let the scheduler run its jobs, and the mail go out."""
        for recorder in self.recorders:
            recorder.record(self.now, (self.now - NOW).total_seconds())
        for _ in range(3):
            with self.noted():
                jobs.tick_bots(self.now, self.draw.randrange)
        for job in (jobs.tick_turns, jobs.tick_unreached, jobs.tick_digests, jobs.tick_tables):
            with self.noted():
                job(self.now, BEAT)
        jobs.tick_reminders(self.now)
        jobs.tick_invitation_reminders(self.now)
        if len(self.lives) < self.games:
            jobs.tick_rematches(self.now)
        jobs.tick_results(self.now, BEAT)
        with self.noted():
            self.post.deliver()

    # Tables

    def meet(self) -> None:
        """Make a table, answer invitations, take free seats, and start or call off what waits too long."""
        with engine.reading() as session:
            open_now = session.scalars(select(Game.id).where(Game.status == "inviting")).all()
        self.waiting = {game_id: self.waiting.get(game_id, 0) + 1 for game_id in sorted(open_now)}
        there_is_room = len(self.running()) + len(self.waiting) < AT_ONCE
        if len(self.lives) < self.games and there_is_room and not self._ask_again():
            self._invite()
        self._answer_invitations()
        for game_id, steps in self.waiting.items():
            self._join(game_id)
            if steps > LONGEST_WAIT:
                self._begin_or_call_off(game_id)

    def _invite(self) -> None:
        slug = self.draw.choice(sorted(SIZES))
        size = self.draw.choice(SIZES[slug])
        host, *guests = self.draw.sample(self.alive, min(len(self.alive), self.draw.randint(2, max(2, size))))
        listed, guests = self.chance(0.7), guests[: size - 1]
        missing = size - 1 - len(guests)
        free = self.draw.randint(0, missing) if listed else 0
        if listed and not free and len(guests) > 1 and self.chance(0.5):
            guests, free = guests[:-1], 1
        wish = create.GameRequest(
            organiser=self._guest(host),
            name=f"Table {len(self.lives) + 1}",
            settings=GameSettings(
                slug,
                self.draw.choice((24, 36, 48)) * 3600,
                3600,
                self.draw.choice(("", "67")),
                listed=listed,
                keep_going=self.chance(0.1),
            ),
            players=[self._guest(guest) for guest in guests],
            bots=["greedy"] * (size - 1 - len(guests) - free),
            free=free,
        )
        with self.noted():
            game_id = create.create_game(wish, self.now, requester_id=host)
            create.confirm_game(self._organise(game_id), self.now, cut=f"cut {host}")
            self.counts["tables"] += 1

    def _guest(self, person: int) -> Guest:
        return Guest(self.names[person], address(self.names[person]))

    def _organise(self, game_id: str) -> str:
        with engine.transaction() as session:
            host = session.get_one(Game, game_id).organiser_id
            assert host is not None
            return links.token(links.link_for(session, LinkPurpose.ORGANISE, host, game_id, self.now))

    def _ask_again(self) -> bool:
        over = sorted(
            game_id for game_id, life in self.lives.items() if life.over and game_id not in self.asked
        )
        self.asked.update(over)
        for game_id in over:
            held = self.lives[game_id].holders.values()
            theirs = sorted({person for person in held if person is not None} - self.erased)
            if theirs and self.chance(0.5):
                presser = self.draw.choice(theirs)
                with self.noted():
                    made = rematch.again(game_id, presser, self.now)
                    others = set(self.lives[game_id].seated.values()) - {presser}
                    assert not made.created or not any((presser, other) in self.blocked for other in others)
                    self.counts["again"] += 1
                    return True
        return False

    def _answer_invitations(self) -> None:
        for person, token in self.post.invitations():
            with self.noted():
                if self.chance(0.9):
                    invitations.accept(token, self.names[person], f"cut {person}", self.now)
                else:
                    invitations.decline(token, self.now)

    def _join(self, game_id: str) -> None:
        person = self.draw.choice(self.alive)
        with engine.reading() as session:
            game = session.get_one(Game, game_id)
            apart = self.hidden(game, person)
        with self.noted():
            invitations.take_free_seat(game_id, person, self.names[person], f"cut {person}", self.now)
            assert not apart, "a blocked person joined"
            self.counts["joined"] += 1

    def _begin_or_call_off(self, game_id: str) -> None:
        token = self._organise(game_id)
        with self.noted():
            invitations.fill_all(token, "greedy", self.now)
            invitations.start(token, self.now)
        with engine.reading() as session:
            waits = session.get_one(Game, game_id).status == "inviting"
        if waits:
            self._call_off(game_id)

    def _call_off(self, game_id: str) -> None:
        with suppress(Refused):
            invitations.cancel(self._organise(game_id), self.now)

    # Moves

    def answer(self) -> None:
        """Let one player of each table answer, if they care to."""
        for game_id in self.running():
            life = self.lives[game_id]
            with engine.reading() as session:
                position = positions.current(loaded(session, game_id))
            for seat in position.awaited:
                person = life.seated.get(seat)
                here = 0.05 if life.holders[seat] is None else self.eager.get(person or 0, 0)
                if person is None or person in self.erased or not self.chance(here):
                    continue
                moves = position.rules.moves(position.state, seat)
                move = str(moves[self.draw.randrange(len(moves))])
                with self.noted():
                    key = f"m{self.counts['moves']}"
                    play.submit(game_id, seat, move, seen=position.head, request_id=key, now=self.now)
                    life.holders[seat] = person
                    self.counts["moves"] += 1
                break

    def come_and_go(self) -> None:
        """Let players leave and return, a moderator replace them, others take their seats, and orders be left."""
        for game_id in self.running():
            life = self.lives[game_id]
            seat = self.draw.choice(sorted(life.holders))
            person, holder = life.seated.get(seat), life.holders[seat]
            if person is None or person in self.erased:
                self._offer(game_id, seat)
            elif holder is None:
                self._return_or_offer(game_id, seat, person)
            elif self.chance(0.015):
                with self.noted():
                    play.leave(game_id, seat, now=self.now)
                    life.holders[seat] = None
                    self.counts["left"] += 1
            elif self.chance(0.006):
                self._replace(game_id, seat)
            elif self.chance(0.02):
                order = ORDERS.get(self._slug(game_id))
                with self.noted():
                    if order is not None:
                        play.place_order(game_id, seat, order, now=self.now)
                    self.counts["orders"] += 1
            elif self.chance(0.0015):
                with self.noted():
                    self._moderate(game_id, "!abandon")
                    self.counts["ended early"] += 1

    def _slug(self, game_id: str) -> str:
        with engine.reading() as session:
            return session.get_one(Game, game_id).slug

    def _return_or_offer(self, game_id: str, seat: int, person: int) -> None:
        if self.chance(0.25):
            with self.noted():
                play.reclaim(game_id, seat, now=self.now)
                self.lives[game_id].holders[seat] = person
                self.counts["returned"] += 1
        else:
            self._offer(game_id, seat)

    def _offer(self, game_id: str, seat: int) -> None:
        life, person = self.lives[game_id], self.draw.choice(self.alive)
        with suppress(Refused):
            open_tables.offer_as_moderator(game_id, seat, Asker(self.mia, "away"), self.now)
        with engine.reading() as session:
            apart = self.hidden(session.get_one(Game, game_id), person)
        former = life.seated.get(seat)
        with self.noted():
            open_tables.take(game_id, seat, person, self.names[person], self.now)
            assert not apart, "a blocked person took a seat"
            self._gone(game_id, former)
            self.takes(game_id, seat, person)
            self.counts["took over"] += 1

    def _replace(self, game_id: str, seat: int) -> None:
        life = self.lives[game_id]
        free = [person for person in self.alive if person not in life.everybody]
        who = self.draw.choice(free) if free and self.chance(0.8) else None
        newcomer = Newcomer("A bot", bot="greedy")
        if who is not None:
            newcomer = Newcomer(self.names[who], address(self.names[who]))
        with self.noted():
            former = life.seated.get(seat)
            self._moderate(game_id, f"!replace {seat}", newcomer)
            self._gone(game_id, former)
            self.takes(game_id, seat, who)
            self.counts["replaced"] += 1

    def _gone(self, game_id: str, person: int | None) -> None:
        if person is not None and person not in self.erased:
            self.post.former.append((game_id, person))

    def _moderate(self, game_id: str, act: str, newcomer: Newcomer | None = None) -> None:
        play.moderate(game_id, act, reason="so", person_id=self.mia, now=self.now, newcomer=newcomer)
