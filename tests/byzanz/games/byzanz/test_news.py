"""What players look back at: the latest auctions and takes, and what each of the latest moves did."""

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
    return BYZANZ.news(BYZANZ.view(state, PUBLIC), moves)


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


def test_the_news_of_bids_passes_and_the_tax():
    moves = (
        "0 bid cloth2",
        "1 bid grain3",
        "2 pass",
        "3 pass",
        "0 bid olive1 olive1",
        "1 pass",
        "0 tax wood3",
    )
    state = after(at(4, hands=HANDS, lot=LOT), *moves)
    lot = state.lots[0]
    assert told(state, *(move[2:] for move in moves)) == [(0, 2), (0, 3), None, None, (2, 4), None, lot]
    assert told(state, "sell cloth1 cloth1 cloth1", "tax wood3", "sell wine1 wine1 wine1") == [
        None,
        lot,
        None,
    ]
    assert told(after(at(4, hands=HANDS, lot=LOT), "0 bid cloth2"), "bid cloth2") == [(0, 2)]


def test_a_lot_that_nobody_wants_is_the_news_of_the_last_pass():
    state = after(at(4, hands=HANDS, lot=LOT), "0 pass", "1 pass", "2 pass", "3 pass")
    lot = state.lots[0]
    assert (lot.winner, lot.price, lot.tax, lot.taken) == (0, 0, (), CARDS)
    assert told(state, "pass", "pass", "pass", "pass") == [None, None, None, lot]


def test_takes_are_remembered_until_the_next_market_opens():
    state = at(4, step="market", market="wine1 wine2 wood1", won=(2, 3, 4, 5), turn=0)
    state = after(state, "0 take wine", "1 take wood")
    assert state.takes == ((0, ("wine1", "wine2")), (1, ("wood1",)))
    assert told(state, "take wine", "take wood") == [("wine1", "wine2"), ("wood1",)]
    assert state.step == "bid"
    again = at(4, step="market", market="cloth1", won=(2, 3, 4, 5), turn=0, takes=state.takes)
    assert after(again, "0 take cloth").takes == ((0, ("cloth1",)),)


@pytest.mark.parametrize("seats", [3, 6])
def test_a_round_is_remembered_and_everyone_may_know_it(seats):
    moves: list[str] = []
    most = 0
    for state, _, move in game(seats, 70 + seats):
        most = max(most, len(state.lots))
        assert len(state.lots) <= seats + 1
        views = [BYZANZ.view(state, viewer) for viewer in (*range(seats), PUBLIC, ALL)]
        assert len({(view.lots, view.takes) for view in views}) == 1
        told = BYZANZ.news(views[0], moves)
        last = [each for each, said in zip(moves, told, strict=True) if said is not None]
        assert len(last) > seats or state.round == 1
        moves.append(str(move))
    assert most == seats + 1


def test_a_stored_state_has_its_lots_again():
    state = after(at(4, hands=HANDS, lot=LOT), "0 bid cloth2")
    read = BYZANZ.decode(json.dumps(json.loads(BYZANZ.encode(state))))
    assert read == state
    assert read.lots[0].bid(0) == ("cloth2",)
