"""How long a game takes: from games of the same kind that have ended, or from its time control while there are few."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.store.models import Entry, Game, Seat
from server.store.rows import AnySeat

ENOUGH, MOST = 5, 30
"""How many ended games tell more than the defaults, and how many are looked at."""
DECISIONS = {"byzanz": 30, "byzantium": 22, "empire": 20}
"""Decisions of a player, as games of bots have them; other games: 25."""
SHARE = 8
"""A player takes an eighth of the time per move, on average."""
HOUR, DAY = 3600, 86400


class Estimate(NamedTuple):
    """How long a game takes.

    Args:
        decisions: of each player.
        unit: `week`, `day` or `hour`; least, most: how many of them.
    """

    decisions: int
    unit: str
    least: int
    most: int


def estimate(session: Session, game: Game, seats: Sequence[AnySeat]) -> Estimate:
    """Return how long a game takes that has not begun.

    Args:
        seats: of the game.
    """
    people = select(Seat.game_id).where(Seat.person_id.is_not(None))
    several = people.group_by(Seat.game_id).having(func.count() > 1)
    ended = select(Game.id, Game.allowance, Game.started_at, Game.ended_at).where(
        Game.slug == game.slug, Game.status == "over", Game.started_at.is_not(None), Game.id.in_(several)
    )
    found = session.execute(ended.order_by(Game.ended_at.desc()).limit(MOST)).all()
    decisions = DECISIONS.get(game.slug, 25)
    if len(found) >= ENOUGH:
        decisions = _decisions(session, [row.id for row in found])
    took = [
        (row.ended_at - row.started_at).total_seconds() for row in found if row.allowance == game.allowance
    ]
    if len(took) >= ENOUGH:
        least, _, most = quantiles(took, n=4)
    else:
        players = sum(seat.bot is None for seat in seats)
        usual = decisions * players * game.allowance / SHARE
        least, most = usual * 0.75, usual * 1.25
    return Estimate(decisions, *_in_units(least, most))


def _decisions(session: Session, games: Sequence[str]) -> int:
    """Return how many moves a seat makes on average that are its own."""
    theirs = (Entry.game_id.in_(games), Entry.by != "rules", Entry.seat.is_not(None), ~Entry.move.like("!%"))
    moves = session.scalar(select(func.count()).select_from(Entry).where(*theirs))
    seats = session.scalar(select(func.count()).select_from(Seat).where(Seat.game_id.in_(games)))
    return max(1, round((moves or 0) / (seats or 1)))


def _in_units(least: float, most: float) -> tuple[str, int, int]:
    """Return a span of seconds in the largest unit of which it has about two."""
    unit, size = (
        ("week", 7 * DAY) if most >= 13 * DAY else ("day", DAY) if most >= 2 * DAY else ("hour", HOUR)
    )
    return unit, max(1, round(least / size)), max(1, round(most / size))
