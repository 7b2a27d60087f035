"""An application on an empty database, games on it, and what the scheduler's jobs cost with a million of them."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from flask import Flask
from pydantic import SecretStr
from sqlalchemy import ColumnElement, FromClause, String, cast, insert, literal, select
from sqlalchemy.orm import Session

from benchmarks.servers import Plan, post_request
from byzanz import chance, umpire
from byzanz.games import rules_of
from byzanz.record import Cause
from server import create_app, play
from server.config import Settings
from server.lobby import create
from server.mail.outgoing.smtp import Message, Transport
from server.play import positions, running
from server.scheduler import jobs, loop
from server.store import engine, links, migrate, operations, people
from server.store.mail_kinds import MailKind
from server.store.models import (
    Entry,
    Game,
    Heartbeat,
    LinkPurpose,
    Mail,
    Person,
    Presence,
    Seat,
    Turn,
    Wish,
    Word,
)
from server.validation import Guest
from tests.torture import databases

NAMES = ("Anna", "Basil", "Cassia", "Demetrios")
NO_MAIL = "smtp://127.0.0.1:9"
SECRET = "only for a benchmark, never for people"  # noqa: S105 - of databases that are thrown away


@dataclass(frozen=True, slots=True)
class ScriptedMove:
    """One move of a scripted game: the seat and its token, the move, and the head of the log before it."""

    seat: int
    token: str
    move: str
    seen: int


@contextmanager
def temporary_server(database_url: str | None = None) -> Iterator[tuple[Flask, Path]]:
    """Yield the application, its context pushed, and a folder, which holds its database.

    Args:
        database_url: of another, empty database.
    """
    with tempfile.TemporaryDirectory(prefix="byzanz-bench-") as folder:
        settings = Settings(
            database_url=database_url or f"sqlite:///{folder}/byzanz.db",
            mail_url=NO_MAIL,
            secret_key=SecretStr(SECRET),
            rate_limits=False,
        )
        app = create_app(settings)
        with app.app_context():
            try:
                migrate.upgrade()
                yield app, Path(folder)
            finally:
                engine.db.session.remove()
                engine.db.engine.dispose()


@contextmanager
def temporary_postgres() -> Iterator[str | None]:
    """Yield the URL of an empty database on PostgreSQL; None if there is no PostgreSQL."""
    with databases.postgres() as server, databases.folder() as private:
        if server is None:
            yield None
        else:
            with databases.empty(databases.POSTGRESQL, private, server) as url:
                yield url


def environment() -> dict[str, str]:
    """Return the variables with which another process runs the application that is running here."""
    return {
        "BYZANZ_DATABASE_URL": engine.db.engine.url.render_as_string(hide_password=False),
        "BYZANZ_MAIL_URL": NO_MAIL,
        "BYZANZ_SECRET_KEY": SECRET,
        "BYZANZ_RATE_LIMITS": "off",
    }


def start_game(people: str = "") -> str:
    """Start a game of four and return its id.

    Args:
        people: the same text stands for the same four people; without one, they are new.
    """
    people = people or secrets.token_hex(8)
    players = [Guest(name, f"{name.lower()}{people}@example.org") for name in NAMES]
    return create.quick_game(slug="byzanz", players=players, now=engine.utc_now(), start=True)


def tokens_of(game_id: str) -> list[str]:
    """Return the tokens of a game's seats, in order."""
    now = engine.utc_now()
    with engine.transaction() as session:
        seats = positions.seats_of(session, game_id)
        persons = [seat.person_id for seat in seats if seat.person_id is not None]
        return [
            links.token(links.link_for(session, LinkPurpose.SEAT, person, game_id, now)) for person in persons
        ]


def script(game_id: str, upto: int) -> list[ScriptedMove]:
    """Return the first moves of a new game, or of one that was lengthened, chosen at random; its log is not touched."""
    with engine.reading() as session:
        game = session.get_one(Game, game_id)
        head = game.head
        rules, seed = rules_of(game.slug, game.rules), bytes.fromhex(game.seed)
        key = chance.key(game.id, seed, [seat.cut for seat in game.seats])
        seats = len(game.seats)
    tokens, deal, draw = tokens_of(game_id), chance.deal(key), chance.Stream(seed, "bench").below
    state, _ = umpire.settle(rules, rules.setup(seats, {}), deal)
    lines = list[ScriptedMove]()
    while len(lines) < upto and rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        moves = rules.moves(state, seat)
        move = moves[draw(len(moves))]
        lines.append(ScriptedMove(seat, tokens[seat], str(move), head))
        state, steps = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
        head += 1 + len(steps)
    return lines


