"""The players whom a person has muted, on their account page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from server.community import talk
from server.store import engine
from tests.conftest import NOW, Table
from tests.support.games import loaded
from tests.support.pages import look, send, sign_in
from tests.support.talk import word_id

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_muted_player_is_listed_and_heard_again(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    me, bob = game.people[:2]
    talk.say(game.id, bob, "Hello", request_id="k", now=NOW)
    sign_in(client, "alice@example.org")
    assert "Muted players" not in look(client, "/account").text
    talk.mute(me, game.id, word_id(game.id, 1))
    assert "Bob" in look(client, "/account").text.partition("Muted players")[2]
    assert send(client, "/account", other=f"{bob}").status_code == 303
    with engine.reading() as session:
        assert list(talk.muted(session, me)) == []
        assert [said.text for said in talk.words(session, loaded(session, game.id).game, me)] == ["Hello"]


def test_nobody_unmutes_for_another(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    talk.say(game.id, game.people[1], "Hello", request_id="k", now=NOW)
    talk.mute(game.people[0], game.id, word_id(game.id, 1))
    sign_in(client, "charlie@example.org")
    csrf = look(client, "/account").html.partition('name="csrf_token" value="')[2].partition('"')[0]
    for other, status in ((f"{game.people[1]}", 303), ("x", 400), ("", 400)):
        answer = client.post("/account/mutes", data={"csrf_token": csrf, "other": other})
        assert answer.status_code == status
    with engine.reading() as session:
        assert len(talk.muted(session, game.people[0])) == 1
