"""A moderator's page of one game: its log, its forms, and its table talk."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flask
from flask import Blueprint, g, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import games
from byzanz.rules import ALL, PUBLIC, Viewer
from server import play, validation
from server.accounts import login
from server.community import reports
from server.errors import NoSuchGame, Refused, Stale
from server.lobby import open_tables
from server.play import autopilot, moderation, names, positions, powers
from server.play.game import Table, load, tenures_of
from server.play.moderation import ActNotPossible, InvalidAct, Newcomer
from server.play.powers import Asker
from server.store import log
from server.store.engine import parse_stamp, reading, utc_now
from server.store.models import Entry, GameStatus, MailStatus, ModeratorAction, Person
from server.store.statements import GameRow, SeatRow
from server.validation import whole_number
from server.web.game import history, mail_log
from server.web.http import GAME_ID
from server.web.moderation import desk
from server.web.moderation.view import GamePage, SeatLine

# ---- forms ----


@dataclass(frozen=True, slots=True)
class RequestedAct:
    """An act as a form requests it.

    Args:
        words: as the log will store it.
        newcomer: who takes over the seat, for `!replace`.
        keep_link: mail the same link again.
    """

    words: tuple[str, ...]
    newcomer: Newcomer | None = None
    keep_link: bool = False


def read_act(form: Mapping[str, str]) -> RequestedAct:
    """Return the act that a form requests.

    Raises:
        Refused: there is no such act, or one of its fields is malformed.
    """
    kind, number = form.get("act", ""), form.get("seat", "")
    match kind:
        case "void":
            return RequestedAct(("!void", form.get("entry", "")))
        case "extend":
            return RequestedAct(("!extend", number, _seconds(form.get("hours", ""))))
        case "credit":
            return RequestedAct(("!credit", _seconds(form.get("hours", ""))))
        case "bank":
            return RequestedAct(("!bank", number, _seconds(form.get("hours", ""))))
        case "autopilot":
            return RequestedAct(("!autopilot", number, _switch(form.get("switch", ""))))
        case "replace":
            guest = validation.parse_guest(form.get("who", ""), "who")
            return RequestedAct(("!replace", number), Newcomer(guest.name, guest.address))
        case "remail":
            return RequestedAct(("!link", number), keep_link=True)
        case "link":
            return RequestedAct(("!link", number))
        case "pause" | "resume" | "abandon" | "note":
            return RequestedAct((f"!{kind}",))
    raise InvalidAct("Unknown action. Choose one of: %(acts)s.", acts=", ".join(moderation.ACTS))


def _seconds(hours: str) -> str:
    number = validation.whole_number(hours, 9999)
    if number is None:
        raise InvalidAct("“%(hours)s” must be a whole number of hours.", hours=validation.excerpt(hours))
    return str(number * 3600)


def _switch(word: str) -> str:
    if word not in ("on", "off"):
        raise InvalidAct("An autopilot can only be switched on or off.")
    return word


def voided_lines(table: Table, words: Sequence[str], zone: str) -> list[history.HistoryLine]:
    """Return the entries that a void would take back, as the public sees them; none for other acts.

    Raises:
        ActNotPossible: the entry is not a seat's move that still counts.
    """
    if words[0] != "!void":
        return []
    first = validation.whole_number(words[1], table.game.head, 1)
    if first is None:
        raise ActNotPossible(
            "Entry %(seq)s is not a player’s move that still counts.", seq=validation.excerpt(words[1])
        )
    lines = history.lines(table, PUBLIC, zone, after=first - 1)
    if lines[0].voided or lines[0].act or lines[0].entry.seat is None:
        raise ActNotPossible("Entry %(seq)s is not a player’s move that still counts.", seq=first)
    return [line for line in lines if not line.voided and not line.act]


def affected_seat(table: Table, words: Sequence[str]) -> SeatRow | None:
    """Return the seat that the act concerns, None if it concerns the table.

    Raises:
        InvalidAct: there is no such seat.
    """
    if words[0] not in {"!extend", "!bank", "!autopilot", "!replace", "!link"}:
        return None
    text = words[1]
    number = validation.whole_number(text, 99)
    if number is None or number >= len(table.seats):
        raise InvalidAct("There is no seat %(seat)s in this game.", seat=validation.excerpt(text))
    return table.seats[number]


# ---- the page ----
# For everybody else these pages do not exist. Hidden hands of a running game are revealed by a POST that leaves a
# `!look` entry; the page it leads to shows the game up to that entry and no further.

blueprint = Blueprint("moderation", __name__, url_prefix="/m")
blueprint.register_blueprint(desk.blueprint)
MOST_MAILS = 60
"""Outgoing and incoming mails on the page of a game: the newest."""
MOST_WORDS = 100
"""What was said, on the page of a look: the newest."""


@blueprint.before_request
def _only_moderators() -> None:
    with reading() as session:
        me = login.signed_in(session)
    if me is None or not me.moderator:
        flask.abort(404)
    g.me = me


def known_game(session: Session, game_id: str) -> Table:
    """Return the game with this ID, or answer that there is no such page."""
    if not GAME_ID.fullmatch(game_id):
        flask.abort(404)
    try:
        return load(session, game_id, utc_now())
    except NoSuchGame:
        flask.abort(404)


def is_warned() -> bool:
    """Whether the form says that the table may read of the moderator's stake."""
    return flask.request.form.get("warned") == "yes"


