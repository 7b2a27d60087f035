"""A database of the baseline, with games in progress, is upgraded: its links open, its games go on and verify.

`databases/0033.sql` was written by the commit before the baseline, under the tests' secret key. All games in it but one
were made by the very first version, which had migration 0001 alone: their records have the first format, and their
entries know no seconds.
"""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import func, select

from byzanz import record
from server import create_app
from server.community import results
from server.play import positions
from server.store import engine, links, log, migrate
from server.store.models import Conduct, Entry, Game, Link, LinkPurpose, Seat, Standing
from tests.conftest import settings
from tests.support.games import loaded

DUMP = Path(__file__).parent / "databases" / "0033.sql"
MAILED = {
    "t/7c26sykv54thrukk2ol75ng7mo": "The running one",
    "t/zxblkkntvfwoe67mohzfu3p6z7": "The running one",
    "t/ef6fhw6pauhvzwb3ryrcutdqm6": "The running one",
    "t/cmcikz5xpatuo2x6cvxtsiy55j": "The finished one",
    "t/y4tmnw7w6gjjinrz7fwhjjnman": "The voided one",
    "t/f7hvij6d6em5nco56hkujbe6jc": "The second format",
    "t/3uef4j5eyfx7nqaqvqod65j6hy": "The second format",
}
"""Links as they stood in emails, with the names of their games."""


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Flask]:
    """The application on the old database, upgraded."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(DUMP.read_text())
    connection.close()
    app = create_app(settings(f"sqlite:///{path}"))
    with app.app_context():
        migrate.upgrade()
        yield app
        engine.db.engine.dispose()


def test_links_that_were_mailed_still_open_their_seats(old: Flask) -> None:
    client = old.test_client()
    for path, name in MAILED.items():
        answer = client.get(f"/{path}")
        assert answer.status_code == 200, path
        assert name in answer.text


@pytest.mark.parametrize(("name", "record_format"), [("The running one", 1), ("The second format", 2)])
def test_a_running_game_takes_the_next_move(old: Flask, name: str, record_format: int) -> None:
    with engine.reading() as session:
        game = session.scalars(select(Game).where(Game.name == name)).one()
        assert game.record_format == record_format
        position = positions.current(loaded(session, game.id))
        seat = min(position.awaited)
        move = str(position.rules.moves(position.state, seat)[0])
        person = session.get_one(Seat, (game.id, seat)).person_id
        own = (Link.game_id == game.id, Link.person_id == person, Link.purpose == LinkPurpose.SEAT)
        (link,) = links.select_rows(session, *own)
        token, head = links.token(link), game.head
    body = {"move": move, "seen": head, "request_id": "after-the-upgrade"}
    answer = old.test_client().post(f"/api/v1/seats/{token}/moves", json=body)
    assert (answer.status_code, answer.json) == (201, {"seq": head + 1})


@pytest.mark.usefixtures("old")
def test_every_game_has_its_whole_log_and_replays() -> None:
    with engine.reading() as session:
        games = session.scalars(select(Game).where(Game.head > 0)).all()
        assert len(games) == 4
        for game in games:
            counted = session.scalar(select(func.count()).where(Entry.game_id == game.id))
            assert counted == game.head
            table = loaded(session, game.id)
            earlier = log.entries(session, game.id, upto=game.head - 1)
            positions.replay(table.game, len(table.seats), positions.rules_of(table.game), earlier)


def test_a_finished_game_verifies(old: Flask) -> None:
    with engine.reading() as session:
        game = session.scalars(select(Game).where(Game.status == "over")).one()
        text = old.test_client().get(f"/api/v1/games/{game.id}/record").text
    record.verify(next(iter(record.read(io.StringIO(text)))))


@pytest.mark.usefixtures("old")
def test_a_finished_game_is_counted_though_its_answers_have_no_times() -> None:
    with engine.reading() as session:
        game = session.scalars(select(Game).where(Game.status == "over")).one()
    assert results.count(game.id, engine.utc_now())
    with engine.reading() as session:
        assert session.scalars(select(Standing.place).where(Standing.game_id == game.id)).all()
        assert set(session.scalars(select(Conduct.answers))) == {"[]"}


def test_every_position_of_its_history_is_drawn(old: Flask) -> None:
    client = old.test_client()
    pages = [f"/{path}/history" for path in MAILED]
    for page in pages:
        answer = client.get(page)
        assert answer.status_code == 200, page
        for seq in re.findall(r"at=(\d+)", answer.text)[:3]:
            assert client.get(f"{page}?at={seq}").status_code == 200
