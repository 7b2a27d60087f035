"""In the midst of a year, no list, profile, feed or download shows an onlooker a hidden card of a running game."""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import select

from byzanz.rules import PUBLIC
from server.scheduler import jobs
from server.store import engine
from server.store.models import Game, Person, Standing
from tests.leaks.conftest import NOTHING, Worlds, load
from tests.leaks.test_offered_seats import offer
from tests.support.leaks.calls import Call, answer_to
from tests.support.leaks.pairs import Pair, pair
from tests.support.leaks.worlds import Dice, World
from tests.support.sample_mails import with_replies
from tests.support.year.simulation import Year

RANDOM = re.compile(r'Set-Cookie: [^\n]*|name="csrf_token" value="[^"]*"|Content-Length: \d+')
"""What is random in the answer to a visitor without a cookie."""
STEPS = 40


def of_public(slug: str) -> Pair:
    """Return a pair of worlds that a spectator cannot tell apart."""
    return next(found for found in (pair(slug, seed) for seed in range(60)) if found.viewer == PUBLIC)


@pytest.fixture
def worlds(app: Flask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Worlds]:
    """Let the friends live for a while; return two copies of their server."""
    with_replies(app)
    monkeypatch.setattr(jobs, "steady", lambda: 0.0)
    dice = Dice()
    for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice"):
        monkeypatch.setattr(secrets, name, getattr(dice, name))
    dice.relabel("year")
    year = Year(app=app, seed=5, games=99)
    for _ in range(STEPS):
        year.step()
    with closing(sqlite3.connect(str(engine.db.engine.url.database))) as database:
        database.execute("VACUUM INTO ?", (str(tmp_path / "year.db"),))
    load(dice, monkeypatch)
    made = [
        World(other, tmp_path / f"{other}.db", tmp_path / "year.db", dice, NOTHING, [])
        for other in (False, True)
    ]
    yield Worlds(made[0], made[1], dice)
    for world in made:
        with world.app.app_context():
            engine.db.engine.dispose()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_list_shows_a_hidden_card(worlds: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    for slug in ("empire", "byzantium", "byzanz"):
        worlds.play(of_public(slug))
        for world in (worlds.one, worlds.other):
            offer(world, 0)
        calls = [*lists(worlds.one)]
        assert len(calls) > 20
        assert not [str(call) for call in calls if differs(worlds, call)]
    monkeypatch.setattr("server.web.lobby.open_tables.PUBLIC", "all")
    assert differs(worlds, Call("GET", f"/take/{worlds.one.game_id}/0", "Sam")), "a hand would be found"


def differs(worlds: Worlds, call: Call) -> bool:
    """Whether the answers of two worlds differ."""
    pages = [RANDOM.sub("", world.mask(answer_to(call, world))) for world in (worlds.one, worlds.other)]
    assert not pages[0].startswith("500"), str(call)
    return pages[0] != pages[1]


def lists(world: World) -> Iterator[Call]:
    """Return what lists games and people, as a visitor, as somebody from outside and as the friends."""
    with world.app.app_context(), engine.transaction() as session:
        ended = session.execute(
            select(Standing.game_id, Person.name, Person.id).join(Person, Person.id == Standing.person_id)
        ).all()
        assert session.scalars(select(Game.id).where(Game.status == "running")).first()
    for who in (None, "Sam", "Felix"):
        for path in ("/", "/tables", "/api/v1/tables", "/p/Alice-handle", "/api/v1/people/Alice-handle"):
            yield Call("GET", path, who)
    for game_id, name, _person in ended[:4]:
        for path in (f"/g/{game_id}", f"/g/{game_id}/group", f"/g/{game_id}/group.csv"):
            yield Call("GET", path, name)
    for path in ("habits", "results.csv", "results.json", "answers"):
        yield Call("GET", f"/account/{path}", "Felix")
