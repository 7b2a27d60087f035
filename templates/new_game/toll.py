"""Seven gates, worth 1 to 7 points, lie face down in a row, and each player holds the cards 1 to 7.

In each round the next gate is turned up, and all play a card at the same time. The highest card that nobody else has
played wins the gate. The most points after seven gates win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from byzanz.chance import Draw, shuffled
from byzanz.games.sealed import Cards, Facts, SealedGame, Sight
from byzanz.rules import ALL, Viewer

CARDS = tuple(str(number) for number in range(1, 8))
GATES = tuple(f"gate{number}" for number in range(1, 8))


@dataclass(frozen=True, slots=True)
class Position:
    """Gates behind and ahead, the next one first; cards in hand and points won, by seat."""

    passed: Cards
    ahead: Cards
    hands: tuple[Cards, ...]
    points: tuple[int, ...]


class Toll(SealedGame[Position]):
    """The rules of Toll."""

    slug, version, title, seats = "toll", 1, "Toll", range(2, 6)
    position, state_format, decisions = Position, 1, 7
    verb, cards, deck = "play", CARDS, GATES

    def begin(self, seats: int) -> Position:
        """All seats hold the same cards."""
        return Position((), GATES, (CARDS,) * seats, (0,) * seats)

    def deal(self, position: Position, cards: Cards) -> Position:
        """Put the gates in the order of the shuffle."""
        return replace(position, ahead=cards)

    def held(self, position: Position, seat: int) -> Cards:
        """Return the cards that a seat may play; the first is played if it does not answer."""
        return position.hands[seat]

    def resolve(self, position: Position, choices: Cards) -> Position:
        """Give the next gate to the highest card that only one seat has played."""
        gate, *ahead = position.ahead
        best = max((card for card in choices if choices.count(card) == 1), key=int, default="")
        hands = zip(position.hands, choices, strict=True)
        points = zip(position.points, choices, strict=True)
        return Position(
            (*position.passed, gate),
            tuple(ahead),
            tuple(tuple(held for held in hand if held != card) for hand, card in hands),
            tuple(had + int(gate[4:]) * (card == best) for had, card in points),
        )

    def ended(self, position: Position) -> bool:
        """Return whether all gates are passed."""
        return not position.ahead

    def points(self, position: Position) -> tuple[int, ...]:
        """Return the points that each seat has won."""
        return position.points

    def shown(self, position: Position, viewer: Viewer) -> Facts:
        """Show which gates are ahead, but only of the next one where it stands."""
        ahead = position.ahead[:1] + tuple(sorted(position.ahead[1:]))
        return {
            "passed": position.passed,
            "ahead": position.ahead if viewer == ALL else ahead,
            "hands": position.hands,
        }

    def sample(self, view: Sight, draw: Draw) -> Position:
        """Put the gates behind the next one in any order."""
        ahead = view.shown["ahead"]
        if view.viewer != ALL:
            ahead = ahead[:1] + shuffled(ahead[1:], draw)
        return Position(view.shown["passed"], ahead, view.shown["hands"], view.scores)

    def evaluate(self, view: Sight) -> float:
        """Tell the bots to spend high cards on gates of many points."""
        chosen = [card for card in view.choices if card in view.hand]
        gates = [int(gate[4:]) for gate in view.shown["ahead"]]
        hand = chosen + [card for card in view.hand if card not in chosen]
        gates[len(chosen) :] = sorted(gates[len(chosen) :])
        fit = sum(gate * int(card) for gate, card in zip(gates, hand, strict=False))
        return super().evaluate(view) + fit / 8
