"""A player's page of a game: the question, the table, table talk on it, and what an open page asks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from byzanz.moves import Move, RulesError, ranked
from server import play
from server.accounts import login
from server.community import reports, talk
from server.community.talk import Said, is_masked
from server.errors import Closed, NoSuchGame, NoSuchLink, Refused
from server.i18n import zone_of
from server.lobby import rematch
from server.mail import deliverability
from server.play import autopilot, names, positions, standing_orders, turns
from server.play import history as play_history
from server.play.game import Table, load
from server.play.positions import Position, why_on_hold
from server.store import links, log
from server.store.engine import UNAVAILABLE, reading, utc_now
from server.store.links import KnownSeat, SeatAccess
from server.store.models import GameStatus, Word
from server.store.statements import OrderRow
from server.validation import whole_number
from server.web import http, submissions
from server.web.game import history
from server.web.game.history import MOST, HistoryLine, dated, woven
from server.web.http import csrf, error_page, limiter, refusal_text, seat_access, unknown_link
from server.web.seat import turn_page
from server.web.seat.turn_page import (
    DONE,
    NO_VERSION,
    MalformedForm,
    MoveForm,
    Problem,
    TalkPanel,
    TurnPage,
    read_form,
    why_refused,
)

# ---- table talk ----

NEWEST = 3
"""The words of others that stand among the news, shortened; the log has them whole."""


def talk_context(
    table: Table,
    access: SeatAccess,
    shown: Mapping[str, Sequence[HistoryLine]],
    after: int,
    zone: str,
    now: datetime,
) -> dict[str, Any]:
    """Return what the page of a turn says of table talk, and the log with it.

    Args:
        shown: the `lines` of the log since the player's last move, the oldest first, and those `earlier`.
        after: the entry before `lines`.
        zone: the reader's time zone.
    """
    game, me = table.game, access.link.person_id
    lines, earlier = shown["lines"], shown["earlier"]
    if game.trial:
        return {"woven": lines, "before": earlier, "news_said": (), "talk": None, "notes": None}
    said: list[Said] = []
    notes = ""
    if game.said or game.noted:
        first = earlier[0].entry.seq if earlier else after
        said, notes = talk.at_table(table.session, game, me, first, MOST)
    words = dated(said, zone)
    since = [word for word in words if word.said.seq >= after]
    company = any(seat.person_id not in (None, me) for seat in table.seats)
    done = flask.request.args.get("done", "")
    return {
        "woven": woven(lines, since),
        "before": woven(earlier, [word for word in words if word.said.seq < after]),
        "news_said": [word for word in since if not word.said.own and not word.said.hidden][-NEWEST:],
        "talk": TalkPanel(
            shown=company or bool(words),
            closed=_closed(table, access, now),
            words=bool(words),
            request_id=secrets.token_urlsafe(16),
            done=done if done in DONE else "",
        ),
        "notes": notes,
    }


def _closed(table: Table, access: SeatAccess, now: datetime) -> str:
    """Return why this player cannot say anything now; empty if they can."""
    try:
        talk.check_open(table.game, now)
        seat = table.seats[access.seat.seat]
        if seat.person is not None:
            talk.check_silenced(seat.person, now)
        talk.check_present(seat)
    except Closed as why:
        return refusal_text(why)
    return ""


def done_with(word: Word) -> str:
    """Return what the page confirms about something that was just said."""
    return "masked" if is_masked(word.text) else "said"


def say_along(seat: KnownSeat, request_id: str, now: datetime) -> tuple[Refused | None, str | None]:
    """Say what the form of a move, which has been played, brought along.

    Returns:
        Why that was refused, if it was, and what the page has to confirm about it, if anything.
    """
    text = flask.request.form.get("say", "")
    if not text.strip():
        return None, None
    try:
        word = talk.say(
            seat.game_id,
            seat.person_id,
            text,
            request_id=f"move.{request_id}"[:64],
            now=now,
            link_id=seat.link_id,
        )
    except Refused as refusal:
        return refusal, None
    return None, "masked" if is_masked(word.text) else None


# ---- the page ----

PATIENCE = 1.5
"""Seconds that a page waits for bots at most; they answer in a tenth of that unless they search."""
INTERVAL = 0.05
"""Seconds between two looks."""
_waiting = BoundedSemaphore(16)
"""Requests of a process that may wait at once: a quarter of the threads of `serve`; the others do not wait."""


def wait(game_id: str) -> None:
    """Wait while only bots are to move in a game."""
    if not _waiting.acquire(blocking=False):
        return
    try:
        with suppress(*UNAVAILABLE):  # the move is stored, whatever happens to the database now
            _wait(game_id)
    finally:
        _waiting.release()


def _wait(game_id: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and only_bots(game_id):
        time.sleep(INTERVAL)


def only_bots(game_id: str) -> bool:
    """Whether somebody is to move in a game, and all who are to move are bots."""
    with reading() as session:
        found = turns.to_move(session, game_id)
    return bool(found) and all(found.values())


# ---- the page ----

blueprint = Blueprint("turn", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies

MOST_RECENT = 60
"""The most log entries shown since the player's last move; the history has the rest."""
LATEST = 12
"""If there are fewer, entries before that move are shown, too, until there are so many."""