def scripts(games: int, moves: int) -> list[list[ScriptedMove]]:
    """Start games and return the first moves of each.

    Raises:
        ValueError: a game is over before so many moves.
    """
    found = [script(start_game(), moves) for _ in range(games)]
    if any(len(lines) < moves for lines in found):
        raise ValueError(f"a game is over before {moves} moves")
    return found


def requests(lines: list[ScriptedMove]) -> list[str]:
    """Return the calls of the API that make these moves."""
    return [
        post_request(
            f"/api/v1/seats/{line.token}/moves",
            {"move": line.move, "seen": line.seen, "request_id": f"request-{line.seen}"},
        )
        for line in lines
    ]


def move_plan(port: int, games: list[list[ScriptedMove]]) -> Plan:
    """Let one client in each game make all its moves but the last."""
    return Plan(port, [requests(lines[:-1]) for lines in games], statuses=(201,))


def play_line(game_id: str, line: ScriptedMove) -> None:
    """Make a move in this process."""
    now = engine.utc_now()
    play.submit(game_id, line.seat, line.move, seen=line.seen, request_id=f"request-{line.seen}", now=now)


def lengthen(game_id: str, length: int) -> int:
    """Make the log of a new game long, and return the seat that is to move, as before.

    It passes and a moderator voids that, again and again.
    """
    now = engine.utc_now()
    with engine.transaction() as session, running.in_hand(session, game_id, now) as table:
        position = positions.current(table)
        seat = min(position.awaited)
        while table.game.head < length - 3:
            passed = table.append(seat=seat, by=Cause.PLAYER, move="pass", now=now)
            for act in (f"!void {passed.seq}", "!pause", "!resume"):
                table.append(seat=None, by=Cause.MODERATOR, move=act, now=now, note="to measure")
        while table.game.head < length:
            table.append(seat=None, by=Cause.MODERATOR, move="!note", now=now, note="to measure")
        positions.save(table, position)
    return seat


# Many running games in which nothing is due, made by a few statements.

SEATS = 4
GAMES_OF_A_PERSON = 20
"""Running games in which each person sits."""
READERS = 100
"""One person of so many gets a daily digest."""
INVITATIONS = 100
"""There is one game with a new invitation for so many that run."""
AT_ONCE = 100_000
"""Games inserted in one transaction."""
DAY = timedelta(days=1)


def add_heartbeats(now: datetime) -> None:
    """Store the heartbeats without which no deadline is enforced."""
    with engine.transaction() as session:
        for part in operations.PARTS:
            session.merge(Heartbeat(part=part, at=now))


def add_games(games: int, now: datetime) -> None:
    """Insert running games, each with its seats, an entry, a turn that is due tomorrow, its sent email and a word."""
    for begin in range(0, games, AT_ONCE):
        end = min(begin + AT_ONCE, games)
        with engine.transaction() as session:
            _add_people(session, _people(begin), _people(end), now)
            numbers = _numbers(begin, end)
            _add_running(session, numbers, now)
            invitations = select(numbers.c.n).where(numbers.c.n % INVITATIONS == 0).subquery()
            _add_invitations(session, invitations, now)


def count_rows() -> None:
    """Have the database count its rows for its query planner."""
    with engine.db.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def _people(games: int) -> int:
    return -(-games * SEATS // GAMES_OF_A_PERSON)


def _numbers(first: int, last: int) -> FromClause:
    """Return a table `n` of the numbers from `first` up to but not including `last`."""
    numbers = select(literal(first).label("n")).cte("numbers", recursive=True)
    return numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < last - 1))


