"""A person's copy of their data, and the deletion of their account, which needs a recent sign-in."""

from __future__ import annotations

from datetime import timedelta

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue

from server import i18n
from server.accounts import login, personal_data
from server.store.engine import reading, utc_now
from server.web.http import browser, limiter

blueprint = Blueprint("leaving", __name__)


@blueprint.get("/account/data.zip")
@limiter.limit("5/hour", key_func=browser)
def data() -> ResponseReturnValue:
    """Serve everything that is stored about the signed-in person, piece by piece; of many games that takes seconds."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    pieces = flask.stream_with_context(personal_data.archive(me.id))
    response = Response(pieces, content_type="application/zip")
    response.headers.set("Content-Disposition", "attachment", filename=personal_data.FILE_NAME)
    return response


@blueprint.get("/account/delete")
def ask() -> ResponseReturnValue:
    """Say what deleting the account means, with a button to do it or to sign in again."""
    return _page()


def _page(unsure: bool = False) -> ResponseReturnValue:
    with reading() as session:
        if login.signed_in(session) is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        page = render_template(
            "account/delete.html",
            recent=login.is_recent(utc_now()),
            unsure=unsure,
            minutes=login.RECENT // timedelta(minutes=1),
        )
    return page, 422 if unsure else 200


@blueprint.post("/account/delete")
@limiter.limit("10/minute")
def delete() -> ResponseReturnValue:
    """Delete the account of somebody who has just signed in, or mail them a link to sign in again."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    if form.get("do") == "mail":
        login.mail_sign_in_again(me.id, now, i18n.current_language())
        return render_template("account/link_sent.html")
    if form.get("do") != "delete" or not login.is_recent(now):
        flask.abort(400)
    if form.get("sure") != "yes":
        return _page(unsure=True)
    personal_data.erase(me.id, now)
    flask.session.clear()
    login.forget(me.id)
    return flask.redirect(url_for(".deleted"), 303)


@blueprint.get("/account/deleted")
def deleted() -> ResponseReturnValue:
    """Say that the account is deleted."""
    return render_template("account/deleted.html")