@blueprint.get("/<game_id>")
def game(game_id: str) -> ResponseReturnValue:
    """Show one game: its seats, mails, clocks, acts, and its history as the public sees it.

    The query may choose an act (`do`) and its seat (`of`) or `entry`, whose form is then open.
    """
    query = flask.request.args
    chosen = {"act": query.get("do", ""), "seat": query.get("of", ""), "entry": query.get("entry", "")}
    return game_page(game_id, chosen)


def game_page(game_id: str, form: Mapping[str, str], refusal: Refused | None = None) -> ResponseReturnValue:
    """Return the page of a game, with what was typed into a form that was refused."""
    with reading() as session:
        table = known_game(session, game_id)
        game = table.game
        door = powers.standing(session, game.id, g.me.id)
        items = mail_log.of_game(session, game, desk.zone(), player_id=g.me.id if door.stake else None)
        log_context = _history_context(table, PUBLIC, url_for(".game", game_id=game.id))
        if log_context is not None:
            telling = [item for item in items if item.status not in (MailStatus.SENT, MailStatus.DROPPED)]
            log_context["beside"] = mail_log.by_entry(log_context, telling)
            log_context["parts"] = history.newest_first(log_context["parts"])
        context = _game_context(table)
        page = render_template(
            "moderation/game.html",
            **context | (log_context or {}),
            page=_page_of(context, door, form, log_context),
            readable=log_context is not None,
            undo=_undoable(table, form.get("entry", "")),
            looks=_looks(session, game),
            said=reports.count(session, game.id),
            longest_silence=reports.LONGEST_SILENCE,
            door=door,
            mails=[item for item in reversed(items) if item.status != "received"][:MOST_MAILS],
            received=[item for item in reversed(items) if item.status == "received"][:MOST_MAILS],
            form=form,
            refusal=refusal,
        )
    return page, refusal.status if refusal else 200


def _page_of(
    context: Mapping[str, Any], door: powers.Standing, form: Mapping[str, str], log: Mapping[str, Any] | None
) -> GamePage:
    game, held, turns = context["game"], context["held"], context["turns"]
    runs = game.status == GameStatus.RUNNING
    lines = [
        SeatLine(seat, turns.get(seat.seat), context["now"], runs, held.get(seat.seat))
        for seat in context["seats"]
    ]
    return GamePage(game, lines, door, form, context["unattended"], log)


def _game_context(table: Table) -> dict[str, Any]:
    session, game, seats = table.session, table.game, table.seats
    held = _held(session, game)
    ids = {seat.person_id for seat in seats} | {game.organiser_id}
    persons = {person.id: person for person in session.scalars(select(Person).where(Person.id.in_(ids)))}
    return {
        "zone": desk.zone(),
        "now": utc_now(),
        "game": game,
        "title": games.title_of(game.slug),
        "explained": mail_log.explained,
        "seats": seats,
        "held": held,
        "predecessors": {seat: before[0] for seat, (_since, before) in held.items() if len(before) == 1},
        "names": names.at_table(game, seats, names.MODERATOR),
        "host": persons.get(game.organiser_id or 0),
        "vacancies": open_tables.vacancies(table, by_player=False),
        "unattended": autopilot.is_unattended(table),
        "turns": table.turns,
    }


