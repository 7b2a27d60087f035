"""The invited player's page, the organiser's page, and joining a free seat; the first two need no cookie."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz.bots import BOTS
from byzanz.games import rules_of
from server import errors, i18n, validation
from server.accounts import login
from server.errors import InvalidInput, Refused
from server.lobby import create, invitations, names, notify, organiser
from server.play import positions
from server.store import links
from server.store.engine import reading, utc_now
from server.store.models import Game, Link, Mail, Person
from server.web.http import GAME_ID, csrf, limiter, unknown_link

blueprint = Blueprint("invitations", __name__)


@blueprint.get("/i/<token>")
def invitation(token: str) -> ResponseReturnValue:
    """Show an invitation; viewing it changes nothing."""
    return _invitation_page(token, None)


def _invitation_page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        found = invitations.invitation(session, token, utc_now()) or unknown_link(token)
        form = flask.request.form
        page = render_template(
            "lobby/invitation.html",
            token=token,
            game=found.game,
            seat=found.seat,
            seats=positions.seats_of(session, found.game.id),
            organiser=session.get(Person, found.game.organiser_id or 0),
            title=rules_of(found.game.slug, found.game.rules).title,
            name=form.get("name", _offered_name(found)),
            cut=form.get("cut", names.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200


def _offered_name(found: invitations.Invitation) -> str:
    """Return the name that an invited person has used before, else the one the organiser gave them."""
    never = found.person.name == validation.name_from_address(found.person.email or "")
    return found.seat.name if found.seat and never else found.person.name


@blueprint.post("/i/<token>")
@limiter.limit("30/minute")
def answer(token: str) -> ResponseReturnValue:
    """Accept or decline; if the game begins with it, go straight to the table."""
    form, now = flask.request.form, utc_now()
    try:
        match form.get("answer"):
            case "accept":
                language = i18n.current_language()
                game_id = invitations.accept(token, form.get("name", ""), form.get("cut", ""), now, language)
            case "decline":
                game_id = invitations.decline(token, now)
            case _:
                flask.abort(400)
    except errors.NoSuchLink:
        unknown_link(token)
    except Refused as refusal:
        return _invitation_page(token, refusal)
    return flask.redirect(_seat_url_if_begun(token, game_id, now) or url_for(".invitation", token=token), 303)


def _seat_url_if_begun(token: str, game_id: str, now: datetime) -> str | None:
    """Return the URL of the seat just accepted if the game has begun with it."""
    with reading() as session:
        link = links.find(session, "invite", token, now)
        return _seat_url(session, link.person_id, game_id) if link else None


def _seat_url(session: Session, person_id: int | None, game_id: str) -> str | None:
    game = session.get_one(Game, game_id)
    if game.status != "running":
        return None
    filters = (Link.purpose == "seat", Link.person_id == person_id, Link.game_id == game_id)
    link = session.scalar(select(Link).where(*filters, Link.revoked_at.is_(None)).limit(1))
    return links.url(link) if link else None


@blueprint.get("/o/<token>")
def organise(token: str) -> ResponseReturnValue:
    """Show the organiser who has accepted and what they can do; viewing it changes nothing."""
    return _organiser_page(token, None)


def _organiser_page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = organiser.organised_game(session, token, utc_now()) or unknown_link(token)
        seats = positions.seats_of(session, game.id)
        rules = rules_of(game.slug, game.rules)
        page = render_template(
            "lobby/organiser.html",
            token=token,
            game=game,
            seats=seats,
            own=next((seat for seat in seats if seat.person_id == game.organiser_id), None),
            mails=_mails(session, game),
            title=rules.title,
            rules=rules,
            may_start=sum(seat.status == "seated" for seat in seats) in rules.seats,
            bots=tuple(BOTS),
            name=flask.request.form.get("name", notify.requested_name(session, game)),
            cut=flask.request.form.get("cut", names.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200


def _mails(session: Session, game: Game) -> dict[int, Mail]:
    """Return the newest invitation or reminder of each person."""
    about = (Mail.game_id == game.id, Mail.kind.in_(("invite", "nudge")))
    return {mail.person_id: mail for mail in session.scalars(select(Mail).where(*about).order_by(Mail.id))}


Act = Callable[[str, int, datetime], object]
ACTS: dict[str, Act] = {
    "confirm": lambda token, _seat, now: _confirm(token, now),
    "remind": organiser.remind,
    "drop": organiser.drop,
    "invite": lambda token, seat, now: organiser.reinvite(token, seat, _guest(), now),
    "fill": lambda token, seat, now: organiser.fill(token, seat, flask.request.form.get("bot", ""), now),
    "start": lambda token, _seat, now: organiser.start(token, now),
    "cancel": lambda token, _seat, now: organiser.cancel(token, now),
    "list": lambda token, _seat, now: organiser.set_listed(token, True, now),
    "unlist": lambda token, _seat, now: organiser.set_listed(token, False, now),
}
"""The organiser's actions, by the value that their buttons post as `do`."""


def _confirm(token: str, now: datetime) -> str:
    form = flask.request.form
    return create.confirm_game(token, now, form.get("cut", ""), form.get("name"), i18n.current_language())


def _guest() -> validation.Guest:
    return validation.parse_guest(flask.request.form.get("guest", ""), "guest")


@blueprint.post("/o/<token>")
@limiter.limit("30/minute")
def act(token: str) -> ResponseReturnValue:
    """Carry out one of the organiser's actions; if the game begins with it and they play, go to their seat."""
    form, now = flask.request.form, utc_now()
    number = form.get("seat", "0")
    if form.get("do") not in ACTS or number not in set("0123456789"):
        flask.abort(400)
    try:
        ACTS[form["do"]](token, int(number), now)
    except errors.NoSuchLink:
        unknown_link(token)
    except Refused as refusal:
        return _organiser_page(token, refusal)
    with reading() as session:
        game = organiser.organised_game(session, token, now)
        starts = form["do"] in {"confirm", "fill", "start"}
        seat = _seat_url(session, game.organiser_id, game.id) if game and starts else None
    return flask.redirect(seat or url_for(".organise", token=token), 303)


@blueprint.get("/join/<game_id>")
def free_seat(game_id: str) -> ResponseReturnValue:
    """Show a listed game with a free seat: its players, and the form for a signed-in person."""
    return _join_page(game_id, None)


@blueprint.post("/join/<game_id>")
@limiter.limit("30/minute")
def join(game_id: str) -> ResponseReturnValue:
    """Take a free seat; for signed-in people only."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        me = login.signed_in(session)
    if me is None:
        return _join_page(game_id, None)
    try:
        invitations.take_free_seat(game_id, me.id, form.get("name", ""), form.get("cut", ""), now)
    except Refused as refusal:
        return _join_page(game_id, refusal)
    with reading() as session:
        seat = _seat_url(session, me.id, game_id)
    return flask.redirect(seat or url_for("lobby.index"), 303)


def _join_page(game_id: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None
        if game is None or not game.listed or game.status == "asked":
            flask.abort(404)
        seats = positions.seats_of(session, game.id)
        me = login.signed_in(session)
        form = flask.request.form
        page = render_template(
            "lobby/join.html",
            game=game,
            seats=seats,
            me=me,
            sits=me is not None and any(seat.person_id == me.id for seat in seats),
            free=sum(seat.status == "free" for seat in seats) if game.status == "inviting" else 0,
            title=rules_of(game.slug, game.rules).title,
            name=form.get("name", me.name if me else ""),
            cut=form.get("cut", names.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200


# Authorised by the token in the URL; they work without cookies.
for view in (answer, act):
    csrf.exempt(view)
