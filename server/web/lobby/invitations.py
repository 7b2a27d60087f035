"""Invitations, organiser's pages, and free seats that people take themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import games
from byzanz.bots import BOTS
from byzanz.rules import PUBLIC
from server import errors, i18n, validation
from server.accounts import login
from server.community import blocks, reliability, results
from server.config import settings
from server.errors import InvalidInput, Refused, TooMany
from server.i18n import zone_of
from server.lobby import create, invitations, notify, open_tables, rematch
from server.lobby import settings as lobby_settings
from server.lobby.create import has_name
from server.mail import subscriptions
from server.play import history, names, positions
from server.play.game import load
from server.store import links, mail_kinds
from server.store.engine import reading, utc_now
from server.store.models import Game, GameStatus, LinkPurpose, Mail, Person, SeatStatus
from server.store.statements import GameRow, SeatRow
from server.web.http import GAME_ID, csrf, limiter, note_presence, unknown_link
from server.web.lobby import new_game
from server.web.lobby.organiser_page import OrganiserPage, player_lines

blueprint = Blueprint("invitations", __name__)


@blueprint.get("/i/<token>")
def invitation(token: str) -> ResponseReturnValue:
    """Show an invitation; viewing it changes nothing."""
    return _invitation_page(token, None)


def _invitation_page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        found = invitations.invitation(session, token, utc_now()) or unknown_link(token)
        form, table = flask.request.form, load(session, found.game.id, utc_now())
        own = found.seat.seat if found.seat else None
        reader = PUBLIC if own is None else own
        host = table.person(table.game.organiser_id)
        page = render_template(
            "lobby/invitation.html",
            token=token,
            game=found.game,
            seat=found.seat,
            seats=table.seats,
            reader=reader,
            fixed=history.fixed_cuts(table.game, table.seats, reader),
            players=player_lines(table.game, table.seats, own, shown_of(session, table.seats)),
            organiser=host,
            organiser_name=names.of_person(table.game, table.seats, host, reader),
            title=games.title_of(found.game.slug),
            follows=rematch.game_before(session, found.game.id) is not None,
            length=results.estimate_length(session, table.game, table.seats),
            name=form.get("name", _offered_name(found)),
            me=found.person,
            has_hours=lobby_settings.has_hours(found.person),
            hours=form,
            zones=validation.time_zones(),
            cut=form.get("cut", create.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200


def shown_of(session: Session, seats: Sequence[SeatRow]) -> dict[int, reliability.Shown]:
    """Return how those who are seated answer, by person."""
    seated = [
        seat.person_id for seat in seats if seat.status == SeatStatus.SEATED and seat.person_id is not None
    ]
    return reliability.shown(session, seated)


def _offered_name(found: invitations.Invitation) -> str:
    """Return the name that an invited person has used before, else the one the organiser gave them."""
    if found.seat is None or has_name(found.person):
        return found.person.name
    return names.of(GameRow.of(found.game), found.seat, found.seat.seat)


@blueprint.post("/i/<token>")
@limiter.limit("30/minute")
def answer(token: str) -> ResponseReturnValue:
    """Accept or decline; if the game begins with it, go straight to the table."""
    form, now = flask.request.form, utc_now()
    try:
        match form.get("answer"):
            case "accept":
                language = i18n.current_language()
                hours = lobby_settings.parse_own_hours(form)
                name, cut = form.get("name", ""), form.get("cut", "")
                game_id = invitations.accept(token, name, cut, now, language, hours)
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
        link = links.find(session, LinkPurpose.INVITE, token, now)
        if link is None:
            return None
        note_presence(link.person_id, game_id)
        return seat_url(session, link.person_id, game_id)


def seat_url(session: Session, person_id: int | None, game_id: str) -> str | None:
    """Return the URL of a person's seat in a running game, None before the game has begun."""
    game = session.get_one(Game, game_id)
    if game.status != GameStatus.RUNNING:
        return None
    link = None if person_id is None else links.existing(session, LinkPurpose.SEAT, person_id, game_id)
    return links.url(link) if link else None


@blueprint.get("/n/<token>")
def refusal_form(token: str) -> ResponseReturnValue:
    """Show a button that keeps all invitations from this address, or lets them through again."""
    return _refusal_page(token)


@blueprint.post("/n/<token>")
@limiter.limit("30/minute")
def refuse_all(token: str) -> ResponseReturnValue:
    """Keep all invitations from this address, also without a choice, as mail clients post it (RFC 8058).

    It answers with a page instead of a redirect, which mail clients would not follow.
    """
    with reading() as session:
        link = links.find(session, LinkPurpose.NOINVITE, token, utc_now()) or unknown_link(token)
    do = flask.request.form.get("do", "never")
    if do not in ("never", "undo"):
        flask.abort(400)
    subscriptions.refuse_invitations(link.person_id, do == "never")
    return _refusal_page(token)


