"""Games of simultaneous sealed choices: in each round every seat chooses a card, and all are revealed at once.

The author of such a game writes `begin`, `deal`, `held`, `resolve`, `ended`, `points`, `shown` and `sample`; views,
sealing, redaction, sampled states and refusals follow from these. Where the order of a pile is all that is hidden,
`OpenHandsGame` has the last five and `held` already.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from byzanz.chance import Draw, shuffled
from byzanz.moves import IllegalMove, Move, NotAwaited, Question, Shuffle, check_setup, dealt
from byzanz.parsing import read_json, written
from byzanz.rules import ALL, Rules, Viewer

P = TypeVar("P")
Cards: TypeAlias = tuple[str, ...]
Facts: TypeAlias = Mapping[str, Any]
"""What a viewer may know of a position, by name: numbers, texts, tuples of these, or one value a seat."""
SEALED = "?"


@dataclass(frozen=True, slots=True)
class Round(Generic[P]):
    """A moment of the game.

    Args:
        position: the author's, before the choices of this round.
        number: of the round, from 1; 0 before the deal.
        choices: the card that each seat has chosen, or an empty text.
        last: the choices of the round before, empty before the first.
    """

    position: P
    number: int
    choices: Cards
    last: Cards = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """A moment as one viewer knows it.

    Args:
        viewer: a seat, `public` or `all`.
        number: of the round.
        question: to the viewer, or empty.
        awaited: the seats that have not chosen yet.
        hand: the cards among which the viewer may choose.
        choices: of each seat: a card, `?` where it is sealed, or an empty text.
        last: the choices of the round before.
        scores: of each seat.
        shown: what the game shows this viewer besides.
    """

    viewer: Viewer
    number: int
    question: str
    awaited: tuple[int, ...]
    hand: Cards
    choices: Cards
    last: Cards
    scores: tuple[int, ...]
    shown: Facts


class SealedGame(Rules[Round[P], Sight], Generic[P]):
    """A game in which all seats choose a card each, sealed, round after round.

    A choice is written `verb CARD` and may be replaced by another until all are in.
    """

    state_type: ClassVar[type] = Round
    position: ClassVar[type]
    """The author's dataclass of positions."""
    verb: ClassVar[str]
    """What a seat does with a card: `bid`."""
    cards: ClassVar[Cards]
    """All cards that can be chosen, in canonical order."""
    deck: ClassVar[Cards]
    """The cards that are shuffled before the first round, in canonical order."""

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "verb") and hasattr(cls, "cards"):
            cls.sealed = frozenset({cls.verb})
            cls.grammar = {cls.verb: (cls.cards,)}
        super().__init_subclass__()

    @abstractmethod
    def begin(self, seats: int) -> P:
        """Return the position before the deal."""

    @abstractmethod
    def deal(self, position: P, cards: Cards) -> P:
        """Return the position after the deal.

        Args:
            cards: `deck` as it was shuffled, the top card first.
        """

    @abstractmethod
    def held(self, position: P, seat: int) -> Cards:
        """Return the cards among which a seat may choose, in a fixed order; the first is the default."""

    @abstractmethod
    def resolve(self, position: P, choices: Cards) -> P:
        """Return the position after the choices of all seats were revealed."""

    @abstractmethod
    def shown(self, position: P, viewer: Viewer) -> Facts:
        """Return what a viewer may know of a position and must not forget, built up from nothing.

        Scores, the viewer's own cards and the last choices are in the view anyway.
        """

    @abstractmethod
    def sample(self, view: Sight, draw: Draw) -> P:
        """Return a random position that gives this view: the same facts, cards and scores."""

    @abstractmethod
    def ended(self, position: P) -> bool:
        """Return whether the game is over."""

    @abstractmethod
    def points(self, position: P) -> tuple[int, ...]:
        """Return the scores as they stand, one a seat."""

    def setup(self, seats: int, options: Mapping[str, Any]) -> Round[P]:
        """Return the state before the deal; such a game has no options."""
        check_setup(self.title, self.seats, seats, options)
        return Round(self.begin(seats), 0, ("",) * seats)

    def chance(self, state: Round[P]) -> Shuffle | None:
        """Return the deal, which comes first."""
        return None if state.number else Shuffle("deal", self.deck)

    def awaited(self, state: Round[P]) -> dict[int, Question]:
        """Return the seats that have not chosen yet."""
        if not state.number or self.ended(state.position):
            return {}
        question = Question(self.verb, state.number)
        return {seat: question for seat, choice in enumerate(state.choices) if not choice}

    def moves(self, state: Round[P], seat: int) -> tuple[Move, ...]:
        """Return a move for each card that the seat may choose."""
        return self._choices(state, seat) if self._is_open(state, seat) and not state.choices[seat] else ()

    def out_of_turn_moves(self, state: Round[P], seat: int) -> tuple[Move, ...]:
        """Return the same again while others have not chosen yet."""
        return self._choices(state, seat) if self._is_open(state, seat) and state.choices[seat] else ()

    def is_out_of_turn(self, state: Round[P], seat: int, move: Move) -> bool:
        """Return whether a move would replace a sealed choice."""
        return move.verb == self.verb and self._is_open(state, seat) and bool(state.choices[seat])

    def apply(self, state: Round[P], seat: int | None, move: Move) -> Round[P]:
        """Return the state after the deal or a choice; the last choice of a round reveals all."""
        if seat is None:
            return Round(self.deal(state.position, dealt(self.chance(state), move)), 1, state.choices)
        if not self._is_open(state, seat):
            raise NotAwaited("There is nothing to choose now.")
        held = self.held(state.position, seat)
        if move.verb != self.verb or len(move.args) != 1 or move.args[0] not in held:
            held_now = " ".join(held)
            raise IllegalMove(
                "“%(move)s” is not possible. Choose one of these: %(held)s.", move=str(move), held=held_now
            )
        choices = (*state.choices[:seat], move.args[0], *state.choices[seat + 1 :])
        if not all(choices):
            return Round(state.position, state.number, choices, state.last)
        after = self.resolve(state.position, choices)
        return Round(after, state.number + 1, ("",) * len(choices), choices)

    def view(self, state: Round[P], viewer: Viewer) -> Sight:
        """Return what the game shows this viewer, and which choices are in."""
        asked, position = self.awaited(state), state.position
        asks = viewer if isinstance(viewer, int) else None
        return Sight(
            viewer,
            state.number,
            str(asked[asks]) if asks in asked else "",
            (*asked,),
            () if asks is None else self.held(position, asks),
            tuple(
                [
                    choice and (choice if viewer in (seat, ALL) else SEALED)
                    for seat, choice in enumerate(state.choices)
                ]
            ),
            state.last,
            self.points(position),
            self.shown(position, viewer),
        )

    def sample_state(self, view: Sight, draw: Draw) -> Round[P]:
        """Return a random state of this view: sealed choices may be any."""
        position = self.sample(view, draw)

        def chosen(seat: int, choice: str) -> str:
            held = self.held(position, seat)
            return held[draw(len(held))] if choice == SEALED else choice

        choices = tuple([chosen(seat, choice) for seat, choice in enumerate(view.choices)])
        return Round(position, view.number, choices, view.last)

    def evaluate(self, view: Sight) -> float:
        """Return the score of the view's own seat."""
        return float(view.scores[view.viewer]) if isinstance(view.viewer, int) else 0.0

    def scores(self, state: Round[P]) -> tuple[int, ...]:
        """Return the scores as they stand."""
        return self.points(state.position)

    def over(self, state: Round[P]) -> bool:
        """Return whether the game is over."""
        return bool(state.number) and self.ended(state.position)

    def encode(self, state: Round[P]) -> str:
        """Return the state as one line of JSON, equal for equal states."""
        position = [getattr(state.position, field.name) for field in fields(self.position)]
        return written([position, state.number, state.choices, state.last])

    def decode(self, text: str) -> Round[P]:
        """Return the state that `encode` wrote."""
        position, number, choices, last = read_json(text)
        return Round(self.position(*position), number, choices, last)

    def _choices(self, state: Round[P], seat: int) -> tuple[Move, ...]:
        return tuple([Move(self.verb, (card,)) for card in self.held(state.position, seat)])

    def _is_open(self, state: Round[P], seat: int) -> bool:
        running = state.number and not self.ended(state.position)
        return bool(running) and 0 <= seat < len(state.choices)