def _insert(session: Session, table: Any, rows: FromClause, **values: Any) -> None:
    """Insert a row for each of `rows`; a value is an expression over these, or the same in all."""
    columns = table.__table__.c
    given = {
        name: value if isinstance(value, ColumnElement) else literal(value, columns[name].type)
        for name, value in values.items()
    }
    session.execute(insert(table).from_select(list(given), select(*given.values()).select_from(rows)))


def _named(prefix: str, number: ColumnElement[int]) -> ColumnElement[str]:
    return literal(prefix) + cast(number, String)


def _add_people(session: Session, first: int, last: int, now: datetime) -> None:
    if first == last:
        return
    numbers = _numbers(first, last)
    reads = numbers.c.n % READERS == 0
    for cadence, which in (("each", ~reads), ("digest", reads)):
        rows = select(numbers.c.n).where(which).subquery()
        name = _named("player", rows.c.n)
        _insert(
            session,
            Person,
            rows,
            id=rows.c.n + 1,
            email=name + "@example.org",
            name=name,
            created_at=now,
            cadence=cadence,
            time_zone="Europe/Berlin",
            digest_at=now + DAY / 4,
        )
        if cadence == "digest":
            _insert(session, Wish, rows, person_id=rows.c.n + 1, created_at=now)


def _add_running(session: Session, rows: FromClause, now: datetime) -> None:
    game_id = _named("g", rows.c.n)
    organiser = _sitting(rows.c.n, 0)
    _add_game(session, rows, game_id, now, status="running", started_at=now, head=1, organiser_id=organiser)
    for seat in range(SEATS):
        person = _sitting(rows.c.n, seat)
        _add_seat(session, rows, game_id, seat=seat, status="seated", person_id=person)
    _insert(
        session,
        Entry,
        rows,
        game_id=game_id,
        seq=1,
        at=engine.stamp(now),
        by="chance",
        move="shuffle deal",
        salt="00" * 16,
        hash="00" * 32,
    )
    _add_turns(session, rows, game_id, now)
    person_id = _sitting(rows.c.n, 0)
    _insert(session, Presence, rows, person_id=person_id, game_id=game_id, at=now)
    words = {"text": "Hello", "at": now, "seq": 1, "request_id": "1"}
    _insert(session, Word, rows, game_id=game_id, number=1, person_id=person_id, seat=0, **words)


def _add_invitations(session: Session, rows: FromClause, now: datetime) -> None:
    game_id = _named("i", rows.c.n)
    _add_game(session, rows, game_id, now, status="inviting", organiser_id=1)
    _add_seat(session, rows, game_id, seat=0, status="invited", person_id=1, invited_at=now)
    _add_mail(session, rows, game_id, now, kind=MailKind.INVITE, person_id=1)


def _add_game(
    session: Session, rows: FromClause, game_id: ColumnElement[str], now: datetime, **more: Any
) -> None:
    _insert(
        session,
        Game,
        rows,
        id=game_id,
        slug="byzanz",
        rules=1,
        name="A game",
        allowance=86400,
        seed="00" * 32,
        commitment="00" * 32,
        created_at=now,
        **more,
    )


def _add_seat(session: Session, rows: FromClause, game_id: ColumnElement[str], **more: Any) -> None:
    _insert(session, Seat, rows, game_id=game_id, stored_name="Anna", **more)


def _sitting(number: ColumnElement[int], seat: int) -> ColumnElement[int]:
    """Return the person in a seat: each sits in twenty games that follow each other."""
    return (number * SEATS + seat) // GAMES_OF_A_PERSON + 1


def _add_turns(session: Session, rows: FromClause, game_id: ColumnElement[str], now: datetime) -> None:
    _insert(
        session,
        Turn,
        rows,
        game_id=game_id,
        seat=0,
        question="bid 1",
        opened_seq=1,
        opened_at=now,
        started_at=now,
        due_at=now + DAY,
        remind_at=now + DAY * 0.8,
    )
    _add_mail(session, rows, game_id, now, kind=MailKind.TURN, person_id=_sitting(rows.c.n, 0), seq=1)


def _add_mail(
    session: Session, rows: FromClause, game_id: ColumnElement[str], now: datetime, kind: str, **more: Any
) -> None:
    _insert(
        session,
        Mail,
        rows,
        key=literal(f"{kind}:") + game_id + ":0:1",
        kind=kind,
        created_at=now,
        not_before=now,
        game_id=game_id,
        seat=0,
        status="sent",
        finished_at=now,
        **more,
    )


