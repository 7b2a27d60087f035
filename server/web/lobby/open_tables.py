"""Open tables, searches kept by email, and seats that need another player."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from byzanz import games
from byzanz.rules import PUBLIC
from server import i18n, validation
from server.accounts import login
from server.community import reliability
from server.errors import InvalidInput, Refused, TooMany
from server.lobby import open_tables
from server.lobby.open_tables import Wanted
from server.mail import subscriptions
from server.play import names, positions
from server.play.game import load
from server.play.positions import Broken
from server.store import links
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, LinkPurpose, Person, SeatStatus
from server.store.statements import GameRow
from server.web.http import GAME_ID, costly, csrf, limiter, unknown_link

blueprint = Blueprint("open_tables", __name__)

# ---- open tables ----


@blueprint.get("/tables")
@costly
def show() -> ResponseReturnValue:
    """Show the open tables that match the filter in the address."""
    try:
        return _page(open_tables.wanted(flask.request.args), None)
    except InvalidInput as refusal:
        return _page(Wanted(), refusal), refusal.status


def _page(which: Wanted, refusal: Refused | None) -> str:
    page = validation.whole_number(flask.request.args.get("page", ""), open_tables.LAST_PAGE, 1) or 1
    with reading() as session:
        me = login.signed_in(session)
        reader = me.id if me else None
        found, more = open_tables.open_tables(session, which, reader, page)
        offered = open_tables.offered_seats(session, which, reader) if page == 1 else []
        people = {
            seat.person_id for table in found for seat in table.seats if seat.status == SeatStatus.SEATED
        }
        return render_template(
            "lobby/tables.html",
            me=me,
            tables=found,
            trust=reliability.shown(session, {each for each in people if each is not None}),
            offered=offered,
            views={each.game.id: public_view(session, each.game.id) for each in offered},
            wishes=open_tables.of_person(session, me.id) if me else (),
            most_wishes=open_tables.MOST,
            now=utc_now(),
            page=page,
            more=more and page < open_tables.LAST_PAGE,
            fields=flask.request.args,
            query=urlencode(_fields(which)),
            chosen=_fields(which),
            kept=_fields(Wanted(which.slug, which.size, which.pace)),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
            titles={rules.slug: rules.title for rules in games.latest()},
            sizes=_sizes(),
            paces=open_tables.PACES,
        )


def public_view(session: Session, game_id: str) -> Any:
    """Return the table of a running game as everybody sees it; None if its log does not replay."""
    table = load(session, game_id, utc_now())
    try:
        return positions.current(table).view(PUBLIC)
    except Broken:
        return None


def _fields(which: Wanted) -> dict[str, str | int]:
    """Return the fields of an address that lead to this filter."""
    every = {
        "game": which.slug,
        "size": which.size,
        "pace": which.pace,
        "language": which.language,
        "free": which.free,
    }
    return {name: value for name, value in every.items() if value is not None}


def _sizes() -> Sequence[int]:
    """Return how many seats tables of any game have."""
    return sorted({size for rules in games.latest() for size in rules.seats})


@blueprint.post("/tables/wishes")
@limiter.limit("30/minute")
def change_wishes() -> ResponseReturnValue:
    """Keep a search of the signed-in person, or delete one."""
    form = flask.request.form
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    number = validation.whole_number(form.get("wish", ""), 999_999_999)
    try:
        if form.get("do") == "add":
            open_tables.add(me.id, open_tables.wanted(form), utc_now())
        elif form.get("do") == "delete" and number is not None:
            open_tables.remove(me.id, number)
        else:
            flask.abort(400)
    except Refused as refusal:
        return _page(Wanted(), refusal), refusal.status
    return flask.redirect(url_for(".show", _anchor="wishes"), 303)


@blueprint.get("/w/<token>")
def stop_form(token: str) -> ResponseReturnValue:
    """Show a button that ends the emails about open tables."""
    return _stop_page(token)


@blueprint.post("/w/<token>")
@limiter.limit("30/minute")
def stop(token: str) -> ResponseReturnValue:
    """Delete all searches of a person, without a choice, as mail clients post it (RFC 8058).

    It answers with a page instead of a redirect, which mail clients would not follow.
    """
    with reading() as session:
        link = links.find(session, LinkPurpose.WISH, token, utc_now()) or unknown_link(token)
    subscriptions.stop(link, utc_now())
    return _stop_page(token)


def _stop_page(token: str) -> ResponseReturnValue:
    with reading() as session:
        link = links.find(session, LinkPurpose.WISH, token, utc_now()) or unknown_link(token)
        person = session.get_one(Person, link.person_id)
        return render_template("lobby/no_wishes.html", kept=open_tables.of_person(session, person.id))


csrf.exempt(stop)  # authorised by the token in the URL; it works without cookies


# ---- seats that need another player ----

PATH = "/take/<game_id>/<int(max=99):number>"


@blueprint.get(PATH)
@costly
def offered_seat(game_id: str, number: int) -> ResponseReturnValue:
    """Show an offered seat; viewing it changes nothing."""
    return _offer_page(game_id, number, None)


@blueprint.post(PATH)
@limiter.limit("30/minute")
def take(game_id: str, number: int) -> ResponseReturnValue:
    """Take the seat and go to it; for signed-in people only."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None or not GAME_ID.fullmatch(game_id):
        return _offer_page(game_id, number, None)
    try:
        return flask.redirect(
            open_tables.take(game_id, number, me.id, flask.request.form.get("name", ""), utc_now()), 303
        )
    except Refused as refusal:
        return _offer_page(game_id, number, refusal)


@blueprint.post(f"{PATH}/sign-in")
@limiter.limit("10/hour")
def ask_link(game_id: str, number: int) -> ResponseReturnValue:
    """Mail a sign-in link to the address in the form, known or not, for it leads back to the seat."""
    with reading() as session:
        _check_game(session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None)
        offered = open_tables.offered_seat(session, game_id, number, None) is not None
    address = flask.request.form.get("address", "")
    try:
        login.mail_sign_in(address, utc_now(), i18n.current_language(), newcomers=offered)
    except (InvalidInput, TooMany) as refusal:
        return _offer_page(game_id, number, refusal)
    flask.session[login.TABLE_KEY], flask.session[login.SEAT_KEY] = game_id, number
    return render_template("account/link_sent.html", newcomers=offered)


def _check_game(game: Game | None) -> Game:
    if game is None or game.status not in (GameStatus.RUNNING, GameStatus.OVER):
        flask.abort(404)
    return game


def _offer_page(game_id: str, number: int, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = _check_game(session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None)
        me = login.signed_in(session)
        found = open_tables.offered_seat(session, game.id, number, me.id if me else None)
        form = flask.request.form
        page = render_template(
            "lobby/take.html",
            game=game if found else None,
            game_id=game_id,
            number=number,
            offer=open_tables.described(session, [found])[0] if found else None,
            view=public_view(session, game.id) if found else None,
            names=names.at_table(GameRow.of(game), open_tables.seats_of(session, [game.id])[game.id], PUBLIC),
            title=games.title_of(game.slug),
            me=me,
            now=utc_now(),
            name=form.get("name", me.name if me else ""),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200
