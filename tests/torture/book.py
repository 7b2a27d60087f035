"""What a game's log implies: the positions, every turn that was ever open, and who did not answer in time.

The log is read entry by entry as it was written, a transaction at a time: an answer, an aside, the clock's play or a
seat taken back, then the shuffles, forced moves, standing orders and autopilots that follow from it. Turns change
where that ends. It knows nothing of `server`.
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
"""Seat, by whom, and the move: what must stand in an entry."""
Sign = tuple[int, int]
"""A seat, and the head of the log when its player gave a sign of himself."""


class Wrong(Exception):
    """An entry that cannot stand where it does.

    Args:
        seq: where it shows.
        text: why.
    """

    def __init__(self, seq: int, text: str) -> None:
        super().__init__(text)
        self.seq = seq


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn: a question was open to a seat since the entry `opened`."""

    seat: int
    question: str
    opened: int


@dataclass(frozen=True, slots=True)
class Missed:
    """A turn that the clock played, from the entry `first` on."""

    turn: Asked
    first: int


@dataclass
class Book:
    """A game as its log tells it.

    Args:
        states: the position after each entry; the first is the one before the game begins.
        turns: every turn there ever was, in the order of their opening; open: by seat, those that still are.
        missed: those that the clock played; last: those among them with which their seat went on autopilot.
        closed: the entry that ended each of the others.
        people: the seats that persons hold.
        left: when orders were left; signs: when orders were left or withdrawn, which the log does not tell.
        late_by: how many decisions each seat has missed in a row.
        autopilot: the seats that the server plays for.
        given_up: seat and seq where the clock switched one on though its player had not missed too much.
        gone: seat and seq where a player left the game.
        rests: nobody plays himself any more, so nobody is asked.
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
    """The turn that the clock is playing, until its question is gone or one move is left."""

    @property
    def state(self) -> Any:
        """The position after the last entry."""
        return self.states[-1]

    def write(self, entry: Entry, following: Entry | None) -> None:
        """Play one entry.

        Args:
            following: the entry after it: an order that makes a move at once belongs to the same transaction.

        Raises:
            Wrong: it cannot stand here.
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
        """What players did when `seq` was the head of the log: it is no entry, but a sign of themselves."""
        for seat, head in self.signs:
            if head == seq:
                self.late_by[seat] = 0

    def _goes_on(self, entry: Entry, following: Entry | None) -> bool:
        """Whether an order left earlier answers at once; one left at just this head came later."""
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
        """The server's own acts come when they are due; a player may leave, and take his seat back."""
        seat, what = entry.seat, (entry.by, entry.move)
        if what[0] == "clock" and what[1].startswith("!credit "):
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
        """What must come next before anybody may choose."""
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
        """What autopilots do: one is switched on for who has missed too much; one plays, if anybody else does."""
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
        """Open and close turns so that they agree with the position after the entry `seq`."""
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
    """The book of a log.

    Args:
        key: of the game's shuffles (formats.md §3).
        seats: how many play; people: those that persons hold.
        left: when standing orders were left; signs: when they were left or withdrawn.

    Raises:
        Wrong: an entry that cannot stand where it does, or one that must follow the last is missing.
    """
    book = Book(rules, key, [rules.setup(seats, {})], people, frozenset(left), frozenset(signs))
    for entry, following in zip(entries, [*entries[1:], None], strict=False):
        book.write(entry, following)
    book.heed(len(entries))
    if (due := book.due()) is not None:
        raise Wrong(len(entries) + 1, f"missing: {due} is due, so a transaction was half done")
    return book
