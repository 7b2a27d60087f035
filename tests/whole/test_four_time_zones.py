"""A whole game in four time zones with a simulated clock: every deadline is right to the second.

Weeks pass: clocks change in three of the four zones, nights and weekends do not count, one player is on holiday, the
server is down for a night, an address bounces for a while, one player replies by email and one uses standing orders.
Each deadline is compared with a minute-by-minute count that shares no code with the server.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from flask import Flask
from sqlalchemy import select

from byzanz import record
from server import create_app, play
from server.mail.incoming import receive
from server.mail.outgoing import deliver
from server.play import clock, positions, running, turns
from server.scheduler import jobs
from server.store import engine, log, operations
from server.store.models import Absence, Game, Heartbeat, Mail, Outage, Person, Seat
from server.store.statements import TurnRow
from server.web.http import format_moment
from tests.conftest import Table, settings
from tests.support.games import loaded
from tests.support.mail_servers import FakeMailer

BEGIN = datetime(2026, 10, 1, 9, 30, 17, tzinfo=UTC)
"""Clocks go forward at Lord Howe on 4 October, back in Europe on 25 October and in New York on 1 November."""
DOMAIN = "mail.byzanz.test"
MINUTE = timedelta(minutes=1)
ALLOWANCE, BANK = 30 * 3600, 12 * 3600
NAMES = ("Alice", "Bob", "Charlie", "Daphne")
ZONES = ("Europe/Amsterdam", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")
QUIET = ((23 * 60, 7 * 60), (22 * 60, 6 * 60 + 30), (0, 8 * 60), (21 * 60 + 15, 7 * 60 + 15))
HOLIDAY = datetime(2026, 10, 12, tzinfo=UTC), datetime(2026, 10, 16, tzinfo=UTC)
"""Alice's absence, entered at the start."""
OUTAGE = datetime(2026, 10, 20, 13, 4, tzinfo=UTC), datetime(2026, 10, 21, 2, 47, tzinfo=UTC)
BOUNCED = datetime(2026, 10, 27, tzinfo=UTC)
"""From then on Daphne's address bounces, until she requests her email again two days later."""
OFF = "67"


@cache
def counts(minute: datetime, seat: int, away: bool) -> bool:
    """Whether a minute counts for a seat, ignoring outages: computed from the wall time of that minute."""
    local = minute.astimezone(ZoneInfo(ZONES[seat]))
    shown, (start, end) = local.hour * 60 + local.minute, QUIET[seat]
    night = start <= shown < end if start < end else shown >= start or shown < end
    weekend = str(minute.astimezone(ZoneInfo("Europe/Amsterdam")).isoweekday()) in OFF
    return not night and not weekend and not (away and HOLIDAY[0] <= minute < HOLIDAY[1])


def end_of(start: datetime, seconds: float, seat: int, away: bool, outage: bool = False) -> datetime:
    """Return when this many seconds have been counted, by walking through every minute."""
    at, left = start, timedelta(seconds=seconds)
    while True:
        minute = at.replace(second=0, microsecond=0)
        if counts(minute, seat, away) and not (outage and OUTAGE[0] <= minute < OUTAGE[1]):
            if left <= minute + MINUTE - at:
                return at + left
            left -= minute + MINUTE - at
        at = minute + MINUTE


def full_minute(at: datetime) -> datetime:
    """Return the next full minute."""
    return at if not (at.second or at.microsecond) else at.replace(second=0, microsecond=0) + MINUTE


def seconds_between(start: datetime, end: datetime, seat: int, away: bool) -> float:
    """Return the counted seconds between two times, ignoring outages; the second is a full minute."""
    found, at = timedelta(), start
    while at < end:
        minute = at.replace(second=0, microsecond=0)
        if counts(minute, seat, away):
            found += minute + MINUTE - at
        at = minute + MINUTE
    return found.total_seconds()


