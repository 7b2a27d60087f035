"""The contract every game keeps: what server, records and bots may ask of a game, and nothing else.

A game is one file in `byzanz/games/`. It is pure: states are frozen, no clock, no I/O, no generator of its
own. Seats are numbered from 0. A move is one line of text (`Move`); everything that decides for a seat sees a
view, never a state.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from byzanz.charts import Chart, Part

PUBLIC: Literal["public"] = "public"
"""The viewer who sits nowhere: what every passer-by may know."""
ALL: Literal["all"] = "all"
"""The viewer from whom nothing is hidden: a moderator's open eyes, or anybody once the game is over."""
Viewer: TypeAlias = int | Literal["public", "all"]
"""A seat, PUBLIC or ALL."""


class Seen(Protocol):
    """What the view of every game tells: whose it is."""

    @property
    def viewer(self) -> Viewer:
        """Who sees this."""


S = TypeVar("S")
V = TypeVar("V", bound=Seen)
_JSON = json.JSONEncoder(separators=(",", ":"))
Draw: TypeAlias = Callable[[int], int]
"""A source of chance handed in from outside: `draw(n)` is an integer from 0 to n-1."""


class RulesError(ValueError):
    """A move, a text or a set-up that a game refuses: an English sentence says why and what would do.

    Args:
        message: an English sentence with named places (`"The bid must be above %(highest)s."`), marked for
            extraction by being the first argument of this class or its kinds; the server translates it before
            filling the places.
        places: the value of each place.
    """

    def __init__(self, message: str, **places: object) -> None:
        super().__init__(message % places if places else message)
        self.message = message
        self.places = places


class UnreadableMove(RulesError):
    """The text is no move of this game: unknown verb, unknown card, wrong number of words."""


class AmbiguousMove(RulesError):
    """The text abbreviates more than one verb or card."""


class IllegalMove(RulesError):
    """The move is well formed, but the rules do not allow it now."""


class NotAwaited(IllegalMove):
    """The game asks this seat nothing now."""


class UnreadableOrder(RulesError):
    """The text is no standing order of this game (docs/orders.md)."""


class BadSetup(RulesError):
    """The game cannot be played with this number of seats or these options."""


class Move(NamedTuple):
    """One move: a verb and its words, in canonical form (formats.md §1).

    Args:
        verb: lower-case ASCII, as in `rules/`.
        args: the words after it, lower-case, cards in canonical order.
    """

    verb: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.verb, *self.args))


