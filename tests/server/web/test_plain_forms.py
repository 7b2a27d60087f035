"""The plain look of a game with sealed choices of several cards and with tricks: its pages and emails."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.datastructures import MultiDict

from byzanz import games
from byzanz.moves import Order, UnreadableOrder
from byzanz.rules import PUBLIC
from server.lobby import create
from server.scheduler import jobs
from server.store import engine, links
from server.store.models import Game, LinkPurpose, Seat
from server.validation import Guest
from server.web.plain_games import sheet
from server.web.seat.turn_page import MalformedForm, read_form
from tests.conftest import NOW, Table
from tests.support import sample_mails
from tests.support.games import position, row, submit
from tests.support.mails import html_of, one_database, send_waiting, text_of, words_of
from tests.support.passing_game import DECK, Passing
from tests.support.sealed_game import Sealed

pytestmark = one_database
SEALED_CHOICE = "All choose at the same time. Nobody sees a choice before all have made theirs."
OPEN_CHOICE = "Choose one of these moves."


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the games."""
    monkeypatch.setattr(games, "_added", [Passing(), Sealed()])


@pytest.fixture
def game(app: Flask, table: Callable[..., Table], added: None) -> Table:  # noqa: ARG001
    return table(2, slug="passing")


def hand(game: Table, seat: int) -> tuple[str, ...]:
    return tuple(position(game.id).view(seat).hand)


def page_of(client: FlaskClient, game: Table, seat: int) -> str:
    return str(client.get(f"/t/{game.tokens[seat]}").get_data(as_text=True))


def send(client: FlaskClient, game: Table, seat: int, **fields: Any) -> Any:
    fields = {"seen": row(Game, game.id).head, "request_id": f"r{row(Game, game.id).head}-{seat}"} | fields
    return client.post(f"/t/{game.tokens[seat]}", data=MultiDict(fields))


def to_play(game: Table) -> None:
    """Let both seats pass their first two cards."""
    for seat in (0, 1):
        submit(game.id, seat, " ".join(("pass", *hand(game, seat)[:2])))


def test_any_two_cards_of_the_hand_are_ticked_and_one_button_counts(game: Table, client: FlaskClient) -> None:
    page, held = page_of(client, game, 0), hand(game, 0)
    boxes = re.findall(r'<input type="checkbox" name="card" value="(\w+)#\d" data-worth="1">', page)
    assert tuple(boxes) == held
    assert len(held) == 7
    assert "<select" not in page
    assert re.search(
        r'<button[^>]* name="verb" value="pass" data-least="2" data-most="2" data-label="Pass: ', page
    )
    assert 'data-idle="Choose 2 cards.">Choose 2 cards.</p>' in page, "also without a script"


def test_ticked_cards_are_passed_in_any_order_and_can_be_changed(game: Table, client: FlaskClient) -> None:
    held = hand(game, 0)
    assert send(client, game, 0, verb="pass", card=[f"{held[4]}#4", f"{held[1]}#1"]).status_code == 303
    page = page_of(client, game, 0)
    assert "Your choice is in. You can still change it until all have chosen." in page
    assert page.count('type="checkbox" name="card"') == 7
    assert send(client, game, 0, verb="pass", card=[f"{held[0]}#0", f"{held[1]}#1"]).status_code == 303
    assert position(game.id).state.passed[0] == held[:2]


@pytest.mark.parametrize("number", [1, 3])
def test_too_few_or_too_many_cards_are_refused_and_stay_ticked(
    game: Table, client: FlaskClient, number: int
) -> None:
    ticked = [f"{card}#{at}" for at, card in enumerate(hand(game, 0)[:number])]
    answer = send(client, game, 0, verb="pass", card=ticked)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert f"Select 2 cards, not {number}." in page
    assert re.findall(r'value="(\w+#\d)" data-worth="1" checked', page) == ticked


