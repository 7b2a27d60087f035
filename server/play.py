"""The one way a running game changes: its beginning, a move, a time-out, a moderator's act. One transaction each."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from byzanz import umpire
from byzanz.games import rules_of
from byzanz.rules import Move
from server import acts, autopilot, log, outbox, people, positions, table, turns
from server.db import transaction
from server.positions import Broken, Position
from server.schema import Deed, Game, Seat, Turn
from server.table import (
    BadRequest,
    NoSuchLink,
    NotRunning,
    NotYourTurn,
    Paused,
    Stale,
)

LOGGER = logging.getLogger(__name__)
REQUEST_ID = re.compile(r"[\x21-\x7e]{1,64}")
LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a move.

    Args:
        seq: of the entry that it is.
        repeated: the same request had been made before; nothing was played again.
    """

    game_id: str
    seat: int
    seq: int
    repeated: bool


def begin(session: Session, game: Game, now: datetime) -> None:
    """Start a locked game whose seats are all taken: shuffle, deal, ask, mail."""
    rules = rules_of(game.slug, game.rules)
    game.status = "running"
    game.started_at = now
    for seat in positions.seats_of(session, game.id):
        seat.bank = game.bank
    state = positions.replayed(session, game, rules, [])
    position = Position(game.id, rules, state, 0, paused=False, outcome=None)
    table.carry_on(session, game, position, state, now)


def submit(
    game_id: str,
    seat: int,
    text: str,
    *,
    seen: int,
    request_id: str,
    now: datetime,
    by: str = "player",
    link_id: int | None = None,
) -> Receipt:
    """Play a move for a seat (architecture.md, "One move").

    Args:
        text: the move, abbreviated or not.
        seen: any seq that the player had seen when deciding.
        request_id: the client's own name for this intent; the same one again gives the same receipt.
        by: `player` or `bot`.
        link_id: the link that vouches for the player; it must not have been revoked in the meantime.

    Raises:
        RulesError: the text is no move, or not legal now. Refused: its kinds say why.
    """
    if not REQUEST_ID.fullmatch(request_id):
        raise BadRequest("request_id must be 1 to 64 visible ASCII characters.")
    with guarded(game_id, now), transaction() as session:
        game = table.locked(session, game_id)
        if link_id is not None and not people.still_opens(session, link_id, game_id, seat):
            raise NoSuchLink("This link opens no seat any more.")
        move = rules_of(game.slug, game.rules).parse(text[: LONGEST_TEXT + 1])
        repeated = log.by_request(session, game_id, seat, request_id)
        if repeated is not None:
            if repeated.move != str(move):
                raise BadRequest("This request_id was used for another move: “%(move)s”.", move=repeated.move)
            if log.voided(session, game_id, repeated.seq):
                raise Stale("This move was made and has been taken back since. Look again before you decide.")
            return Receipt(game_id, seat, repeated.seq, repeated=True)
        position = _moving(session, game)
        _check_turn(session, position, seat, move, seen)
        state = umpire.play(position.rules, position.state, seat, move)
        if by == "player":
            autopilot.back(session, game, seat, now)
        entry = log.append(session, game, seat=seat, by=by, move=str(move), now=now, request_id=request_id)
        table.carry_on(session, game, position, state, now, mover=seat if by == "player" else None)
        return Receipt(game_id, seat, entry.seq, repeated=False)


def _moving(session: Session, game: Game) -> Position:
    position = table.running(session, game)
    if autopilot.rests(session, game):
        raise Paused("The game rests, for nobody answered any more. Say on your page that you are back.")
    if position.paused:
        raise Paused("The game is paused: nobody moves until a moderator resumes it.")
    return position


def _check_turn(session: Session, position: Position, seat: int, move: Move, seen: int) -> None:
    if seen < 0 or seen > position.head:
        raise BadRequest("seen must be a seq of this game, from 0 to %(head)s.", head=position.head)
    if position.rules.is_aside(position.state, seat, move):
        opened_seq = _sealed_since(session, position, move)
    else:
        turn = session.get(Turn, (position.game_id, seat))
        if turn is None:
            raise NotYourTurn("It is not your turn now.")
        opened_seq = turn.opened_seq
    if opened_seq > seen:
        raise Stale("The table has moved on since this page was drawn. Look again before you decide.")


def _sealed_since(session: Session, position: Position, move: Move) -> int:
    """When the question opened that a change of a sealed choice answers once more; 0 for any other aside.

    The seat itself is asked nothing any more; those whose choice is not in yet are asked the same question.
    """
    if move.verb not in position.rules.sealed:
        return 0
    waiting = turns.open_turns(session, position.game_id)
    return min((turn.opened_seq for turn in waiting), default=0)


