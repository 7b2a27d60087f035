"""The page of a finished game is kept for visitors who are not signed in, as long as nothing on it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from server import play
from server.mail.text import quoted
from server.store import engine
from server.store.models import Game, Person, Seat
from server.web.game import pages as game_pages
from tests.conftest import NOW, Table
from tests.support.costs import statements
from tests.support.pages import look, sign_in, without_ids

Begin = Callable[..., Table]
PATH = "/g/g1"


@pytest.fixture
def over(app: Flask, table: Begin) -> Table:  # noqa: ARG001 - requested for its context
    """Return a game that has been ended."""
    game = table(3)
    moderate("!abandon", game)
    return game


def moderate(words: str, game: Table) -> None:
    """Let somebody who does not play act as a moderator."""
    with engine.transaction() as session:
        mia = session.query(Person).filter_by(email="mia@example.org").one_or_none()
        if mia is None:
            mia = Person(email="mia@example.org", name="Mia", created_at=NOW, moderator=True)
            session.add(mia)
        session.flush()
        number = mia.id
    play.moderate(game.id, words, reason="Enough", person_id=number, now=NOW)


def change_columns(key: Any, **values: Any) -> None:
    """Change columns of a row as no function of ours does yet: past the objects, as an erasure would."""
    table = Seat if isinstance(key, tuple) else Game
    found = (Seat.game_id == key[0], Seat.seat == key[1]) if isinstance(key, tuple) else (Game.id == key,)
    with engine.transaction() as session:
        session.execute(update(table).where(*found).values(**values))


def kept_pages(app: Flask) -> game_pages.Pages:
    """Return the pages that this application keeps."""
    found: game_pages.Pages = app.extensions["kept_pages"]
    return found


def count_kept(app: Flask) -> int:
    return len(kept_pages(app)._pages)


def test_a_second_visit_takes_one_query_and_gets_the_same_page(
    app: Flask, client: FlaskClient, over: Table
) -> None:
    first = client.get(f"/g/{over.id}")
    with statements(engine.db.engine) as sent:
        again = client.get(PATH)
    assert [line.split(" FROM ")[1].split()[0] for line in sent if " FROM " in line] == ["game"]
    assert without_ids(again.text) == without_ids(first.text)
    assert again.status_code == 200
    assert again.headers["Cache-Control"] == "no-store"
    assert again.mimetype == "text/html"
    assert "Set-Cookie" not in again.headers
    assert count_kept(app) == 1


@pytest.mark.usefixtures("over")
def test_each_language_has_its_own_page(client: FlaskClient) -> None:
    told: dict[str, str] = {}
    for _ in range(2):
        for code in ("en", "de", "nl"):
            answer = client.get(PATH, headers={"Accept-Language": code})
            assert f'<html lang="{code}">' in answer.text
            told[code] = without_ids(answer.text)
    assert len(set(told.values())) == 3
    client.set_cookie("language", "nl")
    assert without_ids(client.get(PATH, headers={"Accept-Language": "de"}).text) == told["nl"]


def test_an_erasure_or_a_rename_shows_at_once(client: FlaskClient, over: Table) -> None:
    assert "Alice" in client.get(PATH).text
    change_columns((over.id, 0), stored_name="Somebody", cut="erased")
    page = look(client, PATH)
    assert "Alice" not in page.text
    assert "Somebody" in page.text
    assert "“erased”" in page.text
    change_columns(over.id, name="The Silver Horn")
    assert "The Silver Horn" in look(client, PATH).text
    change_columns(over.id, quarantine=quoted("a fault"))
    assert look(client, PATH).status == 409
    change_columns(over.id, quarantine=None)
    assert look(client, PATH).status == 200
    change_columns((over.id, 1), uncut=True)
    assert "suggested by the server" in look(client, PATH).text


def test_a_note_after_the_end_makes_another_page(app: Flask, client: FlaskClient, over: Table) -> None:
    client.get(PATH)
    moderate("!note", over)
    client.get(PATH)
    assert count_kept(app) == 2


@pytest.mark.usefixtures("over")
def test_a_signed_in_page_is_neither_kept_nor_taken_from_there(app: Flask, client: FlaskClient) -> None:
    plain = client.get(PATH)
    sign_in(client, "alice@example.org")
    for _ in range(2):
        own = client.get(PATH)
        assert own.status_code == 200
        assert 'name="csrf_token"' in own.text
    assert count_kept(app) == 1
    assert b"csrf_token" not in b"".join(kept_pages(app)._pages.values())
    stranger = app.test_client().get(PATH)
    assert without_ids(stranger.text) == without_ids(plain.text)


@pytest.mark.usefixtures("over")
def test_what_a_visitor_asks_for_besides_is_not_kept(app: Flask, client: FlaskClient) -> None:
    assert "/g/g1?from=mail" in client.get(f"{PATH}?from=mail").text
    assert client.head(PATH).status_code == 200
    with client.session_transaction() as session:
        session["anything"] = "of a person"
    assert client.get(PATH).status_code == 200
    assert count_kept(app) == 0


def test_a_game_that_is_not_over_is_not_kept(app: Flask, client: FlaskClient, table: Begin) -> None:
    game = table(3)
    assert client.get(PATH).headers["Cache-Control"] == "no-store"
    assert count_kept(app) == 0
    moderate("!abandon", game)
    assert "ended early" in client.get(PATH).text


@pytest.mark.usefixtures("over")
def test_the_least_used_pages_are_dropped(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game_pages, "MOST", 2)
    for code in ("en", "de", "en", "nl"):
        client.get(PATH, headers={"Accept-Language": code})
    assert {key.language for key in kept_pages(app)._pages} == {"en", "nl"}
