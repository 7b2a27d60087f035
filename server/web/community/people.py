"""Profiles, and the buttons that block somebody."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.orm import Session

from server import validation
from server.accounts import login
from server.community import blocks, profiles, reliability
from server.config.zones import zone_of
from server.store.engine import reading, utc_now
from server.store.models import Game, Person, Seat
from server.web.http import GAME_ID, costly, limiter

blueprint = Blueprint("people", __name__)


@blueprint.get("/p/<handle>")
@costly
def profile(handle: str) -> ResponseReturnValue:
    """Show a profile; an unknown, a hidden and a blocking one are the same page that says that there is none."""
    with reading() as session:
        me = login.signed_in(session)
        person = _visible(session, handle, me)
        other = me if me is not None and me.id != person.id else None
        return render_template(
            "community/profile.html",
            me=me,
            person=person,
            own=me is not None and me.id == person.id,
            profile=profiles.profile(session, person),
            shown=reliability.shown(session, [person.id])[person.id],
            company=profiles.company(session, other.id, person.id) if other else None,
            is_blocked=other is not None and person.id in blocks.blocked_by(session, other.id),
            zone=zone_of(me),
            now=utc_now(),
        )


def _visible(session: Session, handle: str, me: Person | None) -> Person:
    person = profiles.visible(session, handle, me.id if me else None)
    if person is None:
        flask.abort(404)
    return person


@blueprint.post("/p/<handle>/block")
@limiter.limit("30/minute")
def block(handle: str) -> ResponseReturnValue:
    """Block the owner of a profile, or take the block back."""
    with reading() as session:
        me = login.signed_in(session)
        person = _visible(session, handle, me)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    _press(me.id, person.id)
    return flask.redirect(url_for(".profile", handle=person.handle), 303)


@blueprint.post("/g/<game_id>/block")
@limiter.limit("30/minute")
def block_player(game_id: str) -> ResponseReturnValue:
    """Block another player of a finished game in which the signed-in person played, or take the block back."""
    with reading() as session:
        me = login.signed_in(session)
        other_id = _opponent(session, game_id, me) if me else None
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    if other_id is None:
        flask.abort(404)
    _press(me.id, other_id)
    return flask.redirect(url_for("game.show", game_id=game_id) + "#people", 303)


def _opponent(session: Session, game_id: str, me: Person) -> int | None:
    """Return the person in the seat that the form names, if both played in this game and it is over."""
    seat = validation.whole_number(flask.request.form.get("seat", ""), 99)
    if seat is None or not GAME_ID.fullmatch(game_id):
        return None
    over = select(Seat.game_id).join(Game, Game.id == Seat.game_id).where(Game.status == "over")
    mine = over.where(Seat.game_id == game_id, Seat.person_id == me.id)
    theirs = select(Seat.person_id).where(Seat.game_id.in_(mine), Seat.seat == seat, Seat.person_id != me.id)
    return session.scalar(theirs)


def _press(person_id: int, other_id: int) -> None:
    match flask.request.form.get("do"):
        case "block":
            blocks.block(person_id, other_id, utc_now())
        case "unblock":
            blocks.unblock(person_id, other_id)
        case _:
            flask.abort(400)
