"""How the signed-in person answers: what others see of it, and the breakdown for themselves with every miss."""

from __future__ import annotations

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from server.accounts import login
from server.community import reliability
from server.store.engine import reading

blueprint = Blueprint("answers", __name__)


@blueprint.get("/account/answers")
def show() -> ResponseReturnValue:
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