@dataclass
class Watch:
    """Advances the clock and records what the test has seen so far."""

    game: Table
    app: Flask
    rng: random.Random = field(default_factory=lambda: random.Random(4))
    now: datetime = BEGIN
    fake_mailer: FakeMailer = field(default_factory=FakeMailer)
    read: int = 0
    plans: dict[tuple[int, int], datetime] = field(default_factory=dict)
    """When each seat will answer the turn that opened at an entry; missing if it will not."""
    checked: int = 0
    kinds: set[str] = field(default_factory=set)
    out: bool = False
    """Whether the outage is over."""
    used: dict[tuple[int, int], float] = field(default_factory=dict)
    """Seconds of a turn that had been counted when its email bounced."""

    def turns(self) -> list[TurnRow]:
        with engine.reading() as session:
            return list(loaded(session, self.game.id).turns.values())

    def position(self) -> positions.Position:
        with engine.reading() as session:
            return positions.current(loaded(session, self.game.id))

    def ticks(self) -> None:
        """Do everything that the server does at one time."""
        with engine.transaction() as session:
            for part in operations.PARTS:
                row = session.get(Heartbeat, part)
                if row is None:
                    session.add(Heartbeat(part=part, at=self.now))
                else:
                    row.at = self.now
        jobs.tick_turns(self.now, 5)
        jobs.tick_reminders(self.now)
        while deliver.deliver(self.now, self.fake_mailer):
            pass

    def next_moment(self) -> datetime:
        """Return the time of the next event."""
        with engine.reading() as session:
            mails = select(Mail.not_before).where(Mail.status == "waiting")
            moments = list(session.scalars(mails))
        for turn in self.turns():
            moments += [at for at in (turn.due_at, turn.remind_at) if at]
            moments += [self.plans[key] for key in [(turn.seat, turn.opened_seq)] if key in self.plans]
        moments.append(OUTAGE[0] if not self.out else datetime.max.replace(tzinfo=UTC))
        return min(max(at, self.now + timedelta(seconds=1)) for at in moments)


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    """Return the application with reply addresses."""
    made = create_app(settings(database_url, mail_domain=DOMAIN))
    with made.app_context():
        yield made
        engine.db.session.remove()
        engine.db.engine.dispose()


@pytest.fixture
def watch(app: Flask, table: Any) -> Watch:
    with time_machine.travel(BEGIN, tick=False):
        game = table(4, now=BEGIN, allowance=ALLOWANCE)
        with engine.transaction() as session:
            row = session.get_one(Game, game.id)
            row.time_zone, row.days_off, row.bank = "Europe/Amsterdam", OFF, BANK
            for seat, (start, end) in enumerate(QUIET):
                person = session.get_one(Person, game.people[seat])
                person.time_zone, person.quiet_from, person.quiet_to = ZONES[seat], start, end
                session.get_one(Seat, (game.id, seat)).bank = BANK
            away = Absence(person_id=game.people[0], from_at=HOLIDAY[0], to_at=HOLIDAY[1], created_at=BEGIN)
            session.add(away)
            with running.in_hand(session, game.id, BEGIN) as hand:
                for turn in hand.turns.values():  # the first turn opened before all this was set
                    turn.hours = turns.hours_of(hand, hand.seats[turn.seat], BEGIN).write()
                    turn.bank = BANK
    return Watch(game, app)


def check_started(watch: Watch, seat: int, message: Any) -> None:
    """Check an accepted turn email: database and email agree with the minute-by-minute count."""
    (turn,) = [turn for turn in watch.turns() if turn.seat == seat]
    assert turn.started_at == watch.now
    away = seat == 0 and turn.opened_at < HOLIDAY[1]
    allowance = ALLOWANCE - watch.used.get((seat, turn.opened_seq), 0)
    due = full_minute(end_of(watch.now, allowance + turn.bank, seat, away))
    assert turn.due_at == due, (NAMES[seat], watch.now, turn.due_at, due)
    text = message.get_body(("plain",)).get_content()
    printed = full_minute(end_of(watch.now, allowance, seat, away))
    assert f"Move by {format_moment(printed, ZONES[seat])}" in text
    assert ("your bank adds up to" in text) == (turn.bank > 0)
    reminder = end_of(watch.now, allowance * 0.8, seat, away)
    assert turn.remind_at is not None
    assert abs(turn.remind_at - reminder) < timedelta(seconds=1)
    watch.checked += 1


def check_moved(watch: Watch, turn: TurnRow) -> None:
    """Check that a turn open during the outage is due later by the outage minutes that would have counted."""
    assert turn.started_at is not None
    away = turn.seat == 0 and turn.opened_at < HOLIDAY[1]
    printed = full_minute(end_of(turn.started_at, ALLOWANCE + turn.bank, turn.seat, away))
    seconds = seconds_between(turn.started_at, printed, turn.seat, away)
    due = full_minute(end_of(turn.started_at, seconds, turn.seat, away, outage=True))
    if due > printed:
        due = max(due, full_minute(end_of(OUTAGE[1], 3600, turn.seat, away)))
    with engine.reading() as session:
        hand = loaded(session, watch.game.id)
        assert turns.deadline(session, hand.game, hand.turns[turn.seat]) == due
    watch.checked += 1


