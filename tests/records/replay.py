"""Replaying a recorded game: every position must be the same as when it was recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from byzanz.games import rules_of
from byzanz.moves import RulesError
from byzanz.record import Entry, InvalidRecord, Record, table_act, verify
from byzanz.rules import Rules
from byzanz.umpire import read_logged
from tests.records.shelf import Hashes

Find = Callable[[str, "int | None"], Rules[Any, Any]]
"""Returns the rules of a slug and a version, as `rules_of` does."""
NEW_VERSION = (
    "a change of play needs a new version of the rules; keep the old one registered, see docs/new-game.md"
)
NEW_FORMAT = (
    "if only the fields of the state changed, raise its state_format and run `python3 dev.py records rehash`"
)


class Changed(ValueError):
    """Raised when a game does not replay as it was played; names the entry and what to do."""


class Rewritten(ValueError):
    """Raised when a game replays, but its states are encoded in a newer format than their hashes."""


def hashes_of(record: Record, find: Find = rules_of) -> Hashes:
    """Return the hashes of a game under the rules it names.

    Args:
        record: finished.
        find: returns the rules.

    Raises:
        InvalidRecord: the record is not true.
    """
    verify(record, find)
    rules = find(record.header.game, record.header.rules)
    lines = [f"{state_hash(rules, state)} {play_hash(rules, state)}" for _, state in positions(rules, record)]
    return Hashes(rules.state_format, tuple(lines))


def check(record: Record, hashes: Hashes, find: Find = rules_of) -> None:
    """Replay a game and compare every position.

    Args:
        record: finished.
        hashes: of the game, as they were when it was added.
        find: returns the rules.

    Raises:
        Changed: something differs; names the first such entry.
        Rewritten: nothing differs, but the hashes of the states are of an older format.
    """
    if len(hashes.lines) != len(record.entries):
        raise Changed(f"there are {len(hashes.lines)} lines of hashes for {len(record.entries)} entries")
    try:
        rules = find(record.header.game, record.header.rules)
        rules.setup(len(record.header.seats), record.header.options)
    except RulesError as error:
        raise _changed(record, 0, str(error)) from error
    _compare(record, hashes, rules)
    try:
        verify(record, find)
    except InvalidRecord as wrong:
        raise _changed(record, wrong.seq, wrong.reason) from wrong
    told = f"states have format {rules.state_format} now, these hashes are of {hashes.state_format}"
    if rules.state_format > hashes.state_format:
        raise Rewritten(f"{told}: run `python3 dev.py records rehash`")
    if rules.state_format < hashes.state_format:
        raise Changed(f"{told}: a state_format is never lowered")


def positions(rules: Rules[Any, Any], record: Record) -> Iterator[tuple[Entry, Any]]:
    """Yield every entry with the state after it; that of a table act is the one it leaves (docs/formats.md §2)."""
    state: Any = rules.setup(len(record.header.seats), record.header.options)
    made: list[tuple[int, Any]] = []
    for entry in record.entries:
        words = table_act(entry)
        if words is None:
            made.append((entry.seq, state))
            state = rules.apply(state, entry.seat, read_logged(rules, entry.move))
        elif words[0] == "!void":
            while made and made[-1][0] >= int(words[1]):
                state = made.pop()[1]
        yield entry, state


def state_hash(rules: Rules[Any, Any], state: Any) -> str:
    """Return 16 hex digits of the SHA-256 of the encoded state."""
    return _short(rules.encode(state))


def play_hash(rules: Rules[Any, Any], state: Any) -> str:
    """Return 16 hex digits of the SHA-256 of what may happen next, independent of the format of the states.

    The hash covers the due shuffle, the seats to move, all legal moves of each seat in any order, the scores and the
    outcome.
    """
    shuffle, outcome = rules.chance(state), rules.outcome(state)
    open_moves = []
    for seat in range(len(rules.scores(state))) if outcome is None and shuffle is None else ():
        open_moves.append(
            [sorted(map(str, moves(state, seat))) for moves in (rules.moves, rules.out_of_turn_moves)]
        )
    ended = outcome and [outcome.scores, outcome.winners, outcome.reason]
    what = [shuffle and shuffle.label, sorted(rules.awaited(state)), open_moves, rules.scores(state), ended]
    return _short(json.dumps(what))


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _compare(record: Record, hashes: Hashes, rules: Rules[Any, Any]) -> None:
    same_format = rules.state_format == hashes.state_format
    seq = 0
    try:
        for (entry, state), line in zip(positions(rules, record), hashes.lines, strict=True):
            was_state, was_play = line.split()
            if play_hash(rules, state) != was_play:
                raise _changed(record, entry.seq, "the moves open after it, or the scores, are others")
            if same_format and state_hash(rules, state) != was_state:
                raise _changed(record, entry.seq, "the state after it is another", NEW_FORMAT)
            seq = entry.seq
    except Changed:
        raise
    except Exception as error:  # any error is new: the rules raised none when the game was played
        raise _changed(record, seq + 1, f"{type(error).__name__}: {error}") from error


def _changed(record: Record, seq: int, reason: str, *more: str) -> Changed:
    entry = record.entries[seq - 1] if 0 < seq <= len(record.entries) else None
    who = f" of seat {entry.seat}" if entry and entry.seat is not None else ""
    where = f"entry {seq}, “{entry.move[:60]}”{who}" if entry else f"entry {seq}" if seq else "header"
    return Changed("; ".join((f"{where}: {reason}", NEW_VERSION, *more)))
