"""The page of a seat that needs a player: its table as everybody sees it, and a button to take it."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from byzanz import games
from server import i18n
from server.accounts import login
from server.errors import InvalidInput, Refused, TooMany
from server.lobby import open_tables, vacancies
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus
from server.web.http import GAME_ID, costly, limiter
from server.web.lobby.tables import public_view

blueprint = Blueprint("offers", __name__)
PATH = "/take/<game_id>/<int(max=99):number>"


@blueprint.get(PATH)
@costly
def show(game_id: str, number: int) -> ResponseReturnValue:
    """Show an offered seat; viewing it changes nothing."""
    return _page(game_id, number, None)


@blueprint.post(PATH)
@limiter.limit("30/minute")
def take(game_id: str, number: int) -> ResponseReturnValue:
    """Take the seat and go to it; for signed-in people only."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None or not GAME_ID.fullmatch(game_id):
        return _page(game_id, number, None)
    try:
        return flask.redirect(
            vacancies.take(game_id, number, me.id, flask.request.form.get("name", ""), utc_now()), 303
        )
    except Refused as refusal:
        return _page(game_id, number, refusal)


@blueprint.post(f"{PATH}/sign-in")
@limiter.limit("10/hour")
def ask_link(game_id: str, number: int) -> ResponseReturnValue:
    """Mail a sign-in link to the address in the form, known or not, for it leads back to the seat."""
    with reading() as session:
        _check_game(session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None)
        offered = vacancies.offered_seat(session, game_id, number, None) is not None
    address = flask.request.form.get("address", "")
    try:
        login.mail_sign_in(address, utc_now(), i18n.current_language(), newcomers=offered)
    except (InvalidInput, TooMany) as refusal:
        return _page(game_id, number, refusal)
    flask.session[login.TABLE_KEY], flask.session[login.SEAT_KEY] = game_id, number
    return render_template("account/link_sent.html", newcomers=offered)


def _check_game(game: Game | None) -> Game:
    if game is None or game.status not in (GameStatus.RUNNING, GameStatus.OVER):
        flask.abort(404)
    return game


def _page(game_id: str, number: int, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = _check_game(session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None)
        me = login.signed_in(session)
        found = vacancies.offered_seat(session, game.id, number, me.id if me else None)
        form = flask.request.form
        page = render_template(
            "lobby/take.html",
            game=game if found else None,
            game_id=game_id,
            number=number,
            offer=open_tables.described(session, [found])[0] if found else None,
            view=public_view(session, game) if found else None,
            names=tuple(seat.name for seat in open_tables.seats_of(session, [game.id])[game.id]),
            title=games.title_of(game.slug),
            me=me,
            now=utc_now(),
            name=form.get("name", me.name if me else ""),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200
