"""What bots think about Byzanz: estimates of a view, and sampled states that fit it.

The weights are those that won most often against others in simulated games.
"""

from __future__ import annotations

from functools import lru_cache

from byzanz.chance import Draw, shuffled
from byzanz.games.byzanz.moves import minimum_raise
from byzanz.games.byzanz.state import (
    DONE,
    GROUPS,
    MERCHANT,
    NAME,
    PACK,
    PASS,
    PROFIT,
    TABLES,
    VALUE,
    Cards,
    State,
    best_sale,
    groups_in,
    lot_card,
    minus,
    names,
    numbers,
    of_group,
    plus,
    raises_from,
    sale_profit,
    sales_from,
    undealt,
)
from byzanz.games.byzanz.view import View
from byzanz.moves import Move

LATER_CARD_WORTH = 1.6
"""The worth of each card of a later lot of the round to a seat that has not won yet."""
BIDS_CONSIDERED = 3


@lru_cache(maxsize=1 << 14)
def hand_worth(hand: Cards, left: float) -> float:
    """Estimate what a hand will bring: the sets it holds, and what its other cards may still become.

    Args:
        hand: the cards.
        left: the part of the game still to come, from 1 to 0.
    """
    merchants, profit, pairs, singles = _sort_out(hand)
    hopes = sum([0.3 + 0.6 * top for top in pairs]) + sum([0.1 + 0.12 * value for value in singles])
    hopes += PROFIT[MERCHANT] * (merchants // 3) + 1.4 * (merchants % 3)
    sets = max(_merchant_profit(merchants, pairs, singles), min(1.0, 2.8 * left) * hopes)
    return 0.97 * (profit + sets) + 0.003 * len(hand)  # profit already made is safe


def _sort_out(hand: Cards) -> tuple[int, int, list[int], list[int]]:
    """Return the number of merchants, the profit of sets without them, the top card of each pair, and the singles."""
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


def _merchant_profit(merchants: int, pairs: list[int], singles: list[int]) -> int:
    """Return the profit merchants make at once: one with each good pair, then in threes, the rest with what is left."""
    helped = [top for top in pairs if top > 1][-merchants:] if merchants else []
    threes, over = divmod(merchants - len(helped), 3)
    most = max([0, *singles]) if over == 2 else len(pairs) > len(helped) if over else 0
    return sum(helped) + PROFIT[MERCHANT] * threes + most


def evaluate(view: View, seat: int) -> float:
    """Return the profit so far plus what the cards in hand, in the bid or in a lot nearly won may still bring.

    Args:
        view: of this seat.
        seat: from 0.
    """
    left = (view.rounds - view.round + 1) / view.rounds if view.step not in ("end", "over") else 0.0
    hand, bid, lot = numbers(view.hand or ()), numbers(view.bids[seat]), numbers(view.lot)
    if view.won[seat] or view.step not in ("bid", "tax"):
        return view.profits[seat] + hand_worth(hand, left)
    if view.step == "tax" and view.turn == seat:
        return view.profits[seat] + hand_worth(plus(hand, _lot_after_tax(lot)), left)
    lost = hand_worth(plus(hand, bid), left) + _later_worth(view.lot_cards, view.lot_card or 0) * left
    if view.leader != seat:
        return view.profits[seat] + lost
    gained = hand_worth(plus(hand, _lot_after_tax(lot)), left)
    return view.profits[seat] + 0.5 * lost + 0.5 * gained


def _lot_after_tax(lot: Cards) -> Cards:
    """Return what a careful winner keeps of a lot."""
    return minus(lot, (min(lot, key=lambda card: VALUE[card] or 3),))


def _later_worth(lots: tuple[int, ...], size: int) -> float:
    """Return the worth of not having won yet while the lot of this size is on auction."""
    later = [other for other in lots if other < size] or [1]
    return LATER_CARD_WORTH * sum(later) / len(later)


def rollout_move(state: State, seat: int) -> Move:
    """Return the move of a player who relies on `hand_worth`."""
    table = TABLES[len(state.won)]
    left = (table.rounds - state.round + 1) / table.rounds if state.step != "end" else 0.0
    if state.step == "bid":
        return _rollout_bid(state, seat, left, _later_worth(table.lots, lot_card(state)))
    hand = state.hands[seat]
    if state.step == "tax":
        taxes = {card: hand_worth(plus(hand, minus(state.lot, (card,))), left) for card in state.lot}
        return Move("tax", (NAME[max(taxes, key=taxes.__getitem__)],))
    if state.step == "market":
        groups = groups_in(state.market)
        takes = {group: hand_worth(plus(hand, of_group(state.market, group)), left) for group in groups}
        return Move("take", (GROUPS[max(takes, key=takes.__getitem__)],))
    sales = sales_from(hand)
    if state.step == "end":
        return best_sale(sales) or DONE
    moves = {sale: sale_profit(sale) + hand_worth(minus(hand, numbers(sale.args)), left) for sale in sales}
    moves |= {Move("discard", (NAME[card],)): hand_worth(minus(hand, (card,)), left) for card in hand}
    return max(moves, key=moves.__getitem__)


def _rollout_bid(state: State, seat: int, left: float, later: float) -> Move:
    """Return one of the lowest bids if the lot is worth it, else `pass`."""
    hand, gain = state.hands[seat], _lot_after_tax(state.lot)
    choices = {PASS: hand_worth(plus(hand, state.bids[seat]), left) + later * left}
    for bid in raises_from(hand, minimum_raise(state, seat))[:BIDS_CONSIDERED]:
        choices[Move("bid", names(bid))] = hand_worth(plus(minus(hand, bid), gain), left)
    return max(choices, key=choices.__getitem__)


# ---- sampled states ----


def sample_state(view: View, draw: Draw) -> State:
    """Deal the cards that the viewer cannot see at random, keeping those known to be in a hand there.

    Args:
        view: of any viewer.
        draw: the source of chance.
    """
    if view.step == "deal":
        return undealt(view.seats)
    market = numbers(name for _, cards in view.market for name in cards)
    visible = [market, *map(numbers, (view.lot, view.gone, *view.bids, *view.kept))]
    hands = [numbers(view.known[seat] if hand is None else hand) for seat, hand in enumerate(view.hands)]
    deck, removed = numbers(view.deck or ()), numbers(view.removed or ())
    pool = shuffled(minus(PACK, sum([*visible, *hands, deck, removed], ())), draw)
    for seat, hand in enumerate(hands):
        missing = view.hand_sizes[seat] - len(hand)
        hands[seat], pool = plus(hand, pool[:missing]), pool[missing:]
    missing = view.removed_size - len(removed)
    return State(
        step=view.step,
        number=view.number,
        round=view.round,
        turn=-1 if view.turn is None else view.turn,
        starter=view.starter,
        deck=deck + pool[missing:],
        removed=plus(removed, pool[:missing]),
        lot=numbers(view.lot),
        hands=tuple(hands),
        bids=tuple(map(numbers, view.bids)),
        known=tuple(map(numbers, view.known)),
        passed=view.passed,
        won=tuple(size or 0 for size in view.won),
        market=market,
        taken=view.taken,
        kept=tuple(map(numbers, view.kept)),
        gone=numbers(view.gone),
        done=view.done,
        lots=view.lots,
        takes=view.takes,
    )
