"""The contract of a game: all that the server, records and bots may ask of it.

A game is a package in `byzanz/games/`, or one module if it is small. It is pure: states are frozen, and it has no
clock, no I/O and no random generator of its own. Seats are numbered from 0. A move is one line of text (`Move`).
Whatever decides for a seat sees a view, never a state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from byzanz.chance import Draw
from byzanz.charts import Chart, Heading, Highlight
from byzanz.moves import ALL as ALL
from byzanz.moves import PUBLIC as PUBLIC
from byzanz.moves import (
    Message,
    Move,
    Order,
    OrderAnswer,
    OrderCase,
    Outcome,
    Question,
    Shuffle,
    UnreadableOrder,
    placed,
)
from byzanz.moves import Viewer as Viewer
from byzanz.parsing import read_json, read_move, written


class Seen(Protocol):
    """The attributes common to the views of all games."""

    @property
    def viewer(self) -> Viewer:
        """The viewer whose view this is."""


S = TypeVar("S")
V = TypeVar("V", bound=Seen)


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
    grammar: ClassVar[Mapping[str, Sequence[Sequence[str]]]] = {}
    """The words at each place after a verb, or `several`; a game whose moves are not like this overrides `parse`."""
    unsealed: ClassVar[frozenset[str]] = frozenset()
    """Verbs of simultaneous choices that all may see at once, such as the last sales of Byzanz."""
    unlisted: ClassVar[frozenset[str]] = frozenset()
    """Verbs of moves that are so many that `moves` lists only some; `apply` accepts the others, too."""
    uses_up: ClassVar[bool] = False
    """Whether cards leave the view of ALL for good; unless they do, the checks count them after every move."""
    by_seat: ClassVar[frozenset[str]] = frozenset()
    """Fields of the view that pages show beside the players: a text for each seat, or the number of a seat."""
    decisions: ClassVar[int] = 25
    """Roughly how many decisions a player makes: pages say so until enough games have ended; bots look ahead by it."""
    example_orders: ClassVar[Sequence[str]] = ()
    """Standing orders as players write them, one of each kind; `byzanz check` tries them."""

    def __init_subclass__(cls) -> None:
        """Say in one line what the class of a game lacks; a class without a slug is no game yet."""
        super().__init_subclass__()
        if "slug" not in cls.__dict__:
            return
        declared = [name for base in reversed(cls.__mro__) for name in vars(base).get("__annotations__", ())]
        lacking = [name for name in declared if not hasattr(cls, name)]
        lacking += [it for it in dir(cls) if getattr(getattr(cls, it, 0), "__isabstractmethod__", False)]
        if cls.outcome is Rules.outcome and cls.over is Rules.over:
            lacking.append("outcome or over")
        if cls.parse is Rules.parse and not cls.grammar:
            lacking.append("grammar or parse")
        if lacking:
            raise TypeError(f"The game {cls.__name__} lacks: {', '.join(lacking)}. See byzanz/rules.py.")

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

    def out_of_turn_moves(self, state: S, seat: int) -> tuple[Move, ...]:
        """Return the moves this seat may make besides, to move or not, which change no turn; none by default."""
        return ()

    def is_out_of_turn(self, state: S, seat: int, move: Move) -> bool:
        """Return whether this move would be made out of turn rather than answer the seat's question."""
        return move in self.out_of_turn_moves(state, seat)

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

    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Return a move as this viewer may read it while the game runs (docs/formats.md §4).

        By default nobody reads the cards of a shuffle, and others read a sealed choice once all are in.

        Args:
            move: as it was made.
            seat: that made it; None for a shuffle.
            viewer: the reader.
            settled: whether all sealed choices of that moment are in.
        """
        if viewer == ALL:
            return str(move)
        if seat is None:
            return f"shuffle {move.args[0]}"
        is_sealed = move.verb in self.sealed and not settled and seat != viewer
        return f"{move.verb} ?" if is_sealed else str(move)

    @abstractmethod
    def sample_state(self, view: V, draw: Draw) -> S:
        """Return a random state that gives exactly this view: hidden cards are dealt anew.

        Args:
            view: of any viewer.
            draw: the source of chance.
        """

    def fallback(self, view: V, moves: Sequence[Move]) -> Move:
        """Choose, from the seat's view, the move that is played when it does not answer; by default the first."""
        return moves[0]

    def evaluate(self, view: V) -> float:
        """Say to bots how good the view is for its own seat, in points: more is better. By default its score.

        Where the fewest points win, that is the score with a minus.
        """
        if not isinstance(view.viewer, int):
            return 0.0
        score = self.scores(self.sample_state(view, lambda _n: 0))[view.viewer]
        return float(-score if self.fewest_win else score)

    def rollout_move(self, state: S, seat: int, draw: Draw) -> Move:
        """Return a plausible answer, found quickly, for the playouts of the search bot; any answer by default.

        Args:
            state: sampled (`sample_state`), never the true one; this seat is to move, or has sealed a choice that it
                may replace.
            seat: from 0.
            draw: the source of chance.
        """
        moves = self.moves(state, seat) or self.out_of_turn_moves(state, seat)
        return moves[draw(len(moves))]

    @abstractmethod
    def scores(self, state: S) -> tuple[int, ...]:
        """Return the scores as they stand, one a seat."""

    def over(self, state: S) -> bool:
        """Return whether the game has ended; a game overrides this or `outcome`."""
        return self.outcome(state) is not None

    def outcome(self, state: S) -> Outcome | None:
        """Return how the game ended, or None while it runs; by default those with the best score win."""
        if not self.over(state):
            return None
        scores = self.scores(state)
        best = min(scores) if self.fewest_win else max(scores)
        winners = tuple([seat for seat, score in enumerate(scores) if score == best])
        return Outcome(scores, winners, "finished")

    def parse(self, text: str) -> Move:
        """Read a move in any letter case, spacing, card order and abbreviation (docs/formats.md §1), by `grammar`.

        Raises:
            UnreadableMove, AmbiguousMove: the text is not one move.
        """
        return read_move(text, self.grammar)

    def reply_text(self, line: str) -> str:
        """Return a line of an email reply as a move or an order; a game may read numbers that its emails show."""
        return line

    def parse_order(self, text: str) -> Order:
        """Read a standing order in any letter case, spacing and abbreviation (docs/orders.md); by default none.

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
            view: of the seat that is to move, since an order knows no more than its owner; moves: at least two.
        """
        return None

    def foresee_order(self, order: Order, view: V) -> tuple[OrderCase, ...]:
        """Return what an order would answer in the cases that its owner can foresee; none by default.

        Args:
            view: of the order's owner, who need not be to move.
        """
        return ()

    def heading(self, view: V) -> Heading:
        """Return the part of the game that a view of PUBLIC belongs to, a heading in the history; empty by default."""
        return ()

    def charts(self, views: Sequence[V]) -> tuple[Chart, ...]:
        """Return the charts of a finished game, from PUBLIC's views after each move that counts; none by default."""
        return ()

    def followed(self, before: V, after: V) -> Sequence[Message]:
        """Return what followed from a move, in sentences that pages and emails add to it; none by default.

        Args:
            before: PUBLIC's view before one move or shuffle; after: the same after it, so that nothing hidden is told.
        """
        return ()

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

    def encode(self, state: S) -> str:
        """Return the state as one line of JSON, equal for equal states."""
        return written({field.name: getattr(state, field.name) for field in fields(self.state_type)})

    def decode(self, text: str) -> S:
        """Return the state that `encode` wrote.

        Raises:
            ValueError, TypeError: the text is of another format.
        """
        state: S = self.state_type(**read_json(text))
        return state