@blueprint.get("/t/<token>")
def show(token: str) -> ResponseReturnValue:
    """Show the table, the player's hand and their moves; `?move=…` preselects a move to be confirmed.

    `?at=…` says where the log stood when the link was emailed; `?played=…` is the move that led here.
    """
    query = flask.request.args
    missing = log.report_missing(query.get("at", ""), utc_now())
    with reading() as session:
        access = seat_access(session, token)
        lost_entry = next((head.seq for head in missing if head.game_id == access.game.id), None)
        played = whole_number(query.get("played", ""), access.game.head)
        return _page(
            session, token, access, preselected=query.get("move"), lost_entry=lost_entry, played=played
        )


@blueprint.post("/t/<token>")
def move(token: str) -> ResponseReturnValue:
    """Play the submitted move and redirect to the table; where only bots are to move, they answer first."""
    seat = links.known_seat(token) or links.known(_access(token))
    try:
        form = read_form(flask.request.form)
    except MalformedForm as fault:
        return _malformed(token, fault)
    # A verb alone names no cards, even where it is a legal move.
    if not form.ticked and not {"move", "list"} & flask.request.form.keys():
        return _redraw(token, _access(token), 422, Problem(_("Select the cards first."), at_hand=True), form)
    try:
        receipt = play.submit(
            seat.game_id,
            seat.seat,
            form.text,
            seen=form.seen,
            request_id=form.request_id,
            now=utc_now(),
            link_id=seat.link_id,
        )
    except (NoSuchLink, NoSuchGame):
        if links.known(_access(token)) == seat:
            unknown_link(token)
        return move(token)  # it opens another seat by now
    except (RulesError, Refused) as error:
        return _refused_move(token, error, form)
    http.note_presence(seat.person_id, seat.game_id)
    unsaid, done = say_along(seat, form.request_id, utc_now())
    if receipt.bots_next:
        wait(seat.game_id)
    if unsaid is not None:
        return with_unsaid(token, _access(token), unsaid, receipt.seq)
    return flask.redirect(url_for(".show", token=token, played=receipt.seq, done=done), 303)


def _malformed(token: str, fault: MalformedForm) -> ResponseReturnValue:
    _access(token)  # for the language of its owner
    sentence = _("%(fault)s Nothing has changed. Reload the page and try again.", fault=_(str(fault)))
    return error_page(400, _("The form was incomplete"), sentence, back=url_for(".show", token=token))


def _refused_move(token: str, error: RulesError | Refused, form: MoveForm) -> ResponseReturnValue:
    access = _access(token)
    if form.seen > access.game.head:
        return _malformed(token, MalformedForm(NO_VERSION))
    if isinstance(error, Refused):
        problem = Problem(refusal_text(error, access.game.slug))
        return _redraw(token, access, error.status, problem, form)
    problem = Problem(why_refused(error, access.game.slug, form), bool(form.ticked))
    return _redraw(token, access, 422, problem, form)


@blueprint.get("/t/<token>/receipt/<int(max=999999999):seq>")
def receipt(token: str, seq: int) -> ResponseReturnValue:
    """Redirect from the former page of a move that was played."""
    return flask.redirect(url_for(".show", token=token, played=seq), 303)


@blueprint.post("/t/<token>/mail")
def mail_again(token: str) -> ResponseReturnValue:
    """Resume mail to the player, who confirms the address: their stopped turns are mailed again."""
    with reading() as session:
        access = seat_access(session, token)
    deliverability.mark_reachable(access.link.person_id, utc_now())
    return flask.redirect(url_for(".show", token=token), 303)


@blueprint.post("/t/<token>/games")
@limiter.limit("10/minute")
def mail_games(token: str) -> ResponseReturnValue:
    """Mail the player the links to all their open turns; the response never depends on the address."""
    with reading() as session:
        access = seat_access(session, token)
    login.mail_games(access.link.person_id, utc_now())
    return render_template("seat/links_sent.html", token=token)


