"""The invitation page, the organiser's page and open seats: every button, and what each refuses."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask.testing import FlaskClient

from server.lobby import create, invitations, organiser
from server.store import engine
from server.validation import Guest
from tests.conftest import NOW
from tests.support.forms import form, send, sign_in
from tests.support.invitations import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    everything,
    game_of,
    invited,
    known,
    mails,
    seats_of,
    token,
    wish,
)
from tests.support.pages import look, read


@pytest.fixture
def bare(client: FlaskClient) -> FlaskClient:
    """Return the browser of an email app, which keeps no cookies."""
    return client.application.test_client(use_cookies=False)


# ---- invited ----


def test_it_shows_the_table_and_the_commitment(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    page = look(bare, f"/i/{token('invite', BOB, game_id, NOW)}")
    assert page.status == 200
    assert game_of(game_id).commitment in page.text
    assert game_of(game_id).seed not in page.html
    assert "Alice invites you" in page.text
    assert "Once the game starts, all cuts are permanently public." in page.text
    _action, filled = form(page, answer="accept")
    assert filled["name"] == "Bob"
    assert len(filled["cut"].split()) == 6


def test_two_presses_and_the_last_one_comes_to_the_table(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    bob, charlie = (f"/i/{token('invite', guest, game_id, NOW)}" for guest in (BOB, CHARLIE))
    answer = send(bare, bob, {"name": "Bobby", "cut": " my own words "}, answer="accept")
    assert (answer.status_code, answer.headers["Location"]) == (303, bob)
    assert seats_of(game_id)[1].cut == " my own words "
    assert "You have a seat, Bobby" in look(bare, bob).text
    answer = send(bare, charlie, answer="accept")
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', CHARLIE, game_id, NOW)}"
    assert game_of(game_id).status == "running"
    page = look(bare, bob)
    assert "has started" in page.text
    assert token("seat", BOB, game_id, NOW) not in page.html


def test_declining_and_coming_back(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    bob = f"/i/{token('invite', BOB, game_id, NOW)}"
    assert send(bare, bob, answer="decline").status_code == 303
    assert seats_of(game_id)[1].status == "declined"
    assert "You have declined" in look(bare, bob).text
    assert send(bare, bob, answer="accept").status_code == 303
    assert send(bare, bob, answer="decline").status_code == 303
    assert [seat.status for seat in seats_of(game_id)] == ["seated", "declined", "invited"]


MISTAKES = [
    ({"name": ""}, "name-wrong"),
    ({"name": "alice"}, "name-wrong"),
    ({"name": "www.evil.example"}, "name-wrong"),
    ({"name": "x\r\nBcc: y@z.org"}, "name-wrong"),
    ({"cut": "x" * 65}, "cut-wrong"),
    ({"cut": "two\nlines"}, "cut-wrong"),
]


def test_a_mistake_is_named_and_the_fields_are_kept(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    bob = f"/i/{token('invite', BOB, game_id, NOW)}"
    before = everything()
    for typed, wrong in MISTAKES:
        page = read(send(bare, bob, {"name": "Bobby", "cut": "words"} | typed, answer="accept"))
        assert page.status == 422
        assert f'id="{wrong}"' in page.html
        assert everything() == before
        _action, kept = form(page, answer="accept")
        assert kept["cut" if "name" in typed else "name"] == ("words" if "name" in typed else "Bobby")


NO_ANSWERS = [{}, {"answer": ""}, {"answer": "perhaps"}]


def test_an_answer_that_is_none_is_a_bad_request(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    bob = f"/i/{token('invite', BOB, game_id, NOW)}"
    before = everything()
    for sent in NO_ANSWERS:
        assert read(bare.post(bob, data=sent)).status == 400
        assert everything() == before


def test_a_seat_given_up_says_so(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    bob = f"/i/{token('invite', BOB, game_id, NOW)}"
    organiser.drop(host, 1, NOW)
    assert "no longer reserved" in look(bare, bob).text
    page = read(bare.post(bob, data={"answer": "accept", "name": "Bob"}))
    assert page.status == 409
    assert "no longer reserved" in page.text


def test_a_cancelled_or_finished_invitation_offers_no_seat(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    bob = f"/i/{token('invite', BOB, game_id, NOW)}"
    organiser.cancel(host, NOW)
    page = look(bare, bob)
    assert "called off" in page.text
    assert "accept" not in page.html
    assert read(bare.post(bob, data={"answer": "accept", "name": "Bob"})).status == 409


@pytest.mark.parametrize("path", ["/i/", "/o/"])
def test_an_unknown_link_offers_a_fresh_one(path: str, bare: FlaskClient) -> None:
    before = everything()
    for dead in ("a" * 26, "x", "é", "a" * 3000):
        for answer in (
            bare.get(path + dead),
            bare.post(path + dead, data={"answer": "decline", "do": "cancel"}),
        ):
            assert answer.status_code == 404
            assert 'action="/link"' in answer.text
    assert everything() == before


def test_one_link_does_not_open_the_other_page(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    bob = token("invite", BOB, game_id, NOW)
    assert look(bare, f"/o/{bob}").status == 404
    assert look(bare, f"/i/{host}").status == 404
    assert look(bare, f"/u/{host}").status == 404


# ---- the organiser ----


def test_the_organiser_confirms_with_his_cut(bare: FlaskClient) -> None:
    game_id = create.create_game(wish(), NOW)
    page = f"/o/{token('organise', ALICE, game_id, NOW)}"
    assert game_of(game_id).commitment in look(bare, page).text
    assert read(send(bare, page, {"cut": "x" * 65}, do="confirm")).status == 422
    assert send(bare, page, {"cut": "mine"}, do="confirm").status_code == 303
    assert seats_of(game_id)[0].cut == "mine"
    assert len(mails("invite")) == 2
    assert "no answer yet" in look(bare, page).text or "on its way" in look(bare, page).text


def test_a_game_against_bots_leads_straight_to_the_table(bare: FlaskClient) -> None:
    game_id = create.create_game(wish(players=(), bots=("greedy", "greedy")), NOW)
    answer = send(bare, f"/o/{token('organise', ALICE, game_id, NOW)}", do="confirm")
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', ALICE, game_id, NOW)}"
    assert bare.get(answer.headers["Location"]).status_code == 200


def test_every_button_of_the_organiser_works(bare: FlaskClient) -> None:
    game_id, host = invited(NOW - timedelta(days=2), players=(BOB, CHARLIE, DAPHNE))
    page = f"/o/{host}"
    assert send(bare, page, do="remind", seat="1").status_code == 303
    assert len(mails("nudge", BOB)) == 1
    assert send(bare, page, do="drop", seat="2").status_code == 303
    assert (
        send(bare, page, {"guest": "Eirene <eirene@example.org>"}, do="invite", seat="2").status_code == 303
    )
    assert seats_of(game_id)[2].name == "Eirene"
    assert send(bare, page, {"bot": "random"}, do="fill", seat="2").status_code == 303
    assert seats_of(game_id)[2].bot == "random"
    assert send(bare, page, do="list").status_code == 303
    assert game_of(game_id).listed
    assert send(bare, page, do="unlist").status_code == 303
    assert not game_of(game_id).listed
    invitations.accept(token("invite", DAPHNE, game_id, NOW), "Daphne", "", NOW)
    answer = send(bare, page, do="start")
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', ALICE, game_id, NOW)}"
    assert [seat.name for seat in seats_of(game_id)] == ["Alice", "Random bot", "Daphne"]
    assert "has started" in look(bare, page).text


def test_cancelling_ends_it(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    assert send(bare, f"/o/{host}", do="cancel").status_code == 303
    assert game_of(game_id).status == "cancelled"
    page = look(bare, f"/o/{host}")
    assert "called this game off" in page.text
    assert page.html.count("<form") == page.html.count('<form class="languages"')


CANNOT_BE = [
    ({}, 400),
    ({"do": "burn"}, 400),
    ({"do": "drop", "seat": "-1"}, 400),
    ({"do": "drop", "seat": "1; drop"}, 400),
    ({"do": "drop", "seat": "٣"}, 400),
    ({"do": "drop", "seat": "9"}, 409),
    ({"do": "remind", "seat": "0"}, 409),
    ({"do": "remind", "seat": "1"}, 429),
    ({"do": "invite", "seat": "1", "guest": "nobody"}, 422),
    ({"do": "invite", "seat": "1"}, 422),
    ({"do": "invite", "seat": "1", "guest": "charlie@example.org"}, 422),
    ({"do": "fill", "seat": "1"}, 422),
    ({"do": "fill", "seat": "1", "bot": "clever"}, 422),
    ({"do": "fill", "seat": "0", "bot": "greedy"}, 409),
    ({"do": "start"}, 422),
]


def test_what_cannot_be_is_refused_in_words(bare: FlaskClient) -> None:
    _game_id, host = invited(engine.utc_now())
    before = everything()
    for sent, status in CANNOT_BE:
        page = read(bare.post(f"/o/{host}", data=sent))
        assert page.status == status
        assert everything() == before
        assert status == 400 or 'role="alert"' in page.html or 'action="/link"' in page.html


def test_a_refused_mail_is_shown_to_the_organiser(bare: FlaskClient) -> None:
    _game_id, host = invited(NOW)
    with engine.transaction() as session:
        for mail in mails("invite", BOB):
            session.merge(mail).status = "failed"
    assert "email rejected" in look(bare, f"/o/{host}").text


def test_the_organiser_sees_and_mends_the_name_somebody_typed_for_him(bare: FlaskClient) -> None:
    stranger = Guest("You have won", ALICE.address)
    game_id = create.create_game(wish(organiser=stranger, plays=False, bots=("greedy",)), NOW)
    page = f"/o/{token('organise', ALICE, game_id, NOW)}"
    assert form(look(bare, page), do="confirm")[1]["name"] == "You have won"
    refused = read(send(bare, page, {"name": "www.evil.example"}, do="confirm"))
    assert refused.status == 422
    assert 'id="name-wrong"' in refused.html
    assert send(bare, page, {"name": "Alice of Galata"}, do="confirm").status_code == 303
    assert "Alice of Galata invites you" in look(bare, f"/i/{token('invite', BOB, game_id, NOW)}").text


def test_a_name_of_one_s_own_is_offered_before_that_of_a_friend(bare: FlaskClient) -> None:
    bobby = Guest("Bobby", BOB.address)
    pages = [token("invite", BOB, invited(NOW, players=(bobby, CHARLIE))[0], NOW) for _ in range(2)]
    assert form(look(bare, f"/i/{pages[0]}"), answer="accept")[1]["name"] == "Bobby"
    invitations.accept(pages[0], "Robert", "", NOW)
    assert form(look(bare, f"/i/{pages[1]}"), answer="accept")[1]["name"] == "Robert"


# ---- a free seat ----


def test_a_signed_in_stranger_takes_a_free_seat(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    path = f"/join/{game_id}"
    assert "Email me a sign-in link" in look(client, path).text
    known(DAPHNE, NOW)
    sign_in(client, "daphne@example.org")
    assert game_of(game_id).commitment in look(client, path).text
    assert read(send(client, path, {"name": "Alice"})).status == 422
    assert send(client, path, {"cut": "d"}).headers["Location"] == "/"
    assert [seat.name for seat in seats_of(game_id)] == ["Alice", "Bob", "Greedy bot", "Daphne"]
    assert "You already have a seat at this table" in look(client, path).text


def test_the_last_free_seat_leads_to_the_table(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(), bots=("greedy",), listed=True, free=1)
    known(DAPHNE, NOW)
    sign_in(client, "daphne@example.org")
    answer = send(client, f"/join/{game_id}")
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', DAPHNE, game_id, NOW)}"


def test_a_seat_is_not_taken_without_the_page_s_own_form(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    known(DAPHNE, NOW)
    sign_in(client, "daphne@example.org")
    before = everything()
    assert read(client.post(f"/join/{game_id}", data={"name": "Daphne", "cut": ""})).status == 400
    assert everything() == before


def test_only_listed_games_have_such_a_page(client: FlaskClient) -> None:
    hidden, _host = invited(NOW)
    asked = create.create_game(wish(listed=True, free=1), NOW)
    for game_id in (hidden, asked, "nothing", "a%00b", "é", "x" * 300):
        assert client.get(f"/join/{game_id}").status_code == 404
