"""Links in emails that preselect an answer, and the link to the next game in which the player is to move."""

from __future__ import annotations

import random
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from server.store import engine
from server.store.models import Game, Mail, Person, Seat
from server.web.seat import turn_page
from tests.conftest import Table
from tests.support.game_data import SEATS
from tests.support.games import advance, asked, count_entries, make, position, url
from tests.support.mails import send_waiting, text_of
from tests.support.pages import log_in, look, read

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def preselected(table: Table, seat: int, move: str) -> str:
    """Return the URL that an email offers for an answer."""
    return f"{url(table, seat)}?{urlencode({'move': move})}"


def button(html: str) -> dict[str, str]:
    """Return what the only button of a preselected answer sends."""
    panel = html.partition('id="chosen"')[2].partition("</section>")[0]
    return dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', panel))


@one_database
@pytest.mark.parametrize("slug", SEATS)
def test_each_option_of_a_turn_mail_opens_the_page_with_that_answer_ready(
    client: FlaskClient, table: Any, slug: str
):
    game = table(SEATS[slug], slug=slug)
    dice = random.Random(slug)
    for _ in range(6):
        for message in send_waiting():
            text = text_of(message)
            links = re.findall(r"^  https://byzanz\.test(/t/\S+\?move=\S+)$", text, re.MULTILINE)
            assert links
            for link in links:
                before = count_entries(game.id)
                page = look(client, link)
                assert "Your answer is ready" in page.text, link
                assert count_entries(game.id) == before
        seat = asked(game)
        now = position(game.id)
        make(game, seat, str(dice.choice(now.rules.moves(now.state, seat)[:6])))


def test_pressing_the_button_plays_it(client: FlaskClient, table: Any):
    game = table(3)
    page = look(client, preselected(game, 0, "pass"))
    assert button(page.html)["move"] == "pass"
    answer = client.post(url(game, 0), data=button(page.html))
    assert answer.status_code == 303
    assert "You pass" in look(client, answer.headers["Location"]).text


def test_the_cards_of_a_bid_are_ticked(client: FlaskClient, table: Any):
    game = table(3)
    hand = [card for card in position(game.id).view(0).hand if card != "merchant"]
    page = look(client, preselected(game, 0, f"bid {hand[-1]} {hand[0]}"))
    ticked = page.form("play").ticked
    assert sorted(box.partition("#")[0] for box in ticked) == sorted([hand[0], hand[-1]])
    assert len(set(ticked)) == 2


def test_an_answer_that_is_not_possible_any_more_says_so(client: FlaskClient, table: Any):
    game = table(3)
    for move in (
        "tax wood1",
        "take wood",
        "bid merchant",
        "sing",
        "",
        "\0",
        "pass\npass",
        "x" * 5000,
        "<script>",
    ):
        page = look(client, preselected(game, 0, move))
        assert page.status == 200
        assert 'id="chosen"' in page.html
        assert "Nothing has been played." in page.text
        assert button(page.html) == {}, move
    make(game, 0, "pass")
    assert "Not possible now: Pass" in look(client, preselected(game, 2, "pass")).text
    assert count_entries(game.id) == 2


@one_database
def test_a_link_to_the_move_that_was_made_shows_what_came_of_it(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    page = look(client, preselected(game, 0, "pass"))
    assert "You pass. Bob is bidding." in page.text
    assert 'id="chosen"' not in page.html
    assert button(page.html) == {}
    assert count_entries(game.id) == 2


@one_database
def test_nor_in_a_game_that_is_paused_over_or_not_begun(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Game, game.id).status = "inviting"
    assert look(client, preselected(game, 0, "pass")).status == 200
    with engine.transaction() as session:
        session.get_one(Game, game.id).status = "running"
        session.get_one(Game, game.id).paused = True
    assert "Nobody is to move in this game now." in look(client, preselected(game, 0, "pass")).text


@one_database
def test_an_answer_to_an_older_question_is_offered_if_it_fits_the_new_one(client: FlaskClient, table: Any):
    game = table(3)
    link = preselected(game, 0, "pass")
    make(game, 0, f"bid {position(game.id).view(0).hand[0]}")
    advance(game, "bid")
    page = look(client, link)
    assert ("Your answer is ready" in page.text) == (asked(game) == 0)


# One game after the other


def test_titles_count_what_awaits_who_is_signed_in(client: FlaskClient, table: Any):
    first = table(3, "g1")
    table(3, "g2")
    assert "<title>● Your turn · " in look(client, url(first, 0)).html
    assert "<title>The Golden Horn" in look(client, url(first, 1)).html
    log_in(client, first.people[0])
    assert "<title>● (2) Your turn · " in look(client, url(first, 0)).html
    assert "<title>(2) " in look(client, "/").html
    seq = make(first, 0, "pass")
    assert "<title>(1) The Golden Horn" in look(client, f"{url(first, 0)}?played={seq}").html


def test_a_bare_link_mails_the_links_instead(client: FlaskClient, table: Any):
    first, second = table(3, "g1"), table(3, "g2")
    seq = make(first, 0, "pass")
    receipt = look(client, f"{url(first, 0)}?played={seq}")
    assert "It is your turn in 1 other game." in receipt.text
    assert "Email me the links" in receipt.text
    send_waiting(engine.utc_now())
    answer = read(client.post(f"{url(first, 0)}/games"))
    assert answer.status == 200
    assert second.tokens[0] not in answer.html
    (message,) = send_waiting(engine.utc_now())
    text = text_of(message)
    assert str(message["To"]) == "Alice <alice@example.org>"
    assert f"\nhttps://byzanz.test/t/{second.tokens[0]}\n" in text
    assert "List-Unsubscribe" not in message


def test_the_answer_is_the_same_whether_any_game_waits(client: FlaskClient, table: Any):
    first = table(3, "g1")
    for seat in (0, 1, 1, 1, 1, 1):
        page = client.post(f"{url(first, seat)}/games").text.replace(first.tokens[seat], "TOKEN")
        assert page == client.post(f"{url(first, 0)}/games").text.replace(first.tokens[0], "TOKEN")
    with engine.reading() as session:
        asked_for = [mail.person_id for mail in session.query(Mail).filter_by(kind="games")]
    assert [asked_for.count(person) for person in first.people] == [3, 3, 0]
    texts = [
        text_of(message) for message in send_waiting(engine.utc_now()) if "your games" in message["Subject"]
    ]
    assert sum("Bob, it is not your turn in any game at the moment." in text for text in texts) == 3


def test_silence_does_not_stop_the_mail_that_was_asked_for(client: FlaskClient, table: Any):
    first = table(3)
    send_waiting(engine.utc_now())
    with engine.transaction() as session:
        session.get_one(Person, first.people[0]).silent = True
        session.get_one(Seat, (first.id, 0)).silent = True
    client.post(f"{url(first, 0)}/games")
    (message,) = send_waiting(engine.utc_now())
    assert first.tokens[0] in text_of(message)


def test_equal_cards_of_a_link_tick_a_box_each() -> None:
    hand = ("wood1", "wine2", "wood1", "wood1")
    assert turn_page._boxes(hand, ("wood1", "wood1")) == ("wood1#0", "wood1#2", "wood1", "wood1")
    assert turn_page._boxes(hand, ("wine2", "spice4")) == ("wine2#1", "wine2")
