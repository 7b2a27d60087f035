"""All acts of moderators (docs/formats.md §2), checked and carried out for `play.moderate`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz.rules import ALL, PUBLIC
from server.play import positions, quarantines, running
from server.play.moderation.act import (
    Act,
    ActNotPossible,
    InvalidAct,
    record_only,
    write,
)
from server.play.moderation.game_acts import abandon, credit, pause, reopen, resume, void
from server.play.moderation.seat_acts import bank, extend, link, replace, switch
from server.play.positions import Position
from server.store import log
from server.store.models import Turn
from server.store.statements import AnyGame
from server.store.table import Table
from server.validation import whole_number

LONGEST_REASON = 500
LAST_SEAT = 99
AFTER_THE_END = {"!note", "!look"}
REPAIRS = {"!void", "!resume", "!abandon"}
"""Acts, besides a note, that are possible in a quarantined game."""


def check_known(words: tuple[str, ...]) -> None:
    """Check that there is such an act.

    Raises:
        InvalidAct: there is none, or it has another number of words.
    """
    if not words or words[0] not in ACTS or len(words) != ACTS[words[0]].words:
        raise InvalidAct("Unknown action. Choose one of: %(acts)s.", acts=", ".join(ACTS))


def check(session: Session, game: AnyGame, words: tuple[str, ...], reason: str) -> None:
    """Check the form of a known act: what does not depend on who asks, or on the state of the game.

    Raises:
        Refused: it is malformed, or has no reason.
    """
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON:
        raise InvalidAct("Give a reason of 1 to %(most)s characters.", most=LONGEST_REASON)
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in reason):
        raise InvalidAct("A reason is one line without control characters.")
    if words[0] == "!look":
        seats = {str(seat.seat) for seat in positions.seats_of(session, game.id)}
        if words[1] not in seats | {ALL, PUBLIC}:
            raise InvalidAct("“%(viewer)s” is not a player of this game.", viewer=words[1][:40])


def gives_time(session: Session, game_id: str, words: tuple[str, ...]) -> set[int]:
    """Return the seats to which an act gives time; a pause gives back what has run of their open turns."""
    turns = select(Turn.seat).where(Turn.game_id == game_id)
    match words:
        case ("!extend" | "!bank", seat, _):
            number = whole_number(seat, LAST_SEAT)
            return set() if number is None else {number}
        case ("!credit", _):
            return set(session.scalars(turns))
        case ("!pause",):
            return set(session.scalars(turns.where(Turn.started_at.is_not(None))))
    return set()


def carry_out(table: Table, act: Act) -> int:
    """Carry out an act, and return the seq of its entry.

    Raises:
        Refused: the act is not possible in the present state of the game.
    """
    verb = act.words[0]
    if table.game.status == "over" and verb in AFTER_THE_END:
        return write(table, act)
    if table.game.quarantine:
        return _repair(table, act)
    position = running.position(table)
    return ACTS[verb].done(table, position, act)


def _repair(table: Table, act: Act) -> int:
    """Carry out an act on a quarantined game: a void before the error or, if the log replays, a resume or the end.

    Raises:
        Broken: the log does not replay yet.
    """
    verb, game = act.words[0], table.game
    if verb == "!note":
        return write(table, act)
    if game.quarantine and game.quarantine.code == positions.NO_RULES:
        raise positions.on_hold(positions.why_on_hold(game.quarantine))
    if verb not in REPAIRS:
        raise ActNotPossible(
            "This game is on hold: void the faulty entry, resume or abandon the game, or add a note."
        )
    rules = positions.rules_of(game)
    entries = log.entries(table.session, game.id)
    state = None if verb == "!void" else positions.replay(game, len(table.seats), rules, entries)
    quarantines.release(table, act.now)
    position = Position(game.id, rules, state, game.head, paused=game.paused, outcome=None)
    if verb == "!resume":
        return reopen(table, position, act)
    return ACTS[verb].done(table, position, act)


@dataclass(frozen=True, slots=True)
class Kind:
    """The number of words in acts with some verb, including the verb, and the function that carries them out."""

    words: int
    done: Callable[[Table, Position, Act], int]


ACTS = {
    "!void": Kind(2, void),
    "!pause": Kind(1, pause),
    "!resume": Kind(1, resume),
    "!extend": Kind(3, extend),
    "!credit": Kind(2, credit),
    "!bank": Kind(3, bank),
    "!autopilot": Kind(3, switch),
    "!replace": Kind(2, replace),
    "!link": Kind(2, link),
    "!look": Kind(2, record_only),
    "!abandon": Kind(1, abandon),
    "!note": Kind(1, record_only),
}
