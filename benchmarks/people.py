"""How often a game waits for a person: the same deals played by people without and with standing orders.

No database is involved: the umpire plays, `byzanz.orders` answers, and the people are simulated. Deadlines are not
enforced: people who come late are reminded, and come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, floor
from statistics import NormalDist, mean, median
from typing import Any

from byzanz import chance, orders, umpire
from byzanz.bots import decide
from byzanz.chance import Draw, Stream
from byzanz.games import rules_of
from byzanz.moves import IllegalMove, Move
from byzanz.orders import PlacedOrder
from byzanz.rules import Rules
from server.play.clock import REMINDER_SHARE

TABLES = (("byzanz", 3), ("byzanz", 4), ("byzanz", 5), ("empire", 2), ("byzantium", 3))
REMINDED = REMINDER_SHARE * 24
"""Hours after which a person is reminded, at a table with the default allowance."""


@dataclass(slots=True)
class Tally:
    """What one game cost.

    Args:
        waits: turns on which a person had to act.
        visits: those of them for which they had to be emailed: they were not at the page already.
        reminders: to people who did not come within most of a day.
        days: from the deal to the end.
        winners: the seats that share the win.
    """

    waits: int = 0
    visits: int = 0
    reminders: int = 0
    days: float = 0.0
    winners: tuple[int, ...] = ()


class Table:
    """One game among people.

    Args:
        rules: the game.
        seats: how many play.
        number: of the deal; people and their luck depend on it, too.
        ordering: the seats whose players leave standing orders.
    """

    def __init__(self, rules: Rules[Any, Any], seats: int, number: int, ordering: frozenset[int]) -> None:
        name = f"{rules.slug} {seats} {number}"
        self.rules, self.ordering, self.tally = rules, ordering, Tally()
        self.deal = chance.deal(chance.key(name, bytes(32), [""] * seats))
        self.people = [SimulatedPlayer.drawn(f"{name} {seat}") for seat in range(seats)]
        self.luck = [chance.Stream(name.encode(), f"seat {seat}").below for seat in range(seats)]
        self.left: list[list[PlacedOrder]] = [[] for _ in range(seats)]
        self.state: Any = umpire.settle(rules, rules.setup(seats, {}), self.deal)[0]

    def play(self) -> Tally:
        """Play to the end: the seats to move are emailed, and their players come in their own time."""
        coming: dict[int, tuple[str, float]] = {}
        now = 0.0
        while (outcome := self.rules.outcome(self.state)) is None:
            asked = {seat: str(question) for seat, question in self.rules.awaited(self.state).items()}
            coming = {seat: call for seat, call in coming.items() if asked.get(seat) == call[0]}
            for seat, question in asked.items():
                if seat not in coming:
                    coming[seat] = (question, self._called(seat, now))
            seat = min(coming, key=lambda seat: coming[seat][1])
            now = coming.pop(seat)[1]
            self._sit(seat)
        self.tally.days, self.tally.winners = now / 24, outcome.winners
        return self.tally

    def _called(self, seat: int, now: float) -> float:
        self.tally.visits += 1
        comes = self.people[seat].comes(now, self.tally.visits)
        self.tally.reminders += comes - now > REMINDED
        return comes

    def _sit(self, seat: int) -> None:
        """Let a person at the page answer until somebody else is to move."""
        while seat in self.rules.awaited(self.state):
            question = self.rules.awaited(self.state)[seat]
            self.tally.waits += 1
            if seat in self.ordering:
                self._leave(seat)
            while self.rules.awaited(self.state).get(seat) == question:
                self._decide(seat)

    def _decide(self, seat: int) -> None:
        view, moves = self.rules.view(self.state, seat), self.rules.moves(self.state, seat)
        self._make(seat, choose_move(self.rules, view, moves, self.luck[seat]))
        self._obey()

    def _leave(self, seat: int) -> None:
        """Leave the orders that this player would leave now; of two about the same, the newer one counts."""
        view, moves = self.rules.view(self.state, seat), self.rules.moves(self.state, seat)
        for text in POLICIES[self.rules.slug](self.rules, view, moves, self.luck[seat]):
            order = self.rules.parse_order(text)
            try:
                scope = self.rules.order_scope(order, view)
            except IllegalMove:
                continue
            others = [left for left in self.left[seat] if left.order.kind != order.kind]
            self.left[seat] = [*others, PlacedOrder(0, order, scope)]
        self._obey()

    def _make(self, seat: int, move: Move) -> None:
        state = umpire.play(self.rules, self.state, seat, move)
        self.state, _ = umpire.settle(self.rules, state, self.deal)

    def _obey(self) -> None:
        """Let orders answer as long as they can, the lowest seat first."""
        while any(self._obeyed(seat) for seat in sorted(self.rules.awaited(self.state))):
            pass

    def _obeyed(self, seat: int) -> bool:
        """Whether an order of the seat has answered; one that no longer applies is stopped."""
        left = self.left[seat]
        for past in orders.expired(self.rules, self.state, seat, left):
            left.remove(past)
        while decision := orders.decide(self.rules, self.state, seat, left):
            left.remove(decision.placed)
            if decision.answer.remaining is not None:
                left.append(PlacedOrder(0, decision.answer.remaining, decision.placed.scope))
            if decision.answer.move is not None:
                self._make(seat, decision.answer.move)
                return True
        return False


def measure(games: int = 20, mixed: int = 60) -> dict[str, float]:
    """Play the same deals without and with orders, then with some of the seats leaving orders.

    Mails are one for each call, one for each reminder, and one for each player at the end.

    Args:
        games: deals at each table without and with orders.
        mixed: deals at each table where some leave orders; each is played twice.
    """
    figures: dict[str, float] = {}
    for slug, seats in TABLES:
        rules = rules_of(slug)
        found = _compared(rules, seats, games) | {
            "wins_by_orders_in_percent": _share_of_wins(rules, seats, mixed)
        }
        figures |= {f"{slug}_{seats}_{what}": figure for what, figure in found.items()}
    return figures


def _compared(rules: Rules[Any, Any], seats: int, games: int) -> dict[str, float]:
    everybody = frozenset(range(seats))
    without = [Table(rules, seats, number, frozenset()).play() for number in range(games)]
    ordered = [Table(rules, seats, number, everybody).play() for number in range(games)]
    figures: dict[str, float] = {}
    for what, figure_of in FIGURES.items():
        before, after = figure_of(without, seats), figure_of(ordered, seats)
        figures |= {f"{what}_without_orders": before, f"{what}_with_orders": after}
        figures[f"{what}_change_in_percent"] = 100 * (after / before - 1)
    return figures


def _per_game(cost: Callable[[Tally], float]) -> Callable[[Sequence[Tally], int], float]:
    return lambda tallies, _seats: mean(map(cost, tallies))


FIGURES: dict[str, Callable[[Sequence[Tally], int], float]] = {
    "waits": _per_game(lambda tally: tally.waits),
    "visits": _per_game(lambda tally: tally.visits),
    "mails": lambda tallies, seats: mean(tally.visits + tally.reminders + seats for tally in tallies),
    "median_days": lambda tallies, _seats: median(tally.days for tally in tallies),
}


def _share_of_wins(rules: Rules[Any, Any], seats: int, games: int) -> float:
    """Return the percentage of wins of players who leave orders, at tables where every other seat does.

    Each deal is played twice, the second time with the other seats leaving orders: 50 means that orders neither
    gain nor cost anything; of 60 deals chance moves it by about 5 points.
    """
    wins = 0.0
    for number in range(games):
        for side in (0, 1):
            ordering = frozenset(range(side, seats, 2))
            winners = Table(rules, seats, number, ordering).play().winners
            wins += len(ordering.intersection(winners)) / len(winners)
    return 100 * wins / (2 * games)


# When people open the page after an email.

MEDIAN_HOURS, SPREAD = 3.0, 1.0
"""Waking hours until a person comes: the median and the sigma of a log-normal distribution."""
WAKES, SLEEPS = 7.0, 23.0
"""Hours of the person's own day."""
ZONES = (-8, -5, 0, 1, 2, 8)
"""Hours east of Greenwich, equally likely."""
_STEPS = 2**32
_DAY = 24.0


