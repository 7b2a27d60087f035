"""Promise 1: kill -9 at any moment; no acknowledged move or order is lost, duplicated or half done."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from tests.torture import databases, tables
from tests.torture.correspondence import Correspondence
from tests.torture.house import House, Part, answering, environment, taking_mail
from tests.torture.journal import Journal
from tests.torture.players import Line, Players
from tests.torture.report import Report, complaints, count, judge
from tests.torture.sink import Sink

LONGEST_LIFE = 0.3
"""Seconds that a process lives at most once it is ready."""
YOUNG, BUSY = 0.2, 0.5
"""The shares of kills that hit a process before it is ready, and after it has done a little work."""
LITTLE = 5
"""Moves or emails to wait for at most; PATIENCE seconds at most, too."""
PATIENCE = 2.0
PLAYERS = 6
POST = 0.2
"""The share of kills that hit the process that accepts email."""
BANK = 3600


@dataclass(frozen=True, slots=True)
class Size:
    """How much to do.

    Args:
        kills: at most; seconds: after which no further process is killed.
        games: played at once.
    """

    kills: int
    seconds: float
    games: int


def parts_of(kind: str) -> dict[str, Part]:
    """One process on SQLite; two web and two scheduler processes on PostgreSQL; and one that accepts email."""
    if kind == databases.SQLITE:
        return {"serve": answering("serve"), "mail-in": taking_mail()}
    webs = {f"web {number}": answering("web", "--workers", "1") for number in (1, 2)}
    schedulers = {f"scheduler {number}": Part(("scheduler",)) for number in (1, 2)}
    return webs | schedulers | {"mail-in": taking_mail()}


def run(kind: str, server: str | None, size: Size, seed: int, breaks: str | None = None) -> Report:
    """Kill and restart processes while people play, then let a separate program check the result.

    Args:
        kind: of database; server: the URL of the PostgreSQL server, if it is of that kind.
        seed: of every choice made here; how the processes interleave is left to the machine.
        breaks: a promise to break on purpose, see `broken.py`.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        private = stack.enter_context(databases.folder())
        url = stack.enter_context(databases.empty(kind, private, server))
        journal, log = Journal(private / "journal"), private / "log"
        letters = Correspondence(journal)
        sink = stack.enter_context(Sink(journal, letters.heard))
        settings = environment(url, sink.url)
        laid = tables.lay(tables.Wish(size.games, bots=1, bank=BANK, gone=True), settings, log, journal)
        with House(parts_of(kind), settings, log, breaks) as house:
            letters.open(laid, house.door)
            line = Line(house.ports, journal)
            with Players(line, laid, PLAYERS, seed, letters):
                killer = Killer(house, journal, [lambda: line.played, lambda: sink.taken], seed)
                killer.kill_on(size)
                for part in house.parts:
                    house.ready(part)
        faults = judge(url, journal.path) + complaints(log)
        figures = (
            f"{killer.young} of the kills before it was ready, {line.lost} answers lost, "
            f"{count(journal.path, 'answer', 201)} moves acknowledged at once and "
            f"{count(journal.path, 'answer', 200)} when asked again, {line.ordered} orders left, "
            f"{count(journal.path, 'withdrawn', 204)} taken back, {count(journal.path, 'taken', 250)} mails taken in, "
            f"{sink.taken} sent, {size.games} games, {time.monotonic() - began:.0f} s"
        )
        kills = count(journal.path, "kill")
    return Report(f"kill -9 on {kind}", kills, figures, faults)


class Killer:
    """Kill and restart random processes repeatedly; `young` counts those killed before they were ready.

    Args:
        works: each counts one kind of work that the server has done so far.
    """

    def __init__(self, house: House, journal: Journal, works: list[Callable[[], int]], seed: int) -> None:
        self._house = house
        self._journal = journal
        self._works = works
        self._draw = random.Random(seed)
        self.young = 0

    def kill_on(self, size: Size) -> None:
        """Repeat until the time is over."""
        last = time.monotonic() + size.seconds
        for _ in range(size.kills):
            if time.monotonic() > last:
                return
            others = [part for part in self._house.parts if part != "mail-in"]
            part = "mail-in" if self._draw.random() < POST else self._draw.choice(others)
            self._wait(part)
            self._house.kill(part)
            self._journal.write("kill", part=part)
            self._house.start(part)

    def _wait(self, part: str) -> None:
        when = self._draw.random()
        if when < YOUNG:
            self.young += 1
        else:
            self._house.ready(part)
        if when < YOUNG + BUSY and when >= YOUNG:
            work = self._draw.choice(self._works)
            enough, last = work() + self._draw.randint(1, LITTLE), time.monotonic() + PATIENCE
            while work() < enough and time.monotonic() < last:
                time.sleep(0.002)
            time.sleep(self._draw.random() * LONGEST_LIFE / 10)
        else:
            time.sleep(self._draw.random() * LONGEST_LIFE)
