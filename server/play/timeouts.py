"""Missed deadlines, the reminder before one, and players who cannot be reached by email."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial

from sqlalchemy import or_, select
from sqlalchemy.exc import SQLAlchemyError

from byzanz import umpire
from byzanz.record import Cause
from server.play import autopilot, events, positions, running, turns
from server.play.game import Table
from server.play.moves import playable_position
from server.store import facts
from server.store.engine import reading
from server.store.models import Turn
from server.store.statements import TurnRow

LOGGER = logging.getLogger(__name__)


def reset_future_turns(now: datetime) -> None:
    """Date to the present what seems to have happened to open turns after it; one transaction for each game.

    A clock that was behind needs no such correction: the time in doubt is an outage, which no clock counts.
    """
    later = or_(Turn.opened_at > now, Turn.started_at > now, Turn.refused_at > now)
    with reading() as session:
        games = session.scalars(select(Turn.game_id).where(later).order_by(Turn.game_id).distinct()).all()
    for game_id in games:
        try:
            running.change(game_id, now, partial(_reset_all, now=now))
        except SQLAlchemyError:  # of a locked game; the others need not wait
            LOGGER.exception("game %s: its turns keep the times of a wrong clock", game_id)


def _reset_all(table: Table, now: datetime) -> None:
    for turn in table.turns.values():
        _reset(table, turn, now)


def _reset(table: Table, turn: TurnRow, now: datetime) -> None:
    turn.opened_at = min(turn.opened_at, now)
    turn.refused_at = turn.refused_at and min(turn.refused_at, now)
    if turn.started_at is not None and turn.started_at > now:
        turn.started_at = now
        turn.due_at = turns.deadline(table.session, table.game, turn)
        if turn.remind_at is not None:  # no second reminder
            turn.remind_at = turns.reminder_time(table.session, table.game, turn)


# ---- the reminder ----


def remind(game_id: str, seat: int, now: datetime) -> bool:
    """Say that the deadline of an open turn nears; one transaction, which locks the game and checks everything again.

    Returns:
        Whether it does, and its player wants to be reminded: an outage may have moved it.
    """

    def work(table: Table) -> bool:
        turn = table.turns.get(seat)
        if turn is None:
            return False
        turn.remind_at = turns.reminder_time(table.session, table.game, turn)
        if turn.remind_at is None or turn.remind_at > now:  # an outage has moved it
            return False
        turn.remind_at = None
        person = table.seats[seat].person
        if person is None or person.cadence != "each":
            return False
        table.tell(events.DeadlineNears(at=now, seat=seat, opened_seq=turn.opened_seq))
        return True

    return bool(running.change_if_free(game_id, now, work))


# ---- missed deadlines ----


def time_out(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Play the fallback for a seat that has missed its deadline; one transaction, which locks the game.

    A turn whose deadline was moved by an outage gets a `!credit` entry instead, so that all players see why.

    Args:
        question: the text of the turn's question; nothing happens if another question is open by now.

    Returns:
        The seq of the first move played, or None if none was.
    """

    def work(table: Table) -> int | None:
        turn = _turn(table, seat, question)
        if turn is None:
            return None
        due = turns.deadline(table.session, table.game, turn)
        if due is None or due > now:
            _postpone(table, turn, due, now)
            return None
        return _play_fallback(table, seat, now)

    return running.change_if_free(game_id, now, work)


def _turn(table: Table, seat: int, question: str) -> TurnRow | None:
    """The turn of a seat, if it still asks this question and the game goes on."""
    turn = table.turns.get(seat)
    if turn is None or turn.question != question:
        return None
    return None if table.game.paused or table.game.quarantine else turn


def _postpone(table: Table, turn: TurnRow, due: datetime | None, now: datetime) -> None:
    hinted = turn.due_at
    turn.due_at = due
    if due is None or hinted is None or hinted > now or due <= hinted:
        return
    position = running.position(table)
    seconds = turns.seconds_gained(turn, hinted, due)
    turn.credited += seconds
    table.append(seat=turn.seat, by=Cause.CLOCK, move=f"!credit {seconds}", now=now)
    positions.save(table, position)


def _play_fallback(table: Table, seat: int, now: datetime) -> int:
    position = playable_position(table)
    rules, state = position.rules, position.state
    asked = rules.awaited(state)[seat]
    first = table.game.head + 1
    # A single legal move is forced: `settle` plays it, by the rules and not by the clock.
    while rules.awaited(state).get(seat) == asked and len(moves := rules.moves(state, seat)) > 1:
        move = rules.fallback(rules.view(state, seat), moves)
        state = umpire.play(rules, state, seat, move)
        table.append(seat=seat, by=Cause.CLOCK, move=str(move), now=now)
    last = table.game.head
    late = table.seats[seat]
    late.missed += 1
    running.advance(table, position, state, now)
    table.tell(events.TurnMissed(at=now, seat=seat, first=first, last=last, autopilot=late.autopilot))
    return first


def give_up(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Put a seat on autopilot whose player no email has reached for 72 hours; one transaction, which locks the game.

    Args:
        question: the text of the turn's question; nothing happens if another question is open by now.

    Returns:
        The seq of the entry, or None if nothing was done.
    """

    def work(table: Table) -> int | None:
        turn = _turn(table, seat, question)
        if turn is None:
            return None
        lost = table.seats[seat]
        moment = turns.give_up_time(table.session, turn)
        if moment is None or moment > now or lost.autopilot:
            return None
        position = running.position(table)
        seq = autopilot.switch_on(table, lost, now, facts.UNREACHED)
        autopilot.request_substitute(table, lost, "lost", now)
        running.advance(table, position, position.state, now)
        return seq

    return running.change_if_free(game_id, now, work)
