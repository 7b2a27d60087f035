"""Acts that concern a whole game: void, pause, resume, credit, abandon."""

from __future__ import annotations

from byzanz import record
from byzanz.moves import Outcome
from server.play import autopilot, positions, running, turns
from server.play.moderation.act import Act, ActNotPossible, record_only, seconds_of, write
from server.play.positions import Position
from server.store import log, standing_orders
from server.store.table import Table


def void(table: Table, position: Position, act: Act) -> int:
    """Take the game back to before a move of a seat, and pause it."""
    target = act.number(1)
    entries = log.entries(table.session, table.game.id)
    counting = record.effective(entries)
    if not any(entry.seq == target and entry.seat is not None for entry in counting):
        raise ActNotPossible("Entry %(seq)s is not a player’s move that still counts.", seq=target)
    seq = write(table, act)
    table.append(seat=None, by="moderator", move="!pause", now=act.now, note=act.reason)
    table.game.paused = True
    standing_orders.suspend_all(table)
    before = [entry for entry in entries if entry.seq < target]
    state = positions.replay(table.game, len(table.seats), position.rules, before)
    running.advance(table, position, state, act.now)
    return seq


def pause(table: Table, position: Position, act: Act) -> int:
    """Pause the game: nobody may move, and no clock runs.

    Time that was given for a decision goes to its time bank, for the decision opens anew when the game resumes.
    """
    if table.game.paused:
        raise ActNotPossible("The game is already paused.")
    seq = record_only(table, position, act)
    table.game.paused = True
    for turn in table.turns.values():
        table.seats[turn.seat].bank += turn.extra
    table.turns.clear()
    return seq


def resume(table: Table, position: Position, act: Act) -> int:
    """Resume the game; its turns open again."""
    if not table.game.paused:
        raise ActNotPossible("The game is not paused.")
    if autopilot.is_unattended(table.session, table.game):
        raise ActNotPossible(
            "Every player is on autopilot. Replace a player, or switch an autopilot off first."
        )
    return reopen(table, position, act)


def reopen(table: Table, position: Position, act: Act) -> int:
    """Write the entry of an act after which the game runs again, and open the turns of the seats to move."""
    seq = write(table, act)
    table.game.paused = False
    for seat in table.seats:
        seat.missed = 0  # deadlines missed before the pause do not count
    running.advance(table, position, position.state, act.now)
    return seq


def credit(table: Table, position: Position, act: Act) -> int:
    """Give every open turn more time."""
    seconds = seconds_of(act, 1)
    if not table.turns:
        raise ActNotPossible("Nobody is to move, so there is no deadline to extend.")
    seq = record_only(table, position, act)
    for turn in table.turns.values():
        turns.extend(table, turn, seconds)
    return seq


def abandon(table: Table, position: Position, act: Act) -> int:
    """End the game before its time, with the scores as they stand."""
    seq = write(table, act)
    scores = position.rules.scores(position.state)
    positions.save(table, position)
    running.finish(table, Outcome(tuple(scores), (), "abandoned"), act.now)
    return seq
