"""The JSON API of games: a seat's view, moves, orders and talk, the next game, and records (docs/formats.md §7)."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from datetime import datetime
from typing import Annotated, Any, TypeVar

import flask
from flask import Blueprint, Response
from flask_babel import gettext
from pydantic import Field, ValidationError
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from byzanz import record
from byzanz.moves import AmbiguousMove, RulesError, UnreadableMove, UnreadableOrder
from byzanz.rules import PUBLIC, Viewer
from server import play
from server.community import talk
from server.community.talk import public_id
from server.errors import BadRequest, NoSuchOrder, NotRunning, Refused
from server.i18n import N_
from server.lobby import rematch
from server.play import history, positions, standing_orders, turns
from server.play.game import Table, load
from server.play.positions import Broken, Position, on_hold
from server.store import engine, links, operations
from server.store.models import GameStatus
from server.store.statements import GameRow
from server.validation import excerpt
from server.web import http, locale
from server.web.api import public, schema
from server.web.api.schema import READS, WRITES, Body, describes

GAME_ID = "[0-9A-Za-z_-]{1,16}"
ORDER_ID = "[0-9]{1,9}"
Token = Annotated[
    str, Field(pattern="^[a-z2-7]{26}$", description="The last part of a seat's link, `/t/<token>`.")
]
GameId = Annotated[str, Field(pattern=f"^{GAME_ID}$", description="The ID of a game.")]
OrderId = Annotated[str, Field(pattern=f"^{ORDER_ID}$", description="The `id` of an order.")]
RequestId = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,64}$")]
REFUSAL = "byzanz.refusal"
"""Where a request keeps why `quick` could not play its move."""
B = TypeVar("B", bound=Body)
LOGGER = logging.getLogger(__name__)
MESSAGES = {
    400: N_("The request could not be read."),
    404: N_("There is no such endpoint; see /api/v1/openapi.json."),
    405: N_("Method not allowed."),
    413: N_("The request body is too large; nothing has changed."),
    415: N_("Send the body as application/json."),
    429: N_("Too many requests came from your address. Wait a minute and try again."),
}
"""What an error says that no call raises itself, by its status; 400 stands for all others."""
blueprint = Blueprint("api", __name__, url_prefix="/api/v1")
blueprint.register_blueprint(public.blueprint)


class NoSuchSeat(Refused):
    """The token opens no seat: it is unknown, revoked, or its owner no longer holds the seat."""

    status = 404
    code = "no_such_seat"


class InvalidJson(Refused):
    """The body is not JSON."""

    status = 400
    code = "bad_json"


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


@blueprint.get("/seats/<token>")
@describes(
    "What the seat can see and do now.",
    {200: (SeatState, "The seat now."), 409: "The game has not begun, or is on hold."},
)
@http.limiter.limit(READS)
def seat(token: Token) -> dict[str, Any]:
    """Return what the seat may know and do now."""
    with engine.reading() as session:
        access = opened_seat(session, token)
        return _seat_state(session, access.game.id, access.seat.seat)


class MoveRequest(Body):
    """A move to be played."""

    move: Annotated[str, Field(min_length=1, max_length=play.LONGEST_TEXT, examples=["pass"])]
    """One line of text, abbreviated or not (docs/formats.md §1)."""
    seen: Annotated[int, Field(ge=0)]
    """Any `seq` that the client had seen when deciding; the move does not answer a turn that opened later."""
    request_id: RequestId
    """The client's own id for this request: repeating it plays nothing twice."""


class MoveReceipt(Body):
    """The result of a move."""

    seq: int
    """The number of its entry."""


@blueprint.post("/seats/<token>/moves")
@describes(
    "Play a move for the seat.",
    {
        200: (MoveReceipt, "A repeated request; nothing was played again."),
        201: (MoveReceipt, "Played."),
        409: "Not now; `code` is `stale`, `not_your_turn`, `paused` or `not_running`. Nothing has changed.",
        422: "Refused; nothing has changed. `code` is `illegal`, `unreadable` or `ambiguous` for a move, "
        "and `legal` then lists every legal move of this seat; `bad_request` for a wrong field.",
    },
    body=MoveRequest,
)
@http.limiter.limit(WRITES)
def move(token: Token) -> tuple[dict[str, Any], int]:
    """Play a move for the seat."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    body = body_of(MoveRequest)
    game_id, number = access.game.id, access.seat.seat
    refusal = flask.request.environ.get(REFUSAL)
    try:
        if refusal is not None:
            raise refusal
        receipt = play.submit(
            game_id,
            number,
            body.move,
            seen=body.seen,
            request_id=body.request_id,
            now=engine.utc_now(),
            link_id=access.link.id,
        )
    except RulesError as error:
        with engine.reading() as session:
            return _error(422, _code(error), http.refusal_text(error), _legal_now(session, game_id, number))
    return {"seq": receipt.seq}, 200 if receipt.repeated else 201


class OrderRequest(Body):
    """A standing order to be left."""

    order: Annotated[str, Field(min_length=1, max_length=play.LONGEST_TEXT, examples=["pass this lot"])]
    """One line of text in the grammar of the game (docs/orders.md)."""


class OrderState(Body):
    """A standing order of the seat; hidden from others until the game is over."""

    id: int
    """Counts this seat's orders from 1."""
    order: str
    """Canonical text."""
    status: str
    """`standing`, or `resting` after a void until it is confirmed, or `stopped`."""
    reason: str | None
    """Why it stopped."""


