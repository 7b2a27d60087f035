"""The scheduler's jobs, or ticks: due turns, reminders, bots, emails, digests, results.

A tick reads hints without a lock, then checks again under the lock of one game at a time. An error in one game does
not affect the others. Deadlines are rows: nothing is lost when a tick is late or a process dies.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import delete, func, select

from byzanz import bots
from byzanz.chance import Draw
from byzanz.moves import IllegalMove, Move
from byzanz.record import Cause
from server import play
from server.accounts import addresses
from server.community import profiles, reports, results
from server.errors import Refused
from server.lobby import invitations, open_tables, rematch, visitors
from server.mail import deliverability
from server.mail.outgoing import deliver, digest
from server.play import positions, turns
from server.play.game import load
from server.play.positions import NoRules
from server.store import operations, outbox, people
from server.store.engine import reading, transaction, truncate_log, utc_now
from server.store.models import Game, GameStatus, Seat, Submission, Turn

LOGGER = logging.getLogger(__name__)
DUE_AT_ONCE = 200
"""Games whose overdue turns one tick plays; after an outage the backlog is worked off at this rate."""
REMINDERS_AT_ONCE = 200
RESULTS_AT_ONCE = 50
RULES_AT_ONCE = 200
FORMS_KEPT_FOR = timedelta(days=7)
"""How long a form that was sent is recognised when it comes again."""
COUNTED_AGAIN = 300
"""Seconds after which all games may be counted again."""
BOTS_AT_ONCE = 50
THINKING = 1.0
"""Seconds that a bot which searches may take for a move."""
THINKING_AT_ONCE = 2.0
"""Seconds for all bots of one tick together: the more are to move, the less time each has."""


def tick_turns(now: datetime, tick: float) -> int:
    """Play for seats that have missed their deadlines, but never in an outage or while the clock is in doubt.

    Args:
        tick: seconds between two heartbeats of a part.

    Returns:
        How many seats were played for.
    """
    with reading() as session:
        until = operations.enforced_until(session, now, tick)
        if until is None:
            return 0
        games = turns.due_games(session, until, DUE_AT_ONCE)
    began = steady()  # a turn opened late in a long tick must not be dated back to the start of the tick
    return sum(
        _time_out_turns(game_id, until, now + timedelta(seconds=steady() - began)) for game_id in games
    )


def _time_out_turns(game_id: str, until: datetime, now: datetime) -> int:
    with reading() as session:
        table = load(session, game_id, now)
        due = [turn for turn in table.turns.values() if turn.due_at and turn.due_at <= until]
    played = 0
    for turn in due:
        try:
            seq = play.time_out(game_id, turn.seat, turn.question, now)
            if seq is not None:
                played += 1
                timed_out = {"game": game_id, "entry": seq, "seat": turn.seat}
                LOGGER.info(
                    "game %(game)s: entry %(entry)s was played for seat %(seat)s in time-out", timed_out
                )
        except Refused as refused:
            LOGGER.debug("game %s: no timeout: %s", game_id, refused)
        except Exception as error:
            _failed(game_id, error, now)
            break
    return played


def _failed(game_id: str, error: Exception, now: datetime) -> None:
    """Log why a game could not be played on, and quarantine it if its rules or its log are at fault."""
    try:
        at_fault = play.quarantine_if_faulty(game_id, error, now)
    except Exception:
        LOGGER.exception("game %s is not quarantined yet; the next tick tries again", game_id)
        return
    ends = "it is quarantined" if at_fault else "the next tick tries again"
    LOGGER.error("game %s could not be played on; %s", game_id, ends, exc_info=error)


def tick_unreached(now: datetime, tick: float) -> int:
    """Put seats on autopilot whose players no email has reached for 72 hours; as careful as `tick_turns`.

    Returns:
        How many were put on autopilot.
    """
    with reading() as session:
        if operations.enforced_until(session, now, tick) is None:
            return 0
        hints = turns.unreachable(session, now, DUE_AT_ONCE)
    return sum(_give_up(turn, now) for turn in hints)


def _give_up(turn: Turn, now: datetime) -> bool:
    try:
        return play.give_up(turn.game_id, turn.seat, turn.question, now) is not None
    except Refused as refused:
        LOGGER.debug("game %s: seat %s is not put on autopilot: %s", turn.game_id, turn.seat, refused)
    except Exception:
        LOGGER.exception("game %s: seat %s could not be put on autopilot", turn.game_id, turn.seat)
    return False


def tick_reminders(now: datetime) -> int:
    """Queue the due reminders, but none while the clock is in doubt, and return how many."""
    with reading() as session:
        if operations.open_alert(session, operations.CLOCK_JUMPED):
            return 0
        hints = turns.due_reminders(session, now, REMINDERS_AT_ONCE)
    return sum(_remind(turn, now) for turn in hints)


def _remind(turn: Turn, now: datetime) -> bool:
    try:
        return play.remind(turn.game_id, turn.seat, now)
    except Exception:
        LOGGER.exception(
            "game %s: seat %s could not be reminded; the next tick tries again", turn.game_id, turn.seat
        )
        return False


def tick_bots(now: datetime, draw: Draw = secrets.randbelow) -> int:
    """Let each bot that is to move make one move, and return how many were made."""
    with reading() as session:
        hints = turns.bots_to_move(session, BOTS_AT_ONCE)
    seconds = min(THINKING, THINKING_AT_ONCE / max(1, len(hints)))
    return sum(_play_bot(turn.game_id, turn.seat, now, draw, seconds) for turn in hints)


def _play_bot(game_id: str, seat: int, now: datetime, draw: Draw, seconds: float) -> bool:
    try:
        found = _decide(game_id, seat, draw, seconds)
        if found is None:
            return False
        move, seen = found
        request_id = secrets.token_hex(16)
        play.submit(game_id, seat, move, seen=seen, request_id=request_id, now=now, by=Cause.BOT)
    except (Refused, NoRules) as error:
        LOGGER.debug("game %s: the bot of seat %s waits: %s", game_id, seat, type(error).__name__)
        return False
    except IllegalMove:
        # The game has moved on while the bot was thinking; otherwise the next tick finds the same.
        LOGGER.warning("game %s: the bot of seat %s chose an illegal move", game_id, seat)
        return False
    except Exception as error:
        _failed(game_id, error, now)
        return False
    return True


def _decide(game_id: str, seat: int, draw: Draw, seconds: float) -> tuple[Move, int] | None:
    """Return the decision of a seat's bot and the head of the log it has seen; no transaction is open meanwhile."""
    with reading() as session:
        table = load(session, game_id, utc_now())
        name, position = table.seats[seat].bot, positions.current(table)
    if name is None or seat not in position.awaited:
        return None
    rules, state = position.rules, position.state
    moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
    time_left = bots.time_budget(seconds, steady)
    return bots.decide(name, rules, rules.view(state, seat), moves, draw, time_left), position.head


