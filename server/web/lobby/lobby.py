"""The home page, new games, and fresh links for dead ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session, selectinload

from byzanz import games
from byzanz.bots import BOTS
from byzanz.games import rules_of
from byzanz.moves import BadSetup
from byzanz.rules import PUBLIC
from server import errors, i18n, validation
from server.accounts import login
from server.config import settings
from server.errors import InvalidInput, Refused
from server.lobby import create, names, time_control
from server.store.engine import reading, utc_now
from server.store.models import Game, Seat
from server.validation import Guest
from server.web.http import csrf, error_page, limiter
from server.web.lobby import home

blueprint = Blueprint("lobby", __name__)

MOST_LISTED = 50
"""Games of one kind that the home page lists at most."""


@blueprint.app_template_filter("typed")
def form_text(text: str) -> str:
    """Return typed text for a form, without characters that no page may contain."""
    return "".join(char for char in text if char.isprintable() or char in "\r\n")


@blueprint.get("/")
def index() -> ResponseReturnValue:
    """Show the home page, with the games of the signed-in person."""
    with reading() as session:
        me = login.signed_in(session)
        own = home.own_games(session, me) if me else []
        return render_template(
            "lobby/lobby.html",
            me=me,
            base_url=settings().base_url,
            own_games=own,
            finished=home.finished_games(session, me) if me else (),
            now=utc_now(),
            awaiting=sum(entry.awaited for entry in own),
            games=games.latest(),
            titles={rules.slug: rules.title for rules in games.latest()},
            open_games=_listed(session, Game.status == "inviting", Game.seats.any(Seat.status == "free")),
            running=_listed(session, Game.status == "running"),
        )


def _listed(session: Session, *which: ColumnElement[bool]) -> Sequence[Game]:
    query = (
        select(Game).where(Game.listed, Game.quarantine.is_(None), *which).options(selectinload(Game.seats))
    )
    return session.scalars(query.order_by(Game.created_at.desc()).limit(MOST_LISTED)).all()


ALLOWANCES = (600, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 3 * 86400, 7 * 86400)
"""Seconds for a decision, as the form offers them."""
BANKS = (0, 3600, 4 * 3600, 12 * 3600, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400)
"""Seconds beyond them, for a whole game."""
DEFAULT_BOT = "greedy"
"""The strength of bots that the form proposes."""


@blueprint.route("/new", methods=["GET", "POST"])
@limiter.limit("10/minute", methods=["POST"])
def new() -> ResponseReturnValue:
    """Show the form for a new game, or create one that waits for the organiser's confirmation."""
    if flask.request.method != "POST":
        return _new_form(_initial_fields(), None)
    fields = flask.request.form
    with reading() as session:
        me = login.signed_in(session)
    try:
        with suppress(errors.TooMany):  # do not tell a stranger how many games wait under an address
            create.create_game(_read_request(), utc_now(), me.id if me else None)
    except Refused as refusal:
        return _new_form(fields.to_dict(), refusal), refusal.status
    return flask.redirect(url_for("lobby.confirm_sent"), 303)


def _initial_fields() -> dict[str, str]:
    with reading() as session:
        me = login.signed_in(session)
    return {
        "title": names.random_game_name(),
        "game": flask.request.args.get("game", games.latest()[0].slug),
        "name": me.name if me else "",
        "address": (me.email or "") if me else "",
        "time_zone": (me.time_zone or "UTC") if me else "UTC",
        "plays": "yes",
        "talk": "yes",
        "strength": DEFAULT_BOT,
        "pace": "daily",
        "allowance": "86400",
        "bank": "172800",
    }


def _new_form(fields: dict[str, str], refusal: Refused | None) -> str:
    return render_template(
        "lobby/new.html",
        fields=fields,
        refusal=refusal,
        wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        games=games.latest(),
        bots=tuple(BOTS),
        most=_most_seats(),
        paces=time_control.PRESETS,
        allowances=ALLOWANCES,
        banks=BANKS,
        zones=validation.time_zones(),
    )


