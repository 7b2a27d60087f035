"""Entries of a log, their hash chain, and table acts (docs/formats.md §2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256

GENESIS = "0" * 64
"""The hash before the first entry."""


class Cause(StrEnum):
    """What made an entry: its field `by`, which has this text."""

    PLAYER = "player"
    ORDER = "order"
    CLOCK = "clock"
    AUTOPILOT = "autopilot"
    BOT = "bot"
    RULES = "rules"
    CHANCE = "chance"
    MODERATOR = "moderator"


_NUMBER = "[0-9]{1,10}"
_ACTS = {
    "!void": (_NUMBER,),
    "!pause": (),
    "!resume": (),
    "!credit": (f"-?{_NUMBER}",),
    "!extend": (_NUMBER, f"-?{_NUMBER}"),
    "!bank": (_NUMBER, f"-?{_NUMBER}"),
    "!autopilot": (_NUMBER, "on|off"),
    "!replace": (_NUMBER,),
    "!link": (_NUMBER,),
    "!look": (f"{_NUMBER}|public|all",),
    "!leave": (_NUMBER,),
    "!abandon": (),
    "!note": (),
}
"""The words after each table act, as patterns."""
_NAME_A_SEAT = ("!extend", "!bank", "!autopilot", "!replace", "!link", "!leave")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log, with the fields of docs/formats.md §2.

    Args:
        seq: 1, 2, 3 … within the game.
        at: UTC, RFC 3339 with milliseconds and `Z`.
        seat: the seat that moves or that a table act concerns, from 0; None for chance and the whole table.
        by: the text of a `Cause`.
        move: a move in canonical form, or a table act with a leading `!`.
        note: the reason, or None.
        salt: 32 hex digits; None where it is withheld from the reader of a running game.
        hash: 64 hex digits.
    """

    seq: int
    at: str
    seat: int | None
    by: str
    move: str
    note: str | None
    salt: str | None
    hash: str


def entry_hash(
    previous: str, seq: int, at: str, seat: int | None, by: str, move: str, note: str | None, salt: str | None
) -> str:
    """Return the SHA-256 of the hash before an entry, a line feed and the entry as JSON (docs/formats.md §2).

    Args:
        previous: the hash of the entry before, `GENESIS` for the first.
        seq, at, seat, by, move, note, salt: the fields of the entry.
    """
    fields = {"seq": seq, "at": at, "seat": seat, "by": by, "move": move, "note": note, "salt": salt}
    return sha256(f"{previous}\n{json.dumps(fields, separators=(',', ':'))}".encode()).hexdigest()


def new_entry(
    previous: str, seq: int, at: str, seat: int | None, by: str, move: str, note: str | None, salt: str
) -> Entry:
    """Make an entry with its hash.

    Args:
        previous: the hash of the entry before, `GENESIS` for the first.
        seq, at, seat, by, move, note, salt: the fields of the entry.
    """
    return Entry(
        seq, at, seat, by, move, note, salt, entry_hash(previous, seq, at, seat, by, move, note, salt)
    )


def expected_hash(previous: str, entry: Entry) -> str:
    """Return the hash that this entry must have after an entry with the hash `previous`."""
    fields = asdict(entry)
    del fields["hash"]
    return entry_hash(previous, **fields)


def table_act(entry: Entry) -> tuple[str, ...] | None:
    """Return the words of a table act (`("!void", "7")`), or None for a move or a shuffle."""
    return tuple(entry.move.split(" ")) if entry.move.startswith("!") else None


def table_act_error(entry: Entry, seats: int) -> str | None:
    """Return what is wrong with the form of a table act, or None; an unknown act is never wrong.

    Args:
        entry: a table act.
        seats: the number of players.
    """
    verb, *words = entry.move.split(" ")
    if entry.seat is not None and entry.seat not in range(seats):
        return f"there is no seat {entry.seat}"
    if verb not in _ACTS:
        return None
    if len(words) != len(_ACTS[verb]) or not all(map(re.fullmatch, _ACTS[verb], words)):
        return f"{entry.move!r} is not a valid {verb}"
    if verb in _NAME_A_SEAT and (int(words[0]) not in range(seats) or entry.seat != int(words[0])):
        return f"{entry.move!r} must name the seat of its entry"
    return None


def is_shuffle(entry: Entry) -> bool:
    """Return whether this entry is a shuffle, redacted or not."""
    return entry.seat is None and entry.move.split(" ")[0] == "shuffle"


def effective(entries: Iterable[Entry]) -> list[Entry]:
    """Return the moves and shuffles that count, in order, without table acts and voided entries (docs/formats.md §2).

    Args:
        entries: a log from its first entry on.
    """
    kept: list[Entry] = []
    for entry in entries:
        words = table_act(entry)
        if words is None:
            kept.append(entry)
        elif words[0] == "!void":
            while kept and kept[-1].seq >= int(words[1]):
                kept.pop()
    return kept


def paused(entries: Iterable[Entry]) -> bool:
    """Return whether the game is paused: the last of its pauses and resumes was a pause."""
    pauses = [entry.move == "!pause" for entry in entries if entry.move in ("!pause", "!resume")]
    return bool(pauses) and pauses[-1]


def abandoned(entries: Iterable[Entry]) -> bool:
    """Return whether the game was abandoned."""
    return any(entry.move == "!abandon" for entry in entries)
