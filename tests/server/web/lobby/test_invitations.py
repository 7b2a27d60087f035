"""The invitation page, the organiser's page and open seats: every button, and what each refuses."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from server.lobby import create, invitations, notify
from server.lobby.settings import TimeControl
from server.store import engine
from server.store.models import Alert, Game, Person
from server.validation import Guest
from tests.conftest import NOW
from tests.support.lobby import (
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
from tests.support.mails import html_of, send_waiting, text_of
from tests.support.pages import Page, form, look, read, send, sign_in, sign_in_token

NEWCOMER = Guest("New Comer", "new.comer@example.org")


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
    assert "Bob you, declined" in look(bare, bob).text
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
    invitations.drop(host, 1, NOW)
    assert "no longer reserved" in look(bare, bob).text
    page = read(bare.post(bob, data={"answer": "accept", "name": "Bob"}))
    assert page.status == 409
    assert "no longer reserved" in page.text


def test_a_cancelled_or_finished_invitation_offers_no_seat(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    bob = f"/i/{token('invite', BOB, game_id, NOW)}"
    invitations.cancel(host, NOW)
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
    assert [seat.cut for seat in seats_of(game_id) if seat.stored_name == "Alice"] == ["mine"]
    assert len(mails("invite")) == 2
    assert "Bob invited since" in look(bare, page).text


def test_a_game_against_bots_leads_straight_to_the_table(bare: FlaskClient) -> None:
    game_id = create.create_game(wish(players=(), bots=("greedy", "greedy")), NOW)
    answer = send(bare, f"/o/{token('organise', ALICE, game_id, NOW)}", do="confirm")
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', ALICE, game_id, NOW)}"
    assert bare.get(answer.headers["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("given", "heading", "button"),
    [
        ({}, "Ready to invite?", "Take my seat and send the invitations"),
        ({"plays": False, "players": (BOB, CHARLIE, DAPHNE)}, "Ready to invite?", "Send the invitations"),
        (
            {"players": (), "free": 2, "listed": True},
            "Ready to open the table?",
            "Take my seat and open the table",
        ),
        ({"players": (), "bots": ("greedy",) * 2}, "Ready to start?", "Take my seat and start"),
    ],
)
def test_the_button_says_what_it_does(
    bare: FlaskClient, given: dict[str, Any], heading: str, button: str
) -> None:
    game_id = create.create_game(wish(**given), NOW)
    page = look(bare, f"/o/{token('organise', ALICE, game_id, NOW)}")
    assert heading in page.text
    assert button in ["".join(item.itertext()) for item in page.root.iter("button")]
    assert ("invit" in page.text.replace("invited", "")) is (heading == "Ready to invite?")


def test_a_folded_choice_says_what_was_chosen(bare: FlaskClient) -> None:
    _, host = invited(NOW)
    for do, says in (("go-on", "The next game offered automatically"), ("hush", "Table talk closed")):
        assert says not in look(bare, f"/o/{host}").text
        assert send(bare, f"/o/{host}", do=do).status_code == 303
        assert says in look(bare, f"/o/{host}").text


def test_every_button_of_the_organiser_works(bare: FlaskClient) -> None:
    game_id, host = invited(NOW - timedelta(days=2), players=(BOB, CHARLIE, DAPHNE))
    page = f"/o/{host}"
    [bob] = [place for place in look(bare, page).root.iter("li") if "Bob" in "".join(place.itertext())]
    assert "Remind" in "".join(bob.itertext())
    reminded = send(bare, page, do="remind", seat="1")
    assert len(mails("nudge", BOB)) == 1
    told = look(bare, reminded.location)
    assert "A reminder is on its way to Bob." in told.text
    [bob] = [place for place in told.root.iter("li") if "Bob" in "".join(place.itertext())]
    assert "Remind" not in "".join(bob.itertext())
    assert send(bare, page, do="drop", seat="2").status_code == 303
    assert (
        send(bare, page, {"guest": "Eirene <eirene@example.org>"}, do="invite", seat="2").status_code == 303
    )
    assert seats_of(game_id)[2].stored_name == "Eirene"
    assert send(bare, page, {"bot": "random"}, do="fill", seat="2").status_code == 303
    assert seats_of(game_id)[2].bot == "random"
    assert send(bare, page, do="list").status_code == 303
    assert game_of(game_id).listed
    assert send(bare, page, do="unlist").status_code == 303
    assert not game_of(game_id).listed
    assert send(bare, page, do="hush").status_code == 303
    assert not game_of(game_id).talk
    assert send(bare, page, do="talk").status_code == 303
    assert game_of(game_id).talk
    invitations.accept(token("invite", DAPHNE, game_id, NOW), "Daphne", "", NOW)
    answer = send(bare, page, do="start")
    assert answer.headers["Location"] == f"https://byzanz.test/t/{token('seat', ALICE, game_id, NOW)}"
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Leontios", "Daphne"]
    begun = look(bare, page)
    assert "has started" in begun.text
    own = next(form for form in begun.root.iter("form") if form.get("id") == "own")
    fields = {field.get("name", ""): field.get("value", "") for field in own.iter("input")}
    assert fields["to"] == "seat"
    assert bare.post(own.get("action", ""), data=fields).status_code == 200
    assert len(mails("fresh", ALICE)) == 1
    assert send(bare, page, do="hush").status_code == 303
    assert not game_of(game_id).talk
    assert bare.post(page, data={"do": "talk"}).status_code == 409  # a moderator may have closed it
    assert not game_of(game_id).talk


def test_the_organiser_changes_the_time_control(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    page = f"/o/{host}"
    chosen = {"do": "pace", "allowance": "172800", "bank": "345600", "day_6": "off", "day_7": "off"}
    assert bare.post(page, data=chosen).status_code == 303
    game = game_of(game_id)
    assert (game.allowance, game.bank, game.days_off) == (172800, 345600, "67")
    said = "2 days per move, plus a time bank of 4 days; weekends off"
    assert said in look(bare, page).text
    assert said in look(bare, f"/i/{token('invite', BOB, game_id, NOW)}").text
    form = look(bare, page).html.partition('value="pace"')[2].partition("</form>")[0]
    assert re.findall(r'value="(\w+)" (?:selected|checked)', form) == ["172800", "345600", "off", "off"]
    invitations.accept(token("invite", BOB, game_id, NOW), "Bob", "", NOW)
    assert said in look(bare, f"/t/{token('seat', BOB, game_id, NOW)}").text
    refused = read(send(bare, page, {"allowance": "3600"}, do="pace"))
    assert refused.status == 409
    assert "Bob has accepted this time control." in refused.text
    assert "<details open>" in refused.html
    assert '<option value="3600" selected>' in refused.html


def test_a_time_control_of_the_command_line_is_kept_by_the_form(bare: FlaskClient) -> None:
    game_id, host = invited(NOW, time_control=TimeControl(5400, 7200))
    form = look(bare, f"/o/{host}").html.partition('value="pace"')[2].partition("</form>")[0]
    assert re.findall(r'value="(\w+)" selected', form) == ["5400", "7200"]
    assert game_of(game_id).allowance == 5400


def test_cancelling_ends_it(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    assert send(bare, f"/o/{host}", do="cancel").status_code == 303
    assert game_of(game_id).status == "cancelled"
    page = look(bare, f"/o/{host}")
    assert "This game was called off." in page.text
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
    ({"do": "pace", "allowance": "1"}, 422),
    ({"do": "pace", "allowance": "x"}, 422),
    ({"do": "pace", "pace": "never"}, 422),
    ({"do": "pace", "bank": "9999999"}, 422),
    ({"do": "pace", **{f"day_{day}": "off" for day in "123456"}}, 422),
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
    page = look(bare, f"/o/{host}").text
    assert "email rejected" in page
    assert "The game starts when Charlie accepts." not in page
    assert "Charlie has not answered yet. The game starts once every seat is taken." in page


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


def test_the_name_at_a_table_is_no_new_name_of_the_account(bare: FlaskClient) -> None:
    pages = [token("invite", BOB, invited(NOW, players=(BOB, CHARLIE))[0], NOW) for _ in range(2)]
    for page, name in zip(pages, ("Robert", "The Sultan"), strict=True):
        assert send(bare, f"/i/{page}", {"name": name}, answer="accept").status_code == 303
        assert account_name(BOB) == "Robert"  # the first one, for he had none
        assert name in look(bare, f"/i/{page}").text


def test_a_name_typed_for_a_free_seat_is_the_account_s_if_it_has_none(client: FlaskClient) -> None:
    known(DAPHNE, NOW)
    sign_in(client, DAPHNE.address)
    for name in ("Daphne of Pera", "The Nymph"):
        game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
        assert send(client, f"/join/{game_id}", {"name": name}).status_code == 303
        assert name in [seat.stored_name for seat in seats_of(game_id)]
        assert account_name(DAPHNE) == "Daphne of Pera"


def test_invitations_come_from_the_organisers_name_at_the_table(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    rename_person(ALICE, "Alice Smith")
    page = look(bare, f"/i/{token('invite', BOB, game_id, NOW)}").text
    told = [text_of(mail) for mail in send_waiting(NOW) if mail["To"].addresses[0].addr_spec == BOB.address]
    assert told
    for text in (page, *told):
        assert "Alice invites you" in text
        assert "Smith" not in text


def rename_person(guest: Guest, name: str) -> None:
    """Give somebody's account a name of its own."""
    with engine.transaction() as session:
        session.scalars(select(Person).where(Person.email == guest.address)).one().name = name


