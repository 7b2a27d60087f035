"""Pages and emails of Byzantium: cross and list, texts, emails; nothing needs a script."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from email.message import EmailMessage
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest
from flask import Flask
from flask.testing import FlaskClient

from byzanz import games
from byzanz.games.byzantium.state import SLOTS
from byzanz.rules import PUBLIC, Viewer
from tests.conftest import NAMES, NOW
from tests.support.byzantium_positions import go_on, legal, moments
from tests.support.games import asked, count_entries, make, position, url
from tests.support.mails import send_waiting
from tests.support.pages import Page, assert_sound, forgotten, look, press, read
from tests.support.sample_mails import with_replies

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def play_form(page: Page) -> Element:
    return next(item for item in page.root.iter("form") if item.get("id") == "play")


def slots(page: Page) -> dict[str, Element]:
    """Return the buttons on the drawn cross, by slot."""
    return {
        item.get("value", ""): item for item in play_form(page).iter("button") if item.get("name") == "card"
    }


def press_place(client: FlaskClient, page: Page, card: str | None, slot: str) -> Any:
    """Select a card and press a slot; return what a browser sends, in the order of the page."""
    form, sent = play_form(page), dict[str, list[str]]()
    for item in form.iter():
        name, value = item.get("name", ""), item.get("value", "")
        chosen = item.get("type") == "hidden" or (item.get("type") == "radio" and value == card)
        if chosen or (item.tag == "button" and (name, value) == ("card", slot)):
            assert item.get("disabled") is None
            sent.setdefault(name, []).append(value)
    return client.post(form.get("action", ""), data=sent)


def test_every_legal_move_is_a_button_in_the_list_and_on_the_cross(client: FlaskClient, cross: Any):
    game = cross(2)
    for seat in moments(game):
        page, moves = look(client, url(game, seat)), legal(game, seat)
        buttons = [item for item in play_form(page).iter("button") if item.get("name") == "move"]
        assert sorted(item.get("value", "") for item in buttons) == sorted(moves)
        assert all(item.get("formnovalidate") is not None for item in buttons)
        on_the_cross = {
            f"put {card} on {slot}"
            for slot, button in slots(page).items()
            for card in re.findall(r"\bc(\w+[rb])\b", button.get("class", ""))
        }
        assert on_the_cross == set(moves)


def test_only_cards_that_fit_can_be_chosen_and_none_is_chosen_before(client: FlaskClient, cross: Any):
    game = cross(2)
    stuck = 0
    for seat in moments(game):
        page = look(client, url(game, seat))
        radios = [item for item in play_form(page).iter("input") if item.get("type") == "radio"]
        assert tuple(item.get("value") for item in radios) == position(game.id).view(seat).hand
        able = {move.split()[1] for move in legal(game, seat)}
        assert {item.get("value") for item in radios if item.get("disabled") is None} == able
        assert all(item.get("checked") is None and item.get("required") is not None for item in radios)
        stuck += len(radios) - len(able)
    assert stuck > 0


def test_a_card_and_a_place_on_the_cross_are_a_move(client: FlaskClient, cross: Any):
    game = cross(3)
    for seat in moments(game, every=0):
        page, move = look(client, url(game, seat)), random.Random(1).choice(legal(game, seat))
        answer = press_place(client, page, move.split()[1], move.split()[3])
        assert answer.status_code == 303
        receipt = look(client, answer.headers["Location"])
        assert re.search(r"You place the (red|black) \w+ on the \w+ern arm", receipt.text)
        if count_entries(game.id) > 8:
            return


def test_a_place_without_a_card_is_refused_and_nothing_changes(client: FlaskClient, cross: Any):
    game = cross(3)
    page, before = look(client, url(game, 0)), count_entries(game.id)
    answer = press_place(client, page, None, "e")
    assert answer.status_code == 422
    assert "Write put, a card, on and a slot" in read(answer).text
    assert count_entries(game.id) == before


def test_a_card_of_the_wrong_colour_is_refused_with_the_reason_and_stays_chosen(
    client: FlaskClient, cross: Any
):
    game = cross(3)
    black = next(card for card in position(game.id).view(0).hand if card.endswith("b"))
    answer = press_place(client, look(client, url(game, 0)), black, "e")
    page = read(answer)
    assert answer.status_code == 422
    assert re.search(r"Black \w+ is black: place it on arm n or s\.", page.text)
    assert_sound("refused", page)
    assert [item.get("value") for item in page.root.iter("input") if item.get("checked") is not None] == [
        black
    ]


def test_enter_on_a_card_plays_nothing(client: FlaskClient, cross: Any):
    game = cross(3)
    page, before = look(client, url(game, 0)), count_entries(game.id)
    default = next(play_form(page).iter("button"))
    assert default.get("name") is None
    answer = press_place(client, page, position(game.id).view(0).hand[0], slot="")
    assert answer.status_code == 422
    assert count_entries(game.id) == before


def named(cards: Iterable[str]) -> set[str]:
    """Return the names of cards, as pages write them."""
    ranks = {"a": "ace", "j": "jack", "q": "queen", "k": "king"}
    return {f"{'red' if card[-1] == 'r' else 'black'} {ranks.get(card[:-1], card[:-1])}" for card in cards}


def test_no_page_tells_a_card_that_its_reader_may_not_know(client: FlaskClient, cross: Any):
    game = cross(3)
    for _seat in moments(game, every=2):
        if position(game.id).state.round > 1:  # by then every card has been seen
            return
        readers: list[tuple[Viewer, str]] = [(seat, url(game, seat)) for seat in range(3)]
        for viewer, path in [*readers, (PUBLIC, f"/g/{game.id}")]:
            view, page = position(game.id).view(viewer), look(client, path)
            known = {*view.aces, *(view.hand or ()), *(card for lacks in view.lacks for card in lacks)}
            known |= {place.card for place in view.places if place.card}
            said = re.sub(r"<text.*?</text>", "", page.html)  # rank and colour stand apart on a drawn card
            told = re.findall(r"(?:red|black) (?:\d+|ace|jack|queen|king)", said)
            assert set(told) <= named(known), viewer
            codes = " ".join(item.get(key, "") for item in page.root.iter() for key in ("value", "class"))
            assert named(re.findall(r"\bc?((?:\d+|[jqk])[rb])\b", codes)) <= named(view.hand or ())


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_whole_game_is_played_with_forms_alone(client: FlaskClient, cross: Any, n: int):
    game, dice, on_the_cross = cross(n), random.Random(n), 0
    while position(game.id).awaited:
        page = look(client, url(game, asked(game)))
        moves = [value for name, value in page.form("play").buttons if name == "move"]
        move = dice.choice(moves)
        if dice.random() < 0.5:
            answer = press_place(client, page, move.split()[1], move.split()[3])
            on_the_cross += 1
        else:
            answer = press(client, page, "move", move)
        assert answer.status_code == 303, answer.text
        assert look(client, answer.headers["Location"]).status == 200
    assert on_the_cross > 5
    outcome = position(game.id).outcome
    assert outcome is not None
    result = next(look(client, f"/g/{game.id}").root.iter("table"))
    rows = [["".join(cell.itertext()).split()[0] for cell in row] for row in result.iter("tr")]
    assert rows[0] == ["Player", *["Round"] * n, "Points"]
    names = [row[0] for row in rows[1:]]
    scores = dict(zip(("Alice", "Bob", "Charlie", "Daphne"), outcome.scores, strict=False))
    assert {row[0]: int(row[-1]) for row in rows[1:]} == scores
    assert {row[0]: sum(map(int, row[1:-1])) for row in rows[1:]} == scores
    assert names == sorted(names, key=scores.__getitem__)


NUMBERS = {slot: str(number) for number, slot in enumerate(SLOTS, 1)}
"""The numbers that emails give the places."""


def test_a_turn_mail_tells_the_table_the_hand_and_every_option(cross: Any, app: Flask):
    with_replies(app)
    game = cross(3)
    go_on(game, 7, random.Random(5))
    seat = asked(game)
    [message] = [each for each in send_waiting(NOW + timedelta(days=2)) if NAMES[seat] in each["To"]]
    text, html = (part(message, kind) for kind in ("plain", "html"))
    places: dict[str, list[str]] = {}
    for move in legal(game, seat):
        places.setdefault(move.split()[1], []).append(move.split()[3])
    pictured = html5lib_text(html)
    for card, slots in places.items():
        for shown in (" ".join(text.split()), pictured):
            found = sorted((NUMBERS[slot] for slot in slots), key=int)
            at = f"at {' or '.join(filter(None, [', '.join(found[:-1]), found[-1]]))}"
            card_at = rf"\b{named([card]).pop()}\b(?:(?!Place the).)* {at}(?![,\d])"
            assert re.search(rf"Place the (?:(?!Place the).)*{card_at}", shown)
    for shown in (text, pictured):
        assert all(card in shown for card in named(position(game.id).view(seat).hand))
        assert "Place a card on the cross. Move by" in " ".join(shown.split())
    sentences = [line for line in told_lines(text) if not line.startswith(("- ", " "))]
    unseen = [line for line in sentences if line.rstrip(":") not in pictured]
    assert " ".join(unseen).startswith("Cards: r red, b black; * new."), "the legend of the cross in text"
    assert len(unseen) == 2
    assert all(name in pictured for name in NAMES[:3] if name != NAMES[seat])
    assert NAMES[seat] not in pictured


def test_the_reply_that_an_email_shows_is_read_as_the_move_of_its_link(cross: Any, app: Flask):
    with_replies(app)
    game = cross(3)
    go_on(game, 7, random.Random(5))
    [message] = [each for each in send_waiting(NOW + timedelta(days=2)) if NAMES[asked(game)] in each["To"]]
    rules, text = position(game.id).rules, part(message, "plain")
    shown = re.findall(r"\?move=put\+(\w+)\+on\+(\w+)\S*\n  or reply: (.+)\n", text)
    assert len(shown) == 3
    for card, slot, reply in shown:
        assert reply == f"put {card} on {NUMBERS[slot]}"
        assert str(rules.parse(rules.reply_text(reply))) == f"put {card} on {slot}"


def test_the_cross_is_drawn_in_the_mail(cross: Any, app: Flask):
    with_replies(app)
    game = cross(3)
    go_on(game, 11, random.Random(5))
    seat = asked(game)
    [message] = [each for each in send_waiting(NOW + timedelta(days=2)) if NAMES[seat] in each["To"]]
    view, free = position(game.id).view(seat), {move.split()[3] for move in legal(game, seat)}
    cards = {place.card: place for place in view.places if place.card}
    rows = part(message, "plain").partition("- Round 1 of 3")[2].partition("East: ")[0].splitlines()
    drawn = [re.sub(r"ar ab", "ar-ab", line).split() for line in rows]
    signs = [sign for row in drawn for sign in row if sign != "."]
    assert "ar-ab" in signs
    assert {sign.rstrip("*") for sign in signs if "(" not in sign} - {"ar-ab"} == set(cards)
    in_order = [number for sign in signs if "(" in sign for number in sign.strip("()").split("/")]
    cell = {place.slot: (round(place.y / 14), round(place.x / 14)) for place in view.places}
    assert in_order == [NUMBERS[slot] for slot in sorted(SLOTS, key=cell.__getitem__) if slot in free]
    new = {sign.rstrip("*") for sign in signs if sign.endswith("*")}
    assert len(new) == 2
    middle = [row.index(card) for card, place in cards.items() if place.x == 0 for row in rows if card in row]
    assert max(middle) - min(middle) <= 1
    html = html5lib.parse(part(message, "html"), namespaceHTMLElements=False)
    [table] = [each for each in html.iter("table") if "cross" in each.get("class", "").split()]
    [wide] = {len(row) for row in table.iter("tr")}
    assert f" wide-{wide} " in table.get("class", "") + " "
    grid = [list(row) for row in table.iter("tr")]
    for edge in (grid[0], grid[-1], [row[0] for row in grid], [row[-1] for row in grid]):
        assert any(cell.get("class") for cell in edge)  # no empty row or column shifts the cross
    cells = {
        kind: [each for each in table.iter("td") if kind in (each.get("class") or "").split()]
        for kind in ("laid", "new", "free")
    }
    assert len(cells["laid"]) == len(cards) + 1
    assert [number for each in cells["free"] for number in "".join(each.itertext()).split("·")] == in_order
    names = {by.text for each in cells["new"] for by in each.iter("span") if by.get("class") == "by"}
    assert names == {NAMES[other] for other in range(3) if other != seat}


def part(message: EmailMessage, kind: str) -> str:
    found = message.get_body((kind,))
    assert found is not None
    return str(found.get_content())


def html5lib_text(html: str) -> str:
    """Return the readable text of an HTML email, without decorative card symbols; any mistake in it is an error."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    body = parser.parse(html).find("body")
    assert body is not None
    for sign in body.iterfind(".//*[@aria-hidden='true']"):
        sign.text = None
    return " ".join("".join(body.itertext()).split())


