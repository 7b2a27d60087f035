"""The results of the people of a finished game among themselves, for these people alone."""

from __future__ import annotations

import json

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts import login
from server.community import statistics
from server.community.statistics import Group
from server.config.zones import zone_of
from server.store.engine import reading
from server.store.models import Game, Seat
from server.web.http import GAME_ID, error_page, limiter, seat_access

blueprint = Blueprint("groups", __name__)
MOST_LISTED = 50
"""The latest games that the page lists; the downloads have all."""


@blueprint.get("/g/<game_id>/group")
def of_game(game_id: str) -> ResponseReturnValue:
    """Show the group of a finished game to a signed-in player."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        found = _of_player(session, game_id, me.id)
        game = session.get_one(Game, game_id)
        here = {"csv": url_for(".game_file", game_id=game_id, kind="csv")}
        here["json"] = url_for(".game_file", game_id=game_id, kind="json")
        return _page(game, found, zone_of(me, game), url_for("game.show", game_id=game_id), here)


@blueprint.get("/g/<game_id>/group.<kind>")
@limiter.limit("30/minute")
def game_file(game_id: str, kind: str) -> ResponseReturnValue:
    """Serve the same as a file."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        return _file(_of_player(session, game_id, me.id), kind)


@blueprint.get("/t/<token>/group")
def of_seat(token: str) -> ResponseReturnValue:
    """Show the group of a finished game to a player, by the link of their seat."""
    with reading() as session:
        access = seat_access(session, token)
        found = _group(session, access.game.id)
        game = session.get_one(Game, access.game.id)
        person = access.seat.person
        here = {kind: url_for(".seat_file", token=token, kind=kind) for kind in ("csv", "json")}
        zone = zone_of(person, game)
        return _page(game, found, zone, url_for("turn.show", token=token), here)


@blueprint.get("/t/<token>/group.<kind>")
@limiter.limit("30/minute")
def seat_file(token: str, kind: str) -> ResponseReturnValue:
    """Serve the same as a file."""
    with reading() as session:
        return _file(_group(session, seat_access(session, token).game.id), kind)


def _of_player(session: Session, game_id: str, person_id: int) -> Group:
    own = select(Seat.game_id).where(Seat.game_id == game_id, Seat.person_id == person_id)
    if not GAME_ID.fullmatch(game_id) or session.scalar(own) is None:
        flask.abort(404)
    return _group(session, game_id)


def _group(session: Session, game_id: str) -> Group:
    found = statistics.group(session, game_id)
    if found is None:
        title, sentence = _why_none(session.get_one(Game, game_id))
        flask.abort(flask.make_response(error_page(404, title, sentence)))
    return found


def _why_none(game: Game) -> tuple[str, str]:
    if game.status not in ("over", "cancelled"):
        return _("No results yet"), _("This game is not over.")
    result = json.loads(game.result) if game.result else {}
    if game.trial or not result.get("winners"):
        return _("No results"), _(
            "Only games that were played to their end count, and not those of visitors."
        )
    sentence = _("Results are counted within minutes of a game’s end. Reload this page then.")
    return _("No results yet"), sentence


def _page(game: Game, found: Group, zone: str, back: str, files: dict[str, str]) -> str:
    return render_template(
        "community/group.html",
        game=game,
        group=found,
        shown=found.games[:MOST_LISTED],
        zone=zone,
        back=back,
        files=files,
        bg_stats=next((statistics.bg_stats(each) for each in found.games if each.id == game.id), None),
    )


def _file(found: Group, kind: str) -> Response:
    match kind:
        case "csv":
            response = Response(statistics.group_table(found), content_type="text/csv; charset=utf-8")
        case "json":
            response = Response(statistics.group_list(found), content_type="application/json")
        case _:
            flask.abort(404)
    response.headers.set("Content-Disposition", "attachment", filename=f"byzanz-group.{kind}")
    return response
