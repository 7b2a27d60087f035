"""The turn page and its form, opened by the link alone, and how it comes back after a move."""

from __future__ import annotations

import json
import random
import re
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from byzanz.games.byzanz import Byzanz
from byzanz.moves import placed
from server import play
from server.store import engine, links, people
from server.store.models import Game, Person, Seat
from tests.conftest import NOW
from tests.support import game_data
from tests.support.game_data import SEATS
from tests.support.games import advance, asked, count_entries, make, position, start_clock, url
from tests.support.pages import Page, log_in, look, press, read

NOT_HELD = game_data.of_all("NOT_HELD")
ID = re.compile(r'name="request_id" value="([^"]+)"')


def test_it_shows_the_own_hand_and_nobody_elses(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    page = look(client, url(game, seat))
    assert page.status == 200
    hand = position(game.id).view(seat).hand
    assert [box.partition("#")[0] for box in page.form("play").boxes] == list(hand)
    assert page.html.count('type="checkbox"') == len(hand)


def test_looking_changes_nothing(client: FlaskClient, table: Any):
    game = table(4)
    before = count_entries(game.id)
    for seat in range(4):
        for path in ("", "/history", "/history?at=1", "?played=1"):
            client.get(url(game, seat) + path)
            client.head(url(game, seat) + path)
    assert count_entries(game.id) == before


def test_it_preselects_nothing(client: FlaskClient, table: Any):
    game = table(4)
    page = look(client, url(game, asked(game)))
    assert page.form("play").ticked == []
    assert re.search(r"<option[^>]* selected", page.html) is None


def test_a_bid_of_ticked_cards_brings_the_page_back_with_it(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    page = look(client, url(game, seat))
    tick = next(box for box in page.form("play").boxes if not box.startswith("merchant"))
    answer = press(client, page, "verb", "bid", [tick])
    assert answer.status_code == 303
    again = look(client, answer.headers["Location"])
    assert again.status == 200
    assert "You bid" in strip(again)
    assert "Bob is bidding." in strip(again)
    assert position(game.id).view(seat).bids[seat] == (tick.partition("#")[0],)


def test_equal_cards_are_ticked_one_by_one(client: FlaskClient, table: Any):
    game = table(3)
    for number in range(40):
        seat = asked(game)
        hand = position(game.id).view(seat).hand
        goods = [card for card in hand if card != "merchant"]
        twins = [card for card in goods if goods.count(card) > 1]
        page = look(client, url(game, seat))
        if (
            twins
            and ("verb", "bid") in page.form("play").buttons
            and not position(game.id).view(seat).highest
        ):
            ticks = [box for box in page.form("play").boxes if box.startswith(twins[0] + "#")][:2]
            assert press(client, page, "verb", "bid", ticks).status_code == 303
            assert position(game.id).view(seat).bids[seat] == (twins[0], twins[0])
            return
        now = position(game.id)
        make(game, seat, str(now.rules.moves(now.state, seat)[0]), f"n{number}")
    raise AssertionError("no twins were dealt")


def test_a_ready_made_option_is_one_button(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    answer = press(client, look(client, url(game, seat)), "move", "pass")
    assert answer.status_code == 303
    assert "You pass." in look(client, answer.headers["Location"]).text


@pytest.mark.parametrize("kind", ["bid", "tax", "limit", "take", "end"])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_listed_move_has_a_way_on_the_page(client: FlaskClient, table: Any, kind: str):
    game = table(3)
    seat = advance(game, kind)
    page = look(client, url(game, seat))
    now = position(game.id)
    moves = [str(move) for move in now.rules.moves(now.state, seat)]
    exact = {value for name, value in page.form("play").buttons if name == "move"}
    verbs = {value for name, value in page.form("play").buttons if name == "verb"}
    for move in moves:
        assert move in exact or move.split()[0] in verbs, move
    for sale in now.rules.out_of_turn_moves(now.state, seat):
        assert str(sale) in exact


def test_a_refused_move_keeps_the_selection(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    page = look(client, url(game, seat))
    before = count_entries(game.id)
    ticks = page.form("play").boxes[:2]
    page = look_at_refusal(client, page, "sell", ticks, 422)
    assert page.form("play").ticked == ticks
    assert 'role="alert"' in page.html
    assert 'id="hand-error"' in page.html
    assert "Nothing has been played." in page.text
    assert "Since your last move" in page.text
    assert count_entries(game.id) == before


def look_at_refusal(client: FlaskClient, page: Page, verb: str, ticks: list[str], status: int) -> Page:
    form = page.form("play")
    data = {name: [value] for name, value in form.hidden} | {"verb": [verb], "card": ticks}
    answer = client.post(form.action, data=data)
    assert answer.status_code == status
    fresh = ID.search(answer.text)
    assert fresh
    assert fresh[1] not in dict(form.hidden).values()
    return read(answer)


def test_no_ticks_is_told_in_words(client: FlaskClient, table: Any):
    game = table(4)
    page = look(client, url(game, asked(game)))
    page = look_at_refusal(client, page, "bid", [], 422)
    assert "Select the cards first." in page.text
    assert 'id="hand-error"' in page.html


def test_not_your_turn_shows_the_fresh_table(client: FlaskClient, table: Any):
    game = table(4)
    seat = asked(game)
    other = (seat + 1) % 4
    page = look(client, url(game, seat))
    data = {name: [value] for name, value in page.form("play").hidden} | {"move": ["pass"]}
    answer = client.post(url(game, other), data=data)
    assert answer.status_code == 409
    assert "It is not your turn now." in answer.text


def test_a_stale_page_tells_what_changed(client: FlaskClient, table: Any):
    game = table(3)
    seat = asked(game)
    stale = look(client, url(game, seat))
    for _ in range(200):
        now = position(game.id)
        mover = min(now.awaited)
        make(game, mover, str(now.rules.moves(now.state, mover)[-1 if mover == seat else 0]))
        if min(position(game.id).awaited) == seat:
            break
    before = count_entries(game.id)
    answer = press(client, stale, "move", "pass")
    assert answer.status_code == 409
    assert "Since you opened this page" in answer.text
    assert "Bob" in answer.text
    assert count_entries(game.id) == before


def test_the_same_form_twice_is_one_move(client: FlaskClient, table: Any):
    game = table(4)
    page = look(client, url(game, asked(game)))
    first, second = (press(client, page, "move", "pass") for _ in range(2))
    assert first.status_code == second.status_code == 303
    assert first.headers["Location"] == second.headers["Location"]


def test_a_sale_out_of_turn_spoils_nobodys_page(client: FlaskClient, table: Any):
    game = table(3)
    seller, mover = sale_out_of_turn(game), asked(game)
    now = position(game.id)
    open_page = look(client, url(game, mover))
    sale = str(now.rules.out_of_turn_moves(now.state, seller)[0])
    assert press(client, look(client, url(game, seller)), "move", sale).status_code == 303
    assert press(client, open_page, "move", "pass").status_code == 303


BAD: list[dict[str, list[str]]] = [
    {"seen": []},
    {"seen": ["-1"]},
    {"seen": ["one"]},
    {"seen": ["9" * 30]},
    {"seen": ["99999"]},
    {"seen": ["²"]},
    {"request_id": []},
    {"request_id": ["x" * 65]},
    {"request_id": ["a\nb"]},
    {"request_id": ["é"]},
    {"move": []},
    {"move": [], "verb": ["bid!"]},
    {"move": [], "verb": ["bid\x00"]},
    {"move": ["pass\x00"]},
    {"move": ["pass\r\nbid cloth1"]},
    {"move": ["x" * 2000]},
    {"move": [], "verb": ["bid"], "card": ["cloth2#0\x07"]},
    {"move": [], "verb": ["bid"], "card": ["<script>"]},
    {"move": [], "verb": ["bid"], "card": ["x" * 5000]},
]


def test_a_malformed_form_gets_one_clear_line(client: FlaskClient, table: Any):
    game = table(3)
    good = {"seen": ["1"], "request_id": ["fresh"], "move": ["pass"]}
    for bad in BAD:
        answer = client.post(url(game, asked(game)), data=good | bad)
        assert answer.status_code == 400, bad
        assert "Nothing has changed" in answer.text
        assert count_entries(game.id) == 1, bad
    assert client.post(url(game, asked(game)), data=good).status_code == 303


def test_a_flood_of_fields_is_refused(client: FlaskClient, table: Any):
    game = table(3)
    answer = client.post(url(game, asked(game)), data={"card": ["cloth1#0"] * 100_000})
    assert answer.status_code in (400, 413)
    assert count_entries(game.id) == 1


def test_an_unknown_link_offers_a_fresh_one(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, NOW)
    revoked = game.tokens[0]
    unknown = "a" * 26
    for method in (client.get, client.post):
        pages = {token: method(f"/t/{token}") for token in (revoked, unknown)}
        assert {page.status_code for page in pages.values()} == {404}
        texts = {page.text.replace(token, "TOKEN") for token, page in pages.items()}
        assert len(texts) == 1
        assert 'name="token" value="TOKEN"' in texts.pop()
    for path in ("/history", "?played=1"):
        assert client.get(f"/t/{revoked}{path}").status_code == 404


def test_a_paused_game_says_so(client: FlaskClient, table: Any):
    game = table(3)
    seat = asked(game)
    page = look(client, url(game, seat))
    moderator = _moderator()
    play.moderate(game.id, "!pause", reason="A storm", person_id=moderator, now=NOW)
    assert "The game is paused" in look(client, url(game, seat)).text
    assert press(client, page, "move", "pass").status_code == 409


def test_a_paused_game_offers_no_choices(client: FlaskClient, table: Any):
    game = table(3)
    seller = sale_out_of_turn(game)
    seat = asked(game)
    for number in (seat, seller):
        assert look(client, url(game, number)).form("play").buttons
    assert "If you miss the deadline" in look(client, url(game, seat)).text
    play.moderate(game.id, "!pause", reason="A storm", person_id=_moderator(), now=NOW)
    for number in range(3):
        page = look(client, url(game, number))
        assert page.form("play").buttons == []
        assert "If you miss the deadline" not in page.text
        assert "<title>The Golden Horn" in page.html
    play.moderate(game.id, "!abandon", reason="Enough", person_id=_moderator(), now=NOW)
    page = look(client, url(game, seat))
    assert "<title>The Golden Horn" in page.html
    beside = {f"{url(game, seat)}/{what}" for what in ("notes", "again")}
    assert {form.get("action") for form in page.root.iter("form")} <= {"/language", *beside}


def sale_out_of_turn(game: Any) -> int:
    """Play until somebody who is not asked could sell; return that seat."""
    for number in range(400):
        now = position(game.id)
        mover = min(now.awaited)
        for seat in range(len(game.tokens)):
            sales = now.rules.out_of_turn_moves(now.state, seat)
            if seat != mover and now.awaited[mover].kind == "bid" and sales:
                return seat
        make(game, mover, str(now.rules.moves(now.state, mover)[0]), f"n{number}")
    raise AssertionError("nobody could sell")


def strip(page: Page) -> str:
    """Return what the strip about the move that led to a page says; empty if there is none."""
    strips = [item for item in page.root.iter("section") if item.get("id") == "played"]
    return " ".join("".join(text for item in strips for text in item.itertext()).split())


def test_after_a_move_the_page_asks_again_if_it_is_ones_turn_again(client: FlaskClient, table: Any):
    game = table(3)
    good = next(card for card in position(game.id).view(0).hand if card != "merchant")
    seq = make(game, 0, f"bid {good}")
    path = f"{url(game, 0)}?played={seq}"
    waiting = look(client, path)
    assert "<title>The Golden Horn<" in waiting.html
    assert "Bob is bidding." in strip(waiting)
    assert waiting.text.count("Bob is bidding.") == 1  # the news is told once
    assert "data-yours" in waiting.html
    assert f'href="{url(game, 0)}/orders">Plan ahead' in waiting.html
    for seat in (1, 2):
        make(game, seat, "pass")
    assert asked(game) == 0
    again = look(client, path)
    assert "<title>● Your turn · The Golden Horn<" in again.html
    assert "Your turn again, Alice" in again.text
    assert "is bidding" not in strip(again)
    assert again.form("play").buttons
    assert "data-yours" not in again.html


def test_an_ended_game_shows_the_result(client: FlaskClient, table: Any):
    game = table(3)
    seat = asked(game)
    page = look(client, url(game, seat))
    play.moderate(game.id, "!abandon", reason="Enough", person_id=_moderator(), now=NOW)
    assert "The game is over" in look(client, url(game, seat)).text
    answer = press(client, page, "move", "pass")
    assert answer.status_code == 409
    assert "The game is over" in answer.text


@pytest.mark.parametrize(
    ("winners", "scores", "said"),
    [
        ((2,), (12, 20, 27), "You came 3rd with 12. Charlie won with 27."),
        ((0,), (27, 20, 12), "You won with 27!"),
        ((0, 1), (27, 27, 12), "You share the win with Bob: 27 each."),
        ((1, 2), (12, 27, 27), "You came 3rd with 12. Bob and Charlie share the win with 27 each."),
    ],
)
def test_the_ended_game_says_first_which_place_is_ones_own(
    client: FlaskClient,
    table: Any,
    monkeypatch: pytest.MonkeyPatch,
    winners: tuple[int, ...],
    scores: tuple[int, ...],
    said: str,
):
    game = table(3)
    monkeypatch.setattr(Byzanz, "places", lambda *_: placed(scores))
    with engine.transaction() as session:
        row = session.get_one(Game, game.id)
        row.status, row.ended_at = "over", NOW
        row.result = json.dumps({"scores": scores, "winners": winners, "reason": "finished"})
    page = look(client, url(game, 0))
    (heading,) = page.root.iter("h1")
    assert " ".join("".join(heading.itertext()).split()) == said


def _moderator() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mod@example.org", "Mo", NOW).id


def test_it_names_the_time_zone(client: FlaskClient, table: Any):
    game = table(3)
    seat = asked(game)
    start_clock(game.id, seat, NOW)
    assert 'title="Tue 3 Mar, 10:00 (UTC)"' in look(client, url(game, seat)).html
    assert 'title="Tue 3 Mar, 10:00 (UTC)"' in look(client, url(game, seat + 1)).html
    with engine.transaction() as session:
        session.get_one(Person, game.people[seat]).time_zone = "America/New_York"
    assert 'title="Tue 3 Mar, 05:00 (New York)"' in look(client, url(game, seat)).html


@pytest.mark.parametrize(
    ("later", "bank", "line"),
    [
        (timedelta(0), 0, "24 h left (Tue 10:00)"),
        (timedelta(minutes=29), 0, "24 h left (Tue 10:00)"),
        (timedelta(minutes=31), 0, "23 h left (Tue 10:00)"),
        (timedelta(hours=14, minutes=1), 0, "9 h 59 min left (Tue 10:00)"),
        (timedelta(0), 172_800, "24 h left (Tue 10:00) + 2 days in the bank"),
        (timedelta(hours=25), 172_800, "47 h left in your time bank (Thu 10:00)"),
    ],
)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_clock_is_one_line(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch, later: timedelta, bank: int, line: str
):
    game = table(3, bank=bank)
    start_clock(game.id, 0, NOW)
    monkeypatch.setattr("server.web.seat.turn.utc_now", lambda: NOW + later)
    assert f" {line} " in look(client, url(game, 0)).text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_deadline_in_more_than_six_days_is_told_with_its_date(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch
):
    game = table(3, allowance=7 * 86400)
    start_clock(game.id, 0, NOW)
    monkeypatch.setattr("server.web.seat.turn.utc_now", lambda: NOW)
    assert "168 h left (Mon 9 Mar, 10:00)" in look(client, url(game, 0)).text


def test_it_says_what_is_played_for_a_silent_seat(client: FlaskClient, table: Any):
    game = table(3)
    page = look(client, url(game, asked(game)))
    assert "If you miss the deadline, the server passes for you." in page.text


def test_only_ones_own_last_move_has_a_strip(client: FlaskClient, table: Any):
    game = table(3)
    seq = make(game, 0, "pass")
    assert "You pass." in strip(look(client, f"{url(game, 0)}?played={seq}"))
    assert strip(look(client, url(game, 0))) == ""
    assert strip(look(client, f"{url(game, 1)}?played={seq}")) == ""
    for other in (0, 1, seq + 1, 9999, 10**20, "x"):
        page = look(client, f"{url(game, 0)}?played={other}")
        assert (page.status, strip(page)) == (200, "")
    play.moderate(game.id, f"!void {seq}", reason="A slip", person_id=_moderator(), now=NOW)
    assert strip(look(client, f"{url(game, 0)}?played={seq}")) == ""


def test_the_address_of_a_former_receipt_leads_to_the_table(client: FlaskClient, table: Any):
    game = table(3)
    seq = make(game, 0, "pass")
    answer = client.get(f"{url(game, 0)}/receipt/{seq}")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{url(game, 0)}?played={seq}")


def test_a_signed_in_player_is_led_to_the_next_game(client: FlaskClient, table: Any):
    first, second, third = table(3, "g1"), table(3, "g2"), table(3, "g3")
    seq = make(first, 0, "pass")
    path = f"{url(first, 0)}?played={seq}"
    page = look(client, path)
    assert "It is your turn in 2 other games. Email me the links" in strip(page)
    assert second.tokens[0] not in page.html
    log_in(client, first.people[0])
    page = look(client, path)
    assert "Next game: The Golden Horn 1 more game is waiting for you" in strip(page)
    assert (second.tokens[0] in page.html) != (third.tokens[0] in page.html)
    assert "<title>(2) The Golden Horn<" in page.html
    log_in(client, first.people[1])
    page = look(client, path)
    assert "It is your turn in 2 other games. Email me the links" in strip(page)
    assert second.tokens[0] not in page.html


def test_nothing_is_said_of_other_games_where_none_waits(client: FlaskClient, table: Any):
    game, other = table(3), table(3, "other")
    make(other, 0, "pass")
    seq = make(game, 0, "pass")
    path = f"{url(game, 0)}?played={seq}"
    assert "other game" not in strip(look(client, path))
    log_in(client, game.people[0])
    assert "Next game" not in strip(look(client, path))


def test_nobody_is_offered_an_email_who_has_no_address(client: FlaskClient, table: Any):
    game, _other = table(3), table(3, "other")
    path = f"{url(game, 0)}?played={make(game, 0, 'pass')}"
    assert "Email me the links" in strip(look(client, path))
    with engine.transaction() as session:
        session.get_one(Person, game.people[0]).email = None
    assert "Email me the links" not in strip(look(client, path))


@pytest.mark.parametrize("slug", NOT_HELD)
def test_a_refusal_names_cards_in_the_words_of_the_game(client: FlaskClient, table: Any, slug: str):
    move, said = NOT_HELD[slug]
    kind, card, *_ = move.split()
    for number in range(20):
        game = table(SEATS[slug], f"{slug}{number}", slug=slug)
        seat = advance(game, kind)
        if card not in position(game.id).view(seat).hand:
            break
    form = {"move": move, "seen": str(count_entries(game.id)), "request_id": "a"}
    answer = read(client.post(url(game, seat), data=form))
    assert answer.status == 422
    assert said in answer.text
    assert said in look(client, f"{url(game, seat)}?move={form['move']}").text


def test_a_second_tab_is_told_what_was_answered(client: FlaskClient, table: Any):
    game = table(3)
    page = look(client, url(game, 0))
    box = next(box for box in page.form("play").boxes if not box.startswith("merchant"))
    assert press(client, page, "verb", "bid", [box]).status_code == 303
    answer = read(client.post(url(game, 0), data={"move": "pass", "seen": "1", "request_id": "second"}))
    assert answer.status == 409
    option = re.search(r"You have already answered: (.*?)\. This second answer was not played\.", answer.text)
    assert option is not None
    assert re.fullmatch(r"Bid \w+ [1-4]", option[1])


def test_names_are_escaped(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, 0)).stored_name = "<script>x</script>&"
    make(game, 0, "pass")
    for path in (url(game, 1), f"{url(game, 1)}/history?at=2", f"/g/{game.id}", f"{url(game, 0)}?played=2"):
        answer = client.get(path)
        assert "<script>x" not in answer.text
        assert "&lt;script&gt;x&lt;/script&gt;&amp;" in answer.text


def test_a_game_that_has_not_begun_waits_kindly(client: FlaskClient, table: Any):
    game = table(3)
    with engine.transaction() as session:
        session.get_one(Game, game.id).status = "inviting"
    assert "The game has not started yet" in look(client, url(game, 0)).text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # it is the pages that are tried here
def test_a_whole_game_is_played_through_its_pages(client: FlaskClient, table: Any):
    game = table(3)
    dice = random.Random(5)
    for _ in range(600):
        now = position(game.id)
        if now.outcome:
            break
        seat = min(now.awaited)
        page = look(client, url(game, seat))
        assert page.status == 200
        move = dice.choice(now.rules.moves(now.state, seat)[:6])
        exact = ("move", str(move))
        if exact in page.form("play").buttons:
            answer = press(client, page, *exact)
        else:
            answer = press(client, page, "verb", move.verb, _ticks(page, move.args))
        assert answer.status_code == 303, answer.text
        assert client.get(answer.headers["Location"]).status_code == 200
    assert (
        "won with" in look(client, f"/g/{game.id}").text
        or "share the win" in look(client, f"/g/{game.id}").text
    )


def _ticks(page: Page, cards: tuple[str, ...]) -> list[str]:
    left = page.form("play").boxes
    return [left.pop(next(i for i, box in enumerate(left) if box.startswith(f"{card}#"))) for card in cards]