def plan(watch: Watch, seat: int) -> None:
    """Decide when a player will answer: mostly by day, sometimes late, occasionally never."""
    (turn,) = [turn for turn in watch.turns() if turn.seat == seat]
    assert turn.due_at is not None
    wait = timedelta(seconds=round(watch.rng.lognormvariate(9.3, 1.1)))
    chance = watch.rng.random()
    if chance < 0.06:
        return
    late = turn.due_at - timedelta(seconds=1) if chance < 0.12 else watch.now + wait
    watch.plans[seat, turn.opened_seq] = min(late, turn.due_at - timedelta(seconds=1))


def answer_turn(watch: Watch, turn: TurnRow) -> None:
    """Answer in each player's own way: page, reply, orders, API."""
    position = watch.position()
    moves = position.rules.moves(position.state, turn.seat)
    move = str(moves[min(len(moves) - 1, watch.rng.choice((0, 0, 1)))])
    del watch.plans[turn.seat, turn.opened_seq]
    client, path = watch.app.test_client(), f"/t/{watch.game.tokens[turn.seat]}"
    if turn.seat == 1:
        reply(watch, move)
    elif turn.seat == 2 and turn.question.startswith("bid"):
        play.place_order(watch.game.id, 2, "raise upto 3 then pass", now=watch.now)
        watch.kinds.add("order")
    elif turn.seat == 3:
        body = {"move": move, "seen": position.head, "request_id": f"r{position.head}"}
        assert client.post(f"/api/v1/seats/{watch.game.tokens[3]}/moves", json=body).status_code == 201
    else:
        seen = {"move": move, "seen": position.head, "request_id": f"r{position.head}"}
        assert client.post(path, data=seen).status_code == 303


def reply(watch: Watch, move: str) -> None:
    """Reply as Bob to his newest turn email, above the quote."""
    newest = [mail for mail in watch.fake_mailer.to("bob@") if mail["Reply-To"]][-1]
    address = re.search(r"play\+[a-z2-7]{26}@[a-z.]+", str(newest["Reply-To"]))
    assert address is not None
    body: Any = newest.get_body(("plain",))
    quoted = "\n".join("> " + line for line in body.get_content().splitlines())
    raw = (
        f"From: Bob <bob@example.org>\nTo: {address[0]}\nSubject: Re: {newest['Subject']}\n"
        f"Message-ID: <{watch.now.timestamp()}@example.org>\n\n{move}\n\nOn a day, Byzanz wrote:\n{quoted}\n"
    )
    receive.receive(raw.encode(), "bob@example.org", address[0], watch.now)
    watch.kinds.add("reply")


def bounce(watch: Watch, message: Any) -> None:
    """Bounce an email hours after it was accepted by Daphne's provider."""
    sender = str(message["Return-Path"]).strip("<>")
    raw = (
        f"From: MAILER-DAEMON@example.org\nTo: {sender}\nSubject: Undelivered Mail Returned to Sender\n"
        f"Message-ID: <{watch.now.timestamp()}@mx.example.org>\nAuto-Submitted: auto-replied\nMIME-Version: 1.0\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\n\n'
        "--b\nContent-Type: text/plain\n\nIt could not be delivered.\n\n"
        "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.org\n\n"
        "Final-Recipient: rfc822; daphne@example.org\nAction: failed\nStatus: 5.1.1\n"
        "Diagnostic-Code: smtp; 550 5.1.1 no such user\n\n--b--\n"
    )
    watch.now = (watch.now + timedelta(hours=9)).replace(second=0)
    with time_machine.travel(watch.now, tick=False):
        receive.receive(raw.encode(), "", sender, watch.now)
    stopped = next(turn for turn in watch.turns() if turn.seat == 3)
    assert (stopped.due_at, stopped.remind_at) == (None, None)
    assert stopped.started_at is not None
    used = seconds_between(stopped.started_at, watch.now, 3, away=False) if stopped.anew else 0
    watch.used[3, stopped.opened_seq] = used
    watch.kinds.add("bounce")


