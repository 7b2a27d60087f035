"""The page of open tables: what it lists for whom, its filter, the searches kept there, and the end of their emails."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from server.lobby import invitations, open_tables
from server.lobby.open_tables import Wanted
from server.store import engine, links
from server.store.models import Block, Game, LinkPurpose, Reliability, Wish
from tests.conftest import NOW
from tests.support.lobby import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    everything,
    invited,
    known,
    open_table,
    person,
    token,
)
from tests.support.pages import form, look, read, send, sign_in

DAY = timedelta(days=1)
INJECTED = "<b>\"&'</b>"


@pytest.fixture
def daphne(client: FlaskClient) -> int:
    """Sign Daphne in."""
    found = known(DAPHNE, NOW)
    sign_in(client, DAPHNE.address)
    return found


def test_a_visitor_sees_tables_without_names(client: FlaskClient) -> None:
    game_id = open_table("The Horn", asks=95)
    page = look(client, "/tables")
    assert f"/join/{game_id}" in page.html
    assert "1 of 3 seats free 1 player invited 1 day per move" in page.text
    assert "Asks for at least 95% answered in time." in page.text
    assert "Seated: a player (new here)" in page.text
    assert "Alice" not in page.text


def test_a_signed_in_reader_sees_who_is_seated_and_how_they_answer(client: FlaskClient, daphne: int) -> None:
    open_table("The Horn", bots=("greedy",), players=())
    assert daphne
    alice = _alice()
    with engine.transaction() as session:
        session.add(Reliability(person_id=alice, decisions=200, missed=2, median=60, games=9, abandoned=0))
    page = look(client, "/tables")
    assert "Seated: Alice (99% on time), Theodora (bot)" in page.text


def _alice() -> int:
    with engine.reading() as session:
        return session.query(Game).filter(Game.open_until.is_not(None)).one().organiser_id or 0


def test_a_block_hides_a_table(client: FlaskClient, daphne: int) -> None:
    game_id = open_table("The Horn")
    with engine.transaction() as session:
        host = session.get_one(Game, game_id).organiser_id
        assert host is not None
        session.add(Block(person_id=host, other_id=daphne, at=NOW))
    for path in ("/tables", "/"):
        assert game_id not in look(client, path).html
    assert game_id in look(client.application.test_client(), "/tables").html


def test_a_readers_own_tables_are_not_offered_to_them(client: FlaskClient) -> None:
    own = open_table("Their own", organiser=DAPHNE, players=(BOB,))
    invited_to = open_table("Invited", players=(DAPHNE,))
    joined = open_table("Joined", free=2)
    invitations.take_free_seat(joined, known(DAPHNE, NOW), "Daphne", "", NOW)
    declined = open_table("Declined", players=(DAPHNE,), free=1)
    invitations.decline(token("invite", DAPHNE, declined, NOW), NOW)
    other = open_table("Other")
    sign_in(client, DAPHNE.address)
    for path in ("/tables", "/"):
        page = look(client, path).html
        assert [f'"/join/{each}"' in page for each in (other, declined)] == [True, True], path
    listed = look(client, "/tables").html
    assert [each for each in (own, invited_to, joined) if f'"/join/{each}"' in listed] == []
    visitor = look(client.application.test_client(), "/tables").html
    assert [f'"/join/{each}"' in visitor for each in (own, invited_to, other)] == [True] * 3


def test_the_filter_is_a_plain_form(client: FlaskClient) -> None:
    open_table("Byzanz here")
    open_table("Empire here", slug="empire", players=())
    page = look(client, "/tables?game=empire&size=&pace=3600&language=&free=1")
    assert ("Empire here" in page.text, "Byzanz here" in page.text) == (True, False)
    for chosen in ('value="empire" selected', 'value="3600" selected', 'value="1" selected'):
        assert chosen in page.html
    nothing = look(client, "/tables?game=byzantium")
    assert "No table like this is open right now." in nothing.text
    assert 'href="/new?game=byzantium"' in nothing.html
    assert "Emails about new tables" in nothing.text
    assert "Email me about" not in nothing.text
    current = re.findall(r'<a href="([^"]+)" aria-current="true">([^<]+)</a>', page.html)
    assert current == [("/tables?game=empire", "Empire and Foes")]
    assert '<a href="/tables" aria-current="true">All</a>' in look(client, "/tables?pace=3600").html


def test_the_folded_filter_names_all_that_is_chosen(client: FlaskClient) -> None:
    open_table("The Horn")
    page = look(client, "/tables?game=byzanz&size=3&free=1&pace=86400&language=en")
    assert (
        "More filters: Byzanz, 3 players, at least 1 seat free, at least 1 day per move, English" in page.text
    )
    assert "More filters: any game, at least 2 seats free Game" in look(client, "/tables?free=2").text


def test_no_list_has_a_table_of_ones_own(client: FlaskClient, daphne: int) -> None:
    open_table("The Horn")
    assert "Take a seat : The Horn" in look(client, "/tables").text
    assert daphne
    sign_in(client, ALICE.address)
    for path in ("/tables", "/"):
        page = look(client, path)
        assert "The Horn" not in page.text.partition("Open tables")[2]
        assert "Take a seat" not in page.text


def test_a_visitor_sees_how_many_bots_are_seated(client: FlaskClient) -> None:
    open_table("The Horn", bots=("greedy", "greedy"), players=())
    assert "Seated: a player (new here), 2 bots Take a seat" in look(client, "/tables").text
    german = look(client, "/tables", headers={"Accept-Language": "de"}).text
    assert "Am Tisch: jemand (neu hier), 2 Bots Platz nehmen" in german


@pytest.mark.parametrize(
    "query", ["game=chess", "size=x", "pace=-1", "free=9999", "language=xx", "game=" + "x" * 500]
)
def test_a_bad_filter_is_refused(client: FlaskClient, query: str) -> None:
    assert read(client.get(f"/tables?{query}")).status == 422
    assert client.get(f"/api/v1/tables?{query}").status_code == 422


def test_what_is_typed_into_the_address_is_escaped(client: FlaskClient) -> None:
    for name in ("game", "size", "pace", "language", "free", "page"):
        assert "<b>" not in client.get("/tables", query_string={name: INJECTED}).text


def test_pages_keep_the_filter(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_tables.open_tables, "__defaults__", (1, 2))
    for number in range(5):
        open_table(f"Table {number}")
    first = look(client, "/tables?game=byzanz")
    assert 'href="/tables?game=byzanz&amp;page=2"' in first.html
    second = look(client, "/tables?game=byzanz&page=2")
    assert 'href="/tables?game=byzanz&amp;page=1"' in second.html
    assert 'href="/tables?game=byzanz&amp;page=3"' in second.html
    assert "page=4" not in look(client, "/tables?game=byzanz&page=3").html
    for odd in ("0", "-1", "x", "999999999"):
        assert look(client, f"/tables?page={odd}").status == 200


def test_the_home_page_leads_there(client: FlaskClient, daphne: int) -> None:
    assert daphne
    assert 'href="/tables"' in look(client, "/").html
    open_table("The Horn")
    assert 'href="/tables"' in look(client.application.test_client(), "/").html


def test_the_api_lists_the_same(client: FlaskClient) -> None:
    game_id = open_table("The Horn", asks=90)
    open_table("Other", slug="empire", players=())
    found = client.get("/api/v1/tables?game=byzanz").json
    assert found is not None
    (table,) = found["tables"]
    assert (table["id"], table["size"], table["free"], table["asks"]) == (game_id, 3, 1, 90)
    assert (table["allowance"], table["took"], found["next"], found["seats"]) == (86400, None, None, [])
    assert "Alice" not in str(found)


# ---- tell me ----


def test_a_search_is_kept_shown_and_deleted(client: FlaskClient, daphne: int) -> None:
    path = "/tables?game=byzanz&size=4&pace=86400"
    assert "Email me about: Byzanz, 4 players, at least 1 day per move" in look(client, path).text
    assert "Email me about every new table" in look(client, "/tables").text
    answer = client_add(client, path)
    assert answer.headers["Location"] == "/tables#wishes"
    with engine.reading() as session:
        (wish,) = open_tables.of_person(session, daphne)
        assert (wish.slug, wish.size, wish.pace) == ("byzanz", 4, 86400)
    assert "Byzanz, 4 players, at least 1 day per move" in look(client, "/tables").text
    fields = {"do": "delete", "wish": str(wish.id), "csrf_token": csrf(client)}
    assert client.post("/tables/wishes", data=fields).status_code == 303
    with engine.reading() as session:
        assert session.query(Wish).count() == 0


def csrf(client: FlaskClient) -> str:
    """Return the token of the forms on the page."""
    return client.get("/tables").text.partition('name="csrf_token" value="')[2].partition('"')[0]


def client_add(client: FlaskClient, path: str) -> Any:
    """Press the button that keeps a search."""
    query = dict(part.split("=") for part in path.partition("?")[2].split("&") if part)
    return client.post("/tables/wishes", data={"do": "add", "csrf_token": csrf(client)} | query)


def test_the_fourth_search_is_refused(client: FlaskClient, daphne: int) -> None:
    token = csrf(client)
    for size in (2, 3, 4):
        open_tables.add(daphne, Wanted(size=size), NOW)
    answer = client.post("/tables/wishes", data={"do": "add", "csrf_token": token, "size": "5"})
    assert answer.status_code == 429
    assert "Delete one of them first." in answer.text


def test_a_visitor_keeps_no_search(client: FlaskClient) -> None:
    before = everything()
    assert client.post("/tables/wishes", data={"do": "add"}).status_code in (303, 400)
    assert everything() == before


def test_one_click_ends_the_emails(client: FlaskClient, daphne: int) -> None:
    open_tables.add(daphne, Wanted(), NOW)
    charlie = person(CHARLIE, NOW)
    open_tables.add(charlie, Wanted(), NOW)
    with engine.transaction() as session:
        token = links.token(links.link_for(session, LinkPurpose.WISH, daphne, None, NOW))
    bare = client.application.test_client(use_cookies=False)
    assert "Delete my searches" in look(bare, f"/w/{token}").text
    with engine.reading() as session:
        assert session.query(Wish).count() == 2, "a GET deletes nothing"
    answer = bare.post(f"/w/{token}", data={"List-Unsubscribe": "One-Click"})
    assert "no more emails about open tables" in answer.text
    with engine.reading() as session:
        assert [wish.person_id for wish in session.query(Wish)] == [charlie]
    assert bare.post(f"/w/{token}").status_code == 200
    assert bare.get(f"/w/{'a' * 26}").status_code == 404


# ---- asked of players who join ----


def test_the_form_says_what_is_asked_of_newcomers(client: FlaskClient) -> None:
    assert "people who are new here cannot join" in look(client, "/new").text


def test_a_refused_joiner_is_told_what_is_asked_and_nothing_more(client: FlaskClient, daphne: int) -> None:
    assert daphne
    game_id = open_table("The Horn", asks=98)
    page = look(client, f"/join/{game_id}")
    assert "Players who join must have answered at least 98% of their decisions in time." in page.text
    refused = read(send(client, f"/join/{game_id}"))
    assert refused.status == 409
    assert "This table asks for players who have answered at least 98% of their decisions in time." in (
        refused.text
    )


def test_the_organisers_page_says_when_the_table_ends(client: FlaskClient) -> None:
    game_id, host = invited(NOW, players=(BOB,), free=1, listed=True)
    page = look(client, f"/o/{host}")
    assert "The table closes on 23 Mar if nobody joins." in page.text
    assert form(page, do="keep-open")
    assert not [
        field
        for fold in page.root.iter("details")
        for field in fold.iter("input")
        if field.get("value") == "keep-open"
    ]
    assert client.post(f"/o/{host}", data={"do": "keep-open"}).status_code == 303
    invitations.take_free_seat(game_id, known(DAPHNE, NOW), "Daphne", "cut", NOW)
    assert client.post(f"/o/{host}", data={"do": "keep-open"}).status_code == 303
    assert "table closes on" not in look(client, f"/o/{host}").text


def test_all_free_seats_are_filled_with_bots_at_once(client: FlaskClient) -> None:
    game_id, host = invited(NOW, players=(), free=3, listed=True)
    assert client.post(f"/o/{host}", data={"do": "fill-all", "bot": "chess"}).status_code == 422
    answer = client.post(f"/o/{host}", data={"do": "fill-all", "bot": "greedy"})
    assert "/t/" in answer.headers["Location"]
    with engine.reading() as session:
        assert session.get_one(Game, game_id).status == "running"
