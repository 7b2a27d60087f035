"""A person's own games in numbers, and their results and records as files; all of it for them alone."""

from __future__ import annotations

import io

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz import games
from server import validation
from server.accounts import login
from server.community import ended, exports, habits
from server.config.zones import zone_of
from server.store.engine import reading
from server.store.models import Person, Standing
from server.web.http import browser, limiter

blueprint = Blueprint("habits", __name__)


@blueprint.get("/account/habits")
@limiter.limit("30/minute")
def show() -> ResponseReturnValue:
    """Show where the signed-in person's time went, their record, and with whom they play."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        return render_template(
            "community/habits.html",
            me=me,
            habits=habits.habits(session, me.id, zone_of(me)),
            most=habits.MOST_GAMES,
            hours=[f"{hour:02}–{hour + habits.BLOCK:02}" for hour in range(0, 24, habits.BLOCK)],
            titles={rules.slug: rules.title for rules in games.latest()},
            archives=_archives(session, me),
            in_archive=exports.MOST_RECORDS,
        )


def _archives(session: Session, me: Person) -> int:
    """Return how many archives of records there are."""
    count = session.scalar(select(func.count()).where(Standing.person_id == me.id)) or 0
    return min(-(-count // exports.MOST_RECORDS), exports.MOST_GAMES // exports.MOST_RECORDS)


@blueprint.get("/account/results.<kind>")
@limiter.limit("10/minute")
def results(kind: str) -> ResponseReturnValue:
    """Serve the signed-in person's finished games as CSV or JSON."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        found = ended.of_person(session, me.id, exports.MOST_GAMES)
    match kind:
        case "csv":
            response = Response(exports.own_table(found, me.id), content_type="text/csv; charset=utf-8")
        case "json":
            response = Response(exports.own_list(found, me.id), content_type="application/json")
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
        before = (part - 1) * exports.MOST_RECORDS
        found = ended.of_person(session, me.id, exports.MOST_RECORDS, after=before)
        file = io.BytesIO()
        exports.records(session, found, file)
    response = Response(file.getvalue(), content_type="application/zip")
    name = "byzanz-records.zip" if part == 1 else f"byzanz-records-{part}.zip"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response
