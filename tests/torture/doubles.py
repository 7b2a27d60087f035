"""Promise 3: double clicks, two devices and retries make one entry, and no client sees a locked database."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.torture import damage, databases, tables
from tests.torture.evidence import connect
from tests.torture.house import NO_MAIL, House, answering, environment
from tests.torture.journal import Journal
from tests.torture.players import Intent, Line, choose
from tests.torture.report import Report, complaints, count, judge
from tests.torture.tables import Table

COPIES = 10
TABLES = 6
LEAST = 10
"""Intents that are tried however slow the machine is, or a busy one would have tried nothing."""
WRITERS = 16
"""Requests at once; the server has two processes of eight threads."""


def run(
    kind: str, server: str | None, intents: int, seconds: float, seed: int, breaks: str | None = None
) -> Report:
    """Submit each of many moves ten times at once, with answers racing sales out of turn.

    Args:
        kind: of database; server: the URL of the PostgreSQL server, if it is of that kind.
        intents: at most; seconds: from when the servers answer, after which no further move is submitted.
        seed: of the choices.
        breaks: a promise to break on purpose.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        private = stack.enter_context(databases.folder())
        url = stack.enter_context(databases.empty(kind, private, server))
        journal, log = Journal(private / "journal"), private / "log"
        settings = environment(url, NO_MAIL)
        laid = tables.lay(tables.Wish(TABLES), settings, log, journal)
        if breaks == "forgetful":
            with connect(url) as connection:
                damage.unguard(connection)
        house = stack.enter_context(House({"web": answering("web", "--workers", "2")}, settings, log, breaks))
        line, draw, wanted = Line(house.ports, journal), random.Random(seed), 0
        last, more = time.monotonic() + seconds, 1
        with ThreadPoolExecutor(WRITERS) as writers:
            while more and wanted < intents and (wanted < LEAST or time.monotonic() < last):
                more = _round(line, laid, draw, writers)
                wanted += more
        house.kill("web")
        faults = judge(url, journal.path) + complaints(log) + (("answers were lost",) if line.lost else ())
        figures = (
            f"{COPIES} copies of each by {WRITERS} writers at once: "
            f"{count(journal.path, 'answer', 201)} moves played, {count(journal.path, 'answer', 200)} repeated, "
            f"{count(journal.path, 'answer', 409, 422)} refused, {time.monotonic() - began:.0f} s"
        )
    return Report(f"doubles on {kind}", wanted, figures, faults)


def _round(line: Line, laid: list[Table], draw: random.Random, writers: ThreadPoolExecutor) -> int:
    """Submit an answer and a sale per game, ten copies of each at once, and rivals; return the number of intents."""
    wanted = [intent for table in laid for _ in range(2) for intent in _wishes(line, table, draw)]
    copies = wanted * COPIES
    draw.shuffle(copies)
    for _ in writers.map(line.ask, copies):
        pass
    return len(wanted)


def _wishes(line: Line, table: Table, draw: random.Random) -> list[Intent]:
    looks = {seat: line.look(token) for seat, token in table.tokens.items()}
    return [
        line.intend(table, seat, choose(told["moves"], draw), told["seq"])
        for seat, told in looks.items()
        if told["moves"]
    ]
