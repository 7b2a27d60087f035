"""The bodies of the API, and the OpenAPI document that describes it (docs/formats.md §7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from byzanz import __version__
from byzanz.games import latest
from byzanz.rules import PUBLIC
from server import play
from server.web.api.bodies import Body, OrderList, OrderReceipt, OrderRequest

GAME_ID = r"^[0-9A-Za-z_-]{1,16}$"
TOKEN = r"^[a-z2-7]{26}$"  # noqa: S105 - the shape of a link's token
ORDER_ID = r"^[0-9]{1,9}$"
READS, WRITES = "300/minute", "120/minute"
"""Calls that one address may make."""
LONGEST_BODY = 16 * 1024
"""Bytes; a move is far shorter."""
NOT_NOW = "Not now; `code` is `stale`, `not_your_turn`, `paused` or `not_running`. Nothing has changed."
REFUSED = (
    "Refused; nothing has changed. `code` is `illegal`, `unreadable` or `ambiguous` for a move, "
    "and `legal` then lists every legal move of this seat; `bad_request` for a wrong field."
)


UNAVAILABLE = (
    "The database did not answer, or the clock of the server is wrong (`unavailable`). `message` says whether nothing "
    "has changed or nobody knows. Wait `Retry-After` seconds; a move is repeated with the same `request_id`, which "
    "plays nothing twice."
)


class MoveRequest(Body):
    """A move to be played."""

    move: Annotated[str, Field(min_length=1, max_length=play.LONGEST_TEXT, examples=["pass"])]
    """One line of text, abbreviated or not (docs/formats.md §1)."""
    seen: Annotated[int, Field(ge=0)]
    """Any `seq` that the client had seen when deciding; the move does not answer a turn that opened later."""
    request_id: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,64}$")]
    """The client's own id for this request: repeating it plays nothing twice."""


class MoveReceipt(Body):
    """The result of a move."""

    seq: int
    """The number of its entry."""


class Result(Body):
    """How a game ended."""

    scores: list[int]
    winners: list[int]
    reason: str


class SeatState(Body):
    """What a seat may know, and what it may do."""

    game: str
    id: str
    rules: int
    seq: int
    """The head of the log."""
    seat: int
    awaited: list[int]
    """The seats that are to move."""
    deadline: str | None
    """RFC 3339, UTC; null while no clock runs for this seat."""
    view: dict[str, Any]
    """The table as this seat sees it, in the schema of its game: `VIEW_…`."""
    moves: list[str]
    """All legal moves of this seat, answers before out-of-turn moves."""
    result: Result | None


class ErrorDetail(Body):
    """Why a call was refused."""

    code: str
    message: str
    legal: list[str]
    """The legal moves, if a move was refused as illegal; else empty."""


class ErrorBody(Body):
    """The body of every unsuccessful response."""

    error: ErrorDetail


MODELS = (MoveRequest, MoveReceipt, SeatState, ErrorBody, OrderRequest, OrderList, OrderReceipt)