def _redraw(
    token: str, access: SeatAccess, status: int, problem: Problem, form: MoveForm
) -> ResponseReturnValue:
    """Show the current page after a refusal, keeping the selection."""
    with reading() as session:
        since = form.seen if status == 409 else None
        return _page(session, token, access, problem, form.ticked, since), status


def with_unsaid(
    token: str, access: SeatAccess, refusal: Refused, played: int | None = None
) -> ResponseReturnValue:
    """Show the current page with words that were refused, to be changed; `played` is the move that came with them."""
    if isinstance(refusal, NoSuchLink):
        unknown_link(token)
    with reading() as session:
        return _page(session, token, access, unsaid=refusal_text(refusal), played=played), refusal.status


def _page(
    session: Session,
    token: str,
    access: SeatAccess,
    problem: Problem | None = None,
    ticked: Collection[str] = (),
    since: int | None = None,
    preselected: str | None = None,
    lost_entry: int | None = None,
    played: int | None = None,
    unsaid: str | None = None,
) -> str:
    table = load(session, access.game.id, utc_now())
    game, number = table.game, access.seat.seat
    if game.quarantine and game.status in (GameStatus.RUNNING, GameStatus.OVER):
        raise why_on_hold(game.quarantine)
    if since is None:
        newest = play_history.since_own_move(table, number, MOST_RECENT, LATEST)
    else:
        seen = play_history.entries_for(table, number, after=max(since, game.head - MOST_RECENT))
        newest = play_history.SinceOwn(seen, since, None, ())
    entries, after, own, earlier = newest
    table.load_orders(number, after)
    context = _base_context(table, token, access) | {"problem": problem, "ticked": ticked, "chosen": None}
    context |= {"lost_entry": lost_entry, "unsaid": unsaid}
    if game.status not in (GameStatus.RUNNING, GameStatus.OVER):
        return _draw(table, access, context)
    position = positions.current(table)
    view = position.view(number)
    # A mailed link to the move that its reader has made since shows what came of it.
    again = own is not None and own.move == preselected and number not in position.awaited
    fresh = own if own is not None and (again or own.seq == played) else None
    told = play_history.told_since(position, entries, None if fresh else own)
    context |= {
        "view": view,
        "told": told,
        "lines": history.lines_of(entries, log.voids_in(entries), _zone(access), told),
        "earlier": history.lines_before(position, earlier, entries, _zone(access)),
        "more": game.head - after > MOST_RECENT,
        "orders": _orders(table, position, number),
        "gone": table.seats[number].left,
        "unattended": autopilot.is_unattended(table),
        "changed_since": since is not None,
        "outcome": position.outcome,
        "ranking": ranked(position.rules.places(position.state)) if position.outcome else [],
        "following": rematch.next_game(session, game.id) if position.outcome else None,
        "request_id": secrets.token_urlsafe(16),
        "soon": bool(table.turns) and all(turn.bot for turn in table.turns.values()),
    }
    context |= talk_context(table, access, context, after, _zone(access), utc_now())
    if fresh is not None:
        context |= turn_page.after_move(
            table, access, position, fresh, entries, _zone(access), context["next"]
        )
    context |= _choices(position, number) | _times(table, position, number)
    if preselected is not None and not again:
        answer = turn_page.preselected(position, number, preselected)
        context |= {"chosen": answer, "ticked": answer.ticked}
    return _draw(table, access, context)


def _draw(table: Table, access: SeatAccess, context: dict[str, Any]) -> str:
    page = TurnPage.of(context, table=table, number=access.seat.seat, typed=flask.request.form)
    return render_template("seat/turn.html", page=page, **{"view": None} | context)


def _base_context(table: Table, token: str, access: SeatAccess) -> dict[str, Any]:
    """Return what each page of a seat needs, whatever the state of the game."""
    person = access.seat.person
    return {
        "token": token,
        "game": table.game,
        "seat": next(seat for seat in table.seats if seat.seat == access.seat.seat),
        "seats": table.seats,
        "names": names.at_table(table.game, table.seats, access.seat.seat),
        "zone": _zone(access),
        "next": turn_page.next_games(table.session, access),
        "seen": table.game.head,
        "now": utc_now(),
        "lost": person is not None and (person.suppressed or person.unreachable),
        "own_zone": person is not None and person.time_zone is not None,
    }


def _zone(access: SeatAccess) -> str:
    return zone_of(access.seat.person, access.game)


