"""`python3 dev.py records`: add finished games to the recorded games, and replay them all.

python3 dev.py records check           replay all games
python3 dev.py records add FILE…       verify the records in these files and add them; - reads standard input
python3 dev.py records rehash          after raising a state_format: replay all games and hash the states again
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from byzanz.bots import BOTS
from byzanz.games import SHIPPED, rules_of
from byzanz.record import BadRecord, InvalidRecord, Record, read
from byzanz.rules import Rules
from tests.records import shelf
from tests.records.replay import Changed, Find, Rewritten, check, hashes_of
from tests.records.shelf import Hashes, Unreadable

FEWEST = 60
"""The least number of recorded games."""


@dataclass(slots=True)
class Finding:
    """The result of replaying all games.

    Args:
        games: how many there are of each game; kinds: of each game with its version and number of seats.
        players: each game with every name that sits at its tables, including bots.
        entries: how many were compared.
        faults: one line for each game that does not replay, and for what is missing.
        rewritten: the games that replay, but whose states are encoded in a newer format than their hashes.
    """

    games: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    players: set[tuple[str, str]] = field(default_factory=set)
    entries: int = 0
    faults: list[str] = field(default_factory=list)
    rewritten: list[tuple[Record, str]] = field(default_factory=list)

    def __str__(self) -> str:
        each = ", ".join(f"{game} {count}" for game, count in sorted(self.games.items()))
        return (
            f"{self.games.total()} games replayed ({each}), {self.entries} entries, {len(self.faults)} faults"
        )


def played_over(folder: Path, find: Find = rules_of) -> Finding:
    """Replay every game of a folder.

    Args:
        folder: with the recorded games.
        find: returns the rules of a slug and a version.
    """
    finding = Finding(faults=[f"{stray}: its record is missing" for stray in shelf.strays(folder)])
    for file in shelf.files(folder):
        try:
            record, hashes = shelf.load(file)
            header = record.header
            finding.games[header.game] += 1
            finding.kinds[header.game, header.rules, len(header.seats)] += 1
            finding.players |= {(header.game, name) for name in header.seats}
            finding.entries += len(record.entries)
            check(record, hashes, find)
        except Rewritten as rewritten:
            finding.rewritten.append((record, f"{file}: {rewritten}"))
        except (Unreadable, Changed) as fault:
            finding.faults.append(f"{file}: {fault}")
    return finding


def missing(finding: Finding, games: Sequence[Rules[Any, Any]]) -> list[str]:
    """Return what is missing: enough games, and one for each number of seats and with each bot.

    Args:
        finding: what is there.
        games: the latest rules of each game.
    """
    total, kinds, players = finding.games.total(), finding.kinds, finding.players
    few = [f"{total} games are kept, {FEWEST} or more should be"] if total < FEWEST else []
    unplayed = [
        f"{rules.slug}, rules {rules.version}, for {seats}"
        for rules in games
        for seats in rules.seats
        if not kinds[rules.slug, rules.version, seats]
    ]
    unplayed += [
        f"{rules.slug} with the bot {bot}"
        for rules in games
        for bot in BOTS
        if (rules.slug, bot) not in players
    ]
    return few + [f"no record of {what}: play one and add it (records add)" for what in unplayed]


def check_all(folder: Path, find: Find = rules_of, games: Sequence[Rules[Any, Any]] | None = None) -> Finding:
    """Replay every game of a folder and check that none is missing; report all faults.

    Args:
        games: that must have been played; if None, those that come with Byzanz: packages keep their own records.
    """
    finding = played_over(folder, find)
    finding.faults += [told for _, told in finding.rewritten]
    finding.faults += missing(finding, SHIPPED if games is None else games)
    return finding


def add(folder: Path, names: Sequence[str]) -> list[Path]:
    """Add all records in these files or, if one is refused, none.

    Args:
        folder: of the recorded games.
        names: of files; `-` for standard input.

    Returns:
        The new files.

    Raises:
        Unreadable: a file has no record, or one that is invalid, unfinished or already there.
    """
    new: dict[str, Record] = {}
    hashes: dict[str, Hashes] = {}
    for name in names:
        for record in _records(name):
            called = shelf.name_of(record)
            if called in new or (folder / f"{called}.jsonl").exists():
                raise Unreadable(f"{name}: {called} is kept already")
            try:
                hashes[called] = hashes_of(record)
            except InvalidRecord as wrong:
                raise Unreadable(f"{name}: game {record.header.id}: {wrong}") from wrong
            new[called] = record
    return [shelf.keep(folder, record, hashes[called]) for called, record in new.items()]


def _records(name: str) -> list[Record]:
    """Return the finished records in a file, at least one."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        records = list(read(text))
    except (BadRecord, OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{name}: {error}") from error
    if not records:
        raise Unreadable(f"{name}: there is no record in it")
    if running := [record.header.id for record in records if record.result is None]:
        raise Unreadable(f"{name}: game {running[0]} is not over; only finished games are kept")
    return records


def rehash(folder: Path, find: Find = rules_of) -> list[Path]:
    """Hash the states again where a state_format was raised; return the changed files.

    Args:
        folder: of the recorded games.
        find: returns the rules of a slug and a version.

    Raises:
        Changed: a game does not replay; nothing was written.
    """
    finding = played_over(folder, find)
    if finding.faults:
        raise Changed(f"nothing is hashed anew while a game does not replay; {finding.faults[0]}")
    return [shelf.keep(folder, record, hashes_of(record, find)) for record, _ in finding.rewritten]


def _check(_: Sequence[str]) -> int:
    finding = check_all(shelf.FOLDER)
    for fault in finding.faults:
        print(fault, file=sys.stderr)
    print(finding)
    return 1 if finding.faults else 0


def _add(names: Sequence[str]) -> int:
    return _tell(add(shelf.FOLDER, names), "added")


def _rehash(_: Sequence[str]) -> int:
    return _tell(rehash(shelf.FOLDER), "hashed anew")


def _tell(files: Sequence[Path], done: str) -> int:
    for file in files:
        print(f"{file.relative_to(shelf.FOLDER)}: {done}")
    print(f"{done}: {len(files)}")
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"check": _check, "add": _add, "rehash": _rehash}


def main(words: Sequence[str]) -> int:
    """Run a command; return 1 if a game does not replay or cannot be added."""
    parser = argparse.ArgumentParser(prog="records", description="Finished games that must replay for ever.")
    parser.add_argument("command", choices=COMMANDS, help="play all over again, keep more, or hash anew")
    parser.add_argument("files", nargs="*", metavar="FILE", help="of add: records; - for standard input")
    asked = parser.parse_args(words)
    if bool(asked.files) != (asked.command == "add"):
        parser.error("add wants files, check and rehash want none")
    try:
        return COMMANDS[asked.command](asked.files)
    except (Unreadable, Changed) as error:
        print(f"records: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
