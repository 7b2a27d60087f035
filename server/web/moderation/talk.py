"""What moderators do about table talk; they read it on the page of a look (`game.show_look`), which the log records."""

from __future__ import annotations

import logging

import flask
from flask import g, url_for
from flask.typing import ResponseReturnValue

from server.community import reports
from server.errors import Refused
from server.store.engine import reading, utc_now
from server.validation import whole_number
from server.web.moderation.game import blueprint, game_page, is_warned, known_game

__all__ = ["act_on_talk", "blueprint"]
LOGGER = logging.getLogger(__name__)
LAST = 999_999_999
"""The highest number of a word, and of an entry."""


@blueprint.post("/<game_id>/talk")
def act_on_talk(game_id: str) -> ResponseReturnValue:
    """Hide something that was said, close or open the talk of a table, or take talk from a player, with a reason."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        known_game(session, game_id)
    do, reason = form.get("do", ""), form.get("reason", "")
    try:
        match do:
            case "hide" if (number := whole_number(form.get("number", ""), LAST, 1)) is not None:
                reports.hide(game_id, number, reason, g.me.id, now, warned=is_warned())
            case "close" | "open":
                reports.set_talk(game_id, do == "open", reason, g.me.id, now, warned=is_warned())
            case "silence":
                seat, days = form.get("seat", ""), form.get("days", "")
                reports.silence(game_id, seat, days, reason, g.me.id, now, warned=is_warned())
            case _:
                flask.abort(400)
    except Refused as refusal:
        return game_page(game_id, form, refusal)
    LOGGER.info("moderator %s: table talk of game %s: %s", g.me.id, game_id, do)
    look = whole_number(form.get("look", ""), LAST, 1)
    page = (
        url_for(".show_look", game_id=game_id, seq=look, _anchor="heard")
        if look
        else url_for(".game", game_id=game_id, _anchor="talk")
    )
    return flask.redirect(page, 303)
