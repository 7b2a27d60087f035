"""Blocks: two people of whom one does not want to meet the other. Nobody is told of them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from server.store.models import Block


def between(session: Session, person_id: int, others: Collection[int]) -> set[int]:
    """Return those of some people whom a person has blocked, or who have blocked them."""
    own, theirs = Block.person_id, Block.other_id
    concerned = or_(
        (own == person_id) & theirs.in_(others),
        (theirs == person_id) & own.in_(others),
    )
    pairs = session.execute(select(own, theirs).where(concerned))
    return {other for pair in pairs for other in pair} - {person_id}
