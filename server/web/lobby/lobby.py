"""The home page, new games, and fresh links for dead ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from server import config, i18n, validation
from server.accounts import login
from server.community import blocks
from server.config import settings
from server.config.zones import zone_of
from server.errors import Crowded, InvalidInput, Refused, TooMany
from server.lobby import create, open_tables
from server.lobby import settings as lobby_settings
from server.store.engine import reading, utc_now
from server.store.models import Game, GameSettings, GameStatus
from server.validation import Guest
from server.web.http import csrf, error_page, limiter
from server.web.lobby import again, home, pace
from server.web.lobby.again import Group

blueprint = Blueprint("lobby", __name__)

FEW = 5
"""Open tables that the home page shows."""
MOST_LISTED = 50
"""Running games that the home page lists at most."""


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
        seen = ~blocks.hides(session, me.id if me else None)
        return render_template(
            "lobby/lobby.html",
            me=me,
            base_url=settings().base_url,
            own_games=own,
            finished=home.finished_games(session, me) if me else (),
            now=utc_now(),
            awaiting=sum(entry.awaited for entry in own),
            games=config.offered_games(),
            titles={rules.slug: rules.title for rules in games.latest()},
            open_tables=open_tables.open_tables(
                session, open_tables.Wanted(), me.id if me else None, most=FEW
            )[0],
            running=_listed(session, Game.status == GameStatus.RUNNING, seen, *home.not_of(me)),
        )


def _listed(session: Session, *which: ColumnElement[bool]) -> Sequence[Game]:
    query = (
        select(Game).where(Game.listed, Game.quarantine.is_(None), *which).options(selectinload(Game.seats))
    )
    return session.scalars(query.order_by(Game.created_at.desc()).limit(MOST_LISTED)).all()


DEFAULT_BOT = "greedy"
"""The strength of bots that the form proposes."""


@blueprint.route("/new", methods=["GET", "POST"])
@limiter.limit("10/minute", methods=["POST"])
def new() -> ResponseReturnValue:
    """Show the form for a new game, or create one that waits for the organiser's confirmation."""
    if flask.request.method != "POST":
        return new_form(_initial_fields(), None)
    fields = flask.request.form
    with reading() as session:
        me = login.signed_in(session)
        group = again.posted_group(session)
    host_id = group.host.id if group else me.id if me else None
    try:
        create.create_game(_read_request(group), utc_now(), host_id)
    except TooMany as refusal:
        if isinstance(refusal, Crowded):
            return new_form(fields.to_dict(), refusal, group), refusal.status
        # Do not tell a stranger how many games wait under an address.
    except Refused as refusal:
        return new_form(fields.to_dict(), refusal, group), refusal.status
    return flask.redirect(url_for("lobby.confirm_sent"), 303)


def _initial_fields() -> dict[str, str]:
    with reading() as session:
        me = login.signed_in(session)
    slug = flask.request.args.get("game", config.offered_games()[0].slug)
    proposed = GameSettings(slug, *lobby_settings.PRESETS["daily"], time_zone=zone_of(me))
    return pace.fields_of(proposed) | {
        "title": create.random_game_name(),
        "name": me.name if me else "",
        "address": (me.email or "") if me else "",
        "plays": "yes",
        "strength": DEFAULT_BOT,
    }


def new_form(fields: dict[str, str], refusal: Refused | None, group: Group | None = None) -> str:
    """Render the form for a new game.

    Args:
        fields: what it says.
        group: the people of a finished game, if the new one is for them.
    """
    return render_template(
        "lobby/new.html",
        fields=fields,
        group=group,
        refusal=refusal,
        wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        games=config.offered_games(),
        bots=tuple(BOTS),
        most=_most_seats(),
        paces=lobby_settings.PRESETS,
        allowances=_with(pace.ALLOWANCES, group, "allowance"),
        banks=_with(pace.BANKS, group, "bank"),
        asks=create.ASKS,
        zones=validation.time_zones(),
    )


def _with(offered: Sequence[int], group: Group | None, field: str) -> Sequence[int]:
    """Return the times on offer, and the one that a group's finished game had."""
    return sorted({*offered, int(group.fields[field])}) if group else offered


def _most_seats() -> int:
    """Return the largest number of players of any game."""
    return max(max(rules.seats) for rules in config.offered_games())


def _read_request(group: Group | None) -> create.GameRequest:
    """Return the game that the form requests."""
    fields = flask.request.form
    address = group.host.email if group else fields.get("address")
    strength, bots, free = fields.get("strength", DEFAULT_BOT), _read_count("bots"), _read_count("free")
    chosen = pace.read_settings(group.settings if group else None)
    if group and not free:
        # Its form begins with what its last table asked for, which is nothing to say without a free seat.
        chosen = replace(chosen, asks=0)
    return create.GameRequest(
        organiser=Guest(fields.get("name", ""), address or ""),
        name=fields.get("title", ""),
        settings=chosen,
        players=[*(group.chosen() if group else ()), *_read_friends()],
        bots=group.bots_of(bots, strength) if group else [strength] * bots,
        free=free,
        plays="plays" in fields,
        language=i18n.current_language(),
        message=fields.get("message", ""),
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


def _read_count(name: str) -> int:
    """Return a number of bots or seats from the form, 0 if it has none."""
    number = pace.read_number(name, 0)
    if number > _most_seats():
        raise InvalidInput("No game has that many seats.", field=name)
    return number


@blueprint.get("/asked")
def confirm_sent() -> ResponseReturnValue:
    """Ask the organiser to check their email: the same page whatever was requested."""
    return render_template("lobby/confirm_sent.html")


@blueprint.post("/link")
@limiter.limit("10/minute")
def fresh_link() -> ResponseReturnValue:
    """Mail the owner of a link a fresh one, if any; the response is the same in all cases."""
    form = flask.request.form
    login.mail_fresh_link(form.get("token", ""), utc_now(), to_seat=form.get("to") == "seat")
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
        "lobby/rules.html",
        rules=found,
        view=view,
        step=step,
        base_url=settings().base_url,
        offered=found in config.offered_games(),
    )