class OrderList(Body):
    """The standing orders of the seat, oldest first."""

    orders: list[OrderState]


class OrderReceipt(Body):
    """The result of leaving an order."""

    id: int
    order: str
    """Canonical text."""
    seq: int
    """The head of the log afterwards: an order that answers an open question is carried out at once."""


@blueprint.get("/seats/<token>/orders")
@describes(
    "The seat's standing orders.",
    {200: (OrderList, "The orders of the seat."), 409: "The game has not begun."},
)
@http.limiter.limit(READS)
def orders(token: Token) -> dict[str, Any]:
    """Return the standing orders of the seat, for its owner alone."""
    with engine.reading() as session:
        access = opened_seat(session, token)
        _require_begun(access.game)
        table = load(session, access.game.id, engine.utc_now())
        table.load_orders()
        rows = standing_orders.of_seat(table, access.seat.seat)
        orders = [
            {
                "id": row.number,
                "order": row.text,
                "status": row.status,
                "reason": str(row.reason) if row.reason else None,
            }
            for row in rows
        ]
        return {"orders": orders}


@blueprint.post("/seats/<token>/orders")
@describes(
    "Place a standing order; it stays hidden until the game is over.",
    {
        201: (OrderReceipt, "The order was stored or has already been carried out."),
        409: "The game has not begun, is over, or is on hold.",
        422: "Not an order, or one that can never apply; nothing has changed.",
        429: "Too many requests from this address, or too many orders for this seat (`too_many`).",
    },
    body=OrderRequest,
)
@http.limiter.limit(WRITES)
def leave_order(token: Token) -> tuple[dict[str, Any], int]:
    """Place a standing order for the seat."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    body = body_of(OrderRequest)
    try:
        left = play.place_order(
            access.game.id, access.seat.seat, body.order, now=engine.utc_now(), link_id=access.link.id
        )
    except RulesError as error:
        return _error(422, _code(error), http.refusal_text(error))
    return {"id": left.number, "order": left.text, "seq": left.seq}, 201


@blueprint.delete("/seats/<token>/orders/<order_id>")
@describes(
    "Withdraw a standing order.",
    {204: (None, "The order was withdrawn."), 409: "The game has not begun, is over, or is on hold."},
)
@http.limiter.limit(WRITES)
def withdraw_order(token: Token, order_id: OrderId) -> tuple[str, int]:
    """Withdraw a standing order of the seat."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    if not re.fullmatch(ORDER_ID, order_id):
        raise NoSuchOrder("This order is no longer active.")
    now, link_id = engine.utc_now(), access.link.id
    play.withdraw_order(access.game.id, access.seat.seat, int(order_id), now=now, link_id=link_id)
    return "", 204


class WordState(Body):
    """Something said at the table."""

    id: str
    """The same for all readers; it does not tell how much else was said."""
    seat: int
    """Where it was said."""
    name: str
    """Who said it."""
    text: str
    """Plain text with line breaks; empty if a moderator has hidden it."""
    at: str
    """RFC 3339, UTC."""
    seq: int
    """The head of the log when it was said."""
    own: bool
    """Whether this seat's player said it."""
    hidden: bool


class WordList(Body):
    """What this seat's player may read, oldest first."""

    words: list[WordState]


class WordsQuery(Body):
    """Which words are asked for."""

    after: Annotated[str, Field(max_length=16)]
    """The `id` of a word: only those said later."""


