"""A game's public page, and its history: every entry in words, and the table at any of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy.orm import Session

from byzanz.rules import ALL, PUBLIC, Viewer
from server.errors import Refused
from server.play import autopilot, positions, timeline, turns
from server.play.positions import Broken
from server.store import links, standing_orders
from server.store.engine import reading, utc_now
from server.store.models import Game
from server.web.game import charts, history, mail_log
from server.web.http import GAME_ID, error_page, refusal_text, unknown_link

blueprint = Blueprint("game", __name__)


@blueprint.get("/g/<game_id>")
def show(game_id: str) -> ResponseReturnValue:
    """Show a game's public page."""
    with reading() as session:
        found = _game(session, game_id)
        if found is None:
            return _no_game()
        context = {
            "game": found,
            "seats": positions.seats_of(session, game_id),
            "names": history.names_of(session, found),
            "zone": found.time_zone,
            "view": None,
            "due": {},
        }
        if found.status in ("running", "over"):
            context |= _running_context(session, found)
        return render_template("game/game.html", **context)


@blueprint.get("/g/<game_id>/history")
def public_history(game_id: str) -> ResponseReturnValue:
    """Show the history as the public may see it."""
    with reading() as session:
        found = _game(session, game_id)
        if found is None or found.status not in ("running", "over"):
            return _no_game()
        here = url_for(".public_history", game_id=game_id)
        return _history(session, found, PUBLIC, found.time_zone, here, url_for(".show", game_id=game_id))


@blueprint.get("/t/<token>/history")
def seat_history(token: str) -> ResponseReturnValue:
    """Show the history as this seat may see it."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
        if access.game.status not in ("running", "over"):
            return _no_game()
        person = access.seat.person
        zone = (person.time_zone if person else None) or access.game.time_zone
        here = url_for(".seat_history", token=token)
        back = url_for("turn.show", token=token)
        own = mail_log.of_seat(session, access.seat, zone)
        return _history(session, access.game, access.seat.seat, zone, here, back, own)


def _game(session: Session, game_id: str) -> Game | None:
    """Return the game, unless it is not confirmed yet."""
    found = session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None
    return found if found and found.status != "asked" else None


def _no_game() -> tuple[str, int]:
    return error_page(
        404,
        _("Game not found"),
        _("Use the link in your latest email, or start from the home page."),
    )


def _history(
    session: Session,
    game: Game,
    viewer: Viewer,
    zone: str,
    here: str,
    back: str,
    items: Sequence[mail_log.MailLogItem] = (),
) -> ResponseReturnValue:
    if game.quarantine:
        raise Broken(str(game.quarantine))
    try:
        context = history.page_context(session, game, viewer, zone, flask.request.args, here)
    except Refused as error:
        return error_page(400, _("Entry not found"), refusal_text(error), back=here)
    beside = mail_log.by_entry(context, items)
    return render_template("game/history.html", back=back, beside=beside, **context)


def _running_context(session: Session, game: Game) -> dict[str, object]:
    """Return the context for the table of a running game, or the result of a finished one."""
    if game.quarantine:
        raise Broken(str(game.quarantine))
    if game.status == "over":
        return _finished_context(session, game)
    position = positions.load(session, game)
    open_turns = [turn for turn in turns.open_turns(session, game.id) if turn.seat in position.awaited]
    return {
        "view": position.view(PUBLIC),
        "due": {turn.seat: turns.times(session, game, turn) for turn in open_turns},
        "now": utc_now(),
        "unattended": autopilot.is_unattended(session, game),
    }


def _finished_context(session: Session, game: Game) -> dict[str, object]:
    """Return the context of a finished game: its final table, result, charts and revealed orders."""
    moments = timeline.load(session, game, ALL)
    return {
        "view": moments.view(game.head),
        "result": json.loads(game.result or "null"),
        "charts": [charts.draw(chart, seqs) for chart, seqs in moments.charts()],
        "openings": history.jumps(moments.openings()),
        "revealed": standing_orders.of_game(session, game.id),
    }
