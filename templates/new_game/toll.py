"""Seven gates, worth 1 to 7 points, lie face down in a row, and each player holds the cards 1 to 7.

In each round the next gate is turned up, and all play a card at the same time. The highest card that nobody else has
played wins the gate. The most points after seven gates win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from byzanz.games.sealed import Cards, Hands, OpenHandsGame, Sight

CARDS = tuple(str(number) for number in range(1, 8))
GATES = tuple(f"gate{number}" for number in range(1, 8))


@dataclass(frozen=True, slots=True)
class Position(Hands):
    """Beside hands and points: gates that are passed, the one turned up, and those face down, the next one first."""

    passed: Cards = ()
    gate: Cards = ()
    ahead: Cards = ()


class Toll(OpenHandsGame[Position]):
    """The rules of Toll."""

    slug, version, title, seats = "toll", 1, "Toll", range(2, 6)
    position, state_format, decisions = Position, 1, 7
    verb, cards, deck, face_down = "play", CARDS, GATES, "ahead"

    def begin(self, seats: int) -> Position:
        """All seats hold the same cards."""
        return Position((CARDS,) * seats, (0,) * seats, ahead=GATES)

    def deal(self, position: Position, cards: Cards) -> Position:
        """Put the gates in the order of the shuffle, and turn up the first."""
        return replace(position, gate=cards[:1], ahead=cards[1:])

    def resolve(self, position: Position, choices: Cards) -> Position:
        """Give the gate to the highest card that only one seat has played, and turn up the next."""
        worth = int(position.gate[0][4:])
        best = max((card for card in choices if choices.count(card) == 1), key=int, default="")
        points = zip(position.points, choices, strict=True)
        return Position(
            position.without(choices),
            tuple(had + worth * (card == best) for had, card in points),
            position.passed + position.gate,
            position.ahead[:1],
            position.ahead[1:],
        )

    def evaluate(self, view: Sight) -> float:
        """Tell the bots to keep high cards for gates of many points."""
        gates = sorted(int(gate[4:]) for gate in view.shown["gate"] + view.shown["ahead"])
        fit = sum(gate * int(card) for gate, card in zip(gates, view.hand, strict=False))
        return super().evaluate(view) + fit / 8
