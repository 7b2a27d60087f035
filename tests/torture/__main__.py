"""`python3 dev.py torture`: break things on purpose and report how many trials found nothing lost.

python3 dev.py torture                 every test but `broken` for some seconds: what a change must pass
python3 dev.py torture --ci            what a release and the nightly run must pass: 15 minutes on two idle cores
python3 dev.py torture --full          as many trials as fit in a day
python3 dev.py torture NAME…           only these: kill9 doubles deadlines mails outages fuzz edits broken
python3 dev.py torture kill9 --kills N
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tests.torture import databases, deadlines, doubles, edits, fuzz, kill9, mails, outages
from tests.torture.databases import POSTGRESQL, SQLITE
from tests.torture.report import Report


@dataclass(frozen=True, slots=True)
class Size:
    """How many trials of each kind to run, at most, and for how many seconds.

    Args:
        games: games played while servers are killed; deadlines: games in which turns time out.
        outages: turns that time out under faults.
        requests: bad requests.
        racing: seconds during which deadlines pass; the machine decides how many turns that makes.
    """

    kills: int
    intents: int
    games: int
    deadlines: int
    mails: int
    outages: int
    requests: int
    edits: int
    racing: float
    seconds: float


SIZES = {
    "short": Size(
        kills=100,
        intents=100,
        games=50,
        deadlines=150,
        mails=1000,
        outages=1000,
        requests=10_000,
        edits=200,
        racing=6,
        seconds=6,
    ),
    "ci": Size(
        kills=100,
        intents=1000,
        games=50,
        deadlines=150,
        mails=1000,
        outages=1000,
        requests=10_000,
        edits=500,
        racing=150,
        seconds=900,
    ),
    "full": Size(
        kills=10_000,
        intents=10_000,
        games=100,
        deadlines=1000,
        mails=10_000,
        outages=100_000,
        requests=1_000_000,
        edits=10_000,
        racing=3600,
        seconds=4 * 3600,
    ),
}
Run = Callable[[str, "str | None", Size, int], Report]


def _kill9(kind: str, server: str | None, size: Size, seed: int) -> Report:
    return kill9.run(kind, server, kill9.Size(size.kills, 1.5 * size.seconds, size.games), seed)


def _doubles(kind: str, server: str | None, size: Size, seed: int) -> Report:
    return doubles.run(kind, server, size.intents, size.seconds, seed)


def _deadlines(kind: str, server: str | None, size: Size, seed: int) -> Report:
    return deadlines.run(kind, server, size.deadlines, size.racing, seed)


TORTURES: dict[str, Run] = {"kill9": _kill9, "doubles": _doubles, "deadlines": _deadlines}
"""The tests that run on each kind of database."""
WORLDS = 2
"""The tests that run in parallel with others, each on a separate database."""
SHORT = 6.0
"""Seconds that a broken server is given to show its fault."""


def reports(names: Sequence[str], size: Size, seed: int, server: str | None) -> Iterator[Report]:
    """Run the requested tests on each available kind of database."""
    kinds = (SQLITE, POSTGRESQL) if server else (SQLITE,)
    for name, torture in TORTURES.items():
        for kind in kinds if name in names else ():
            yield torture(kind, server, size, seed)
    if "mails" in names:
        yield mails.run(size.mails, 1.5 * size.seconds, seed)
    if "outages" in names:
        with ThreadPoolExecutor(WORLDS) as worlds:
            tried = [
                worlds.submit(outages.run, size.outages // WORLDS, 1.5 * size.seconds, seed + number)
                for number in range(WORLDS)
            ]
            yield from (world.result() for world in tried)
    if "fuzz" in names:
        yield fuzz.run(size.requests, 1.5 * size.seconds, seed)
    if "edits" in names:
        yield edits.run(size.edits, size.seconds, seed)
    if "broken" in names:
        yield from _broken(seed)


def _broken(seed: int) -> Iterator[Report]:
    """Run servers that break a promise; it is a fault if the checker finds nothing."""
    few = kill9.Size(kills=12, seconds=2 * SHORT, games=20)
    found = {
        "moves acknowledged before they are committed": kill9.run(SQLITE, None, few, seed, "hasty"),
        "moves answered before the COMMIT that they share": kill9.run(SQLITE, None, few, seed, "premature"),
        "moves that a refused one takes along": doubles.run(SQLITE, None, 60, 2 * SHORT, seed, "contagious"),
        "mails marked as sent before they are": kill9.run(SQLITE, None, few, seed, "boastful"),
        "mails marked as sent before they are, to a server that fails": mails.run(
            30, SHORT, seed, "boastful"
        ),
        "requests not known again": doubles.run(SQLITE, None, 10, SHORT, seed, "forgetful"),
        "deadlines at half time": deadlines.run(SQLITE, None, 40, SHORT, seed, "eager"),
    }
    for what, report in (found | _wrong_times(seed)).items():
        noticed = report.faults if report.n else ()
        faults = () if noticed else (f"the checker noticed nothing: {report}",)
        yield Report(f"broken on purpose, {what}", report.n, f"{len(noticed)} faults found", faults)


def _wrong_times(seed: int) -> dict[str, Report]:
    """Run servers that time out turns which they should not."""
    breaks = {
        "our downtime counted": ("oblivious", "away"),
        "a clock believed that jumps": ("credulous", "jump"),
        "clocks that run on when a mail comes back": ("deaf", "bounce"),
    }
    with ThreadPoolExecutor(len(breaks)) as worlds:
        tried = {
            what: worlds.submit(outages.run, 300, 4 * SHORT, seed, broken, often)
            for what, (broken, often) in breaks.items()
        }
        return {what: world.result() for what, world in tried.items()}


def main(words: Sequence[str]) -> int:
    """Run the torture tests; return 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="torture", description="Tests that break things on purpose.")
    known = [*TORTURES, "mails", "outages", "fuzz", "edits", "broken"]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument(
        "--ci", action="store_const", const="ci", dest="size", help="what a release must pass"
    )
    parser.add_argument("--full", action="store_const", const="full", dest="size", help="as long as it takes")
    parser.add_argument("--kills", type=int, help="so many, however long that takes")
    parser.add_argument("--seed", type=int, default=1, help="of all choices")
    asked = parser.parse_args(words)
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"there is no torture {unknown[0]}; there are {', '.join(known)}")
    size = SIZES[asked.size or "short"]
    # The servers that break a promise test the checker, which has tests of its own on each commit.
    names = asked.names or [name for name in known if asked.size or name != "broken"]
    if asked.kills:
        size = replace(size, kills=asked.kills, seconds=SIZES["full"].seconds)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and folders are cleaned up
    failed = False
    with databases.postgres() as server:
        if server is None:
            print("PostgreSQL: skipped, there is none: set TEST_DATABASE_URL", flush=True)
        for report in reports(names, size, asked.seed, server):
            print(report, flush=True)
            failed = failed or bool(report.faults)
    return 1 if failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the PostgreSQL wheel warns about a folder it does not use
    sys.exit(main(sys.argv[1:]))
