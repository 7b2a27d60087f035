"""The finished games that the form for records offers, and text from strangers on a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from hypothesis import example, given
from hypothesis import strategies as st

from server.mail.text import quoted
from server.store import engine
from server.store.models import Game, Seat
from server.web.game import verify
from server.web.lobby import new_game
from tests.conftest import NOW, Table
from tests.support.pages import log_in, look

Begin = Callable[..., Table]


def finished(table: Begin, game_id: str, hours: int, *, listed: bool = True) -> Table:
    """Start a game and end it some hours later."""
    game = table(3, game_id)
    with engine.transaction() as session:
        row = session.get_one(Game, game_id)
        row.status, row.ended_at, row.listed = "over", NOW + timedelta(hours=hours), listed
    return game


def offered(client: FlaskClient) -> list[str]:
    return re.findall(r'href="/g/(\w+)/verify"', look(client, "/verify").html)


def test_finished_games_are_offered_the_newest_first_as_many_as_fit(
    client: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for game_id, hours in (("second", 2), ("third", 1), ("first", 3)):
        finished(table, game_id, hours)
    assert offered(client) == ["first", "second", "third"]
    monkeypatch.setattr(verify, "MOST_OFFERED", 2)
    assert offered(client) == ["first", "second"]


def test_games_that_are_not_listed_are_offered_to_their_players_alone(
    client: FlaskClient, table: Begin
) -> None:
    own = finished(table, "own", 1, listed=False)
    finished(table, "left", 2, listed=False)
    finished(table, "held", 3)
    table(3, "running")
    with engine.transaction() as session:
        session.get_one(Seat, ("left", 0)).status = "declined"
        session.get_one(Game, "held").quarantine = quoted("a fault")
        session.get_one(Game, "running").listed = True
    assert offered(client) == []
    for seat, expected in ((0, ["own"]), (1, ["left", "own"])):
        log_in(client, own.people[seat])
        assert offered(client) == expected


@given(st.text(max_size=60), st.integers(2, 40))
@example("nine signs", 10)
def test_a_strangers_text_is_printable_and_short(text: str, most: int) -> None:
    shown = verify.printable(text, most)
    kept = "".join(sign for sign in text if sign.isprintable())
    assert shown.isprintable()
    assert shown == (kept if len(kept) <= most else kept[: most - 1] + "…")


def test_text_of_a_form_keeps_its_lines_and_loses_what_no_page_may_contain() -> None:
    assert new_game.form_text("a\x00b\r\nc\x1b\u2028d\ud800\te") == "ab\r\ncde"
