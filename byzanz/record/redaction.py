"""What a reader of a running game may see of its log (formats.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from byzanz.games import rules_of
from byzanz.record.entry import Entry, act, is_shuffle
from byzanz.record.jsonl import Record
from byzanz.rules import ALL, Rules, S, V, Viewer
from byzanz.umpire import read_made

_OWN_AFFAIR = ("player", "order", "rules")
"""How a seat came to its move is nobody else's business, so all of these read `player`."""


def redacted(
    rules: Rules[S, V],
    entries: Iterable[Entry],
    viewer: Viewer,
    over: bool,
    open_seqs: Collection[int] = frozenset(),
) -> tuple[Entry, ...]:
    """The entries as this reader may see them; hashes stay (formats.md §4).

    Args:
        rules: the game.
        entries: a log, or any part of it.
        viewer: who reads.
        over: whether the game is over: then nothing is hidden.
        open_seqs: the `seq` of the sealed choices that are open by now, see `opened`; none without such.
    """
    if over or viewer == ALL:
        return tuple(entries)
    return tuple(_seen(rules, entry, viewer, entry.seq in open_seqs) for entry in entries)


def _seen(rules: Rules[S, V], entry: Entry, viewer: Viewer, settled: bool) -> Entry:
    if entry.seat is not None and entry.seat != viewer and entry.by in _OWN_AFFAIR:
        entry = replace(entry, by="player", note=None, salt=None)
    if act(entry) is not None:
        return entry
    move = read_made(rules, entry.move)
    told = rules.redact_move(move, entry.seat, viewer, settled)
    if is_shuffle(entry) or move.verb in rules.sealed or told != entry.move:
        return replace(entry, move=told, salt=None)
    return entry


def opened(
    rules: Rules[S, V], seats: int, options: Mapping[str, Any], entries: Iterable[Entry]
) -> frozenset[int]:
    """The `seq` of every sealed choice that is open: all answers of its moment came in; it was not replaced.

    What was open once stays so, whatever is voided.

    Args:
        rules: the game.
        seats: how many play.
        options: of this game.
        entries: the log from its first entry on.
    """
    if not rules.sealed:
        return frozenset()
    open_seqs: set[int] = set()
    state, lying = rules.setup(seats, options), dict[int, int]()
    made: list[tuple[int, S, dict[int, int]]] = []
    for entry in entries:
        words = act(entry)
        if words is not None and words[0] == "!void":
            while made and made[-1][0] >= int(words[1]):
                _, state, lying = made.pop()
        if words is not None:
            continue
        made.append((entry.seq, state, lying))
        move = read_made(rules, entry.move)
        if entry.seat is not None and move.verb in rules.sealed:
            lying = {**lying, entry.seat: entry.seq}
        asked = set(rules.awaited(state).values())
        state = rules.apply(state, entry.seat, move)
        # Seats asked at once share a question: while anybody is asked the same one, some answer is not in.
        if not asked & set(rules.awaited(state).values()):
            open_seqs.update(lying.values())
            lying = {}
    return frozenset(open_seqs)


def shown(
    record: Record, viewer: Viewer, find: Callable[[str, int | None], Rules[Any, Any]] = rules_of
) -> Record:
    """The record as this reader may have it: complete once the game is over, else redacted and without seed.

    Args:
        record: complete, as the log and the game's row give it.
        viewer: who reads.
        find: gives the rules of a slug and a version.

    Raises:
        BadSetup: the game or its version is not known.
    """
    if record.result is not None:
        return record
    header = record.header
    rules = find(header.game, header.rules)
    open_seqs = opened(rules, len(header.seats), header.options, record.entries)
    entries = redacted(rules, record.entries, viewer, over=False, open_seqs=open_seqs)
    return Record(replace(header, seed=None), entries)
