"""The JSON API for other people's programs: a seat's view and moves, and records (docs/formats.md §7)."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from datetime import datetime
from typing import Any, TypeVar

import flask
from flask import Blueprint, Response
from flask_babel import gettext
from pydantic import ValidationError
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from byzanz import record
from byzanz.moves import AmbiguousMove, RulesError, UnreadableMove, UnreadableOrder
from byzanz.rules import PUBLIC, Viewer
from server import play
from server.errors import BadRequest, NoSuchGame, NoSuchOrder, NotRunning, Refused
from server.i18n import N_
from server.play import history, positions, standing_orders, turns
from server.play.game import load
from server.play.positions import Broken, Position, on_hold
from server.store import engine, links, processes
from server.store.models import Game
from server.store.statements import AnyGame
from server.web import http, locale
from server.web.api import openapi, people, tables
from server.web.api.bodies import Body, OrderRequest
from server.web.api.openapi import READS, WRITES, MoveRequest

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
blueprint.register_blueprint(tables.blueprint)
blueprint.register_blueprint(people.blueprint)


class NoSuchSeat(Refused):
    """The token opens no seat: it is unknown, revoked, or its owner no longer holds the seat."""

    status = 404
    code = "no_such_seat"


class InvalidJson(Refused):
    """The body is not JSON."""

    status = 400
    code = "bad_json"


@blueprint.get("/seats/<token>")
@http.limiter.limit(READS)
def seat(token: str) -> dict[str, Any]:
    """Return what the seat may know and do now."""
    with engine.reading() as session:
        access = opened_seat(session, token)
        return _seat_state(session, access.game.id, access.seat.seat)


@blueprint.post("/seats/<token>/moves")
@http.limiter.limit(WRITES)
def move(token: str) -> tuple[dict[str, Any], int]:
    """Play a move for the seat."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    body = body_of(MoveRequest)
    game_id, number = access.game.id, access.seat.seat
    try:
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


@blueprint.get("/seats/<token>/orders")
@http.limiter.limit(READS)
def seat_orders(token: str) -> dict[str, Any]:
    """Return the standing orders of the seat, for its owner alone."""
    with engine.reading() as session:
        access = opened_seat(session, token)
        _require_begun(access.game)
        rows = standing_orders.of_seat(session, access.game.id, access.seat.seat)
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
@http.limiter.limit(WRITES)
def leave_order(token: str) -> tuple[dict[str, Any], int]:
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
@http.limiter.limit(WRITES)
def withdraw_order(token: str, order_id: str) -> tuple[str, int]:
    """Withdraw a standing order of the seat."""
    with engine.reading() as session:
        access = opened_seat(session, token)
    if not re.fullmatch(openapi.ORDER_ID[1:-1], order_id):
        raise NoSuchOrder("This order is no longer active.")
    now, link_id = engine.utc_now(), access.link.id
    play.withdraw_order(access.game.id, access.seat.seat, int(order_id), now=now, link_id=link_id)
    return "", 204


@blueprint.get("/seats/<token>/record")
@http.limiter.limit(READS)
def seat_record(token: str) -> Response:
    """Return the record as this seat may see it."""
    with engine.reading() as session:
        access = opened_seat(session, token)
        return _record(session, access.game, access.seat.seat)


@blueprint.get("/games/<game_id>/record")
@http.limiter.limit(READS)
@http.costly
def public_record(game_id: str) -> Response:
    """Return the record as the public may see it."""
    with engine.reading() as session:
        game = session.get(Game, game_id) if re.fullmatch(openapi.GAME_ID[1:-1], game_id) else None
        if game is None:
            raise NoSuchGame("There is no game with this ID. Check the link.")
        return _record(session, game, PUBLIC)


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
    flask.request.max_content_length = openapi.LONGEST_BODY
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
    assert table is not None
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


def _require_begun(game: AnyGame) -> None:
    if game.started_at is None:
        raise NotRunning("The game has not begun.")


def legal_moves(position: Position, seat: int) -> list[str]:
    """Return every move that this seat could make now, answers before out-of-turn moves, in canonical text."""
    if position.paused or position.outcome:
        return []
    rules, state = position.rules, position.state
    return [str(each) for each in (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))]


def _legal_now(session: Session, game_id: str, seat: int) -> list[str]:
    game = session.get_one(Game, game_id)
    return legal_moves(positions.load(session, game), seat) if game.status == "running" else []


def _record(session: Session, game: AnyGame, viewer: Viewer) -> Response:
    _require_begun(game)
    text = record.write(history.record_for(session, game, viewer))
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


def _wrong_clock(_error_of_ours: processes.WrongClock) -> tuple[dict[str, Any], int]:
    return _error(503, "unavailable", gettext(http.WRONG_CLOCK))


blueprint.register_error_handler(processes.WrongClock, _wrong_clock)


def no_such_call() -> Response | None:
    """Answer unknown API routes in JSON: Flask would render the pages' error page."""
    error = flask.request.routing_exception
    under_api = flask.request.path.startswith("/api/")
    if not under_api or not isinstance(error, HTTPException) or (error.code or 500) < 400:
        return None
    return _http_error(error)