def test_the_whole_hand_is_drawn_and_only_legal_cards_can_be_tapped(game: Table, client: FlaskClient) -> None:
    to_play(game)
    led = next(card for card in hand(game, 0) if any(card[-1] == it[-1] for it in hand(game, 1)))
    submit(game.id, 0, f"play {led}")
    page, held = page_of(client, game, 1), hand(game, 1)
    legal = [card for card in held if card[-1] == led[-1]]
    assert re.findall(r'<button name="move" value="play (\w+)"', page) == legal
    form = page[page.index('<div class="plain-hand">') : page.index("</fieldset>")]
    assert form.count("<svg") == len(held) == 7
    assert form.count('<span class="off">') == 7 - len(legal)


def test_each_question_is_described_as_what_it_is(game: Table, client: FlaskClient) -> None:
    assert SEALED_CHOICE in page_of(client, game, 0)
    [first, _] = send_waiting()
    assert SEALED_CHOICE in text_of(first)
    to_play(game)
    page = page_of(client, game, 0)
    assert OPEN_CHOICE in page
    assert SEALED_CHOICE not in page
    [mail] = send_waiting()
    for said in (text_of(mail), words_of(html_of(mail))):
        assert OPEN_CHOICE in said
        assert SEALED_CHOICE not in said


def test_a_question_may_have_another_name_than_its_moves(
    table: Callable[..., Table],
    client: FlaskClient,
    app: Flask,  # noqa: ARG001
) -> None:
    game = table(2, slug="sealed")
    assert SEALED_CHOICE in page_of(client, game, 0)
    submit(game.id, 0, f"lay {hand(game, 0)[0]}")
    assert SEALED_CHOICE in page_of(client, game, 1), "though only one seat is still to move"
    submit(game.id, 1, f"lay {hand(game, 1)[0]}")
    [seat] = position(game.id).awaited
    assert position(game.id).view(seat).question.startswith("answer ")
    assert OPEN_CHOICE in page_of(client, game, seat)


def test_the_cards_of_a_trick_lie_in_the_middle_with_their_players(game: Table, client: FlaskClient) -> None:
    to_play(game)
    card = hand(game, 0)[0]
    submit(game.id, 0, f"play {card}")
    page = page_of(client, game, 1)
    middle = page[page.index('class="panel lot"') : page.index('class="others"')]
    assert re.search(rf"<li[^>]*><span>Alice</span><svg[^>]*aria-label=\"{card}\"", middle)
    assert "Leader" not in middle
    alice, bob = re.findall(r'<li class="seat.*?</li>', page, re.DOTALL)
    assert ">Leader<" in alice
    assert "Leader" not in bob
    assert "Rest" not in page, "nothing is said of what is hidden"
    assert f"- Trick: Alice {card}\n" in text_of(send_waiting()[-1])


def test_the_email_says_in_one_line_that_any_two_cards_can_be_passed(game: Table) -> None:
    text = text_of(send_waiting()[0])
    assert f"- Pass: 2 of {', '.join(hand(game, 0))}\n" in text
    assert "more moves" not in text


@pytest.mark.usefixtures("app")
def test_what_a_bot_did_is_told_once(client: FlaskClient) -> None:
    players = [Guest("Ann", "ann@example.org")]
    game_id = create.quick_game(slug="passing", players=players, bots=["greedy"], start=True, now=NOW)
    bots_last = False
    while not bots_last or 0 not in position(game_id).awaited or position(game_id).view(0).step == "pass":
        if 0 in position(game_id).awaited:
            submit(game_id, 0, str(Passing().moves(position(game_id).state, 0)[0]))
        bots_last = bool(jobs.tick_bots(NOW))
    [text] = [
        text_of(mail) for mail in send_waiting(NOW + timedelta(minutes=10)) if mail["To"].startswith("Ann")
    ]
    assert "While you were away" in text
    assert "Since your last move" not in text
    with engine.transaction() as session:
        person = session.query(Seat).filter_by(game_id=game_id, seat=0).one().person_id
        assert person is not None
        address = links.url(links.link_for(session, LinkPurpose.SEAT, person, game_id, NOW))
    page = client.get("/t/" + address.rpartition("/")[2]).get_data(as_text=True)
    assert page.count('<li class="strip"') == 1


