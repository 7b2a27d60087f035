"""A small game of tricks that brings no templates; before them each seat passes any two of its seven cards, sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

from byzanz.chance import Draw, shuffled
from byzanz.moves import IllegalMove, Move, NotAwaited, Question, Shuffle, check_setup, dealt
from byzanz.parsing import several
from byzanz.rules import ALL, Rules, Viewer

Cards = tuple[str, ...]
DECK = tuple(f"{rank}{suit}" for suit in "ch" for rank in range(2, 10))
SUITS = {"c": "clubs", "h": "hearts"}


@dataclass(frozen=True, slots=True)
class Table:
    """The state and the view of ALL."""

    step: str = "deal"
    number: int = 0
    hands: tuple[Cards, ...] = ((), ())
    rest: Cards = ()
    passed: tuple[Cards, ...] = ((), ())
    leader: int = 0
    trick: Cards = ("", "")
    tricks: tuple[Cards, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """The table as a viewer knows it."""

    viewer: Viewer
    question: str
    awaited: tuple[int, ...]
    hand: Cards
    step: str
    number: int
    hands: tuple[Cards | None, ...]
    rest: Cards | None
    passed: tuple[Cards, ...]
    leader: int
    trick: Cards
    tricks: tuple[Cards, ...]
    scores: tuple[int, ...]


class Passing(Rules[Table, View]):
    """The rules."""

    slug, version, title, seats = "passing", 1, "Passing", range(2, 3)
    state_type, state_format, decisions = Table, 1, 8
    sealed, by_seat = frozenset({"pass"}), frozenset({"leader", "trick"})
    grammar: ClassVar = {"pass": several(2, DECK), "play": (DECK,)}

    def setup(self, seats: int, options: Mapping[str, Any]) -> Table:
        check_setup(self.title, self.seats, seats, options)
        return Table()

    def chance(self, state: Table) -> Shuffle | None:
        return Shuffle("deal", DECK) if state.step == "deal" else None

    def awaited(self, state: Table) -> dict[int, Question]:
        question = Question(state.step, state.number)
        if state.step == "pass":
            return {seat: question for seat in (0, 1) if not state.passed[seat]}
        return {turn(state): question} if state.step == "play" else {}

    def moves(self, state: Table, seat: int) -> tuple[Move, ...]:
        if seat not in self.awaited(state):
            return ()
        if state.step == "pass":
            return tuple(Move("pass", cards) for cards in combinations(state.hands[seat], 2))
        return tuple(Move("play", (card,)) for card in state.hands[seat] if not wrong_suit(state, seat, card))

    def out_of_turn_moves(self, state: Table, seat: int) -> tuple[Move, ...]:
        changes = state.step == "pass" and seat in (0, 1) and state.passed[seat]
        return tuple(Move("pass", cards) for cards in combinations(state.hands[seat], 2)) if changes else ()

    def is_out_of_turn(self, state: Table, seat: int, move: Move) -> bool:
        return move.verb == "pass" and state.step == "pass" and seat not in self.awaited(state)

    def apply(self, state: Table, seat: int | None, move: Move) -> Table:
        if seat is None:
            cards = dealt(self.chance(state), move)
            hands = (ordered(cards[:7]), ordered(cards[7:14]))
            return replace(state, step="pass", number=1, hands=hands, rest=ordered(cards[14:]))
        if move.verb != state.step or seat not in (0, 1) or (move.verb == "play" and seat != turn(state)):
            raise NotAwaited("This is not possible now.")
        for card in move.args:
            if card not in state.hands[seat]:
                raise IllegalMove("You do not hold %(card)s.", card=card)
        number = 2 if move.verb == "pass" else 1
        if not len(move.args) == len({*move.args}) == number or move.args != ordered(move.args):
            raise IllegalMove("Pass two different cards, or play one.")
        if move.verb == "pass":
            return exchanged(replace(state, passed=put(state.passed, seat, move.args)))
        if suit := wrong_suit(state, seat, move.args[0]):
            raise IllegalMove("Follow suit: play %(suit)s.", suit=SUITS[suit])
        hands = put(state.hands, seat, tuple(card for card in state.hands[seat] if card != move.args[0]))
        trick = put(state.trick, seat, move.args[0])
        state = replace(state, number=state.number + 1, hands=hands, trick=trick)
        if "" in trick:
            return state
        over = "play" if hands[0] else "over"
        return replace(
            state,
            step=over,
            leader=winner(state.leader, trick),
            trick=("", ""),
            tricks=(*state.tricks, trick),
        )

    def view(self, state: Table, viewer: Viewer) -> View:
        own = viewer if isinstance(viewer, int) else None
        asked = self.awaited(state)
        return View(
            viewer,
            str(asked[own]) if own in asked else "",
            (*asked,),
            () if own is None else state.hands[own],
            state.step,
            state.number,
            tuple(hand if viewer in (seat, ALL) else None for seat, hand in enumerate(state.hands)),
            state.rest if viewer == ALL or state.step == "over" else None,
            tuple(
                cards if viewer in (seat, ALL) or state.step not in ("pass", "deal") else ("?",) * len(cards)
                for seat, cards in enumerate(state.passed)
            ),
            state.leader,
            state.trick,
            state.tricks,
            self.scores(state),
        )

    def sample_state(self, view: View, draw: Draw) -> Table:
        """Deal the unseen cards; a hand holds those that were passed to it and are not played."""
        dealt_out = view.step in ("pass", "play")
        played = {card for trick in (*view.tricks, view.trick) for card in trick if card}
        got = [
            tuple(card for card in view.passed[1 - seat] if view.step == "play" and card not in played)
            for seat in (0, 1)
        ]
        known = {card for seat in (0, 1) for card in view.hands[seat] or got[seat]}
        unseen = list(shuffled([card for card in DECK if card not in known | played], draw))
        hands: list[Cards] = []
        for seat, hand in enumerate(view.hands):
            size = 7 - sum(bool(trick[seat]) for trick in (*view.tricks, view.trick)) - len(got[seat])
            new = [unseen.pop() for _ in range(size)] if hand is None and dealt_out else []
            hands.append(ordered([*got[seat], *new]) if hand is None else hand)
        rest = view.rest if view.rest is not None else ordered(unseen) if dealt_out else ()
        passed = tuple(hands[seat][:2] if "?" in cards else cards for seat, cards in enumerate(view.passed))
        return Table(view.step, view.number, tuple(hands), rest, passed, view.leader, view.trick, view.tricks)

    def scores(self, state: Table) -> tuple[int, ...]:
        leader, won = 0, [0, 0]
        for trick in state.tricks:
            leader = winner(leader, trick)
            won[leader] += 1
        return tuple(won)

    def over(self, state: Table) -> bool:
        return state.step == "over"


def ordered(cards: Sequence[str]) -> Cards:
    """Return cards in canonical order."""
    return tuple(sorted(cards, key=DECK.index))


def turn(state: Table) -> int:
    """Return the seat whose card the trick lacks."""
    return state.leader if not any(state.trick) else state.trick.index("")


def wrong_suit(state: Table, seat: int, card: str) -> str:
    """Return the suit that a seat must follow instead of playing this card; empty if it may play it."""
    led = state.trick[state.leader][-1:]
    return led if led not in ("", card[-1]) and any(other[-1] == led for other in state.hands[seat]) else ""


def winner(leader: int, trick: Cards) -> int:
    """Return the seat that takes a trick."""
    same = trick[0][-1] == trick[1][-1]
    return max((0, 1), key=lambda seat: trick[seat]) if same else leader


def exchanged(state: Table) -> Table:
    """Return the table with the passed cards in the other hand, once both have passed."""
    if not all(state.passed):
        return state
    hands = tuple(
        ordered([*(card for card in hand if card not in state.passed[seat]), *state.passed[1 - seat]])
        for seat, hand in enumerate(state.hands)
    )
    return replace(state, step="play", number=2, hands=hands)


def put(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    """Return the items with one of them replaced."""
    return (*items[:at], item, *items[at + 1 :])
