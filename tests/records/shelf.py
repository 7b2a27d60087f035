"""The recorded games: each a record as exported, and a file with two hashes per entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from byzanz.bots import BOTS
from byzanz.record import BadRecord, Record, read, write

FOLDER = Path(__file__).parent
"""The recorded games of this project, in one folder per game."""
_HASHES = re.compile(r"[0-9a-f]{16} [0-9a-f]{16}")


class Unreadable(ValueError):
    """Raised when a file is not what it should be; the message names it."""


@dataclass(frozen=True, slots=True)
class Hashes:
    """The stored hashes of every position of a game.

    Args:
        state_format: of the rules that encoded the states.
        lines: one per entry: the hash of the state after it and that of the possible play, see `replay`.
    """

    state_format: int
    lines: tuple[str, ...]


def name_of(record: Record) -> str:
    """Return the name of a game's files, without an ending: `byzanz/4-greedy-random-ID`.

    Args:
        record: a game; `people` stands for the names of people.
    """
    header = record.header
    names = list(dict.fromkeys(header.seats))
    who = names if set(names) <= set(BOTS) else ["people"]
    mark = re.sub("[^a-z0-9]+", "-", header.id.lower()).strip("-")
    return f"{header.game}/{'-'.join([str(len(header.seats)), *who, mark])}"


def files(folder: Path) -> Iterator[Path]:
    """Return the files of all records in a folder, sorted by name, without the hashes."""
    yield from sorted(folder.glob("*/*.jsonl"))


def load(file: Path) -> tuple[Record, Hashes]:
    """Read a record and its hashes.

    Args:
        file: the record, with its hashes beside it.

    Raises:
        Unreadable: one of them is missing or is not as `keep` writes it.
    """
    return _record(file), _hashes(file.with_suffix(".hashes"))


def keep(folder: Path, record: Record, hashes: Hashes) -> Path:
    """Store a game, or its new hashes; return the file of its record."""
    file = folder / f"{name_of(record)}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(write(record), encoding="ascii", newline="\n")
    head = f"{record.header.game}/{record.header.rules}/{hashes.state_format}"
    text = "".join(f"{line}\n" for line in (head, *hashes.lines))
    file.with_suffix(".hashes").write_text(text, encoding="ascii", newline="\n")
    return file


def strays(folder: Path) -> list[Path]:
    """Return files of hashes whose record is missing."""
    return [file for file in sorted(folder.glob("*/*.hashes")) if not file.with_suffix(".jsonl").exists()]


def _record(file: Path) -> Record:
    text = _text(file)
    try:
        records = list(read(text))
    except BadRecord as error:
        raise Unreadable(f"{file.name}, {error}") from error
    if len(records) != 1 or write(records[0]) != text:
        raise Unreadable(f"{file.name} is not one record, sign for sign as `export` and `simulate` write it")
    if f"{file.parent.name}/{file.stem}" != name_of(records[0]):
        raise Unreadable(f"{file.name} should be named {name_of(records[0])}.jsonl after what is in it")
    return records[0]


def _hashes(file: Path) -> Hashes:
    head, *lines = _text(file).splitlines() or [""]
    if not re.fullmatch(r"[a-z0-9-]+/[0-9]+/[0-9]+", head) or not all(map(_HASHES.fullmatch, lines)):
        raise Unreadable(f"{file.name} is not a line GAME/RULES/STATE_FORMAT and two hashes for each entry")
    return Hashes(int(head.rsplit("/", 1)[1]), tuple(lines))


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("ascii")
    except FileNotFoundError as error:
        raise Unreadable(f"{file.name} is missing") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{file.name} is not plain ASCII") from error
