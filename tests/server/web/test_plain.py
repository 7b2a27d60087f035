"""A game that brings rules and nothing else is played on pages and by mail, in three languages, to the end."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2.nodes import EvalContext

from byzanz import games
from byzanz.moves import Message
from server.store import engine
from server.store.models import Game
from server.web import plain_games
from tests.conftest import NOW, Table
from tests.support.folders import example
from tests.support.games import row, submit
from tests.support.mails import html_of, one_database, send_waiting, text_of

pytestmark = one_database


@pytest.fixture(autouse=True)
def goofspiel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add Goofspiel to the games."""
    monkeypatch.setattr(games, "_added", [example("goofspiel").Goofspiel()])


@pytest.fixture
def game(app: Flask, table: Callable[..., Table], goofspiel: None) -> Table:  # noqa: ARG001
    return table(3, slug="goofspiel")


def test_the_page_of_a_turn_has_the_table_and_a_button_for_each_card(
    game: Table, client: FlaskClient
) -> None:
    page = client.get(f"/t/{game.tokens[1]}").get_data(as_text=True)
    assert re.findall(r'name="move" value="bid (\d+)"', page) == [str(card) for card in range(1, 14)]
    assert "<dt>Offered</dt>" in page
    assert "<dt>To come</dt>" in page
    assert "Your hand: 13 cards" in page
    assert "All choose at the same time." in page


def test_a_choice_is_sealed_and_can_be_changed(game: Table, client: FlaskClient) -> None:
    token = game.tokens[1]
    answer = client.post(f"/t/{token}", data={"move": "bid 12", "seen": "1", "request_id": "a"})
    assert answer.status_code == 303
    own = client.get(f"/t/{token}").get_data(as_text=True)
    assert "Your choice is in. You can still change it until all have chosen." in own
    other = client.get(f"/t/{game.tokens[0]}").get_data(as_text=True)
    assert "Bob has chosen." in other
    assert "bid 12" not in re.sub(r'value="bid 12"|>Bid 12<', "", other)


@pytest.mark.usefixtures("game")
def test_the_email_says_it_in_words() -> None:
    mail = send_waiting(NOW)[0]
    text = text_of(mail)
    assert "- Bid 1\n" in text
    assert "To come: " in text
    assert "Alice (you): " in text
    assert "Bid 13" in html_of(mail)


@pytest.mark.parametrize("language", ["en", "de", "nl"])
def test_every_page_of_a_game_is_drawn(game: Table, client: FlaskClient, language: str) -> None:
    for address in ("/rules/goofspiel", "/new", "/"):
        assert client.get(address, headers={"Accept-Language": language}).status_code in (200, 303), address
    rules = client.get("/rules/goofspiel", headers={"Accept-Language": language}).get_data(as_text=True)
    assert "In thirteen rounds all bid for a prize" in rules
    while status(game) == "running":
        with engine.reading() as session:
            head = session.get_one(Game, game.id).head
        for seat in range(3):
            if status(game) == "running":
                submit(game.id, seat, f"bid {next_card(client, game, seat)}")
        assert send_waiting(NOW) or True
        for address in (f"/t/{game.tokens[0]}", f"/g/{game.id}", f"/g/{game.id}/history?at={head}"):
            assert client.get(address, headers={"Accept-Language": language}).status_code == 200, address
    page = client.get(f"/g/{game.id}", headers={"Accept-Language": language}).get_data(as_text=True)
    assert page.count('class="podium') or "Alice" in page


def next_card(client: FlaskClient, game: Table, seat: int) -> str:
    """Return the lowest card that this seat's page offers."""
    page = client.get(f"/t/{game.tokens[seat]}").get_data(as_text=True)
    return str(re.findall(r'name="move" value="bid (\d+)"', page)[(seat * 3) % 2])


def status(game: Table) -> str:
    return str(row(Game, game.id).status)


@pytest.mark.parametrize(
    ("seats", "shown"), [((), "  pay."), ((0,), "Ann pay."), (((1, "+2"),), "Bob +2 pay.")]
)
def test_a_sentence_may_name_any_number_of_players(app: Flask, seats: tuple[object, ...], shown: str) -> None:
    message = Message("%(who)s pay.", seats={"who": seats})
    with app.test_request_context("/"):
        context = EvalContext(app.jinja_env)
        assert str(plain_games.sentence(context, message, ("Ann", "Bob"))).split() == shown.split()
