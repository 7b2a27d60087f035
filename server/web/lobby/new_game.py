"""Starting a game: the form for a new one, alone or with those of a finished one, and a visitor's game against bots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy.orm import Session

from byzanz.bots import BOTS
from server import config, errors, i18n, validation
from server.accounts import login
from server.errors import Crowded, InvalidInput, Refused, TooMany
from server.i18n import zone_of
from server.lobby import create, rematch, visitors
from server.lobby import settings as lobby_settings
from server.lobby.settings import TimeControl
from server.play import names, positions
from server.store import links
from server.store.engine import reading, utc_now
from server.store.links import SeatAccess
from server.store.models import Game, GameSettings, Person, Seat
from server.store.statements import GameRow
from server.validation import LONGEST_NAME, Guest
from server.web import locale, submissions
from server.web.http import csrf, limiter, seat_access, unknown_link

blueprint = Blueprint("new_game", __name__)
# The form only sends an email, visitors have no cookie yet, and a token in the URL authorises the rest.
csrf.exempt(blueprint)

# ---- pace ----

ALLOWANCES = (600, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 3 * 86400, 7 * 86400)
"""Seconds for a decision, as the form offers them."""
BANKS = (0, 3600, 4 * 3600, 12 * 3600, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400)
"""Seconds beyond them, for a whole game."""


def fields_of(chosen: GameSettings) -> dict[str, str]:
    """Return what the form for a new game says with these settings; its options have no field."""
    own = TimeControl.of(chosen)
    return {
        "game": chosen.slug,
        "pace": next((name for name, preset in lobby_settings.PRESETS.items() if preset == own), "own"),
        "allowance": str(chosen.allowance),
        "bank": str(chosen.bank),
        **{f"day_{day}": "off" for day in chosen.days_off},
        "time_zone": chosen.time_zone,
        "listed": "yes" if chosen.listed else "",
        "asks": str(chosen.asks),
        "keep_going": "yes" if chosen.keep_going else "",
        "talk": "yes" if chosen.talk else "",
    }


def read_settings(before: GameSettings | None) -> GameSettings:
    """Return the settings that the form for a new game says.

    Args:
        before: those of the finished game that it follows; the same game has the same options again.

    Raises:
        InvalidInput: as in `read_time_control`, or the percentage is not a whole number.
    """
    fields = flask.request.form
    slug = fields.get("game", config.offered_games()[0].slug)
    return GameSettings(
        slug,
        *read_time_control(),
        options=before.options if before and before.slug == slug else "{}",
        time_zone=fields.get("time_zone", "UTC"),
        listed="listed" in fields,
        asks=read_number("asks", 0),
        keep_going="keep_going" in fields,
        talk="talk" in fields,
    )


def read_time_control() -> TimeControl:
    """Return the time control of the form: a preset, or its own values.

    Raises:
        InvalidInput: it names no preset, or a time is not a whole number.
    """
    fields = flask.request.form
    chosen = fields.get("pace", "own")
    if chosen in lobby_settings.PRESETS:
        return lobby_settings.PRESETS[chosen]
    if chosen != "own":
        raise InvalidInput(
            "“%(text)s” is not one of the time controls on offer.",
            field="pace",
            text=validation.excerpt(chosen),
        )
    allowance = read_number("allowance", 86400)
    days_off = "".join(day for day in "1234567" if f"day_{day}" in fields)
    return TimeControl(allowance, read_number("bank", lobby_settings.default_bank(allowance)), days_off)


def changed(game: Game) -> TimeControl:
    """Return the time control of a game with what was changed in the form.

    Raises:
        InvalidInput: as in `read_time_control`. ChangedMeanwhile: it was changed elsewhere, too.
    """
    chosen = read_time_control()
    typed = {name: str(getattr(chosen, name)) for name in _stored_pace(game)}
    new = submissions.settled(typed, _stored_pace(game))
    return TimeControl(int(new["allowance"]), int(new["bank"]), new["days_off"])


def _stored_pace(game: Game) -> dict[str, str]:
    own = TimeControl.of(GameSettings.of(game))
    return {name: str(value) for name, value in own._asdict().items()}


def read_number(name: str, absent: int, field: str | None = None) -> int:
    """Return a whole number from the form.

    Args:
        absent: what an empty field means.
        field: the field to name if the number is invalid; `name` if None.

    Raises:
        InvalidInput: it is no whole number.
    """
    text = flask.request.form.get(name, "") or str(absent)
    number = validation.whole_number(text, 9_999_999)
    if number is None:
        raise InvalidInput(
            "“%(text)s” must be a whole number.", field=field or name, text=validation.excerpt(text)
        )
    return number


def pace_context(game: Game, *, refused: bool) -> dict[str, Any]:
    """Return what `lobby/times.html` needs to change the time control of a game.

    Args:
        refused: the form has just been refused, so its fields are shown again.
    """
    now: dict[str, str] = {"allowance": str(game.allowance), "bank": str(game.bank)}
    now |= {f"day_{day}": "off" for day in game.days_off}
    return {
        "stored": _stored_pace(game),
        "fields": flask.request.form.to_dict() if refused else now,
        "allowances": sorted({*ALLOWANCES, game.allowance}),
        "banks": sorted({*BANKS, game.bank}),
    }


# ---- those of a finished game, who can be invited again; nobody's address is shown ----


@dataclass(frozen=True, slots=True)
class Group:
    """Those of a finished game whom one of its players can invite again.

    Args:
        token: of the player's seat, which vouches for them.
        others: the seats of the others.
        names: at the table, by seat.
        complete: nobody is missing.
        fields: what the form says at first.
        bots: their kinds.
        settings: of the game.
    """

    token: str
    host: Person
    others: Sequence[Seat]
    names: Sequence[str]
    complete: bool
    fields: dict[str, str]
    bots: Sequence[str]
    settings: GameSettings

    def bots_of(self, count: int, strength: str) -> Sequence[str]:
        """Return the kinds of the bots that the form asks for: those of the last game if nothing was changed."""
        same = self.bots and (count, strength) == (len(self.bots), self.bots[0])
        return self.bots if same else [strength] * count

    def chosen(self) -> list[Guest]:
        """Return those whom the posted form still invites."""
        fields = flask.request.form
        return [
            Guest(self.names[seat.seat], seat.person.email or "")
            for seat in self.others
            if seat.person and fields.get(f"same_{seat.seat}")
        ]


def posted_group(session: Session) -> Group | None:
    """Return the group that a posted form is for, or None for the form of another new game."""
    token = flask.request.form.get("after")
    return group_of(session, seat_access(session, token)) if token else None


def group_of(session: Session, access: SeatAccess) -> Group:
    """Return the group of a finished game, for one of its players.

    Raises:
        Closed: the game is not over, or they had left it.
    """
    game, host = session.get_one(Game, access.game.id), session.get_one(Person, access.link.person_id)
    seats = positions.seats_of(session, game.id)
    rematch.check_over(game, seats, host.id)
    ready = rematch.invitable(session, seats, host.id)
    others = [seat for seat in ready if seat.person is not None and seat.person_id != host.id]
    complete = len(ready) == len(seats)
    bots = [seat.bot for seat in seats if seat.bot]
    chosen = GameSettings.of(game)
    fields = fields_of(chosen) | _fields_of_group(game, seats, host.id, len(seats) - len(ready), bots)
    named = names.at_table(GameRow.of(game), seats, access.seat.seat)
    return Group(links.token(access.link), host, others, named, complete, fields, bots, chosen)


def _fields_of_group(
    game: Game, seats: Sequence[Seat], host_id: int, missing: int, bots: Sequence[str]
) -> dict[str, str]:
    """Return what the form says beside the settings; seats of missing people are free if all can see the table."""
    fields = {
        "title": rematch.next_name(game.name, LONGEST_NAME),
        "name": next(
            names.of(GameRow.of(game), seat, seat.seat) for seat in seats if seat.person_id == host_id
        ),
        "plays": "yes",
        "bots": str(len(bots)),
        "free": str(missing if game.listed else 0),
    }
    fields |= {"strength": bots[0]} if bots else {}
    return fields | {f"same_{seat.seat}": "yes" for seat in seats}


# ---- pages ----


@blueprint.app_template_filter("typed")
def form_text(text: str) -> str:
    """Return typed text for a form, without characters that no page may contain."""
    return "".join(char for char in text if char.isprintable() or char in "\r\n")


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
        group = posted_group(session)
    host_id = group.host.id if group else me.id if me else None
    try:
        create.create_game(_read_request(group), utc_now(), host_id)
    except TooMany as refusal:
        if isinstance(refusal, Crowded):
            return new_form(fields.to_dict(), refusal, group), refusal.status
        # Do not tell a stranger how many games wait under an address.
    except Refused as refusal:
        return new_form(fields.to_dict(), refusal, group), refusal.status
    return flask.redirect(url_for("new_game.confirm_sent"), 303)


def _initial_fields() -> dict[str, str]:
    with reading() as session:
        me = login.signed_in(session)
    slug = flask.request.args.get("game", config.offered_games()[0].slug)
    proposed = GameSettings(slug, *lobby_settings.PRESETS["daily"], time_zone=zone_of(me))
    return fields_of(proposed) | {
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
        allowances=_with(ALLOWANCES, group, "allowance"),
        banks=_with(BANKS, group, "bank"),
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
    chosen = read_settings(group.settings if group else None)
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
    number = read_number(name, 0)
    if number > _most_seats():
        raise InvalidInput("No game has that many seats.", field=name)
    return number


@blueprint.get("/asked")
def confirm_sent() -> ResponseReturnValue:
    """Ask the organiser to check their email: the same page whatever was requested."""
    return render_template("lobby/confirm_sent.html")


# ---- playing at once: a game against bots without an address, its guide, and keeping it with one ----

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