def account_name(guest: Guest) -> str:
    """Return the name that somebody's account has."""
    with engine.reading() as session:
        return session.scalars(select(Person.name).where(Person.email == guest.address)).one()


# ---- a free seat ----


def test_a_signed_in_stranger_takes_a_free_seat(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    path = f"/join/{game_id}"
    assert "Take a seat Your email address No password needed" in look(client, path).text
    known(DAPHNE, NOW)
    sign_in(client, "daphne@example.org")
    assert game_of(game_id).commitment in look(client, path).text
    assert read(send(client, path, {"name": "Alice"})).status == 422
    assert send(client, path, {"cut": "d"}).headers["Location"] == path
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Bob", "Theodora", "Daphne"]
    assert "You have a seat at this table" in look(client, path).text
    assert f'<a href="{path}"' in look(client, "/").html.partition("</section>")[0]


def test_a_newcomer_signs_in_and_comes_back_to_the_free_seat(client: FlaskClient) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    typed = Guest("You have won", NEWCOMER.address)
    create.create_game(wish(organiser=typed, name="Elsewhere"), NOW)
    page = f"/join/{game_id}"
    assert read(send(client, page, {"address": "nobody"})).status == 422
    assert "leads you back to the table" in read(send(client, page, {"address": NEWCOMER.address})).text
    (mail,) = mails("signin", NEWCOMER)
    answer = send(client, f"/s/{sign_in_token(mail)}")
    assert answer.headers["Location"] == f"/join/{game_id}"
    assert send(client, f"/join/{game_id}").status_code == 303
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Bob", "Theodora", "New Comer"]


def test_newcomers_and_invitations_share_the_limit_of_an_hour(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = engine.utc_now()
    known(DAPHNE, now)
    game_id, _host = invited(now, players=(BOB,), bots=("greedy",), listed=True, free=1)
    invited(now - timedelta(minutes=61), players=(BOB, CHARLIE))  # no longer counts
    page = f"/join/{game_id}"
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 3)  # Bob's invitation, and two newcomers
    for number in range(2):
        assert read(send(client, page, {"address": f"new{number}@example.org"})).status == 200
    for guest in (NEWCOMER, DAPHNE):  # the same answer for an address that is known
        answer = read(send(client, page, {"address": guest.address}))
        assert (answer.status, "Too many newcomers have asked for a link." in answer.text) == (429, True)
        assert mails("signin", guest) == []
    with engine.reading() as session:
        assert [alert.text.code for alert in session.scalars(select(Alert))] == ["many_invitations"]
        assert session.scalar(select(Person).where(Person.email == NEWCOMER.address)) is None
    send(client, "/sign-in", {"address": DAPHNE.address})
    assert len(mails("signin", DAPHNE)) == 1


def test_sign_in_links_of_people_who_have_played_do_not_count_as_newcomers(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    daphne = known(DAPHNE, NOW)
    with engine.transaction() as session:
        session.get_one(Person, daphne).accepted = True
    game_id, _host = invited(NOW, players=(), bots=("greedy",), listed=True, free=1)
    monkeypatch.setattr(notify, "INVITATIONS_AN_HOUR", 1)
    for _ in range(2):
        assert read(send(client, f"/join/{game_id}", {"address": DAPHNE.address})).status == 200
    assert len(mails("signin", DAPHNE)) == 2


@pytest.mark.parametrize("change", [{"status": "running"}, {"listed": False}])
def test_only_a_table_with_free_seats_signs_newcomers_in(client: FlaskClient, change: dict[str, Any]) -> None:
    game_id, _host = invited(NOW, players=(BOB,), bots=("greedy",), listed=True, free=1)
    action, filled = form(look(client, f"/join/{game_id}"))
    with engine.transaction() as session:
        for name, value in change.items():
            setattr(session.get_one(Game, game_id), name, value)
    answer = client.post(action or "", data=filled | {"address": NEWCOMER.address})
    assert answer.status_code == (200 if "status" in change else 404)
    assert mails("signin", NEWCOMER) == []


def test_the_organiser_of_a_listed_table_finds_the_link_to_its_free_seats(bare: FlaskClient) -> None:
    for free in (0, 1):
        game_id, host = invited(NOW, listed=True, free=free)
        assert (f">https://byzanz.test/join/{game_id}</a>" in look(bare, f"/o/{host}").html) == bool(free)


def main_form(page: Page) -> dict[str, str | None]:
    """Return the fields of the form with the page's primary button."""
    [found] = [
        form for form in page.root.iter("form") if form.find(".//button[@class='button primary']") is not None
    ]
    return {field.get("name", ""): field.get("value") for field in found.iter("input")}


def test_the_main_button_invites_somebody_to_the_next_open_seat(bare: FlaskClient) -> None:
    game_id, host = invited(NOW, listed=True, free=1)
    invitations.decline(token("invite", BOB, game_id, NOW), NOW)
    for number, name in (
        (3, "Daphne"),
        (1, "Eve"),
    ):  # the free seat first, then that of somebody who has declined
        assert main_form(look(bare, f"/o/{host}"))["seat"] == str(number)
        fields = {"do": "invite", "seat": str(number), "guest_name": name, "guest": "nobody"}
        shown = main_form(read(bare.post(f"/o/{host}", data=fields)))
        assert shown.pop("request_id")
        assert shown == fields
        fields["guest"] = f"{name.lower()}@example.org"
        assert bare.post(f"/o/{host}", data=fields).status_code == 303
        assert (seats_of(game_id)[number].stored_name, seats_of(game_id)[number].status) == (name, "invited")
    assert 'class="button primary"' not in look(bare, f"/o/{host}").html


def test_a_guest_may_be_typed_as_an_address_alone_or_with_a_name_in_either_field(bare: FlaskClient) -> None:
    game_id, host = invited(NOW, players=(BOB, CHARLIE, DAPHNE))
    typed = [
        ("", "theo.doros@example.org", "Theo Doros"),
        ("Theo", "eve@example.org", "Theo"),
        ("Theo", "Zoe <zoe@example.org>", "Zoe"),
    ]
    for seat, (name, address, named) in enumerate(typed, 1):
        fields = {"do": "invite", "seat": str(seat), "guest_name": name, "guest": address}
        assert bare.post(f"/o/{host}", data=fields).status_code == 303
        assert seats_of(game_id)[seat].stored_name == named
    fields = {"do": "invite", "seat": "1", "guest_name": "www.evil.example", "guest": "z@example.org"}
    refused = read(bare.post(f"/o/{host}", data=fields))
    assert refused.status == 422
    assert 'id="guest-wrong"' in refused.html


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


# ---- the invitation at a glance ----


def zone_of(guest: Guest) -> str | None:
    with engine.reading() as session:
        return session.query(Person).filter_by(email=guest.address).one().time_zone


LINE = 'Bring <b>olives</b>, & no "mercy"'


def test_the_hosts_line_is_in_the_invitation_and_nowhere_public(bare: FlaskClient) -> None:
    game_id, host = invited(NOW, message=LINE, listed=True, free=1)
    page = look(bare, f"/i/{token('invite', BOB, game_id, NOW)}")
    assert LINE in page.text
    assert LINE not in page.html
    for path in (f"/join/{game_id}", f"/g/{game_id}", "/"):
        assert "olives" not in look(bare, path).html
    sent = [message for message in send_waiting(NOW) if BOB.address in str(message["To"])]
    assert [f"“{LINE}” – Alice" in text_of(message) for message in sent] == [True]
    assert "Bring &lt;b&gt;olives" in html_of(sent[0])
    invitations.drop(host, 1, NOW)
    assert "olives" not in look(bare, f"/i/{token('invite', BOB, game_id, NOW)}").html


def test_a_line_typed_by_a_stranger_reaches_nobody_before_the_host_has_seen_it(bare: FlaskClient) -> None:
    game_id = create.create_game(wish(message="You have won"), NOW)
    assert not any("You have won" in str(message) for message in send_waiting(NOW))
    page = f"/o/{token('organise', ALICE, game_id, NOW)}"
    assert form(look(bare, page), do="confirm")[1]["message"] == "You have won"
    for bad in ("see www.evil.example", "x" * 201, "a\u202eb", "mail me@x.org"):
        refused = read(send(bare, page, {"message": bad}, do="confirm"))
        assert (refused.status, 'id="message-wrong"' in refused.html) == (422, True)
    assert send(bare, page, {"message": " Hello \t again "}, do="confirm").status_code == 303
    assert game_of(game_id).message == "Hello again"


def test_the_seats_are_shuffled_by_default_where_people_are_invited(bare: FlaskClient) -> None:
    game_id = create.create_game(wish(), NOW)
    page = look(bare, f"/o/{token('organise', ALICE, game_id, NOW)}")
    assert form(page, do="confirm")[1]["shuffle"] == "yes"
    alone = create.create_game(wish(players=(), bots=("random", "random")), NOW)
    page = look(bare, f"/o/{token('organise', ALICE, alone, NOW)}")
    assert "shuffle" not in form(page, do="confirm")[1]
    assert "Alice you" in page.text


def test_the_browsers_time_zone_is_proposed_and_kept_unless_one_was_chosen(bare: FlaskClient) -> None:
    game_id = create.create_game(wish(), NOW)
    host, bob = f"/o/{token('organise', ALICE, game_id, NOW)}", f"/i/{token('invite', BOB, game_id, NOW)}"
    assert "zone.js" in look(bare, host).html
    assert send(bare, host, {"time_zone": "Asia/Tokyo"}, do="confirm").status_code == 303
    assert "zone.js" in look(bare, bob).html
    wrong = read(send(bare, bob, {"time_zone": "Mars"}, answer="accept"))
    assert (wrong.status, 'id="time_zone-wrong"' in wrong.html) == (422, True)
    send(bare, bob, {"time_zone": "America/New_York"}, answer="accept")
    assert [zone_of(guest) for guest in (ALICE, BOB, CHARLIE)] == ["Asia/Tokyo", "America/New_York", None]
    another, _host = invited(NOW, name="Another")
    page = look(bare, f"/i/{token('invite', BOB, another, NOW)}")
    assert ("zone.js" in page.html, 'name="time_zone"' in page.html) == (False, False)
    bare.post(
        f"/i/{token('invite', BOB, another, NOW)}",
        data={"answer": "accept", "name": "Bob", "time_zone": "Europe/Oslo"},
    )
    assert zone_of(BOB) == "America/New_York"


def hours_of(guest: Guest) -> tuple[str | None, int | None, int | None]:
    with engine.reading() as session:
        person = session.query(Person).filter_by(email=guest.address).one()
        return person.time_zone, person.quiet_from, person.quiet_to


NIGHT = {"time_zone": "Europe/Oslo", "quiet_from": "23:00", "quiet_to": "07:00"}


def test_quiet_hours_are_chosen_with_the_seat_and_kept(client: FlaskClient) -> None:
    game_id = create.create_game(wish(players=(BOB,), free=1, listed=True), NOW)
    host, bob = f"/o/{token('organise', ALICE, game_id, NOW)}", f"/i/{token('invite', BOB, game_id, NOW)}"
    known(DAPHNE, NOW)
    send(client, host, NIGHT, do="confirm")
    short = read(send(client, bob, NIGHT | {"quiet_to": ""}, answer="accept"))
    assert (short.status, 'id="quiet_to-wrong"' in short.html) == (422, True)
    send(client, bob, NIGHT, answer="accept")
    sign_in(client, "daphne@example.org")
    send(client, f"/join/{game_id}", NIGHT)
    assert [hours_of(guest) for guest in (ALICE, BOB, DAPHNE)] == [("Europe/Oslo", 1380, 420)] * 3
    another, _host = invited(NOW, name="Another")
    page = look(client, f"/i/{token('invite', BOB, another, NOW)}")
    assert "Your quiet hours, 23:00 to 07:00, do not count towards your time." in page.text
    assert "quiet_from" not in page.html
    fields = {"answer": "accept", "name": "Bob", "quiet_from": "22:00", "quiet_to": "06:00"}
    assert client.post(f"/i/{token('invite', BOB, another, NOW)}", data=fields).status_code == 303
    assert hours_of(BOB) == ("Europe/Oslo", 1380, 420)


def test_a_missed_deadline_and_the_cut_are_explained_below_the_button(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW, free=1, listed=True)
    for path in (f"/i/{token('invite', BOB, game_id, NOW)}", f"/join/{game_id}"):
        text = look(bare, path).text
        button = max(text.find("Take the seat"), text.find("Email me the link"))
        folded = max(text.find("Your cut of the deck"), text.find("What you can verify"))
        assert (
            -1
            < text.find("1 day per move")
            < text.find("once every seat is taken")
            < text.find("Free seat")
            < button
        ), path
        assert button < text.find("If you do not answer in time, the server makes a safe move") < folded, path


def test_the_organiser_reads_first_who_has_not_answered(bare: FlaskClient) -> None:
    game_id, host = invited(NOW)
    assert send(bare, f"/o/{host}", do="drop", seat="2").status_code == 303
    text = look(bare, f"/o/{host}").text
    assert -1 < text.find("Bob has not answered yet.") < text.find("Invite someone")
    assert "Fill the free seats with bots" not in text  # one is seated at the seat itself
    assert bare.post(f"/o/{host}", data={"do": "list"}).status_code == 303
    assert f"/join/{game_id}" in look(bare, f"/o/{host}").html


def test_the_invitation_says_how_long_the_game_takes(bare: FlaskClient) -> None:
    game_id, _host = invited(NOW)
    words = re.compile(r"about [\d–]+ weeks, 30 moves each")
    assert words.search(look(bare, f"/i/{token('invite', BOB, game_id, NOW)}").text)
    assert all(
        words.search(text_of(message)) for message in send_waiting(NOW) if BOB.address in str(message["To"])
    )


def test_what_helps_a_declined_seat_is_in_view_with_a_medium_bot(bare: FlaskClient) -> None:
    game_id, host = invited(NOW, players=(BOB, CHARLIE, DAPHNE))
    invitations.decline(token("invite", BOB, game_id, NOW), NOW)
    page = look(bare, f"/o/{host}")
    folded = {item for fold in page.root.iter("details") for item in fold.iter("form")}
    shown = {
        (item.find("input[@name='do']").get("value"), item.find("input[@name='seat']").get("value"))  # type: ignore[union-attr]
        for item in page.root.iter("form")
        if item not in folded and item.find("input[@name='seat']") is not None
    }
    of_bob = {(do, "1") for do in ("invite", "again", "fill", "remove")}
    assert shown == of_bob | {("remind", "2"), ("remind", "3")}
    assert form(page, do="fill", seat="1")[1]["bot"] == "greedy"
    assert send(bare, f"/o/{host}", do="again", seat="1").status_code == 303
    assert seats_of(game_id)[1].status == "invited"
    invitations.decline(token("invite", BOB, game_id, NOW), NOW)
    assert send(bare, f"/o/{host}", do="remove", seat="1").status_code == 303
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Charlie", "Daphne"]
