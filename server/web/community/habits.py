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
from server.community import results as community_results
from server.community import statistics
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
