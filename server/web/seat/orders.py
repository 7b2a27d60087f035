"""A seat's standing orders: the sheet, preview, place, confirm, withdraw; and taking the seat back from autopilot.

Opened by the seat's link alone, like its turn page. No other page shows orders before the game is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy.orm import Session

from byzanz.moves import OrderAnswer, OrderCase, RulesError
from server import play
from server.errors import Refused
from server.i18n import N_
from server.play import history, names, positions, standing_orders
from server.play.game import load
from server.play.positions import Position
from server.store.engine import reading, utc_now
from server.store.links import SeatAccess
from server.store.models import GameStatus
from server.validation import whole_number
from server.web.http import csrf, error_page, limiter, refusal_text, seat_access

blueprint = Blueprint("orders", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies

LAST = 999_999_999
"""The highest number of an order."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An order before it is placed, and what the button that saves it says."""

    previewed: play.OrderPreview

    @property
    def text(self) -> str:
        """The order, canonical."""
        return self.previewed.text

    @property
    def now(self) -> OrderAnswer | None:
        """Its answer to the open question; None if it would only wait."""
        return self.previewed.now

    @property
    def move(self) -> str:
        """The move that is played at once; empty if none is."""
        return str(self.now.move) if self.now and self.now.move else ""

    @property
    def is_same(self) -> bool:
        """Whether the seat has this order already, and nothing is played at once."""
        return self.previewed.replaces == self.text and not self.move

    @property
    def replaced(self) -> str:
        """The text of the order that it takes the place of; empty if it is none, or the same."""
        return "" if self.previewed.replaces == self.text else self.previewed.replaces or ""

    @property
    def ahead(self) -> tuple[OrderCase, ...]:
        """What it would do later: the first case is the open question, if there is one."""
        return self.previewed.cases[1:] if self.now else self.previewed.cases

    @property
    def button(self) -> str:
        """What the button that saves it says."""
        if self.move:
            return N_("Play it and save the order")
        return N_("Change the order") if self.previewed.replaces else N_("Save this order")


@blueprint.get("/t/<token>/orders")
def show(token: str) -> ResponseReturnValue:
    """Show the orders that stand, what they would do now, and the sentences of new ones."""
    with reading() as session:
        access = seat_access(session, token)
        return _sheet(session, token, access) or flask.redirect(url_for("turn.show", token=token), 303)


def _sheet(session: Session, token: str, access: SeatAccess, **more: str) -> str | None:
    """Return the page of a seat's orders, or None if its game takes none now."""
    game, seat = access.game, access.seat.seat
    if game.status != GameStatus.RUNNING or game.quarantine:
        return None
    table = load(session, access.game.id, utc_now())
    position = positions.current(table)
    if not standing_orders.supported(position.rules):
        return None
    table.load_orders(seat, history.since_own_move(table, seat, 1).last)
    orders = play.outlooks(table, position, seat)
    context = _base_context(token, access, position)
    named = names.at_table(game, table.seats, seat)

    def preview(text: str) -> Draft | None:
        try:
            return Draft(play.preview_order(table, access.seat.seat, text))
        except (RulesError, Refused):
            return None

    return render_template("seat/plan.html", **context, names=named, orders=orders, preview=preview, **more)


@blueprint.post("/t/<token>/orders")
@limiter.limit("120/minute")
def order(token: str) -> ResponseReturnValue:
    """Preview, place, withdraw or confirm orders, or end the autopilot, depending on the button."""
    with reading() as session:
        access = seat_access(session, token)
    form, game_id, seat = flask.request.form, access.game.id, access.seat.seat
    back = "orders.show"
    try:
        match form.get("do"):
            case "preview":
                return _preview(token, access, _order_text())
            case "leave":
                text, link = form.get("order", ""), access.link.id
                if play.place_order(game_id, seat, text, now=utc_now(), link_id=link).moved:
                    back = "turn.show"
            case "withdraw" if (number := whole_number(form.get("id", ""), LAST)) is not None:
                play.withdraw_order(game_id, seat, number, now=utc_now(), link_id=access.link.id)
            case "confirm":
                play.confirm_orders(game_id, seat, now=utc_now(), link_id=access.link.id)
            case "reclaim":
                play.reclaim(game_id, seat, now=utc_now(), link_id=access.link.id)
                back = "turn.show"
            case _:
                return _malformed(token)
    except RulesError as error:
        return _refused(token, access, 422, refusal_text(error, access.game.slug))
    except Refused as error:
        return _refused(token, access, error.status, refusal_text(error))
    return flask.redirect(url_for(back, token=token), 303)


def _order_text() -> str:
    """Return the order in the form: the typed line, or its parts, `*` standing for the ticked cards.

    `part` comes first, then `part1`, `part2` …: in a sentence the fields stand as its language wants them.
    """
    form = flask.request.form
    if "part" not in form:
        return form.get("order", "")
    parts = [text for name in sorted(form) if name.startswith("part") for text in form.getlist(name)]
    cards = " ".join(value.partition("#")[0] for value in form.getlist("card"))
    return " ".join(cards if part == "*" else part for part in parts)


def _preview(token: str, access: SeatAccess, text: str) -> str:
    with reading() as session:
        table = load(session, access.game.id, utc_now())
        table.load_orders()
        previewed = play.preview_order(table, access.seat.seat, text[: play.LONGEST_TEXT + 1])
        context = _base_context(token, access, positions.current(table))
        return render_template("seat/order.html", **context, previewed=Draft(previewed))


def _refused(token: str, access: SeatAccess, status: int, sentence: str) -> ResponseReturnValue:
    with reading() as session:
        page = _sheet(session, token, access, wrong=sentence, written=_order_text()[:300])
    back = url_for("turn.show", token=token)
    return (
        (page, status) if page else error_page(status, _("This order cannot be saved"), sentence, back=back)
    )


def _base_context(token: str, access: SeatAccess, position: Position) -> dict[str, Any]:
    view = position.view(access.seat.seat)
    return {"token": token, "game": access.game, "seat": access.seat, "view": view}


def _malformed(token: str) -> ResponseReturnValue:
    sentence = _("Nothing has changed. Reload the page and try again.")
    return error_page(400, _("The form was incomplete"), sentence, back=url_for("turn.show", token=token))
