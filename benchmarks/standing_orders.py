"""How often a table waits for a person: the same deals played by people without and with standing orders.

No database is involved: the umpire plays, `byzanz.orders` answers, and the people are those of `arrivals`, who decide
by `policies`. Deadlines are not enforced: people who come late are reminded, and come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from benchmarks.arrivals import SimulatedPlayer
from benchmarks.policies import POLICIES, choose_move
from byzanz import chance, orders, umpire
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
