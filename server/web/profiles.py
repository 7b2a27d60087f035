"""Pages about people: profiles, the ranking of a group, one's own games in numbers, and how one answers."""

from __future__ import annotations

import io
import json

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz import games
from server import validation
from server.accounts import login
from server.community import blocks, profiles, reliability, statistics
from server.community import results as community_results
from server.community.statistics import Group
from server.i18n import zone_of
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, Person, Seat, Standing
from server.web.http import GAME_ID, browser, costly, error_page, limiter, seat_access

blueprint = Blueprint("profiles", __name__)


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
    over = select(Seat.game_id).join(Game, Game.id == Seat.game_id).where(Game.status == GameStatus.OVER)
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


# ---- groups ----

MOST_LISTED = 50
"""The latest games that the page lists; the downloads have all."""


@blueprint.get("/g/<game_id>/group")
def group_of_game(game_id: str) -> ResponseReturnValue:
    """Show the group of a finished game to a signed-in player."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        found = _of_player(session, game_id, me.id)
        game = session.get_one(Game, game_id)
        here = {"csv": url_for(".game_file", game_id=game_id, kind="csv")}
        here["json"] = url_for(".game_file", game_id=game_id, kind="json")
        return _group_page(game, found, zone_of(me, game), url_for("game.show", game_id=game_id), here)


@blueprint.get("/g/<game_id>/group.<kind>")
@limiter.limit("30/minute")
def game_file(game_id: str, kind: str) -> ResponseReturnValue:
    """Serve the same as a file."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        return _group_file(_of_player(session, game_id, me.id), kind)


@blueprint.get("/t/<token>/group")
def group_of_seat(token: str) -> ResponseReturnValue:
    """Show the group of a finished game to a player, by the link of their seat."""
    with reading() as session:
        access = seat_access(session, token)
        found = _group(session, access.game.id)
        game = session.get_one(Game, access.game.id)
        person = access.seat.person
        here = {kind: url_for(".seat_file", token=token, kind=kind) for kind in ("csv", "json")}
        zone = zone_of(person, game)
        return _group_page(game, found, zone, url_for("turn.show", token=token), here)


@blueprint.get("/t/<token>/group.<kind>")
@limiter.limit("30/minute")
def seat_file(token: str, kind: str) -> ResponseReturnValue:
    """Serve the same as a file."""
    with reading() as session:
        return _group_file(_group(session, seat_access(session, token).game.id), kind)


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
    if game.status not in (GameStatus.OVER, GameStatus.CANCELLED):
        return _("No results yet"), _("This game is not over.")
    result = json.loads(game.result) if game.result else {}
    if game.trial or not result.get("winners"):
        return _("No results"), _(
            "Only games that were played to their end count, and not those of visitors."
        )
    sentence = _("Results are counted within minutes of a game’s end. Reload this page then.")
    return _("No results yet"), sentence


def _group_page(game: Game, found: Group, zone: str, back: str, files: dict[str, str]) -> str:
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


def _group_file(found: Group, kind: str) -> Response:
    match kind:
        case "csv":
            response = Response(statistics.group_table(found), content_type="text/csv; charset=utf-8")
        case "json":
            response = Response(statistics.group_list(found), content_type="application/json")
        case _:
            flask.abort(404)
    response.headers.set("Content-Disposition", "attachment", filename=f"byzanz-group.{kind}")
    return response


# ---- one's own games in numbers ----


@blueprint.get("/account/habits")
@limiter.limit("30/minute")
def habits() -> ResponseReturnValue:
    """Show where the signed-in person's time went, their record, and with whom they play."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        return render_template(
            "community/habits.html",
            me=me,
            habits=statistics.habits(session, me.id, zone_of(me)),
            most=statistics.MOST_GAMES_OF_HABITS,
            hours=[f"{hour:02}–{hour + statistics.BLOCK:02}" for hour in range(0, 24, statistics.BLOCK)],
            titles={rules.slug: rules.title for rules in games.latest()},
            archives=_archives(session, me),
            in_archive=statistics.MOST_RECORDS,
        )


def _archives(session: Session, me: Person) -> int:
    """Return how many archives of records there are."""
    count = session.scalar(select(func.count()).where(Standing.person_id == me.id)) or 0
    return min(
        -(-count // statistics.MOST_RECORDS), statistics.MOST_GAMES_IN_A_FILE // statistics.MOST_RECORDS
    )


@blueprint.get("/account/results.<kind>")
@limiter.limit("10/minute")
def results(kind: str) -> ResponseReturnValue:
    """Serve the signed-in person's finished games as CSV or JSON."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        found = community_results.of_person(session, me.id, statistics.MOST_GAMES_IN_A_FILE)
    match kind:
        case "csv":
            response = Response(statistics.own_table(found, me.id), content_type="text/csv; charset=utf-8")
        case "json":
            response = Response(statistics.own_list(found, me.id), content_type="application/json")
        case _:
            flask.abort(404)
    response.headers.set("Content-Disposition", "attachment", filename=f"byzanz-results.{kind}")
    return response


@blueprint.get("/account/records.zip")
@limiter.limit("30/hour", key_func=browser)
def records() -> ResponseReturnValue:
    """Serve the records of the signed-in person's finished games, the latest in part 1."""
    part = validation.whole_number(flask.request.args.get("part", "1"), 999, 1)
    if part is None:
        flask.abort(404)
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        before = (part - 1) * statistics.MOST_RECORDS
        found = community_results.of_person(session, me.id, statistics.MOST_RECORDS, after=before)
        file = io.BytesIO()
        statistics.records(session, found, file)
    response = Response(file.getvalue(), content_type="application/zip")
    name = "byzanz-records.zip" if part == 1 else f"byzanz-records-{part}.zip"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


# ---- how one answers ----


@blueprint.get("/account/answers")
def answers() -> ResponseReturnValue:
    """Show a person how they answer."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        return render_template(
            "account/answers.html",
            me=me,
            shown=reliability.shown(session, [me.id])[me.id],
            own=reliability.of_all_games(session, me.id),
            misses=reliability.misses(session, me.id),
        )