def _most_seats() -> int:
    """Return the largest number of players of any game."""
    return max(max(rules.seats) for rules in games.latest())


def _read_request() -> create.GameRequest:
    """Return the game that the form requests."""
    fields = flask.request.form
    return create.GameRequest(
        organiser=Guest(fields.get("name", ""), fields.get("address", "")),
        slug=fields.get("game", games.latest()[0].slug),
        name=fields.get("title", ""),
        time_control=_read_time_control(),
        players=_read_friends(),
        bots=[fields.get("strength", DEFAULT_BOT)] * _read_number("bots", 0),
        free=_read_number("free", 0),
        time_zone=fields.get("time_zone", "UTC"),
        plays="plays" in fields,
        listed="listed" in fields,
        language=i18n.current_language(),
        message=fields.get("message", ""),
        talk="talk" in fields,
    )


def _read_friends() -> list[Guest]:
    """Return the people to invite: those in the rows, then those on the pasted list."""
    fields = flask.request.form
    rows = [
        (fields.get(f"friend_{n}", "").strip(), fields.get(f"friend_{n}_address", "").strip())
        for n in range(1, _most_seats())
    ]
    typed = [f"{name} <{address}>" if name else address for name, address in rows if name or address]
    return [*map(validation.parse_guest, typed), *validation.parse_guests(fields.get("players", ""))]


def _read_time_control() -> time_control.TimeControl:
    """Return the time control: a preset, or the form's own values."""
    fields = flask.request.form
    chosen = fields.get("pace", "own")
    if chosen in time_control.PRESETS:
        return time_control.PRESETS[chosen]
    if chosen != "own":
        raise InvalidInput(
            "“%(text)s” is not one of the time controls on offer.",
            field="pace",
            text=validation.excerpt(chosen),
        )
    allowance = _read_number("allowance", 86400)
    days_off = "".join(day for day in "1234567" if f"day_{day}" in fields)
    return time_control.TimeControl(
        allowance, _read_number("bank", time_control.default_bank(allowance)), days_off
    )


def _read_number(name: str, absent: int, field: str | None = None) -> int:
    """Return a whole number from the form; numbers of seats are small."""
    text = flask.request.form.get(name, "") or str(absent)
    number = validation.whole_number(text, 9_999_999)
    if number is None:
        raise InvalidInput(
            "“%(text)s” must be a whole number.", field=field or name, text=validation.excerpt(text)
        )
    if name not in ("allowance", "bank") and number > _most_seats():
        raise InvalidInput("No game has that many seats.", field=field or name)
    return number


@blueprint.get("/asked")
def confirm_sent() -> ResponseReturnValue:
    """Ask the organiser to check their email: the same page whatever was requested."""
    return render_template("lobby/confirm_sent.html")


@blueprint.post("/link")
@limiter.limit("10/minute")
def fresh_link() -> ResponseReturnValue:
    """Mail the owner of a dead link a fresh one, if any; the response is the same in all cases."""
    login.mail_fresh_link(flask.request.form.get("token", ""), utc_now())
    return render_template("lobby/link_requested.html")


# These two work without cookies, since all they do is send mail.
for view in (new, fresh_link):
    csrf.exempt(view)


@blueprint.get("/rules/<slug>")
def rules(slug: str) -> str | tuple[str, int]:
    """Show the rules of one game; `view`, the table before the first shuffle, is used to draw its cards.

    The query may choose the `step` of the example.
    """
    try:
        found = rules_of(slug)
    except BadSetup:
        return error_page(404, _("Game not found"), _("The home page lists all games."))
    view = found.view(found.setup(min(found.seats), {}), PUBLIC)
    step = validation.whole_number(flask.request.args.get("step", ""), 99, 1) or 1
    return render_template(
        "lobby/rules.html", rules=found, view=view, step=step, base_url=settings().base_url
    )