def time_out(game_id: str, seat: int, question: str, now: datetime) -> int | None:
    """Play the fallback for a seat that has not answered in time; everything is looked at again under the lock.

    A turn that looked due but was moved by an outage gets a `!credit` entry instead, so that everybody sees why.

    Args:
        question: the text of the turn's question; nothing happens if another is open by now.

    Returns:
        The seq of the first move played, or None if nothing was played.
    """
    with guarded(game_id, now), transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if game is None or turn is None or turn.question != question or game.paused or game.quarantine:
            return None
        due = turns.reckoned(session, game, turn)
        if due is None or due > now:
            _postpone(session, game, turn, due, now)
            return None
        return _play_fallback(session, game, seat, now)


def _postpone(session: Session, game: Game, turn: Turn, due: datetime | None, now: datetime) -> None:
    hinted = turn.due_at
    turn.due_at = due
    if due is None or hinted is None or hinted > now or due <= hinted:
        return
    position = table.running(session, game)
    seconds = turns.gained(turn, hinted, due)
    turn.credited += seconds
    log.append(session, game, seat=turn.seat, by="clock", move=f"!credit {seconds}", now=now)
    positions.save(session, game, position.at(game.head))


def _play_fallback(session: Session, game: Game, seat: int, now: datetime) -> int:
    position = _moving(session, game)
    rules, state = position.rules, position.state
    asked = rules.awaited(state)[seat]
    first = game.head + 1
    # A last move that is left is forced: settling makes it, by the rules and not by the clock.
    while rules.awaited(state).get(seat) == asked and len(moves := rules.moves(state, seat)) > 1:
        move = rules.fallback(rules.view(state, seat), moves)
        state = umpire.play(rules, state, seat, move)
        log.append(session, game, seat=seat, by="clock", move=str(move), now=now)
    last = game.head
    autopilot.missed(session, game, seat)
    table.carry_on(session, game, position, state, now)
    _tell_late(session, game, seat, first, last, now)
    return first


def _tell_late(session: Session, game: Game, seat: int, first: int, last: int, now: datetime) -> None:
    late = session.get_one(Seat, (game.id, seat))
    if late.person_id is None:
        return
    kind = "autopilot" if late.autopilot else "timeout"  # one mail, though two things have happened
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
    """Put a seat on autopilot that no mail has reached for 72 hours; everything is looked at again under the lock.

    Args:
        question: the text of the turn's question; nothing happens if another is open by now.

    Returns:
        The seq of the entry, or None if nothing was done: it happens once a game to a player.
    """
    with guarded(game_id, now), transaction() as session:
        game = log.lock_game(session, game_id, skip_locked=True)
        turn = session.get(Turn, (game_id, seat)) if game else None
        if game is None or turn is None or turn.question != question or game.paused or game.quarantine:
            return None
        lost = session.get_one(Seat, (game_id, seat))
        moment = turns.given_up_at(session, turn)
        if moment is None or moment > now or lost.lost:
            return None
        position = table.running(session, game)
        lost.lost = True
        seq = autopilot.switched_on(session, game, lost, now, autopilot.UNREACHED)
        autopilot.tell_in_charge(session, game, lost, "lost", now)
        table.carry_on(session, game, position, position.state, now)
        return seq


def moderate(
    game_id: str,
    act: str,
    *,
    reason: str,
    person_id: int,
    now: datetime,
    newcomer: acts.Newcomer | None = None,
    seen: int | None = None,
    keep_link: bool = False,
) -> int:
    """A moderator's act on a running game: an entry with its reason, its effect, and a mail to the table.

    Args:
        act: as the log writes it (formats.md §2): `!void 7`, `!extend 2 3600`.
        reason: public for good, one line.
        person_id: the moderator; kept beside the log, not in it.
        newcomer: who takes the seat of a `!replace`.
        keep_link: of a `!link`: mail the same link again instead of a new one that ends it.
        seen: the head of the log when the moderator decided; the act is refused if it has grown since.

    Returns:
        The seq of the act's entry.

    Raises:
        Refused: the act is unknown, malformed, or not possible now; nothing has changed.
    """
    with guarded(game_id, now), transaction() as session:
        game = table.locked(session, game_id)
        if seen is not None and seen != game.head:
            raise Stale("The game has moved on since the preview. Look again.")
        words = tuple(act.split())
        acts.check(session, game, words, reason, person_id)
        seq = acts.carry_out(
            session, game, acts.Act(words, reason.strip(), person_id, now, newcomer, keep_link)
        )
        session.add(Deed(game_id=game.id, seq=seq, person_id=person_id, at=now))
        own = words[0] == "!replace" or (words[0] == "!autopilot" and words[2] == "on")
        told = int(words[1]) if own else None  # by a mail of its own
        table.tell_table(session, game, "act", f"act:{game.id}:{seq}", now, seq=seq, leave_out=told)
        return seq


@contextmanager
def guarded(game_id: str, now: datetime) -> Iterator[None]:
    """Set a game aside whose log does not replay, once the transaction that met it has rolled back."""
    try:
        yield
    except Broken as broken:
        LOGGER.exception("a game is set aside")
        with transaction() as session:
            table.set_aside(session, table.locked(session, game_id), str(broken), now)
        raise NotRunning(
            "This game is set aside until somebody has looked into a fault; nothing is lost."
        ) from broken
