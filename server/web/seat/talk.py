"""Saying something to the table from a seat's page, what can be done about what others said, and notes to oneself."""

from __future__ import annotations

import flask
from flask import Blueprint, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from server.community import reports, talk
from server.errors import Refused
from server.store.engine import reading, utc_now
from server.store.links import SeatAccess
from server.web import submissions
from server.web.http import csrf, error_page, limiter, refusal_text, seat_access
from server.web.seat import turn
from server.web.seat.said import done_with

blueprint = Blueprint("talk", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies


@blueprint.post("/t/<token>/say")
@limiter.limit("60/minute")
def say(token: str) -> ResponseReturnValue:
    """Say something to the table and return to it; a refused text stays in its field."""
    form, access = flask.request.form, _access(token)
    try:
        word = talk.say(
            access.game.id,
            access.link.person_id,
            form.get("text", ""),
            request_id=form.get("request_id", ""),
            now=utc_now(),
            link_id=access.link.id,
        )
    except Refused as refusal:
        return turn.with_unsaid(token, refusal)
    return _back(token, done_with(word))


@blueprint.post("/t/<token>/words")
@limiter.limit("60/minute")
def act(token: str) -> ResponseReturnValue:
    """Delete one's own words, mute the person who said others, or report them."""
    form, access = flask.request.form, _access(token)
    game_id, me = access.game.id, access.link.person_id
    chosen = next((name for name in ("delete", "mute", "report") if name in form), "")
    word_id = form.get(chosen, "")
    if not word_id:
        return error_page(400, _("The form was incomplete"), _("Nothing has changed."), back=_table(token))
    try:
        if chosen == "delete":
            talk.take_back(game_id, me, word_id)
            return _back(token, "deleted")
        if chosen == "mute":
            return _back(token, "muted" if talk.mute(me, game_id, word_id) else None)
        reports.report(game_id, me, word_id, utc_now())
    except Refused as refusal:
        return _refused(token, refusal)
    return _back(token, "reported")


@blueprint.post("/t/<token>/notes")
@limiter.limit("60/minute")
def note(token: str) -> ResponseReturnValue:
    """Save the player's notes to themselves; a refused text stays in its field."""
    access = _access(token)
    try:
        with reading() as session:
            stored = {"notes": talk.read_notes(session, access.game.id, access.link.person_id)}
        new = submissions.settled({"notes": flask.request.form.get("notes", "")}, stored)
        talk.write_notes(access.game.id, access.link.person_id, new["notes"], utc_now())
    except Refused as refusal:
        return turn.with_unsaid(token, refusal)
    return _back(token, "noted", "notes")


def _access(token: str) -> SeatAccess:
    with reading() as session:
        return seat_access(session, token)


def _refused(token: str, refusal: Refused) -> ResponseReturnValue:
    return error_page(refusal.status, _("This is not possible"), refusal_text(refusal), back=_table(token))


def _back(token: str, done: str | None, part: str = "talk") -> ResponseReturnValue:
    return flask.redirect(url_for("turn.show", token=token, done=done, _anchor=part), 303)


def _table(token: str) -> str:
    return url_for("turn.show", token=token)
