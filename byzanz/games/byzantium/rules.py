"""Byzantium, version 1: shedding a hand on a cross of cards, for two to four, exactly as rules/byzantium.md.

The cards, the slots and what fits where are in `byzantium_cross`, what a seat orders beforehand in `byzantium_orders`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

from byzanz.chance import Draw
from byzanz.charts import Chart, Heading
from byzanz.games.byzantium import charts, orders
from byzanz.games.byzantium.cards import (
    ACES,
    ARMS,
    CARD,
    EMPTY,
    NAME,
    NO_CARDS,
    PACK,
    PASS,
    SLOT,
    SLOTS,
    SUIT,
    Cards,
    Cross,
    Names,
    conditions,
    direction,
    names,
    numbers,
    openings,
    placed,
    playable,
    read_move,
    refusal,
    spot,
)
from byzanz.moves import (
    BadSetup,
    IllegalMove,
    Move,
    NotAwaited,
    Order,
    OrderAnswer,
    Outcome,
    Question,
    Shuffle,
)
from byzanz.rules import ALL, Rules, Viewer

__all__ = ["Arm", "Byzantium", "Place", "State", "View"]

HANDFUL = {2: 10, 3: 8, 4: 6}
"""How many cards each is dealt, by the number of players."""
PUTS = {
    (card, slot): Move("put", (NAME[card], "on", SLOTS[slot]))
    for slot in range(len(SLOTS))
    for card in SUIT[SLOTS[slot][0]]
}
DIRECTION = {1: "rising", -1: "falling", 0: None}


@dataclass(frozen=True, slots=True)
class State:
    """A moment of a game. Every tuple with one item a seat is in seat order.

    When a round is over, its cards lie there until the next is dealt.

    Args:
        step: `deal`, `put` or `over`.
        number: how many decisions have been opened so far.
        round: the one on the table, from 1; 0 before the first deal.
        turn: the seat that places a card; -1 when it is nobody.
        kitty: the cards dealt to nobody: before the first deal all of them.
        hands: of each seat.
        cross: the card on each slot, in the order of SLOTS.
        passed: the seats that had to pass this round, in the order of passing.
        lacks: the cards of which each seat showed by passing that it did not hold them: all that could be placed.
        shown: for each finished round what was left in each hand.
    """

    step: str
    number: int
    round: int
    turn: int
    kitty: Cards
    hands: tuple[Cards, ...]
    cross: Cross
    passed: tuple[int, ...]
    lacks: tuple[Cards, ...]
    shown: tuple[tuple[Cards, ...], ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm of the cross.

    Args:
        arm: `e`, `n`, `s` or `w`.
        colour: of its cards, `red` or `black`.
        direction: `rising`, `falling`, or None while no card on it hangs on another.
    """

    arm: str
    colour: str
    direction: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """A slot of the cross, as it can be drawn.

    Args:
        slot: its name.
        x, y: the centre of its card, from the middle to the east and to the south, in tenths of the short side; a
            card is 10 by 14.
        upright: whether the long side points north and south.
        state: `taken`; `open`: its turn could come now; `waiting`: nothing lies where it hangs; `closed`: a card there
            would touch another, or it hangs on such a slot; `dead`: a card there would touch the other Ace.
        card: what lies there.
        takes: the cards off the cross that could be placed there now, none unless it is open.
    """

    slot: str
    x: int
    y: int
    upright: bool
    state: str
    card: str | None
    takes: Names


@dataclass(frozen=True, slots=True)
class View:
    """What one viewer knows of a moment: as `State` where the names agree, with cards by name.

    Args:
        viewer: a seat, `public` or `all`.
        rounds: how many are played.
        dealer: of this round; the seat to the left began.
        awaited: the seats that are asked something; question: what the viewer is asked.
        turn: None when it is nobody.
        hands: None where hidden from the viewer.
        out: who is out for this round, having passed or nothing left.
        aces: crossed in the middle, the lower first: `ab` upright, `ar` across it.
        arms, places: the cross, in the order of the names.
        kitty: None unless the viewer is ALL.
        scores: the points of each seat from the finished rounds.
    """

    viewer: Viewer
    seats: int
    step: str
    number: int
    round: int
    rounds: int
    dealer: int
    awaited: tuple[int, ...]
    question: str | None
    turn: int | None
    hands: tuple[Names | None, ...]
    hand_sizes: tuple[int, ...]
    passed: tuple[int, ...]
    out: tuple[bool, ...]
    lacks: tuple[Names, ...]
    aces: Names
    arms: tuple[Arm, ...]
    places: tuple[Place, ...]
    kitty_size: int
    kitty: Names | None
    shown: tuple[tuple[Names, ...], ...]
    scores: tuple[int, ...]

    @property
    def hand(self) -> Names | None:
        """The viewer's own hand; None for one who holds none."""
        return self.hands[self.viewer] if isinstance(self.viewer, int) else None


