"""Games played move by move and recorded, truthfully or with planted faults, and what a report says of each fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from byzanz.bots.simulate import simulate_game
from byzanz.chance import Stream, commitment, deal, key
from byzanz.games import rules_of
from byzanz.moves import Move
from byzanz.record import (
    Entry,
    Header,
    InvalidRecord,
    Record,
    Result,
    effective,
    expected_hash,
    new_entry,
    verify,
)
from byzanz.rules import Rules
from byzanz.umpire import Step, play, read_logged, replay, settle
from tests.support.sealed_game import Sealed

SEED = bytes(range(32))
FIRST = "2026-11-21T10:00:00.000Z"


def find(slug: str, version: int | None = None) -> Rules[Any, Any]:
    """Return the rules of the small game, as `rules_of` does for the others."""
    assert (slug, version) == ("sealed", 1)
    return Sealed()


def chained(header: Header, entries: list[Entry]) -> tuple[Entry, ...]:
    """Renumber and rehash the entries, as a forger who knows the format could."""
    done: list[Entry] = []
    for entry in entries:
        previous = done[-1].hash if done else header.first_hash
        numbered = replace(entry, seq=len(done) + 1)
        done.append(replace(numbered, hash=expected_hash(previous, numbered)))
    return tuple(done)


class RecordedTable:
    """A game whose log grows: `entries`, `state` and the players' moves."""

    def __init__(self, rules: Rules[Any, Any], seats: int, cuts: tuple[str, ...] = ()) -> None:
        self.rules = rules
        cuts = cuts or tuple(f"cut {seat}" for seat in range(seats))
        names = tuple(["Alice", "Bob", "Charlie", "Dora", "Emil", "Frida"][:seats])
        self.header = Header("g1", rules.slug, rules.version, {}, names, commitment("g1", SEED), SEED, cuts)
        self.deal = deal(key("g1", SEED, cuts))
        self.entries: list[Entry] = []
        self.state, steps = settle(rules, rules.setup(seats, {}), self.deal)
        self.write_steps(steps)

    def write(self, seat: int | None, by: str, move: str, note: str | None = None, at: str = FIRST) -> None:
        """Append an entry, valid or not."""
        previous = self.entries[-1].hash if self.entries else self.header.first_hash
        seq = len(self.entries) + 1
        self.entries.append(new_entry(previous, seq, at, seat, by, move, note, f"{seq:032x}"))

    def write_steps(self, steps: tuple[Step, ...]) -> None:
        """Append what happened by itself."""
        for step in steps:
            self.write(step.seat, step.by, str(step.move))

    def move(self, seat: int, text: str, by: str = "player", note: str | None = None) -> None:
        """Play a move and everything that follows."""
        self.write(seat, by, text, note)
        state = play(self.rules, self.state, seat, read_logged(self.rules, text))
        self.state, steps = settle(self.rules, state, self.deal)
        self.write_steps(steps)

    def choose(self, which: int = 0, by: str = "player") -> int:
        """Play a listed move of the lowest seat to move; return the seq of its entry."""
        seat = min(self.rules.awaited(self.state))
        moves = self.rules.moves(self.state, seat)
        self.move(seat, str(moves[which % len(moves)]), by)
        return next(entry.seq for entry in reversed(self.entries) if entry.by == by)

    def act(
        self, text: str, seat: int | None = None, by: str = "moderator", note: str | None = "why"
    ) -> None:
        """Append a table act."""
        self.write(seat, by, text, note)

    def void(self, target: int) -> None:
        """Void from an entry on, with the pause that follows."""
        self.act(f"!void {target}")
        self.act("!pause")
        made: list[tuple[int | None, Move]] = [
            (entry.seat, read_logged(self.rules, entry.move)) for entry in effective(self.entries)
        ]
        self.state = replay(self.rules, len(self.header.seats), {}, made)

    def resume(self) -> None:
        """End a pause; what fell due meanwhile happens."""
        self.act("!resume")
        self.state, steps = settle(self.rules, self.state, self.deal)
        self.write_steps(steps)

    def finish(self, label: str = "finish") -> RecordedTable:
        """Play on at random to the end."""
        draw = Stream(b"table", label).below
        while self.rules.outcome(self.state) is None:
            self.choose(draw(1000))
        return self

    def running(self) -> Record:
        """Return the record while the game runs, unredacted."""
        return Record(replace(self.header, seed=None), tuple(self.entries))

    def record(self) -> Record:
        """Return the record of the finished or abandoned game."""
        outcome = self.rules.outcome(self.state)
        scores = self.rules.scores(self.state)
        result = Result(scores, (), "abandoned")
        if outcome is not None:
            result = Result(outcome.scores, outcome.winners, outcome.reason)
        return Record(self.header, tuple(self.entries), result, self.entries[-1].hash)


def falsified(record: Record, change: Callable[[list[Entry]], None]) -> Record:
    """Return the record after its entries were changed and all hashes and the head recomputed."""
    entries = list(record.entries)
    change(entries)
    made_anew = chained(record.header, entries)
    return replace(record, entries=made_anew, head=made_anew[-1].hash)


# ---- a finished game's record ----

BYZANZ = rules_of("byzanz")


def find_any(slug: str, version: int | None = None) -> Rules[Any, Any]:
    return find(slug, version) if slug == "sealed" else rules_of(slug, version)


@cache
def finished(slug: str, number: int = 0) -> Record:
    rules: Rules[Any, Any] = Sealed() if slug == "sealed" else BYZANZ
    return simulate_game(rules, min(rules.seats), b"verify", number, ["random"])


def wrong(record: Record) -> InvalidRecord:
    with pytest.raises(InvalidRecord) as found:
        verify(record, find_any)
    assert "\n" not in str(found.value)
    return found.value


# ---- faulty records ----


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
