"""A seat's standing orders: preview, place, confirm, withdraw; and taking the seat back from autopilot.

Opened by the seat's link alone, like its turn page. No other page shows orders before the game is over.
"""

from __future__ import annotations

from typing import Any

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy.orm import Session

from byzanz.moves import RulesError
from server import play
from server.errors import Refused
from server.play import positions
from server.store import links
from server.store.engine import reading, utc_now
from server.store.links import SeatAccess
from server.validation import whole_number
from server.web.game import history
from server.web.http import csrf, error_page, limiter, refusal_text, unknown_link

blueprint = Blueprint("orders", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies

LAST = 999_999_999
"""The highest number of an order."""


@blueprint.post("/t/<token>/orders")
@limiter.limit("120/minute")
def order(token: str) -> ResponseReturnValue:
    """Preview, place, withdraw or confirm orders, or end the autopilot, depending on the button."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
    form, game_id, seat = flask.request.form, access.game.id, access.seat.seat
    try:
        match form.get("do"):
            case "preview":
                return _preview(token, access, _order_text(form.getlist("part"), form.get("order", "")))
            case "leave":
                play.place_order(game_id, seat, form.get("order", ""), now=utc_now(), link_id=access.link.id)
            case "withdraw" if (number := whole_number(form.get("id", ""), LAST)) is not None:
                play.withdraw_order(game_id, seat, number, now=utc_now(), link_id=access.link.id)
            case "confirm":
                play.confirm_orders(game_id, seat, now=utc_now(), link_id=access.link.id)
            case "reclaim":
                play.reclaim(game_id, seat, now=utc_now(), link_id=access.link.id)
            case _:
                return _malformed(token)
    except RulesError as error:
        return _refused(token, access, 422, refusal_text(error))
    except Refused as error:
        return _refused(token, access, error.status, refusal_text(error))
    return flask.redirect(url_for("turn.show", token=token, _anchor="orders"), 303)


def _order_text(parts: list[str], text: str) -> str:
    """Return the order of a form: its parts joined, or the typed line."""
    return " ".join(parts) if parts else text


def _preview(token: str, access: SeatAccess, text: str) -> str:
    with reading() as session:
        previewed = play.preview_order(session, access.game, access.seat.seat, text[: play.LONGEST_TEXT + 1])
        return render_template(
            "seat/order.html", **_base_context(session, token, access), previewed=previewed
        )


def _refused(token: str, access: SeatAccess, status: int, sentence: str) -> ResponseReturnValue:
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


def _malformed(token: str) -> ResponseReturnValue:
    sentence = _("Nothing has changed. Reload the page and try again.")
    return error_page(400, _("The form was incomplete"), sentence, back=url_for("turn.show", token=token))
