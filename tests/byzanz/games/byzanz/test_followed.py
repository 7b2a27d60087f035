"""What players look back at: the latest auctions and takes, and what followed from each move."""

from __future__ import annotations

import json

import pytest

from byzanz.games.byzanz.state import Lot
from byzanz.rules import ALL, PUBLIC
from tests.support.byzanz_positions import BYZANZ, after, at, game

HANDS = ("cloth2 olive1 olive1 spice4", "grain3 merchant wine2", "cloth1 wood4", "olive2 spice1")
LOT = "cloth4 grain1 merchant spice2 wood3"
CARDS = ("cloth4", "grain1", "spice2", "wood3", "merchant")


def told(state, *moves):
    """Return what followed from each of these moves, as those read it who sit elsewhere."""
    found = []
    for move in moves:
        before, state = state, after(state, move)
        messages = BYZANZ.followed(BYZANZ.view(before, PUBLIC), BYZANZ.view(state, PUBLIC))
        found.append(" ".join(each.text % {**each.places, **each.seats} for each in messages))
    return found


def test_a_lot_is_remembered_with_its_bids_winner_price_and_tax():
    state = after(
        at(4, hands=HANDS, lot=LOT),
        *("0 bid cloth2", "1 bid grain3", "2 pass", "3 pass", "0 bid olive1 olive1", "1 pass", "0 tax wood3"),
    )
    lot, following = state.lots
    assert lot == Lot(
        size=5,
        cards=CARDS,
        bids=(
            "0 cloth2",
            "1 grain3",
            "2",
            "3",
            "0 olive1 olive1",
            "1",
        ),
        winner=0,
        tax=("wood3",),
    )
    assert lot.bidders == (0, 1, 2, 3)
    assert (lot.price, lot.bid(0), lot.taken) == (4, ("cloth2", "olive1", "olive1"), (*CARDS[:3], "merchant"))
    assert (following.size, following.winner, following.bids, following.tax) == (4, -1, (), ())


def test_a_bid_is_told_with_its_total_and_a_tax_with_its_lot():
    start = at(4, hands=(HANDS[0], HANDS[1], "cloth1 wood1 wood1 wood4", HANDS[3]), lot=LOT)
    moves = (
        "0 bid cloth2",
        "1 bid grain3",
        "2 pass",
        "2 sell wood1 wood1 wood4",
        "3 pass",
        "0 bid olive1 olive1",
        "1 pass",
        "0 tax wood3",
    )
    assert told(start, *moves) == [
        "0 bids 2: cloth2.",
        "1 bids 3: grain3.",
        "",
        "",
        "",
        "0 raises to 4 with olive1 olive1.",
        "",
        "0 wins the lot of 5 for 4: wood3 goes to market, 0 takes cloth4 grain1 spice2 merchant.",
    ]


def test_a_lot_can_be_drawn_from_what_followed():
    moves = ("0 bid cloth2", "1 bid grain3", "2 pass", "3 pass", "0 bid olive1 olive1", "1 pass")
    before = after(at(4, hands=HANDS, lot=LOT), *moves)
    views = [BYZANZ.view(state, PUBLIC) for state in (before, after(before, "0 tax wood3"))]
    (message,) = BYZANZ.followed(*views)
    assert message.seats == {"name": 0}
    assert message.places == {
        "size": 5,
        "price": 4,
        "tax": "wood3",
        "cards": "cloth4 grain1 spice2 merchant",
        "market": "cloth2 olive1 olive1 wood3",
        "others": ((1, 3), (2, 0), (3, 0)),
    }


def test_a_lot_that_nobody_wants_follows_from_the_last_pass():
    start = at(4, hands=HANDS, lot=LOT)
    lot = after(start, "0 pass", "1 pass", "2 pass", "3 pass").lots[0]
    assert (lot.winner, lot.price, lot.tax, lot.taken) == (0, 0, (), CARDS)
    assert told(start, "0 pass", "1 pass", "2 pass", "3 pass") == [
        *("", "", ""),
        "0 gets the whole lot of 5 for free: cloth4 grain1 spice2 wood3 merchant.",
    ]


def test_the_last_lot_of_a_round_comes_without_bids():
    start = at(3, step="tax", lot="cloth1 wine2", won=(4, 3, 0), turn=2)
    assert told(start, "2 tax wine2") == [
        "2 takes the last lot (of 2) without bidding: wine2 goes to market, 2 takes cloth1."
    ]


def test_takes_are_remembered_until_the_next_market_opens():
    state = at(4, step="market", market="wine1 wine2 wood1", won=(2, 3, 4, 5), turn=0)
    assert told(state, "0 take wine", "1 take wood") == [
        "0 takes wine1 wine2 from the market.",
        "1 takes wood1 from the market.",
    ]
    state = after(state, "0 take wine", "1 take wood")
    assert state.takes == ((0, ("wine1", "wine2")), (1, ("wood1",)))
    assert state.step == "bid"
    again = at(4, step="market", market="cloth1", won=(2, 3, 4, 5), turn=0, takes=state.takes)
    assert after(again, "0 take cloth").takes == ((0, ("cloth1",)),)
    same = at(4, step="market", market="cloth1", won=(2, 3, 4, 5), turn=0, takes=((0, ("cloth1",)),))
    assert told(same, "0 take cloth") == ["0 takes cloth1 from the market."]


@pytest.mark.parametrize("seats", [3, 6])
def test_a_round_is_remembered_and_everyone_may_know_it(seats):
    most = 0
    for state, _, _move in game(seats, 70 + seats):
        most = max(most, len(state.lots))
        assert len(state.lots) <= seats + 1
        views = [BYZANZ.view(state, viewer) for viewer in (*range(seats), PUBLIC, ALL)]
        assert len({(view.lots, view.takes) for view in views}) == 1
    assert most == seats + 1


def test_a_stored_state_has_its_lots_again():
    state = after(at(4, hands=HANDS, lot=LOT), "0 bid cloth2")
    read = BYZANZ.decode(json.dumps(json.loads(BYZANZ.encode(state))))
    assert read == state
    assert read.lots[0].bid(0) == ("cloth2",)
