"""Playing at once: a game against bots without an address, its guide, and keeping it with one."""

from __future__ import annotations

import re

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from server import errors, i18n
from server.accounts import login
from server.errors import InvalidInput, Refused, TooMany
from server.lobby import visitors
from server.store.engine import reading, utc_now
from server.web import locale
from server.web.http import csrf, limiter, seat_access, unknown_link

blueprint = Blueprint("visitors", __name__)
csrf.exempt(blueprint)  # a visitor has no cookie yet; the rest is authorised by the token in the URL

GUIDE_COOKIE = "guide"
"""The cookie that stores which explanations a browser has dismissed; it identifies nobody."""
EXPLAINED = re.compile(r"[a-z]{1,20}-[a-z-]{1,20}")
MOST_DISMISSED = 40


@blueprint.post("/play")
@limiter.limit("120/minute")
def start() -> ResponseReturnValue:
    """Start a game against bots and open its table; a signed-in person sits there with their own name."""
    slug = flask.request.form.get("game", "")
    with reading() as session:
        me = login.signed_in(session)
    token = visitors.start(slug, _("Guest"), utc_now(), i18n.current_language(), me.id if me else None)
    return flask.redirect(url_for("turn.show", token=token), 303)


@blueprint.post("/t/<token>/keep")
@limiter.limit("10/hour")
def ask_to_keep(token: str) -> ResponseReturnValue:
    """Email the address in the form the button that keeps this game; the response is the same for every address.

    A player with an address needs no email: they keep the game with this press.
    """
    with reading() as session:
        access = seat_access(session, token)
    player = access.seat.person
    if access.game.trial and player is not None and player.email is not None:
        visitors.keep_own(access.game.id, utc_now())
        return flask.redirect(url_for("turn.show", token=token), 303)
    address = flask.request.form.get("address", "")
    refusal: Refused | None = None
    try:
        visitors.mail_keep_link(access.game.id, address, utc_now(), i18n.current_language())
    except (InvalidInput, TooMany) as wrong:
        refusal = wrong
    page = render_template(
        "lobby/keep_sent.html", token=token, game=access.game, address=address, refusal=refusal
    )
    return page, refusal.status if refusal else 200


@blueprint.get("/k/<token>")
def keep_form(token: str) -> ResponseReturnValue:
    """Show the button that keeps a game; viewing it changes nothing."""
    return _keep_page(token, None)


def _keep_page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game, person = visitors.offer(session, token, utc_now()) or unknown_link(token)
        url = visitors.seat_url(session, game, person)
        name = flask.request.form.get("name", person.name)
        wrong = refusal.field if isinstance(refusal, InvalidInput) else None
        page = render_template(
            "lobby/keep.html", game=game, name=name, refusal=refusal, wrong=wrong, seat_url=url
        )
    return page, refusal.status if refusal else 200


@blueprint.post("/k/<token>")
@limiter.limit("30/minute")
def keep(token: str) -> ResponseReturnValue:
    """Keep the game: it becomes a normal seat of the person whose email has the link."""
    try:
        url = visitors.keep(token, flask.request.form.get("name", ""), utc_now(), i18n.current_language())
    except errors.NoSuchLink:
        unknown_link(token)
    except Refused as refusal:
        return _keep_page(token, refusal)
    return flask.redirect(url, 303)


@blueprint.post("/t/<token>/guide")
def dismiss(token: str) -> ResponseReturnValue:
    """Hide one explanation of the guide in this browser from now on."""
    with reading() as session:
        seat_access(session, token)
    answer = flask.redirect(url_for("turn.show", token=token), 303)
    explained = flask.request.form.get("explained", "")
    if EXPLAINED.fullmatch(explained):
        before = flask.request.cookies.get(GUIDE_COOKIE, "").split(".")
        known = [*(word for word in before if EXPLAINED.fullmatch(word) and word != explained), explained]
        secure = bool(flask.current_app.config["SESSION_COOKIE_SECURE"])
        answer.set_cookie(
            GUIDE_COOKIE,
            ".".join(known[-MOST_DISMISSED:]),
            max_age=locale.COOKIE_MAX_AGE,
            path=str(flask.current_app.config["SESSION_COOKIE_PATH"]),
            secure=secure,
            httponly=True,
            samesite="Lax",
        )
    return answer
