"""People who do not want to meet another; the other is never told."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.store.models import Block


def between(session: Session, person_id: int, others: Collection[int]) -> set[int]:
    """Return those of the others with whom a block stands, in either direction."""
    mine = select(Block.other_id).where(Block.person_id == person_id, Block.other_id.in_(others))
    theirs = select(Block.person_id).where(Block.other_id == person_id, Block.person_id.in_(others))
    return set(session.scalars(mine.union(theirs)))
