"""How reliably people answer, as others see it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.store.models import Reliability

ENOUGH = 50
"""Decisions before which a person is new here."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What others may see of how a person answers.

    Args:
        decisions: that count; missed: of these; median: seconds until an answer.
        games: that count; abandoned: of these.
    """

    decisions: int = 0
    missed: int = 0
    median: int = 0
    games: int = 0
    abandoned: int = 0

    @property
    def new(self) -> bool:
        """Whether too little is known."""
        return self.decisions < ENOUGH

    @property
    def percent(self) -> int:
        """The percentage of decisions answered in time, rounded down."""
        return (self.decisions - self.missed) * 100 // max(1, self.decisions)


def shown(session: Session, person_ids: Collection[int]) -> dict[int, Shown]:
    """Return how reliably these people answer; people without a row are new."""
    found = {person_id: Shown() for person_id in person_ids}
    for row in session.scalars(select(Reliability).where(Reliability.person_id.in_(person_ids))):
        found[row.person_id] = Shown(row.decisions, row.missed, row.median, row.games, row.abandoned)
    return found
