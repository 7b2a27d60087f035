"""What each act of a moderator does to a running game (formats.md §2). `play.moderate` is the way in."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from byzanz.games import rules_of
from byzanz.rules import ALL, PUBLIC
from server.play import positions, running
from server.play.moderation.act import Act, BadAct, Newcomer, NotPossible, has_looked, sits, stands, write
from server.play.moderation.game_acts import abandon, credit, open_anew, pause, resume, void
from server.play.moderation.seat_acts import bank, extend, link, replace, switch
from server.play.positions import Position
from server.store import log
from server.store.models import Game

LONGEST_REASON = 500


AFTER_THE_END = {"!note", "!look"}


MENDING = {"!void", "!resume", "!abandon"}


def check(session: Session, game: Game, words: tuple[str, ...], reason: str, person_id: int) -> None:
    """Refuse what no moderator may do, whatever the act.

    Raises:
        Refused: unknown act, no reason, or a moderator who sits in this game wants to look into hands.
    """
    if not words or words[0] not in ACTS or len(words) != ACTS[words[0]].words:
        raise BadAct("There is no such act; known are: %(acts)s.", acts=", ".join(ACTS))
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON:
        raise BadAct("Give a reason of 1 to %(most)s characters.", most=LONGEST_REASON)
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in reason):
        raise BadAct("A reason is one line without control characters.")
    if words[0] == "!look":
        _check_look(session, game, words[1], person_id)


def _check_look(session: Session, game: Game, viewer: str, person_id: int) -> None:
    seats = {str(seat.seat) for seat in positions.seats_of(session, game.id)}
    if viewer not in seats | {ALL, PUBLIC}:
        raise BadAct("“%(viewer)s” is nobody whose eyes could be lent.", viewer=viewer[:40])
    if sits(session, game.id, person_id):
        raise NotPossible("You sit at this table: you may not look into its hands.")


def carry_out(session: Session, game: Game, act: Act) -> int:
    """Do it, and return the seq of its entry.

    Raises:
        Refused: it does not fit the game as it stands.
    """
    verb = act.words[0]
    if game.status == "over" and verb in AFTER_THE_END:
        return write(session, game, act)
    if game.quarantine:
        return _mend(session, game, act)
    position = running.position(session, game)
    return ACTS[verb].done(session, game, position, act)


def _mend(session: Session, game: Game, act: Act) -> int:
    """An act on a game that is set aside: a void before the fault, or, if the log replays again, a resume or the end.

    Raises:
        Broken: the log does not replay yet.
    """
    verb = act.words[0]
    if verb == "!note":
        return write(session, game, act)
    if verb not in MENDING:
        raise NotPossible("This game is set aside: void what is at fault, resume, abandon, or leave a note.")
    rules = rules_of(game.slug, game.rules)
    entries = log.entries(session, game.id)
    state = None if verb == "!void" else positions.replayed(session, game, rules, entries)
    running.release(session, game, act.now)
    position = Position(game.id, rules, state, game.head, paused=game.paused, outcome=None)
    if verb == "!resume":
        return open_anew(session, game, position, act)
    return ACTS[verb].done(session, game, position, act)


@dataclass(frozen=True, slots=True)
class Kind:
    """A verb of the acts: how many words it has, itself included, and what does it."""

    words: int
    done: Callable[[Session, Game, Position, Act], int]


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
    "!look": Kind(2, stands),
    "!abandon": Kind(1, abandon),
    "!note": Kind(1, stands),
}

__all__ = ["ACTS", "Act", "BadAct", "Newcomer", "NotPossible", "carry_out", "check", "has_looked", "sits"]
