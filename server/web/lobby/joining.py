"""The page of a listed game that has free seats, on which signed-in people join it."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from byzanz import games
from server import i18n, validation
from server.accounts import login
from server.community import blocks
from server.errors import InvalidInput, Refused, TooMany
from server.lobby import create, invitations, settings
from server.play import history, lengths, positions
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, SeatStatus
from server.web.http import GAME_ID, limiter
from server.web.lobby import invitations as invitation_pages

blueprint = Blueprint("joining", __name__)


@blueprint.get("/join/<game_id>")
def free_seat(game_id: str) -> ResponseReturnValue:
    """Show a listed game with a free seat: its players, and the form for a signed-in person."""
    return _join_page(game_id, None)


@blueprint.post("/join/<game_id>")
@limiter.limit("30/minute")
def join(game_id: str) -> ResponseReturnValue:
    """Take a free seat; for signed-in people only."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return _join_page(game_id, None)
    try:
        hours = settings.parse_own_hours(form)
        invitations.take_free_seat(game_id, me.id, form.get("name", ""), form.get("cut", ""), now, hours)
    except Refused as refusal:
        if not _holds_seat(game_id, me.id):  # a second press of the button that took it
            return _join_page(game_id, refusal)
    with reading() as session:
        seat = invitation_pages.seat_url(session, me.id, game_id)
    return flask.redirect(seat or url_for(".free_seat", game_id=game_id), 303)


def _holds_seat(game_id: str, person_id: int) -> bool:
    with reading() as session:
        seat = invitations.seat_for(session, _listed_game(session, game_id), person_id)
        return seat is not None and seat.status == SeatStatus.SEATED


@blueprint.post("/join/<game_id>/sign-in")
@limiter.limit("10/hour")
def ask_link(game_id: str) -> ResponseReturnValue:
    """Mail a sign-in link to the address in the form, known or not, for it leads back to the table with a free seat."""
    address = flask.request.form.get("address", "")
    with reading() as session:
        open_game = _listed_game(session, game_id).status == GameStatus.INVITING
    try:
        login.mail_sign_in(address, utc_now(), i18n.current_language(), newcomers=open_game)
    except (InvalidInput, TooMany) as refusal:
        return _join_page(game_id, refusal)
    flask.session[login.TABLE_KEY] = game_id
    flask.session.pop(login.SEAT_KEY, None)
    return render_template("account/link_sent.html", newcomers=open_game)


def _listed_game(session: Session, game_id: str) -> Game:
    game = session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None
    if game is None or not game.listed or game.status == GameStatus.ASKED:
        flask.abort(404)
    return game


def _join_page(game_id: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = _listed_game(session, game_id)
        seats = positions.seats_of(session, game.id)
        me = login.signed_in(session)
        if me is not None and blocks.at_table(session, game, me.id):  # as if all seats were taken
            seats = [seat for seat in seats if seat.status != SeatStatus.FREE]
        form = flask.request.form
        page = render_template(
            "lobby/join.html",
            game=game,
            seats=seats,
            fixed=history.fixed_cuts(seats),
            shown=invitation_pages.shown_of(session, seats),
            me=me,
            is_seated=me is not None and any(seat.person_id == me.id for seat in seats),
            free=sum(seat.status == SeatStatus.FREE for seat in seats)
            if game.status == GameStatus.INVITING
            else 0,
            length=lengths.estimate(session, game, seats),
            title=games.title_of(game.slug),
            name=form.get("name", me.name if me else ""),
            has_hours=me is not None and settings.has_hours(me),
            hours=form,
            zones=validation.time_zones(),
            cut=form.get("cut", create.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200