@dataclass(frozen=True, slots=True)
class Question:
    """What a seat is asked: a kind and a number that rises with each new decision, written `bid 17`.

    While the question stays the same, so does the turn, however many moves answer it.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Cards to be shuffled next.

    Args:
        label: unique in the game (`deal`, `foes:2`).
        cards: the cards in canonical order, before the shuffle.
    """

    label: str
    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended.

    Args:
        scores: one number a seat.
        winners: all who share the win, ascending.
        reason: `finished`, `fallen` or `abandoned`.
    """

    scores: tuple[int, ...]
    winners: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Order:
    """A standing order: what a seat wants done when it is asked (docs/orders.md).

    Args:
        text: canonical, in the game's own grammar: `ladder spice3 wine2 upto 9 then pass`.
        about: the kind of question that it answers; of two orders about the same, the newer counts.
    """

    text: str
    about: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """What a standing order makes of a question.

    Args:
        move: one of the seat's answers; None when the order does not fit and stops.
        message: why, for its owner: an English sentence with named places, marked for extraction by being this
            class's second argument.
        places: the value of each place.
        rest: the order that stands from now on; None when it is used up.
    """

    move: Move | None
    message: str
    places: Mapping[str, object] = field(default_factory=dict)
    rest: Order | None = None

    def __str__(self) -> str:
        return self.message % self.places if self.places else self.message


class Rules(ABC, Generic[S, V]):
    """One version of one game's rules. Instances hold nothing; all is in the state."""

    slug: ClassVar[str]
    """The game's name in addresses, records and commands."""
    version: ClassVar[int]
    """Raised by any change of play; old versions stay registered so that old records replay."""
    title: ClassVar[str]
    """The game's name for people."""
    seats: ClassVar[range]
    """How many may play."""
    state_type: ClassVar[type]
    """The dataclass of its states."""
    state_format: ClassVar[int]
    """Raised when the fields of the state change; snapshots of another format are dropped."""
    sealed: ClassVar[frozenset[str]] = frozenset()
    """Verbs of sealed simultaneous choices: a further one by the same seat replaces the earlier until all are
    in."""

    @abstractmethod
    def setup(self, seats: int, options: Mapping[str, Any]) -> S:
        """The state before the first shuffle.

        Raises:
            BadSetup: not for this number of seats, or an option it does not know.
        """

    @abstractmethod
    def chance(self, state: S) -> Shuffle | None:
        """The shuffle that must happen before anything else, or None.

        Its result is applied as `shuffle LABEL CARD…` by seat None.
        """

    @abstractmethod
    def awaited(self, state: S) -> Mapping[int, Question]:
        """The seats that are asked something, ascending, with their questions.

        Empty when chance is due or the game is over.
        Seats that are asked at once share one question, kind and number.
        """

    @abstractmethod
    def moves(self, state: S, seat: int) -> Sequence[Move]:
        """The legal answers to this seat's question, in a fixed order; none if it is not awaited.

        Exactly one means forced. Where there are many, they may be made when they are asked for: most askers
        want to know how many there are, or one of them.
        """

    @abstractmethod
    def out_of_turn_moves(self, state: S, seat: int) -> tuple[Move, ...]:
        """What this seat may do besides, awaited or not; an aside opens, ends and restarts nobody's turn."""

    @abstractmethod
    def is_out_of_turn(self, state: S, seat: int, move: Move) -> bool:
        """Whether this move of this seat would be an aside and not an answer to its question."""

    @abstractmethod
    def apply(self, state: S, seat: int | None, move: Move) -> S:
        """The state after a move, fully checked; seat None for a shuffle.

        Raises:
            IllegalMove: the rules do not allow it; the sentence says why.
            NotAwaited: this seat is asked nothing, or there is no such seat.
        """

    @abstractmethod
    def view(self, state: S, viewer: Viewer) -> V:
        """All that this viewer may know and may remember, built up from nothing; cards by their names."""

    @abstractmethod
    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """A move as this viewer may read it while the game runs (formats.md §4).

        Args:
            move: as it was made.
            seat: who made it, None for chance.
            viewer: who reads.
            settled: all sealed answers of that moment are in.
        """

    @abstractmethod
    def sample_state(self, view: V, draw: Draw) -> S:
        """One state drawn from those that give exactly this view: what its viewer cannot see is dealt anew.

        Args:
            view: of any viewer.
            draw: the source of chance.
        """

    @abstractmethod
    def fallback(self, view: V, moves: Sequence[Move]) -> Move:
        """What is played for a seat that does not answer: one of `moves`, seen from its view."""

    @abstractmethod
    def evaluate(self, view: V) -> float:
        """How good the prospects of the view's own seat look, in the unit of its score; only bots ask."""

    def rollout_move(self, state: S, seat: int, draw: Draw) -> Move:
        """What a player might well answer, found quickly; only games that the search bot imagines ask.

        Any answer, unless a game knows better.

        Args:
            state: of an imagined world (`sample_state`), never the true one; this seat is awaited in it.
            seat: from 0.
            draw: the source of chance.
        """
        moves = self.moves(state, seat)
        return moves[draw(len(moves))]

    @abstractmethod
    def scores(self, state: S) -> tuple[int, ...]:
        """The scores as they stand, one a seat."""

    @abstractmethod
    def outcome(self, state: S) -> Outcome | None:
        """How the game ended, or None while it runs."""

    @abstractmethod
    def parse(self, text: str) -> Move:
        """Read a move in any letter case, spacing, card order and unambiguous abbreviation (formats.md §1).

        Raises:
            UnreadableMove, AmbiguousMove: the text is not one move.
        """

    def parse_order(self, text: str) -> Order:
        """Read a standing order as freely as a move: any letter case, spacing, unambiguous abbreviation.

        A game that does not say otherwise takes none; the grammar of one that does is in docs/orders.md.

        Raises:
            UnreadableOrder, AmbiguousMove: the text is not one order.
        """
        raise UnreadableOrder("%(game)s takes no standing orders.", game=self.title)

    def order_scope(self, order: Order, view: V) -> str:
        """What an order that is left now is for, such as `lot 7`; empty when it stands until withdrawn or used up.

        Raises:
            IllegalMove: it could never be carried out, such as one with cards that the seat does not hold.
        """
        return ""

    def order_expired(self, occasion: str, view: V) -> bool:
        """Whether what an order was for is over, so that it ends by itself."""
        return False

    def answer_order(self, order: Order, view: V, moves: Sequence[Move]) -> OrderAnswer | None:
        """What an order answers to the question that its seat is asked, or None if it is about something else.

        Args:
            order: as `parse_order` gave it, or the `rest` of an earlier answer.
            view: of the seat that is asked: an order never knows more than its owner.
            moves: the seat's answers, at least two.
        """
        return None

    def heading(self, view: V) -> Part:
        """In which part of the game a moment lies, for the headings of its history; none unless a game says so.

        Args:
            view: of PUBLIC, for everybody reads the headings.
        """
        return ()

    def charts(self, views: Sequence[V]) -> tuple[Chart, ...]:
        """What of a finished game can be drawn as charts, none unless a game says so.

        Args:
            views: of PUBLIC, one after each move that counts, in order; the first shows the game after its first move.
        """
        return ()

    def encode(self, state: S) -> str:
        """The state as one line of JSON, equal for equal states."""
        plain = {field.name: getattr(state, field.name) for field in fields(self.state_type)}
        return _JSON.encode(plain)

    def decode(self, text: str) -> S:
        """The state that `encode` wrote.

        Raises:
            ValueError, TypeError: the text is of another format.
        """
        state: S = self.state_type(**{name: _frozen(value) for name, value in json.loads(text).items()})
        return state


def _frozen(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple([_frozen(item) if isinstance(item, list) else item for item in value])
