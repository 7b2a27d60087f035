"""What each act of a moderator does to a running game (formats.md §2). `play.moderate` is the way in."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.games import rules_of
from byzanz.rules import ALL, PUBLIC, Outcome
from server import clock, log, outbox, people, positions, table, turns
from server.positions import Position
from server.schema import Deed, Entry, Game, Seat, Turn
from server.table import Refused

LONGEST_REASON = 500
LONGEST_EXTENSION = 30 * 86400
AFTER_THE_END = {"!note", "!look"}
MENDING = {"!void", "!resume", "!abandon"}
"""What a moderator can do with a game that is set aside."""


class BadAct(Refused):
    """The act is unknown or malformed, or lacks a reason."""

    status = 422
    code = "bad_act"


class NotPossible(Refused):
    """The act does not fit the game as it stands."""

    code = "not_possible"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Who takes over a seat: a person with name and address, or a bot of a kind."""

    name: str
    email: str = ""
    bot: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One act as it was asked for."""

    words: tuple[str, ...]
    reason: str
    person_id: int
    now: datetime
    newcomer: Newcomer | None
    keep_link: bool = False
    """Of a `!link`: mail the link that is there once more, instead of a new one that ends it."""

    def number(self, place: int) -> int:
        """The whole number at this place of the act's words."""
        word = self.words[place]
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise BadAct("“%(word)s” should be a whole number.", word=word[:40])
        return int(word)


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


def sits(session: Session, game_id: str, person_id: int) -> bool:
    """Whether this person holds a seat of this game."""
    query = select(Seat.seat).where(
        Seat.game_id == game_id, Seat.person_id == person_id, Seat.status == "seated"
    )
    return session.scalar(query) is not None


def has_looked(session: Session, game_id: str, person_id: int) -> bool:
    """Whether this person has looked into hidden hands of this game, and so can never sit in it."""
    looks = (
        select(Entry.seq)
        .join(Deed, (Deed.game_id == Entry.game_id) & (Deed.seq == Entry.seq))
        .where(Deed.game_id == game_id, Deed.person_id == person_id, Entry.move.like("!look %"))
    )
    return session.scalar(looks.limit(1)) is not None


def carry_out(session: Session, game: Game, act: Act) -> int:
    """Do it, and return the seq of its entry.

    Raises:
        Refused: it does not fit the game as it stands.
    """
    verb = act.words[0]
    if game.status == "over" and verb in AFTER_THE_END:
        return _write(session, game, act)
    if game.quarantine:
        return _mend(session, game, act)
    position = table.running(session, game)
    return ACTS[verb].done(session, game, position, act)


def _mend(session: Session, game: Game, act: Act) -> int:
    """An act on a game that is set aside: a void before the fault, or, if the log replays again, a resume or the end.

    Raises:
        Broken: the log does not replay yet.
    """
    verb = act.words[0]
    if verb == "!note":
        return _write(session, game, act)
    if verb not in MENDING:
        raise NotPossible("This game is set aside: void what is at fault, resume, abandon, or leave a note.")
    rules = rules_of(game.slug, game.rules)
    entries = log.entries(session, game.id)
    state = None if verb == "!void" else positions.replayed(session, game, rules, entries)
    table.take_up(session, game, act.now)
    position = Position(game.id, rules, state, game.head, paused=game.paused, outcome=None)
    if verb == "!resume":
        return _open_anew(session, game, position, act)
    return ACTS[verb].done(session, game, position, act)


def _write(session: Session, game: Game, act: Act, seat: int | None = None) -> int:
    move = " ".join(act.words)
    entry = log.append(session, game, seat=seat, by="moderator", move=move, now=act.now, note=act.reason)
    return entry.seq


def _stands(session: Session, game: Game, position: Position, act: Act, seat: int | None = None) -> int:
    """Write an act that leaves the position as it is."""
    seq = _write(session, game, act, seat)
    if game.status == "running":
        positions.save(session, game, position.at(game.head))
    return seq


def _void(session: Session, game: Game, position: Position, act: Act) -> int:
    target = act.number(1)
    entries = log.entries(session, game.id)
    counting = record.counting(entries)
    if not any(entry.seq == target and entry.seat is not None for entry in counting):
        raise NotPossible("Entry %(seq)s is not a seat's move that still counts.", seq=target)
    seq = _write(session, game, act)
    log.append(session, game, seat=None, by="moderator", move="!pause", now=act.now, note=act.reason)
    game.paused = True
    before = [entry for entry in entries if entry.seq < target]
    state = positions.replayed(session, game, position.rules, before)
    table.carry_on(session, game, position, state, act.now)
    return seq


def _pause(session: Session, game: Game, position: Position, act: Act) -> int:
    if game.paused:
        raise NotPossible("The game is paused already.")
    seq = _stands(session, game, position, act)
    game.paused = True
    turns.close_all(session, game.id)
    return seq


def _resume(session: Session, game: Game, position: Position, act: Act) -> int:
    if not game.paused:
        raise NotPossible("The game is not paused.")
    return _open_anew(session, game, position, act)