def _held(session: Session, game: GameRow) -> dict[int, tuple[int, list[str]]]:
    """Return who sits where somebody else began: the entry since which they do, and the names of those before them."""
    found = tenures_of(session, game.id)
    persons = session.scalars(select(Person).where(Person.id.in_({held.person_id for held in found})))
    known = {person.id: person.name for person in persons}
    now = [held for held in found if held.to_seq is None and held.from_seq]
    return {
        held.seat: (
            held.from_seq,
            [
                known[other.person_id]
                for other in found
                if other.seat == held.seat and other is not held and other.person_id in known
            ],
        )
        for held in now
    }


def _history_context(
    table: Table, viewer: Viewer, here: str, last: int | None = None
) -> dict[str, Any] | None:
    """Return the context of templates/game/log.html up to the entry `last`; None if the log cannot be read."""
    query = flask.request.args.to_dict()
    if last is not None:
        query["at"] = str(whole_number(query.get("at", ""), last, 1) or last)
    try:
        return (
            history.page_context(table, viewer, desk.zone(), query, here, last, names.MODERATOR)
            if table.game.head
            else None
        )
    except positions.Broken:
        return None


def _undoable(table: Table, entry: str) -> history.HistoryLine | None:
    """Return the chosen entry as the public sees it, or None if a void cannot begin with it."""
    try:
        return voided_lines(table, ("!void", entry), desk.zone())[0]
    except Refused:
        return None


def _looks(session: Session, game: GameRow) -> list[Entry]:
    """Return this moderator's looks at this game."""
    own = (
        ModeratorAction.game_id == game.id,
        ModeratorAction.person_id == g.me.id,
        log.is_act("!look"),
    )
    joined = select(Entry).join(
        ModeratorAction, (ModeratorAction.game_id == Entry.game_id) & (ModeratorAction.seq == Entry.seq)
    )
    return list(session.scalars(joined.where(*own).order_by(Entry.seq.desc())))


@blueprint.post("/<game_id>/look")
def look(game_id: str) -> ResponseReturnValue:
    """Reveal hidden hands: leaves an entry with the reason, which the players see, and leads to what was revealed."""
    form = flask.request.form
    with reading() as session:
        known_game(session, game_id)
    try:
        act = f"!look {form.get('viewer', '')}"
        seq = play.moderate(
            game_id, act, reason=form.get("reason", ""), person_id=g.me.id, now=utc_now(), warned=is_warned()
        )
    except Refused as refusal:
        return game_page(game_id, flask.request.form, refusal)
    return flask.redirect(url_for(".show_look", game_id=game_id, seq=seq), 303)


@blueprint.get("/<game_id>/look/<int:seq>")
def show_look(game_id: str, seq: int) -> ResponseReturnValue:
    """Show the game up to one of the moderator's looks, with the hands it revealed."""
    with reading() as session:
        table = known_game(session, game_id)
        game = table.game
        entry = next((entry for entry in _looks(session, game) if entry.seq == seq), None)
        if entry is None or powers.standing(session, game.id, g.me.id).stake is not None:
            flask.abort(404)
        word = entry.move.split()[1]
        viewer: Viewer = int(word) if word.isdigit() else ALL if word == ALL else PUBLIC
        here = url_for(".show_look", game_id=game.id, seq=seq)
        log_context = _history_context(table, viewer, here, last=seq)
        return render_template(
            "moderation/look.html",
            **{
                "game": game,
                "zone": desk.zone(),
                "names": names.at_table(game, table.seats, names.MODERATOR),
            }
            | (log_context or {}),
            entry=entry,
            viewer=viewer,
            readable=log_context is not None,
            heard=None
            if isinstance(viewer, int)  # the entry names one hand and nothing else
            else reports.heard(session, game.id, parse_stamp(entry.at), MOST_WORDS),
        )


@blueprint.post("/<game_id>/preview")
def preview(game_id: str) -> ResponseReturnValue:
    """Preview an act; nothing is done yet."""
    return _preview_page(game_id, None)


