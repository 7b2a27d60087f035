"""A seat's standing orders: previewed in plain words, left, confirmed, withdrawn; and a seat taken back from autopilot.

Opened by the seat's link alone, like its turn page. Nobody else's pages know of them before the game is over.
"""

from __future__ import annotations

from typing import Any

import flask
from flask import Blueprint, render_template, url_for
from flask_babel import gettext as _
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from byzanz.rules import RulesError
from server import play
from server.errors import Refused
from server.play import positions
from server.store import links
from server.store.engine import reading, utc_now
from server.store.links import SeatAccess
from server.web.game import history
from server.web.http import csrf, error_page, limiter, refusal_text, unknown_link

blueprint = Blueprint("orders", __name__)
csrf.exempt(blueprint)  # the token in the address vouches, and a mail reader's browser keeps no cookies

Answer = str | tuple[str, int] | Response


@blueprint.post("/t/<token>/orders")
@limiter.limit("120/minute")
def order(token: str) -> Answer:
    """Show what an order would do, keep it, end it, let it stand again, or end an autopilot: the button says which."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now())
    if access is None:
        return unknown_link(token)
    form = flask.request.form
    try:
        match form.get("do"):
            case "preview":
                return _preview(token, access, _order_text(form.getlist("part"), form.get("order", "")))
            case "leave":
                _leave(access, _order_text((), form.get("order", "")))
            case "withdraw" if form.get("id", "").isascii() and form.get("id", "").isdigit():
                _withdraw(access, int(form["id"][:9]))
            case "confirm":
                play.confirm_orders(access.game.id, access.seat.seat, now=utc_now(), link_id=access.link.id)
            case "reclaim":
                play.reclaim(access.game.id, access.seat.seat, now=utc_now(), link_id=access.link.id)
            case _:
                return _malformed(token)
    except RulesError as error:
        return _refused(token, access, 422, refusal_text(error))
    except Refused as error:
        return _refused(token, access, error.status, refusal_text(error))
    return flask.redirect(url_for("turn.show", token=token, _anchor="orders"), 303)


def _order_text(parts: list[str] | tuple[()], text: str) -> str:
    """The order of a form: its parts one after another, or the line that somebody wrote."""
    return " ".join(parts) if parts else text


def _leave(access: SeatAccess, text: str) -> None:
    play.leave_order(access.game.id, access.seat.seat, text, now=utc_now(), link_id=access.link.id)


def _withdraw(access: SeatAccess, number: int) -> None:
    play.withdraw_order(access.game.id, access.seat.seat, number, now=utc_now(), link_id=access.link.id)


def _preview(token: str, access: SeatAccess, text: str) -> str:
    with reading() as session:
        previewed = play.preview_order(session, access.game, access.seat.seat, text[: play.LONGEST_TEXT + 1])
        return render_template(
            "seat/order.html", **_base_context(session, token, access), previewed=previewed
        )


def _refused(token: str, access: SeatAccess, status: int, sentence: str) -> Answer:
    form = flask.request.form
    with reading() as session:
        context = _base_context(session, token, access)
        written = _order_text(form.getlist("part"), form.get("order", ""))[:300]
        page = render_template("seat/order.html", **context, previewed=None, wrong=sentence, written=written)
    return page, status


def _base_context(session: Session, token: str, access: SeatAccess) -> dict[str, Any]:
    game = access.game
    view = None
    if game.status == "running" and not game.quarantine:
        view = positions.load(session, game).view(access.seat.seat)
    names = history.names_of(session, game)
    return {"token": token, "game": game, "seat": access.seat, "names": names, "view": view}


def _malformed(token: str) -> Answer:
    sentence = _("Nothing has changed: reload the page and try again.")
    return error_page(
        400, _("This form did not reach us whole"), sentence, back=url_for("turn.show", token=token)
    )
