"""The text of a record: one JSON object a line, written and read (docs/formats.md §4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from typing import IO, Any, NoReturn

from byzanz.record.entry import GENESIS, Entry

FORMATS = ("byzanz-record/1", "byzanz-record/2")
"""The second has the order of the cuts, and its hash chain starts from the header."""
LONGEST_LINE = 1024 * 1024
"""Bytes; lines of real records have a few thousand."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a record.

    Args:
        id: the game's id.
        game: slug of the game.
        rules: version of its rules.
        options: all but those at their default.
        seats: the names, in seat order.
        commitment: 64 hex digits.
        seed: 32 bytes, None while the game runs.
        cuts: one a seat.
        uncut: the seats whose players were not asked for a cut.
        cut_order: all seats in the order in which their cuts were fixed; None in a record of the first format.
    """

    id: str
    game: str
    rules: int
    options: Mapping[str, Any]
    seats: tuple[str, ...]
    commitment: str
    seed: bytes | None
    cuts: tuple[str, ...]
    uncut: tuple[int, ...] = ()
    cut_order: tuple[int, ...] | None = None

    @property
    def format(self) -> str:
        """The format of the record."""
        return FORMATS[self.cut_order is not None]

    @property
    def first_hash(self) -> str:
        """The hash before entry 1, which binds the log to its header (docs/formats.md §4)."""
        if self.cut_order is None:
            return GENESIS
        values = asdict(self) | {"options": dict(sorted(self.options.items())), "players": len(self.seats)}
        names = ("id", "game", "rules", "options", "players", "commitment", "cuts", "uncut", "cut_order")
        fields = {name: values[name] for name in names}
        return sha256(f"byzanz-log/2\n{json.dumps(fields, separators=(',', ':'))}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Result:
    """How a game ended.

    Args:
        scores: one number a seat.
        winners: the seats that share the win; none when abandoned.
        reason: `finished`, `fallen` or `abandoned`.
    """

    scores: tuple[int, ...]
    winners: tuple[int, ...]
    reason: str

    def __str__(self) -> str:
        scores, winners = (" ".join(map(str, numbers)) or "-" for numbers in (self.scores, self.winners))
        return f"{self.reason}, scores {scores}, winners {winners}"


@dataclass(frozen=True, slots=True)
class Record:
    """A game from header to result.

    Args:
        header: the first line.
        entries: the log.
        result: None while the game runs.
        head: the hash of the last entry, None while the game runs.
    """

    header: Header
    entries: tuple[Entry, ...] = field(default=())
    result: Result | None = None
    head: str | None = None


class BadRecord(ValueError):
    """The text is no record.

    Args:
        line: the number of the line, from 1.
        reason: what is wrong with it.
        entry: the number of the entry expected there; None outside the entries.
    """

    def __init__(self, line: int, reason: str, entry: int | None = None) -> None:
        place = f"line {line}" if entry is None else f"line {line}, entry {entry} of its game"
        super().__init__(f"{place}: {reason}")
        self.line = line
        self.entry = entry
        self.reason = reason


def write(record: Record) -> str:
    """Return the record as JSON Lines in ASCII, each line with a line feed at its end."""
    header = asdict(record.header)
    header["seats"] = [{"seat": seat, "name": name} for seat, name in enumerate(record.header.seats)]
    header["seed"] = None if record.header.seed is None else record.header.seed.hex()
    if record.header.cut_order is None:
        del header["cut_order"]
    lines: list[object] = [{"format": record.header.format, **header}]
    lines += [asdict(entry) for entry in record.entries]
    if record.result is not None:
        lines.append({"result": asdict(record.result), "head": record.head})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def lines(file: IO[bytes]) -> Iterator[bytes]:
    """Return the lines of any file, for `read`; none is longer than `read` takes, so memory is safe."""
    return iter(partial(file.readline, LONGEST_LINE + 1), b"")


def read(text: str | Iterable[str | bytes]) -> Iterator[Record]:
    """Yield the records in a text, each when its last line is read.

    Only their shape is checked, see `verify` for the rest.

    Args:
        text: the whole text, or its lines; lines of bytes are UTF-8 and no longer than LONGEST_LINE.

    Raises:
        BadRecord: a line is malformed or out of place.
    """
    header: Header | None = None
    entries: list[Entry] = []
    for number, line in enumerate(text.split("\n") if isinstance(text, str) else text, start=1):
        if not line.strip():
            continue
        expected = None if header is None else len(entries) + 1
        line_read = _Line(line, number, expected)
        if "format" in line_read.fields:
            if header is not None:
                yield Record(header, tuple(entries))
            header, entries = line_read.header(), []
        elif header is None:
            line_read.refuse("a record begins with a header, a line with the field format")
        elif "result" in line_read.fields:
            yield Record(header, tuple(entries), *line_read.ending())
            header = None
        else:
            entries.append(line_read.entry())
    if header is not None:
        yield Record(header, tuple(entries))


def _is_number(value: Any) -> bool:
    return type(value) is int


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_seats(value: Any) -> bool:
    return isinstance(value, list) and all(_is_seat(seat, number) for number, seat in enumerate(value))


def _is_seat(value: Any, number: int) -> bool:
    if not isinstance(value, dict) or set(value) != {"seat", "name"}:
        return False
    return _is_number(value["seat"]) and value["seat"] == number and _is_text(value["name"])


def _is_seed(value: Any) -> bool:
    return value is None or (_is_text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None)


def _or_none(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or test(value)


_Shape = Mapping[str, tuple[Callable[[Any], bool], str]]
_ENTRY: _Shape = {
    "seq": (_is_number, "a whole number"),
    "at": (_is_text, "a text"),
    "seat": (_or_none(_is_number), "a whole number or null"),
    "by": (_is_text, "a text"),
    "move": (_is_text, "a text"),
    "note": (_or_none(_is_text), "a text or null"),
    "salt": (_or_none(_is_text), "a text or null"),
    "hash": (_is_text, "a text"),
}
_HEADER: _Shape = {
    "format": (lambda value: value in FORMATS, " or ".join(f'"{each}"' for each in FORMATS)),
    "id": (_is_text, "a text"),
    "game": (_is_text, "a text"),
    "rules": (_is_number, "a whole number"),
    "options": (lambda value: isinstance(value, dict), "an object"),
    "seats": (_is_seats, 'a list of {"seat":…,"name":…} with the seats 0, 1, 2 … in order'),
    "commitment": (_is_text, "a text"),
    "seed": (_is_seed, "64 hex digits or null"),
    "cuts": (_is_texts, "a list of texts"),
    "uncut": (_is_numbers, "a list of whole numbers"),
}
_HEADER_2: _Shape = {**_HEADER, "cut_order": (_is_numbers, "a list of whole numbers")}
_ENDING: _Shape = {
    "result": (lambda value: isinstance(value, dict), "an object"),
    "head": (_is_text, "a text"),
}
_RESULT: _Shape = {
    "scores": (_is_numbers, "a list of whole numbers"),
    "winners": (_is_numbers, "a list of whole numbers"),
    "reason": (_is_text, "a text"),
}


class _Line:
    """One line of a record, with its JSON read strictly."""

    def __init__(self, line: str | bytes, number: int, expected: int | None) -> None:
        self.number = number
        self.expected = expected
        self.fields: dict[str, Any] = self._json(line if isinstance(line, str) else self._decoded(line))

    def refuse(self, reason: str) -> NoReturn:
        raise BadRecord(self.number, reason, self.expected)

    def _decoded(self, line: bytes) -> str:
        if len(line) > LONGEST_LINE:
            self.refuse(f"longer than {LONGEST_LINE} bytes: this is not a record")
        try:
            return line.decode()
        except UnicodeDecodeError:
            self.refuse("not UTF-8: this is not a record, or it is damaged")

    def _json(self, text: str) -> dict[str, Any]:
        try:
            value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        except RecursionError:
            self.refuse("not JSON: nested too deeply")
        except ValueError as error:
            self.refuse(f"not JSON: {error}")
        if not isinstance(value, dict):
            self.refuse("not a JSON object")
        return value

    def _fit(self, fields: dict[str, Any], shape: _Shape) -> None:
        for name in fields:
            if name not in shape:
                self.refuse(f"the field {name!r} does not belong here")
        for name, (test, wanted) in shape.items():
            if name not in fields:
                self.refuse(f"the field {name} is missing")
            if not test(fields[name]):
                self.refuse(f"the field {name} must be {wanted}")

    def header(self) -> Header:
        of = self.fields
        self._fit(of, _HEADER_2 if of["format"] == FORMATS[1] else _HEADER)
        seed = None if of["seed"] is None else bytes.fromhex(of["seed"])
        names = tuple(seat["name"] for seat in of["seats"])
        return Header(
            id=of["id"],
            game=of["game"],
            rules=of["rules"],
            options=of["options"],
            seats=names,
            commitment=of["commitment"],
            seed=seed,
            cuts=tuple(of["cuts"]),
            uncut=tuple(of["uncut"]),
            cut_order=tuple(of["cut_order"]) if "cut_order" in of else None,
        )

    def entry(self) -> Entry:
        self._fit(self.fields, _ENTRY)
        return Entry(**self.fields)

    def ending(self) -> tuple[Result, str]:
        self._fit(self.fields, _ENDING)
        result = self.fields["result"]
        self._fit(result, _RESULT)
        return Result(tuple(result["scores"]), tuple(result["winners"]), result["reason"]), self.fields[
            "head"
        ]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value of JSON")
