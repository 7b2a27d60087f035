"""A seat beyond its moves: leaving it, offering it to others, and the next game of the same people."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from server import play
from server.errors import NotEverybody, Refused
from server.i18n import zone_of
from server.lobby import open_tables, rematch
from server.play import positions
from server.play.game import load
from server.store import links
from server.store.engine import reading, utc_now
from server.validation import whole_number
from server.web.http import csrf, error_page, limiter, seat_access
from server.web.lobby import new_game

blueprint = Blueprint("leave", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies


@blueprint.get("/t/<token>/leave")
def ask(token: str) -> ResponseReturnValue:
    """Explain what leaving means, with a button to do it."""
    with reading() as session:
        access = seat_access(session, token)
        positions.check_running(access.game)
        positions.current(load(session, access.game.id, utc_now()))
        if access.seat.left:
            return flask.redirect(url_for("turn.show", token=token), 303)
        return render_template("seat/leave.html", token=token, game=access.game, seat=access.seat)


@blueprint.post("/t/<token>/leave")
def leave(token: str) -> ResponseReturnValue:
    """Leave the game and return to the table, which can still be watched."""
    with reading() as session:
        access = seat_access(session, token)
    if flask.request.form.get("do") != "leave":
        back = url_for("turn.show", token=token)
        return error_page(400, _("The form was incomplete"), _("Nothing has changed."), back=back)
    play.leave(access.game.id, access.seat.seat, now=utc_now(), link_id=access.link.id)
    return flask.redirect(url_for("turn.show", token=token), 303)


# ---- offering the seat ----


@blueprint.get("/t/<token>/offer")
def ask_offer(token: str) -> ResponseReturnValue:
    """Show the seats at this table whose players are away, and from when they may be offered."""
    return _offer_page(token, None)


@blueprint.post("/t/<token>/offer")
def offer(token: str) -> ResponseReturnValue:
    """Offer one of these seats."""
    with reading() as session:
        seat_access(session, token)
    number = whole_number(flask.request.form.get("seat", ""), 99)
    if number is None:
        flask.abort(400)
    try:
        open_tables.offer_as_player(token, number, utc_now())
    except Refused as refusal:
        return _offer_page(token, refusal)
    return flask.redirect(url_for(".ask", token=token), 303)


def _offer_page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        access = seat_access(session, token)
        positions.check_running(access.game)
        table = load(session, access.game.id, utc_now())
        person = access.seat.person
        page = render_template(
            "seat/offer.html",
            token=token,
            game=table.game,
            vacancies=[
                each
                for each in open_tables.vacancies(table, by_player=True)
                if each.seat.seat != access.seat.seat
            ],
            zone=zone_of(person, table.game),
            now=utc_now(),
            refusal=refusal,
        )
    return page, refusal.status if refusal else 200


# ---- the next game ----


@blueprint.post("/t/<token>/again")
@limiter.limit("30/minute")
def play_again(token: str) -> ResponseReturnValue:
    """Make the next game, or find the one there is, and go to one's place in it."""
    with reading() as session:
        access = seat_access(session, token)
    try:
        found = rematch.again(access.game.id, access.link.person_id, utc_now())
    except NotEverybody:
        return flask.redirect(url_for(".next_game_form", token=token), 303)
    place = links.url(found.link) if found.link else url_for("game.show", game_id=found.game_id)
    return flask.redirect(place, 303)


@blueprint.get("/t/<token>/again")
def next_game_form(token: str) -> ResponseReturnValue:
    """Show the form for a new game with those who can be invited again, if somebody is missing."""
    with reading() as session:
        access = seat_access(session, token)
        group = new_game.group_of(session, access)
        if group.complete or rematch.next_game(session, access.game.id) is not None:
            return flask.redirect(url_for("turn.show", token=token), 303)
    return new_game.new_form(group.fields, None, group)
