"""Undoing a mute on the account page; people mute others at what these said (server/web/seat/talk.py)."""

from __future__ import annotations

import flask
from flask import Blueprint, url_for
from flask.typing import ResponseReturnValue

from server.accounts import login
from server.community import talk
from server.store.engine import reading
from server.validation import whole_number
from server.web.http import limiter

blueprint = Blueprint("mutes", __name__)


@blueprint.post("/account/mutes")
@limiter.limit("30/minute")
def unmute() -> ResponseReturnValue:
    """Let the signed-in person read what another says again."""
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return flask.redirect(url_for("account.sign_in"), 303)
    other = whole_number(flask.request.form.get("other", ""), 999_999_999)
    if other is None:
        flask.abort(400)
    talk.unmute(me.id, other)
    return flask.redirect(url_for("account.account"), 303)
