"""Standing orders of Byzanz: how they are read, how long they last, what they answer (docs/orders.md)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from byzanz import chance, orders, umpire
from byzanz.moves import AmbiguousMove, IllegalMove, UnreadableMove, UnreadableOrder
from byzanz.orders import PlacedOrder
from tests.support.byzanz_positions import BYZANZ, NAMES, after, at

HANDS = ("cloth2 olive1 olive1 spice4", "grain3 merchant wine2", "cloth1 wood4", "olive2 spice1")
LOT = "cloth4 grain1 merchant spice2 wood3"
LISTED = [*NAMES, "cloth", "grain", "olive", "spice", "wine", "wood"]


def answered_by_order(state, seat, text):
    """What an order makes of the question that its seat is asked."""
    order = BYZANZ.parse_order(text)
    return BYZANZ.answer_order(order, BYZANZ.view(state, seat), BYZANZ.moves(state, seat))


def played(state, seat, text):
    answer = answered_by_order(state, seat, text)
    return str(answer.move) if answer.move else None


def bidding(**more):
    return at(4, hands=HANDS, lot=LOT, **more)


@pytest.mark.parametrize(
    ("written", "canonical", "about"),
    [
        ("LADDER sp3  wine2 c1 upto 9", "ladder spice3 wine2 cloth1 upto 9 then pass", "bid"),
        ("order ladder wine2 upto 09 then ask every lot", "ladder wine2 upto 9 then ask every lot", "bid"),
        ("raise upto 4 then pass this lot", "raise upto 4 then pass", "bid"),
        ("raise upto 1", "raise upto 1 then pass", "bid"),
        ("raise upto 99", "raise upto 99 then pass", "bid"),
        ("pass", "pass this lot", "bid"),
        ("pass every lot", "pass every lot", "bid"),
        ("tax wood1 wi lowest", "tax wood1 wine lowest", "tax"),
        ("take wine cl merchant always", "take wine cloth merchant always", "take"),
        ("take wine, cloth, merchant always", "take wine cloth merchant always", "take"),
        ("tax best", "tax best", "tax"),
        ("take wine be alw", "take wine best always", "take"),
        ("limit sell m lowest alw", "limit sell merchant lowest always", "limit"),
        ("finish", "finish", "end"),
        ("ladder upto 9", "raise upto 9 then pass", "bid"),  # with any cards
        ("raise wine2 upto 4", "ladder wine2 upto 4 then pass", "bid"),
    ],
)
def test_an_order_is_read_as_freely_as_a_move(written, canonical, about):
    order = BYZANZ.parse_order(written)
    assert (order.text, order.kind) == (canonical, about)
    assert BYZANZ.parse_order(order.text) == order


@pytest.mark.parametrize(
    "text",
    [
        "", "order", "sing", "ladder wine2", "ladder merchant upto 4", "ladder wine2 upto 0",
        "ladder wine2 upto 100", "raise upto 0999999", "raise upto 4 then sing", "pass that lot",
        "take", "take always", "take wine2", "take lowest", "tax most", "tax wine wine", "limit silk", "finish now",
        "p\x00ss", "ladder " + "wine2 " * 300 + "upto 9", "l wine2 upto 3", "tax w",
    ],
)  # fmt: skip
def test_what_is_no_order_is_refused_with_a_sentence(text):
    with pytest.raises((UnreadableOrder, AmbiguousMove, UnreadableMove)) as refused:
        BYZANZ.parse_order(text)
    assert str(refused.value).endswith(".")
    assert "%(" not in str(refused.value), "every place is filled"


WORDS = [
    *LISTED,
    "ladder",
    "raise",
    "upto",
    "9",
    "then",
    "pass",
    "tax",
    "take",
    "limit",
    "always",
    "every",
    "lot",
]


@given(some.text(max_size=60) | some.lists(some.sampled_from(WORDS), max_size=9).map(" ".join))
@settings(max_examples=200)
def test_any_text_is_an_order_or_refused(text):
    try:
        order = BYZANZ.parse_order(text)
    except (UnreadableOrder, AmbiguousMove, UnreadableMove):
        return
    assert BYZANZ.parse_order(order.text) == order


def test_a_ladder_raises_with_its_next_cards_as_few_as_outbid_all():
    state = bidding(bids=("", "", "wood1", ""))
    assert played(state, 0, "ladder olive1 cloth2 spice4 upto 9") == "bid cloth2 olive1"
    assert played(state, 0, "ladder spice4 olive1 upto 9") == "bid spice4"


def test_a_ladder_counts_what_lies_in_the_bid_already_and_uses_each_card_once():
    state = bidding(bids=("wood2", "", "wood4", ""))
    assert played(state, 0, "ladder olive1 olive1 cloth2 upto 9") == "bid cloth2 olive1 olive1"
    assert played(state, 0, "ladder olive1 olive1 olive1 upto 9") == "pass"


def test_a_ladder_passes_or_asks_when_the_price_is_beyond_its_limit():
    state = bidding(bids=("", "", "wood4 wood3", ""))
    passed = answered_by_order(state, 0, "ladder spice4 cloth2 olive1 upto 7 then pass")
    assert str(passed.move) == "pass"
    assert passed.remaining is None
    assert str(passed) == "Passed for you: the price hit 7, your limit was 7."
    asked = answered_by_order(state, 0, "ladder spice4 cloth2 olive1 upto 7 then ask")
    assert asked.move is None
    assert "your limit was 7" in str(asked)


def test_a_ladder_never_bids_beyond_its_limit_though_the_price_is_below_it():
    assert played(bidding(bids=("", "", "wood2", "")), 0, "ladder spice4 upto 3 then pass") == "pass"


def test_raising_without_cards_named_costs_as_little_as_can_be():
    state = bidding(bids=("", "", "wood1 wood2", ""))
    assert played(state, 0, "raise upto 9") == "bid spice4"
    assert played(bidding(), 0, "raise upto 9") == "bid olive1"
    assert played(state, 0, "raise upto 3") == "pass"


def test_the_other_orders_take_the_first_wish_that_can_be_had():
    taxed = at(4, step="tax", hands=HANDS, lot="cloth4 grain1 merchant wood2 wood3")
    assert played(taxed, 0, "tax wine wood lowest") == "tax wood2"
    assert played(taxed, 0, "tax lowest") == "tax grain1"
    assert answered_by_order(taxed, 0, "tax wine olive").move is None
    market = at(
        4,
        step="market",
        hands=HANDS,
        market="cloth1 cloth1 merchant merchant merchant wine4",
        won=(2, 3, 4, 5),
    )
    assert played(market, 0, "take olive wine") == "take wine"
    assert played(market, 0, "take olive most") == "take merchant"
    assert answered_by_order(market, 0, "take olive").move is None


def test_best_is_what_leaves_the_most_profitable_sets():
    """Seat 0 holds two of cloth and two of olive."""
    taxed = at(4, step="tax", hands=HANDS, lot="olive4 grain1 spice2 wood1")
    assert played(taxed, 0, "tax best") == "tax grain1"
    thirds = at(4, step="tax", hands=("wood1 wood1", *HANDS[1:]), lot="wood1 spice3")
    assert played(thirds, 0, "tax best") == "tax spice3"
    assert played(thirds, 0, "tax lowest") == "tax wood1"
    market = {"market": "olive1 wine4 wine3", "won": (2, 3, 4, 5)}
    assert played(at(4, step="market", hands=HANDS, **market), 0, "take best") == "take olive"
    assert played(at(4, step="market", hands=HANDS, **market), 0, "take most") == "take wine"
    none = at(4, step="market", hands=("grain1", *HANDS[1:]), **market)
    assert played(none, 0, "take best") == "take wine"


def test_the_hand_limit_sells_before_it_discards_when_its_owner_says_so():
    full = "cloth1 cloth2 cloth3 grain1 merchant merchant olive2 olive4 spice1 wine1"
    state = at(4, step="limit", hands=(full, *HANDS[1:]), turn=0)
    assert played(state, 0, "limit sell lowest") == "sell olive2 olive4 merchant"
    once = answered_by_order(state, 0, "limit grain lowest")
    assert str(once.move) == "discard grain1"
    assert once.remaining is not None
    assert answered_by_order(state, 0, "limit spice4").move is None


def test_finish_sells_the_sets_one_by_one_and_is_then_done():
    hands = ("cloth1 cloth2 cloth4 grain4", *HANDS[1:])
    state = at(4, step="end", turn=-1, round=6, hands=hands)
    sold = answered_by_order(state, 0, "finish")
    assert (str(sold.move), str(sold.remaining)) == ("sell cloth1 cloth2 cloth4", "finish")
    assert str(sold) == "Sold a set for you at the end: “sell cloth1 cloth2 cloth4”."
    done = answered_by_order(after(state, f"0 {sold.move}"), 0, "finish")
    assert (str(done.move), done.remaining) == ("done", None)
    assert str(done) == "All your sets are sold: done for you."


def test_an_order_about_bidding_is_for_the_lot_at_hand_or_the_next_one():
    state = bidding(won=(0, 5, 0, 0))
    ladder = BYZANZ.parse_order("ladder olive1 upto 3")
    assert BYZANZ.order_scope(ladder, BYZANZ.view(state, 0)) == "lot 2"
    assert BYZANZ.order_scope(BYZANZ.parse_order("pass"), BYZANZ.view(state, 1)) == "lot 5"
    assert BYZANZ.order_scope(BYZANZ.parse_order("pass every lot"), BYZANZ.view(state, 0)) == ""
    assert BYZANZ.order_scope(BYZANZ.parse_order("take most"), BYZANZ.view(state, 0)) == ""
    passed = bidding(won=(0, 5, 0, 0), passed=(0,), turn=2)
    assert BYZANZ.order_scope(ladder, BYZANZ.view(passed, 0)) == "lot 3"
    assert BYZANZ.order_expired("lot 2", BYZANZ.view(passed, 0))
    assert not BYZANZ.order_expired("lot 3", BYZANZ.view(passed, 0))
    assert not BYZANZ.order_expired("lot 2", BYZANZ.view(state, 0))


def test_a_ladder_of_cards_that_are_not_held_is_refused():
    with pytest.raises(IllegalMove, match="wood4"):
        BYZANZ.order_scope(BYZANZ.parse_order("ladder olive1 wood4 upto 3"), BYZANZ.view(bidding(), 0))


@given(some.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_whole_games_of_orders_make_legal_moves_and_keep_their_limits(seed):
    rng = random.Random(seed)
    deal = chance.deal(chance.key(f"g{seed}", bytes(32), "abcd"))
    state, _ = umpire.settle(BYZANZ, BYZANZ.setup(4, {}), deal)
    standing = {seat: random_lines(rng) for seat in range(4)}
    while BYZANZ.outcome(state) is None:
        seat = min(BYZANZ.awaited(state))
        left = [PlacedOrder(at, BYZANZ.parse_order(line), "") for at, line in enumerate(standing[seat])]
        decision = orders.decide(BYZANZ, state, seat, left)
        moves = BYZANZ.moves(state, seat)
        if decision is None or decision.answer.move is None:
            choice = rng.choice(moves)
        else:
            choice = decision.answer.move
            assert choice in moves
            assert decision.answer.remaining in (None, decision.placed.order)
            if choice.verb == "bid":
                before = BYZANZ.view(state, seat).totals[seat]
                limit = int(decision.placed.order.text.split("upto ")[1].split()[0])
                assert before < before + sum(int(name[-1]) for name in choice.args) <= limit
        state, _ = umpire.settle(BYZANZ, umpire.play(BYZANZ, state, seat, choice), deal)


def random_lines(rng):
    """A full set of orders, drawn at random."""

    def wished(*also):
        return " ".join(dict.fromkeys(rng.sample([*LISTED[-6:], *also], 4)))

    goods = [name for name in NAMES if name != "merchant"]
    ladder = " ".join(rng.choices(goods, k=6))
    bid = rng.choice([f"ladder {ladder} upto {rng.randint(1, 12)} then {rng.choice(('pass', 'ask'))} every lot",
                      f"raise upto {rng.randint(1, 12)} every lot", "pass every lot"])  # fmt: skip
    return [bid, f"tax {wished('merchant', 'best', 'lowest')} always", f"take {wished('best', 'most')} always",
            f"limit {wished('sell', 'lowest')} always", *(["finish"] if rng.random() < 0.5 else [])]  # fmt: skip
