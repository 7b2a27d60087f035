"""Offering another seat of the same table to other players, from the seat's page."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from server.config.zones import zone_of
from server.errors import Refused
from server.lobby import vacancies
from server.play import positions
from server.store.engine import reading, utc_now
from server.store.models import Game
from server.validation import whole_number
from server.web.http import csrf, seat_access

blueprint = Blueprint("seat_offers", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies


@blueprint.get("/t/<token>/offer")
def ask(token: str) -> ResponseReturnValue:
    """Show the seats at this table whose players are away, and from when they may be offered."""
    return _page(token, None)


@blueprint.post("/t/<token>/offer")
def offer(token: str) -> ResponseReturnValue:
    """Offer one of these seats."""
    with reading() as session:
        seat_access(session, token)
    number = whole_number(flask.request.form.get("seat", ""), 99)
    if number is None:
        flask.abort(400)
    try:
        vacancies.offer_as_player(token, number, utc_now())
    except Refused as refusal:
        return _page(token, refusal)
    return flask.redirect(url_for(".ask", token=token), 303)


def _page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        access = seat_access(session, token)
        positions.check_running(access.game)
        game = session.get_one(Game, access.game.id)
        person = access.seat.person
        page = render_template(
            "seat/offer.html",
            token=token,
            game=game,
            vacancies=[
                each
                for each in vacancies.vacancies(session, game, by_player=True)
                if each.seat.seat != access.seat.seat
            ],
            zone=zone_of(person, game),
            now=utc_now(),
            refusal=refusal,
        )
    return page, refusal.status if refusal else 200
