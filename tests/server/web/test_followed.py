"""What followed from a move: said by the game, told on pages and in emails, and never a reason for a game to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from babel.support import NullTranslations
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete, select, update

from byzanz import games
from byzanz.moves import Message
from server import i18n, play
from server.play import history, positions
from server.store import engine, people
from server.store.models import Game, Seat, Snapshot
from tests.conftest import NOW, Table
from tests.support.costs import listing, statements
from tests.support.folders import example
from tests.support.games import loaded, position, submit
from tests.support.mails import html_of, one_database, send_waiting, text_of, words_of

pytestmark = one_database
LATER = NOW + timedelta(minutes=10)
PLAYERS = ("Ann <b>", "Bob", "Cid")
DEUTSCH = {
    "You bid %(bid)s and win %(prizes)s.": "Du bietest %(bid)s und gewinnst %(prizes)s.",
    "%(name)s bids %(bid)s and wins %(prizes)s.": "%(name)s bietet %(bid)s und gewinnt %(prizes)s.",
}


@pytest.fixture(autouse=True)
def goofspiel(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Add Goofspiel to the games."""
    rules = example("goofspiel").Goofspiel()
    monkeypatch.setattr(games, "_added", [rules])
    return rules


@pytest.fixture
def game(app: Flask, table: Callable[..., Table], goofspiel: Any) -> Table:  # noqa: ARG001
    begun = table(3, slug="goofspiel")
    with engine.transaction() as session:
        for seat, name in enumerate(PLAYERS):
            session.execute(
                update(Seat).where(Seat.game_id == begun.id, Seat.seat == seat).values(stored_name=name)
            )
    return begun


def bids(game: Table, *cards: int) -> None:
    """Let the seats bid, seat 0 first."""
    for seat, card in enumerate(cards):
        submit(game.id, seat, f"bid {card}")


def prize(game: Table, round_: int = 1) -> str:
    """The prize that was turned over in a round."""
    with engine.reading() as session:
        deal = history.load(loaded(session, game.id), "all").entries[0].move
    return deal.split(" ")[1 + round_]


def text_at(client: FlaskClient, path: str, language: str = "en") -> str:
    answer = client.get(path, headers={"Accept-Language": language})
    assert answer.status_code == 200
    page = answer.get_data(as_text=True)
    assert "Ann <b>" not in page
    return words_of(page)


def test_the_winner_of_a_round_is_told_on_every_page(game: Table, client: FlaskClient) -> None:
    submit(game.id, 0, "bid 13")
    for token in game.tokens:
        assert "and win" not in text_at(client, f"/t/{token}")
    submit(game.id, 1, "bid 2")
    submit(game.id, 2, "bid 1")
    won = f"Ann <b> bids 13 and wins {prize(game)}."
    assert (
        text_at(client, f"/t/{game.tokens[0]}").count(f"You bid 13 and win {prize(game)}.") == 2
    )  # strip and log
    assert won not in text_at(client, f"/t/{game.tokens[0]}")
    assert text_at(client, f"/t/{game.tokens[1]}").count(won) == 2
    assert f"Cid: bid 1. {won}" in text_at(client, f"/t/{game.tokens[1]}")
    assert f"Cid: bid 1. {won}" in text_at(client, f"/g/{game.id}")
    assert f"Cid: bid 1. {won}" in text_at(client, f"/g/{game.id}/history")
    assert f"Cid: bid 1. {won}" in text_at(client, f"/g/{game.id}/history?at=4")


def test_the_last_to_choose_is_told_after_the_move_and_later_in_the_log(
    game: Table, client: FlaskClient
) -> None:
    bids(game, 13, 2, 1)
    won = f"Ann <b> bids 13 and wins {prize(game)}."
    assert text_at(client, f"/t/{game.tokens[2]}?played=4").count(won) == 2  # strip and log
    later = text_at(client, f"/t/{game.tokens[2]}")
    assert later.count(won) == 2  # strip and log


def test_a_tie_names_the_reader_as_you(game: Table, client: FlaskClient) -> None:
    bids(game, 9, 3, 9)
    carried = f"Carried over: {prize(game)}."
    assert f"Tie at 9: you and Cid. {carried}" in text_at(client, f"/t/{game.tokens[0]}")
    assert f"Tie at 9: Ann <b> and Cid. {carried}" in text_at(client, f"/t/{game.tokens[1]}")
    bids(game, 1, 2, 4)
    assert f"You bid 4 and win {prize(game)} and {prize(game, 2)}." in text_at(client, f"/t/{game.tokens[2]}")


def test_the_email_of_a_turn_says_it(game: Table) -> None:
    send_waiting(NOW)
    bids(game, 13, 2, 1)
    found = send_waiting(LATER)
    won, own = f"Ann <b> bids 13 and wins {prize(game)}.", f"You bid 13 and win {prize(game)}."
    texts = [text_of(mail) for mail in found]
    assert len(texts) == 3
    assert sum(f"- {won}\n" in text for text in texts) == 2
    assert sum(f"- {own}\n" in text for text in texts) == 1
    assert sum(won in words_of(html_of(mail)) for mail in found) == 2
    assert all("Ann <b>" not in html_of(mail) for mail in found)


