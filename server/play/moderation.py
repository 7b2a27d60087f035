"""Moderators' acts on a running game (docs/formats.md §2): their words, each act, and the one entry point."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.moves import Outcome
from byzanz.record import Cause
from byzanz.rules import ALL, PUBLIC
from server import validation
from server.errors import Refused, Stale
from server.play import autopilot, events, game, names, positions, powers, running, standing_orders, turns
from server.play.game import Table
from server.play.positions import Position
from server.store import links, log, people
from server.store.facts import Fact
from server.store.models import Entry, GameStatus, ModeratorAction, Turn
from server.store.statements import SeatRow
from server.validation import whole_number

LONGEST_EXTENSION = 30 * 86400


class InvalidAct(Refused):
    """The act is unknown or malformed, or lacks a reason."""

    status = 422
    code = "bad_act"


class ActNotPossible(Refused):
    """The act is not possible in the present state of the game."""

    code = "not_possible"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The new player of a seat: a person with a name and an address, or a kind of bot."""

    name: str
    email: str = ""
    bot: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One act as a moderator requested it, or a takeover by its `newcomer`.

    Args:
        reason: with the seat of a moderator who plays; empty if none was asked for.
        by: `moderator`, or `player` for a person who takes an offered seat.
    """

    words: tuple[str, ...]
    reason: str
    person_id: int
    now: datetime
    newcomer: Newcomer | None
    keep_link: bool = False
    """Of a `!link`: send the existing link again instead of a new one that revokes it."""
    by: Cause = Cause.MODERATOR

    def number(self, place: int) -> int:
        """The whole number at this place of the act's words."""
        number = whole_number(self.words[place], 999_999_999)
        if number is None:
            raise InvalidAct("“%(word)s” must be a whole number.", word=self.words[place][:40])
        return number


def has_looked(session: Session, game_id: str, person_id: int) -> bool:
    """Whether this person has looked at hidden hands of this game, and so can never play in it."""
    return session.scalar(_looks(person_id).where(Entry.game_id == game_id).limit(1)) is not None


def looked_at(session: Session, person_id: int) -> set[str]:
    """Return the games of which this person has looked at hidden hands."""
    return set(session.scalars(_looks(person_id)))


def _looks(person_id: int) -> Select[str]:
    acted = (ModeratorAction.game_id == Entry.game_id) & (ModeratorAction.seq == Entry.seq)
    looks = select(Entry.game_id).join(ModeratorAction, acted)
    return looks.where(ModeratorAction.person_id == person_id, log.is_act("!look"))


def write(table: Table, act: Act, seat: int | None = None) -> int:
    """Write the entry of an act, and return its seq."""
    move = " ".join(act.words)
    return table.append(seat=seat, by=act.by, move=move, now=act.now, note=act.reason or None).seq


def record_only(table: Table, position: Position, act: Act, seat: int | None = None) -> int:
    """Write the entry of an act that leaves the position as it is, and return its seq."""
    seq = write(table, act, seat)
    if table.game.status == GameStatus.RUNNING:
        positions.save(table, position)
    return seq


def seat_of(table: Table, act: Act) -> SeatRow:
    """The seat that an act names; raises InvalidAct if the game has no such seat."""
    number = act.number(1)
    if number >= len(table.seats):
        raise InvalidAct("There is no seat %(seat)s in this game.", seat=number)
    return table.seats[number]


def seconds_of(act: Act, place: int) -> int:
    """The time that an act gives; raises InvalidAct unless it is at least a second and at most 30 days."""
    seconds = act.number(place)
    if not 0 < seconds <= LONGEST_EXTENSION:
        raise InvalidAct("Give 1 to %(most)s seconds.", most=LONGEST_EXTENSION)
    return seconds


# ---- acts on one seat ----


def extend(table: Table, position: Position, act: Act) -> int:
    """Give one open turn more time."""
    number, seconds = seat_of(table, act).seat, seconds_of(act, 2)
    turn = table.turns.get(number)
    if turn is None:
        raise ActNotPossible("Seat %(seat)s is not to move, so there is no deadline to extend.", seat=number)
    seq = record_only(table, position, act, number)
    turns.extend(table, turn, seconds)
    return seq


def bank(table: Table, position: Position, act: Act) -> int:
    """Add to the time bank of a seat; turns that are open keep the bank that they opened with."""
    seat, seconds = seat_of(table, act), seconds_of(act, 2)
    _refuse_bot(seat)
    seat.bank += seconds
    return record_only(table, position, act, seat.seat)


