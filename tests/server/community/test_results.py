"""Results of finished games: standings, conduct and reliability, counted once, and again to the same bits."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, select

from server import play
from server.accounts import personal_data
from server.community import reliability, results
from server.errors import NotRunning
from server.lobby import visitors
from server.play import positions
from server.scheduler import jobs
from server.store import engine, log, operations, people
from server.store.models import Conduct, Game, Outage, Person, Reliability, Standing
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.decisions import lived
from tests.support.games import finish, loaded

pytestmark = pytest.mark.usefixtures("app")
Begin = Callable[..., Table]
DAY = timedelta(days=1)
LATER = NOW + timedelta(days=400)
TICK = 5.0


def counted() -> dict[str, list[str]]:
    """Return all that was counted."""
    with engine.reading() as session:
        return {
            table.__tablename__: sorted(map(repr, session.scalars(select(table)).all()))
            for table in (Standing, Conduct, Reliability)
        }


def game_of(game_id: str) -> Game:
    with engine.reading() as session:
        return session.get_one(Game, game_id)


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs trust the clock although no heartbeats are written."""
    monkeypatch.setattr(operations, "enforced_until", lambda _session, now, _tick: now)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_counted_is_what_a_diary_of_the_game_says(table: Begin, seed: int) -> None:
    game = table(3 + seed % 2, f"life{seed}", listed=seed % 2 == 0, bank=3600)
    life = lived(game, seed, NOW)
    assert results.count(game.id, life.now)
    with engine.reading() as session:
        rows = session.scalars(select(Conduct).where(Conduct.game_id == game.id)).all()
    assert {row.person_id for row in rows} >= {each for each in life.holders.values() if each is not None}
    for row in rows:
        assert json.loads(row.answers) == life.expected(row.person_id), row.person_id
        assert row.abandoned == (row.person_id not in life.holders.values())
    assert len({row.ended_at for row in rows}) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4, 40))
def test_a_diary_of_more_games_says_the_same(table: Begin, seed: int) -> None:
    test_what_is_counted_is_what_a_diary_of_the_game_says(table, seed)


def test_counting_one_by_one_and_counting_all_again_give_the_same_bits(table: Begin) -> None:
    games = [
        table(3, f"c{number}", slug="byzantium", listed=number != 1, now=NOW + (number % 2) * DAY)
        for number in range(4)
    ]
    play.leave(games[0].id, 1, now=NOW)
    for number in (2, 0, 3, 1):
        finish(games[number].id, NOW + 2 * DAY)
        assert results.count(games[number].id, NOW + number * DAY)
    first = counted()
    assert len(first["standing"]) == 12
    assert len(first["conduct"]) == 12
    assert len(first["reliability"]) == 3
    assert not results.count(games[0].id, LATER)
    assert counted() == first
    with engine.transaction() as session:
        session.execute(delete(Standing).where(Standing.game_id == games[1].id))
        for row in session.scalars(select(Reliability)):
            row.missed += 7
    assert counted() != first
    assert results.everything(LATER) == 4
    assert counted() == first
    assert game_of(games[0].id).counted_at == LATER


def test_standings_are_the_places_of_the_rules_and_name_who_held_the_seat(table: Begin) -> None:
    game = table(3, slug="byzantium")
    play.leave(game.id, 1, now=NOW)
    finish(game.id, NOW)
    results.count(game.id, NOW)
    with engine.reading() as session:
        rows = session.scalars(select(Standing).order_by(Standing.seat)).all()
        at = positions.current(loaded(session, game.id))
    assert at.outcome is not None
    assert tuple(row.place for row in rows) == at.rules.places(at.state)
    assert tuple(row.score for row in rows) == at.outcome.scores
    assert [row.seat for row in rows if row.place == 1] == list(at.outcome.winners)
    assert [row.person_id for row in rows] == [game.people[0], None, game.people[2]]


@pytest.mark.usefixtures("up")
def test_the_job_counts_finished_games_once(table: Begin) -> None:
    done, running = table(3, "done", slug="byzantium"), table(3, "runs", slug="byzantium")
    off = table(3, "off", slug="byzantium")
    with engine.transaction() as session:  # as one that was called off before it began
        row = session.get_one(Game, off.id)
        row.status, row.started_at, row.ended_at = "cancelled", None, NOW
    assert jobs.tick_results(NOW, TICK) == 0
    finish(done.id, NOW)
    assert jobs.tick_results(NOW, TICK) == 1
    assert jobs.tick_results(NOW, TICK) == 0
    with engine.reading() as session:
        assert not results.due(session, LATER, 9)
    assert (game_of(done.id).counted_at, game_of(running.id).counted_at) == (NOW, None)


