"""The moderators' desk: what needs attention, the search across all games, and the moderators' actions.

The blueprint is nested in `moderation`, which admits nobody else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import flask
from flask import Blueprint, g, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session, aliased, selectinload

from byzanz.games import latest
from server import i18n
from server.accounts import login, personal_data
from server.community import reports
from server.config.zones import zone_of
from server.errors import InvalidInput, Refused
from server.mail import deliverability
from server.play import autopilot, powers
from server.play.powers import Asker, Conflict
from server.scheduler import loop
from server.store import alerts, log, people
from server.store.engine import parse_stamp, reading, utc_now
from server.store.models import Alert, Entry, Game, GameStatus, ModeratorAction, Person, Seat, Turn
from server.validation import clean_address, whole_number
from server.web.game import mail_log
from server.web.moderation import issues

LOGGER = logging.getLogger(__name__)
blueprint = Blueprint("desk", __name__)

OUTAGE_HOURS = (1, 6, 24, 72, 168)
"""How long ago an outage of our own mail server may have begun."""
ADMINISTRATOR = "administrator"
"""Selects the actions that the administrator took at the shell."""
PAGE_SIZE = 50
"""Games, or actions, on one page."""


def zone() -> str:
    """Return this moderator's time zone."""
    return zone_of(g.me)


@blueprint.get("/")
def show() -> ResponseReturnValue:
    """Show what needs attention by kind, each with a link to what helps."""
    now = utc_now()
    with reading() as session:
        on_autopilot, stuck = issues.on_autopilot(session), issues.stuck(session, now)
        return render_template(
            "moderation/desk.html",
            now=now,
            zone=zone(),
            clock_alert=alerts.CLOCK_JUMPED,
            explained=mail_log.explained,
            alerts=issues.alerts(session),
            late=issues.late(session, now),
            unsent=issues.unsent(session, now),
            unreached=issues.unreached(session),
            refused=issues.refused(session, now),
            stuck=stuck,
            last={game.id: parse_stamp(entry.at) for game, entry in stuck.rows},
            unattended=autopilot.unattended(session, [game.id for game, _ in stuck.rows if game.paused]),
            on_hold=issues.quarantined(session),
            on_autopilot=on_autopilot,
            titles=_titles(),
            outage_hours=OUTAGE_HOURS,
            mended=whole_number(flask.request.args.get("mended", ""), 999_999),
        )


@blueprint.post("/alarms/<int:alert_id>")
def clear(alert_id: int) -> ResponseReturnValue:
    """Clear an alert that a moderator has dealt with."""
    with reading() as session:
        found = session.get(Alert, alert_id) if alert_id < 2**31 else None
    if found is None:
        flask.abort(404)
    now = utc_now()
    if found.key == alerts.CLOCK_JUMPED:  # clearing this alert confirms that the clock is right
        loop.confirm_clock(now)
    reports.resolve(alert_id, flask.request.form.get("reason", ""), g.me.id, now)
    return flask.redirect(url_for(".show"), 303)


@blueprint.post("/reachable")
def mend() -> ResponseReturnValue:
    """Let all addresses count as working again that have failed since our own mail server did."""
    hours = whole_number(flask.request.form.get("hours", ""), max(OUTAGE_HOURS), 1)
    reason = flask.request.form.get("reason", "").strip()
    if hours is None or not reason:
        raise InvalidInput("Choose a time and give a reason.", field="reason")
    now = utc_now()
    mended = deliverability.mend_all(now - timedelta(hours=hours), g.me.id, reason, now)
    LOGGER.info("moderator %s lets %s addresses count as working again", g.me.id, mended)
    return flask.redirect(url_for(".show", mended=mended), 303)


@blueprint.get("/erase")
def erasing() -> ResponseReturnValue:
    """Show the form that erases a person who has asked for it, to a moderator who has just signed in."""
    return _erase_page()


def _erase_page(refusal: Refused | None = None, erased: str | None = None) -> ResponseReturnValue:
    form = flask.request.form
    page = render_template(
        "moderation/erase.html",
        address=form.get("address", ""),
        reason=form.get("reason", ""),
        recent=login.is_recent(utc_now()),
        minutes=login.RECENT // timedelta(minutes=1),
        longest=powers.LONGEST_REASON,
        refusal=refusal,
        wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        erased=erased,
    )
    return page, refusal.status if refusal else 200


@blueprint.post("/erase")
def erase() -> ResponseReturnValue:
    """Erase the person with this address, or mail the moderator a link to sign in again."""
    form, now = flask.request.form, utc_now()
    if form.get("do") == "mail":
        login.mail_sign_in_again(g.me.id, now, i18n.current_language())
        return render_template("account/link_sent.html")
    try:
        wanted = clean_address(form.get("address", ""))
        if not login.is_recent(now):
            raise InvalidInput("Sign in again before you erase a person.", field="address")
        with reading() as session:
            person = people.find(session, wanted)
        if person is None:
            raise InvalidInput("Nobody has the address “%(address)s”.", field="address", address=wanted)
        if form.get("sure") != "yes":
            raise InvalidInput("Tick the box to erase this person.", field="sure")
        personal_data.erase_as_moderator(person.id, Asker(g.me.id, form.get("reason", "")), now)
        LOGGER.info("moderator %s has erased person %s", g.me.id, person.id)
    except (InvalidInput, Conflict) as refusal:
        return _erase_page(refusal)
    return _erase_page(erased=wanted)


