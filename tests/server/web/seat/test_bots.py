"""The page after a move shows what bots have done, if they answer soon."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server import play
from server.lobby import create
from server.scheduler import jobs
from server.store import engine, links
from server.store.models import LinkPurpose, Seat, Turn
from server.validation import Guest
from server.web.seat import turn
from tests.conftest import NOW
from tests.support.games import asked, url
from tests.support.pages import Page, look, press


@pytest.fixture
def alone(app: Flask) -> tuple[str, str]:  # noqa: ARG001 - requested for its context
    """Start a game of one person against two bots, and return its id and the path of their seat."""
    game = create.quick_game(
        slug="byzanz",
        players=[Guest("Ann", "ann@example.org")],
        bots=["greedy", "greedy"],
        start=True,
        now=NOW,
    )
    with engine.transaction() as session:
        person = session.query(Seat).filter_by(game_id=game, seat=0).one().person_id
        assert person is not None
        link = links.url(links.link_for(session, LinkPurpose.SEAT, person, game, NOW))
    return game, "/t/" + link.rpartition("/")[2]


def bid(client: FlaskClient, path: str) -> Any:
    """Bid with the first goods of a hand."""
    page = look(client, path)
    box = next(box for box in page.form("play").boxes if not box.startswith("merchant"))
    return press(client, page, "verb", "bid", [box])


def is_asked(page: Page) -> bool:
    """Whether a page asks its player."""
    return "<title>● Your turn" in page.html


def test_bots_that_answer_soon_have_moved_on_the_page_after_a_move(
    app: Flask, client: FlaskClient, alone: tuple[str, str]
) -> None:
    answered = threading.Event()

    def play_bots() -> None:
        with app.app_context():
            while not answered.wait(0.02):
                jobs.tick_bots(NOW)

    thread = threading.Thread(target=play_bots)
    thread.start()
    try:
        answer = bid(client, alone[1])
    finally:
        answered.set()
        thread.join()
    page = look(client, answer.headers["Location"])
    assert is_asked(page)
    assert 'id="played"' in page.html
    assert "data-soon" not in page.html


def test_the_page_comes_without_bots_that_are_slow_and_asks_for_them_soon(
    client: FlaskClient, alone: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "PATIENCE", 0.1)
    page = look(client, bid(client, alone[1]).headers["Location"])
    assert not is_asked(page)
    assert "data-soon" in page.html


def test_nobody_waits_for_people(client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    game = table(3)
    monkeypatch.setattr(turn, "wait", lambda _game: pytest.fail("it waits"))
    assert bid(client, url(game, asked(game))).status_code == 303
    assert "data-soon" not in look(client, url(game, 0)).html


@pytest.mark.parametrize(
    ("is_bot", "only"), [((True, True), True), ((True, False), False), ((False,), False), ((), False)]
)
def test_only_bots_are_to_move_if_nobody_else_is(table: Any, is_bot: tuple[bool, ...], only: bool) -> None:
    game = table(3)
    with engine.transaction() as session:
        session.query(Turn).filter_by(game_id=game.id).delete()
        for seat, bot in enumerate(is_bot):
            session.add(
                Turn(
                    game_id=game.id,
                    seat=seat,
                    question="bid 1",
                    opened_seq=1,
                    opened_at=NOW,
                    bot=bot,
                    hours="{}",
                    bank=0,
                )
            )
    assert turn.only_bots(game.id) is only


def test_only_some_requests_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "_waiting", threading.BoundedSemaphore(1))
    monkeypatch.setattr(turn, "only_bots", lambda _game: pytest.fail("it waits"))
    turn._waiting.acquire()
    turn.wait("g1")
    turn._waiting.release()
    monkeypatch.setattr(turn, "only_bots", lambda _game: False)
    turn.wait("g1")
    assert turn._waiting.acquire(blocking=False), "a request that has waited gives its place back"


def test_a_receipt_knows_whether_only_bots_are_next(alone: tuple[str, str], table: Any) -> None:
    for repeated in (False, True):
        receipt = play.submit(alone[0], 0, "pass", seen=1, request_id="one", now=NOW)
        assert (receipt.repeated, receipt.bots_next) == (repeated, not repeated)
    assert not play.submit(table(3).id, 0, "pass", seen=1, request_id="one", now=NOW).bots_next