def _preview_page(game_id: str, moved: Refused | None) -> ResponseReturnValue:
    try:
        requested = read_act(flask.request.form)
        with reading() as session:
            table = known_game(session, game_id)
            reason = flask.request.form.get("reason", "")
            moderation.check_known(requested.words)
            time_for = moderation.gives_time(session, game_id, requested.words)
            stake = powers.admit(session, requested.words[0], g.me.id, game_id=game_id, gives_time=time_for)
            moderation.check(len(table.seats), requested.words, reason)
            page = render_template(
                "moderation/preview.html",
                **_game_context(table),
                act="remail" if requested.keep_link else requested.words[0][1:],
                requested=requested,
                voided=voided_lines(table, requested.words, desk.zone()),
                seat=affected_seat(table, requested.words),
                form=flask.request.form,
                stake=stake,
                refusal=moved,
            )
    except Refused as refusal:
        return game_page(game_id, flask.request.form, refusal)
    return page, moved.status if moved else 200


@blueprint.post("/<game_id>/offer")
def offer(game_id: str) -> ResponseReturnValue:
    """Offer a seat whose player is away to other players, or end the offer."""
    form, now = flask.request.form, utc_now()
    number = whole_number(form.get("seat", ""), 99)
    if number is None or form.get("do") not in ("offer", "withdraw"):
        flask.abort(400)
    with reading() as session:
        known_game(session, game_id)
    try:
        by = Asker(g.me.id, form.get("reason", ""), is_warned())
        open_tables.offer_as_moderator(game_id, number, by, now, offered=form["do"] == "offer")
    except Refused as refusal:
        return game_page(game_id, {}, refusal)
    return flask.redirect(url_for(".game", game_id=game_id), 303)


@blueprint.post("/<game_id>/act")
def act(game_id: str) -> ResponseReturnValue:
    """Carry out a previewed act, unless the game has moved on since: then show a new preview."""
    form = flask.request.form
    with reading() as session:
        known_game(session, game_id)
    seen = whole_number(form.get("seen", ""), 999_999_999)
    if seen is None:
        flask.abort(400)
    try:
        requested = read_act(flask.request.form)
        play.moderate(
            game_id,
            " ".join(requested.words),
            reason=form.get("reason", ""),
            person_id=g.me.id,
            now=utc_now(),
            newcomer=requested.newcomer,
            keep_link=requested.keep_link,
            seen=seen,
            warned=is_warned(),
        )
    except (Stale, powers.Unwarned) as moved:
        return _preview_page(game_id, moved)
    except Refused as refusal:
        return game_page(game_id, flask.request.form, refusal)
    return flask.redirect(url_for(".game", game_id=game_id), 303)


# ---- table talk ----

__all__ = ["act_on_talk", "blueprint"]
LOGGER = logging.getLogger(__name__)
LAST = 999_999_999
"""The highest number of a word, and of an entry."""


@blueprint.post("/<game_id>/talk")
def act_on_talk(game_id: str) -> ResponseReturnValue:
    """Hide something that was said, close or open the talk of a table, or take talk from a player, with a reason."""
    form, now = flask.request.form, utc_now()
    with reading() as session:
        known_game(session, game_id)
    do, reason = form.get("do", ""), form.get("reason", "")
    try:
        match do:
            case "hide" if (number := whole_number(form.get("number", ""), LAST, 1)) is not None:
                reports.hide(game_id, number, reason, g.me.id, now, warned=is_warned())
            case "close" | "open":
                reports.set_talk(game_id, do == "open", reason, g.me.id, now, warned=is_warned())
            case "silence":
                seat, days = form.get("seat", ""), form.get("days", "")
                reports.silence(game_id, seat, days, reason, g.me.id, now, warned=is_warned())
            case _:
                flask.abort(400)
    except Refused as refusal:
        return game_page(game_id, form, refusal)
    LOGGER.info("moderator %s: table talk of game %s: %s", g.me.id, game_id, do)
    look = whole_number(form.get("look", ""), LAST, 1)
    page = (
        url_for(".show_look", game_id=game_id, seq=look, _anchor="heard")
        if look
        else url_for(".game", game_id=game_id, _anchor="talk")
    )
    return flask.redirect(page, 303)