@blueprint.get("/seats/<token>/words")
@describes(
    "What was said at the table, as this seat may read it.",
    {
        200: (WordList, "What was said, oldest first."),
        422: "No such word; it may have been deleted.",
    },
    query=WordsQuery,
)
@http.limiter.limit(READS)
def words(token: Token) -> dict[str, Any]:
    """Return what the player of the seat may read; `?after=` gives only what is newer."""
    after = flask.request.args.get("after")
    with engine.reading() as session:
        access = opened_seat(session, token)
        said = talk.words(session, access.game, access.link.person_id)
    if after is not None:
        known = [each.id for each in said]
        if after not in known:
            raise BadRequest("There is no message “%(text)s” here.", text=excerpt(after))
        said = said[known.index(after) + 1 :]
    rows = [dataclasses.asdict(each) | {"at": engine.stamp(each.at)} for each in said]
    return {"words": [{name: value for name, value in row.items() if name != "why"} for row in rows]}


class WordRequest(Body):
    """Something to be said to the table."""

    text: Annotated[str, Field(min_length=1, max_length=4 * talk.LONGEST, examples=["Well played!"])]
    """Plain text of at most 500 characters and 20 lines, without control and invisible characters."""
    request_id: RequestId
    """The client's own id for this request: repeating it says nothing twice."""


class WordReceipt(Body):
    """The result of saying something."""

    id: str
    """Its id; two words of a table never have the same."""
    text: str
    """As the table reads it: `[address]` and `[link]` stand in place of email addresses and personal links."""


@blueprint.post("/seats/<token>/words")
@describes(
    "Say something to everybody at the table.",
    {
        200: (WordReceipt, "A repeated request; nothing was said again."),
        201: (WordReceipt, "Said."),
        409: "Nobody, or not this seat, can talk now (`closed`).",
        422: "The text is empty or too long, or the request ID was used for another.",
        429: "Too many requests from this address, or enough said for a day (`too_many`).",
    },
    body=WordRequest,
)
@http.limiter.limit(WRITES)
def say(token: Token) -> tuple[dict[str, Any], int]:
    """Say something to the table."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    now = engine.utc_now()
    body = body_of(WordRequest)
    said = talk.say(
        access.game.id,
        access.link.person_id,
        body.text,
        request_id=body.request_id,
        now=now,
        link_id=access.link.id,
    )
    shown = "" if said.hidden_at else said.text
    known_as = public_id(said.game_id, said.person_id, said.request_id)
    return {"id": known_as, "text": shown}, 201 if said.at == now else 200


class NextGame(Body):
    """The game that follows a finished one."""

    id: str
    """Of the game, which begins once everybody has accepted."""


@blueprint.post("/seats/<token>/again")
@describes(
    "Play again with the same people, each moved on by one seat.",
    {
        200: (NextGame, "It had been made already; nothing has changed."),
        201: (NextGame, "Made; this player organises it, and the others are invited."),
        409: "Not over, or the player had left it (`closed`); or `not_everybody`.",
        429: "Too many requests from this address, or invitations today (`too_many`).",
    },
)
@http.limiter.limit(WRITES)
def again(token: Token) -> tuple[dict[str, str], int]:
    """Make the game that follows this finished one, organised by this seat's player, or return the one there is."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    following = rematch.again(access.game.id, access.link.person_id, engine.utc_now())
    return {"id": following.game_id}, 201 if following.created else 200


RECORD: dict[int, schema.Answer] = {
    200: (str, "JSON Lines: a header, the entries and, once the game is over, the result."),
    409: "The game has not begun, or is on hold.",
}


@blueprint.get("/seats/<token>/record")
@describes("The record, as this seat may see it.", RECORD)
@http.limiter.limit(READS)
def seat_record(token: Token) -> Response:
    """Return the record as this seat may see it."""
    with engine.reading() as session:
        access = opened_seat(session, token)
        return _record(load(session, access.game.id, engine.utc_now()), access.seat.seat)


@blueprint.get("/games/<game_id>/record")
@describes("The record, as everyone may see it.", RECORD)
@http.limiter.limit(READS)
@http.costly
def public_record(game_id: GameId) -> Response:
    """Return the record as the public may see it."""
    with engine.reading() as session:
        known = game_id if re.fullmatch(GAME_ID, game_id) else ""
        return _record(load(session, known, engine.utc_now()), PUBLIC)


@blueprint.get("/openapi.json")
@http.limiter.limit(READS)
def description() -> dict[str, Any]:
    """Return the OpenAPI document of this API."""
    return schema.document(flask.current_app, flask.request.script_root)


def opened_seat(session: Session, token: str) -> links.SeatAccess:
    """Return the seat that a token opens, or answer in JSON that there is none."""
    access = links.seat_access(session, token, engine.utc_now())
    if access is None:
        raise NoSuchSeat("This link does not open a seat. Open it in a browser to request a fresh one.")
    http.meet(access)
    return access


