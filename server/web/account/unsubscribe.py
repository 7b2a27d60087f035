"""The pages behind the links that stop emails of one game, of all, or about players; they need no cookie."""

from __future__ import annotations

from datetime import datetime

import flask
from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from server.errors import Refused
from server.mail import subscriptions
from server.mail.outgoing import digest
from server.store import links
from server.store.engine import reading, utc_now
from server.store.models import Game, LinkPurpose, Person, Seat
from server.web import submissions
from server.web.http import csrf, limiter, unknown_link

blueprint = Blueprint("unsubscribe", __name__)


@blueprint.get("/u/<token>")
def unsubscribe_form(token: str) -> ResponseReturnValue:
    """Show buttons that mute or unmute one game or all mail, or make mails fewer."""
    return _unsubscribe_page(token)


@blueprint.post("/u/<token>")
@limiter.limit("30/minute")
def unsubscribe(token: str) -> ResponseReturnValue:
    """Mute or unmute; without a choice, as mail clients post it (RFC 8058), mute this game.

    The link in a digest is about no single game: there it mutes all mail. With `?do=talk`, as an email about nothing
    but table talk has it, it stops only these.

    It answers with a page instead of a redirect, which mail clients would not follow.
    """
    now = utc_now()
    with reading() as session:
        link = links.find(session, LinkPurpose.STOP, token, now) or unknown_link(token)
    form = flask.request.form
    match form.get("do"):
        case None:
            subscriptions.stop(link, now, only_talk=_only_talk())
        case "talk" if (talk := form.get("talk", "turns")) in subscriptions.TALK:
            subscriptions.set_talk(link.person_id, talk)
        case "game" | "undo-game" as do if link.game_id:
            subscriptions.mute(link.game_id, link.person_id, do == "game", now)
        case "all" | "undo-all" as do:
            subscriptions.mute_all(link.person_id, do == "all", now)
        case "cadence" if form.get("cadence") in subscriptions.CADENCES and form.get("talk") in (
            None,
            *subscriptions.TALK,
        ):
            try:
                _set_cadence(link.person_id, now)
            except submissions.ChangedMeanwhile as refusal:
                return _unsubscribe_page(token, refusal)
        case _:
            flask.abort(400)
    return _unsubscribe_page(token)


def _set_cadence(person_id: int, now: datetime) -> None:
    form = flask.request.form
    with reading() as session:
        person = session.get_one(Person, person_id)
    stored = {"cadence": person.cadence, "talk": person.talk}
    new = submissions.settled({name: form[name] for name in stored if name in form}, stored)
    subscriptions.set_cadence(person_id, new["cadence"], now, new["talk"] if "talk" in form else None)


def _only_talk() -> bool:
    """Whether this is the link from an email about nothing but table talk."""
    return flask.request.args.get("do") == "talk"


def _unsubscribe_page(token: str, refusal: Refused | None = None) -> ResponseReturnValue:
    with reading() as session:
        link = links.find(session, LinkPurpose.STOP, token, utc_now()) or unknown_link(token)
        seat = session.scalar(
            select(Seat).where(Seat.game_id == link.game_id, Seat.person_id == link.person_id)
        )
        person = session.get_one(Person, link.person_id)
        chosen = {"cadence": person.cadence, "talk": person.talk}
        page = render_template(
            "account/unsubscribe.html",
            token=token,
            refusal=refusal,
            stored=chosen,
            chosen=chosen | (flask.request.form.to_dict() if refusal else {}),
            game=session.get(Game, link.game_id) if link.game_id else None,
            seat=seat,
            only_talk=_only_talk(),
            hour=digest.digest_minute(session.get_one(Person, link.person_id)),
            person=person,
        )
    return (page, refusal.status) if refusal else page


@blueprint.get("/z/<token>")
def player_news_form(token: str) -> ResponseReturnValue:
    """Show a button that stops or resumes emails about the players of games in the reader's charge."""
    return _player_news_page(token)


@blueprint.post("/z/<token>")
@limiter.limit("30/minute")
def refuse_player_news(token: str) -> ResponseReturnValue:
    """Stop or resume emails about players; without a choice, as mail clients post it (RFC 8058), stop them.

    It answers with a page instead of a redirect, which mail clients would not follow.
    """
    with reading() as session:
        link = links.find(session, LinkPurpose.NOPLAYERS, token, utc_now()) or unknown_link(token)
    do = flask.request.form.get("do", "stop")
    if do not in ("stop", "undo"):
        flask.abort(400)
    subscriptions.refuse_player_news(link.person_id, do == "stop")
    return _player_news_page(token)


def _player_news_page(token: str) -> ResponseReturnValue:
    with reading() as session:
        link = links.find(session, LinkPurpose.NOPLAYERS, token, utc_now()) or unknown_link(token)
        person = session.get_one(Person, link.person_id)
        return render_template("account/no_player_news.html", refused=person.no_player_news)


csrf.exempt(refuse_player_news)  # authorised by the token in the URL
csrf.exempt(unsubscribe)  # authorised by the token in the URL