@blueprint.get("/games")
def games() -> ResponseReturnValue:
    """Show all games, newest first, filtered by status or issue, kind and search text."""
    query = flask.request.args
    titles = _titles()
    filters = {
        "q": _text(query.get("q", "")),
        "status": _choice(query.get("status", ""), (*GameStatus, "trouble", *issues.KINDS)),
        "kind": _choice(query.get("kind", ""), titles),
    }
    page = _page(query.get("page", ""))
    with reading() as session:
        found = session.scalars(_search(**filters).offset((page - 1) * PAGE_SIZE).limit(PAGE_SIZE + 1)).all()
        return render_template(
            "moderation/games.html",
            zone=zone(),
            games=found[:PAGE_SIZE],
            open_turns=_open_turns(session, [game.id for game in found[:PAGE_SIZE]]),
            titles=titles,
            filters=filters,
            page=page,
            more=len(found) > PAGE_SIZE,
        )


def _search(q: str, status: str, kind: str) -> Select[Game]:
    query = select(Game).order_by(Game.created_at.desc(), Game.id).options(selectinload(Game.seats))
    if status in [*GameStatus]:
        query = query.where(Game.status == status)
    elif status:
        query = query.where(issues.games(status, utc_now()))
    if kind:
        query = query.where(Game.slug == kind)
    if q:
        persons = select(Person.id).where(Person.email.icontains(q, autoescape=True))
        named = or_(Seat.name.icontains(q, autoescape=True), Seat.person_id.in_(persons))
        seated = Game.id.in_(select(Seat.game_id).where(named))
        organised = Game.organiser_id.in_(persons)
        query = query.where(
            or_(Game.id == q.lower(), Game.name.icontains(q, autoescape=True), seated, organised)
        )
    return query


def _open_turns(session: Session, ids: Sequence[str]) -> dict[str, list[Turn]]:
    """Return the open turns of each of these games."""
    found: dict[str, list[Turn]] = {game_id: [] for game_id in ids}
    for turn in session.scalars(select(Turn).where(Turn.game_id.in_(ids)).order_by(Turn.seat)):
        found[turn.game_id].append(turn)
    return found


@blueprint.get("/deeds")
def actions() -> ResponseReturnValue:
    """Show the actions and looks of the moderators and the administrator, newest first, by who and by game."""
    query = flask.request.args
    page = _page(query.get("page", ""))
    with reading() as session:
        moderators = _moderators(session)
        filters = {
            "by": _choice(query.get("by", ""), [ADMINISTRATOR, *(str(person.id) for person in moderators)]),
            "game": _text(query.get("game", "")).lower(),
            "what": _choice(query.get("what", ""), ("look", "act")),
        }
        found = session.execute(
            _select_actions(**filters).offset((page - 1) * PAGE_SIZE).limit(PAGE_SIZE + 1)
        ).all()
        return render_template(
            "moderation/actions.html",
            zone=zone(),
            actions=found[:PAGE_SIZE],
            names=_names(session, {game.id for _, _, game, _, _ in found[:PAGE_SIZE] if game is not None}),
            moderators=moderators,
            filters=filters,
            page=page,
            more=len(found) > PAGE_SIZE,
        )


def _select_actions(by: str, game: str, what: str) -> Select[*tuple[Any, ...]]:
    """Return the query of actions, each with its entry and game if it has them, its moderator and whom it is about.

    The administrator's have no moderator.
    """
    about = aliased(Person)
    entry = (Entry.game_id == ModeratorAction.game_id) & (Entry.seq == ModeratorAction.seq)
    query = select(ModeratorAction, Entry, Game, Person, about).outerjoin(Entry, entry)
    query = query.outerjoin(Game, Game.id == ModeratorAction.game_id)
    query = query.outerjoin(Person, Person.id == ModeratorAction.person_id)
    query = query.outerjoin(about, about.id == ModeratorAction.about_id)
    if by:
        query = query.where(ModeratorAction.person_id == (None if by == ADMINISTRATOR else int(by)))
    if game:
        query = query.where(ModeratorAction.game_id == game)
    if what:
        looked = log.is_act("!look")
        query = query.where(looked if what == "look" else func.coalesce(~looked, True))
    return query.order_by(ModeratorAction.id.desc())


def _moderators(session: Session) -> Sequence[Person]:
    """Return the current moderators and everybody who has acted as one."""
    acted = select(ModeratorAction.person_id).distinct()
    query = select(Person).where(or_(Person.moderator, Person.id.in_(acted)))
    return session.scalars(query.order_by(Person.name, Person.id)).all()


def _names(session: Session, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the names at each of these tables, by seat."""
    names: dict[str, list[str]] = {game_id: [] for game_id in ids}
    for seat in session.scalars(select(Seat).where(Seat.game_id.in_(names)).order_by(Seat.seat)):
        names[seat.game_id].append(seat.name)
    return names


def _titles() -> dict[str, Any]:
    return {rules.slug: rules.title for rules in latest()}


def _text(text: str) -> str:
    return text.replace("\0", "").strip()[:100]


def _choice(text: str, known: Iterable[str]) -> str:
    return text if text in known else ""


def _page(text: str) -> int:
    return whole_number(text, 999) or 1