class Byzantium(Rules[State, View]):
    """The rules of Byzantium."""

    slug: ClassVar[str] = "byzantium"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Byzantium"
    seats: ClassVar[range] = range(2, 5)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 1

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """The undealt cards and the Aces; Byzantium has no options."""
        if seats not in HANDFUL:
            raise BadSetup("Byzantium is for 2 to 4 players, not %(seats)s.", seats=seats)
        if options:
            raise BadSetup("Byzantium has no option “%(option)s”.", option=min(map(str, options))[:40])
        return State(
            step="deal",
            number=0,
            round=0,
            turn=-1,
            kitty=PACK,
            hands=((),) * seats,
            cross=NO_CARDS,
            passed=(),
            lacks=((),) * seats,
            shown=(),
        )

    def chance(self, state: State) -> Shuffle | None:
        """One shuffle before each round, of all but the Aces."""
        return Shuffle(f"deal:{state.round + 1}", NAME) if state.step == "deal" else None

    def awaited(self, state: State) -> dict[int, Question]:
        """The seat whose turn it is."""
        return {} if state.turn < 0 else {state.turn: Question("put", state.number)}

    def moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """The placements, by card and then by the name of the slot, or `pass` when there is none."""
        if seat < 0 or seat != state.turn:
            return ()
        slots = sorted(openings(state.cross).items())
        found = [PUTS[card, slot] for card in state.hands[seat] for slot, cards in slots if card in cards]
        return tuple(found) or (PASS,)

    def out_of_turn_moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """None: nothing is done out of turn."""
        return ()

    def is_out_of_turn(self, state: State, seat: int, move: Move) -> bool:
        """Never."""
        return False

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """The state after a move in canonical form; refuses whatever rules/byzantium.md does not allow."""
        if seat is None:
            return _deal(state, self.chance(state), move)
        _check_turn(state, seat)
        if move.verb == "put":
            return _put(state, seat, move.args)
        if move != PASS:
            raise IllegalMove("You are asked to place a card: put, the card, on and the slot.")
        return _pass(state, seat)

    def view(self, state: State, viewer: Viewer) -> View:
        """All but others' hands, until the round is over, and the kitty (rules/byzantium.md "Public and hidden")."""
        everything = viewer == ALL
        awaited = self.awaited(state)
        question = awaited.get(viewer) if isinstance(viewer, int) else None
        open_hands = everything or state.step != "put"
        hands, seats = enumerate(state.hands), len(state.hands)
        return View(
            viewer=viewer,
            seats=seats,
            step=state.step,
            number=state.number,
            round=state.round,
            rounds=seats,
            dealer=(max(state.round, 1) - 2) % seats,
            awaited=tuple(awaited),
            question=str(question) if question else None,
            turn=state.turn if state.turn >= 0 else None,
            hands=tuple(names(hand) if open_hands or seat == viewer else None for seat, hand in hands),
            hand_sizes=tuple(map(len, state.hands)),
            passed=state.passed,
            out=tuple(seat in state.passed or not hand for seat, hand in enumerate(state.hands)),
            lacks=tuple(map(names, state.lacks)),
            aces=ACES,
            arms=_arms(state.cross),
            places=_places(state.cross),
            kitty_size=len(state.kitty),
            kitty=names(state.kitty) if everything else None,
            shown=tuple(tuple(map(names, hands)) for hands in state.shown),
            scores=self.scores(state),
        )

    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Every move is public, except in which order the cards lie."""
        return f"shuffle {move.args[0]}" if seat is None and viewer != ALL else str(move)

    def sample_state(self, view: View, draw: Draw) -> State:
        """A state of this view, each as likely: the unseen is dealt anew, to nobody what it showed not to hold.

        Who passed earlier could have placed all that could be placed later: it has the least to choose from, so that
        whatever it is dealt leaves the later ones as many ways.
        """
        cross, lacks = _cross_of(view), tuple(map(numbers, view.lacks))
        hands = [None if hand is None else numbers(hand) for hand in view.hands]
        kitty = numbers(view.kitty or ())
        seen = {*cross, *kitty}.union(*(hand or () for hand in hands))
        pool = [card for card in PACK if card not in seen]
        for seat in dict.fromkeys((*view.passed, *range(view.seats))):
            if hands[seat] is None:
                may_hold = [card for card in pool if card not in lacks[seat]]
                dealt = {may_hold.pop(draw(len(may_hold))) for _ in range(view.hand_sizes[seat])}
                hands[seat], pool = tuple(sorted(dealt)), [card for card in pool if card not in dealt]
        return State(
            step=view.step,
            number=view.number,
            round=view.round,
            turn=-1 if view.turn is None else view.turn,
            kitty=kitty + tuple(pool),
            hands=tuple(hand or () for hand in hands),
            cross=cross,
            passed=view.passed,
            lacks=lacks,
            shown=tuple(tuple(map(numbers, hands)) for hands in view.shown),
        )

    def fallback(self, view: View, moves: Sequence[Move]) -> Move:
        """As rules/byzantium.md "Fallback": leaves the most playable cards; ties: the first listed."""
        if moves[0] == PASS:
            return PASS
        cross, hand = _cross_of(view), numbers(view.hand or ())

        def playable_after(move: Move) -> int:
            card = CARD[move.args[0]]
            after = playable(placed(cross, SLOT[move.args[2]], card))
            return sum(other in after for other in hand)

        return max(moves, key=playable_after)

    def evaluate(self, view: View) -> float:
        """Minus the points so far, and minus a share for each card in hand, the fewer slots it has the more."""
        if not isinstance(view.viewer, int):
            return 0.0
        score = -float(view.scores[view.viewer])
        if view.step != "put":
            return score
        slots = playable(_cross_of(view))
        return score - sum(1 / (1 + slots.get(card, 0)) for card in numbers(view.hand or ()))

    def rollout_move(self, state: State, seat: int, draw: Draw) -> Move:
        """The card that fits on the fewest slots, on any of them."""
        fits = {
            card: [slot for slot, cards in openings(state.cross).items() if card in cards]
            for card in state.hands[seat]
        }
        fewest = min(map(len, filter(None, fits.values())), default=0)
        if not fewest:
            return PASS
        choices = [(card, slot) for card, slots in fits.items() if len(slots) == fewest for slot in slots]
        return PUTS[choices[draw(len(choices))]]

    def scores(self, state: State) -> tuple[int, ...]:
        """One point for each card left, of the finished rounds."""
        return tuple(sum(len(hands[seat]) for hands in state.shown) for seat in range(len(state.hands)))

    def outcome(self, state: State) -> Outcome | None:
        """The lowest total wins, equal ones share it (rules/byzantium.md "Play")."""
        if state.step != "over":
            return None
        scores = self.scores(state)
        winners = tuple(seat for seat, score in enumerate(scores) if score == min(scores))
        return Outcome(scores, winners, "finished")

    def parse(self, text: str) -> Move:
        """Read a player's line: `put 7r on el`, `PU kb ON n`, `pas`."""
        return read_move(text)

    def parse_order(self, text: str) -> Order:
        """Read a standing order: `put 7r on e, 8r on ef then any` (docs/orders.md)."""
        return orders.read_order(text)

    def order_scope(self, order: Order, view: View) -> str:
        """The deal that an order is for, such as `deal 2`, unless it is for always."""
        return orders.order_scope(order, view)

    def order_expired(self, scope: str, view: View) -> bool:
        """Whether the deal is over, or the seat is out of it."""
        return orders.order_expired(scope, view)

    def answer_order(self, order: Order, view: View, moves: Sequence[Move]) -> OrderAnswer | None:
        """What an order answers to the question that its seat is asked (docs/orders.md)."""
        return orders.answer_order(order, view, moves, self.fallback)

    def heading(self, view: View) -> Heading:
        """The round."""
        return charts.heading(view)

    def charts(self, views: Sequence[View]) -> tuple[Chart, ...]:
        """Points of each round, and how the hands became empty."""
        return charts.charts(views)