# The CPU time of each job of the scheduler with nothing due, with a thousand and with many running games.

FEW, MANY = 1_000, 1_000_000
"""Running games."""
TICK = 5.0
WARM_UP = 3
"""Ticks before the first that counts: they compile the statements and fill the caches."""


class Collector:
    """A mail sender that keeps the messages.

    Args:
        transport: sends them as well, if there is one.
    """

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        """Keep a message."""
        if self._transport:
            self._transport.send(message)
        self.messages.append(message)


def _send_heartbeats(now: datetime) -> int:
    for part in operations.PARTS:
        loop.record_heartbeat(operations.HeartbeatRecorder(part, TICK), now, jobs.steady())
    return 0


def _store_presence(_now: datetime) -> int:
    people.store()
    return 0


def _store_totals(_now: datetime) -> int:
    operations.store_figures()
    return 0


IDLE: dict[str, Callable[[datetime], int]] = {
    "heartbeats": _send_heartbeats,
    "presence": _store_presence,
    "totals": _store_totals,
    "turns": lambda now: jobs.tick_turns(now, TICK),
    "unreached": lambda now: jobs.tick_unreached(now, TICK),
    "reminders": jobs.tick_reminders,
    "bots": jobs.tick_bots,
    "outbox": lambda now: jobs.tick_outbox(now, Collector()),
    "digests": lambda now: jobs.tick_digests(now, TICK),
    "nudges": jobs.tick_invitation_reminders,
    "rematches": jobs.tick_rematches,
    "rules": jobs.tick_rules,
    "tables": lambda now: jobs.tick_tables(now, TICK),
    "addresses": lambda now: jobs.tick_addresses(now, TICK),
    "purge": lambda now: jobs.tick_purge(now, TICK),
    "results": lambda now: jobs.tick_results(now, TICK),
}
"""The jobs of the scheduler by their names; what each returns is how much there was to do. `figures` is left out: it
counts all games, every ten minutes."""


def measure_jobs(many: int = MANY, ticks: int = 100) -> dict[str, float]:
    """Run each job on a database of a thousand running games and on one of many, in turn.

    Args:
        many: how many games that is.
        ticks: how often, at each size.
    """
    with temporary_server() as (small, _folder):
        _fill(FEW)
        with temporary_server() as (large, _folder):
            start = perf_counter()
            _fill(many)
            setting_up = perf_counter() - start
            few, lots = _milliseconds((small, large), ticks)
            with large.app_context():
                start = thread_time()
                jobs.tick_figures(engine.utc_now())
                counting = (thread_time() - start) * 1000
    ratios = {job: lots[job] / few[job] for job in IDLE}
    return {
        **{f"milliseconds_of_{job}_at_{FEW}": spent for job, spent in few.items()},
        **{f"milliseconds_of_{job}_at_{many}": spent for job, spent in lots.items()},
        **{f"ratio_of_{job}": ratio for job, ratio in ratios.items()},
        "ratio": max(ratios.values()),
        "seconds_to_set_up": setting_up,
        "milliseconds_of_counting_all": counting,
    }


def _fill(games: int) -> None:
    now = engine.utc_now()
    add_heartbeats(now)
    add_games(games, now)


def _milliseconds(servers: tuple[Flask, Flask], ticks: int) -> tuple[dict[str, float], ...]:
    """Return the median CPU time of each job on each server; they take turns, so that a busy machine slows both."""
    took: list[dict[str, list[float]]] = [{name: [] for name in IDLE} for _ in servers]
    for number in range(WARM_UP + ticks):
        for app, spent in list(zip(servers, took, strict=True))[:: -1 if number % 2 else 1]:
            with app.app_context():
                for name, job in IDLE.items():
                    now, start = engine.utc_now(), thread_time()
                    done = job(now)
                    milliseconds = (thread_time() - start) * 1000
                    assert done == 0, f"{name}: something was due"
                    spent[name] += [milliseconds] if number >= WARM_UP else []
    return tuple({name: median(each) for name, each in spent.items()} for spent in took)
