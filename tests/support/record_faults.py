"""Faulty records, each with what a report says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from byzanz.record import Entry, Record
from tests.support.recorded_games import falsified


def header(**fields: object) -> Callable[[Record], Record]:
    return lambda record: replace(record, header=replace(record.header, **fields))  # type: ignore[arg-type]


def entry(seq: int, **fields: object) -> Callable[[Record], Record]:
    """Changes an entry and makes the chain anew after it."""

    def change(entries: list[Entry]) -> None:
        entries[seq - 1] = replace(entries[seq - 1], **fields)  # type: ignore[arg-type]

    return lambda record: falsified(record, change)


def swapped(record: Record) -> Record:
    words = record.entries[0].move.split(" ")
    words[-2], words[-1] = words[-1], words[-2]
    return entry(1, move=" ".join(words))(record)


def broken_chain(record: Record) -> Record:
    entries = list(record.entries)
    entries[6] = replace(entries[6], note="because")
    return replace(record, entries=tuple(entries))


def too_many_points(record: Record) -> Record:
    assert record.result is not None
    scores = (record.result.scores[0] + 1, *record.result.scores[1:])
    return replace(record, result=replace(record.result, scores=scores))


FAULTS: dict[str, tuple[str, int, Callable[[Record], Record]]] = {
    "an unknown game": ("table", 0, header(game="chess")),
    "another seed": ("commitment", 0, header(seed=bytes(32))),
    "a cut too few": ("cuts", 0, header(cuts=("a", "b"))),
    "another order": ("shuffles", 1, swapped),
    "other cards": ("shuffles", 1, entry(1, move="shuffle deal cloth1 cloth2")),
    "no shuffle": ("shuffles", 1, entry(1, seat=0, by="player", move="pass")),
    "a changed entry": ("chain", 7, broken_chain),
    "an illegal move": ("moves", 2, entry(2, by="player", move="done")),
    "other points": ("result", -1, too_many_points),
    "another head": ("chain", -1, lambda record: replace(record, head="0" * 64)),
    "no seed": ("commitment", -1, header(seed=None)),
}
"""A fault, the step that finds it and the entry where it shows, -1 for the last."""