def _refuse_bot(seat: SeatRow) -> None:
    if seat.person_id is None:
        raise ActNotPossible("Seat %(seat)s is a bot's.", seat=seat.seat)


def switch(table: Table, position: Position, act: Act) -> int:
    """Switch the autopilot of a seat on or off."""
    seat = seat_of(table, act)
    _refuse_bot(seat)
    if act.words[2] not in ("on", "off"):
        raise InvalidAct("An autopilot can only be switched on or off.")
    if seat.autopilot == (act.words[2] == "on"):
        raise ActNotPossible(
            "The autopilot of seat %(seat)s is already %(state)s.", seat=seat.seat, state=act.words[2]
        )
    seq = write(table, act, seat.seat)
    if seat.autopilot:
        had_left = seat.left
        autopilot.switch_off(table, seat, act.now)
        if had_left:
            game.change_tenure(table, seat, seq)
    else:
        seat.autopilot = True
        table.tell(events.AutopilotSwitchedOn(at=act.now, seat=seat.seat, seq=seq, reason=act.reason))
    running.advance(table, position, position.state, act.now)
    return seq


def replace(table: Table, position: Position, act: Act) -> int:
    """Give a seat to a new player, with its hand and its cut."""
    seat = seat_of(table, act)
    if act.newcomer is None:
        raise InvalidAct("Choose a new player for the seat.")
    former = seat.person_id
    if former is not None:
        links.revoke(table.session, former, table.game.id, act.now)
    _seat_newcomer(table, seat, act.newcomer, act.now)
    table.game.trial = False
    standing_orders.withdraw_all(table, seat.seat, Fact("seat_replaced"), act.now)
    seq = seat.held_since = write(table, act, seat.seat)
    game.change_tenure(table, seat, seq)
    running.advance(table, position, position.state, act.now, restart=frozenset({seat.seat}))
    taken = events.SeatTaken(
        at=act.now, seat=seat.seat, seq=seq, reason=act.reason, former_id=former, by=act.by
    )
    table.tell(taken)
    return seq


def _seat_newcomer(table: Table, seat: SeatRow, newcomer: Newcomer, now: datetime) -> None:
    name = validation.unique_name(newcomer.name, names.taken(table.seats, but=seat))
    seat.stored_name, seat.bot, seat.person_id, seat.person = name, newcomer.bot, None, None
    seat.silent = False
    seat.bank, seat.bounces = table.game.bank, 0
    autopilot.switch_off(table, seat, now)
    if newcomer.bot is None:
        person = people.get_or_create(table.session, newcomer.email, newcomer.name, now)
        if table.seat_of(person.id) is not None:
            raise ActNotPossible("This person already has a seat in this game.")
        if has_looked(table.session, table.game.id, person.id):
            raise ActNotPossible("This person has viewed hidden hands in this game and cannot take a seat.")
        table.sit(seat, person, now)


def link(table: Table, position: Position, act: Act) -> int:
    """Send the link of a seat: a new one that revokes the old, or the same again."""
    seat = seat_of(table, act)
    if seat.person_id is None:
        raise ActNotPossible("Seat %(seat)s is a bot's; it has no link.", seat=seat.seat)
    if not act.keep_link:
        links.revoke(table.session, seat.person_id, table.game.id, act.now)
    seq = record_only(table, position, act, seat.seat)
    table.tell(events.LinkRequested(at=act.now, seat=seat.seat, seq=seq, reason=act.reason))
    return seq


# ---- acts on the whole game ----


def void(table: Table, position: Position, act: Act) -> int:
    """Take the game back to before a move of a seat, and pause it."""
    target = act.number(1)
    entries = log.entries(table.session, table.game.id)
    counting = record.effective(entries)
    if not any(entry.seq == target and entry.seat is not None for entry in counting):
        raise ActNotPossible("Entry %(seq)s is not a player’s move that still counts.", seq=target)
    seq = write(table, act)
    table.append(seat=None, by=Cause.MODERATOR, move="!pause", now=act.now, note=act.reason)
    table.game.paused = True
    standing_orders.suspend_all(table)
    before = [entry for entry in entries if entry.seq < target]
    state = positions.replay(table.game, len(table.seats), position.rules, before)
    running.advance(table, position, state, act.now)
    return seq


