"""The table and the hand of Byzanz: what has changed is marked, and sets in the making are told."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

import pytest
from flask import Flask
from flask.testing import FlaskClient
from markupsafe import Markup

from tests.conftest import Table
from tests.support.games import advance, asked, make, position, url
from tests.support.pages import Page, look

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def marks(page: Page) -> list[str]:
    """Return the text of everything on a page that is marked, each with the initial of who changed it."""
    found = [item for item in page.root.iter() if "marked" in (item.get("class") or "").split()]
    return ["".join(item.itertext()).strip() + initial(item) for item in found]


def initial(item: Element) -> str:
    """Return the initial on something that is marked."""
    [by] = [each for each in item.iter("i") if each.get("class") == "by"]
    assert by.get("aria-hidden") == "true"
    return by.get("data-initial", "")


def bid(game: Table, seat: int) -> str:
    """Play the lowest bid of a seat and return its card or cards."""
    now = position(game.id)
    move = next(move for move in now.rules.moves(now.state, seat) if move.verb == "bid")
    make(game, seat, str(move))
    return str(move).partition(" ")[2]


def row_of(page: Page, name: str) -> Element:
    """Return the row of a player."""
    return next(row for row in page.root.iter("tr") if "".join(row.find("th").itertext()).startswith(name))  # type: ignore[union-attr]


def test_the_newest_bid_is_marked_with_the_initial_of_its_player(client: FlaskClient, table: Any):
    game = table(4)
    bid(game, 0)
    assert marks(look(client, url(game, 0))) == []  # nothing has happened since
    page = look(client, url(game, 1))
    assert marks(page) == ["1 leads1A"]
    bid(game, 1)
    third = look(client, url(game, 2))
    assert [mark[-1] for mark in marks(third)] == ["B"]
    assert "marked" in "".join(item.get("class") or "" for item in row_of(third, "Bob").iter())
    assert "marked" not in "".join(item.get("class") or "" for item in row_of(third, "Alice").iter())


def test_the_tax_is_marked_in_the_market_and_the_lot_card_at_its_winner(client: FlaskClient, table: Any):
    game = table(3)
    winner = advance(game, "tax")
    now = position(game.id)
    tax = now.rules.moves(now.state, winner)[0]
    make(game, winner, str(tax))
    viewer = (winner + 1) % 3
    page = look(client, url(game, viewer))
    name = "ABC"[winner]
    [market] = [item for item in page.root.iter("li") if item.get("class") == "marked"]
    assert initial(market) == name
    assert "".join(market.itertext()) == tax.args[0].lstrip("abcdefghijklmnopqrstuvwxyz")
    size = now.view(0).lot_card
    assert f"won the lot of {size}won lot of {size}{name}" in marks(page)
    (medal,) = row_of(page, ("Alice", "Bob", "Charlie")[winner]).iter("b")
    assert (medal.get("class"), medal.text) == ("medal", str(size))


def test_what_was_sold_since_stands_beside_the_profit(client: FlaskClient, table: Any):
    game = table(3)
    for _ in range(60):
        now = position(game.id)
        sale = next(((s, m) for s in range(3) for m in now.rules.out_of_turn_moves(now.state, s)), None)
        if sale:
            break
        seat = asked(game)
        make(game, seat, str(now.rules.moves(now.state, seat)[0]))
    assert sale
    make(game, sale[0], str(sale[1]))
    before, profit = now.view(0).profits[sale[0]], position(game.id).view(0).profits[sale[0]]
    page = look(client, url(game, (sale[0] + 1) % 3))
    name = ("Alice", "Bob", "Charlie")[sale[0]]
    assert "".join(row_of(page, name).findall("td")[-1].itertext()) == f"+{profit - before} {profit}"


def test_all_who_have_passed_since_are_marked(client: FlaskClient, table: Any):
    game = table(5)
    bid(game, 0)
    for seat in (1, 2, 3):
        make(game, seat, "pass")
    assert marks(look(client, url(game, 4))) == ["1 leads1A", "passedB", "passedC", "passedD"]
    bid(game, 4)
    assert [mark[-1] for mark in marks(look(client, url(game, 1)))] == ["C", "D", "E"], "since the own pass"


def test_those_who_wait_and_watch_are_told_what_is_at_stake(client: FlaskClient, table: Any):
    game, other = table(4), table(4, "other")
    bid(other, 0)
    for path in (url(other, 2), f"/g/{other.id}"):
        assert "Alice leads with 1." in look(client, path).text
    assert "You lead with 1." in look(client, url(other, 0)).text
    assert "Nobody has bid yet." in look(client, url(game, 2)).text
    for seat in (0, 1, 2):
        make(game, seat, "pass")
    free = "The others have passed. Any bid wins the lot; if"
    for path in (url(game, 1), f"/g/{game.id}"):
        assert f"{free} Daphne passes too, Alice gets it for free." in look(client, path).text
    assert f"{free} Daphne passes too, you get it for free." in look(client, url(game, 0)).text
    assert f"{free} you pass too, Alice gets it for free." in look(client, url(game, 3)).text


def test_a_hand_of_seven_is_not_taken_for_cards_of_which_no_more_fit(client: FlaskClient, table: Any):
    game = table(3)
    for _ in range(60):
        seat = asked(game)
        if len(position(game.id).view(seat).hand) == 7:
            break
        make(game, seat, str(position(game.id).rules.moves(position(game.id).state, seat)[0]))
    kinds = next(
        item for item in look(client, url(game, seat)).root.iter("div") if "kinds" in item.get("class", "")
    )
    assert kinds.get("class") == "kinds seven", "“full” greys a card in turn.css"


def test_once_the_lots_are_won_nobody_is_marked_as_a_winner_and_the_next_has_a_tag(
    client: FlaskClient, table: Any
):
    game = table(3)
    seat = advance(game, "take")
    make(game, seat, f"take {position(game.id).view(seat).market[0][0]}")
    page = look(client, f"{url(game, seat)}/history")
    assert "won the lot of" not in "".join("".join(each.itertext()) for each in page.root.iter("tbody"))
    awaited = ("Alice", "Bob", "Charlie")[asked(game)]
    assert "to move" in " ".join(row_of(page, awaited).itertext())
    assert "to move" in " ".join(
        row_of(look(client, f"{url(game, asked(game))}/history"), awaited).itertext()
    )


def test_a_history_marks_only_the_chosen_entry(client: FlaskClient, table: Any):
    game = table(4)
    bid(game, 0)
    first = position(game.id).head
    bid(game, 1)
    bid(game, 2)
    for seq, name in ((first, "A"), (first + 1, "B")):
        for path in (f"{url(game, 3)}/history?at={seq}", f"/g/{game.id}/history?at={seq}"):
            assert [mark[-1] for mark in marks(look(client, path))] == [name], path
    make(game, 3, "pass")
    page = look(client, f"{url(game, 3)}/history?at={first + 3}")
    assert marks(page) == ["passedD"]
    assert marks(look(client, f"/g/{game.id}")) == ["passedD"], "a table to watch marks the latest move"


@pytest.mark.parametrize(
    ("kind", "held", "merchants", "said"),
    [
        ("wine", 1, 2, ""),
        ("wine", 2, 0, "2 of 3 for a set"),
        ("wine", 2, 1, "a set with the Merchant"),
        ("wine", 3, 0, "a set"),
        ("merchant", 1, 1, ""),
        ("merchant", 2, 2, "2 of 3 for a set"),
        ("merchant", 3, 3, "a set"),
    ],
)
def test_a_hand_says_what_is_on_the_way_to_a_set(app: Flask, kind: str, held: int, merchants: int, said: str):
    with app.test_request_context():
        making = app.jinja_env.get_template("games/byzanz/cards.html").module.making  # type: ignore[attr-defined]
        assert Markup(making(kind, held, merchants)).striptags() == said


def test_each_kind_of_card_of_a_lot_is_a_choice_of_tax_and_the_price_is_told(client: FlaskClient, table: Any):
    game = table(3)
    winner = advance(game, "tax")
    view = position(game.id).view(winner)
    page = look(client, url(game, winner))
    choices = [item.get("value") for item in page.root.iter("button") if item.get("name") == "move"]
    assert choices == [f"tax {card}" for card in dict.fromkeys(view.lot)]
    twice = [
        int("".join(item.itertext())[1:]) for item in page.root.iter("b") if item.get("class") == "twice"
    ]
    assert twice == [view.lot.count(card) for card in dict.fromkeys(view.lot) if view.lot.count(card) > 1]
    paid = sum(int(card[-1]) for card in view.lots[-1].bid(winner))
    assert (
        f"You won it for {paid}. Pay one card to the market; you keep the other {len(view.lot) - 1}."
        in page.text
    )
    said = {name: row_of(page, name).findall("td")[0] for name in ("Alice", "Bob", "Charlie")}
    assert ["".join(cell.itertext()).strip() for cell in said.values()].count("passed") == 2
    assert "".join(said[("Alice", "Bob", "Charlie")[winner]].itertext()) == str(paid)


def test_who_is_to_move_is_said_where_their_bid_would_be(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    said = [
        item.text for item in row_of(look(client, url(game, seat + 1)), "Alice").iter("span") if item.text
    ]
    assert said.count("to move") == 1
    own = [item.text for item in row_of(look(client, url(game, seat)), "Alice").iter("span") if item.text]
    assert "to move" not in own  # the page asks them


def test_the_cards_of_a_good_stand_together_in_the_order_of_the_hand(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    page = look(client, url(game, seat))
    hand = position(game.id).view(seat).hand
    groups = [item for item in page.root.iter("div") if item.get("class") == "kind"]
    found = [[box.get("value", "") for box in group.iter("input")] for group in groups]
    assert [value for group in found for value in group] == [f"{card}#{n}" for n, card in enumerate(hand)]
    assert [{value.rstrip("#0123456789") for value in group} for group in found] == [
        {good} for good in dict.fromkeys(card.rstrip("1234") for card in hand)
    ]
