"""A seat's own pages, opened by its link alone: the turn, a move, the receipt."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import flask
from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict

from byzanz.moves import Move, RulesError
from server import play
from server.accounts import login
from server.errors import Refused
from server.mail import deliverability
from server.play import autopilot, positions, turns
from server.play.positions import Broken, Position
from server.store import links, log, standing_orders
from server.store.engine import reading, utc_now
from server.store.links import SeatAccess
from server.store.models import Game, StandingOrder
from server.validation import whole_number
from server.web.game import history
from server.web.http import csrf, error_page, limiter, refusal_text, unknown_link
from server.web.seat import preselect

blueprint = Blueprint("turn", __name__)
csrf.exempt(blueprint)  # authorised by the token in the URL; browsers inside mail apps keep no cookies

MOST_RECENT = 60
"""The most log entries shown since the player's last move; the history has the rest."""
VERB = re.compile(r"[a-z][a-z-]{0,19}")
CARD = re.compile(r"[a-z0-9-]{1,40}(#[0-9]{1,3})?")


class MalformedForm(Exception):
    """A form that no page of this server sends; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class MoveForm:
    """A submitted move form.

    Args:
        text: the move.
        seen: the newest entry when the page was rendered.
        ticked: values of the ticked boxes, to be ticked again if the move is refused.
    """

    text: str
    seen: int
    request_id: str
    ticked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the page is shown again.

    Args:
        sentence: for the top of the page.
        at_hand: whether the ticked cards are to blame.
    """

    sentence: str
    at_hand: bool = False


@blueprint.get("/t/<token>")
def show(token: str) -> ResponseReturnValue:
    """Show the table, the player's hand and their moves; `?move=…` preselects a move to be confirmed."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
        return _page(session, token, access, preselected=flask.request.args.get("move"))


@blueprint.post("/t/<token>")
def move(token: str) -> ResponseReturnValue:
    """Play the submitted move and redirect to its receipt."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
    try:
        form = _read_form(flask.request.form, access.game.head)
    except MalformedForm as fault:
        sentence = _("%(fault)s Nothing has changed. Reload the page and try again.", fault=fault)
        return error_page(400, _("The form was incomplete"), sentence, back=url_for(".show", token=token))
    if not form.ticked and "move" not in flask.request.form:  # a verb alone, even where that is a legal move
        return _redraw(token, 422, Problem(_("Select the cards first."), at_hand=True), form)
    try:
        receipt = play.submit(
            access.game.id,
            access.seat.seat,
            form.text,
            seen=form.seen,
            request_id=form.request_id,
            now=utc_now(),
            link_id=access.link.id,
        )
    except RulesError as error:
        return _redraw(token, 422, Problem(refusal_text(error), at_hand=bool(form.ticked)), form)
    except Refused as error:
        return _redraw(token, error.status, Problem(refusal_text(error)), form)
    return flask.redirect(url_for(".receipt", token=token, seq=receipt.seq), 303)


@blueprint.get("/t/<token>/receipt/<int(max=999999999):seq>")
def receipt(token: str, seq: int) -> ResponseReturnValue:
    """Show the result of the player's move `seq`, and what comes next."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
        game, number = access.game, access.seat.seat
        recent = history.lines(session, game, number, _zone(access), after=seq - 1, upto=seq + MOST_RECENT)
        if not recent or recent[0].entry.seq != seq or recent[0].entry.seat != number:
            back = url_for(".show", token=token)
            return error_page(404, _("Receipt not found"), _("Continue to the table."), back=back)
        position = positions.load(session, game)
        context = _base_context(session, token, access)
        context |= {"lines": recent, "more": game.head > seq + MOST_RECENT, "view": position.view(number)}
        context |= {"orders": _orders(session, position, number, seq)}
        context |= {"playing_on": number in position.awaited}
        return render_template("seat/receipt.html", **context)


@blueprint.post("/t/<token>/mail")
def mail_again(token: str) -> ResponseReturnValue:
    """Resume mail to the player, who confirms the address: their stopped turns are mailed again."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
    deliverability.mark_reachable(access.link.person_id, utc_now())
    return flask.redirect(url_for(".show", token=token), 303)