def mend(watch: Watch) -> None:
    """Two days later Daphne opens her page by an old link and requests her email again; the clock starts anew."""
    watch.now += timedelta(days=2)
    with time_machine.travel(watch.now, tick=False):
        watch.ticks()
        assert all(turn.due_at is None for turn in watch.turns() if turn.seat == 3)
        client, path = watch.app.test_client(), f"/t/{watch.game.tokens[3]}"
        page = client.get(path).text
        assert "We cannot reach you by email" in page
        action = re.search(r'action="([^"]+)"[^>]*>(?:(?!</form>).)*?Try again', page, re.DOTALL)
        assert action is not None
        form = re.search(rf'action="{action[1]}".*?</form>', page, re.DOTALL)
        assert form is not None
        fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form[0]))
        assert client.post(action[1], data=fields).status_code == 303


def read_mails(watch: Watch) -> None:
    """Read the emails: check each turn that has started, and let its player plan."""
    for message in watch.fake_mailer.sent[watch.read :]:
        watch.read += 1
        seat = next(at for at, name in enumerate(NAMES) if name.lower() in str(message["To"]).lower())
        fresh = [turn for turn in watch.turns() if turn.seat == seat and turn.started_at == watch.now]
        if not fresh or (seat, fresh[0].opened_seq) in watch.plans or not message["Reply-To"]:
            continue
        check_started(watch, seat, message)
        if seat == 3 and watch.now > BOUNCED and "bounce" not in watch.kinds:
            bounce(watch, message)
            mend(watch)
            return
        plan(watch, seat)


def be_away(watch: Watch) -> None:
    """Stop all processes for a night, and check what the server finds when it is back."""
    watch.out, watch.now = True, OUTAGE[1]
    with time_machine.travel(watch.now, tick=False), engine.transaction() as session:
        session.add(Outage(part="web", from_at=OUTAGE[0], to_at=OUTAGE[1]))
    for key, at in watch.plans.items():
        watch.plans[key] = max(at, OUTAGE[1] + timedelta(minutes=5))
    for turn in watch.turns():
        if turn.due_at:
            check_moved(watch, turn)
            watch.kinds.add("outage")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_nights", lambda _start, _hours: iter(())),
        ("_days_off", lambda _start, _hours: iter(())),
        ("rounded_up", lambda at: at),
        ("last_shown", lambda zone, day, minute: clock.first_shown(zone, day, minute) + MINUTE),
    ],
)
def test_a_clock_that_errs_by_a_minute_is_found(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, name: str, fault: Any
) -> None:
    monkeypatch.setattr(clock, name, fault)
    with pytest.raises(AssertionError):
        play_on(watch)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_deadline_of_a_game_in_four_time_zones_is_right_to_the_second(watch: Watch) -> None:
    missed = play_on(watch)
    assert watch.kinds >= {"reply", "order", "outage", "bounce"}
    assert missed >= 3
    assert watch.checked >= 60
    assert watch.now > datetime(2026, 11, 2, tzinfo=UTC), "the game ended before all clocks had changed"
    print(f"{watch.checked} deadlines checked, {missed} turns missed, {(watch.now - BEGIN).days} days")


def play_on(watch: Watch) -> int:
    """Let weeks pass until the game is over; return how many turns were missed."""
    missed = 0
    while watch.position().outcome is None:
        moment_now = watch.next_moment()
        if not watch.out and moment_now >= OUTAGE[0]:
            be_away(watch)
        else:
            watch.now = moment_now
        with time_machine.travel(watch.now, tick=False):
            due = [(t.seat, t.question) for t in watch.turns() if t.due_at and t.due_at <= watch.now]
            early = [t for t in watch.turns() if t.due_at and t.due_at > watch.now]
            for turn in watch.turns():
                if watch.plans.get((turn.seat, turn.opened_seq), watch.now + MINUTE) <= watch.now:
                    answer_turn(watch, turn)
            watch.ticks()
            missed += check_fallbacks(watch, due, early)
            read_mails(watch)
        assert watch.now < BEGIN + timedelta(days=400)
    return missed


def check_fallbacks(watch: Watch, due: list[tuple[int, str]], early: list[TurnRow]) -> int:
    """Check that the clock has played exactly the due turns, at exactly their due times."""
    with engine.reading() as session:
        entries: list[record.Entry] = log.entries(session, watch.game.id)
    now = engine.stamp(watch.now)
    by_clock = {entry.seat for entry in entries if entry.at == now and entry.by == "clock"}
    assert {seat for seat, _ in due} >= {seat for seat in by_clock if seat not in {t.seat for t in early}}
    still = {(turn.seat, turn.question) for turn in watch.turns() if turn.due_at and turn.due_at <= watch.now}
    assert not still & set(due), "a turn that was due was not played"
    return len(by_clock)
