"""Finished games: their rows, the results and standings of people, and how long games take."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    delete,
    exists,
    func,
    literal,
    literal_column,
    select,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from byzanz.games import title_of
from server.community import reliability
from server.play import names, positions
from server.play.game import Table, tenures_of
from server.play.game import load as load_game
from server.play.positions import Broken
from server.store import log
from server.store.engine import reading, transaction
from server.store.models import Conduct, Game, GameStatus, Person, Reliability, Seat, Standing, Tenure
from server.store.statements import GameRow, SeatRow


@dataclass(frozen=True, slots=True)
class Placed:
    """A seat at the end of a game.

    Args:
        name: at the table; person_id, bot: who held the seat at the end.
        place: from 1, shared by equals.
    """

    seat: int
    name: str
    person_id: int | None
    bot: str | None
    place: int
    score: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A game that was played to its end, with its seats in order."""

    id: str
    slug: str
    title: str
    name: str
    listed: bool
    started_at: datetime
    ended_at: datetime
    seats: tuple[Placed, ...]

    @property
    def size(self) -> int:
        """How many seats there are."""
        return len(self.seats)

    @property
    def ranked(self) -> list[Placed]:
        """The seats, the best first."""
        return sorted(self.seats, key=lambda seat: (seat.place, seat.seat))

    @property
    def people(self) -> frozenset[int]:
        """The people who held a seat at the end."""
        return frozenset(seat.person_id for seat in self.seats if seat.person_id is not None)

    def of(self, person_id: int) -> Placed:
        """Return the seat of a person who held one."""
        return next(seat for seat in self.seats if seat.person_id == person_id)

    def points(self, placed: Placed) -> float:
        """Return the share of the others that a seat left behind, in hundredths; one that it is level with is half."""
        behind = sum(other.place > placed.place for other in self.seats)
        level = sum(other.place == placed.place for other in self.seats) - 1
        return 100 * (behind + level / 2) / (self.size - 1)


def of_person(
    session: Session, person_id: int, most: int, *, after: int = 0, public: bool = False
) -> list[Ended]:
    """Return the games that a person held a seat of at the end, the latest first.

    Args:
        after: how many of the latest to leave out.
        public: only listed games with other people.
    """
    theirs = Game.id.in_(select(Standing.game_id).where(Standing.person_id == person_id))
    if not public:
        return load(session, theirs, most, after)
    found = load(session, theirs & Game.listed, most)
    return [game for game in found if len(game.people) > 1]


_GAME = (Game.id, Game.slug, Game.name, Game.listed, Game.started_at, Game.ended_at, Game.result)
_SEAT = (
    Standing.seat,
    names.column(),
    Standing.person_id,
    Standing.bot,
    Standing.place,
    Standing.score,
)


def load(session: Session, which: ColumnElement[bool], most: int, after: int = 0) -> list[Ended]:
    """Return the games among the `most` latest, after some, that are counted and were not ended early."""
    over = (Game.status == GameStatus.OVER, Game.started_at.is_not(None), Game.ended_at.is_not(None))
    query = select(*_GAME).where(*over, Game.quarantine.is_(None), ~Game.trial, which)
    latest = query.order_by(Game.ended_at.desc(), Game.id).limit(most).offset(after)
    games = session.execute(latest).all()
    places = _places(session, [game[0] for game in games])
    found = []
    for game_id, slug, name, listed, started_at, ended_at, result in games:
        if game_id in places and result and json.loads(result)["winners"]:
            assert started_at is not None
            assert ended_at is not None
            title, seats = title_of(slug), tuple(places[game_id])
            found.append(Ended(game_id, slug, title, name, listed, started_at, ended_at, seats))
    return found


def _places(session: Session, game_ids: list[str]) -> dict[str, list[Placed]]:
    query = select(Standing.game_id, *_SEAT).join(
        Seat, (Seat.game_id == Standing.game_id) & (Seat.seat == Standing.seat)
    )
    rows = session.execute(
        query.where(Standing.game_id.in_(game_ids)).order_by(Standing.game_id, Standing.seat)
    )
    found: dict[str, list[Placed]] = defaultdict(list)
    for game_id, seat, name, person_id, bot, place, score in rows:
        found[game_id].append(Placed(seat, name, person_id, bot, place, score))
    return found


# ---- results and standings ----
# A game is counted in one transaction of its own, under its lock, so that the move which ends it does no more than any
# other. Nothing is counted of a game that was ended early, of a visitor's, and of one whose log does not replay: these
# are only marked as counted. A finished game never runs again, so its result needs no correction.

LOGGER = logging.getLogger(__name__)