@blueprint.post("/t/<token>/games")
@limiter.limit("10/minute")
def mail_games(token: str) -> ResponseReturnValue:
    """Mail the player the links to all their open turns; the response never depends on the address."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
    login.mail_games(access.link.person_id, utc_now())
    return render_template("seat/links_sent.html", token=token)


def _read_form(form: MultiDict[str, str], head: int) -> MoveForm:
    """Read a form strictly: our own pages send nothing else.

    Raises:
        MalformedForm: a field is missing or cannot be what the page sent.
    """
    seen, request_id = whole_number(form.get("seen", ""), head), form.get("request_id", "")
    if seen is None:
        raise MalformedForm(_("The form lacks the game version it was made from."))
    if not play.REQUEST_ID.fullmatch(request_id):
        raise MalformedForm(_("The form lacks its request ID."))
    ticked = tuple(form.getlist("card"))
    if not all(map(CARD.fullmatch, ticked)):
        raise MalformedForm(_("The form names an invalid card."))
    return MoveForm(_move_text(form, ticked), seen, request_id, ticked)


def _move_text(form: MultiDict[str, str], ticked: Iterable[str]) -> str:
    text = form.get("move")
    if text is not None:
        if len(text) > play.LONGEST_TEXT or not text.isprintable():
            raise MalformedForm(_("The move in the form is not a single line of text."))
        return text
    verb = form.get("verb", "")
    if not VERB.fullmatch(verb):
        raise MalformedForm(_("The form does not say what to do."))
    return " ".join((verb, *(value.partition("#")[0] for value in ticked)))


def _redraw(token: str, status: int, problem: Problem, form: MoveForm) -> ResponseReturnValue:
    """Show the current page after a refusal, keeping the selection."""
    with reading() as session:
        access = links.seat_access(session, token, utc_now()) or unknown_link(token)
        since = form.seen if status == 409 else None
        return _page(session, token, access, problem, form.ticked, since), status


def _page(
    session: Session,
    token: str,
    access: SeatAccess,
    problem: Problem | None = None,
    ticked: Collection[str] = (),
    since: int | None = None,
    preselected: str | None = None,
) -> str:
    game, number = access.game, access.seat.seat
    context = _base_context(session, token, access) | {"problem": problem, "ticked": ticked, "chosen": None}
    if game.status not in ("running", "over"):
        return render_template("seat/turn.html", view=None, **context)
    if game.quarantine:
        raise Broken(str(game.quarantine))
    position = positions.load(session, game)
    after = log.last_move(session, game.id, number, ("player", "bot")) if since is None else since
    recent = history.lines(session, game, number, _zone(access), after=max(after, game.head - MOST_RECENT))
    context |= {
        "view": position.view(number),
        "lines": recent,
        "more": game.head - after > MOST_RECENT,
        "orders": _orders(session, position, number, after),
        "gone": autopilot.has_left(session, game.id, number),
        "unattended": autopilot.is_unattended(session, game),
        "changed_since": since is not None,
        "outcome": position.outcome,
        "request_id": secrets.token_urlsafe(16),
    }
    context |= _choices(position, number) | _times(session, game, position, number)
    if preselected is not None:
        answer = preselect.from_link(position, number, preselected)
        context |= {"chosen": answer, "ticked": answer.ticked}
    return render_template("seat/turn.html", **context)


def _base_context(session: Session, token: str, access: SeatAccess) -> dict[str, Any]:
    """Return what each page of a seat needs, whatever the state of the game."""
    return {
        "token": token,
        "game": access.game,
        "seat": access.seat,
        "seats": positions.seats_of(session, access.game.id),
        "names": history.names_of(session, access.game),
        "zone": _zone(access),
        "next": preselect.next_games(session, access),
        "seen": access.game.head,
        "lost": access.seat.person is not None
        and (access.seat.person.suppressed or access.seat.person.unreachable),
        "own_zone": access.seat.person is not None and access.seat.person.time_zone is not None,
    }


def _zone(access: SeatAccess) -> str:
    person = access.seat.person
    return (person.time_zone if person else None) or access.game.time_zone


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


def _orders(session: Session, position: Position, seat: int, after: int) -> list[StandingOrder] | None:
    """Return the active orders, and those stopped since the last move; None if the game takes none."""
    if position.outcome or not standing_orders.supported(position.rules):
        return None
    visible = ("standing", "resting", "stopped")
    return [
        row
        for row in standing_orders.of_seat(session, position.game_id, seat, after)
        if row.status in visible
    ]


def _by_verb(moves: Iterable[Move]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for move in moves:
        found.setdefault(move.verb, []).append(str(move))
    return found


def _times(session: Session, game: Game, position: Position, seat: int) -> dict[str, Any]:
    """Return the deadline of this seat, and those of all seats that are to move."""
    open_turns = [turn for turn in turns.open_turns(session, game.id) if turn.seat in position.awaited]
    due = {turn.seat: turns.times(session, game, turn) for turn in open_turns}
    return {"times": due.get(seat), "due": due, "now": utc_now()}
