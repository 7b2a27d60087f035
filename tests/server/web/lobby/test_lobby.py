"""The front page, the form for a new game, and replacing an expired link."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from server import play
from server.accounts import login
from server.lobby import create, invitations
from server.mail.text import quoted
from server.store import engine, links
from server.store.models import Game
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.lobby import (
    ALICE,
    BOB,
    DAPHNE,
    everything,
    invited,
    known,
    mails,
    person,
    seats_of,
    token,
    wish,
)
from tests.support.neighbour_game import NEIGHBOUR
from tests.support.pages import Page, form, log_in, look, read, send, sign_in, sign_in_token

FRIENDS = "Bob <bob@example.org>\ncharlie@example.org\n"
WISH = {"title": "The Amber Gate", "name": "Alice", "address": "alice@example.org", "players": FRIENDS}


def only_game() -> Game:
    with engine.reading() as session:
        return session.scalars(select(Game).where(Game.id != NEIGHBOUR)).one()


def test_the_front_page_leads_to_a_new_game(client: FlaskClient) -> None:
    page = look(client, "/")
    assert page.status == 200
    assert 'href="/new"' in page.html
    assert "Set-Cookie" not in client.get("/").headers


def test_a_game_is_asked_for_in_one_form(client: FlaskClient) -> None:
    answer = send(client, "/new", WISH)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/asked")
    assert look(client, "/asked").status == 200
    game = only_game()
    assert (game.name, game.status, game.allowance, game.time_zone, game.listed) == (
        "The Amber Gate", "asked", 86400, "UTC", False,
    )  # fmt: skip
    assert [seat.stored_name for seat in seats_of(game.id)] == ["Alice", "Bob", "Charlie"]
    assert len(mails("confirm", ALICE)) == 1


def test_friends_stand_in_rows_or_on_a_list_and_a_refusal_keeps_both(client: FlaskClient) -> None:
    rows = {
        "friend_1": "Bob B.",
        "friend_1_address": "bob@example.org",
        "friend_4_address": "dora@example.org",
    }
    typed = {**WISH, **rows, "players": "Charlie <charlie@example.org>"}
    _action, kept = form(send_refused(client, {**typed, "friend_2": "Nobody"}), friend_2="Nobody")
    assert {name: kept[name] for name in rows} == rows
    assert send(client, "/new", typed).status_code == 303
    assert [seat.stored_name for seat in seats_of(only_game().id)] == ["Alice", "Bob B.", "Dora", "Charlie"]


def send_refused(client: FlaskClient, typed: dict[str, str]) -> Page:
    """Return the form as it comes back, with the error at the friends."""
    page = read(send(client, "/new", typed))
    assert page.status == 422
    assert 'id="players-wrong"' in page.html
    return page


def test_the_form_offers_a_name_for_the_game(client: FlaskClient) -> None:
    _action, filled = form(look(client, "/new"), plays="yes")
    assert filled["title"]
    assert filled["allowance"] == "86400"


def test_the_form_offers_three_strengths_of_bots_the_weakest_first(client: FlaskClient) -> None:
    words = look(client, "/new").text
    places = [words.index(kind) for kind in ("Easy", "Medium", "Strong")]
    assert places == sorted(places)


def test_every_choice_of_the_form_counts(client: FlaskClient) -> None:
    _action, filled = form(look(client, "/new"), plays="yes")
    chosen = filled | WISH
    del chosen["plays"], chosen["talk"]
    chosen |= {
        "players": "bob@example.org",
        "bots": "3",
        "strength": "search",
        "listed": "yes",
        "free": "2",
    }
    chosen |= {"pace": "own", "allowance": "3600", "bank": "14400", "day_6": "off", "day_2": "off"}
    chosen |= {"time_zone": "Europe/Amsterdam"}
    assert client.post("/new", data=chosen).status_code == 303
    game = only_game()
    assert (game.allowance, game.time_zone, game.listed) == (3600, "Europe/Amsterdam", True)
    assert (game.bank, game.days_off, game.talk) == (14400, "26", False)
    assert [(seat.stored_name, seat.status) for seat in seats_of(game.id)] == [
        ("Bob", "invited"), ("Psellos", "seated"), ("Komnene", "seated"), ("Anthemios", "seated"),
        ("", "free"), ("", "free"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pace", "had"),
    [
        ("relaxed", (48 * 3600, 96 * 3600, "67")),
        ("daily", (24 * 3600, 48 * 3600, "")),
        ("evening", (2 * 3600, 4 * 3600, "")),
    ],
)
def test_a_pace_has_a_name_and_is_told_in_words(
    client: FlaskClient, pace: str, had: tuple[int, int, str]
) -> None:
    assert send(client, "/new", {**WISH, "pace": pace, "time_zone": "America/New_York"}).status_code == 303
    game = only_game()
    assert (game.allowance, game.bank, game.days_off) == had
    assert game.talk
    words = {
        "relaxed": "2 days per move, plus a time bank of 4 days; weekends off (New York)",
        "daily": "1 day per move, plus a time bank of 2 days",
        "evening": "2 hours per move, plus a time bank of 4 hours",
    }[pace]
    host = token("organise", ALICE, game.id, NOW)
    assert words in look(client, f"/o/{host}").text
    create.confirm_game(host, NOW, "cut")
    assert words in look(client, f"/i/{token('invite', BOB, game.id, NOW)}").text
    assert words in look(client, f"/g/{game.id}").text


def test_the_usual_pace_is_daily_and_own_values_bring_twice_as_long_a_bank(client: FlaskClient) -> None:
    _action, filled = form(look(client, "/new"), plays="yes")
    assert filled["pace"] == "daily"
    assert client.post("/new", data=WISH | {"plays": "yes", "allowance": "7200"}).status_code == 303
    assert (only_game().allowance, only_game().bank) == (7200, 14400)


MISTAKES = [
    ({"title": "http://evil.example"}, "title"),
    ({"name": ""}, "name"),
    ({"address": "alice"}, "address"),
    ({"players": "Bob"}, "players"),
    ({"players": ""}, "players"),
    ({"pace": "leisurely"}, "pace"),
    ({"bank": "9999999"}, "bank"),
    ({"bank": "much"}, "bank"),
    ({f"day_{day}": "off" for day in "123456"}, "days_off"),
    ({"allowance": "5"}, "allowance"),
    ({"allowance": "soon"}, "allowance"),
    ({"bots": "9"}, "bots"),
    ({"bots": "-1"}, "bots"),
    ({"bots": "1", "strength": "kind"}, "bots"),
    ({"free": "1"}, "free"),
    ({"free": "²"}, "free"),
    ({"time_zone": "Mars"}, "time_zone"),
    ({"game": "chess"}, "game"),
]


def test_a_mistake_is_named_at_its_field_and_all_fields_are_kept(client: FlaskClient) -> None:
    before = everything()
    for typed, field in MISTAKES:
        sent = {
            "game": "byzanz",
            "players": FRIENDS,
            "time_zone": "UTC",
            "allowance": "86400",
            "plays": "yes",
            **WISH,
        }
        sent |= typed
        page = read(client.post("/new", data=sent))
        assert page.status == 422
        assert 'role="alert"' in page.html
        assert field in ("game", "bots") or f'id="{field}-wrong"' in page.html
        _action, kept = form(page, title=sent["title"])
        for name in ("title", "name", "address", "players", "time_zone"):
            assert kept[name].strip() == sent[name].strip()
        assert everything() == before


def test_an_empty_post_is_answered_in_words(client: FlaskClient) -> None:
    assert read(client.post("/new")).status == 422
    assert read(client.post("/new", data=b"\xff\xfe", content_type="text/plain")).status == 422


def test_a_new_game_works_without_cookies(client: FlaskClient) -> None:
    bare = client.application.test_client(use_cookies=False)
    assert send(bare, "/new", WISH).status_code == 303


def test_nobody_learns_how_many_games_or_invitations_an_address_asked_for(client: FlaskClient) -> None:
    for n in range(5):
        friends = [Guest("Friend", f"f{n}.{k}@example.org") for k in range(4)]
        invited(NOW, players=friends)
    sent = WISH | {"plays": "yes"}
    answers = [client.post("/new", data=sent) for _ in range(8)]
    assert {(answer.status_code, answer.data, str(answer.headers)) for answer in answers} == {
        (303, answers[0].data, str(answers[0].headers))
    }
    with engine.reading() as session:
        assert session.query(Game).filter_by(status="asked").count() == 5
    sign_in(client, ALICE.address)
    assert client.post("/new", data=sent).status_code == 303
    with engine.reading() as session:
        assert session.query(Game).filter_by(status="asked").count() == 6


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=120))
def test_no_text_breaks_the_form(client: FlaskClient, title: str, name: str, players: str) -> None:
    sent = {
        "game": "byzanz",
        "title": title,
        "name": name,
        "address": "alice@example.org",
        "players": players,
    }
    answer = client.post("/new", data=sent)
    assert answer.status_code in (303, 422)
    if answer.status_code == 422:
        assert "<script" not in answer.text.replace("<script src=", "")


def test_scripts_in_names_stand_as_text(client: FlaskClient) -> None:
    evil = "<script>alert(1)</script>"
    game_id, host = invited(NOW, name="<img src=x>", organiser=ALICE, listed=True)
    invitations.accept(token("invite", BOB, game_id, NOW), evil, evil, NOW)
    for path in (f"/o/{host}", f"/i/{token('invite', BOB, game_id, NOW)}", f"/join/{game_id}", "/"):
        page = look(client, path)
        assert page.status == 200
        assert "<script>" not in page.html
        assert "<img src=x>" not in page.html


# ---- signed in ----


def test_it_lists_the_games_of_who_is_signed_in(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    waiting, _host = invited(NOW, name="Another one", organiser=BOB, players=(ALICE,), bots=("greedy",))
    link = token("invite", ALICE, waiting, NOW)
    sign_in(client, "alice@example.org")
    page = look(client, "/")
    assert f"/t/{game.tokens[0]}" in page.html
    assert f"/i/{link}" in page.html
    assert "(1)" in page.html.split("</title>")[0]
    assert "Your turn 1" in page.text
    assert game.tokens[1] not in page.html
    play.submit(game.id, 0, "pass", seen=1, request_id="a", now=NOW)
    page = look(client, "/")
    assert "(1)" not in page.html.split("</title>")[0]
    assert "Bob is next." in page.text


def test_it_shows_nobody_the_games_of_another(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3, game_id="thefriendsgame")
    known(Guest("Eve", "eve@example.org"), NOW)
    stranger = look(client, "/")
    sign_in(client, "eve@example.org")
    for page in (stranger, look(client, "/")):
        assert game.id not in page.html
        assert not any(mine in page.html for mine in game.tokens)
        assert "The Golden Horn" not in page.text


def test_an_organiser_finds_his_page(client: FlaskClient) -> None:
    _game_id, host = invited(NOW, plays=False, players=(BOB,), bots=("greedy", "greedy"))
    sign_in(client, "alice@example.org")
    assert f"/o/{host}" in look(client, "/").html


def test_it_lists_open_tables_without_those_who_only_were_invited(client: FlaskClient) -> None:
    shown, _host = invited(NOW, players=(BOB,), listed=True, free=1)
    hidden = create.create_game(wish(name="Secret"), NOW)
    page = look(client, "/")
    assert f"/join/{shown}" in page.html
    assert "Bob" not in page.text
    assert hidden not in page.html
    log_in(client, person(DAPHNE, NOW))
    assert re.search(r"Seated: Alice (?!,)", look(client, "/").text)


def test_a_listed_game_that_runs_can_be_looked_at(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(), bots=("greedy", "greedy"), listed=True)
    assert f"/g/{game_id}" in look(client, "/").html


# ---- a fresh link ----


def test_the_answer_to_a_dead_link_is_always_the_same(client: FlaskClient) -> None:
    game_id, host = invited(NOW)
    bob = token("invite", BOB, game_id, NOW)
    invitations.drop(host, 1, NOW)
    texts = [host, bob, "a" * 26, "", "x" * 5000, "\0", "é"]
    answers = [client.post("/link", data={"token": text}) for text in texts]
    assert {(answer.status_code, answer.data, str(answer.headers)) for answer in answers} == {
        (200, answers[0].data, str(answers[0].headers))
    }
    assert [mail.kind for mail in mails("fresh")] == ["fresh"]


def test_the_page_of_a_dead_link_offers_a_fresh_one(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(), bots=("greedy", "greedy"))
    dead = token("seat", ALICE, game_id, NOW)
    alice = person(ALICE, NOW)
    with engine.transaction() as session:
        links.revoke(session, alice, game_id, NOW)
    answer = client.get(f"/t/{dead}")
    assert answer.status_code == 404
    action, filled = form(read(answer), token=dead)
    assert action == "/link"
    assert client.post(action, data=filled).status_code == 200
    assert len(mails("fresh", ALICE)) == 1


def test_looking_changes_nothing(client: FlaskClient, table: Callable[..., Table]) -> None:
    game = table(3)
    other, host = invited(NOW, listed=True, organiser=BOB, players=(ALICE,), free=1)
    dead = "a" * 26
    login.mail_sign_in("alice@example.org", engine.utc_now())
    [signin] = mails("signin")
    paths = [
        "/", "/new", "/asked", "/sign-in", "/account", "/m/", f"/m/{game.id}", f"/join/{other}",
        f"/s/{sign_in_token(signin)}",
        f"/o/{host}", f"/i/{token('invite', ALICE, other, NOW)}", f"/u/{token('stop', ALICE, game.id, NOW)}",
        f"/o/{dead}", f"/i/{dead}", f"/u/{dead}", f"/s/{dead}", "/link", "/sign-out",
    ]  # fmt: skip
    before = everything()
    for _ in range(3):
        for path in paths:
            for method in (client.get, client.head, client.options):
                assert method(path).status_code in (200, 302, 303, 404, 405)
    sign = client.application.test_client()
    assert everything() == before
    sign_in(sign, "bob@example.org")
    before = everything()
    for path in paths:
        sign.get(path)
        sign.head(path)
    assert everything() == before


def test_a_game_set_aside_is_not_shown_to_strangers(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(), bots=("greedy", "greedy"), listed=True)
    with engine.transaction() as session:
        session.get_one(Game, game_id).quarantine = quoted("a fault")
    assert game_id not in look(client, "/").html
