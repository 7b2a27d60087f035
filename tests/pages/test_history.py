"""The public page of a game and its history: what each reader may read, and the table at any entry."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from byzanz.games.byzanz_cards import NAME
from server import db, log, people, play
from server.schema import Game, Seat
from tests.conftest import NOW
from tests.pages.browsing import Page, look
from tests.pages.playing import advance, asked, entries, make, position, url

LINE = re.compile(r'<li id="e(\d+)"')


def moderator() -> int:
    with db.transaction() as session:
        return people.person_at(session, "mod@example.org", "Mo", NOW).id


def seqs(page: Page) -> list[int]:
    return [int(seq) for seq in LINE.findall(page.html)]


def paths(game: Any) -> list[str]:
    return [f"/g/{game.id}/history", f"{url(game, 0)}/history"]


def test_it_lists_every_entry_with_its_time(client: FlaskClient, table: Any):
    game = table(4)
    advance(game, "take")
    for path in paths(game):
        page = look(client, path)
        assert seqs(page) == list(range(1, entries(game.id) + 1))
        assert page.html.count("<time datetime=") == entries(game.id)
        assert "The cards are shuffled and dealt." in page.text


def test_the_order_of_the_cards_is_told_to_nobody_while_the_game_runs(client: FlaskClient, table: Any):
    game = table(4)
    for path in [*paths(game), f"/g/{game.id}", f"/g/{game.id}/history?at=1"]:
        answer = client.get(path)
        assert not any(name in answer.text for name in NAME if name != "merchant")
        assert bytes(32).hex() not in answer.text


def test_others_never_learn_whether_a_move_was_forced(client: FlaskClient, table: Any):
    game = table(3)
    forced = None
    while forced is None:
        now = position(game.id)
        mover = min(now.awaited)
        seq = make(game, mover, str(now.rules.moves(now.state, mover)[-1]))
        with db.reading() as session:
            made = log.entries(session, game.id, after=seq)
        forced = next((entry for entry in made if entry.by == "rules"), None)
    assert forced.seat is not None
    others = [f"/g/{game.id}/history", f"{url(game, (forced.seat + 1) % 3)}/history"]
    assert "no other choice" in line(look(client, f"{url(game, forced.seat)}/history"), forced.seq)
    for path in others:
        assert "no other choice" not in line(look(client, path), forced.seq)
        assert forced.seq not in seqs(look(client, f"{path}?cause=rules"))


def line(page: Page, seq: int) -> str:
    """The line of an entry."""
    item = next(item for item in page.root.iter("li") if item.get("id") == f"e{seq}")
    return " ".join("".join(item.itertext()).split())


def test_it_shows_the_table_as_it_stood(client: FlaskClient, table: Any):
    game = table(4)
    hand = position(game.id).view(0).hand
    advance(game, "take")
    page = look(client, f"{url(game, 0)}/history?at=1")
    drawn = re.search(r'aria-label="Hand of Alice">(.*?)</ul>', page.html)
    assert drawn
    assert drawn[1].count("<li>") == len(hand)
    assert "Hand of Bob" not in page.html
    assert 'rel="next"' in page.html
    assert 'rel="prev"' not in page.html
    last = look(client, f"/g/{game.id}/history?at={entries(game.id)}")
    assert 'rel="next"' not in last.html
    assert "Hand of" not in last.html


@pytest.mark.parametrize("query", ["at=0", "at=99999", "at=x", "at=-1", "at=²", "at=" + "9" * 40, "before=x"])
def test_an_entry_that_is_not_there_gets_one_clear_line(client: FlaskClient, table: Any, query: str):
    game = table(3)
    for path in paths(game):
        answer = client.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert "There is no entry" in answer.text


def test_it_filters_by_seat_and_cause(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    make(game, 1, "pass")
    path = f"/g/{game.id}/history"
    assert seqs(look(client, f"{path}?seat=1")) == [3]
    assert seqs(look(client, f"{path}?cause=chance")) == [1]
    assert seqs(look(client, f"{path}?seat=1&cause=chance")) == []
    assert seqs(look(client, f"{path}?seat=<b>&cause=nobody")) == [1, 2, 3]


def test_what_was_taken_back_is_struck(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    make(game, 1, "pass")
    play.moderate(game.id, "!void 3", reason="Bob slipped <i>", person_id=moderator(), now=NOW)
    page = look(client, f"/g/{game.id}/history")
    assert "<s>Bob passes.</s>" in page.html
    assert "<s>Alice passes.</s>" not in page.html
    assert "taken back by entry 4" in page.text
    assert html.escape("Bob slipped <i>") in page.html
    assert "Bob slipped" in look(client, url(game, 1)).text


def test_an_ended_game_is_open_to_all(client: FlaskClient, table: Any):
    game = table(3)
    make(game, 0, "pass")
    play.moderate(game.id, "!abandon", reason="Enough", person_id=moderator(), now=NOW)
    page = look(client, f"/g/{game.id}")
    assert "It was ended before its time; nobody wins." in page.text
    assert bytes(32).hex() in page.html
    assert f"/api/v1/games/{game.id}/record" in page.html
    for path in (f"/g/{game.id}", f"/g/{game.id}/history?at=1", f"{url(game, 0)}/history?at=1"):
        shown = look(client, path).html
        assert all(f"Hand of {name}" in shown for name in ("Alice", "Bob", "Charlie"))


def test_a_running_game_shows_commitment_and_cuts_to_everybody(client: FlaskClient, table: Any):
    game = table(3)
    with db.transaction() as session:
        session.get_one(Seat, (game.id, 1)).cut = "<img src=x>"
        session.get_one(Seat, (game.id, 2)).uncut = True
        commitment = session.get_one(Game, game.id).commitment
    page = look(client, f"/g/{game.id}")
    assert commitment in page.html
    assert "<img" not in page.html
    assert "“<img src=x>”" in page.text
    assert "offered by the server" in page.text
    assert "Hand of" not in page.html


def test_before_the_start_only_names_are_shown(client: FlaskClient, table: Any):
    game = table(3)
    with db.transaction() as session:
        session.get_one(Game, game.id).status = "inviting"
        session.get_one(Seat, (game.id, 2)).status = "invited"
    page = look(client, f"/g/{game.id}")
    assert "Alice" in page.text
    assert "Charlie" not in page.text
    assert "Cut of" not in page.text
    assert client.get(f"/g/{game.id}/history").status_code == 404


@pytest.mark.parametrize("game_id", ["nobody", "x" * 100, "a b", "%00", "..", "asked"])
def test_an_unknown_game_is_not_found(client: FlaskClient, table: Any, game_id: str):
    game = table(3, "asked")
    with db.transaction() as session:
        session.get_one(Game, game.id).status = "asked"
    for path in (f"/g/{game_id}", f"/g/{game_id}/history"):
        assert client.get(path).status_code == 404


def test_a_game_set_aside_says_so(client: FlaskClient, table: Any):
    game = table(3)
    with db.transaction() as session:
        session.get_one(Game, game.id).quarantine = "entry 2 is secret nonsense"
    for path in (url(game, 0), f"/g/{game.id}", *paths(game)):
        answer = client.get(path)
        assert answer.status_code == 409
        assert "This game is set aside" in answer.text
        assert "nonsense" not in answer.text


def test_a_long_log_comes_in_pages(client: FlaskClient, table: Any):
    game = table(3)
    person = moderator()
    for number in range(401):
        play.moderate(game.id, "!note", reason=f"Note {number}", person_id=person, now=NOW)
    page = look(client, f"/g/{game.id}/history")
    assert seqs(page) == list(range(3, 403))
    assert f"/g/{game.id}/history?before=3" in page.html
    assert seqs(look(client, f"/g/{game.id}/history?before=3")) == [1, 2]
    assert 1 in seqs(look(client, f"/g/{game.id}/history?at=1"))


def test_each_end_has_its_sentence(client: FlaskClient, table: Any):
    game = table(3)
    asked(game)
    with db.transaction() as session:
        row = session.get_one(Game, game.id)
        row.status, row.result = "over", '{"scores":[7,7,3],"winners":[0,1],"reason":"finished"}'
    assert "Alice and Bob share the win with 7 each." in look(client, f"/g/{game.id}").text
    with db.transaction() as session:
        session.get_one(Game, game.id).result = '{"scores":[7,6,3],"winners":[0],"reason":"finished"}'
    assert "Alice wins with 7." in look(client, f"/g/{game.id}").text
