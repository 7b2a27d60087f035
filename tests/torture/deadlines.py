"""Promise 4: a deadline fires once, never early, and a move that races it either wins or loses.

Time is an argument of every tick, so it runs 120 times as fast here. Several schedulers, killed at random, let turns
of ten minutes time out while other processes try to move at the last moment.
"""

from __future__ import annotations

import random
import secrets
import time
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.support.games import loaded
from tests.torture import databases, evidence, journal, tables
from tests.torture.house import NO_MAIL, environment
from tests.torture.journal import Journal
from tests.torture.processes import Running
from tests.torture.report import Report, complaints, judge
from tests.torture.times import Time

ALLOWANCE = 600
"""Seconds per decision: the shortest allowance there is."""
BANK = 300
"""Seconds of time bank in every third game."""
BEAT = 100.0
"""Seconds between two heartbeats according to the server's settings; a process counts as down after six times that."""
LONGEST_LIFE = 1.0
"""Real seconds between two kills, at most."""
RATE = 120.0
"""How much faster time runs."""
SLOW = 1.5
"""Real seconds that may pass between a process's reading of the clock and its commit."""
AT_ONCE = 3
"""Games that one tick plays; they share its reading of the clock."""
MANY_TICKS = 20
TICKERS, RACERS = 4, 2
NAP = 0.1
"""Real seconds that a racer waits between two races, at most."""
LATE = (0.5, 1.0, 4.0)
"""Real seconds after the deadline during which a racer may still move; ticks take longer on some machines."""
CLOSE = timedelta(seconds=60)
"""How close to its deadline a turn is when a racer starts."""


def run(
    kind: str, server: str | None, games: int, seconds: float, seed: int, breaks: str | None = None
) -> Report:
    """Time out turns.

    Args:
        kind: of database; server: the URL of the PostgreSQL server, if it is of that kind.
        games: at once; seconds: for how long.
        seed: of the kills.
        breaks: a promise to break on purpose.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        private = stack.enter_context(databases.folder())
        url = stack.enter_context(databases.empty(kind, private, server))
        noted, log = Journal(private / "journal"), private / "log"
        settings = environment(url, NO_MAIL)
        clock = Time(time.monotonic(), RATE)
        apart = ALLOWANCE / games
        wish = tables.Wish(games, allowance=ALLOWANCE, bank=BANK, silent=True, at=clock.start, apart=apart)
        tables.lay(wish, settings, log, noted)
        clock = Time(time.monotonic(), RATE)
        kills = _kill_on(clock, seconds, settings, private, random.Random(seed), breaks)
        last = Running(_drain, (clock, noted.path, breaks), settings, log)
        drained = last.finish()
        last.kill()
        faults = judge(url, noted.path) + complaints(log)
        if drained != 0:
            faults += (f"the last tick ended with {drained}",)
        n, figures = _figures(url, noted.path)
        figures += (
            f", {kills} kills of {TICKERS} clocks and {RACERS} racers, {time.monotonic() - began:.0f} s"
        )
    return Report(f"deadlines on {kind}", n, figures, faults)


def _kill_on(
    clock: Time,
    seconds: float,
    settings: dict[str, str],
    private: Path,
    draw: random.Random,
    breaks: str | None,
) -> int:
    log, path = private / "log", private / "journal"
    works = [_tick] * TICKERS + [_race] * RACERS
    running = [Running(work, (clock, path, breaks), settings, log) for work in works]
    kills, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(draw.random() * LONGEST_LIFE)
        at = draw.randrange(len(works))
        running[at].kill()
        running[at] = Running(works[at], (clock, path, breaks), settings, log)
        kills += 1
    for each in running:
        each.kill()
    return kills


def _app(breaks: str | None) -> Any:
    from server import config, create_app
    from server.ops import logs
    from tests.torture import broken

    logs.log_to_stderr()
    if breaks is not None:
        broken.BREAKS[breaks]()
    return create_app(config.load("mailing")).app_context()


def _tick(clock: Time, _journal: Path, breaks: str | None) -> None:
    """Do what a scheduler does, repeatedly, and write the heartbeats of the web too."""
    from server.scheduler import jobs, loop
    from server.store import operations

    with _app(breaks):
        jobs.DUE_AT_ONCE = AT_ONCE
        recorders = [operations.HeartbeatRecorder(part, BEAT) for part in operations.PARTS]
        while True:
            for recorder in recorders:
                loop.record_heartbeat(recorder, clock.now(), clock.steady())
            jobs.tick_turns(clock.now(), BEAT)
            jobs.tick_reminders(clock.now())
            time.sleep(0.02)


def _drain(clock: Time, path: Path, breaks: str | None) -> int:
    """Tick at one time until nothing is played any more, and record that time; return 1 if there is no end to it."""
    from server.scheduler import jobs, loop
    from server.store import operations

    with _app(breaks):
        recorders = [operations.HeartbeatRecorder(part, BEAT) for part in operations.PARTS]
        now, steady = clock.now(), clock.steady()
        for _ in range(MANY_TICKS):
            for recorder in recorders:
                loop.record_heartbeat(recorder, now, steady)
            if jobs.tick_turns(now, BEAT) == 0:
                Journal(path).write("end", at=now.isoformat(), slack=SLOW * RATE)
                return 0
    return 1


def _race(clock: Time, path: Path, breaks: str | None) -> None:
    """Move for seats close to their deadline, before, at or after it; end autopilots."""
    from sqlalchemy import select

    from server.store import engine
    from server.store.models import Turn

    noted, draw = Journal(path), random.Random()
    with _app(breaks):
        while True:
            with engine.reading() as session:
                soon = select(Turn).where(Turn.due_at <= clock.now() + CLOSE)
                turns = list(session.scalars(soon))
            if turns:
                _try(draw.choice(turns), clock, noted, draw)
            _come_back(clock, noted, draw)
            time.sleep(draw.random() * NAP)


def _come_back(clock: Time, noted: Journal, draw: random.Random) -> None:
    """End a seat's autopilot, which also resumes a paused game."""
    from sqlalchemy import select

    from server import play
    from server.errors import Refused
    from server.store import engine
    from server.store.models import Game, Seat

    with engine.reading() as session:
        away = select(Seat.game_id, Seat.seat).join(Game, Game.id == Seat.game_id)
        seats = session.execute(away.where(Seat.autopilot, Game.status == "running")).all()
    if seats:
        game_id, seat = draw.choice(seats)
        noted.write("back", game=game_id, seat=seat)
        with suppress(Refused):
            play.reclaim(game_id, seat, now=clock.now())