@pytest.mark.usefixtures("up")
def test_an_error_in_one_game_leaves_the_others_counted(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [table(3, f"e{number}", slug="byzantium") for number in range(3)]
    for game in games:
        finish(game.id, NOW)
    whole = reliability.of_game

    def faulty(table: Any, held: Any) -> Any:
        if table.game.id == "e1":
            raise RuntimeError("planted")
        return whole(table, held)

    monkeypatch.setattr(reliability, "of_game", faulty)
    assert jobs.tick_results(NOW, TICK) == 2
    monkeypatch.undo()
    monkeypatch.setattr(operations, "enforced_until", lambda _session, now, _tick: now)
    assert jobs.tick_results(NOW, TICK) == 1


def test_a_game_waits_until_every_part_of_the_server_is_known_to_have_been_up(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3, slug="byzantium")
    finish(game.id, NOW)
    for until in (None, NOW - timedelta(seconds=1)):
        monkeypatch.setattr(operations, "enforced_until", lambda *_args, until=until: until)
        assert jobs.tick_results(NOW, TICK) == 0
    with engine.transaction() as session:
        session.add(Outage(part="web", from_at=NOW - DAY, to_at=NOW + DAY))
    monkeypatch.setattr(operations, "enforced_until", lambda *_args: NOW + DAY)
    assert jobs.tick_results(NOW + DAY, TICK) == 1
    with engine.reading() as session:
        assert {row.answers for row in session.scalars(select(Conduct))} == {"[]"}


@pytest.mark.concurrency
def test_two_schedulers_count_each_game_once_and_lose_nothing(app: Flask, table: Begin) -> None:
    games = [table(3, f"s{number}", slug="byzantium", listed=True) for number in range(4)]
    for game in games:
        finish(game.id, NOW)

    def all_of_them() -> int:
        return sum(results.count(game.id, NOW) for game in games)

    def from_the_end() -> int:
        return sum(results.count(game.id, NOW) for game in games[::-1])

    done = at_once(app, all_of_them, from_the_end, all_of_them, from_the_end)
    assert sum(map(int, map(str, done))) == 4
    once = counted()
    results.everything(LATER)
    assert counted() == once
    with engine.reading() as session:
        assert {row.games for row in session.scalars(select(Reliability))} == {4}


def test_a_visitors_game_is_not_counted_until_somebody_keeps_it() -> None:
    for keep in (False, True):
        visitors.start("byzantium", "Guest", NOW, "en")
        with engine.reading() as session:
            [game_id] = session.scalars(select(Game.id).where(Game.trial)).all()
        finish(game_id, NOW)
        assert not results.count(game_id, NOW)
        if keep:
            with engine.transaction() as session:
                ann = people.get_or_create(session, "ann@example.org", "Ann", NOW)
                play.keep_trial(session, game_id, ann, "Ann", NOW)
        else:
            assert play.end_trial(game_id, NOW + 8 * DAY)
        assert results.count(game_id, NOW)
        with engine.reading() as session:
            rows = session.scalars(select(Conduct).where(Conduct.game_id == game_id)).all()
            assert [row.person_id for row in rows] == ([ann.id] if keep else [])
            assert bool(session.scalars(select(Standing).where(Standing.game_id == game_id)).all()) == keep
    assert results.everything(LATER) == 2


def test_the_archive_of_a_person_contains_what_was_counted_of_them(table: Begin) -> None:
    game = table(3, slug="byzantium", listed=True)
    finish(game.id, NOW)
    results.count(game.id, NOW)
    with zipfile.ZipFile(io.BytesIO(b"".join(personal_data.archive(game.people[1])))) as zipped:
        found = {name: json.loads(zipped.read(f"{name}.json")) for name in ("standing", "conduct", "tenure")}
        [shown] = json.loads(zipped.read("reliability.json"))
    assert [row["game_id"] for row in found["conduct"]] == [game.id]
    assert [(row["game_id"], row["seat"]) for row in found["standing"]] == [(game.id, 1)]
    assert [row["seat"] for row in found["tenure"] if row["game_id"] == game.id] == [1]
    assert shown["games"] == 1


def test_a_finished_game_cannot_run_again_so_that_its_result_stays(table: Begin) -> None:
    game = table(3, slug="byzantium")
    finish(game.id, NOW)
    results.count(game.id, NOW)
    with engine.reading() as session:
        seq = max(entry.seq for entry in log.entries(session, game.id) if entry.seat is not None)
    with engine.transaction() as session:
        mia = people.get_or_create(session, "mia@example.org", "Mia", NOW).id
    for act in (f"!void {seq}", "!resume", "!abandon", "!pause"):
        with pytest.raises(NotRunning):
            play.moderate(game.id, act, reason="so", person_id=mia, now=NOW)
    before = counted()
    play.moderate(game.id, "!note", reason="so", person_id=mia, now=NOW)
    results.everything(LATER)
    assert counted() == before


@pytest.mark.changes_busy_table
@pytest.mark.parametrize("first", ["counted", "erased"])
def test_an_erased_person_leaves_the_seat_and_nothing_of_how_they_answered(table: Begin, first: str) -> None:
    game = table(3, slug="byzantium", listed=True)
    finish(game.id, NOW)
    bob = game.people[1]
    for step in ("counted", "erased") if first == "counted" else ("erased", "counted"):
        if step == "counted":
            assert results.count(game.id, NOW)
        else:
            personal_data.erase(bob, NOW)
    with engine.reading() as session:
        assert session.get_one(Standing, (game.id, 1)).person_id is None
        assert session.get(Conduct, (game.id, bob)) is None
        assert session.get(Reliability, bob) is None
        assert session.get(Conduct, (game.id, game.people[0])) is not None
        assert reliability.shown(session, [bob])[bob].new
        assert session.get_one(Person, bob).email is None
    before = counted()
    results.everything(LATER)
    assert counted() == before
