"""Quarantine: a game with an error is on hold until a moderator repairs it; the other games go on.

A game whose rules are not installed, because its package is gone or broken, is on hold until they are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from server.play import clock, faults, positions, running, turns
from server.play.positions import NO_RULES, Broken, NoRules
from server.store import alerts
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.statements import TurnRow
from server.store.table import Table

LOGGER = logging.getLogger(__name__)


def quarantine(game_id: str, why: Fact, now: datetime) -> None:
    """Quarantine a game and alert the moderators; one transaction, which locks the game.

    Its turns are closed, so that no tick meets it again. Nothing happens to a game that is in quarantine already.
    """
    with transaction() as session, running.in_hand(session, game_id, now) as table:
        if table.game.quarantine is not None and table.game.quarantine.code != NO_RULES:
            return
        table.game.quarantine = why
        table.turns.clear()
        alerts.raise_alert(session, f"quarantine:{game_id}", why, now, game_id)


def quarantine_if_faulty(game_id: str, error: Exception, now: datetime) -> bool:
    """Quarantine a game that could not be played on if its rules or its log are at fault; the caller logs the error.

    Returns:
        False if they are not: then it was the server's own trouble, and the next tick tries again.
    """
    if not (isinstance(error, Broken) or faults.is_fault(error)):
        return False
    quarantine(game_id, Fact("play_failed", {"fault": type(error).__name__}), now)
    return True


def release(table: Table, now: datetime) -> None:
    """End the quarantine of a game whose log replays; the caller settles it, which opens turns again."""
    table.game.quarantine = None
    alerts.clear(table.session, f"quarantine:{table.game.id}", now)


def hold_or_release(game_id: str, now: datetime) -> bool:
    """Put a game on hold if its rules are not installed, or release it if they are again; one transaction.

    Its turns stay open, but no deadline is due. When the game is released, their clocks get the time back.

    Returns:
        Whether the game was put on hold or released.
    """
    with (
        quarantine_if_broken(game_id, now),
        transaction() as session,
        running.in_hand_if_free(session, game_id, now) as table,
    ):
        if table is None:
            return False
        game, why = table.game, table.game.quarantine
        if not positions.installed(game) and why is None:
            _hold(table, now)
        elif positions.installed(game) and why is not None and why.code == NO_RULES:
            _release(table, datetime.fromisoformat(str(why.values["since"])), now)
        else:
            return False
        LOGGER.info("game %s: %s", game_id, "its rules are back" if why else "its rules are not installed")
        return True


def _hold(table: Table, now: datetime) -> None:
    kind = {"game": table.game.slug, "version": table.game.rules}
    table.game.quarantine = Fact(NO_RULES, kind | {"since": now.isoformat()})
    for turn in table.turns.values():
        turn.due_at = None
    alerts.raise_alert(table.session, _alert(table), Fact(NO_RULES, kind), now)


def _release(table: Table, since: datetime, now: datetime) -> None:
    game = table.game
    game.quarantine = None
    alerts.clear(table.session, _alert(table), now)
    if game.status != "running":
        return
    position = positions.current(table)
    for turn in table.turns.values():
        seconds = _give_back(table, turn, since, now)
        if seconds:
            table.append(seat=turn.seat, by="clock", move=f"!credit {seconds}", now=now)
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
