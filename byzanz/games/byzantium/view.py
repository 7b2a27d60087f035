"""What each viewer of Byzantium sees, and the headings and charts of its history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import le

from byzanz.charts import Chart, Heading, Highlight, Row, chart, seats, turning_point
from byzanz.games.byzantium.state import (
    ACES,
    ARMS,
    CARD,
    EMPTY,
    NAME,
    SLOTS,
    SUIT,
    Cards,
    Cross,
    Names,
    State,
    awaited,
    conditions,
    direction,
    names,
    openings,
    scores,
    spot,
)
from byzanz.moves import Message
from byzanz.rules import ALL, Viewer

DIRECTION = {1: "rising", -1: "falling", 0: None}


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
        state: `taken`; `open`: a card could be placed now; `waiting`: nothing lies where it hangs; `closed`: a card
            there would touch another, or it hangs on such a slot; `dead`: a card there would touch the other Ace.
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
    """A position as one viewer knows it: as `State` where the names agree, with cards by name.

    Args:
        viewer: a seat, `public` or `all`.
        rounds: how many are played.
        dealer: of this round; the seat to the left began.
        awaited: the seats to move; question: the viewer's, as text.
        turn: None when it is nobody.
        hands: None where hidden from the viewer.
        out: whether each seat is out for this round, having passed or emptied its hand.
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


def view_of(state: State, viewer: Viewer) -> View:
    """Return all but the kitty and, until the round is over, others' hands."""
    everything = viewer == ALL
    asked = awaited(state)
    question = asked.get(viewer) if isinstance(viewer, int) else None
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
        awaited=tuple(asked),
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
        scores=scores(state),
    )


def cross_of(view: View) -> Cross:
    """Return the cross that a view shows."""
    return tuple([EMPTY if place.card is None else CARD[place.card] for place in view.places])


@lru_cache(maxsize=1 << 10)
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


# ---- what followed from moves ----


def followed(before: View, after: View) -> tuple[Message, ...]:
    """Return the points of a round that has ended."""
    if len(after.shown) == len(before.shown):
        return ()
    points = tuple([(seat, f"+{len(hand)}") for seat, hand in enumerate(after.shown[-1])])
    return (Message("Round %(round)s is over: %(points)s.", {"round": after.round}, {"points": points}),)


# ---- headings and charts ----


def heading(view: View) -> Heading:
    """Return the round."""
    return (f"round {view.round}",) if view.round else ()


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Chart the points of each round, and the cards left in each hand after everybody's first, second … turn.

    Args:
        views: of the public, after each move that counts, from the first deal on.
    """
    players = seats(views[-1].seats)
    return (
        chart("points", "bars", players, _points(views)),
        chart("left", "rows", players, _left(views)),
    )


def _points(views: Sequence[View]) -> Iterator[Row]:
    for place, view in enumerate(views):
        if view.step != "put":  # the cards of the finished round still lie there
            yield heading(view), place, [len(hand) for hand in view.shown[-1]]


def _left(views: Sequence[View]) -> Iterator[Row]:
    """Yield what was left in each hand when all seats still in had taken their first, second … turn of a round."""
    places = range(len(views))
    for _, same in groupby(places, key=lambda place: views[place].round):
        played = list(same)
        dealt, final = (views[played[at]].hand_sizes for at in (0, -1))
        for turn in range(1, dealt[0] - min(final) + 1):
            sizes = [max(dealt[0] - turn, left) for left in final]
            place = next(place for place in played if all(map(le, views[place].hand_sizes, sizes)))
            yield (*heading(views[place]), f"turn {turn}"), place, sizes


def highlights(views: Sequence[View], winners: Sequence[int]) -> list[Highlight]:
    """Return the round in which a seat did best against all others, the one in which a seat (if possible, one
    alone) did worst, and the turning point.

    The first numbers are the round; then come the cards left and the fewest that another seat kept, and the leads.

    Args:
        views: as for `charts`.
        winners: of the game.
    """
    ends = [(view.round, at, view) for at, view in enumerate(views) if view.step != "put" and view.shown]
    best: list[Highlight] = []
    worst: list[Highlight] = []
    most = 0, False
    for number, at, view in ends:
        left = [len(hand) for hand in view.shown[-1]]
        ahead = left.index(min(left))
        fewest = min(count for seat, count in enumerate(left) if seat != ahead)
        if not best or fewest - min(left) > best[0].numbers[2] - best[0].numbers[1]:
            best = [Highlight("best round", at, ahead, (number, min(left), fewest))]
        behind = left.index(max(left))
        alone = left.count(max(left)) == 1
        if (max(left), alone) > most:
            most = max(left), alone
            worst = [Highlight("worst round", at, behind, (number, max(left)), view.shown[-1][behind])]
    steps = [(number, at, [-points for points in view.scores]) for number, at, view in ends]
    return best + worst + turning_point(steps, winners)
