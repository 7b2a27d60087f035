"""A person's copy of their data, and the deletion of their account, which needs a recent sign-in."""

from __future__ import annotations

from datetime import timedelta

import flask
from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue

from server import i18n
from server.accounts import erasure, export, known_browsers, login
from server.store.engine import reading, utc_now
from server.web.http import limiter

blueprint = Blueprint("leaving", __name__)
RECENT = timedelta(minutes=15)
"""How long ago somebody may have signed in who deletes their account."""


@blueprint.get("/account/data.zip")
@limiter.limit("10/minute")
def data() -> ResponseReturnValue:
    """Serve everything that is stored about the signed-in person."""
    with reading() as session:
        me = login.signed_in(session)
        if me is None:
            return flask.redirect(url_for("account.sign_in"), 303)
        response = Response(export.archive(session, me.id), content_type="application/zip")
    response.headers.set("Content-Disposition", "attachment", filename=export.FILE_NAME)
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
            "account/delete.html", recent=_is_recent(), unsure=unsure, minutes=RECENT // timedelta(minutes=1)
        )
    return page, 422 if unsure else 200


def _is_recent() -> bool:
    """Whether this browser signed in a short time ago; call it after `signed_in`."""
    current = login.current_session()
    return current is not None and utc_now() - current.created_at < RECENT


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
    if form.get("do") != "delete" or not _is_recent():
        flask.abort(400)
    if form.get("sure") != "yes":
        return _page(unsure=True)
    erasure.erase(me.id, now)
    flask.session.clear()
    known_browsers.forget(me.id)
    return flask.redirect(url_for(".deleted"), 303)


@blueprint.get("/account/deleted")
def deleted() -> ResponseReturnValue:
    """Say that the account is deleted."""
    return render_template("account/deleted.html")
