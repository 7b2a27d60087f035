"""A second, slow and plain implementation of docs/rules/byzanz.md without code of the game; both must agree."""

from __future__ import annotations

from itertools import combinations

GROUPS = ["cloth", "grain", "olive", "spice", "wine", "wood", "merchant"]
LOTS = {3: [6, 4, 2], 4: [5, 4, 3, 2], 5: [5, 4, 3, 2, 1], 6: [6, 5, 4, 3, 2, 1]}
REMOVED = {3: 4, 4: 12, 5: 2, 6: 4}
ROUNDS = {3: 8, 4: 6, 5: 6, 6: 4}


def good(card: str) -> str:
    return card.rstrip("1234")


def value(card: str) -> int:
    return 0 if card == "merchant" else int(card[-1])


def in_order(cards: list[str]) -> list[str]:
    return sorted(cards, key=lambda card: (GROUPS.index(good(card)), value(card)))


def line(verb: str, cards: tuple[str, ...] | list[str]) -> str:
    return " ".join([verb, *in_order(list(cards))])


def sells(cards: tuple[str, ...]) -> bool:
    return len({good(card) for card in cards} - {"merchant"}) <= 1


class Plain:
    """One game, played in place."""

    def __init__(self, seats: int, order: list[str]) -> None:
        self.seats = list(range(seats))
        self.hands = [order[4 * seat : 4 * seat + 4] for seat in self.seats]
        self.deck = order[4 * seats + REMOVED[seats] :]
        self.kept: list[list[str]] = [[] for _ in self.seats]
        self.bids: list[list[str]] = [[] for _ in self.seats]
        self.gone: list[str] = []
        self.market: list[str] = []
        self.done: set[int] = set()
        self.round = 1
        self.lot_cards: dict[int, int] = {}
        self.queue: list[int] | None = None
        self.auction(0)

    # The course of a round

    def auction(self, starter: int) -> None:
        size = LOTS[len(self.seats)][len(self.lot_cards)]
        self.lot, self.deck = self.deck[:size], self.deck[size:]
        self.passed: list[int] = []
        self.turn = starter
        self.step = "bid" if len(self.lot_cards) < len(self.seats) - 1 else "tax"

    def bidders(self) -> list[int]:
        return [seat for seat in self.seats if seat not in self.lot_cards and seat not in self.passed]

    def clockwise(self, seat: int, among: list[int]) -> int:
        return min(among, key=lambda other: (other - seat - 1) % len(self.seats))

    def takes_lot_card(self, seat: int) -> None:
        self.lot_cards[seat] = LOTS[len(self.seats)][len(self.lot_cards)]
        self.hands[seat] += self.lot
        self.lot = []
        self.last = seat
        self.limit(seat)

    def limit(self, seat: int) -> None:
        if len(self.hands[seat]) > 7:
            self.step, self.turn = "limit", seat
        else:
            self.go_on()

    def go_on(self) -> None:
        waiting = [seat for seat in self.seats if seat not in self.lot_cards]
        if waiting:
            self.auction(self.clockwise(self.last, waiting))
            return
        if self.queue is None:
            self.queue = sorted(self.seats, key=lambda seat: self.lot_cards[seat])
        if self.queue and self.market:
            self.step, self.turn = "market", self.queue.pop(0)
            return
        self.queue = None
        self.gone += self.market
        self.market = []
        starter = min(self.seats, key=lambda seat: self.lot_cards[seat])
        self.lot_cards = {}
        if self.round == ROUNDS[len(self.seats)]:
            self.step = "end"
            return
        self.round += 1
        self.auction(starter)

    # Legal moves

    def asked(self) -> list[int]:
        if self.step == "end":
            return [seat for seat in self.seats if seat not in self.done]
        return [] if self.step == "over" else [self.turn]

    def highest(self) -> int:
        return max(sum(map(value, bid)) for bid in self.bids)

    def sales(self, seat: int) -> set[str]:
        if seat in self.done or self.step == "over":
            return set()
        return {line("sell", cards) for cards in combinations(self.hands[seat], 3) if sells(cards)}

    def moves(self, seat: int) -> set[str]:
        if seat not in self.asked():
            return set()
        hand = self.hands[seat]
        if self.step == "bid":
            own, goods = sum(map(value, self.bids[seat])), [card for card in hand if card != "merchant"]
            raises = [cards for size in range(1, 8) for cards in combinations(goods, size)]
            higher = [cards for cards in raises if own + sum(map(value, cards)) > self.highest()]
            return {"pass"} | {line("bid", cards) for cards in higher}
        if self.step == "tax":
            return {f"tax {card}" for card in self.lot}
        if self.step == "market":
            return {f"take {good(card)}" for card in self.market}
        if self.step == "limit":
            return self.sales(seat) | {f"discard {card}" for card in hand}
        return self.sales(seat) | {"done"}

    # Effects of moves

    def play(self, seat: int, text: str) -> None:
        verb, *cards = text.split()
        getattr(self, {"pass": "leave", "done": "finish"}.get(verb, verb))(seat, cards)

    def bid(self, seat: int, cards: list[str]) -> None:
        for card in cards:
            self.hands[seat].remove(card)
        self.bids[seat] += cards
        self.next_bidder(seat)

    def leave(self, seat: int, _cards: list[str]) -> None:
        self.hands[seat] += self.bids[seat]
        self.bids[seat] = []
        self.passed.append(seat)
        if self.bidders():
            self.next_bidder(seat)
        else:
            self.takes_lot_card(self.passed[0])

    def next_bidder(self, seat: int) -> None:
        self.turn = self.clockwise(seat, self.bidders())
        if len(self.bidders()) == 1 and self.bids[self.turn]:
            self.market += self.bids[self.turn]
            self.bids[self.turn] = []
            self.step = "tax"

    def tax(self, seat: int, cards: list[str]) -> None:
        self.lot.remove(cards[0])
        self.market += cards
        self.takes_lot_card(seat)

    def take(self, seat: int, cards: list[str]) -> None:
        self.hands[seat] += [card for card in self.market if good(card) == cards[0]]
        self.market = [card for card in self.market if good(card) != cards[0]]
        self.limit(seat)

    def sell(self, seat: int, cards: list[str]) -> None:
        best = max(cards, key=value)
        self.leave_hand(seat, cards)
        self.gone.remove(best)
        self.kept[seat].append(best)

    def discard(self, seat: int, cards: list[str]) -> None:
        self.leave_hand(seat, cards)

    def leave_hand(self, seat: int, cards: list[str]) -> None:
        for card in cards:
            self.hands[seat].remove(card)
        self.gone += cards
        if self.step == "limit" and self.turn == seat:
            self.limit(seat)

    def finish(self, seat: int, _cards: list[str]) -> None:
        self.done.add(seat)
        if self.done == set(self.seats):
            self.step = "over"
