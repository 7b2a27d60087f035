"""The start of a game, a move, leaving a running game and returning to it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy.orm import Session

from byzanz import umpire
from byzanz.moves import Move
from byzanz.record import Cause
from server.errors import BadRequest, NoSuchLink, NotYourTurn, Paused, Stale, TooMany
from server.play import autopilot, events, game, history, positions, running, standing_orders
from server.play.game import Table, begin_tenures
from server.play.positions import Position
from server.store import log
from server.store.engine import stamp
from server.store.facts import Fact
from server.store.models import Game, GameStatus
from server.store.statements import SeatRow

T = TypeVar("T")
LOGGER = logging.getLogger(__name__)
REQUEST_ID = re.compile(r"[\x21-\x7e]{1,64}")
LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of submitting a move.

    Args:
        seq: of the move's entry.
        repeated: whether the same request had been made before, so that nothing was played again.
        bots_next: whether only bots are to move after it.
        person_id: of the player in the seat; None for a bot, and if it is repeated.
    """

    game_id: str
    seat: int
    seq: int
    repeated: bool
    bots_next: bool = False
    person_id: int | None = field(default=None, compare=False)


def set_time_control(game: Game, allowance: int, bank: int, days_off: str) -> None:
    """Change the time control of a locked game that has not begun: `begin` gives each seat its bank.

    Args:
        allowance: seconds for each decision.
        bank: seconds for each seat.
        days_off: weekdays on which no time counts, as ISO numbers.
    """
    assert game.status in (GameStatus.ASKED, GameStatus.INVITING), (
        "the clocks of a game that has begun stay as they are"
    )
    game.allowance, game.bank, game.days_off = allowance, bank, days_off


def begin(session: Session, game_id: str, now: datetime) -> None:
    """Start a locked game whose seats are all taken: shuffle, deal, open the first turns."""
    with running.in_hand(session, game_id, now) as table:
        game = table.game
        game.record_format, game.cut_order = 2, json.dumps(_cut_order(table.seats))
        game.head_hash = history.header_of(table).first_hash
        rules = positions.rules_of(game)
        game.status = GameStatus.RUNNING
        game.started_at = now
        for seat in table.seats:
            seat.bank = game.bank
        begin_tenures(table)
        table.tell(events.GameBegun(at=now))
        state = positions.replay(game, len(table.seats), rules, [])
        running.advance(table, Position(game.id, rules, state, 0, paused=False, outcome=None), state, now)


def _cut_order(seats: Sequence[SeatRow]) -> list[int]:
    """All seats in the order in which their cuts were fixed: players first, then bots and seats that were not asked."""

    def when(seat: SeatRow) -> tuple[bool, int, int]:
        chosen = seat.bot is None and not seat.uncut
        return not chosen, seat.cut_number if chosen else 0, seat.seat

    return [seat.seat for seat in sorted(seats, key=when)]


