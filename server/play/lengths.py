"""How long a game takes: from games of the same kind that have ended, or from its time control while there are few."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import quantiles
from typing import Any, NamedTuple

from sqlalchemy import Select, func, literal, literal_column, select, union_all
from sqlalchemy.orm import Session

from byzanz.record import Cause
from server.play import positions
from server.store.models import Entry, Game, GameStatus, Seat
from server.store.statements import GameRow, SeatRow

ENOUGH, MOST = 5, 30
"""How many ended games tell more than the defaults, and how many are looked at."""
KNOWN, OF_A_KIND = 10, 200
"""How many ended games of one kind tell how long these take, and how many are looked at."""
SHARE = 8
"""A player takes an eighth of the time per move, on average."""
HOUR, DAY = 3600, 86400


class Kind(NamedTuple):
    """Games that take about as long: the same game, seats and time control.

    Args:
        size: the number of seats.
        allowance, bank, days_off: as in `models.Game`.
    """

    slug: str
    size: int
    allowance: int
    bank: int
    days_off: str


class Span(NamedTuple):
    """Between which lengths the middle half of some games lies.

    Args:
        unit: `week`, `day` or `hour`; least, most: how many of them.
    """

    unit: str
    least: int
    most: int


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


def estimate(session: Session, game: GameRow, seats: Sequence[SeatRow]) -> Estimate:
    """Return how long a game takes that has not begun.

    Args:
        seats: of the game.
    """
    people = select(Seat.game_id).where(Seat.person_id.is_not(None))
    several = people.group_by(Seat.game_id).having(func.count() > 1)
    ended = select(Game.id, Game.allowance, Game.started_at, Game.ended_at).where(
        Game.slug == game.slug,
        Game.status == GameStatus.OVER,
        Game.started_at.is_not(None),
        Game.id.in_(several),
    )
    found = session.execute(ended.order_by(Game.ended_at.desc()).limit(MOST)).all()
    decisions = positions.rules_of(game).decisions
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


def took(session: Session, kinds: Collection[Kind]) -> dict[Kind, Span]:
    """Return how long ended games of these kinds took, for those kinds of which enough have ended; one statement.

    Only games between people count that were played to their end.
    """
    if not kinds:
        return {}
    found: dict[Kind, list[float]] = {kind: [] for kind in kinds}
    for slug, size, allowance, bank, days_off, started, ended in session.execute(
        union_all(*(_ended(kind) for kind in kinds))
    ):
        found[Kind(slug, size, allowance, bank, days_off)].append((ended - started).total_seconds())
    return {
        kind: Span(*_in_units(*quantiles(lengths, n=4)[::2]))
        for kind, lengths in found.items()
        if len(lengths) >= KNOWN
    }


def _ended(kind: Kind) -> Select[Any]:
    """Return the query of the newest ended games of a kind."""
    seats = select(func.count()).where(Seat.game_id == Game.id).correlate(Game)
    people = seats.where(Seat.person_id.is_not(None))
    like = (Game.slug == kind.slug, Game.allowance == kind.allowance, Game.bank == kind.bank)
    # The status is no bound value, so that the planner sees the index.
    over = (Game.status == literal_column(f"'{GameStatus.OVER}'"), Game.started_at.is_not(None))
    newest = (
        select(
            Game.slug,
            literal(kind.size).label("size"),
            Game.allowance,
            Game.bank,
            Game.days_off,
            Game.started_at,
            Game.ended_at,
        )
        .where(*over, *like, Game.days_off == kind.days_off, ~Game.result.contains('"abandoned"'))
        .where(seats.scalar_subquery() == kind.size, people.scalar_subquery() > 1)
        .order_by(Game.ended_at.desc())
        .limit(OF_A_KIND)
        .subquery()
    )
    return select(newest)


def _decisions(session: Session, games: Sequence[str]) -> int:
    """Return how many moves a seat makes on average that are its own."""
    theirs = (
        Entry.game_id.in_(games),
        Entry.by != Cause.RULES,
        Entry.seat.is_not(None),
        ~Entry.move.like("!%"),
    )
    moves = session.scalar(select(func.count()).select_from(Entry).where(*theirs))
    seats = session.scalar(select(func.count()).select_from(Seat).where(Seat.game_id.in_(games)))
    return max(1, round((moves or 0) / (seats or 1)))


def _in_units(least: float, most: float) -> tuple[str, int, int]:
    """Return a span of seconds in the largest unit of which it has about two."""
    unit, size = (
        ("week", 7 * DAY) if most >= 13 * DAY else ("day", DAY) if most >= 2 * DAY else ("hour", HOUR)
    )
    return unit, max(1, round(least / size)), max(1, round(most / size))