def told_lines(text: str) -> list[str]:
    """Return the lines of a text email without links and the hand, whose cards stand apart in HTML."""
    lines = text.splitlines()
    hand = lines.index("Your hand") + 1
    return [line for at, line in enumerate(lines) if line and at != hand and "https://" not in line]


def stages(client: FlaskClient, cross: Any) -> Iterator[tuple[str, Page]]:
    """Return every kind of page about a game of Byzantium."""
    game = cross(3)
    for seat in moments(game, every=11):
        yield "asked", look(client, url(game, seat))
        yield "waiting", look(client, url(game, (seat + 1) % 3))
        yield "in public", look(client, f"/g/{game.id}")
    yield "over", look(client, url(game, 0))
    yield "over in public", look(client, f"/g/{game.id}")
    yield "history", look(client, f"{url(game, 1)}/history")
    for at in (1, 9, 40, count_entries(game.id)):
        yield f"the table after {at}", look(client, f"/g/{game.id}/history?at={at}")
    game = cross(2, "g2")
    page = look(client, url(game, 0))
    yield "refused", read(press_place(client, page, None, "e"))
    seq = make(game, 0, legal(game, 0)[0])
    yield "receipt", look(client, f"{url(game, 0)}?played={seq}")
    yield "stale", read(press(client, page, "move", page.form("play").buttons[-1][1]))
    yield "history at an entry", look(client, f"{url(game, 0)}/history?at=2")
    yield "rules", look(client, "/rules/byzantium")


def test_every_page_is_sound(client: FlaskClient, cross: Any):
    for name, page in stages(client, cross):
        assert page.status in (200, 409, 422), name
        assert_sound(name, page)


DATA = re.compile(
    r"Byzanz|The Golden Horn|Alice|Bob|Charlie|UTC|[0-9a-f]{64}|\b[ensw][flr]{1,2}\b"
    r"|(Mon|Tue|Wed) \d+ Mar, \d\d:\d\d|\d+ Mar, \d\d:\d\d|put 7r on el|put kb on n|pass"
)


@pytest.mark.usefixtures("marked")
def test_every_text_can_be_translated(client: FlaskClient, cross: Any):
    for name, page in stages(client, cross):
        assert forgotten(page, DATA) == [], name


def test_the_front_page_and_the_form_name_every_game(client: FlaskClient):
    front, new = look(client, "/"), look(client, "/new")
    for rules in games.latest():
        assert f'href="/rules/{rules.slug}"' in front.html
        assert rules.title in new.text
    assert "Byzantium 2 to 4 players" in front.text
    assert "Byzantium 2 to 4 players" in new.text
    assert look(client, "/rules/byzantium").status == 200
