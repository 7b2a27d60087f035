"""Playing at once: two clicks to the first card, the guide, keeping the game, and what a scanner cannot do."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from byzanz.games import latest
from server.lobby import visitors
from server.mail.outgoing.deliver import deliver
from server.play import moderate
from server.store import engine
from server.store.models import Game
from server.validation import Guest
from tests.conftest import NOW
from tests.support.games import outsider
from tests.support.lobby import everything, known, mails
from tests.support.mail_servers import FakeMailer
from tests.support.mails import text_of
from tests.support.pages import sign_in

SLUGS = [rules.slug for rules in latest()]
ANN = "ann@example.org"


def play(client: FlaskClient, slug: str = "byzanz", **more: Any) -> str:
    """Press the button of a game; return the address of the table."""
    answer = client.post("/play", data={"game": slug}, **more)
    assert answer.status_code == 303
    return str(answer.headers["Location"])


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("page", ["/", "/rules/{slug}"])
def test_the_first_card_is_two_clicks_away(client: FlaskClient, slug: str, page: str) -> None:
    text = client.get(page.format(slug=slug)).text
    assert re.search(rf'action="/play"><button class="button[a-z ]*" name="game" value="{slug}"', text)
    table = client.get(play(client, slug)).text
    assert re.search(r'name="(card|move)" value="', table)  # the second click chooses a card
    assert 'name="request_id"' in table


def test_a_get_starts_nothing(client: FlaskClient) -> None:
    before = everything()
    assert client.get("/play?game=byzanz").location == "/"
    assert client.get("/").status_code == 200
    assert everything() == before


@pytest.mark.parametrize("slug", SLUGS)
def test_the_page_says_that_no_clock_runs_and_promises_no_email(client: FlaskClient, slug: str) -> None:
    text = client.get(play(client, slug)).text
    assert "No clock runs" in text
    for promise in ("We will email you", "If you miss the deadline", "Leave the game", "Your clock starts"):
        assert promise not in text


def test_it_introduces_the_bots(client: FlaskClient) -> None:
    text = client.get(play(client, "byzanz")).text
    assert "<strong>Theodora</strong>" in text
    assert "Takes the best deal on the table." in text
    assert "bot, medium" in text


def test_the_guide_explains_each_kind_of_decision_until_it_is_dismissed(client: FlaskClient) -> None:
    table = play(client, "byzanz")
    assert "Three cards of one good make a set" in client.get(table).text
    answer = client.post(f"{table}/guide", data={"explained": "byzanz-bid"})
    assert (answer.status_code, answer.headers["Location"]) == (303, table)
    assert 'class="guide"' not in client.get(table).text
    assert 'class="guide"' in client.get(play(client, "empire")).text  # another kind of decision
    client.post(f"{table}/guide", data={"explained": "empire-redraw"})
    cookie = client.get_cookie("guide")
    assert cookie is not None
    assert cookie.value == "byzanz-bid.empire-redraw"


def test_the_guide_stores_nothing_but_words_of_its_own(client: FlaskClient) -> None:
    table = play(client)
    client.post(f"{table}/guide", data={"explained": "<b>"})
    assert client.get_cookie("guide") is None
    client.set_cookie("guide", "byzanz-bid.;x.<b>")
    client.post(f"{table}/guide", data={"explained": "byzanz-tax"})
    cookie = client.get_cookie("guide")
    assert cookie is not None
    assert cookie.value == "byzanz-bid.byzanz-tax"


def test_a_game_is_kept_by_the_button_in_the_email(client: FlaskClient) -> None:
    table = play(client)
    answer = client.post(f"{table}/keep", data={"address": ANN})
    assert answer.status_code == 200
    assert "Check your email" in answer.text
    sent = FakeMailer()
    deliver(engine.utc_now() + timedelta(seconds=1), sent)
    [mail] = sent.to(ANN)
    text = text_of(mail)
    link = re.search(r"^http\S+(/k/\S+)$", text, re.MULTILINE)
    assert link is not None
    before = everything()
    assert "Your name at this table" in client.get(link[1]).text
    assert everything() == before  # a scanner that opens the link keeps nothing
    assert client.post(link[1], data={"name": "http://x.example"}).status_code == 422
    answer = client.post(link[1], data={"name": "Ann"})
    assert answer.status_code == 303
    page = client.get(answer.headers["Location"]).text
    assert "Your turn, Ann" in page
    assert 'id="keep-title"' not in page
    assert client.get(table).status_code == 404
    assert "This game is yours" in client.get(link[1]).text


def test_a_signed_in_visitor_plays_and_keeps_the_game_as_themselves(client: FlaskClient) -> None:
    known(Guest("Ann", ANN), NOW)
    sign_in(client, ANN)
    table = play(client)
    page = client.get(table).text
    assert "Your turn, Ann" in page
    assert "No clock runs" in page
    assert 'name="address"' not in page  # nothing to type
    assert table in client.get("/").text.replace("https://byzanz.test", "")
    answer = client.post(f"{table}/keep")
    assert (answer.status_code, answer.headers["Location"]) == (303, table)
    page = client.get(table).text
    assert 'id="keep-title"' not in page
    assert "No clock runs" not in page
    assert len(mails("turn", Guest("Ann", ANN))) == 2  # that of the other game, and this


def test_a_wrong_address_is_shown_again(client: FlaskClient) -> None:
    table = play(client)
    answer = client.post(f"{table}/keep", data={"address": "ann"})
    assert answer.status_code == 422
    assert 'value="ann"' in answer.text
    assert mails("keep") == []


def test_who_comes_too_late_is_told(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    table = play(client)
    client.post(f"{table}/keep", data={"address": ANN})
    sent = FakeMailer()
    deliver(engine.utc_now() + timedelta(seconds=1), sent)
    [mail] = sent.to(ANN)
    link = re.search(r"(/k/\S+)", text_of(mail))
    assert link is not None
    monkeypatch.setattr(visitors, "LIFETIME", timedelta())
    visitors.end_old(engine.utc_now() + timedelta(seconds=2))
    assert "Too late to keep this game" in client.get(link[1]).text
    assert client.post(link[1], data={"name": "Ann"}).status_code == 409
    assert client.get(table).status_code == 404


def test_too_many_visitors_are_told_to_wait(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "MOST_AN_HOUR", 0)
    answer = client.post("/play", data={"game": "byzanz"})
    assert answer.status_code == 429
    assert "Many visitors are playing right now" in answer.text


def test_a_visitors_game_is_in_no_list(client: FlaskClient) -> None:
    table = play(client)
    name = re.search(r'<p class="muted">(The [^<]+)</p>', client.get(table).text)
    assert name is not None
    assert name[1] not in client.get("/").text


def test_the_table_mails_a_visitor_no_links(client: FlaskClient) -> None:
    client.post(f"{play(client)}/games")
    assert mails("games") == []


def test_a_receipt_promises_a_visitor_no_email(client: FlaskClient) -> None:
    table = play(client)
    page = client.get(table).text
    seen, request_id = (re.search(f'name="{name}" value="([^"]+)"', page) for name in ("seen", "request_id"))
    assert seen is not None
    assert request_id is not None
    form = {"move": "pass", "seen": seen[1], "request_id": request_id[1]}
    receipt = client.post(table, data=form, follow_redirects=True).text
    assert "mail you" not in receipt
    assert "my other games" not in receipt


def test_after_the_end_one_press_starts_another(client: FlaskClient) -> None:
    table = play(client)
    assert "Play again" not in client.get(table).text
    with engine.reading() as session:
        game_id = session.scalars(select(Game.id).where(Game.trial)).one()
    moderate(game_id, "!abandon", reason="x", person_id=outsider(), now=engine.utc_now())
    page = client.get(table).text
    offer = '<button class="button" name="game" value="byzanz">Play again</button>'
    assert page.index("See the result") < page.index(offer) < page.index('id="keep-title"')
    assert "play on by email" not in page


def test_its_page_says_why_a_visitors_game_has_ended(client: FlaskClient) -> None:
    play(client)
    with engine.reading() as session:
        game_id = session.scalars(select(Game.id).where(Game.trial)).one()
    visitors.end_old(engine.utc_now() + visitors.LIFETIME + timedelta(minutes=1))
    text = client.get(f"/g/{game_id}/history").text
    assert "Nobody has kept this visitor’s game for a week: it ends." in text
    assert "A moderator ends" not in text
