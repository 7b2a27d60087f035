"""Standing orders through the API: placed, listed, withdrawn, refused, by the token of their seat alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flask.testing import FlaskClient

from server.store import engine
from server.store.models import Game
from tests.conftest import Table
from tests.support.answers import moderated, refused, seen
from tests.support.games import make

Seating = Callable[..., Table]


def path(token: str) -> str:
    return f"/api/v1/seats/{token}/orders"


def listed(client: FlaskClient, token: str) -> list[dict[str, Any]]:
    """Return the standing orders of a seat as the API lists them."""
    answer = client.get(path(token))
    assert answer.status_code == 200
    told: list[dict[str, Any]] = json.loads(answer.text)["orders"]
    return told


def test_an_order_is_placed_listed_and_withdrawn_by_its_own_seat(client: FlaskClient, table: Seating) -> None:
    game, other = table(4), table(4, "other")
    client.post(path(other.tokens[2]), json={"order": "take wine"})
    placed = client.post(path(game.tokens[1]), json={"order": "PASS every lot"})
    assert (placed.status_code, placed.json) == (201, {"id": 1, "order": "pass every lot", "seq": 1})
    again = client.post(path(game.tokens[1]), json={"order": "take wine"})
    assert again.json == {"id": 2, "order": "take wine", "seq": 1}
    assert listed(client, game.tokens[1]) == [
        {"id": 1, "order": "pass every lot", "status": "standing", "reason": None},
        {"id": 2, "order": "take wine", "status": "standing", "reason": None},
    ]
    for stranger in (game.tokens[0], other.tokens[1]):
        assert listed(client, stranger) == []
        refused(client.delete(f"{path(stranger)}/1"), 404, "no_such_order")
    gone = client.delete(f"{path(game.tokens[1])}/1")
    assert (gone.status_code, gone.data) == (204, b"")
    assert [order["id"] for order in listed(client, game.tokens[1])] == [2]
    refused(client.delete(f"{path(game.tokens[1])}/1"), 404, "no_such_order")


def test_an_order_to_a_seat_that_is_asked_answers_at_once(client: FlaskClient, table: Seating) -> None:
    game = table(4)
    placed = client.post(path(game.tokens[0]), json={"order": "pass every lot"})
    assert placed.json == {"id": 1, "order": "pass every lot", "seq": 2}
    assert seen(client, game.tokens[0])["seq"] == 2


def test_an_order_that_cannot_be_is_refused_and_nothing_is_kept(client: FlaskClient, table: Seating) -> None:
    game = table(4)
    for order, code in (("sing", "unreadable"), ("ladder wood4 wood4 wood4 upto 12", "illegal")):
        error = refused(client.post(path(game.tokens[1]), json={"order": order}), 422, code)
        assert error["legal"] == []
    for number in ("x", "-1", "1e3", "٣", "9" * 30):
        refused(client.delete(f"{path(game.tokens[1])}/{number}"), 404, "no_such_order")
    assert listed(client, game.tokens[1]) == []


def test_orders_paused_by_a_void_are_listed_as_such_and_stopped_ones_not(
    client: FlaskClient, table: Seating
) -> None:
    game = table(4)
    client.post(path(game.tokens[2]), json={"order": "pass every lot"})
    make(game, 0, "pass")
    moderated(game.id, "!void 2")
    assert [order["status"] for order in listed(client, game.tokens[2])] == ["resting"]
    moderated(game.id, "!abandon")
    assert listed(client, game.tokens[2]) == []
    refused(client.post(path(game.tokens[2]), json={"order": "take wine"}), 409, "not_running")


def test_a_game_not_begun_takes_and_lists_no_orders(client: FlaskClient, table: Seating) -> None:
    game = table(4)
    with engine.transaction() as session:
        row = session.get_one(Game, game.id)
        row.status, row.started_at = "inviting", None
    refused(client.get(path(game.tokens[0])), 409, "not_running")
    refused(client.get(f"/api/v1/seats/{game.tokens[0]}/record"), 409, "not_running")
    refused(client.get(f"/api/v1/seats/{game.tokens[0]}"), 409, "not_running")
