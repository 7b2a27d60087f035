"""Open tables in the API: the same filter and the same facts as the page, without names."""

from __future__ import annotations

from typing import Any

import flask
from flask import Blueprint

from server import validation
from server.community.results import Span
from server.errors import InvalidInput
from server.lobby import tables
from server.lobby.tables import OfferedSeat, OpenTable
from server.store import engine
from server.web import http
from server.web.api import openapi
from server.web.api.bodies import Body

blueprint = Blueprint("tables", __name__)


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


def _answer(model: str, description: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


MODELS = (TableList,)
QUERY = {
    "game": "The slug of a game.",
    "size": "All seats.",
    "pace": "Seconds for a decision, at least.",
    "language": "The organiser's.",
    "free": "Free seats, at least.",
    "page": "From 1.",
}
PATHS: dict[str, Any] = {
    "/api/v1/tables": {
        "get": {
            "operationId": "tables",
            "summary": "Open tables, those with the fewest free seats first, and seats that need a player.",
            "parameters": [
                {
                    "name": name,
                    "in": "query",
                    "description": meaning,
                    "schema": {"type": "string" if name in ("game", "language") else "integer"},
                }
                for name, meaning in QUERY.items()
            ],
            "responses": {
                "200": _answer("TableList", "The tables."),
                "422": _answer("ErrorBody", "A value that no table can have."),
                "429": _answer("ErrorBody", "Too many requests from this address; wait a minute."),
                "503": _answer("ErrorBody", openapi.UNAVAILABLE),
            },
        }
    }
}


@blueprint.get("/tables")
@http.limiter.limit(openapi.READS)
def listed() -> dict[str, Any]:
    """Return a page of the open tables that match the query."""
    for name in ("size", "pace", "free", "page"):
        if flask.request.args.get(name) == "":
            raise InvalidInput("“%(text)s” must be a whole number.", field=name, text="")
    which = tables.wanted(flask.request.args)
    page = validation.whole_number(flask.request.args.get("page", ""), tables.LAST_PAGE, 1) or 1
    with engine.reading() as session:
        found, more = tables.open_tables(session, which, None, page)
        offered = tables.offered_seats(session, which, None) if page == 1 else []
    return {
        "tables": [_open(table) for table in found],
        "seats": [_offered(seat) for seat in offered],
        "next": page + 1 if more and page < tables.LAST_PAGE else None,
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
    columns = ("id", "name", "allowance", "bank", "days_off", "asks")
    return {name: getattr(game, name) for name in columns} | {
        "game": game.slug,
        "size": size,
        "took": _lengths(took) if took else None,
    }


def _lengths(took: Span) -> dict[str, Any]:
    return {"unit": took.unit, "least": took.least, "most": took.most}