def document(
    root: str = "", more: Mapping[str, Any] = MappingProxyType({}), models: Sequence[type[Body]] = ()
) -> dict[str, Any]:
    """Return the OpenAPI document of this API.

    Args:
        root: the path under which the server lies.
        more: further paths; models: of their bodies.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Byzanz",
            "version": __version__,
            "description": "Seats, moves and records. A token opens one seat and nothing else.",
        },
        "servers": [{"url": f"{root}/"}],
        "paths": {
            "/api/v1/seats/{token}": {"parameters": [token()], "get": _seat()},
            "/api/v1/seats/{token}/moves": {"parameters": [token()], "post": _move()},
            "/api/v1/seats/{token}/orders": {
                "parameters": [token()],
                "get": _orders(),
                "post": _leave(),
            },
            "/api/v1/seats/{token}/orders/{order_id}": {
                "parameters": [token(), parameter("order_id", ORDER_ID, "The `id` of an order.")],
                "delete": _withdraw(),
            },
            "/api/v1/seats/{token}/record": {
                "parameters": [token()],
                "get": _record("as this seat may see it"),
            },
            "/api/v1/games/{game_id}/record": {
                "parameters": [parameter("game_id", GAME_ID, "The ID of a game.")],
                "get": _record("as everyone may see it"),
            },
            **more,
        },
        "components": {"schemas": _schemas((*MODELS, *models))},
    }


def token() -> dict[str, Any]:
    """Return the parameter `token` of a path."""
    return parameter("token", TOKEN, "The last part of a seat's link, `/t/<token>`.")


def parameter(name: str, pattern: str, description: str) -> dict[str, Any]:
    """Return a parameter of a path; `pattern` is its regular expression."""
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _seat() -> dict[str, Any]:
    answers = {
        "200": answer("SeatState", "The seat now."),
        "409": answer("ErrorBody", "The game has not begun, or is on hold."),
    }
    return {
        "operationId": "seat",
        "summary": "What the seat can see and do now.",
        "responses": answers | common(),
    }


def _move() -> dict[str, Any]:
    answers = {
        "200": answer("MoveReceipt", "A repeated request; nothing was played again."),
        "201": answer("MoveReceipt", "Played."),
        "409": answer("ErrorBody", NOT_NOW),
        "422": answer("ErrorBody", REFUSED),
    }
    return {
        "operationId": "move",
        "summary": "Play a move for the seat.",
        "requestBody": sent("MoveRequest"),
        "responses": common() | unread() | answers,
    }


def _orders() -> dict[str, Any]:
    answers = {
        "200": answer("OrderList", "The orders of the seat."),
        "409": answer("ErrorBody", "The game has not begun."),
    }
    return {
        "operationId": "orders",
        "summary": "The seat's standing orders.",
        "responses": answers | common(),
    }


def _leave() -> dict[str, Any]:
    answers = {
        "201": answer("OrderReceipt", "The order was stored or has already been carried out."),
        "409": answer("ErrorBody", "The game has not begun, is over, or is on hold."),
        "422": answer("ErrorBody", "Not an order, or one that can never apply; nothing has changed."),
        "429": answer(
            "ErrorBody", "Too many requests from this address, or too many orders for this seat (`too_many`)."
        ),
    }
    return {
        "operationId": "leave_order",
        "summary": "Place a standing order; it stays hidden until the game is over.",
        "requestBody": sent("OrderRequest"),
        "responses": common() | unread() | answers,
    }


def sent(model: str) -> dict[str, Any]:
    """Return the description of a body that is sent."""
    return {"required": True, "content": {"application/json": {"schema": _ref(model)}}}


def unread() -> dict[str, Any]:
    """Return the answers to a body that cannot be read."""
    return {
        "400": answer("ErrorBody", "The body is not JSON."),
        "413": answer("ErrorBody", f"The body is longer than {LONGEST_BODY} bytes."),
        "415": answer("ErrorBody", "The body is not sent as application/json."),
    }


def _withdraw() -> dict[str, Any]:
    answers = {
        "204": {"description": "The order was withdrawn."},
        "409": answer("ErrorBody", "The game has not begun, is over, or is on hold."),
    }
    return {
        "operationId": "withdraw_order",
        "summary": "Withdraw a standing order.",
        "responses": answers | common(),
    }


def _record(whose: str) -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    answers = {
        "200": {
            "description": "JSON Lines: a header, the entries and, once the game is over, the result.",
            "content": {"application/jsonl": text},
        },
        "409": answer("ErrorBody", "The game has not begun, or is on hold."),
    }
    return {"summary": f"The record, {whose}.", "responses": answers | common()}


def common() -> dict[str, Any]:
    """Return the answers that every call can give."""
    return {
        "404": answer("ErrorBody", "There is no such seat or game."),
        "429": answer("ErrorBody", "Too many requests from this address; wait a minute."),
        "503": answer("ErrorBody", UNAVAILABLE),
    }


def answer(model: str, description: str) -> dict[str, Any]:
    """Return an answer whose body is one of the models."""
    return {"description": description, "content": {"application/json": {"schema": _ref(model)}}}


def _ref(model: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model}"}


def _schemas(bodies: Iterable[type[Body]]) -> dict[str, Any]:
    examples = {rules.slug: rules.view(rules.setup(rules.seats[0], {}), PUBLIC) for rules in latest()}
    views = {f"VIEW_{slug}": TypeAdapter(type(view)) for slug, view in examples.items()}
    models = {model.__name__: TypeAdapter(model) for model in bodies}
    found: dict[str, Any] = {}
    for name, adapter in (models | views).items():
        schema = adapter.json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        found |= schema.pop("$defs", {})
        found[name] = schema
    return found