def due(session: Session, until: datetime, limit: int) -> Sequence[Row[str, datetime | None]]:
    """Return games that ended up to a moment and were not counted, the earliest first: a hint without a lock.

    Returns:
        Rows of a game's id and the time of its end.
    """
    ended = (Game.started_at.is_not(None), Game.ended_at.is_not(None), Game.ended_at <= until)
    countable = (*ended, positions.has_rules())  # the others are counted when their rules are back
    query = select(Game.id, Game.ended_at).where(*countable, Game.counted_at.is_(None), Game.trial.is_(False))
    return session.execute(query.order_by(Game.ended_at, Game.id).limit(limit)).all()


def count(game_id: str, now: datetime) -> bool:
    """Count the result of a finished game; one transaction, which locks the game.

    Returns:
        False if it was counted before, goes on, or is locked by another scheduler, which counts it.
    """
    with transaction() as session:
        if not log.lock(session, game_id, skip_locked=True):
            return False
        table = load_game(session, game_id, now)
        if table.game.status != GameStatus.OVER or table.game.counted_at or table.game.trial:
            return False
        if not positions.installed(table.game):
            return False
        session.execute(update(Game).where(Game.id == game_id).values(counted_at=now))
        held = tenures_of(session, game_id)
        people = {tenure.person_id for tenure in held if tenure.person_id is not None}
        reliability.lock(session, people)
        before = session.scalars(
            delete(Conduct).where(Conduct.game_id == game_id).returning(Conduct.person_id)
        ).all()
        session.execute(delete(Standing).where(Standing.game_id == game_id))
        if _is_counted(session, table.game):
            session.add_all(_rows(table, held))
        session.flush()
        reliability.refresh(session, people.union(before))
        return True


def _is_counted(session: Session, game: GameRow) -> bool:
    if json.loads(game.result or "{}").get("reason", "abandoned") == "abandoned":
        return False
    visitors = exists().where(Person.id == Tenure.person_id, Person.email.is_(None))
    return session.scalar(select(Tenure.seat).where(Tenure.game_id == game.id, visitors).limit(1)) is None


def _rows(table: Table, held: Sequence[Tenure]) -> list[Standing | Conduct]:
    try:
        return [
            *_standings(table.game, positions.current(table), held),
            *reliability.of_game(table, held),
        ]
    except Broken:
        LOGGER.exception("game %s: its result cannot be counted", table.game.id)
        return []


def _standings(game: GameRow, position: positions.Position, held: Sequence[Tenure]) -> list[Standing]:
    assert position.outcome is not None
    scores, places = position.outcome.scores, position.rules.places(position.state)
    return [
        Standing(
            game_id=game.id,
            seat=last.seat,
            place=places[last.seat],
            score=scores[last.seat],
            person_id=last.person_id,
            bot=last.bot,
        )
        for last in held
        if last.to_seq is None
    ]


# ---- counting again ----


def everything(now: datetime) -> int:
    """Delete all results and count them again, in the order in which the games ended; return how many games.

    If it is interrupted, the scheduler counts the rest.
    """
    over = (Game.status == GameStatus.OVER, Game.trial.is_(False))
    with transaction() as session:
        for table in (Standing, Conduct, Reliability):
            session.execute(delete(table))
        session.execute(update(Game).where(*over).values(counted_at=None))
    with reading() as session:
        games = session.scalars(select(Game.id).where(*over).order_by(Game.ended_at, Game.id)).all()
    return sum(count(game_id, now) for game_id in games)


# ---- how long a game takes: from games of its kind that have ended, or from its time control while there are few ----

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


def _over() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The condition of a query for games that have ended, as their indexes have it."""
    return Game.status == literal_column(f"'{GameStatus.OVER}'"), Game.started_at.is_not(None)


def estimate_length(session: Session, game: GameRow, seats: Sequence[SeatRow]) -> Estimate:
    """Return how long a game takes that has not begun.

    Args:
        seats: of the game.
    """
    people = select(func.count()).where(Seat.game_id == Game.id, Seat.person_id.is_not(None))
    ended = select(Game.id, Game.allowance, Game.started_at, Game.ended_at).where(
        Game.slug == game.slug,
        *_over(),
        people.correlate(Game).scalar_subquery() > 1,
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


def lengths(session: Session, kinds: Collection[Kind]) -> dict[Kind, Span]:
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
    over = _over()
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
    seats = session.scalar(select(func.count()).select_from(Seat).where(Seat.game_id.in_(games)))
    return max(1, round(log.count_moves(session, games) / (seats or 1)))


def _in_units(least: float, most: float) -> tuple[str, int, int]:
    """Return a span of seconds in the largest unit of which it has about two."""
    unit, size = (
        ("week", 7 * DAY) if most >= 13 * DAY else ("day", DAY) if most >= 2 * DAY else ("hour", HOUR)
    )
    return unit, max(1, round(least / size)), max(1, round(most / size))