def _try(turn: Any, clock: Time, noted: Journal, draw: random.Random) -> None:
    from byzanz.moves import RulesError
    from server import play
    from server.errors import Refused
    from server.play import positions
    from server.store import engine

    with engine.reading() as session:
        position = positions.current(loaded(session, turn.game_id))
    if turn.seat not in position.awaited:
        return
    move = str(draw.choice(position.rules.moves(position.state, turn.seat)))
    name = {"game": turn.game_id, "seat": turn.seat, "request": secrets.token_hex(12)}
    noted.write("ask", **name, move=move, seen=position.head)
    left = (turn.due_at - clock.now()).total_seconds() / clock.rate
    time.sleep(max(0.0, left - NAP + draw.choice(LATE) * draw.random()))
    try:
        receipt = play.submit(
            turn.game_id, turn.seat, move, seen=position.head, request_id=name["request"], now=clock.now()
        )
    except Refused as refused:
        noted.write("answer", **name, status=refused.status, seq=None, text=str(refused))
    except RulesError as error:
        noted.write("answer", **name, status=422, seq=None, text=str(error))
    else:
        noted.write("answer", **name, status=201, seq=receipt.seq)


def _figures(url: str, path: Path) -> tuple[int, str]:
    """Return how many turns timed out, and how the races ended."""
    lines = journal.read(path)
    connection = evidence.connect(url)
    found = evidence.gather(connection, lines)
    connection.close()
    books = [(game, game.known) for game in found.games.values() if game.known is not None]
    count, waits = sum(len(known.missed) for _, known in books), list[timedelta]()
    for game, known in books:
        at = {entry.seq: evidence.moment(entry.at) for entry in game.entries}
        for missed in known.missed:
            began, ended = at[missed.turn.opened], at[missed.first]
            if not game.row["bank"]:  # another rule checks what is left of it
                waits.append(ended - began - evidence.overlap(found.outages, began, ended))
    won = sum(line["what"] == "answer" and line["status"] == 201 for line in lines)
    lost = sum(line["what"] == "answer" and line["status"] == 409 for line in lines)
    late = sorted(max(0.0, (wait.total_seconds() - ALLOWANCE - 60) / RATE) for wait in waits)
    said = f"the player won {won} races and the clock {lost}, {len(found.outages)} outages"
    if late:
        said += (
            f", half of the turns {late[len(late) // 2]:.1f} real seconds late at most and all {late[-1]:.1f}"
        )
    return count, said
