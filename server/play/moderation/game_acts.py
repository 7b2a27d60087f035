"""Acts that concern a whole game: void, pause, resume, credit, abandon."""

from __future__ import annotations

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.moves import Outcome
from server.play import autopilot, positions, running, turns
from server.play.moderation.act import Act, ActNotPossible, record_only, seconds_of, write
from server.play.positions import Position
from server.store import log, standing_orders
from server.store.models import Game


def void(session: Session, game: Game, position: Position, act: Act) -> int:
    """Take the game back to before a move of a seat, and pause it."""
    target = act.number(1)
    entries = log.entries(session, game.id)
    counting = record.effective(entries)
    if not any(entry.seq == target and entry.seat is not None for entry in counting):
        raise ActNotPossible("Entry %(seq)s is not a player’s move that still counts.", seq=target)
    seq = write(session, game, act)
    log.append(session, game, seat=None, by="moderator", move="!pause", now=act.now, note=act.reason)
    game.paused = True
    standing_orders.suspend_all(session, game.id)
    before = [entry for entry in entries if entry.seq < target]
    state = positions.replay(session, game, position.rules, before)
    running.advance(session, game, position, state, act.now)
    return seq


def pause(session: Session, game: Game, position: Position, act: Act) -> int:
    """Pause the game: nobody may move, and no clock runs."""
    if game.paused:
        raise ActNotPossible("The game is already paused.")
    seq = record_only(session, game, position, act)
    game.paused = True
    turns.close_all(session, game.id)
    return seq


def resume(session: Session, game: Game, position: Position, act: Act) -> int:
    """Resume the game; its turns open again."""
    if not game.paused:
        raise ActNotPossible("The game is not paused.")
    if autopilot.is_unattended(session, game):
        raise ActNotPossible(
            "Every player is on autopilot. Replace a player, or switch an autopilot off first."
        )
    return reopen(session, game, position, act)


def reopen(session: Session, game: Game, position: Position, act: Act) -> int:
    """Write the entry of an act after which the game runs again, and open the turns of the seats to move."""
    seq = write(session, game, act)
    game.paused = False
    for seat in positions.seats_of(session, game.id):
        seat.missed = 0  # deadlines missed before the pause do not count
    running.advance(session, game, position, position.state, act.now)
    return seq


def credit(session: Session, game: Game, position: Position, act: Act) -> int:
    """Give every open turn more time."""
    seconds = seconds_of(act, 1)
    open_turns = turns.open_turns(session, game.id)
    if not open_turns:
        raise ActNotPossible("Nobody is to move, so there is no deadline to extend.")
    seq = record_only(session, game, position, act)
    for turn in open_turns:
        turns.extend(session, game, turn, seconds)
    return seq


def abandon(session: Session, game: Game, position: Position, act: Act) -> int:
    """End the game before its time, with the scores as they stand."""
    seq = write(session, game, act)
    scores = position.rules.scores(position.state)
    positions.save(session, game, position.at(game.head))
    running.finish(session, game, Outcome(tuple(scores), (), "abandoned"), act.now)
    return seq