def tick_rules(now: datetime) -> int:
    """Put games on hold whose rules are not installed, release those whose rules are back; return how many."""
    with reading() as session:
        games = positions.without_or_back(session, RULES_AT_ONCE)
    return sum(_hold_or_release(game_id, now) for game_id in games)


def _hold_or_release(game_id: str, now: datetime) -> bool:
    try:
        return play.hold_or_release(game_id, now)
    except Refused as refused:
        LOGGER.debug("game %s: neither on hold nor released: %s", game_id, refused)
    except Exception:
        LOGGER.exception("game %s could be neither put on hold nor released", game_id)
    return False


def tick_outbox(now: datetime, sender: deliver.Sender) -> int:
    """Deliver one batch of the due emails, and return how many were tried."""
    return deliver.deliver(now, sender)


def tick_digests(now: datetime, tick: float) -> int:
    """Queue the due digests and start the clocks that no digest has started; return how many digests."""
    with reading() as session:
        enforced = operations.enforced_until(session, now, tick) is not None
    if enforced:
        digest.start_overdue_clocks(now)
    return digest.queue_due(now)


def tick_invitation_reminders(now: datetime) -> int:
    """Send reminders of unanswered invitations, return how many, and try again addresses that failed for a time."""
    return sum(
        _each(lambda: deliverability.retry_due(now) and 0, lambda: invitations.send_invitation_reminders(now))
    )


def tick_rematches(now: datetime) -> int:
    """Offer the next game of those that ended a day ago and keep going, and return how many."""
    return sum(_offer(game_id, now) for game_id in rematch.due(now))


def _offer(game_id: str, now: datetime) -> bool:
    try:
        return rematch.offer(game_id, now)
    except Refused as refused:
        LOGGER.debug("game %s: the next one is not offered now: %s", game_id, refused)
    except Exception:
        LOGGER.exception("game %s: the next one could not be offered", game_id)
    return False


