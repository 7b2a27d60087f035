"""Missed deadlines, and players who cannot be reached by email."""

from __future__ import annotations

from datetime import datetime

from byzanz import umpire
from server.play import autopilot, notes, positions, running, turns
from server.play.moves import playable_position
from server.play.quarantines import quarantine_if_broken
from server.store.engine import transaction
from server.store.statements import TurnRow
from server.store.table import Table


def time_out(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Play the fallback for a seat that has missed its deadline; one transaction, which locks the game.

    A turn whose deadline was moved by an outage gets a `!credit` entry instead, so that all players see why.

    Args:
        question: the text of the turn's question; nothing happens if another question is open by now.

    Returns:
        The seq of the first move played, or None if none was.
    """
    with (
        quarantine_if_broken(game_id, now),
        transaction() as session,
        running.in_hand_if_free(session, game_id, now) as table,
    ):
        turn = _turn(table, seat, question)
        if table is None or turn is None:
            return None
        due = turns.deadline(session, table.game, turn)
        if due is None or due > now:
            _postpone(table, turn, due, now)
            return None
        return _play_fallback(table, seat, now)


def _turn(table: Table | None, seat: int, question: str) -> TurnRow | None:
    """The turn of a seat, if it still asks this question and the game goes on."""
    turn = table.turns.get(seat) if table is not None else None
    if table is None or turn is None or turn.question != question:
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
    table.append(seat=turn.seat, by="clock", move=f"!credit {seconds}", now=now)
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
        table.append(seat=seat, by="clock", move=str(move), now=now)
    last = table.game.head
    late = table.seats[seat]
    late.missed += 1
    running.advance(table, position, state, now)
    if late.person_id is not None:
        kind = "autopilot" if late.autopilot else "timeout"  # one email, also if both happened
        key = f"{kind}:{table.game.id}:{seat}:{first}"
        table.mail(kind, key, late.person_id, now, seat=seat, seq=first, details={"last": last})
    return first


def give_up(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Put a seat on autopilot whose player no email has reached for 72 hours; one transaction, which locks the game.

    Args:
        question: the text of the turn's question; nothing happens if another question is open by now.

    Returns:
        The seq of the entry, or None if nothing was done.
    """
    with (
        quarantine_if_broken(game_id, now),
        transaction() as session,
        running.in_hand_if_free(session, game_id, now) as table,
    ):
        turn = _turn(table, seat, question)
        if table is None or turn is None:
            return None
        lost = table.seats[seat]
        moment = turns.give_up_time(session, turn)
        if moment is None or moment > now or lost.autopilot:
            return None
        position = running.position(table)
        seq = autopilot.switch_on(table, lost, now, notes.UNREACHED)
        autopilot.request_substitute(table, lost, "lost", now)
        running.advance(table, position, position.state, now)
        return seq