def test_several_cards_are_named_in_any_order_in_a_reply_to_an_email(app: Flask, game: Table) -> None:
    sample_mails.with_replies(app)
    box, held = sample_mails.mailbox(), hand(game, 0)
    box.write(f"pass {held[3]} {held[0]}")
    assert sample_mails.moves_of(game.id, 0) == [f"pass {held[0]} {held[3]}"]
    box.write(f"PASS {held[5]} {held[1]}", number=2)
    assert sample_mails.moves_of(game.id, 0)[1:] == [f"pass {held[1]} {held[5]}"]
    box.write(f"pass {held[5]}", number=3)
    answers = [text_of(mail) for mail in sample_mails.send_and_return() if "alice" in str(mail["To"])]
    assert any("“pass” needs 2 words after it, not 1. Example: pass 2c 3c." in text for text in answers)


def test_a_list_and_a_button_of_another_verb_are_told_apart(app: Flask, game: Table) -> None:
    view = position(game.id).view(0)
    many = [f"go {number}" for number in range(61)]
    with app.test_request_context():
        made = app.jinja_env.get_template("games/passing/form.html").render(
            view=view,
            names=("Ann", "Bob"),
            answers={"go": many, "stay": ["stay"]},
            out_of_turn={},
            ticked=(),
            error=None,
        )
    assert 'name="move-go"><option value="go 0">' in made
    assert 'name="list" value="go"' in made
    assert 'name="move" value="stay"' in made
    sent = {"seen": "1", "request_id": "abc", "move-go": "go 7"}
    assert read_form(MultiDict(sent | {"list": "go"})).text == "go 7"
    assert read_form(MultiDict(sent | {"move": "stay"})).text == "stay"
    with pytest.raises(MalformedForm):
        read_form(MultiDict(sent | {"list": "come"}))


def test_a_list_is_sent_like_a_button(client: FlaskClient, game: Table) -> None:
    move = " ".join(("pass", *hand(game, 0)[:2]))
    assert send(client, game, 0, list="pass", **{"move-pass": move}).status_code == 303
    assert position(game.id).state.passed[0] == hand(game, 0)[:2]


def test_the_rules_say_once_which_words_a_move_takes(client: FlaskClient) -> None:
    page = client.get("/rules/passing").get_data(as_text=True)
    assert ">pass 2c 3c</dt>" in page
    words = ", ".join(DECK)
    assert page.count(words) == 1
    assert f"2 of {words}" in page
    assert "one of the words listed for “pass”" in page


class Ordering(Passing):
    """Takes standing orders, and has no words for them."""

    def parse_order(self, text: str) -> Order:
        if text != "play low":
            raise UnreadableOrder("Write an order like this: %(example)s.", example="play low")
        return Order(text, "play")


def test_how_an_order_is_written_is_said_where_it_is_typed_and_in_the_rules(
    game: Table, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "standing-orders" not in client.get("/rules/passing").text
    monkeypatch.setattr(games, "_added", [Ordering()])
    page = client.get(f"/t/{game.tokens[0]}/orders", headers={"Accept-Language": "de"}).text
    assert "play low." in page
    rules = client.get("/rules/passing").text
    assert '<h2 id="standing-orders">' in rules
    assert "Write an order like this: play low." in rules
    assert 'href="/rules/passing#standing-orders"' in page


def test_a_sheet_leaves_out_what_is_empty_and_keeps_the_newest_of_a_list(game: Table) -> None:
    to_play(game)
    with engine.reading():
        state = position(game.id).state
    rules = Passing()
    while len(state.tricks) < 5:
        [seat] = rules.awaited(state)
        state = rules.apply(state, seat, rules.moves(state, seat)[0])
    made = sheet("passing", rules.view(state, PUBLIC), 2)
    assert [fact.name for fact in made.short] == ["step"]
    assert made.piles == ()
    assert made.laid == {}
    assert [len(texts) for texts in made.lines.values()] == [3]
    assert [[fact.name for fact in own][:1] for own in made.seats] == [["passed"], ["passed"]]
