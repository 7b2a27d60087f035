"""A second, slow and plain implementation of docs/rules/byzantium.md without code of the game; both must agree."""

from __future__ import annotations

RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "j", "q", "k"]
CARDS = [rank + colour for colour in "rb" for rank in RANKS]
COLOUR = {"e": "r", "w": "r", "n": "b", "s": "b"}
DEALT = {2: 10, 3: 8, 4: 6}
DEAD = [arm + turns for arm in "enws" for turns in ("ll", "rr")]
NAMES = sorted(
    arm + steps
    for arm in "enws"
    for steps in ["", *"flr", *(first + second for first in "flr" for second in "flr")]
)
NEXT = {"e": "n", "n": "w", "w": "s", "s": "e"}
EXCLUSIVE = [
    pair
    for x, y in NEXT.items()
    for pair in [
        (f"{x}l", f"{y}r"),
        (f"{x}fl", f"{y}rf"),
        (f"{x}lf", f"{y}fr"),
        (f"{x}fl", f"{x}lr"),
        (f"{x}fr", f"{x}rl"),
    ]
]


def rank(card: str) -> int:
    return RANKS.index(card[:-1])


class Plain:
    """One game, played in place. A round ends when all pass one after another, as in the printed rules."""

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.round = 0
        self.points = [0] * seats
        self.asked: int | None = None

    def deal(self, order: list[str]) -> None:
        dealer = (self.round - 1) % self.seats
        self.round += 1
        self.hands: list[list[str]] = [[] for _ in range(self.seats)]
        deck = list(order)
        for at in range(1, self.seats + 1):
            hand = self.hands[(dealer + at) % self.seats]
            for _ in range(DEALT[self.seats]):
                hand.append(deck.pop(0))
        self.kitty = deck
        self.cross: dict[str, str] = {}
        self.told: set[int] = set()
        self.in_row = 0
        self.ask((dealer + 1) % self.seats)

    def ask(self, seat: int) -> None:
        """Ask the seat, unless its pass is known; when all pass in a row, end the round."""
        self.asked = None
        while self.in_row < self.seats:
            if self.placements(seat) or (self.hands[seat] and seat not in self.told):
                self.asked = seat
                return
            self.in_row += 1
            seat = (seat + 1) % self.seats
        for at, hand in enumerate(self.hands):
            self.points[at] += len(hand)

    def fits(self, card: str, slot: str) -> bool:
        if slot in DEAD or slot in self.cross or COLOUR[slot[0]] != card[-1]:
            return False
        if len(slot) > 1 and slot[:-1] not in self.cross:
            return False
        for one, other in EXCLUSIVE:
            if (one == slot and other in self.cross) or (other == slot and one in self.cross):
                return False
        arm = {name: lying for name, lying in {**self.cross, slot: card}.items() if name[0] == slot[0]}
        steps = [(rank(arm[name[:-1]]), rank(arm[name])) for name in arm if len(name) > 1]
        return all(a < b for a, b in steps) or all(a > b for a, b in steps)

    def placements(self, seat: int) -> list[str]:
        hand = sorted(self.hands[seat], key=CARDS.index)
        return [f"put {card} on {slot}" for card in hand for slot in NAMES if self.fits(card, slot)]

    def moves(self, seat: int) -> list[str]:
        if seat != self.asked:
            return []
        return self.placements(seat) or ["pass"]

    def play(self, seat: int, text: str) -> None:
        if text == "pass":
            self.told.add(seat)
            self.in_row += 1
        else:
            _, card, _, slot = text.split()
            self.hands[seat].remove(card)
            self.cross[slot] = card
            self.in_row = 0
        self.ask((seat + 1) % self.seats)

    def left_after(self, seat: int, text: str) -> int:
        """Return how many cards of a hand can be placed after one of them was."""
        _, card, _, slot = text.split()
        self.cross[slot] = card
        rest = [other for other in self.hands[seat] if other != card]
        count = sum(any(self.fits(other, name) for name in NAMES) for other in rest)
        del self.cross[slot]
        return count