def test_it_is_translated_by_the_catalogue(
    game: Table, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    bids(game, 13, 2, 1)

    class German(NullTranslations):
        def gettext(self, message: str) -> str:
            return DEUTSCH.get(message, message)

        ugettext = gettext

    monkeypatch.setattr(i18n, "translations", lambda *_: German())
    assert f"Du bietest 13 und gewinnst {prize(game)}." in text_at(client, f"/t/{game.tokens[0]}", "de")
    assert f"Ann <b> bietet 13 und gewinnt {prize(game)}." in text_at(client, f"/t/{game.tokens[1]}", "de")


def test_no_page_replays_the_log_for_it(
    game: Table, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    bids(game, 13, 2, 1)
    send_waiting(NOW)
    first = prize(game)
    monkeypatch.setattr(positions, "replay", None)
    monkeypatch.setattr(history, "load", None)
    with statements(engine.db.engine) as sent:
        assert f"and wins {first}." in text_at(client, f"/t/{game.tokens[1]}")
    assert len(sent) <= 6 + 2, listing(sent)  # what is sealed follows from the log and the seats, as before
    with statements(engine.db.engine) as sent:
        submit(game.id, 1, "bid 9")
    assert len(sent) <= 11 + 1, listing(sent)  # `submit` of the tests reads the head


def test_without_a_snapshot_it_is_told_from_the_log(game: Table, client: FlaskClient) -> None:
    bids(game, 13, 2, 1)
    bids(game, 1, 3, 13)
    before = text_at(client, f"/t/{game.tokens[1]}")
    for broken in ("[]", "[]\n{}", None):
        with engine.transaction() as session:
            if broken is None:
                session.execute(delete(Snapshot).where(Snapshot.game_id == game.id))
            else:
                session.execute(update(Snapshot).where(Snapshot.game_id == game.id).values(state=broken))
        assert text_at(client, f"/t/{game.tokens[1]}") == before
    with engine.reading() as session:
        row = session.get_one(Game, game.id)
        lines = history.load(loaded(session, row.id), 1).lines
        assert positions.by_seq(positions.current(loaded(session, row.id)).followed) == {
            seq: line for seq, line in enumerate(lines, 1) if line
        }


def test_what_is_undone_is_not_told(game: Table, client: FlaskClient) -> None:
    bids(game, 13, 2, 1)
    bids(game, 1, 3, 13)
    assert sorted(positions.by_seq(position(game.id).followed)) == [4, 7]
    with engine.transaction() as session:
        mia = people.get_or_create(session, "mia@example.org", "Mia", NOW)
        mia.moderator = True
        mia_id = mia.id
    play.moderate(game.id, "!void 6", reason="because", person_id=mia_id, now=NOW)
    assert sorted(positions.by_seq(position(game.id).followed)) == [4]
    page = text_at(client, f"/g/{game.id}")
    assert f"wins {prize(game)}." in page
    assert f"wins {prize(game, 2)}." not in page


def test_only_the_newest_is_kept(game: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "NEWEST", 4)
    for card in (1, 2, 3):
        bids(game, card, card + 1, card + 2)
    assert sorted(positions.by_seq(position(game.id).followed)) == [7, 10]


def fails(*_views: Any) -> Sequence[Message]:
    raise RuntimeError


@pytest.mark.parametrize(
    "broken",
    [
        fails,
        lambda *_: [Message("%(name)s wins.")],
        lambda *_: [Message("Won.", {}, {"name": 1}, "You win %(points)s.")],
        lambda *_: [Message("%(card)s", {"card": object()})],
        lambda *_: None,
    ],
)
def test_a_game_that_fails_to_say_it_goes_on(
    game: Table, client: FlaskClient, goofspiel: Any, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    monkeypatch.setattr(type(goofspiel), "followed", lambda _self, *views: broken(*views))
    bids(game, 13, 2, 1)
    with engine.reading() as session:
        assert session.scalar(select(Game.head).where(Game.id == game.id)) == 4
    for path in (f"/t/{game.tokens[1]}", f"/g/{game.id}", f"/g/{game.id}/history"):
        assert "Cid: bid 1." in text_at(client, path)


def test_it_is_asked_with_what_all_may_see(
    game: Table, goofspiel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewers: set[Any] = set()

    def ask(_self: Any, before: Any, after: Any) -> tuple[()]:
        viewers.update((before.viewer, after.viewer))
        return ()

    monkeypatch.setattr(type(goofspiel), "followed", ask)
    bids(game, 13, 2, 1)
    with engine.reading() as session:
        history.load(loaded(session, game.id), "all")
    assert viewers == {"public"}
