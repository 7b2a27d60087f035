"""The entries of a recorded game with the positions around them, and events that every game may show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byzanz.games import rules_of
from byzanz.record import Entry, Record, Result
from byzanz.rules import ALL, Rules
from tests.records.replay import positions


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry with the positions around it.

    Args:
        rules: the game.
        entry: as it was logged.
        before, after: states; equal for an act that changes nothing.
    """

    rules: Rules[Any, Any]
    entry: Entry
    before: Any
    after: Any

    @property
    def asked(self) -> str:
        """The kind of question that the seat of this entry had before it, empty if none."""
        question = self.rules.awaited(self.before).get(-1 if self.entry.seat is None else self.entry.seat)
        return question.kind if question else ""

    def seen(self) -> tuple[Any, Any]:
        """The positions before and after the entry with nothing hidden."""
        return self.rules.view(self.before, ALL), self.rules.view(self.after, ALL)


def moments(record: Record) -> list[Moment]:
    """A whole game."""
    rules = rules_of(record.header.game, record.header.rules)
    before, made = rules.setup(len(record.header.seats), record.header.options), []
    for entry, after in positions(rules, record):
        made.append(Moment(rules, entry, before, after))
        before = after
    return made


def of_move(begins: str | tuple[str, ...], by: str | None = None) -> Callable[[Moment], bool]:
    """Whether a move begins with this text and has this cause, if one is given."""
    return lambda moment: moment.entry.move.startswith(begins) and by in (None, moment.entry.by)


def made_by(by: str) -> Callable[[Moment], bool]:
    """Whether a seat's move has this cause."""
    return lambda moment: moment.entry.by == by and not moment.entry.move.startswith("!")


def ended(record: Record) -> Result:
    """The result of a whole game."""
    assert record.result is not None
    return record.result