def _open_anew(session: Session, game: Game, position: Position, act: Act) -> int:
    seq = _write(session, game, act)
    game.paused = False
    table.carry_on(session, game, position, position.state, act.now)
    return seq


def _extend(session: Session, game: Game, position: Position, act: Act) -> int:
    seat, seconds = _seat(session, game, act), _seconds(act, 2)
    turn = session.get(Turn, (game.id, seat))
    if turn is None:
        raise NotPossible("Seat %(seat)s is not awaited, so there is nothing to extend.", seat=seat)
    seq = _stands(session, game, position, act, seat)
    _more_time(session, game, turn, seconds)
    return seq


def _credit(session: Session, game: Game, position: Position, act: Act) -> int:
    seconds = _seconds(act, 1)
    seq = _stands(session, game, position, act)
    for turn in turns.open_turns(session, game.id):
        _more_time(session, game, turn, seconds)
    return seq


def _more_time(session: Session, game: Game, turn: Turn, seconds: int) -> None:
    turn.extra += seconds
    turn.due_at = turns.reckoned(session, game, turn)
    if turn.started_at and turn.due_at and turn.remind_at:  # one that has been reminded is not reminded again
        turn.remind_at = clock.reminder(turn.started_at, turn.due_at)


def _replace(session: Session, game: Game, position: Position, act: Act) -> int:
    number = _seat(session, game, act)
    if act.newcomer is None:
        raise BadAct("Say who takes the seat.")
    seat = session.get_one(Seat, (game.id, number))
    former = seat.person_id
    if former is not None:
        people.revoke(session, former, game.id, act.now)
    _seat_newcomer(session, game, seat, act.newcomer, act.now)
    seq = _write(session, game, act, number)
    if former is not None:
        _tell_former(session, game, seat, former, act)
    table.carry_on(session, game, position, position.state, act.now, anew=frozenset({number}))
    if seat.person_id is not None:
        outbox.enqueue(
            session,
            key=f"replaced:{game.id}:{seq}",
            kind="replaced",
            person_id=seat.person_id,
            now=act.now,
            game_id=game.id,
            seat=number,
            seq=seq,
        )
    return seq


def _tell_former(session: Session, game: Game, seat: Seat, person_id: int, act: Act) -> None:
    outbox.enqueue(
        session,
        key=f"former:{game.id}:{game.head}",
        kind="former",
        person_id=person_id,
        now=act.now,
        game_id=game.id,
        details={"by": seat.name, "reason": act.reason},
    )


def _seat_newcomer(session: Session, game: Game, seat: Seat, newcomer: Newcomer, now: datetime) -> None:
    seat.name, seat.bot, seat.person_id = newcomer.name, newcomer.bot, None
    seat.silent = False
    if newcomer.bot is None:
        person = people.person_at(session, newcomer.email, newcomer.name, now)
        if sits(session, game.id, person.id):
            raise NotPossible("This person holds a seat of this game already.")
        if has_looked(session, game.id, person.id):
            raise NotPossible("This person has looked into the hands of this game and cannot take a seat.")
        seat.person_id = person.id
    session.flush()
    session.expire(seat, ["person"])


def _link(session: Session, game: Game, position: Position, act: Act) -> int:
    number = _seat(session, game, act)
    seat = session.get_one(Seat, (game.id, number))
    if seat.person_id is None:
        raise NotPossible("Seat %(seat)s is a bot's; it has no link.", seat=number)
    if not act.keep_link:
        people.revoke(session, seat.person_id, game.id, act.now)
    seq = _stands(session, game, position, act, number)
    outbox.enqueue(
        session,
        key=f"fresh:{game.id}:{seq}",
        kind="fresh",
        person_id=seat.person_id,
        now=act.now,
        game_id=game.id,
        seat=number,
        seq=seq,
    )
    return seq


def _abandon(session: Session, game: Game, position: Position, act: Act) -> int:
    seq = _write(session, game, act)
    scores = position.rules.scores(position.state)
    positions.save(session, game, position.at(game.head))
    table.finish(session, game, Outcome(tuple(scores), (), "abandoned"), act.now)
    return seq


def _seat(session: Session, game: Game, act: Act) -> int:
    number = act.number(1)
    if session.get(Seat, (game.id, number)) is None:
        raise BadAct("There is no seat %(seat)s in this game.", seat=number)
    return number


def _seconds(act: Act, place: int) -> int:
    seconds = act.number(place)
    if not 0 < seconds <= LONGEST_EXTENSION:
        raise BadAct("Give 1 to %(most)s seconds.", most=LONGEST_EXTENSION)
    return seconds


@dataclass(frozen=True, slots=True)
class Kind:
    """A verb of the acts: how many words it has, itself included, and what does it."""

    words: int
    done: Callable[[Session, Game, Position, Act], int]


ACTS = {
    "!void": Kind(2, _void),
    "!pause": Kind(1, _pause),
    "!resume": Kind(1, _resume),
    "!extend": Kind(3, _extend),
    "!credit": Kind(2, _credit),
    "!replace": Kind(2, _replace),
    "!link": Kind(2, _link),
    "!look": Kind(2, _stands),
    "!abandon": Kind(1, _abandon),
    "!note": Kind(1, _stands),
}