def submit(
    game_id: str,
    seat: int,
    move: Move | str,
    *,
    seen: int,
    request_id: str,
    now: datetime,
    by: Cause = Cause.PLAYER,
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

    def work(table: Table) -> Receipt:
        check_link(table, seat, link_id)
        wanted = (
            positions.rules_of(table.game).parse(move[: LONGEST_TEXT + 1]) if isinstance(move, str) else move
        )
        if table.repeated is not None:
            return _repeated(table, seat, wanted)
        return _played(table, seat, wanted, seen, request_id, now, by)

    asked = {"link_id": link_id, "seat": seat, "request_id": request_id}
    receipt = running.change(game_id, now, work, **asked)
    if receipt.repeated:
        return receipt
    person = receipt.person_id
    who = "%(by)s" if person is None else "%(by)s, person %(person)s"
    LOGGER.info(
        f"game %(game)s: entry %(entry)s is a move of seat %(seat)s ({who})",
        {"game": game_id, "entry": receipt.seq, "seat": seat, "by": by, "person": person},
    )
    return receipt


def _played(
    table: Table, seat: int, move: Move, seen: int, request_id: str, now: datetime, by: Cause
) -> Receipt:
    position = playable_position(table)
    _check_turn(table, position, seat, move, seen)
    state = umpire.play(position.rules, position.state, seat, move)
    if by == Cause.PLAYER:
        autopilot.player_acted(table, seat, now)
    entry = table.append(seat=seat, by=by, move=str(move), now=now, request_id=request_id)
    running.advance(table, position, state, now, mover=seat if by == Cause.PLAYER else None)
    bots_next = bool(table.turns) and all(turn.bot for turn in table.turns.values())
    person_id = table.seats[seat].person_id
    return Receipt(table.game.id, seat, entry.seq, repeated=False, bots_next=bots_next, person_id=person_id)


def check_link(table: Table, seat: int, link_id: int | None) -> None:
    """Check again, under the lock, that the link with which a player came still opens this seat.

    Raises:
        NoSuchLink: it was revoked, or its owner no longer holds the seat.
    """
    if link_id is None:
        return
    owner = table.seat_of(table.link_person) if table.link_person is not None else None
    if owner is None or owner.seat != seat:
        raise NoSuchLink("This link no longer opens a seat.")


def _repeated(table: Table, seat: int, move: Move) -> Receipt:
    """The receipt of a request that was made before."""
    assert table.repeated is not None
    seq, played = table.repeated
    if played != str(move):
        raise BadRequest("This request_id was used for another move: “%(move)s”.", move=played)
    if log.is_voided(table.session, table.game.id, seq):
        raise Stale("This move was played but has since been undone. Look again before you decide.")
    return Receipt(table.game.id, seat, seq, repeated=True)


def playable_position(table: Table) -> Position:
    """The position of a game in hand in which moves can be made now.

    Raises:
        Paused: the game is paused. NotRunning, Broken: as for `running.position`.
    """
    position = running.position(table)
    if autopilot.is_unattended(table):
        raise Paused("The game is paused because nobody is responding. Open your page and press “I’m back”.")
    if position.paused:
        raise Paused("The game is paused until a moderator resumes it.")
    return position


def _check_turn(table: Table, position: Position, seat: int, move: Move, seen: int) -> None:
    if seen < 0 or seen > position.head:
        raise BadRequest("seen must be a seq of this game, from 0 to %(head)s.", head=position.head)
    if position.rules.is_out_of_turn(position.state, seat, move):
        opened_seq = _sealed_since(table, position, move)
    else:
        turn = table.turns.get(seat)
        if turn is None:
            raise _not_your_turn(table.session, position, seat, seen)
        opened_seq = turn.opened_seq
    if opened_seq > seen:
        raise Stale("The game has moved on since this page was loaded. Look again before you decide.")


def _not_your_turn(session: Session, position: Position, seat: int, seen: int) -> NotYourTurn:
    """The refusal of a move by a seat without an open turn; it names the answer that the player has given, if any."""
    first = log.last_move(session, position.game_id, seat, (Cause.PLAYER,))
    if first > seen and not log.is_voided(session, position.game_id, first):
        move = log.entries(session, position.game_id, after=first - 1, upto=first)[0].move
        return NotYourTurn(
            "You have already answered: %(move)s. This second answer was not played.", move=move
        )
    return NotYourTurn("It is not your turn now.")


def _sealed_since(table: Table, position: Position, move: Move) -> int:
    """The head at which a question opened, for a move that changes a sealed answer to it; 0 for other moves.

    The turn of the seat itself is closed, so the seats that have not answered yet tell when the question opened.
    """
    if move.verb not in position.rules.sealed:
        return 0
    return min((turn.opened_seq for turn in table.turns.values()), default=0)


# ---- leaving and returning ----

LEAVES = 6
"""How often a player may leave one game within an hour, because each time adds to the log."""


def at_seat(
    game_id: str, seat: int, now: datetime, link_id: int | None, work: Callable[[Table, Position], T]
) -> T:
    """Let the player of a seat act in a running game, paused or not, and return what the work returns.

    Args:
        link_id: the link with which the player came; it must still open the seat. None: no link is checked.
        work: as for `running.change`.

    Raises:
        Refused: the game is not running, or the link no longer opens the seat.
    """

    def checked(table: Table) -> T:
        check_link(table, seat, link_id)
        return work(table, running.position(table))

    return running.change(game_id, now, checked, link_id=link_id)


def reclaim(game_id: str, seat: int, *, now: datetime, link_id: int | None = None) -> bool:
    """Take a seat off autopilot because its player is back; one transaction, which locks the game.

    Args:
        link_id: the link with which the player came, as for `submit`.

    Returns:
        False if the seat was not on autopilot.

    Raises:
        Refused: its subclass says why.
    """

    def work(table: Table, position: Position) -> bool:
        if not autopilot.player_acted(table, seat, now):
            return False
        running.advance(table, position, position.state, now, mover=seat)
        return True

    return at_seat(game_id, seat, now, link_id, work)


def leave(
    game_id: str, seat: int, *, now: datetime, link_id: int | None = None, erased: str | None = None
) -> bool:
    """Put a seat on autopilot because its player leaves; one transaction, which locks the game.

    The server plays there until another player takes the seat, or the player returns.

    Args:
        link_id: the link with which the player came, as for `submit`.
        erased: the note about who erases the player, if that is not their own doing.

    Returns:
        False if the player had left before.

    Raises:
        TooMany: the player has left and returned too often.
        Refused: its other subclasses say why.
    """

    def work(table: Table, position: Position) -> bool:
        gone = table.seats[seat]
        if gone.left:
            return False
        if erased is None:
            _check_leaves(table.session, game_id, seat, now)
        gone.autopilot, gone.left, gone.missed = True, True, 0
        standing_orders.withdraw_all(table, seat, Fact("left_game"), now)
        by = Cause.PLAYER if erased is None else Cause.MODERATOR
        left = table.append(seat=seat, by=by, move=f"!leave {seat}", now=now, note=erased)
        game.change_tenure(table, gone, left.seq)
        autopilot.request_substitute(table, gone, "left", now, erased=erased is not None)
        running.advance(table, position, position.state, now)
        return True

    return at_seat(game_id, seat, now, link_id, work)


def _check_leaves(session: Session, game_id: str, seat: int, now: datetime) -> None:
    since = stamp(now - timedelta(hours=1))
    left = [act for act in log.acts(session, [game_id], "!leave") if act.seat == seat and act.at > since]
    if len(left) >= LEAVES:
        raise TooMany(
            "You have left this game %(most)s times within an hour. Wait an hour before you leave it again.",
            most=LEAVES,
        )