def body_of(model: type[B]) -> B:
    """Return the body of this request; a malformed one is refused."""
    if not flask.request.is_json:
        flask.abort(415)
    flask.request.max_content_length = schema.LONGEST_BODY
    try:
        body = json.loads(flask.request.get_data(cache=False))
    except (ValueError, RecursionError):
        raise InvalidJson("The body is not JSON.") from None
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])[:40] or "body"
        raise BadRequest("%(field)s: %(fault)s", field=field, fault=first["msg"]) from None


def _seat_state(session: Session, game_id: str, seat: int) -> dict[str, Any]:
    table = load(session, game_id, engine.utc_now())
    game = table.game
    _require_begun(game)
    position = positions.current(table)
    turn = table.turns.get(seat)
    due: datetime | None = turns.deadline(session, game, turn) if turn else None
    return {
        "game": game.slug,
        "id": game.id,
        "rules": game.rules,
        "seq": position.head,
        "seat": seat,
        "awaited": sorted(position.awaited),
        "deadline": engine.stamp(due) if due else None,
        "view": dataclasses.asdict(position.view(seat)),
        "moves": legal_moves(position, seat),
        "result": dataclasses.asdict(position.outcome) if position.outcome else None,
    }


def _require_begun(game: GameRow) -> None:
    if game.started_at is None:
        raise NotRunning("The game has not begun.")


def legal_moves(position: Position, seat: int) -> list[str]:
    """Return every move that this seat could make now, answers before out-of-turn moves, in canonical text."""
    if position.paused or position.outcome:
        return []
    rules, state = position.rules, position.state
    return [str(each) for each in (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))]


def _legal_now(session: Session, game_id: str, seat: int) -> list[str]:
    table = load(session, game_id, engine.utc_now())
    return legal_moves(positions.current(table), seat) if table.game.status == GameStatus.RUNNING else []


def _record(table: Table, viewer: Viewer) -> Response:
    _require_begun(table.game)
    text = record.write(history.record_for(table, viewer))
    return Response(text, mimetype="application/jsonl")


def _code(error: RulesError) -> str:
    if isinstance(error, AmbiguousMove):
        return "ambiguous"
    return "unreadable" if isinstance(error, UnreadableMove | UnreadableOrder) else "illegal"


def _error(
    status: int, code: str, message: str, moves: list[str] | None = None
) -> tuple[dict[str, Any], int]:
    return {"error": {"code": code, "message": message, "legal": moves or []}}, status


@blueprint.errorhandler(Refused)
def _refused(error: Refused) -> tuple[dict[str, Any], int]:
    return _error(error.status, error.code, http.refusal_text(error))


@blueprint.errorhandler(Broken)
def _broken(error: Broken) -> tuple[dict[str, Any], int]:
    return _refused(on_hold(error))


@blueprint.errorhandler(HTTPException)
def _http_error(error: HTTPException) -> Response:
    hidden = http.hidden_outage(error)
    if hidden is not None:
        return flask.make_response(_unavailable(hidden))
    status = error.code or 500
    code = error.name.lower().replace(" ", "_")
    body, _ = _error(status, code, gettext(MESSAGES.get(status, MESSAGES[400])))
    response = flask.jsonify(body)
    response.status_code = status
    for name, value in error.get_headers():
        if name not in ("Content-Type", "Content-Length"):
            response.headers[name] = value
    return response


@blueprint.errorhandler(Exception)
def _internal_error(error: Exception) -> tuple[dict[str, Any], int]:
    # Log the route, since the URL holds a link's token.
    LOGGER.error("fault at %s", flask.request.endpoint, exc_info=error)
    unsure = http.sentence_if_unsure()
    return _error(500, "fault", unsure or gettext("Something went wrong on our side; nothing has changed."))


def _unavailable(error: Exception) -> tuple[dict[str, Any], int]:
    LOGGER.error("fault at %s", flask.request.endpoint, exc_info=error)
    locale.keep_from_database()
    message = http.sentence_if_unsure() or gettext(
        "The database did not answer in time. Nothing has changed. Try again in a minute."
    )
    return _error(503, "unavailable", message)


for _kind in engine.UNAVAILABLE:
    blueprint.register_error_handler(_kind, _unavailable)


def _wrong_clock(_error_of_ours: operations.WrongClock) -> tuple[dict[str, Any], int]:
    return _error(503, "unavailable", gettext(http.WRONG_CLOCK))


blueprint.register_error_handler(operations.WrongClock, _wrong_clock)


def no_such_call() -> Response | None:
    """Answer unknown API routes in JSON: Flask would render the pages' error page."""
    error = flask.request.routing_exception
    under_api = flask.request.path.startswith("/api/")
    if not under_api or not isinstance(error, HTTPException) or (error.code or 500) < 400:
        return None
    return _http_error(error)