def _refusal_page(token: str) -> ResponseReturnValue:
    with reading() as session:
        link = links.find(session, LinkPurpose.NOINVITE, token, utc_now()) or unknown_link(token)
        person = session.get_one(Person, link.person_id)
        return render_template("lobby/no_invitations.html", refused=person.no_invitations)


@blueprint.get("/o/<token>")
def organise(token: str) -> ResponseReturnValue:
    """Show the organiser who has accepted and what they can do; viewing it changes nothing."""
    return _organiser_page(token, None)


def _organiser_page(token: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = invitations.organised_game(session, token, utc_now()) or unknown_link(token)
        table = load(session, game.id, utc_now())
        seats = table.seats
        rules, form = positions.rules_of(table.game), flask.request.form
        host = session.get_one(Person, game.organiser_id)
        own = next((seat for seat in seats if seat.person_id == game.organiser_id), None)
        reminded, now = flask.request.args.get("reminded", ""), utc_now()
        organised = OrganiserPage(
            table.game,
            seats,
            own,
            now,
            rules.seats,
            _mails(session, game),
            form if refusal else {},
            next(
                (seat for seat in seats if str(seat.seat) == reminded and seat.status == SeatStatus.INVITED),
                None,
            ),
        )
        page = render_template(
            "lobby/organiser.html",
            page=organised,
            base_url=settings().base_url,
            token=token,
            game=game,
            seats=seats,
            reader=names.ORGANISER,
            players=player_lines(
                table.game, seats, own.seat if own else None, shown := shown_of(session, seats)
            ),
            fixed=history.fixed_cuts(table.game, seats, names.ORGANISER),
            shown=shown,
            own=own,
            title=rules.title,
            rules=rules,
            length=results.estimate_length(session, table.game, seats),
            me=host,
            has_hours=lobby_settings.has_hours(host),
            hours=form or {"time_zone": game.time_zone},
            zone=zone_of(host, game),
            zones=validation.time_zones(),
            invitation=_own_invitation(session, game) if own and own.status == SeatStatus.INVITED else None,
            may_keep_going=rematch.may_keep_going(table, now),
            bots=tuple(BOTS),
            vacancies=open_tables.vacancies(table, by_player=False),
            now=now,
            name=form.get("name", notify.requested_name(session, game)),
            message=form.get("message", game.message),
            cut=form.get("cut", create.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
            **new_game.pace_context(game, refused=refusal is not None and form.get("do") == "pace"),
        )
    return page, refusal.status if refusal else 200


def _own_invitation(session: Session, game: Game) -> str | None:
    """Return the URL of the organiser's own invitation, which they have if the server made the game in their name."""
    link = links.existing(session, LinkPurpose.INVITE, game.organiser_id or 0, game.id)
    return links.url(link) if link else None


def _mails(session: Session, game: Game) -> dict[int, Mail]:
    """Return the newest invitation or reminder of each person."""
    about = (Mail.game_id == game.id, Mail.kind.in_(mail_kinds.INVITATIONS))
    return {mail.person_id: mail for mail in session.scalars(select(Mail).where(*about).order_by(Mail.id))}


OrganiserAction = Callable[[str, int, datetime], object]
ACTS: dict[str, OrganiserAction] = {
    "confirm": lambda token, _seat, now: _confirm(token, now),
    "remind": invitations.remind,
    "drop": invitations.drop,
    "invite": lambda token, seat, now: invitations.reinvite(token, seat, _guest(), now),
    "again": invitations.invite_again,
    "remove": invitations.remove,
    "fill-all": lambda token, _seat, now: invitations.fill_all(token, flask.request.form.get("bot", ""), now),
    "keep-open": lambda token, _seat, now: invitations.keep_open(token, now),
    "offer": open_tables.offer_as_organiser,
    "withdraw": lambda token, seat, now: open_tables.offer_as_organiser(token, seat, now, offered=False),
    "fill": lambda token, seat, now: invitations.fill(token, seat, flask.request.form.get("bot", ""), now),
    "start": lambda token, _seat, now: invitations.start(token, now),
    "cancel": lambda token, _seat, now: invitations.cancel(token, now),
    "pace": lambda token, _seat, now: _set_time_control(token, now),
    "list": lambda token, _seat, now: invitations.set_listed(token, True, now),
    "talk": lambda token, _seat, now: invitations.set_talk(token, True, now),
    "hush": lambda token, _seat, now: invitations.set_talk(token, False, now),
    "unlist": lambda token, _seat, now: invitations.set_listed(token, False, now),
    "go-on": lambda token, _seat, now: invitations.set_keep_going(token, True, now),
    "end": lambda token, _seat, now: invitations.set_keep_going(token, False, now),
}
"""The organiser's actions, by the value that their buttons post as `do`."""


def _set_time_control(token: str, now: datetime) -> None:
    with reading() as session:
        game = invitations.organised_game(session, token, now) or unknown_link(token)
    invitations.set_time_control(token, new_game.changed(game), now)


def _confirm(token: str, now: datetime) -> str:
    form = flask.request.form
    return create.confirm_game(
        token,
        now,
        form.get("cut", ""),
        form.get("name"),
        i18n.current_language(),
        message=form.get("message"),
        hours=lobby_settings.parse_own_hours(form),
        shuffle="shuffle" in form,
    )


def _guest() -> validation.Guest:
    name, typed = (flask.request.form.get(field, "").strip() for field in ("guest_name", "guest"))
    return validation.parse_guest(f"{name} <{typed}>" if name and "<" not in typed else typed, "guest")


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
        game = invitations.organised_game(session, token, now)
        if game is not None and game.organiser_id is not None:
            note_presence(game.organiser_id, game.id)
        starts = form["do"] in {"confirm", "fill", "fill-all", "remove", "start"}
        seat = seat_url(session, game.organiser_id, game.id) if game and starts else None
    reminded = number if form["do"] == "remind" else None
    return flask.redirect(seat or url_for(".organise", token=token, reminded=reminded), 303)


# Authorised by the token in the URL; they work without cookies.
for view in (answer, act, refuse_all):
    csrf.exempt(view)


# ---- free seats ----


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
        hours = lobby_settings.parse_own_hours(form)
        invitations.take_free_seat(game_id, me.id, form.get("name", ""), form.get("cut", ""), now, hours)
    except Refused as refusal:
        if not _holds_seat(game_id, me.id):  # a second press of the button that took it
            return _join_page(game_id, refusal)
    with reading() as session:
        seat = seat_url(session, me.id, game_id)
    return flask.redirect(seat or url_for(".free_seat", game_id=game_id), 303)


def _holds_seat(game_id: str, person_id: int) -> bool:
    with reading() as session:
        seat = invitations.seat_for(session, _listed_game(session, game_id), person_id)
        return seat is not None and seat.status == SeatStatus.SEATED


@blueprint.post("/join/<game_id>/sign-in")
@limiter.limit("10/hour")
def ask_link(game_id: str) -> ResponseReturnValue:
    """Mail a sign-in link to the address in the form, known or not, for it leads back to the table with a free seat."""
    address = flask.request.form.get("address", "")
    with reading() as session:
        open_game = _listed_game(session, game_id).status == GameStatus.INVITING
    try:
        login.mail_sign_in(address, utc_now(), i18n.current_language(), newcomers=open_game)
    except (InvalidInput, TooMany) as refusal:
        return _join_page(game_id, refusal)
    flask.session[login.TABLE_KEY] = game_id
    flask.session.pop(login.SEAT_KEY, None)
    return render_template("account/link_sent.html", newcomers=open_game)


def _listed_game(session: Session, game_id: str) -> Game:
    game = session.get(Game, game_id) if GAME_ID.fullmatch(game_id) else None
    if game is None or not game.listed or game.status == GameStatus.ASKED:
        flask.abort(404)
    return game


def _join_page(game_id: str, refusal: Refused | None) -> ResponseReturnValue:
    with reading() as session:
        game = _listed_game(session, game_id)
        table = load(session, game.id, utc_now())
        seats = table.seats
        me = login.signed_in(session)
        if me is not None and blocks.at_table(session, game, me.id):  # as if all seats were taken
            seats = [seat for seat in seats if seat.status != SeatStatus.FREE]
        own = next((seat for seat in seats if me is not None and seat.person_id == me.id), None)
        form = flask.request.form
        page = render_template(
            "lobby/join.html",
            game=game,
            seats=seats,
            reader=(reader := names.reader_of(seats, me.id if me else None)),
            fixed=history.fixed_cuts(table.game, seats, reader),
            players=player_lines(table.game, seats, own.seat if own else None, shown_of(session, seats)),
            me=me,
            is_seated=own is not None,
            free=sum(seat.status == SeatStatus.FREE for seat in seats)
            if game.status == GameStatus.INVITING
            else 0,
            length=results.estimate_length(session, table.game, seats),
            title=games.title_of(game.slug),
            name=form.get("name", me.name if me else ""),
            has_hours=me is not None and lobby_settings.has_hours(me),
            hours=form,
            zones=validation.time_zones(),
            cut=form.get("cut", create.random_cut()),
            refusal=refusal,
            wrong=refusal.field if isinstance(refusal, InvalidInput) else None,
        )
    return page, refusal.status if refusal else 200
