"""In thirteen rounds all bid for a prize at the same time, with a card from 1 to 13 that is played only once.

The highest bid wins the prize. If the highest bids are equal, the prize is carried over to the next round.
The most points in prizes win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from byzanz.games.sealed import Cards, Hands, OpenHandsGame, Sight
from byzanz.moves import Message

CARDS = tuple(str(number) for number in range(1, 14))


@dataclass(frozen=True, slots=True)
class Position(Hands):
    """Bids left to each seat, points of each, prizes on offer and prizes face down, the next one first."""

    offered: Cards = ()
    to_come: Cards = ()


class Goofspiel(OpenHandsGame[Position]):
    """The rules of Goofspiel."""

    slug, version, title, seats = "goofspiel", 1, "Goofspiel", range(2, 6)
    position, state_format, decisions, uses_up = Position, 1, 13, True
    verb, cards, deck, face_down = "bid", CARDS, CARDS, "to_come"

    def begin(self, seats: int) -> Position:
        """All seats hold the same thirteen cards."""
        return Position((CARDS,) * seats, (0,) * seats)

    def deal(self, position: Position, cards: Cards) -> Position:
        """Turn over the first prize."""
        return replace(position, offered=cards[:1], to_come=cards[1:])

    def resolve(self, position: Position, choices: Cards) -> Position:
        """Give the prizes on offer to the highest bid if it is the only one, and turn over the next."""
        bids = [int(choice) for choice in choices]
        winner = bids.index(max(bids)) if bids.count(max(bids)) == 1 else None
        prize = sum(map(int, position.offered))
        kept = () if winner is not None else position.offered
        return Position(
            position.without(choices),
            tuple([had + prize * (seat == winner) for seat, had in enumerate(position.points)]),
            kept + position.to_come[:1],
            position.to_come[1:],
        )

    def followed(self, before: Sight, after: Sight) -> tuple[Message, ...]:
        """Tell who has won the prizes, once all have bid."""
        if before.number in (0, after.number):
            return ()
        bids = [int(choice) for choice in after.last]
        best = tuple([seat for seat, bid in enumerate(bids) if bid == max(bids)])
        told, who = {"bid": max(bids), "prizes": before.shown["offered"]}, {"name": best[0], "names": best}
        if len(best) > 1 and any(after.shown["hands"]):
            return (Message("Tie at %(bid)s: %(names)s. Carried over: %(prizes)s.", told, who),)
        if len(best) > 1:
            return (Message("Tie at %(bid)s: %(names)s. Nobody wins %(prizes)s.", told, who),)
        won = Message(
            "%(name)s bids %(bid)s and wins %(prizes)s.", told, who, "You bid %(bid)s and win %(prizes)s."
        )
        return (won,)

    def evaluate(self, view: Sight) -> float:
        """Return the score with most of the bids that are left."""
        return super().evaluate(view) + 0.7 * sum(map(int, view.hand))
