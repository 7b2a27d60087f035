"""The page of open tables: a filter, seats of running games that need a player, and what a person wants to hear of."""

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
from server import validation
from server.accounts import login
from server.community import reliability
from server.errors import InvalidInput, Refused
from server.lobby import open_tables
from server.lobby.open_tables import Wanted
from server.mail import subscriptions
from server.play import positions
from server.play.positions import Broken
from server.store import links
from server.store.engine import reading, utc_now
from server.store.models import Game, LinkPurpose, Person, SeatStatus
from server.web.http import costly, csrf, limiter, unknown_link

blueprint = Blueprint("tables", __name__)


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
            views={each.game.id: public_view(session, each.game) for each in offered},
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


def public_view(session: Session, game: Game) -> Any:
    """Return the table of a running game as everybody sees it; None if its log does not replay."""
    try:
        return positions.load(session, game).view(PUBLIC)
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
