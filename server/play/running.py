"""A running game inside one transaction: whether it can change now, and everything that follows from a change."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from byzanz import chance, umpire
from byzanz import orders as ordering
from byzanz.moves import Outcome
from byzanz.record import Cause
from byzanz.rules import Rules
from server.errors import NoSuchGame
from server.play import autopilot, clock, events, positions, standing_orders, turns
from server.play.game import Table, load
from server.play.positions import NO_RULES, Broken, NoRules, Position
from server.store import log, operations
from server.store.engine import connection_of, transaction
from server.store.facts import Fact
from server.store.models import Game, GameStatus
from server.store.statements import TurnRow
from server.store.together import together

T = TypeVar("T")


def announce_turn(table: Table, turn: TurnRow, now: datetime, *, at_page: bool) -> None:
    """Say that a turn has opened, and start its clock at once unless it waits for an email.

    Args:
        at_page: the player's own move has opened it.
    """
    opened = turn.opened_seq
    table.tell(events.TurnOpened(at=now, seat=turn.seat, opened_seq=opened, bot=turn.bot))
    seat = table.seats[turn.seat]
    person = seat.person
    if person is None or table.game.trial:  # bots and visitors need neither mail nor clock
        return
    if seat.silent or person.silent or person.email is None:
        turns.start(table, turn, now)
        return
    if person.cadence == "digest":  # the digest that names it starts its clock, or a tick one day later
        return
    table.tell(events.ClockWaits(at=now, seat=turn.seat, opened_seq=opened, at_page=at_page))


# ---- settling ----


def settle(table: Table, rules: Rules[Any, Any], state: Any, now: datetime) -> Any:
    """Play and log everything that needs no player, until a player has to decide or the game is over.

    Chance and forced moves come first, then standing orders, then autopilots, again and again. When an autopilot
    would play and every player is on autopilot, the game is paused instead.

    Returns:
        The state afterwards.
    """
    deal = chance.deal(_chance_key(table))
    while True:
        state, steps = umpire.settle(rules, state, deal)
        for step in steps:
            table.append(seat=step.seat, by=Cause(step.by), move=str(step.move), now=now)
        if rules.outcome(state) is not None:
            return state
        autopilot.take_over(table, now)
        further = _play_order(table, rules, state, now)
        if further is None:
            further = _play_autopilot(table, rules, state, now)
        if further is None:
            return state
        state = further


def _play_order(table: Table, rules: Rules[Any, Any], state: Any, now: datetime) -> Any | None:
    """Play the first move that a standing order makes for a seat to move; the state after it, or None."""
    orders = standing_orders.standing(table, rules, now)
    for seat, own in orders.items():
        for order in ordering.expired(rules, state, seat, own):
            own.remove(order)
            standing_orders.end(table, order, "done", None, now)
    for seat in sorted(orders.keys() & rules.awaited(state).keys()):
        while (decision := ordering.decide(rules, state, seat, orders[seat])) is not None:
            if decision.answer.move is None:
                orders[seat].remove(decision.placed)
                reason = Fact(decision.answer.message, decision.answer.places)
                standing_orders.end(table, decision.placed, "stopped", reason, now)
                continue
            move, why = decision.answer.move, str(decision.answer)
            table.append(seat=seat, by=Cause.ORDER, move=str(move), now=now, note=why)
            standing_orders.mark_carried_out(table, decision, now)
            return rules.apply(state, seat, move)
    return None


def _play_autopilot(table: Table, rules: Rules[Any, Any], state: Any, now: datetime) -> Any | None:
    """Play the fallback of the first seat to move that is on autopilot; the state after it, or None."""
    for seat in sorted(rules.awaited(state)):
        if not table.seats[seat].autopilot:
            continue
        if not autopilot.anyone_playing(table):
            autopilot.pause_unattended(table, now)
            return None
        move = rules.fallback(rules.view(state, seat), rules.moves(state, seat))
        seconds = turns.seconds_on_autopilot(table.seats[seat], now)
        table.append(seat=seat, by=Cause.AUTOPILOT, move=str(move), now=now, seconds=seconds)
        return rules.apply(state, seat, move)
    return None


def _chance_key(table: Table) -> bytes:
    return chance.key(table.game.id, bytes.fromhex(table.game.seed), [seat.cut for seat in table.seats])


# ---- a change ----


def lock_game(session: Session, game_id: str) -> Game:
    """Lock the row of a game until the transaction ends, for forms about it; moves take it `in_hand`.

    Raises:
        NoSuchGame: no game has this id.
    """
    if not log.lock(session, game_id):
        raise NoSuchGame("There is no game with this ID. Check the link.")
    return session.get_one(Game, game_id, populate_existing=True)


@contextmanager
def in_hand(session: Session, game_id: str, now: datetime, **asked: Any) -> Iterator[Table]:
    """Lock a game and load it; what the block changes in it is stored when it ends.

    Args:
        asked: more to find out, as for `game.load`.

    Raises:
        NoSuchGame: no game has this id.
    """
    _lock(session, game_id)
    found = load(session, game_id, now, orders=True, **asked)
    found.remember()
    yield found
    found.put()


def _lock(session: Session, game_id: str, *, skip_locked: bool = False) -> bool:
    """Lock a game that is loaded next; on SQLite no statement is needed for it (`log.lock`)."""
    session.flush()
    is_sqlite = connection_of(session).dialect.name == "sqlite"
    return is_sqlite or log.lock(session, game_id, skip_locked=skip_locked)


def change(game_id: str, now: datetime, work: Callable[[Table], T], **asked: Any) -> T:
    """Change a game `in_hand` in a transaction that changes of other games may share, and return what the work returns.

    Args:
        work: changes the game; what it does besides must be for after the commit (`store.together`).
        asked: as for `in_hand`.

    Raises:
        NoSuchGame: no game has this id. NotRunning: its log does not replay; it is in quarantine now.
    """

    def whole(session: Session) -> T:
        with in_hand(session, game_id, now, **asked) as table:
            return work(table)

    with quarantine_if_broken(game_id, now):
        return together(whole, game_id)


def change_if_free(game_id: str, now: datetime, work: Callable[[Table], T]) -> T | None:
    """Change a game as `change` does, unless another transaction holds it or there is none: the next tick tries again.

    Returns:
        What the work returns, or None.
    """

    def whole(session: Session) -> T | None:
        if not _lock(session, game_id, skip_locked=True):
            return None
        with suppress(NoSuchGame), in_hand(session, game_id, now) as table:
            return work(table)
        return None

    with quarantine_if_broken(game_id, now):
        return together(whole, game_id)


def position(table: Table) -> Position:
    """The position of a game in hand that can change now, paused or not.

    Raises:
        NotRunning: the game has not begun, is over or is in quarantine.
        Broken: its log does not replay.
    """
    positions.check_running(table.game)
    return positions.current(table)


def advance(
    table: Table,
    position: Position,
    state: Any,
    now: datetime,
    mover: int | None = None,
    restart: frozenset[int] = frozenset(),
) -> None:
    """Settle a state that has just changed, with all that follows: entries, snapshot, turns, events, the end.

    Args:
        position: before the change and the entries that it has made so far.
        state: after the change, before chance and forced moves.
        mover: the seat whose player is at the page right now.
        restart: seats whose turn starts again although their question is the same.
    """
    rules, game = position.rules, table.game
    autopilot.resume_if_attended(table, now)
    was_running = not game.paused
    if was_running:
        state = settle(table, rules, state, now)
    if was_running and game.paused:  # every player is on autopilot
        table.tell(events.GameRests(at=now, seq=game.head))
    outcome = rules.outcome(state)
    told, public = positions.extended(
        rules, position.state, position.followed, table.unsaved(), state, position.public
    )
    after = Position(game.id, rules, state, game.head, game.paused, outcome, told, public)
    positions.save(table, after)
    if outcome:
        finish(table, outcome, now)
        return
    questions = {seat: str(question) for seat, question in after.awaited.items()}
    for turn in turns.reconcile(table, questions, now, restart):
        announce_turn(table, turn, now, at_page=turn.seat == mover)


def finish(table: Table, outcome: Outcome, now: datetime) -> None:
    """End a game: store its result, and close its turns and orders."""
    game = table.game
    game.status = GameStatus.OVER
    game.ended_at = now
    game.paused = False
    game.result = json.dumps(
        {"scores": list(outcome.scores), "winners": list(outcome.winners), "reason": outcome.reason}
    )
    turns.close_all(table, now)
    standing_orders.withdraw_all(table, None, Fact("game_over"), now)
    autopilot.clear_alerts(table, now)
    table.tell(events.GameOver(at=now, seq=game.head))


# ---- quarantine ----
# A game whose rules are not installed, because its package is gone or broken, is on hold until they are.

LOGGER = logging.getLogger(__name__)


def quarantine(game_id: str, why: Fact, now: datetime) -> None:
    """Quarantine a game and alert the moderators; one transaction, which locks the game.

    Its turns are closed, so that no tick meets it again. Nothing happens to a game that is in quarantine already.
    """
    with transaction() as session, in_hand(session, game_id, now) as table:
        if table.game.quarantine is not None and table.game.quarantine.code != NO_RULES:
            return
        table.game.quarantine = why
        table.turns.clear()
        operations.raise_alert(session, f"quarantine:{game_id}", why, now, game_id)


def quarantine_if_faulty(game_id: str, error: Exception, now: datetime) -> bool:
    """Quarantine a game that could not be played on if its rules or its log are at fault; the caller logs the error.

    Returns:
        False if they are not: then it was the server's own trouble, and the next tick tries again.
    """
    if not (isinstance(error, Broken) or positions.is_fault(error)):
        return False
    quarantine(game_id, Fact("play_failed", {"fault": type(error).__name__}), now)
    return True


def release(table: Table, now: datetime) -> None:
    """End the quarantine of a game whose log replays; the caller settles it, which opens turns again."""
    table.game.quarantine = None
    operations.clear_alerts(table.session, f"quarantine:{table.game.id}", now)


def hold_or_release(game_id: str, now: datetime) -> bool:
    """Put a game on hold if its rules are not installed, or release it if they are again; one transaction.

    Its turns stay open, but no deadline is due. When the game is released, their clocks get the time back.

    Returns:
        Whether the game was put on hold or released.
    """

    def work(table: Table) -> str | None:
        game, why = table.game, table.game.quarantine
        if not positions.installed(game) and why is None:
            _hold(table, now)
            return "its rules are not installed"
        if positions.installed(game) and why is not None and why.code == NO_RULES:
            _release(table, datetime.fromisoformat(str(why.values["since"])), now)
            return "its rules are back"
        return None

    found = change_if_free(game_id, now, work)
    if found is not None:
        LOGGER.info("game %s: %s", game_id, found)
    return found is not None


def _hold(table: Table, now: datetime) -> None:
    kind = {"game": table.game.slug, "version": table.game.rules}
    table.game.quarantine = Fact(NO_RULES, kind | {"since": now.isoformat()})
    for turn in table.turns.values():
        turn.due_at = None
    operations.raise_alert(table.session, _alert(table), Fact(NO_RULES, kind), now)


def _release(table: Table, since: datetime, now: datetime) -> None:
    game = table.game
    game.quarantine = None
    operations.clear_alerts(table.session, _alert(table), now)
    if game.status != GameStatus.RUNNING:
        return
    position = positions.current(table)
    for turn in table.turns.values():
        seconds = _give_back(table, turn, since, now)
        if seconds:
            table.append(seat=turn.seat, by=Cause.CLOCK, move=f"!credit {seconds}", now=now)
    positions.save(table, position)


def _give_back(table: Table, turn: TurnRow, since: datetime, now: datetime) -> int:
    """Give a turn the time that its clock counted while the game was on hold; as much notice as after an outage.

    Returns:
        The seconds by which its allowance grows; 0 if its clock does not run.
    """
    if turn.started_at is None or turn.refused:
        return 0
    hours, began = clock.Hours.read(turn.hours), max(since, turn.started_at)
    lost = round(clock.counted(began, now, turns.outages(table.session, began), hours))
    turns.extend(table, turn, lost)
    noticed = clock.due(now, min(turns.NOTICE_SECONDS, table.game.allowance), hours=hours)
    if turn.due_at is None or turn.due_at >= noticed:
        return lost
    more = turns.seconds_gained(turn, turn.due_at, noticed)
    turns.extend(table, turn, more)
    return lost + more


def _alert(table: Table) -> str:
    """The key of the alert that the rules of a game are not installed: one for all games of that kind."""
    return f"{NO_RULES}:{table.game.slug}:{table.game.rules}"


@contextmanager
def quarantine_if_broken(game_id: str, now: datetime) -> Iterator[None]:
    """Quarantine a game whose log does not replay, once the transaction that met it has rolled back.

    Raises:
        NotRunning: the log does not replay.
    """
    try:
        yield
    except NoRules as missing:
        raise positions.on_hold(missing) from missing
    except Broken as broken:
        LOGGER.exception("game %s is quarantined", game_id)
        quarantine(game_id, Fact("text", {"text": str(broken)}), now)
        raise positions.on_hold(broken) from broken
