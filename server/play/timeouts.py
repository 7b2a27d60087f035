"""Missed deadlines, and players who cannot be reached by email."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from byzanz import umpire
from server.play import autopilot, notes, positions, running, turns
from server.play.moves import playable_position
from server.play.quarantines import quarantine_if_broken
from server.store import log, outbox
from server.store.engine import transaction
from server.store.models import Game, Seat, Turn


def time_out(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Play the fallback for a seat that has missed its deadline; one transaction, which locks the game.

    A turn whose deadline was moved by an outage gets a `!credit` entry instead, so that all players see why.

    Args:
        question: the text of the turn's question; nothing happens if another question is open by now.

    Returns:
        The seq of the first move played, or None if none was.
    """
    with quarantine_if_broken(game_id, now), transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if game is None or turn is None or turn.question != question or game.paused or game.quarantine:
            return None
        due = turns.deadline(session, game, turn)
        if due is None or due > now:
            _postpone(session, game, turn, due, now)
            return None
        return _play_fallback(session, game, seat, now)


def _postpone(session: Session, game: Game, turn: Turn, due: datetime | None, now: datetime) -> None:
    hinted = turn.due_at
    turn.due_at = due
    if due is None or hinted is None or hinted > now or due <= hinted:
        return
    position = running.position(session, game)
    seconds = turns.seconds_gained(turn, hinted, due)
    turn.credited += seconds
    log.append(session, game, seat=turn.seat, by="clock", move=f"!credit {seconds}", now=now)
    positions.save(session, game, position.at(game.head))


def _play_fallback(session: Session, game: Game, seat: int, now: datetime) -> int:
    position = playable_position(session, game)
    rules, state = position.rules, position.state
    asked = rules.awaited(state)[seat]
    first = game.head + 1
    # A single legal move is forced: `settle` plays it, by the rules and not by the clock.
    while rules.awaited(state).get(seat) == asked and len(moves := rules.moves(state, seat)) > 1:
        move = rules.fallback(rules.view(state, seat), moves)
        state = umpire.play(rules, state, seat, move)
        log.append(session, game, seat=seat, by="clock", move=str(move), now=now)
    last = game.head
    autopilot.count_missed(session, game, seat)
    running.advance(session, game, position, state, now)
    _mail_late_player(session, game, seat, first, last, now)
    return first


def _mail_late_player(session: Session, game: Game, seat: int, first: int, last: int, now: datetime) -> None:
    late = session.get_one(Seat, (game.id, seat))
    if late.person_id is None:
        return
    kind = "autopilot" if late.autopilot else "timeout"  # one email, also if both happened
    outbox.enqueue(
        session,
        key=f"{kind}:{game.id}:{seat}:{first}",
        kind=kind,
        person_id=late.person_id,
        now=now,
        game_id=game.id,
        seat=seat,
        seq=first,
        details={"last": last},
    )


def give_up(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Put a seat on autopilot whose player no email has reached for 72 hours; one transaction, which locks the game.

    This happens once a game to a player.

    Args:
        question: the text of the turn's question; nothing happens if another question is open by now.

    Returns:
        The seq of the entry, or None if nothing was done.
    """
    with quarantine_if_broken(game_id, now), transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if game is None or turn is None or turn.question != question or game.paused or game.quarantine:
            return None
        lost = session.get_one(Seat, (game_id, seat))
        moment = turns.give_up_time(session, turn)
        if moment is None or moment > now or lost.lost:
            return None
        position = running.position(session, game)
        lost.lost = True
        seq = autopilot.switch_on(session, game, lost, now, notes.UNREACHED)
        autopilot.request_substitute(session, game, lost, "lost", now)
        running.advance(session, game, position, position.state, now)
        return seq
