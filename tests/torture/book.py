"""The consequences of a game's log: positions, every turn that was ever open, and every missed deadline.

The log is read entry by entry, one transaction at a time: an answer, a move out of turn, a move by the clock or a
player's return, then the shuffles, forced moves, standing orders and autopilots that follow. Turns change where that
ends. The module imports nothing of `server`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from byzanz import chance, umpire
from byzanz.moves import RulesError, Shuffle
from byzanz.record import Entry
from byzanz.rules import Rules

MOST_MISSED = 2
"""Decisions in a row that the clock makes for a seat before it goes on autopilot."""
Step = tuple[int | None, str, str]
"""The seat, the cause and the move that an entry must have."""
Sign = tuple[int, int]
"""A seat, and the head of the log when its player was last seen."""


class Wrong(Exception):
    """Raised for an entry that is not possible where it is.

    Args:
        seq: the entry.
        text: the reason.
    """

    def __init__(self, seq: int, text: str) -> None:
        super().__init__(text)
        self.seq = seq


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn: the question that a seat was asked, open since the entry `opened`."""

    seat: int
    question: str
    opened: int


@dataclass(frozen=True, slots=True)
class Missed:
    """A turn that the clock played, starting with the entry `first`."""

    turn: Asked
    first: int


@dataclass
class Book:
    """A game as its log implies it.

    Args:
        states: the position after each entry; the first is the one before the game starts.
        turns: every turn that was ever open, in order of opening; open: those open now, by seat.
        missed: turns that the clock played; last: those among them that put their seat on autopilot.
        closed: the entry that ended each of the other turns.
        people: the seats held by people.
        left: when orders were submitted; signs: when they were submitted or withdrawn, which the log does not record.
        late_by: how many decisions in a row each seat has missed.
        autopilot: the seats on autopilot.
        given_up: seat and seq where the clock switched an autopilot on although its player had not missed too many.
        gone: seat and seq where a player left the game.
        rests: every player is on autopilot, so nobody is asked.
    """

    rules: Rules[Any, Any]
    key: bytes
    states: list[Any]
    people: frozenset[int]
    left: Collection[Sign]
    signs: Collection[Sign]
    turns: list[Asked] = field(default_factory=list)
    closed: dict[Asked, int] = field(default_factory=dict)
    open: dict[int, Asked] = field(default_factory=dict)
    missed: list[Missed] = field(default_factory=list)
    last: list[Missed] = field(default_factory=list)
    late_by: Counter[int] = field(default_factory=Counter)
    autopilot: set[int] = field(default_factory=set)
    given_up: list[Sign] = field(default_factory=list)
    gone: list[Sign] = field(default_factory=list)
    rests: bool = False
    late: Missed | None = None
    """The turn that the clock is playing, until its question is answered or only one move is left."""

    @property
    def state(self) -> Any:
        """Return the position after the last entry."""
        return self.states[-1]

    def write(self, entry: Entry, following: Entry | None) -> None:
        """Apply one entry.

        Args:
            following: the next entry; an order that moves immediately belongs to the same transaction.

        Raises:
            Wrong: the entry is not possible here.
        """
        self.heed(entry.seq - 1)
        step = (entry.seat, entry.by, entry.move)
        due = self.due()
        ordered = entry.by == "order" and (due is None or due[1] == "autopilot" or due[2] == "!pause")
        if due is not None and step != due and not ordered:
            raise Wrong(entry.seq, f"{step} stands where {due} is due")
        if entry.move.startswith("!"):
            self._act(entry, expected=due is not None)
            self.states.append(self.state)
        else:
            self._move(entry, expected=due is not None and not ordered)
        if self.due() is None and not self._goes_on(entry, following):
            self._ask(entry.seq)

    def heed(self, seq: int) -> None:
        """Apply what players did when `seq` was the head of the log: a sign of the player that is no entry."""
        for seat, head in self.signs:
            if head == seq:
                self.late_by[seat] = 0

    def _goes_on(self, entry: Entry, following: Entry | None) -> bool:
        """Whether an earlier order answers immediately; an order submitted at this very head came later."""
        return (
            following is not None and following.by == "order" and (following.seat, entry.seq) not in self.left
        )

    def _move(self, entry: Entry, *, expected: bool) -> None:
        if not expected:
            self._choose(entry)
        try:
            move = umpire.read_logged(self.rules, entry.move)
            self.states.append(self.rules.apply(self.state, entry.seat, move))
        except RulesError as error:
            raise Wrong(entry.seq, f"{entry.move!r}: {error}") from error

    def _act(self, entry: Entry, *, expected: bool) -> None:
        """Check that the server's own acts come when they are due; players may leave and return."""
        seat, what = entry.seat, (entry.by, entry.move)
        if what[0] == "clock" and (
            what[1].startswith("!credit ") or (what[1] == "!note" and seat in self.people)
        ):
            return
        back = seat in self.autopilot and (entry.by, entry.move) == ("player", f"!autopilot {seat} off")
        if seat is not None and back and not expected:
            self.autopilot.remove(seat)
            self.late_by[seat] = 0
        elif seat in self.people and not expected and what == ("clock", f"!autopilot {seat} on"):
            self.autopilot.add(seat)
            self.given_up.append((seat, entry.seq))
        elif seat in self.people and not expected and what == ("player", f"!leave {seat}"):
            self.autopilot.add(seat)
            self.late_by[seat] = 0
            self.gone.append((seat, entry.seq))
        elif not expected:
            raise Wrong(entry.seq, f"{entry.move!r}: no moderator was at work here")
        elif seat is None:
            self.rests = entry.move == "!pause"
        else:
            self.autopilot.add(seat)
            self.last.append(next(missed for missed in reversed(self.missed) if missed.turn.seat == seat))

    def due(self) -> Step | None:
        """Return what must come next before any player may choose."""
        if self.rules.outcome(self.state) is not None:
            return None
        if self.rests:
            return (None, "clock", "!resume") if self.people - self.autopilot else None
        shuffle = self.rules.chance(self.state)
        if isinstance(shuffle, Shuffle):
            return None, "chance", str(chance.deal(self.key)(shuffle))
        if (only := umpire.forced_move(self.rules, self.state)) is not None:
            return only[0], "rules", str(only[1])
        late = self.late
        if late is not None and self._asks(late.turn):
            return late.turn.seat, "clock", self._fallback(late.turn.seat)
        return self._by_itself()

    def _by_itself(self) -> Step | None:
        """Return the next act of an autopilot: it is switched on for a late seat, and moves while anyone else plays."""
        for seat, count in sorted(self.late_by.items()):
            if count >= MOST_MISSED and seat not in self.autopilot:
                return seat, "clock", f"!autopilot {seat} on"
        for seat in sorted(self.rules.awaited(self.state)):
            if seat in self.autopilot:
                resting = not self.people - self.autopilot
                return (None, "clock", "!pause") if resting else (seat, "autopilot", self._fallback(seat))
        return None

    def _choose(self, entry: Entry) -> None:
        if entry.by not in ("player", "bot", "clock", "order") or entry.seat is None:
            raise Wrong(entry.seq, f"{entry.move!r} by {entry.by}, though nothing was due")
        if entry.by == "order":
            if self.rests or entry.seat not in self.rules.awaited(self.state):
                raise Wrong(entry.seq, f"an order answers for seat {entry.seat}, which was asked nothing")
            return
        if self.rests or entry.seat in self.autopilot:
            raise Wrong(entry.seq, f"{entry.move!r} of seat {entry.seat}, which was not taken back")
        move = self.rules.parse(entry.move)
        turn = self.open.get(entry.seat)
        if turn is None and (
            entry.by == "clock" or not self.rules.is_out_of_turn(self.state, entry.seat, move)
        ):
            raise Wrong(entry.seq, f"{entry.move!r} of seat {entry.seat}, which was asked nothing")
        if entry.by == "clock" and turn is not None:
            if entry.move != self._fallback(entry.seat):
                raise Wrong(
                    entry.seq, f"{entry.move!r} is not what is played for a seat that does not answer"
                )
            self.late = Missed(turn, entry.seq)
            self.missed.append(self.late)
            self.late_by[entry.seat] += 1
        elif entry.by == "player":
            self.late_by[entry.seat] = 0

    def _fallback(self, seat: int) -> str:
        rules, state = self.rules, self.state
        return str(rules.fallback(rules.view(state, seat), rules.moves(state, seat)))

    def _asks(self, turn: Asked) -> bool:
        question = self.rules.awaited(self.state).get(turn.seat)
        return question is not None and str(question) == turn.question

    def _ask(self, seq: int) -> None:
        """Open and close turns to match the position after the entry `seq`."""
        self.late = None
        over = self.rests or self.rules.outcome(self.state) is not None
        asked = {} if over else {seat: str(each) for seat, each in self.rules.awaited(self.state).items()}
        still = {seat: turn for seat, turn in self.open.items() if asked.get(seat) == turn.question}
        fresh = [Asked(seat, question, seq) for seat, question in asked.items() if seat not in still]
        self.closed |= {turn: seq for seat, turn in self.open.items() if seat not in still}
        self.turns += fresh
        self.open = still | {turn.seat: turn for turn in fresh}


def read(
    rules: Rules[Any, Any],
    key: bytes,
    seats: int,
    people: frozenset[int],
    entries: Sequence[Entry],
    left: Collection[Sign] = (),
    signs: Collection[Sign] = (),
) -> Book:
    """Read a log.

    Args:
        key: the key of the game's shuffles (docs/formats.md §3).
        seats: the number of seats; people: those held by people.
        left: when standing orders were submitted; signs: when they were submitted or withdrawn.

    Raises:
        Wrong: an entry is not possible where it is, or one that must follow the last is missing.
    """
    book = Book(rules, key, [rules.setup(seats, {})], people, frozenset(left), frozenset(signs))
    for entry, following in zip(entries, [*entries[1:], None], strict=False):
        book.write(entry, following)
    book.heed(len(entries))
    if (due := book.due()) is not None:
        raise Wrong(len(entries) + 1, f"missing: {due} is due, so a transaction was half done")
    return book
