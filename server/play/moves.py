"""The start of a game, and a move."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from byzanz import umpire
from byzanz.games import rules_of
from byzanz.moves import Move
from server.errors import BadRequest, NoSuchLink, NotYourTurn, Paused, Stale
from server.play import autopilot, positions, running, turns
from server.play.positions import Position
from server.play.quarantines import quarantine_if_broken
from server.store import links, log
from server.store.engine import transaction
from server.store.models import Game, Turn

REQUEST_ID = re.compile(r"[\x21-\x7e]{1,64}")
LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of submitting a move.

    Args:
        seq: of the move's entry.
        repeated: whether the same request had been made before, so that nothing was played again.
    """

    game_id: str
    seat: int
    seq: int
    repeated: bool


def begin(session: Session, game: Game, now: datetime) -> None:
    """Start a locked game whose seats are all taken: shuffle, deal, open the first turns, email the players."""
    rules = rules_of(game.slug, game.rules)
    game.status = "running"
    game.started_at = now
    for seat in positions.seats_of(session, game.id):
        seat.bank = game.bank
    state = positions.replay(session, game, rules, [])
    position = Position(game.id, rules, state, 0, paused=False, outcome=None)
    running.advance(session, game, position, state, now)


def submit(
    game_id: str,
    seat: int,
    move: Move | str,
    *,
    seen: int,
    request_id: str,
    now: datetime,
    by: str = "player",
    link_id: int | None = None,
) -> Receipt:
    """Play a move for a seat; one transaction, which locks the game.

    Args:
        move: the move itself, or its text, abbreviated or not.
        seen: the newest seq that the player had seen when deciding.
        request_id: the client's id of this request; repeating it gives the same receipt.
        by: `player` or `bot`.
        link_id: the link with which the player came; it must not have been revoked in the meantime.

    Raises:
        RulesError: the text is not a move, or the move is not legal now.
        Refused: its subclass says why.
    """
    if not REQUEST_ID.fullmatch(request_id):
        raise BadRequest("request_id must be 1 to 64 visible ASCII characters.")
    with quarantine_if_broken(game_id, now), transaction() as session:
        game = running.lock_game(session, game_id)
        if link_id is not None and not links.still_opens(session, link_id, game_id, seat):
            raise NoSuchLink("This link no longer opens a seat.")
        if isinstance(move, str):
            move = rules_of(game.slug, game.rules).parse(move[: LONGEST_TEXT + 1])
        repeated = log.by_request(session, game_id, seat, request_id)
        if repeated is not None:
            if repeated.move != str(move):
                raise BadRequest("This request_id was used for another move: “%(move)s”.", move=repeated.move)
            if log.is_voided(session, game_id, repeated.seq):
                raise Stale("This move was played but has since been undone. Look again before you decide.")
            return Receipt(game_id, seat, repeated.seq, repeated=True)
        position = playable_position(session, game)
        _check_turn(session, position, seat, move, seen)
        state = umpire.play(position.rules, position.state, seat, move)
        if by == "player":
            autopilot.player_acted(session, game, seat, now)
        entry = log.append(session, game, seat=seat, by=by, move=str(move), now=now, request_id=request_id)
        running.advance(session, game, position, state, now, mover=seat if by == "player" else None)
        return Receipt(game_id, seat, entry.seq, repeated=False)


def playable_position(session: Session, game: Game) -> Position:
    """The position of a locked game in which moves can be made now.

    Raises:
        Paused: the game is paused. NotRunning, Broken: as for `running.position`.
    """
    position = running.position(session, game)
    if autopilot.is_unattended(session, game):
        raise Paused("The game is paused because nobody is responding. Open your page and press “I’m back”.")
    if position.paused:
        raise Paused("The game is paused until a moderator resumes it.")
    return position


def _check_turn(session: Session, position: Position, seat: int, move: Move, seen: int) -> None:
    if seen < 0 or seen > position.head:
        raise BadRequest("seen must be a seq of this game, from 0 to %(head)s.", head=position.head)
    if position.rules.is_out_of_turn(position.state, seat, move):
        opened_seq = _sealed_since(session, position, move)
    else:
        turn = session.get(Turn, (position.game_id, seat))
        if turn is None:
            raise _not_your_turn(session, position, seat, seen)
        opened_seq = turn.opened_seq
    if opened_seq > seen:
        raise Stale("The game has moved on since this page was loaded. Look again before you decide.")


def _not_your_turn(session: Session, position: Position, seat: int, seen: int) -> NotYourTurn:
    """The refusal of a move by a seat without an open turn; it names the answer that the player has given, if any."""
    first = log.last_move(session, position.game_id, seat, ("player",))
    if first > seen and not log.is_voided(session, position.game_id, first):
        move = log.entries(session, position.game_id, after=first - 1, upto=first)[0].move
        return NotYourTurn(
            "You have already answered: %(move)s. This second answer was not played.", move=move
        )
    return NotYourTurn("It is not your turn now.")


def _sealed_since(session: Session, position: Position, move: Move) -> int:
    """The head at which a question opened, for a move that changes a sealed answer to it; 0 for other moves.

    The turn of the seat itself is closed, so the seats that have not answered yet tell when the question opened.
    """
    if move.verb not in position.rules.sealed:
        return 0
    waiting = turns.open_turns(session, position.game_id)
    return min((turn.opened_seq for turn in waiting), default=0)
