"""Redaction: what a reader of a running game may see of its log (docs/formats.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from byzanz.games import rules_of
from byzanz.record.entry import Cause, Entry, is_shuffle, table_act
from byzanz.record.jsonl import Record
from byzanz.rules import ALL, Rules, S, V, Viewer
from byzanz.umpire import read_logged

_PRIVATE_CAUSES = (Cause.PLAYER, Cause.ORDER, Cause.RULES)
"""Other readers do not learn what caused a move, so all of these read `player`."""


def redact_entries(
    rules: Rules[S, V],
    entries: Iterable[Entry],
    viewer: Viewer,
    over: bool,
    open_seqs: Collection[int] = frozenset(),
) -> tuple[Entry, ...]:
    """Return the entries as this reader may see them; hashes stay (docs/formats.md §4).

    Args:
        rules: the game.
        entries: a log, or any part of it.
        viewer: the reader.
        over: whether the game is over, so that nothing is hidden.
        open_seqs: the `seq` of the sealed choices that are open by now, see `open_choices`.
    """
    if over or viewer == ALL:
        return tuple(entries)
    return tuple(_redacted(rules, entry, viewer, entry.seq in open_seqs) for entry in entries)


def _redacted(rules: Rules[S, V], entry: Entry, viewer: Viewer, settled: bool) -> Entry:
    if entry.seat is not None and entry.seat != viewer and entry.by in _PRIVATE_CAUSES:
        entry = replace(entry, by=Cause.PLAYER, note=None, salt=None)
    if table_act(entry) is not None:
        return entry
    move = read_logged(rules, entry.move)
    text = rules.redact_move(move, entry.seat, viewer, settled)
    if is_shuffle(entry) or move.verb in rules.sealed or text != entry.move:
        return replace(entry, move=text, salt=None)
    return entry


def open_choices(
    rules: Rules[S, V], seats: int, options: Mapping[str, Any], entries: Iterable[Entry]
) -> frozenset[int]:
    """Return the `seq` of every open sealed choice: it was not replaced, and all choices of its moment came in.

    A choice that was once open stays open, even if it is voided.

    Args:
        rules: the game.
        seats: the number of players.
        options: of this game.
        entries: the log from its first entry on.
    """
    if not rules.sealed:
        return frozenset()
    open_seqs: set[int] = set()
    state, sealed = rules.setup(seats, options), dict[int, int]()
    made: list[tuple[int, S, dict[int, int]]] = []
    for entry in entries:
        words = table_act(entry)
        if words is not None and words[0] == "!void":
            while made and made[-1][0] >= int(words[1]):
                _, state, sealed = made.pop()
        if words is not None:
            continue
        made.append((entry.seq, state, sealed))
        move = read_logged(rules, entry.move)
        if entry.seat is not None and move.verb in rules.sealed:
            sealed = {**sealed, entry.seat: entry.seq}
        open_questions = set(rules.awaited(state).values())
        state = rules.apply(state, entry.seat, move)
        # Seats that decide simultaneously share a question: while it is still open, some choice is not in.
        if not open_questions & set(rules.awaited(state).values()):
            open_seqs.update(sealed.values())
            sealed = {}
    return frozenset(open_seqs)


def redact_record(
    record: Record, viewer: Viewer, find: Callable[[str, int | None], Rules[Any, Any]] = rules_of
) -> Record:
    """Return the record for this reader: complete once the game is over, before that redacted and without the seed.

    Args:
        record: complete.
        viewer: the reader.
        find: returns the rules of a slug and a version.

    Raises:
        BadSetup: the game or its version is unknown.
    """
    if record.result is not None:
        return record
    header = record.header
    rules = find(header.game, header.rules)
    open_seqs = open_choices(rules, len(header.seats), header.options, record.entries)
    entries = redact_entries(rules, record.entries, viewer, over=False, open_seqs=open_seqs)
    return Record(replace(header, seed=None), entries)
