"""The page of a profile, its copy in the API, and the buttons that block."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient

from server.community import blocks
from server.store import engine
from server.store.models import Block
from server.web.api.public import PersonState
from tests.conftest import NOW
from tests.support.answers import refused
from tests.support.lobby import everything
from tests.support.pages import log_in, look, read, send, without_ids
from tests.support.results import counted, handled, played, somebody

DAY = timedelta(days=1)


def text(client: FlaskClient, path: str, status: int = 200) -> str:
    """Return the text of the main part of a page, on one line."""
    answer = client.get(path)
    assert answer.status_code == status, answer.status
    page = read(answer)
    main = next(part for part in page.root.iter("main"))
    return " ".join("".join(main.itertext()).split())


@pytest.fixture
def solo(app: Flask) -> int:  # noqa: ARG001 - for its context
    """Return Alice, whom everybody may see; she won one of three listed games and two private ones."""
    for n, places in enumerate(([1, 2, 3], [2, 1, 3], [3, 2, 1])):
        counted(f"g{n}", ["Alice", "Bob", "Charlie"], places, at=NOW + n * DAY)
    counted("secret", ["Alice", "Bob"], [1, 2], listed=False, name="The Secret Table")
    return handled("Alice", "Solo")


@pytest.mark.usefixtures("solo")
@pytest.mark.parametrize("far", [False, True])
def test_a_profile_shows_listed_games(client: FlaskClient, far: bool) -> None:
    with time_machine.travel(NOW + (303 if far else 9) * DAY, tick=False):
        shown = text(client, "/p/Solo")
    assert "Here since February 2026" in shown
    assert "Byzanz 31 of 32.0 Skill or luck?" in shown
    assert "A shared win counts for each winner. GamePlayersWonBy luckRange Byzanz 31 of 31.00–3" in shown
    assert f"Table g2 Byzanz, {'4 Mar 2026' if far else '4 Mar'} 3rd of 3 Table g1 Byzanz" in shown
    assert "won" in shown.partition("Table g0")[2]
    assert "Secret" not in shown
    assert "You have played" not in shown
    assert "Block" not in shown


@pytest.mark.usefixtures("solo")
def test_the_two_of_them_see_how_they_did_together(client: FlaskClient) -> None:
    log_in(client, somebody("Bob"))
    shown = text(client, "/p/solo")
    assert "You have played 4 games together, and you finished ahead in 2." in shown
    assert "Only you two can see this." in shown
    assert "Secret" not in shown
    log_in(client, somebody("Gina"))
    assert "You have played" not in text(client, "/p/solo")


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("nobody", "Only you see this page."),
        ("met", "Only people who have played with you see this page."),
        ("all", "Everybody can see this page."),
    ],
)
def test_owners_see_their_page_and_who_else_does(
    client: FlaskClient, solo: int, shown: str, said: str
) -> None:
    handled("Alice", "Solo", shown)
    log_in(client, solo)
    assert said in text(client, "/p/Solo")
    assert "Block" not in text(client, "/p/Solo")


def answer_of(client: FlaskClient, path: str) -> tuple[str, str, str]:
    """Return status, headers and body of an answer, without what is random: the token of the form for the language."""
    answer = client.get(path, headers={"X-Request-ID": "the-same"})
    headers = [header for header in answer.headers if header[0] != "Set-Cookie"]
    page = re.sub('(name="csrf_token" value=)"[^"]+"', r"\1", answer.text)
    return answer.status, str(headers), page


@pytest.mark.parametrize("viewer", [None, "Bob", "Gina"])
@pytest.mark.parametrize("path", ["/p/Solo", "/api/v1/people/Solo"])
def test_unknown_and_hidden_are_the_same_to_the_byte(
    client: FlaskClient, viewer: str | None, path: str
) -> None:
    if viewer:
        log_in(client, somebody(viewer))
    answers = [answer_of(client, path)]
    counted("g", ["Alice", "Bob"], [1, 2])
    alice = handled("Alice", "Solo", "nobody")
    answers.append(answer_of(client, path))
    if viewer != "Bob":
        handled("Alice", "Solo", "met")
        answers.append(answer_of(client, path))
    handled("Alice", "Solo", "all")
    assert len(set(answers)) == 1
    assert answers[0][0].startswith("404")
    open_to_all = answer_of(client, path)
    assert open_to_all[0].startswith("200")
    if viewer:
        blocks.block(alice, somebody(viewer), NOW)
        assert answer_of(client, path) == open_to_all  # signed in as signed out


@pytest.mark.usefixtures("solo")
@pytest.mark.parametrize("handle", ["s0lo", "Solo%00", "..%2f", "x", "Sol", "a" * 300, "%F0%9F%98%80", "<b>"])
def test_odd_handles_are_unknown_ones(client: FlaskClient, handle: str) -> None:
    assert client.get(f"/p/{handle}").status_code == 404
    refused(client.get(f"/api/v1/people/{handle}"), 404, "no_such_person")


def test_a_name_of_a_table_is_text(client: FlaskClient) -> None:
    counted("g", ["Alice", "Bob"], [1, 2], name="<script>pwned()</script>")
    handled("Alice", "Solo")
    assert "<script>pwned" not in client.get("/p/Solo").text
    assert "<script>pwned()</script>" in text(client, "/p/Solo")


@pytest.mark.usefixtures("solo")
def test_the_api_says_what_a_visitor_may_see(client: FlaskClient) -> None:
    log_in(client, somebody("Bob"))  # a cookie makes no difference
    answer = client.get("/api/v1/people/SOLO")
    assert answer.status_code == 200
    found = PersonState.model_validate(answer.json)
    assert (found.handle, found.since, len(found.latest)) == ("Solo", "2026-02", 3)
    [tally] = found.results
    assert (tally.game, tally.size, tally.played, tally.won) == ("byzanz", 3, 3, 1)
    assert (tally.even, tally.chance, tally.place) == (1.0, [0, 3], 2.0)
    assert "Secret" not in answer.text
    assert '"/api/v1/people/{handle}"' in client.get("/api/v1/openapi.json").text


# ---- blocking ----


def test_a_block_is_made_and_taken_back_on_a_profile(client: FlaskClient, solo: int) -> None:
    bob = somebody("Bob")
    log_in(client, bob)
    assert send(client, "/p/Solo", do="block").location.endswith("/p/Solo")
    with engine.reading() as session:
        assert blocks.blocked_by(session, bob) == {solo}
    assert "Unblock Solo" in text(client, "/p/Solo")
    send(client, "/p/Solo", do="unblock")
    with engine.reading() as session:
        assert blocks.blocked_by(session, bob) == set()


def test_a_block_is_made_on_the_page_of_a_finished_game_and_taken_back_in_the_account(
    client: FlaskClient,
) -> None:
    table = played("g1")
    log_in(client, table.people[0])
    assert send(client, "/g/g1", do="block").location.endswith("/g/g1#people")
    assert "Unblock Bob" in text(client, "/g/g1")
    assert "Blocked people 1" in text(client, "/account")
    assert send(client, "/account", do="unblock").location.endswith("/account#blocked")
    assert "Blocked people If you block" in text(client, "/account")


def test_only_players_see_the_others_and_the_page_for_visitors_stays_one(client: FlaskClient) -> None:
    table = played("g1")
    visitor = without_ids(client.get("/g/g1").text)
    assert "You and the others" not in visitor
    log_in(client, somebody("Gina"))
    assert "You and the others" not in client.get("/g/g1").text
    handled("Bob", "Bobby", "met")
    log_in(client, table.people[0])
    page = look(client, "/g/g1")
    assert "/p/Bobby" in {link.get("href") for link in page.root.iter("a")}
    assert without_ids(client.application.test_client().get("/g/g1").text) == visitor


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/g/g/block", {"seat": "1", "do": "dance"}, 400),
        ("/g/g/block", {"seat": "0", "do": "block"}, 404),  # themselves
        ("/g/g/block", {"seat": "2", "do": "block"}, 404),  # a bot
        ("/g/g/block", {"seat": "9", "do": "block"}, 404),
        ("/g/g/block", {"seat": "x", "do": "block"}, 404),
        ("/g/other/block", {"seat": "1", "do": "block"}, 404),  # they do not play there
        ("/g/busy/block", {"seat": "1", "do": "block"}, 404),  # it runs
        ("/g/no%00/block", {"seat": "1", "do": "block"}, 404),
        ("/p/Nobody/block", {"do": "block"}, 404),
        ("/p/Solo/block", {"do": "block"}, 422),  # themselves
    ],
)
def test_other_blocks_are_refused(
    client: FlaskClient, path: str, fields: dict[str, str], status: int
) -> None:
    counted("g", ["Alice", "Bob", "Bot"], [1, 2, 3])
    counted("other", ["Bob", "Charlie"], [1, 2])
    log_in(client, handled("Alice", "Solo"))
    client.application.config["WTF_CSRF_ENABLED"] = False
    before = everything()
    assert client.post(path, data=fields).status_code == status
    assert everything() == before


@pytest.mark.usefixtures("solo")
def test_visitors_are_asked_to_sign_in(client: FlaskClient) -> None:
    client.application.config["WTF_CSRF_ENABLED"] = False
    for path in ("/g/g0/block", "/p/Solo/block", "/account/profile"):
        assert client.post(path, data={"do": "block", "seat": "1"}).location.endswith("/sign-in")


@pytest.mark.usefixtures("solo")
def test_a_block_needs_the_token_of_its_form(client: FlaskClient) -> None:
    log_in(client, somebody("Bob"))
    assert client.post("/p/Solo/block", data={"do": "block"}).status_code == 400
    with engine.reading() as session:
        assert session.query(Block).count() == 0


# ---- the account ----


def test_a_handle_is_chosen_in_the_account(client: FlaskClient) -> None:
    alice = somebody("Alice")
    log_in(client, alice)
    send(client, "/account", {"handle": "Solo", "shown": "all"}, do="save")
    assert client.application.test_client().get("/p/Solo").status_code == 200
    answer = send(client, "/account", {"handle": "-", "shown": "met"}, do="save")
    assert answer.status_code == 422
    assert re.search(r'id="handle-wrong">A handle has 3 to 20', answer.text)
    assert 'value="-"' in answer.text
    send(client, "/account", {"handle": "", "shown": "all"}, do="save")
    assert client.get("/p/Solo").status_code == 404
    for do in ("dance", "unblock"):
        client.application.config["WTF_CSRF_ENABLED"] = False
        assert client.post("/account/profile", data={"do": do, "other": "x"}).status_code == 400
