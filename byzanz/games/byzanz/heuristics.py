"""What hands and lots of Byzanz are likely to bring, and what a player might do with them: guesses, for bots alone.

The weights are those with which imagined players won most against others in simulated games.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from byzanz.games.byzanz.cards import (
    GROUPS,
    MERCHANT,
    NAME,
    PASS,
    PROFIT,
    TABLES,
    VALUE,
    Cards,
    bids_from,
    groups_in,
    kept_of,
    minus,
    numbers,
    of_group,
    plus,
    sales_from,
)
from byzanz.games.byzanz.state import State, lot_card, needed
from byzanz.moves import Move

if TYPE_CHECKING:
    from byzanz.games.byzanz.rules import View

_DONE = Move("done")
_LATER = 1.6
"""What each card of a later lot of the round is worth to a seat that has not won yet."""
_BIDS_WEIGHED = 3


@lru_cache(maxsize=1 << 14)
def worth(hand: Cards, left: float) -> float:
    """A guess at what a hand will bring: the sets it holds, and what its other cards may still become.

    Args:
        hand: the cards.
        left: the part of the game still to come, from 1 to 0.
    """
    merchants, profit, pairs, singles = _sorted_out(hand)
    hopes = sum([0.3 + 0.6 * top for top in pairs]) + sum([0.1 + 0.12 * value for value in singles])
    hopes += PROFIT[MERCHANT] * (merchants // 3) + 1.4 * (merchants % 3)
    sets = max(_with_merchants(merchants, pairs, singles), min(1.0, 2.8 * left) * hopes)
    return 0.97 * (profit + sets) + 0.003 * len(hand)  # what is sold is safe


def _sorted_out(hand: Cards) -> tuple[int, int, list[int], list[int]]:
    """How many merchants, the profit of the sets without them; of the rest the higher of each pair, and the singles."""
    groups: list[list[int]] = [[] for _ in GROUPS]
    for card in hand:
        groups[card // 4].append(VALUE[card])
    merchants, profit, pairs, singles = len(groups.pop()), 0, [], []
    for values in filter(None, groups):
        while len(values) >= 3:
            profit += values.pop()
            del values[:2]
        if len(values) == 2:
            pairs.append(values[1])
        else:
            singles += values
    return merchants, profit, sorted(pairs), sorted(singles)


def _with_merchants(merchants: int, pairs: list[int], singles: list[int]) -> int:
    """What merchants bring at once: one with each good pair, then three by three, the last with what is there."""
    helped = [top for top in pairs if top > 1][-merchants:] if merchants else []
    threes, over = divmod(merchants - len(helped), 3)
    most = max([0, *singles]) if over == 2 else len(pairs) > len(helped) if over else 0
    return sum(helped) + PROFIT[MERCHANT] * threes + most


def profit(sale: Move) -> int:
    """What a sale brings."""
    return PROFIT[kept_of(numbers(sale.args))]


def evaluate(view: View, seat: int) -> float:
    """Profit so far, and what the cards in hand, bid, or lot nearly won may still bring.

    Args:
        view: of this seat.
        seat: from 0.
    """
    left = (view.rounds - view.round + 1) / view.rounds if view.step not in ("end", "over") else 0.0
    hand, bid, lot = numbers(view.hand or ()), numbers(view.bids[seat]), numbers(view.lot)
    if view.won[seat] or view.step not in ("bid", "tax"):
        return view.profits[seat] + worth(hand, left)
    if view.step == "tax" and view.turn == seat:
        return view.profits[seat] + worth(plus(hand, _taxed(lot)), left)
    lost = worth(plus(hand, bid), left) + _later(view.lot_cards, view.lot_card or 0) * left
    if view.leader != seat:
        return view.profits[seat] + lost
    gained = worth(plus(hand, _taxed(lot)), left)
    return view.profits[seat] + 0.5 * lost + 0.5 * gained


def _taxed(lot: Cards) -> Cards:
    """What a careful winner keeps of a lot."""
    return minus(lot, (min(lot, key=lambda card: VALUE[card] or 3),))


def _later(lots: tuple[int, ...], size: int) -> float:
    """What it is worth not to have won yet, while the lot of this size is on auction."""
    waiting = [later for later in lots if later < size] or [1]
    return _LATER * sum(waiting) / len(waiting)


def rollout_move(state: State, seat: int) -> Move:
    """What a player who counts on `worth` answers."""
    table = TABLES[len(state.won)]
    left = (table.rounds - state.round + 1) / table.rounds if state.step != "end" else 0.0
    if state.step == "bid":
        return _likely_bid(state, seat, left, _later(table.lots, lot_card(state)))
    hand = state.hands[seat]
    if state.step == "tax":
        keeps = {card: worth(plus(hand, minus(state.lot, (card,))), left) for card in state.lot}
        return Move("tax", (NAME[max(keeps, key=keeps.__getitem__)],))
    if state.step == "market":
        takes = {
            group: worth(plus(hand, of_group(state.market, group)), left) for group in groups_in(state.market)
        }
        return Move("take", (GROUPS[max(takes, key=takes.__getitem__)],))
    sales = sales_from(hand)
    if state.step == "end":
        return max(sales, key=lambda sale: (profit(sale), -sale.args.count("merchant")), default=_DONE)
    leaves = {sale: profit(sale) + worth(minus(hand, numbers(sale.args)), left) for sale in sales}
    leaves |= {Move("discard", (NAME[card],)): worth(minus(hand, (card,)), left) for card in hand}
    return max(leaves, key=leaves.__getitem__)


def _likely_bid(state: State, seat: int, left: float, later: float) -> Move:
    """One of the lowest bids, if the lot is worth it, or pass."""
    hand, keeps = state.hands[seat], _taxed(state.lot)
    choices = {PASS: worth(plus(hand, state.bids[seat]), left) + later * left}
    for bid in bids_from(hand, needed(state, seat))[1 : 1 + _BIDS_WEIGHED]:
        choices[bid] = worth(plus(minus(hand, numbers(bid.args)), keeps), left)
    return max(choices, key=choices.__getitem__)
