"""The contract of a game: all that the server, records and bots may ask of it.

A game is a package in `byzanz/games/`, or one module if it is small. It is pure: states are frozen, and it has no
clock, no I/O and no random generator of its own. Seats are numbered from 0. A move is one line of text (`Move`).
Whatever decides for a seat sees a view, never a state.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from byzanz.chance import Draw
from byzanz.charts import Chart, Heading, Highlight
from byzanz.moves import Move, Order, OrderAnswer, OrderCase, Outcome, Question, Shuffle, UnreadableOrder

PUBLIC: Literal["public"] = "public"
"""A viewer without a seat, for whom everything hidden stays hidden."""
ALL: Literal["all"] = "all"
"""A viewer for whom nothing is hidden: a moderator who looks, or anyone once the game is over."""
Viewer: TypeAlias = int | Literal["public", "all"]
"""A seat, PUBLIC or ALL."""


class Seen(Protocol):
    """The attributes common to the views of all games."""

    @property
    def viewer(self) -> Viewer:
        """The viewer whose view this is."""


S = TypeVar("S")
V = TypeVar("V", bound=Seen)
_JSON = json.JSONEncoder(separators=(",", ":"))


class Rules(ABC, Generic[S, V]):
    """One version of one game's rules. Instances have no state of their own."""

    slug: ClassVar[str]
    """The game's name in addresses, records and commands."""
    version: ClassVar[int]
    """Raised by any change of play; old versions stay registered so that old records replay."""
    title: ClassVar[str]
    """The game's name for people."""
    seats: ClassVar[range]
    """The possible numbers of players."""
    state_type: ClassVar[type]
    """The dataclass of its states."""
    state_format: ClassVar[int]
    """Raised when the fields of the state change; snapshots of another format are dropped."""
    fewest_win: ClassVar[bool] = False
    """Whether the lowest score wins."""
    sealed: ClassVar[frozenset[str]] = frozenset()
    """Verbs of sealed simultaneous choices: until all are in, a further one by the same seat replaces the earlier."""

    @abstractmethod
    def setup(self, seats: int, options: Mapping[str, Any]) -> S:
        """Return the state before the first shuffle.

        Raises:
            BadSetup: the game does not have this number of seats or one of these options.
        """

    @abstractmethod
    def chance(self, state: S) -> Shuffle | None:
        """Return the shuffle that must happen before anything else, or None.

        Its result is applied as `shuffle LABEL CARD…` by seat None.
        """

    @abstractmethod
    def awaited(self, state: S) -> Mapping[int, Question]:
        """Return the seats to move, ascending, with their questions.

        Empty when a shuffle is due or the game is over. Seats that decide simultaneously share one question.
        """

    @abstractmethod
    def moves(self, state: S, seat: int) -> Sequence[Move]:
        """Return the legal answers to this seat's question in a fixed order; none if the seat is not to move.

        A single one is forced. A long sequence may make its items on demand: most callers need the length or one item.
        """

    @abstractmethod
    def out_of_turn_moves(self, state: S, seat: int) -> tuple[Move, ...]:
        """Return the moves this seat may make besides, to move or not; they open, end and restart nobody's turn."""

    @abstractmethod
    def is_out_of_turn(self, state: S, seat: int, move: Move) -> bool:
        """Return whether this move would be made out of turn rather than answer the seat's question."""

    @abstractmethod
    def apply(self, state: S, seat: int | None, move: Move) -> S:
        """Return the state after a move, fully checked; the seat of a shuffle is None.

        Raises:
            IllegalMove: the rules do not allow it; the message says why.
            NotAwaited: this seat is not to move, or there is no such seat.
        """

    @abstractmethod
    def view(self, state: S, viewer: Viewer) -> V:
        """Return all that this viewer may know and remember, built up from nothing; cards by their names."""

    @abstractmethod
    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Return a move as this viewer may read it while the game runs (docs/formats.md §4).

        Args:
            move: as it was made.
            seat: that made it; None for a shuffle.
            viewer: the reader.
            settled: whether all sealed choices of that moment are in.
        """

    @abstractmethod
    def sample_state(self, view: V, draw: Draw) -> S:
        """Return a random state that gives exactly this view: hidden cards are dealt anew.

        Args:
            view: of any viewer.
            draw: the source of chance.
        """

    @abstractmethod
    def fallback(self, view: V, moves: Sequence[Move]) -> Move:
        """Choose, from the seat's view, the one of `moves` that is played when a seat does not answer."""

    @abstractmethod
    def evaluate(self, view: V) -> float:
        """Estimate the prospects of the view's own seat, in the unit of its score; only bots ask."""

    def rollout_move(self, state: S, seat: int, draw: Draw) -> Move:
        """Return a plausible answer, found quickly, for the playouts of the search bot; any answer by default.

        Args:
            state: sampled (`sample_state`), never the true one; this seat is to move.
            seat: from 0.
            draw: the source of chance.
        """
        moves = self.moves(state, seat)
        return moves[draw(len(moves))]

    @abstractmethod
    def scores(self, state: S) -> tuple[int, ...]:
        """Return the scores as they stand, one a seat."""

    @abstractmethod
    def outcome(self, state: S) -> Outcome | None:
        """Return how the game ended, or None while it runs."""

    @abstractmethod
    def parse(self, text: str) -> Move:
        """Read a move in any letter case, spacing, card order and unambiguous abbreviation (docs/formats.md §1).

        Raises:
            UnreadableMove, AmbiguousMove: the text is not one move.
        """

    def parse_order(self, text: str) -> Order:
        """Read a standing order in any letter case, spacing and unambiguous abbreviation (docs/orders.md).

        By default a game takes none.

        Raises:
            UnreadableOrder, AmbiguousMove: the text is not one order.
        """
        raise UnreadableOrder("%(game)s takes no standing orders.", game=self.title)

    def order_scope(self, order: Order, view: V) -> str:
        """Return the decisions that an order placed now is for, such as `lot 7`; empty if it stands until withdrawn.

        Raises:
            IllegalMove: it could never be carried out, such as one with cards that the seat does not hold.
        """
        return ""

    def order_expired(self, scope: str, view: V) -> bool:
        """Return whether an order's scope has passed, so that the order ends."""
        return False

    def answer_order(self, order: Order, view: V, moves: Sequence[Move]) -> OrderAnswer | None:
        """Return an order's answer to its seat's question, or None if it is for questions of another kind.

        Args:
            order: as `parse_order` returned it, or what remained of it after an earlier answer.
            view: of the seat that is to move: an order never knows more than its owner.
            moves: the seat's legal answers, at least two.
        """
        return None

    def foresee_order(self, order: Order, view: V) -> tuple[OrderCase, ...]:
        """Return what an order would answer in the cases that its owner can foresee; none by default.

        Args:
            view: of the order's owner, who need not be to move.
        """
        return ()

    def heading(self, view: V) -> Heading:
        """Return the part of the game that a moment belongs to, for headings in the history; empty by default.

        Args:
            view: of PUBLIC, because everybody reads the headings.
        """
        return ()

    def charts(self, views: Sequence[V]) -> tuple[Chart, ...]:
        """Return the charts of a finished game; none by default.

        Args:
            views: of PUBLIC, one after each move that counts, in order.
        """
        return ()

    def news(self, view: V, moves: Sequence[str]) -> Sequence[Any]:
        """Return what each of the latest moves did, as far as the view still shows it; None where it does not.

        Pages and emails say it in the log, so it must be public and hashable.

        Args:
            view: after the last of these moves.
            moves: as everybody may read them, in order: consecutive ones of those that count.
        """
        return [None] * len(moves)

    def highlights(self, views: Sequence[V], winners: Sequence[int]) -> Sequence[Highlight]:
        """Return the moments of a finished game that are worth telling, three at most; none by default.

        Args:
            views: as for `charts`.
            winners: of the game; empty if it was ended early.
        """
        return ()

    def places(self, state: S) -> tuple[int, ...]:
        """Return the place of each seat as the game stands: 1 is first, and equal seats share a place.

        By default the scores decide. A game that breaks ties overrides it; at the end, the winners are those placed 1.
        """
        scores = self.scores(state)
        return placed([-score for score in scores] if self.fewest_win else scores)

    def ranking(self, state: S) -> list[tuple[int, int]]:
        """Return the place of each seat, as `places` has it, and the seat, the best first."""
        return sorted((place, seat) for seat, place in enumerate(self.places(state)))

    def encode(self, state: S) -> str:
        """Return the state as one line of JSON, equal for equal states."""
        plain = {field.name: getattr(state, field.name) for field in fields(self.state_type)}
        return _JSON.encode(plain)

    def decode(self, text: str) -> S:
        """Return the state that `encode` wrote.

        Raises:
            ValueError, TypeError: the text is of another format.
        """
        state: S = self.state_type(**{name: _frozen(value) for name, value in json.loads(text).items()})
        return state


def placed(ranks: Sequence[Any]) -> tuple[int, ...]:
    """Return the place of each rank: 1 plus the number of greater ones.

    Args:
        ranks: what the seats are compared by, one a seat; the greatest comes first.
    """
    return tuple([1 + sum(other > rank for other in ranks) for rank in ranks])


def _frozen(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple([_frozen(item) if isinstance(item, list) else item for item in value])