def _choices(position: Position, seat: int) -> dict[str, Any]:
    """Return the seat's moves by verb, and the fallback that is played if it does not answer."""
    if position.paused or position.outcome:
        return {"answers": {}, "out_of_turn": {}, "fallback": None}
    rules, state = position.rules, position.state
    moves = rules.moves(state, seat)
    return {
        "answers": _by_verb(moves),
        "out_of_turn": _by_verb(rules.out_of_turn_moves(state, seat)),
        "fallback": str(rules.fallback(rules.view(state, seat), moves)) if moves else None,
    }


def _orders(table: Table, position: Position, seat: int) -> list[OrderRow] | None:
    """Return the active orders, and those stopped since the last move; None if the game takes none."""
    if position.outcome or not standing_orders.supported(position.rules):
        return None
    visible = ("standing", "resting", "stopped")
    return [row for row in standing_orders.shown(table, seat) if row.status in visible]


def _by_verb(moves: Iterable[Move]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for move in moves:
        found.setdefault(move.verb, []).append(str(move))
    return found


def _times(table: Table, position: Position, seat: int) -> dict[str, Any]:
    """Return the deadline of this seat, and those of all seats that are to move."""
    due = {seat: times for seat, times in turns.times_of_table(table).items() if seat in position.awaited}
    return {"times": due.get(seat), "due": due}


# ---- what an open page asks ----
# It must be cheap, since every open page asks about three times a minute, and more often while only bots are to move;
# it reveals nothing that the page does not. A page in use says so when it asks (`http.note_presence`).


@blueprint.get("/t/<token>/head")
def head(token: str) -> Response | tuple[str, int]:
    """Return the newest entry and the seats to move as JSON; 304 if the browser has this response."""
    with reading() as session:
        access = seat_access(session, token)
        awaited = list(turns.to_move(session, access.game.id))
        answer = flask.jsonify(seq=access.game.head, awaited=awaited)
    answer.add_etag()
    return answer.make_conditional(flask.request)


# ---- saying something, what can be done about what others said, and notes to oneself ----


@blueprint.post("/t/<token>/say")
@limiter.limit("60/minute")
def say(token: str) -> ResponseReturnValue:
    """Say something to the table and return to it; a refused text stays in its field."""
    form, access = flask.request.form, _access(token)
    try:
        word = talk.say(
            access.game.id,
            access.link.person_id,
            form.get("text", ""),
            request_id=form.get("request_id", ""),
            now=utc_now(),
            link_id=access.link.id,
        )
    except Refused as refusal:
        return with_unsaid(token, access, refusal)
    return _back(token, done_with(word))


@blueprint.post("/t/<token>/words")
@limiter.limit("60/minute")
def act_on_talk(token: str) -> ResponseReturnValue:
    """Delete one's own words, mute the person who said others, or report them."""
    form, access = flask.request.form, _access(token)
    game_id, me = access.game.id, access.link.person_id
    chosen = next((name for name in ("delete", "mute", "report") if name in form), "")
    word_id = form.get(chosen, "")
    if not word_id:
        return error_page(400, _("The form was incomplete"), _("Nothing has changed."), back=_table(token))
    try:
        if chosen == "delete":
            talk.take_back(game_id, me, word_id)
            return _back(token, "deleted")
        if chosen == "mute":
            return _back(token, "muted" if talk.mute(me, game_id, word_id) else None)
        reports.report(game_id, me, word_id, utc_now())
    except Refused as refusal:
        return _refused(token, refusal)
    return _back(token, "reported")


@blueprint.post("/t/<token>/notes")
@limiter.limit("60/minute")
def note(token: str) -> ResponseReturnValue:
    """Save the player's notes to themselves; a refused text stays in its field."""
    access = _access(token)
    try:
        with reading() as session:
            stored = {"notes": talk.read_notes(session, access.game.id, access.link.person_id)}
        new = submissions.settled({"notes": flask.request.form.get("notes", "")}, stored)
        talk.write_notes(access.game.id, access.link.person_id, new["notes"], utc_now())
    except Refused as refusal:
        return with_unsaid(token, access, refusal)
    return _back(token, "noted", "notes")


def _access(token: str) -> SeatAccess:
    with reading() as session:
        return seat_access(session, token)


def _refused(token: str, refusal: Refused) -> ResponseReturnValue:
    return error_page(refusal.status, _("This is not possible"), refusal_text(refusal), back=_table(token))


def _back(token: str, done: str | None, part: str = "talk") -> ResponseReturnValue:
    return flask.redirect(url_for("turn.show", token=token, done=done, _anchor=part), 303)


def _table(token: str) -> str:
    return url_for("turn.show", token=token)