@dataclass(frozen=True, slots=True)
class SimulatedPlayer:
    """A person at a table.

    Args:
        name: the seed of their response times: the same name, the same times.
        zone: hours east of Greenwich.
    """

    name: str
    zone: int

    @classmethod
    def drawn(cls, name: str) -> SimulatedPlayer:
        """Return a person of this name in a random zone."""
        return cls(name, ZONES[Stream(name.encode(), "zone").below(len(ZONES))])

    def comes(self, called: float, turn: int) -> float:
        """Return when they open the page.

        Args:
            called: when they were emailed, in hours since the beginning, UTC.
            turn: the number of the email: each has another response time.
        """
        part = (Stream(self.name.encode(), f"turn {turn}").below(_STEPS) + 0.5) / _STEPS
        takes = MEDIAN_HOURS * exp(SPREAD * NormalDist().inv_cdf(part))
        return _at(_awake(called + self.zone) + takes) - self.zone


def _awake(hours: float) -> float:
    """Return the waking hours up to a moment of the person's own time."""
    days = floor(hours / _DAY)
    return days * (SLEEPS - WAKES) + min(max(hours - days * _DAY, WAKES), SLEEPS) - WAKES


def _at(awake: float) -> float:
    """Return the first moment by which this many waking hours have passed."""
    days = floor(awake / (SLEEPS - WAKES))
    return days * _DAY + WAKES + awake - days * (SLEEPS - WAKES)


