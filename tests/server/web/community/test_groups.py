"""The results of a group, for its people alone, signed in or by the link of a seat."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from server.store import engine
from server.store.models import Standing
from tests.conftest import begun
from tests.support.pages import log_in, look
from tests.support.results import counted, played, somebody


def hrefs(client: FlaskClient, path: str) -> set[str]:
    return {link.get("href", "") for link in look(client, path).root.iter("a")}


def test_players_reach_it_from_the_result_and_from_their_seat(client: FlaskClient) -> None:
    table = played("g1")
    seat = f"/t/{table.tokens[0]}"
    assert f"{seat}/group" in hrefs(client, seat)
    assert {seat, f"{seat}/group.csv", f"{seat}/group.json"} <= hrefs(client, f"{seat}/group")
    assert any("app.bgstatsapp.com" in link for link in hrefs(client, f"{seat}/group"))
    log_in(client, table.people[1])
    assert "/g/g1/group" in hrefs(client, "/g/g1")
    found = hrefs(client, "/g/g1/group")
    assert {"/g/g1", "/g/g1/group.csv", "/g/g1/group.json"} <= found
    assert not any(href.startswith("/t/") for href in found)


def test_it_shows_the_ranking_and_the_games(client: FlaskClient) -> None:
    counted("g1", ["Alice", "Bob"], [1, 2], listed=False, name="<b>x</b>")
    counted("g2", ["Bob", "Alice", "Bot"], [2, 1, 3])
    log_in(client, somebody("Alice"))
    shown = " ".join("".join(look(client, "/g/g1/group").root.itertext()).split())
    assert "All finished games of exactly these people: Alice and Bob." in shown
    assert "Alice100.0221.00" in shown
    assert "Bob25.0202.00" in shown
    assert "<b>x</b>" in shown
    assert "<b>x" not in client.get("/g/g1/group").text
    assert "1. Alice 40 · 2. Bob 30 · 3. Bot 20" in shown


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_files_are_downloads(client: FlaskClient, kind: str) -> None:
    table = played("g1")
    answers = [client.get(f"/t/{table.tokens[0]}/group.{kind}")]
    log_in(client, table.people[0])
    answers.append(client.get(f"/g/g1/group.{kind}"))
    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["Content-Disposition"] == f"attachment; filename=byzanz-group.{kind}"
        assert "The Golden Horn" in answer.text
    assert len({answer.text for answer in answers}) == 1
    for path in ("/g/g1/group.xml", f"/t/{table.tokens[0]}/group.xml"):
        assert client.get(path).status_code == 404


def test_nobody_else_sees_it(client: FlaskClient) -> None:
    counted("g1", ["Alice", "Bob"], [1, 2])
    for path in ("/g/g1/group", "/g/g1/group.csv"):
        assert client.get(path).location.endswith("/sign-in")
    log_in(client, somebody("Gina"))
    strangers = {client.get(path).status_code for path in ("/g/g1/group", "/g/g1/group.csv", "/g/none/group")}
    assert strangers == {404}
    assert client.get(f"/t/{'a' * 26}/group").status_code == 404


def test_after_a_game_against_bots_these_are_its_players_games_against_bots(client: FlaskClient) -> None:
    counted("g1", ["Alice", "Bot", "Bot"], [1, 2, 3])
    counted("g2", ["Bot", "Alice"], [1, 2])
    counted("g3", ["Alice", "Bob"], [1, 2])
    log_in(client, somebody("Alice"))
    page = look(client, "/g/g1/group")
    assert page.status == 200
    shown = " ".join("".join(page.root.itertext()).split())
    assert "All finished games that you played against bots alone. Only you see this page." in shown
    assert "Alice50.0211.50" in shown
    assert client.get("/g/g2/group.json").status_code == client.get("/g/g1/group.csv").status_code == 200
    log_in(client, somebody("Bob"))
    assert client.get("/g/g1/group").status_code == 404


def test_a_game_that_never_counts_does_not_promise_results(client: FlaskClient) -> None:
    counted("g1", ["Alice", "Bob"], [1, 2], early=True)
    log_in(client, somebody("Alice"))
    answer = client.get("/g/g1/group")
    assert answer.status_code == 404
    assert "Only games that were played to their end count" in answer.text
    table = begun(3, "g2")
    answer = client.get(f"/t/{table.tokens[0]}/group")
    assert answer.status_code == 404
    assert "This game is not over." in answer.text


def test_before_it_is_counted_it_says_when_it_will_be(client: FlaskClient) -> None:
    table = played("g1")
    with engine.transaction() as session:
        session.query(Standing).delete()
    answer = client.get(f"/t/{table.tokens[0]}/group")
    assert answer.status_code == 404
    assert "Results are counted within minutes" in answer.text
