"""The one way a running game changes: its beginning, a move, a time-out, a moderator's act. One transaction each."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from byzanz import umpire
from byzanz.games import rules_of
from byzanz.rules import Move
from server.errors import BadRequest, NoSuchLink, NotYourTurn, Paused, Stale
from server.play import autopilot, positions, running, turns
from server.play.positions import Position
from server.play.running import guarded
from server.store import links, log
from server.store.engine import transaction
from server.store.models import Game, Turn

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
    running.advance(session, game, position, state, now)


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
        game = running.lock(session, game_id)
        if link_id is not None and not links.still_opens(session, link_id, game_id, seat):
            raise NoSuchLink("This link opens no seat any more.")
        move = rules_of(game.slug, game.rules).parse(text[: LONGEST_TEXT + 1])
        repeated = log.by_request(session, game_id, seat, request_id)
        if repeated is not None:
            if repeated.move != str(move):
                raise BadRequest("This request_id was used for another move: “%(move)s”.", move=repeated.move)
            if log.is_voided(session, game_id, repeated.seq):
                raise Stale("This move was made and has been taken back since. Look again before you decide.")
            return Receipt(game_id, seat, repeated.seq, repeated=True)
        position = _moving(session, game)
        _check_turn(session, position, seat, move, seen)
        state = umpire.play(position.rules, position.state, seat, move)
        if by == "player":
            autopilot.back(session, game, seat, now)
        entry = log.append(session, game, seat=seat, by=by, move=str(move), now=now, request_id=request_id)
        running.advance(session, game, position, state, now, mover=seat if by == "player" else None)
        return Receipt(game_id, seat, entry.seq, repeated=False)


def _moving(session: Session, game: Game) -> Position:
    position = running.position(session, game)
    if autopilot.rests(session, game):
        raise Paused("The game rests, for nobody answered any more. Say on your page that you are back.")
    if position.paused:
        raise Paused("The game is paused: nobody moves until a moderator resumes it.")
    return position


def _check_turn(session: Session, position: Position, seat: int, move: Move, seen: int) -> None:
    if seen < 0 or seen > position.head:
        raise BadRequest("seen must be a seq of this game, from 0 to %(head)s.", head=position.head)
    if position.rules.is_out_of_turn(position.state, seat, move):
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
