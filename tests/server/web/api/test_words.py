"""Table talk through the API: said once, read by those seated, refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server import play
from server.community import reports
from server.store import engine
from server.store.engine import utc_now
from server.store.models import Block, Game, Mute, Seat
from tests.conftest import Table
from tests.support.answers import refused
from tests.support.at_once import at_once
from tests.support.games import change
from tests.support.talk import word_id

Seating = Callable[..., Table]


def path(game: Table, seat: int) -> str:
    return f"/api/v1/seats/{game.tokens[seat]}/words"


def post_words(client: FlaskClient, game: Table, seat: int, text: str, key: str = "k") -> Any:
    return client.post(path(game, seat), json={"text": text, "request_id": key})


def words_for(client: FlaskClient, game: Table, seat: int, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(path(game, seat) + query)
    assert answer.status_code == 200
    told: list[dict[str, Any]] = json.loads(answer.text)["words"]
    return told


def test_words_are_said_once_and_read_by_the_table(client: FlaskClient, table: Seating) -> None:
    game, other = table(3), table(3, game_id="g2")
    first = post_words(client, game, 0, "Hello\r\nall\u202e")
    assert (first.status_code, first.json) == (
        201,
        {"id": word_id(game.id, 1), "text": "Hello\nall"},
    )
    again = post_words(client, game, 0, "Hello\nall")
    assert (again.status_code, again.json) == (200, first.json)
    refused(post_words(client, game, 0, "Another"), 422, "bad_request")
    assert post_words(client, game, 1, "And you").status_code == 201
    (word, answer) = words_for(client, game, 2)
    at = word.pop("at")
    assert at.endswith("Z")
    assert word == {
        **first.json,
        "seat": 0,
        "name": "Alice",
        "text": "Hello\nall",
        "seq": 1,
        "own": False,
        "hidden": False,
    }
    assert [word["own"] for word in words_for(client, game, 1)] == [False, True]
    assert words_for(client, game, 2, f"?after={first.json['id']}") == [answer]
    assert answer["text"] == "And you"
    assert words_for(client, game, 2, f"?after={answer['id']}") == []
    assert words_for(client, other, 0) == []


def test_the_receipt_shows_what_was_replaced(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    receipt = post_words(client, game, 0, "I am alice@example.org").json
    assert receipt["text"] == "I am [address]"
    assert words_for(client, game, 1)[0]["text"] == "I am [address]"


@pytest.mark.parametrize("after", ["", "1", "9" * 20, "%00"])
def test_a_wrong_after(client: FlaskClient, table: Seating, after: str) -> None:
    refused(client.get(f"{path(table(3), 0)}?after={after}"), 422, "bad_request")


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"text": "x"}, {"request_id": "k"}, {"text": 1, "request_id": "k"}),
        *({"text": "", "request_id": "k"}, {"text": "x" * 2001, "request_id": "k"}),
        *({"text": "x", "request_id": "k", "seat": 1}, {"text": "x", "request_id": "a b"}),
    ],
)
def test_malformed_bodies(client: FlaskClient, table: Seating, body: dict[str, Any]) -> None:
    game = table(3)
    refused(client.post(path(game, 0), json=body), 422, "bad_request")
    refused(client.post(path(game, 0), data="x", content_type="application/json"), 400, "bad_json")
    assert client.post(path(game, 0), data={"text": "x"}).status_code == 415
    assert words_for(client, game, 0) == []


def test_refusals_have_codes(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    refused(post_words(client, game, 0, "x" * 501), 422, "bad_wish")
    refused(post_words(client, game, 0, " "), 422, "bad_wish")
    for number in range(20):
        assert post_words(client, game, 0, "Hello", f"{number}").status_code == 201
    refused(post_words(client, game, 0, "Hello", "more"), 429, "too_many")
    play.leave(game.id, 1, now=utc_now())
    refused(post_words(client, game, 1, "Hello"), 409, "closed")
    change(Game, game.id, talk=False)
    refused(post_words(client, game, 2, "Hello"), 409, "closed")
    assert len(words_for(client, game, 2)) == 20


def test_a_game_that_has_not_begun(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    change(Game, game.id, status="inviting")
    refused(post_words(client, game, 0, "Hello"), 409, "closed")
    assert words_for(client, game, 0) == []


def test_hidden_words_have_no_text(client: FlaskClient, table: Seating) -> None:
    game, other = table(3), table(4, game_id="g2")
    post_words(client, game, 0, "Rude")
    reports.hide(game.id, 1, "be kind", other.people[3], utc_now())
    for seat in range(3):
        (word,) = words_for(client, game, seat)
        assert (word["text"], word["hidden"]) == ("", True)


@pytest.mark.parametrize("relation", ["mute", "block"])
def test_nothing_of_muted_or_blocked_people_arrives(
    client: FlaskClient, table: Seating, relation: str
) -> None:
    game = table(3)
    me, other = game.people[:2]
    relations = {
        "mute": Mute(person_id=me, other_id=other),
        "block": Block(person_id=me, other_id=other, at=utc_now()),
    }
    with engine.transaction() as session:
        session.add(relations[relation])
    before = client.get(path(game, 0)).data
    post_words(client, game, 1, "Hello")
    assert client.get(path(game, 0)).data == before
    assert len(words_for(client, game, 2)) == 1


def test_a_former_player_reads_nothing(client: FlaskClient, table: Seating) -> None:
    game, other = table(3), table(4, game_id="g2")
    post_words(client, game, 1, "Hello")
    change(Seat, (game.id, 0), person_id=other.people[3])
    refused(client.get(path(game, 0)), 404, "no_such_seat")
    refused(post_words(client, game, 0, "Hello"), 404, "no_such_seat")


@pytest.mark.concurrency
def test_sixteen_copies_of_one_request(app: Flask, table: Seating) -> None:
    game = table(3, now=utc_now() - timedelta(hours=1))
    answers = at_once(app, *[lambda: post_words(app.test_client(), game, 0, "Hello").status_code] * 16)
    assert sorted(map(str, answers)) == ["200"] * 15 + ["201"]
    assert len(words_for(app.test_client(), game, 1)) == 1