def pause(table: Table, position: Position, act: Act) -> int:
    """Pause the game: nobody may move, and no clock runs.

    Time that was given for a decision goes to its time bank, for the decision opens anew when the game resumes.
    """
    if table.game.paused:
        raise ActNotPossible("The game is already paused.")
    seq = record_only(table, position, act)
    table.game.paused = True
    for turn in table.turns.values():
        table.seats[turn.seat].bank += turn.extra
    table.turns.clear()
    return seq


def resume(table: Table, position: Position, act: Act) -> int:
    """Resume the game; its turns open again."""
    if not table.game.paused:
        raise ActNotPossible("The game is not paused.")
    if autopilot.is_unattended(table):
        raise ActNotPossible(
            "Every player is on autopilot. Replace a player, or switch an autopilot off first."
        )
    return reopen(table, position, act)


def reopen(table: Table, position: Position, act: Act) -> int:
    """Write the entry of an act after which the game runs again, and open the turns of the seats to move."""
    seq = write(table, act)
    table.game.paused = False
    for seat in table.seats:
        seat.missed = 0  # deadlines missed before the pause do not count
    running.advance(table, position, position.state, act.now)
    return seq


def credit(table: Table, position: Position, act: Act) -> int:
    """Give every open turn more time."""
    seconds = seconds_of(act, 1)
    if not table.turns:
        raise ActNotPossible("Nobody is to move, so there is no deadline to extend.")
    seq = record_only(table, position, act)
    for turn in table.turns.values():
        turns.extend(table, turn, seconds)
    return seq


def abandon(table: Table, position: Position, act: Act) -> int:
    """End the game before its time, with the scores as they stand."""
    seq = write(table, act)
    scores = position.rules.scores(position.state)
    positions.save(table, position)
    running.finish(table, Outcome(tuple(scores), (), "abandoned"), act.now)
    return seq


# ---- all acts ----

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


def check(seats: int, words: tuple[str, ...], reason: str) -> None:
    """Check the form of a known act: what does not depend on who asks, or on the state of the game.

    Args:
        seats: how many the game has.

    Raises:
        Refused: it is malformed, or has no reason.
    """
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON:
        raise InvalidAct("Give a reason of 1 to %(most)s characters.", most=LONGEST_REASON)
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in reason):
        raise InvalidAct("A reason is one line without control characters.")
    if words[0] == "!look" and words[1] not in {*map(str, range(seats)), ALL, PUBLIC}:
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
    if table.game.status == GameStatus.OVER and verb in AFTER_THE_END:
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
    running.release(table, act.now)
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


# ---- the entry point ----


def moderate(
    game_id: str,
    act: str,
    *,
    reason: str,
    person_id: int,
    now: datetime,
    newcomer: Newcomer | None = None,
    seen: int | None = None,
    keep_link: bool = False,
    warned: bool = False,
) -> int:
    """Carry out a moderator's act: an entry with its reason, and its effect.

    One transaction, which locks the game.

    Args:
        act: as the log writes it (docs/formats.md §2): `!void 7`, `!extend 2 3600`.
        reason: one line, public for good.
        person_id: the moderator; stored beside the log, not in it.
        newcomer: the new player of a `!replace`.
        seen: the head of the log when the moderator decided; the act is refused if the log has grown since.
        keep_link: of a `!link`: send the same link again instead of a new one that revokes it.
        warned: the only moderator, who has a stake at this table, has confirmed that the table reads so.

    Returns:
        The seq of the act's entry.

    Raises:
        Conflict: the moderator has a stake at this table.
        Refused: the act is unknown, malformed, or not possible now; nothing has changed.
    """

    def work(table: Table) -> int:
        if seen is not None and seen != table.game.head:
            raise Stale("The game has moved on since the preview. Look again.")
        words = tuple(act.split())
        check_known(words)
        by = powers.Asker(person_id, reason.strip(), warned)
        seats = gives_time(table.session, game_id, words)
        deed = powers.use(table.session, words[0], by, now, game_id=game_id, gives_time=seats, longest=None)
        check(len(table.seats), words, reason)
        assert deed.reason is not None
        seq = deed.seq = carry_out(table, Act(words, deed.reason, person_id, now, newcomer, keep_link))
        table.tell(events.Acted(at=now, seq=seq))
        return seq

    return running.change(game_id, now, work)
