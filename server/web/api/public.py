"""What the API shows to everybody: open tables, without names, and profiles."""

from __future__ import annotations

from typing import Annotated, Any

import flask
from flask import Blueprint
from pydantic import Field

from server import validation
from server.community import profiles
from server.community.profiles import Profile
from server.community.results import Span
from server.errors import InvalidInput, Refused
from server.lobby import open_tables
from server.lobby.open_tables import OfferedSeat, OpenTable
from server.lobby.settings import TimeControl
from server.store import engine
from server.store.models import GameSettings
from server.web import http
from server.web.api.schema import READS, Body, describes

Handle = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{2,19}$", description="The handle of a person.")
]
blueprint = Blueprint("public", __name__)


class Lengths(Body):
    """How long games like this took: the middle half of them."""

    unit: str
    """`hour`, `day` or `week`."""
    least: int
    most: int


class TableState(Body):
    """What open tables and games with an offered seat have in common."""

    id: str
    game: str
    name: str
    size: int
    """All seats."""
    allowance: int
    """Seconds for each decision."""
    bank: int
    """Seconds of each seat's time bank."""
    days_off: str
    """ISO weekdays without a clock: `67` is the weekend."""
    asks: int
    """The percentage of decisions answered in time that is asked of players who join; 0: none."""
    took: Lengths | None


class OpenTableState(TableState):
    """A table that waits for players; it is joined at `/join/<id>`."""

    free: int
    """Seats that anybody may take."""
    language: str | None
    """The organiser's."""
    listed_at: str
    open_until: str
    """When it ends by itself."""


class OfferedSeatState(TableState):
    """A seat of a running game that needs a player; it is taken at `/take/<id>/<seat>`."""

    seat: int
    started_at: str
    offered_at: str


class TableList(Body):
    """A page of open tables, and with the first page seats of running games that need a player."""

    tables: list[OpenTableState]
    seats: list[OfferedSeatState]
    next: int | None
    """The next page, if there is one."""


class TablesQuery(Body):
    """Which tables are asked for."""

    game: str
    """The slug of a game."""
    size: int
    """All seats."""
    pace: int
    """Seconds for a decision, at least."""
    language: str
    """The organiser's."""
    free: int
    """Free seats, at least."""
    page: int
    """From 1."""


@blueprint.get("/tables")
@describes(
    "Open tables, those with the fewest free seats first, and seats that need a player.",
    {200: (TableList, "The tables."), 422: "A value that no table can have."},
    query=TablesQuery,
)
@http.limiter.limit(READS)
def tables() -> dict[str, Any]:
    """Return a page of the open tables that match the query."""
    for name in ("size", "pace", "free", "page"):
        if flask.request.args.get(name) == "":
            raise InvalidInput("“%(text)s” must be a whole number.", field=name, text="")
    which = open_tables.wanted(flask.request.args)
    page = validation.whole_number(flask.request.args.get("page", ""), open_tables.LAST_PAGE, 1) or 1
    with engine.reading() as session:
        found, more = open_tables.open_tables(session, which, None, page)
        offered = open_tables.offered_seats(session, which, None) if page == 1 else []
    return {
        "tables": [_open(table) for table in found],
        "seats": [_offered(seat) for seat in offered],
        "next": page + 1 if more and page < open_tables.LAST_PAGE else None,
    }


def _open(table: OpenTable) -> dict[str, Any]:
    game = table.game
    assert game.listed_at is not None
    assert game.open_until is not None
    return _common(table, table.size) | {
        "free": table.free,
        "language": table.language,
        "listed_at": engine.stamp(game.listed_at),
        "open_until": engine.stamp(game.open_until),
    }


def _offered(offer: OfferedSeat) -> dict[str, Any]:
    assert offer.game.started_at is not None
    assert offer.seat.offered_at is not None
    return _common(offer, len(offer.others) + 1) | {
        "seat": offer.seat.seat,
        "started_at": engine.stamp(offer.game.started_at),
        "offered_at": engine.stamp(offer.seat.offered_at),
    }


def _common(row: OpenTable | OfferedSeat, size: int) -> dict[str, Any]:
    game, took = row.game, row.took
    chosen = GameSettings.of(game)
    return {
        "id": game.id,
        "game": chosen.slug,
        "name": game.name,
        **TimeControl.of(chosen)._asdict(),
        "asks": chosen.asks,
        "size": size,
        "took": _lengths(took) if took else None,
    }


def _lengths(took: Span) -> dict[str, Any]:
    return {"unit": took.unit, "least": took.least, "most": took.most}


class NoSuchPerson(Refused):
    """Nobody has this handle, or not everybody may see their profile."""

    status = 404
    code = "no_such_person"


class TallyState(Body):
    """What a person did in one game with one number of players."""

    game: str
    size: int
    played: int
    won: int
    """Shared wins included."""
    even: float
    """The wins to expect if each seat were as likely to win as any other."""
    chance: list[int]
    """The bounds within which 95 of 100 players stay whose wins are chance alone."""
    place: float
    """The average one, from 1."""


class EndedState(Body):
    """One finished game of a person."""

    id: str
    game: str
    name: str
    ended: str
    """RFC 3339, UTC."""
    size: int
    place: int
    score: int


class PersonState(Body):
    """A profile that everybody may see: listed games with other people, private ones never."""

    handle: str
    since: str
    """The month since which they are here: `2026-03`."""
    results: list[TallyState]
    """The most played first."""
    latest: list[EndedState]
    """The last 20, the latest first."""


@blueprint.get("/people/<handle>")
@describes(
    "A person's public results.",
    {
        200: (PersonState, "The profile as a visitor may see it."),
        404: "Nobody with this handle has a profile that everybody may see.",
    },
)
@http.limiter.limit(READS)
@http.costly
def person(handle: Handle) -> dict[str, Any]:
    """Return a profile that everybody may see."""
    with engine.reading() as session:
        found = profiles.visible(session, handle, None)
        if found is None:
            raise NoSuchPerson("Nobody with this handle has a public profile. Check the spelling.")
        return _person_state(profiles.profile(session, found)).model_dump()


def _person_state(profile: Profile) -> PersonState:
    tallies = [
        TallyState(
            game=tally.slug,
            size=tally.size,
            played=tally.played,
            won=tally.won,
            even=round(tally.even, 2),
            chance=[tally.low, tally.high],
            place=round(tally.place, 2),
        )
        for tally in profile.tallies
    ]
    latest = []
    for game in profile.latest:
        own = game.of(profile.person.id)
        latest.append(
            EndedState(
                id=game.id,
                game=game.slug,
                name=game.name,
                ended=engine.stamp(game.ended_at),
                size=game.size,
                place=own.place,
                score=own.score,
            )
        )
    since = f"{profile.person.created_at:%Y-%m}"
    return PersonState(handle=profile.person.handle or "", since=since, results=tallies, latest=latest)
