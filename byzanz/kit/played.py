"""A whole game of random moves that the checks look at, position by position, and how they say what is wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, FunctionType, TracebackType
from typing import Any

from byzanz.chance import Draw, Stream, deal
from byzanz.moves import Move, RulesError
from byzanz.rules import PUBLIC, Rules, Viewer

LONGEST_GAME = 5000
"""The most moves of a game, shuffles among them."""
_LONG = 60
"""In games of more moves some checks look at one position in several."""


class Fault(AssertionError):
    """A game breaks its contract; the message says how."""


def expect(right: object, wrong: str, *values: object) -> None:
    """Raise a fault unless something is right.

    Args:
        right: true if all is well.
        wrong: what is wrong otherwise, with a `%s` for each value.

    Raises:
        Fault: `right` is not true.
    """
    if not right:
        raise Fault(wrong % values)


def choice(draw: Draw, items: Sequence[Any]) -> Any:
    """Return any of these items."""
    return items[draw(len(items))]


def listed(rules: Rules[Any, Any], state: Any, seat: int) -> tuple[Move, ...]:
    """Return all that a seat may do: its answers and its moves out of turn."""
    return (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))


@dataclass(frozen=True, slots=True)
class Moment:
    """A position, and what was made of it next.

    Args:
        state: before the move.
        seat: that moved; None for a shuffle.
        move: that was made.
        after: the state after it.
    """

    state: Any
    seat: int | None
    move: Move
    after: Any


class Game:
    """A game of random moves, moves out of turn among them; forced moves are made like all others.

    Args:
        rules: of the game.
        seats: the number of players.
        seed: the same one gives the same game.
        has_time: asked by checks that play many games whether to go on; they always do if it is not given.

    Attributes:
        states: all positions, from the one before the first shuffle to the last.
        made: the seat and the move after each position but the last.
        at: the number of the position that is looked at.
        piles: where its cards lie, once that was found out (`piles_of`).
    """

    def __init__(
        self, rules: Rules[Any, Any], seats: int, seed: int, has_time: Callable[[], bool] = lambda: True
    ) -> None:
        self.rules = rules
        self.seats = seats
        self.seed = seed
        self.has_time = has_time
        self.states: list[Any] = []
        self.made: list[tuple[int | None, Move]] = []
        self.at = 0
        self.piles: frozenset[str] | None = None

    def __str__(self) -> str:
        return f"{self.rules.slug}-{self.seats}:{self.seed}"

    def play(self) -> None:
        """Play the game to its end.

        Raises:
            Fault: it does not end, or refuses what it lists.
        """
        rules, draw = self.rules, Stream(b"conformance", str(self)).below
        dealer = deal(str(self).encode())
        self.states.append(rules.setup(self.seats, {}))
        while rules.outcome(state := self.states[-1]) is None:
            self.at = len(self.made)
            expect(self.at < LONGEST_GAME, "The game has not ended after %s moves.", LONGEST_GAME)
            shuffle = rules.chance(state)
            seat, move = self._choice(state, draw) if shuffle is None else (None, dealer(shuffle))
            try:
                after = rules.apply(state, seat, move)
            except RulesError as refusal:
                raise Fault(f"“{move}” of {who(seat)} is listed, but refused: {refusal}") from refusal
            self.made.append((seat, move))
            self.states.append(after)

    def _choice(self, state: Any, draw: Draw) -> tuple[int, Move]:
        seat = draw(self.seats)
        moves: Sequence[Move] = self.rules.out_of_turn_moves(state, seat) if draw(3) == 0 else ()
        if not moves:
            asked = tuple(self.rules.awaited(state))
            expect(asked, "Nobody is to move, no shuffle is due, and the game is not over.")
            seat = choice(draw, asked)
            moves = self.rules.moves(state, seat)
            expect(len(moves), "Seat %s is to move, but has no legal move.", seat)
        return seat, choice(draw, moves)

    def moments(self) -> Iterator[Moment]:
        """Go through all moves."""
        for at, (seat, move) in enumerate(self.made):
            self.at = at
            yield Moment(self.states[at], seat, move, self.states[at + 1])

    def settled(self, every: int = 1) -> Iterator[tuple[Moment, Draw]]:
        """Go through the positions in which seats may move, each with a source of chance.

        Args:
            every: of a long game, look at one position in so many.
        """
        every = every if len(self.made) > _LONG else 1
        for moment in self.moments():
            if self.at % every == 0 and moment.seat is not None:
                yield moment, Stream(b"moment", f"{self}:{self.at}").below

    @cached_property
    def cards(self) -> tuple[str, ...]:
        """The names of all cards that were shuffled, each once."""
        shuffles = (move.args[1:] for seat, move in self.made if seat is None)
        return tuple(dict.fromkeys(card for cards in shuffles for card in sorted(cards)))

    @cached_property
    def all_moves(self) -> tuple[Move, ...]:
        """Every move that was listed, once, in a fixed order."""
        every = 3 if len(self.made) > _LONG else 1
        found = {
            str(move): move
            for state in self.states[::every]
            for seat in range(self.seats)
            for move in listed(self.rules, state, seat)
        }
        return tuple(found[text] for text in sorted(found))

    @property
    def readers(self) -> tuple[Viewer, ...]:
        """The viewers from whom something is hidden."""
        return (*range(self.seats), PUBLIC)


def who(viewer: Viewer | None) -> str:
    """Return how a viewer is called in the message of a fault; None is chance."""
    return f"seat {viewer}" if isinstance(viewer, int) else "chance" if viewer is None else viewer.upper()


# ---- messages ----

_PLACE = re.compile(r"%\((\w+)\)s")


def refusal(act: Callable[..., Any], *arguments: Any) -> RulesError | None:
    """Return the error with which rules refuse something, its words checked; None if they accept it.

    Args:
        act: a method of the rules.
        arguments: of the method.

    Raises:
        Fault: the refusal has no words that can be translated.
    """
    try:
        act(*arguments)
    except RulesError as error:
        check_words(error)
        return error
    return None


def check_words(error: RulesError) -> None:
    """Check that the message of a refusal is a sentence written in the code, with named places.

    Raises:
        Fault: it is not.
    """
    kind = type(error).__name__
    expect(len(str(error)) > 10, "A refusal must say why; this %s says “%s”.", kind, str(error))
    is_literal = _is_written_on_the_way(error.message, error.__traceback__)
    check_template(f"The message of {kind}", error.message, error.places, is_literal)


def check_template(what: str, message: str, places: Mapping[str, object], is_literal: bool) -> None:
    """Check that a message can be translated.

    Args:
        what: begins the sentence about a fault.
        message: the template.
        places: its values.
        is_literal: whether it is written in the code.

    Raises:
        Fault: it cannot.
    """
    expect(
        is_literal,
        "%s, “%s”, is put together when it is raised, so it cannot be translated. Write it as "
        'a literal with named places: IllegalMove("Bid above %%(highest)s.", highest=9).',
        what,
        message,
    )
    named = set(_PLACE.findall(message)) if places else set()
    expect(
        named == set(places),
        "%s, “%s”, has the places %s, but the values %s.",
        what,
        message,
        sorted(named),
        sorted(places),
    )
    expect(
        "%" not in _PLACE.sub("", message) or not places,
        "%s, “%s”, has a place without a name.",
        what,
        message,
    )


def _is_written_on_the_way(message: str, trace: TracebackType | None) -> bool:
    """Return whether a message stands in a function through which an error came, or in the module of one."""
    while trace is not None:
        frame = trace.tb_frame
        if message in texts_of(frame.f_code) or message in texts_of(frame.f_globals.get("__name__")):
            return True
        trace = trace.tb_next
    return False


@cache
def texts_of(code: CodeType | str | None) -> frozenset[str]:
    """Return the texts written in a function, or in a module of this name: its functions, classes and tables."""
    if isinstance(code, CodeType):
        return frozenset(_texts(code, set()))
    return (
        frozenset(_texts(tuple(vars(sys.modules[code]).values()), set()))
        if code in sys.modules
        else frozenset()
    )


def _texts(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        for inner in _parts(value):
            yield from _texts(inner, seen)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, CodeType):
        return value.co_consts
    if isinstance(value, FunctionType):
        return (value.__code__, value.__defaults__)
    if isinstance(value, Mapping):
        return (*value, *value.values())
    if isinstance(value, tuple | list | frozenset | set):
        return value
    return tuple(vars(value).values()) if isinstance(value, type) else ()