def tick_addresses(now: datetime, tick: float) -> int:
    """Carry out the changes of addresses to which nobody has objected in time; as careful as `tick_turns`.

    Returns:
        How many were carried out, or dropped because nobody confirmed them.
    """
    with reading() as session:
        until = operations.enforced_until(session, now, tick)
    return sum(_carry_out(person_id, now, until) for person_id in addresses.due(now, until)) if until else 0


def _carry_out(person_id: int, now: datetime, until: datetime) -> bool:
    try:
        done = addresses.carry_out(person_id, now, until)
    except Exception:
        LOGGER.exception("person %s: the address could not be changed; the next tick tries again", person_id)
        return False
    if done:
        LOGGER.info("person %(person)s: the change of their address has ended", {"person": person_id})
    return done


def tick_purge(now: datetime, tick: float) -> int:
    """End old visitors' games and delete old emails unless the clock is in doubt; return how many outgoing ones."""
    from server.mail.incoming import receive  # here: reading emails takes long to import

    with reading() as session:
        enforced = operations.enforced_until(session, now, tick) is not None
    purges = (
        *(receive.purge, profiles.purge, people.purge, visitors.end_old),
        *(reports.purge, _forget_forms, outbox.purge),
    )
    # An erasure may have found a reader in the way of the first.
    gone = _each(truncate_log, *(partial(purge, now) for purge in purges if enforced))
    return gone[-1] if enforced else 0


def _forget_forms(now: datetime) -> None:
    """Delete the forms that were sent a week ago: no browser sends them again (`web/submissions`)."""
    with transaction() as session:
        session.execute(delete(Submission).where(Submission.at <= now - FORMS_KEPT_FOR))


def _each(*works: Callable[[], int | None]) -> list[int]:
    """Do all of these, although some may fail, and return what each returned; then raise the first error, if any."""
    done: list[int] = []
    errors: list[Exception] = []
    for work in works:
        try:
            done.append(work() or 0)
        except Exception as error:
            errors.append(error)
    for more in errors[1:]:
        LOGGER.error("a part of a job failed; it will run again at the next tick", exc_info=more)
    if errors:
        raise errors[0]
    return done


def tick_tables(now: datetime, tick: float) -> int:
    """Look after the open tables, as careful as `tick_turns`: those that end soon or now, and emails about new ones.

    Returns:
        How many tables and readers were concerned.
    """
    with reading() as session:
        until = operations.enforced_until(session, now, tick)
    return invitations.tend_open_tables(until) + open_tables.tell(until) if until is not None else 0


def tick_results(now: datetime, tick: float) -> int:
    """Count the results of games that have ended, and return how many; as careful as `tick_turns`.

    A game that ended after the last moment at which every part was up waits: an outage may still turn out to lie in it.
    """
    with reading() as session:
        until = operations.enforced_until(session, now, tick)
        games = results.due(session, until, RESULTS_AT_ONCE) if until else ()
    return sum(_count_result(game_id, now) for game_id, _ended_at in games)


def _count_result(game_id: str, now: datetime) -> bool:
    try:
        return results.count(game_id, now)
    except Exception:
        LOGGER.exception("game %s: its result could not be counted; the next tick tries again", game_id)
        return False


def tick_figures(now: datetime) -> int:
    """Count for the metrics what can only be counted by reading a whole index, unless another scheduler just has."""
    with reading() as session:
        if operations.stored_figures(session).get("counted", 0) > now.timestamp() - COUNTED_AGAIN:
            return 0
        statuses = session.execute(select(Game.status, func.count()).group_by(Game.status))
        found = {status: n for status, n in statuses}  # noqa: C416 - dict() does not know a row for a pair
        for status in GameStatus:
            operations.note_figure(f"games:{status}", found.get(status, 0))
        operations.note_figure("turns:open", session.scalar(select(func.count()).select_from(Turn)) or 0)
        running = select(func.count()).select_from(Seat).join(Game, Game.id == Seat.game_id)
        on_autopilot = running.where(Seat.autopilot, Game.status == GameStatus.RUNNING)
        operations.note_figure("seats:autopilot", session.scalar(on_autopilot) or 0)
    operations.note_figure("counted", int(now.timestamp()))
    return 0


def steady() -> float:
    """Return the seconds of a clock that nobody sets; on Linux it also runs while the machine is suspended."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
