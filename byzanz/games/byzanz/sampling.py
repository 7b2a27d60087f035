"""Random states of Byzanz that agree with a view, for bots to think about."""

from __future__ import annotations

from byzanz.chance import Draw, shuffled
from byzanz.games.byzanz.cards import PACK, minus, numbers, plus
from byzanz.games.byzanz.state import State, undealt
from byzanz.games.byzanz.view import View


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
