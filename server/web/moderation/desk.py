"""The moderators' desk: what needs attention, the search across all games, and the moderators' actions.

The blueprint is nested in `moderation`, which admits nobody else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import flask
from flask import Blueprint, g, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import ColumnElement, Select, String, and_, cast, exists, func, or_, select, tuple_, union
from sqlalchemy.orm import Session, aliased, selectinload

from byzanz.games import latest
from server import i18n
from server.accounts import login, personal_data
from server.community import reports
from server.errors import InvalidInput, Refused
from server.i18n import zone_of
from server.mail import deliverability
from server.play import autopilot, names, powers
from server.play.powers import Asker, Conflict
from server.scheduler import loop
from server.store import log, operations, people
from server.store.engine import parse_stamp, reading, stamp, utc_now
from server.store.models import (
    FAILED,
    Alert,
    Entry,
    Game,
    GameStatus,
    Mail,
    ModeratorAction,
    Person,
    Seat,
    SeatStatus,
    Turn,
)
from server.store.statements import GameRow
from server.validation import clean_address, whole_number
from server.web.moderation.view import DeskPage, IssueList

blueprint = Blueprint("desk", __name__)

# ---- what needs attention ----
# Late turns, unreachable players, and games that are stuck, stopped or on hold. Each kind of issue is a selection of
# games, for the search, and a list of occurrences, for the desk.

DUE_SOON = timedelta(hours=6)
"""Turns that are due within this time are listed."""
OVERDUE_MAIL = timedelta(hours=1)
"""A turn whose mail has not been sent for this long is listed; digest subscribers may wait a day."""
STALLED_AFTER = timedelta(days=7)
"""A game without a log entry for this long is stuck."""
RECENT = timedelta(days=7)
"""How long a failed mail is listed."""
MOST_SHOWN = 8
"""Occurrences of one kind that the desk shows; the search has all."""

_Selection = Select[*tuple[Any, ...]]


def _is_active() -> ColumnElement[bool]:
    """The game runs: it is neither paused nor on hold."""
    return and_(_is_running(), Game.paused.is_(False), Game.quarantine.is_(None))


def _is_running() -> ColumnElement[bool]:
    """The game has begun and is not over; nobody waits for a visitor."""
    return and_(Game.status == GameStatus.RUNNING, Game.trial.is_(False))


def _waiting_turns(*what: Any) -> _Selection:
    """Select the open turns of people in active games."""
    joined = select(*what).select_from(Turn).join(Game, Game.id == Turn.game_id)
    return joined.where(_is_active(), Turn.bot.is_(False))


def _late(now: datetime, *what: Any) -> _Selection:
    return _waiting_turns(*what).where(Turn.due_at <= now + DUE_SOON)


def _unsent(now: datetime, *what: Any) -> _Selection:
    """Select turns whose mail should have been sent long ago."""
    found = _waiting_turns(*what).join(Seat, (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat))
    found = found.join(Person, Person.id == Seat.person_id).where(Person.cadence != "digest")
    return found.where(
        Turn.started_at.is_(None), Turn.refused.is_(None), Turn.opened_at <= now - OVERDUE_MAIL
    )


def _unreached(*what: Any) -> _Selection:
    """Select seats whose players get no mail, and turns whose clocks are stopped for that."""
    persons = select(Person.id).where(_is_lost())
    lost = select(Seat.game_id, Seat.seat).where(Seat.person_id.in_(persons))
    stopped = select(Turn.game_id, Turn.seat).where(Turn.refused_at.is_not(None))
    found = select(*what).select_from(Seat).join(Game, Game.id == Seat.game_id)
    found = found.join(Person, Person.id == Seat.person_id)
    found = found.outerjoin(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
    return found.where(_is_expected(), tuple_(Seat.game_id, Seat.seat).in_(union(lost, stopped)))


def _is_lost() -> ColumnElement[bool]:
    """The person gets no mail."""
    return or_(Person.unreachable.is_not(None), Person.suppressed.is_not(None))


def _is_expected() -> ColumnElement[bool]:
    """Somebody has the seat in a game that is not over, or is invited to it."""
    return and_(
        Game.status.in_((GameStatus.INVITING, GameStatus.RUNNING)),
        Seat.status.in_((SeatStatus.INVITED, SeatStatus.SEATED)),
    )


def _is_listed() -> ColumnElement[bool]:
    """`unreached` lists a seat of the person of an email; it is found from the email, for few emails have failed."""
    seats = select(Seat.seat).join(Game, Game.id == Seat.game_id).where(Seat.person_id == Mail.person_id)
    seats = seats.outerjoin(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
    found = seats.where(_is_expected(), or_(_is_lost(), Turn.refused_at.is_not(None)))
    return found.correlate(Mail, Person).exists()


def _stuck(now: datetime, *what: Any) -> _Selection:
    """Select games that are paused, or whose last entry is long ago."""
    last = (Entry.game_id == Game.id) & (Entry.seq == Game.head)
    found = select(*what).select_from(Game).join(Entry, last)
    found = found.where(_is_running(), Game.quarantine.is_(None))
    return found.where(or_(Game.paused, Entry.at <= stamp(now - STALLED_AFTER)))


def _on_autopilot(*what: Any) -> _Selection:
    """Select seats for which the server plays: their players do not answer or have left."""
    found = select(*what).select_from(Seat).join(Game, Game.id == Seat.game_id)
    return found.where(Seat.autopilot, _is_running())


KINDS = ("late", "mail", "stuck", "aside", "away")
"""The kinds of issues, as the search names them."""


def games_with(kind: str, now: datetime) -> ColumnElement[bool]:
    """Select the games with this kind of issue; with any for `trouble`."""
    match kind:
        case "late":
            return Game.id.in_(_late(now, Turn.game_id))
        case "mail":
            return or_(Game.id.in_(_unreached(Seat.game_id)), Game.id.in_(_unsent(now, Turn.game_id)))
        case "stuck":
            return Game.id.in_(_stuck(now, Game.id))
        case "aside":
            return Game.quarantine.is_not(None)
        case "away":
            return Game.id.in_(_on_autopilot(Seat.game_id))
    return or_(*(games_with(each, now) for each in KINDS))


def late(session: Session, now: datetime) -> IssueList:
    """List turns that are due soon or overdue, the most urgent first: (game, seat, turn)."""
    own = (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat)
    return _first_rows(
        session, _late(now, Game, Seat, Turn).join(Seat, own).order_by(Turn.due_at, Turn.game_id)
    )


def unsent(session: Session, now: datetime) -> IssueList:
    """List turns whose mail has not been sent: (game, seat, turn)."""
    return _first_rows(session, _unsent(now, Game, Seat, Turn).order_by(Turn.opened_at, Turn.game_id))


def unreached(session: Session) -> IssueList:
    """List seats that no mail reaches: (game, seat, person, open turn or None)."""
    order = (Turn.refused_at.is_(None), Turn.refused_at, Seat.game_id, Seat.seat)
    return _first_rows(session, _unreached(Game, Seat, Person, Turn).order_by(*order))


def stuck_games(session: Session, now: datetime) -> IssueList:
    """List stuck games, the longest first: (game, last entry)."""
    return _first_rows(session, _stuck(now, Game, Entry).order_by(Entry.at, Game.id))


def quarantined(session: Session) -> IssueList:
    """List games that are on hold: (game,)."""
    return _first_rows(session, select(Game).where(Game.quarantine.is_not(None)).order_by(Game.id))


def autopilot_games(session: Session) -> IssueList:
    """List seats on autopilot: (game, seat)."""
    return _first_rows(session, _on_autopilot(Game, Seat).order_by(Game.id, Seat.seat))


def refused(session: Session, now: datetime) -> IssueList:
    """List recently failed mails to people who are still in the game, newest first: (mail, person, game or None).

    Those about which `unreached` or `alerts` lists something are left out.
    """
    found = select(Mail, Person, Game).join(Person, Person.id == Mail.person_id)
    found = found.outerjoin(Game, Game.id == Mail.game_id)
    seated = exists().where(Seat.game_id == Mail.game_id, Seat.person_id == Mail.person_id)
    concerned = or_(Mail.game_id.is_(None), Game.organiser_id == Mail.person_id, seated)
    alert = exists().where(
        Alert.key == "refused:" + Mail.game_id + ":" + cast(Mail.person_id, String),
        Alert.cleared_at.is_(None),
    )
    found = found.where(FAILED, Mail.not_before > now - RECENT, concerned, ~_is_listed(), ~alert)
    return _first_rows(session, found.order_by(Mail.not_before.desc(), Mail.id.desc()))


def open_alerts(session: Session) -> IssueList:
    """List open alerts, newest first: (alert, its game or None).

    Those about what another list has with its remedy are left out.
    """
    person, own = cast(Seat.person_id, String), Seat.game_id + ":" + cast(Seat.seat, String)
    about = union(  # as `deliverability`, `autopilot` and `quarantines` name them
        _unreached("refused:" + Seat.game_id + ":" + person),
        _unreached("complaint:" + person),
        _on_autopilot("left:" + own),
        _on_autopilot("lost:" + own),
        select("quarantine:" + Game.id).where(Game.quarantine.is_not(None)),
        select("rests:" + Game.id).where(_is_running(), Game.paused, Game.quarantine.is_(None)),
    )
    found = select(Alert, Game).outerjoin(Game, Game.id == Alert.game_id)
    found = found.where(Alert.cleared_at.is_(None), Alert.key.not_in(about))
    return _first_rows(session, found.order_by(Alert.at.desc(), Alert.id.desc()))


def _first_rows(session: Session, query: _Selection) -> IssueList:
    rows = session.execute(query.limit(MOST_SHOWN)).all()
    if len(rows) < MOST_SHOWN:
        return IssueList(rows, len(rows))
    count = query.order_by(None).with_only_columns(func.count(), maintain_column_froms=True)
    return IssueList(rows, session.scalar(count) or 0)


# ---- pages ----

LOGGER = logging.getLogger(__name__)

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
        on_autopilot, stuck = autopilot_games(session), stuck_games(session, now)
        page = DeskPage(
            zone=zone(),
            now=now,
            alerts=open_alerts(session),
            late=late(session, now),
            unsent=unsent(session, now),
            unreached=unreached(session),
            refused=refused(session, now),
            stuck=stuck,
            on_hold=quarantined(session),
            on_autopilot=on_autopilot,
            last={game.id: parse_stamp(entry.at) for game, entry in stuck.rows},
            unattended=autopilot.unattended(session, [game.id for game, _ in stuck.rows if game.paused]),
        )
        return render_template(
            "moderation/desk.html",
            page=page,
            now=now,
            zone=page.zone,
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
    if found.key == operations.CLOCK_JUMPED:  # clearing this alert confirms that the clock is right
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
        "status": _choice(query.get("status", ""), (*GameStatus, "trouble", *KINDS)),
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
        query = query.where(games_with(status, utc_now()))
    if kind:
        query = query.where(Game.slug == kind)
    if q:
        persons = select(Person.id).where(Person.email.icontains(q, autoescape=True))
        named = or_(names.column().icontains(q, autoescape=True), Seat.person_id.in_(persons))
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
    found: dict[str, list[str]] = {game_id: [] for game_id in ids}
    query = select(Game, Seat).join(Seat, Seat.game_id == Game.id).where(Game.id.in_(found))
    for game, seat in session.execute(query.order_by(Seat.game_id, Seat.seat)).unique():
        found[game.id].append(names.of(GameRow.of(game), seat, names.MODERATOR))
    return found


def _titles() -> dict[str, Any]:
    return {rules.slug: rules.title for rules in latest()}


def _text(text: str) -> str:
    return text.replace("\0", "").strip()[:100]


def _choice(text: str, known: Iterable[str]) -> str:
    return text if text in known else ""


def _page(text: str) -> int:
    return whole_number(text, 999) or 1