# How people decide, and which standing orders they leave. A person at the page leaves orders for the open question and
# for likely following ones, as far as they can be judged now. What cannot be judged, such as a lot that nobody has
# seen, is left open.


Policy = Callable[[Rules[Any, Any], Any, Sequence[Move], Draw], Iterator[str]]
"""The orders that a person leaves, from the game, their view, the answers to their question and their luck."""
RULES_OF_THUMB = {
    ("empire", "meld"): "meld most",
    ("empire", "defend"): "defend most",
    ("empire", "negotiate"): "negotiate most",
    ("empire", "replace"): "replace most",
    ("empire", "buy-off"): "buy-off most",
    ("empire", "keep"): "keep least",
}
"""Orders that also describe how people decide at the page, by game and step: there the greedy bot wins less."""
LOOKAHEAD = 3
"""How many placements of Byzantium can be foreseen: players who list more win less."""


def choose_move(rules: Rules[Any, Any], view: Any, moves: Sequence[Move], draw: Draw) -> Move:
    """Return the move of a person at the page: the greedy bot's, or a rule of thumb where that wins more."""
    thumb = RULES_OF_THUMB.get((rules.slug, view.step))
    answer = rules.answer_order(rules.parse_order(thumb), view, moves) if thumb else None
    if answer is not None and answer.move is not None:
        return answer.move
    return decide("greedy", rules, view, moves, draw)


def byzanz(rules: Rules[Any, Any], view: Any, moves: Sequence[Move], draw: Draw) -> Iterator[str]:
    """Yield rules of thumb for tax, market, hand limit and the end; for the lot on auction a ladder or a pass."""
    yield from ("tax lowest always", "take best always", "limit sell lowest always", "finish")
    if view.step == "bid":
        first = choose_move(rules, view, moves, draw)
        yield "pass this lot" if first.verb == "pass" else _ladder(rules, view, first, draw)


def _ladder(rules: Rules[Any, Any], view: Any, first: Move, draw: Draw) -> str:
    """Return the cards of a bid and those that would follow while winning with them beats passing."""
    world, seat = rules.sample_state(view, draw), view.viewer

    def prospects(cards: list[str]) -> float:
        move = rules.parse(" ".join(("bid", *cards))) if cards else Move("pass")
        return rules.evaluate(rules.view(rules.apply(world, seat, move), seat))

    rungs, left = list(first.args), [name for name in view.hand if name != "merchant"]
    for name in rungs:
        left.remove(name)
    while left:
        name = max(left, key=lambda name: prospects([*rungs, name]))
        if prospects([*rungs, name]) <= prospects([]):
            break
        rungs.append(name)
        left.remove(name)
    limit = view.totals[seat] + sum(int(name[-1]) for name in rungs)
    return f"ladder {' '.join(rungs)} upto {limit} then pass"


def empire(_rules: Rules[Any, Any], _view: Any, _moves: Sequence[Move], _draw: Draw) -> Iterator[str]:
    """Yield rules of thumb for all steps but the redraw; the meld is for the cards that the redraw brings."""
    return (
        thumb if step == "meld" else f"{thumb} always"
        for (slug, step), thumb in RULES_OF_THUMB.items()
        if slug == "empire"
    )


def byzantium(rules: Rules[Any, Any], view: Any, _moves: Sequence[Move], draw: Draw) -> Iterator[str]:
    """Yield the next placements if everybody places as this policy would, in one sampled state."""
    listed, world = list[str](), rules.sample_state(view, draw)
    while rules.awaited(world) and len(listed) < LOOKAHEAD:
        seat = min(rules.awaited(world))
        move = choose_move(rules, rules.view(world, seat), rules.moves(world, seat), draw)
        if seat == view.viewer:
            if move.verb == "pass":
                break
            listed.append(" ".join(move.args))
        world = rules.apply(world, seat, move)
    yield f"put {', '.join(listed)} then ask"


POLICIES: dict[str, Policy] = {"byzanz": byzanz, "empire": empire, "byzantium": byzantium}
