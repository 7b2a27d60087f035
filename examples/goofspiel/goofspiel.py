"""In thirteen rounds all bid for a prize at the same time, with a card from 1 to 13 that is played only once.

The highest bid wins the prize. If the highest bids are equal, the prize is carried over to the next round.
The most points in prizes win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from byzanz.chance import Draw, shuffled
from byzanz.games.sealed import Cards, Facts, SealedGame, Sight
from byzanz.moves import Message
from byzanz.rules import ALL, Viewer

CARDS = tuple(str(number) for number in range(1, 14))


@dataclass(frozen=True, slots=True)
class Position:
    """Bids left to each seat, points of each, prizes face down (the next one first) and prizes on offer."""

    hands: tuple[Cards, ...]
    points: tuple[int, ...]
    hidden: Cards = ()
    offered: Cards = ()


class Goofspiel(SealedGame[Position]):
    """The rules of Goofspiel."""

    slug, version, title, seats = "goofspiel", 1, "Goofspiel", range(2, 6)
    position, state_format, decisions, uses_up = Position, 1, 13, True
    verb, cards, deck = "bid", CARDS, CARDS

    def begin(self, seats: int) -> Position:
        """All seats hold the same thirteen cards."""
        return Position((CARDS,) * seats, (0,) * seats)

    def deal(self, position: Position, cards: Cards) -> Position:
        """Turn over the first prize."""
        return replace(position, hidden=cards[1:], offered=cards[:1])

    def held(self, position: Position, seat: int) -> Cards:
        """Return the bids that are left."""
        return position.hands[seat]

    def resolve(self, position: Position, choices: Cards) -> Position:
        """Give the prizes on offer to the highest bid if it is the only one, and turn over the next."""
        bids = [int(choice) for choice in choices]
        winner = bids.index(max(bids)) if bids.count(max(bids)) == 1 else None
        prize = sum(map(int, position.offered))
        kept = () if winner is not None else position.offered
        hands = zip(position.hands, choices, strict=True)
        return Position(
            tuple([tuple([card for card in hand if card != bid]) for hand, bid in hands]),
            tuple([had + prize * (seat == winner) for seat, had in enumerate(position.points)]),
            position.hidden[1:],
            kept + position.hidden[:1],
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

    def ended(self, position: Position) -> bool:
        """Return whether all cards are played."""
        return not position.hands[0]

    def points(self, position: Position) -> tuple[int, ...]:
        """Return the sum of the prizes that each seat has won."""
        return position.points

    def shown(self, position: Position, viewer: Viewer) -> Facts:
        """Show which prizes are still to come, but not in which order."""
        to_come = position.hidden if viewer == ALL else tuple(sorted(position.hidden, key=int))
        return {"offered": position.offered, "to_come": to_come, "hands": position.hands}

    def sample(self, view: Sight, draw: Draw) -> Position:
        """Shuffle the prizes that are still to come."""
        facts = view.shown
        to_come = facts["to_come"] if view.viewer == ALL else shuffled(facts["to_come"], draw)
        return Position(facts["hands"], view.scores, tuple(to_come), facts["offered"])

    def evaluate(self, view: Sight) -> float:
        """Return the score with most of the bids that are left."""
        return super().evaluate(view) + 0.7 * sum(map(int, view.hand))
