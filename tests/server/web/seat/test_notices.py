"""What a seat's page says besides the table: the latest entries, email that does not arrive, the time zone."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from server import play
from server.mail.text import quoted
from server.store import engine
from server.store.models import Game, Link, Person, Turn
from server.web.seat import turn
from tests.conftest import NOW
from tests.support.games import asked, make, make_reader, position, seqs, start_clock, url
from tests.support.pages import log_in, look


def noted(game: Any, count: int) -> None:
    """Add entries that are nobody's moves."""
    for number in range(count):
        play.moderate(game.id, "!note", reason=f"Note {number}", person_id=make_reader(), now=NOW)


def test_the_latest_entries_since_ones_own_move_are_shown_and_the_rest_is_in_the_history(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "MOST_RECENT", 3)
    game = table(3)
    monkeypatch.setattr(turn, "LATEST", 0)
    assert seqs(look(client, url(game, 1))) == [1]
    own = make(game, 0, "pass")
    page = look(client, url(game, 0))
    assert (seqs(page), "Since your last move" in page.text) == ([], False)
    noted(game, 3)
    for path in ("", f"?played={own}"):
        page = look(client, url(game, 0) + path)
        assert seqs(page) == [own + 3, own + 2, own + 1], "the newest first"
        assert "Only the latest entries are shown." not in page.text
    noted(game, 1)
    page = look(client, url(game, 0))
    assert seqs(page) == [own + 4, own + 3, own + 2]
    assert "Only the latest entries are shown." in page.text


def test_below_them_stand_the_entries_before_until_there_are_enough(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "LATEST", 4)
    game = table(3)
    noted(game, 3)
    own = make(game, 0, "pass")
    page = look(client, url(game, 0))
    assert (own, seqs(page)) == (5, [5, 4, 3, 2]), "the newest first"
    assert "Latest moves Full history 5 You pass." in page.text
    assert "Before that" not in page.text
    make(game, 1, "pass")
    page = look(client, url(game, 0))
    assert seqs(page) == [6, 5, 4, 3]
    assert page.text.index("Bob passes.") < page.text.index("Before that") < page.text.index("You pass.")
    noted(game, 3)
    page = look(client, url(game, 0))
    assert seqs(page) == [9, 8, 7, 6], "enough happened since"
    assert "Before that" not in page.text


def test_of_many_entries_the_older_ones_are_folded_away(client: FlaskClient, table: Any) -> None:
    game = table(3)
    own = make(game, 0, "pass")
    noted(game, 12)
    assert "earlier" not in client.get(url(game, 0)).text
    noted(game, 3)
    page = client.get(url(game, 0)).text
    shown, folded = page.split('<details class="earlier"><summary>3 earlier entries</summary>')
    last = own + 15
    assert [int(seq) for seq in re.findall(r'id="e(\d+)"', shown)] == list(range(last, last - 12, -1))
    assert [int(seq) for seq in re.findall(r'id="e(\d+)"', folded)] == [own + 3, own + 2, own + 1]


def test_a_stale_form_shows_what_came_since_that_page(client: FlaskClient, table: Any) -> None:
    game = table(3)
    form = {"seen": "1", "request_id": "late", "move": "pass"}
    make(game, 0, "pass")
    noted(game, 1)
    answer = client.post(url(game, 0), data=form)
    assert answer.status_code == 409
    assert "Since you opened this page" in answer.text
    assert 'id="e2"' in answer.text
    assert 'id="e1"' not in answer.text


@pytest.mark.parametrize("column", ["unreachable", "suppressed"])
def test_a_player_whom_no_email_reaches_is_told_until_they_try_again(
    client: FlaskClient, table: Any, column: str
) -> None:
    game = table(3)
    assert 'id="lost"' not in look(client, url(game, 1)).html
    with engine.transaction() as session:
        setattr(session.get_one(Person, game.people[1]), column, quoted("550 no such user"))
    page = look(client, url(game, 1))
    assert 'id="lost"' in page.html
    assert "550 no such user" in page.text
    assert 'id="lost"' not in look(client, url(game, 0)).html
    answer = client.post(f"{url(game, 1)}/mail")
    assert (answer.status_code, answer.headers["Location"]) == (303, url(game, 1))
    assert 'id="lost"' not in look(client, url(game, 1)).html


def test_only_who_has_no_time_zone_of_their_own_is_told_whose_it_is(client: FlaskClient, table: Any) -> None:
    game = table(3)
    start_clock(game.id, 0, NOW)
    assert "Times are in the table’s time zone." in look(client, url(game, 0)).text
    assert "Times are in the table’s time zone." not in look(client, url(game, 1)).text
    with engine.transaction() as session:
        session.get_one(Person, game.people[0]).time_zone = "Asia/Tokyo"
    assert "Times are in the table’s time zone." not in look(client, url(game, 0)).text


def test_the_deadline_of_another_seat_is_told_as_theirs(client: FlaskClient, table: Any) -> None:
    game, other = table(3), table(3, "other")
    start_clock(game.id, 0, NOW)
    assert "Alice has until" not in look(client, url(game, 0)).text
    assert 'title="Tue 3 Mar, 10:00 (UTC)"' in look(client, url(game, 0)).html
    assert "Time is up (due Tue 3 Mar, 10:00)" in look(client, url(game, 1)).text
    assert "h left" not in look(client, url(other, 1)).text
    assert "Your clock starts when the email is sent." in look(client, url(other, 0)).text


def test_the_next_games_are_the_players_own_with_the_newest_live_link(
    client: FlaskClient, table: Any
) -> None:
    first, second, dead = table(3, "g1"), table(3, "g2"), table(3, "g3")
    with engine.transaction() as session:
        for link in session.query(Link).filter_by(game_id=dead.id, person_id=first.people[0]):
            link.revoked_at = NOW
        session.get_one(Game, second.id).name = "The Second"
        session.get_one(Game, dead.id).name = "The Third"
        session.get_one(Turn, (second.id, 0)).opened_at = NOW
    log_in(client, first.people[0])
    seq = make(first, 0, "pass")
    page = look(client, f"{url(first, 0)}?played={seq}")
    links = {
        "".join(item.itertext()): item.get("href", "")
        for item in page.root.iter("a")
        if "/t/" in item.get("href", "") and item.get("href", "").startswith("https:")
    }
    assert links == {"Next game: The Second": f"https://byzanz.test/t/{second.tokens[0]}"}
    assert "<title>(1) The Golden Horn" in page.html


def test_a_player_who_ran_out_of_time_is_told_until_their_next_move(client: FlaskClient, table: Any) -> None:
    said = "You ran out of time earlier, so this was played for you: You pass."
    game = table(3)
    asked_for = start_clock(game.id, 0, NOW).question
    play.time_out(game.id, 0, asked_for, NOW + timedelta(days=2))
    assert said in look(client, url(game, 0)).text
    assert "You ran out of time" not in look(client, url(game, 1)).text
    while asked(game) != 0:
        make(game, asked(game), str(moves_of(game)[0]))
    make(game, 0, str(moves_of(game)[0]))
    assert "You ran out of time" not in look(client, url(game, 0)).text


def moves_of(game: Any) -> Any:
    """Return the moves of the first seat to move."""
    now = position(game.id)
    return now.rules.moves(now.state, asked(game))