def _check_turn(state: State, seat: int) -> None:
    if not 0 <= seat < len(state.hands):
        raise NotAwaited("There is no seat %(seat)s at this table.", seat=seat)
    if state.step == "deal":
        raise NotAwaited("The cards are not dealt yet.")
    if state.step == "over":
        raise NotAwaited("The game is over.")
    if seat in state.passed or not state.hands[seat]:
        raise NotAwaited("You are out for this round.")
    if seat != state.turn:
        raise NotAwaited("It is not your turn.")


def _deal(state: State, due: Shuffle | None, move: Move) -> State:
    """Deal from the front, hand by hand from the dealer's left; what is left is the kitty."""
    if due is None or move.verb != "shuffle":
        raise IllegalMove("Nothing is to be shuffled now.")
    if move.args[:1] != (due.label,) or sorted(move.args[1:]) != sorted(NAME):
        raise IllegalMove(
            "The shuffle is “%(label)s” and then all %(cards)s cards but the Aces.",
            label=due.label,
            cards=len(PACK),
        )
    cards, seats = numbers(move.args[1:]), len(state.hands)
    size, starter = HANDFUL[seats], state.round % seats
    ends = [size * ((seat - starter) % seats + 1) for seat in range(seats)]
    return replace(
        state,
        step="put",
        number=state.number + 1,
        round=state.round + 1,
        turn=starter,
        kitty=tuple(sorted(cards[size * seats :])),
        hands=tuple(tuple(sorted(cards[end - size : end])) for end in ends),
        cross=NO_CARDS,
        passed=(),
        lacks=((),) * seats,
    )