@dataclass(frozen=True, slots=True)
class Hands:
    """The fields of a position that `OpenHandsGame` asks for; a game derives its own from this.

    Args:
        hands: the cards of each seat, known to all.
        points: that each seat has.
    """

    hands: tuple[Cards, ...]
    points: tuple[int, ...]

    def without(self, choices: Cards) -> tuple[Cards, ...]:
        """Return the hands that remain when each seat has played the card that it chose."""
        played = zip(self.hands, choices, strict=True)
        return tuple([tuple([card for card in hand if card != choice]) for hand, choice in played])


H = TypeVar("H", bound=Hands)


class OpenHandsGame(SealedGame[H]):
    """A game of sealed choices from hands that all know; it ends when they are empty.

    Everybody sees the whole position, but of the pile `face_down` only which cards are in it.
    """

    face_down: ClassVar[str]
    """The field of the position with the cards whose order nobody knows, such as `to_come`."""
    _seen: ClassVar[Cards] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "position"):
            cls._seen = tuple(field.name for field in fields(cls.position) if field.name != "points")

    def held(self, position: H, seat: int) -> Cards:
        """Return the seat's hand; its first card is the default."""
        return position.hands[seat]

    def ended(self, position: H) -> bool:
        """Return whether all hands are empty."""
        return not any(position.hands)

    def points(self, position: H) -> tuple[int, ...]:
        """Return the points that the position holds."""
        return position.points

    def shown(self, position: H, viewer: Viewer) -> Facts:
        """Show everything, but the cards face down in the order of the deck."""
        facts = {name: getattr(position, name) for name in self._seen}
        if viewer != ALL:
            facts[self.face_down] = tuple(sorted(facts[self.face_down], key=self.deck.index))
        return facts

    def sample(self, view: Sight, draw: Draw) -> H:
        """Put the cards face down into any order."""
        pile = view.shown[self.face_down]
        hidden = {self.face_down: pile if view.viewer == ALL else shuffled(pile, draw)}
        position: H = self.position(**{**view.shown, **hidden}, points=view.scores)
        return position