def _put(state: State, seat: int, words: Names) -> State:
    if len(words) != 3 or words[1] != "on":
        raise IllegalMove("Write put, a card, on and a slot, such as put 7r on el.")
    if words[0] not in CARD:
        raise IllegalMove("There is no card %(word)s to be placed in this game.", word=words[0][:20])
    if words[2] not in SLOT:
        raise IllegalMove("There is no slot %(word)s on the cross.", word=words[2][:20])
    card, slot = CARD[words[0]], SLOT[words[2]]
    if card not in state.hands[seat]:
        raise IllegalMove("You do not hold %(card)s.", card=words[0])
    if card not in openings(state.cross).get(slot, ()):
        raise refusal(state.cross, slot, card)
    hand = tuple([other for other in state.hands[seat] if other != card])
    hands = (*state.hands[:seat], hand, *state.hands[seat + 1 :])
    return _onward(replace(state, hands=hands, cross=placed(state.cross, slot, card)), seat)


def _pass(state: State, seat: int) -> State:
    """Who cannot place is out for the round: a card once unplayable stays so (rules/byzantium.md "Play")."""
    can = playable(state.cross)
    card = next((card for card in state.hands[seat] if card in can), EMPTY)
    if card != EMPTY:
        raise IllegalMove("You can place %(card)s, so you may not pass.", card=NAME[card])
    lacks = (*state.lacks[:seat], tuple(can), *state.lacks[seat + 1 :])
    return _onward(replace(state, passed=(*state.passed, seat), lacks=lacks), seat)


def _onward(state: State, seat: int) -> State:
    """The turn goes clockwise to the next who is not out; when all are, the round ends."""
    seats = len(state.hands)
    for step in range(1, seats + 1):
        other = (seat + step) % seats
        if state.hands[other] and other not in state.passed:
            return replace(state, turn=other, number=state.number + 1)
    last = state.round == seats
    return replace(state, step="over" if last else "deal", turn=-1, shown=(*state.shown, state.hands))


def _arms(cross: Cross) -> tuple[Arm, ...]:
    colours = {SUIT["e"]: "red", SUIT["n"]: "black"}
    return tuple(Arm(arm, colours[SUIT[arm]], DIRECTION[direction(cross, arm)]) for arm in ARMS)


@lru_cache(maxsize=1 << 10)
def _places(cross: Cross) -> tuple[Place, ...]:
    can, states = openings(cross), conditions(cross)
    return tuple(
        [_place(slot, states[name], cross[slot], can.get(slot, ())) for slot, name in enumerate(SLOTS)]
    )


@lru_cache(maxsize=1 << 14)
def _place(slot: int, state: str, card: int, takes: Cards) -> Place:
    at, name = spot(SLOTS[slot]), None if card == EMPTY else NAME[card]
    return Place(SLOTS[slot], at.x, at.y, at.dx == 0, state, name, names(takes))


def _cross_of(view: View) -> Cross:
    return tuple([EMPTY if place.card is None else CARD[place.card] for place in view.places])
