"""Results as CSV and JSON: complete, readable by other programs, and no formulas in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from byzanz import record
from server.community import results, statistics
from server.mail.text import quoted
from server.store import engine
from server.store.models import Game, Seat
from tests.conftest import NOW
from tests.support.results import counted, played, somebody

pytestmark = pytest.mark.usefixtures("app")

DAY = timedelta(days=1)


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def games_of(person: int) -> list[results.Ended]:
    with engine.reading() as session:
        return results.of_person(session, person, 100)


@pytest.fixture
def ann(app: Flask) -> int:  # noqa: ARG001 - for its context
    """Return Alice, who has two finished games."""
    counted("g1", ["Bob", "Alice", "Bot Narses"], [1, 2, 3], listed=False)
    counted("g2", ["Alice", "Bob"], [1, 1], at=NOW + DAY, slug="empire", name='Größe; "x", y')
    return somebody("Alice")


def test_own_results_as_csv(ann: int) -> None:
    first, second = csv_rows(statistics.own_table(games_of(ann), ann))
    assert tuple(first) == statistics.OWN
    assert (first["game"], first["name"], first["points"]) == ("Empire and Foes", 'Größe; "x", y', "50.0")
    assert second == {
        "date": "2026-03-02",
        "id": "g1",
        "game": "Byzanz",
        "name": "Table g1",
        "size": "3",
        "place": "2",
        "score": "30",
        "points": "50.0",
        "opponents": "Bob; Bot Narses",
        "scores": "Bob 40; Alice 30; Bot Narses 20",
        "seconds": str(3 * 86400),
        "url": "https://byzanz.test/g/g1",
    }


def test_own_results_as_json(ann: int) -> None:
    found = json.loads(statistics.own_list(games_of(ann), ann))["games"]
    assert [(game["id"], game["seat"], game["seats"][game["seat"]]["name"]) for game in found] == [
        ("g2", 0, "Alice"),
        ("g1", 1, "Alice"),
    ]
    assert found[1]["seats"][2] == {
        "name": "Bot Narses",
        "bot": "greedy",
        "place": 3,
        "score": 20,
        "points": 0.0,
    }
    assert (found[1]["started"], found[1]["seconds"]) == ("2026-02-27T10:00:00.000Z", 3 * 86400)


def test_a_link_to_bg_stats(ann: int) -> None:
    level, game = games_of(ann)
    address, _, query = statistics.bg_stats(game).partition("?")
    assert address == "https://app.bgstatsapp.com/createPlay.html"
    assert "+" not in query  # which not every reader of an address takes for a blank
    play = json.loads(parse_qs(query, strict_parsing=True)["data"][0])
    assert (play["sourceName"], play["sourcePlayId"], play["playDate"]) == (
        "Byzanz",
        "g1",
        "2026-03-02 10:00:00",
    )
    assert play["game"] == {"name": "Byzanz", "sourceGameId": "byzanz", "highestWins": True}
    assert play["players"][1] == {
        "name": "Alice",
        "sourcePlayerId": "Alice",
        "rank": 2,
        "score": 30,
        "winner": False,
        "startPlayer": False,
    }
    assert [player["winner"] for player in play["players"]] == [True, False, False]
    seats = tuple(replace(seat, place=4 - seat.place) for seat in game.seats)  # the fewest points win
    fewest = parse_qs(statistics.bg_stats(replace(game, seats=seats)).partition("?")[2])["data"][0]
    assert not json.loads(fewest)["game"]["highestWins"]
    assert "%22winner%22%3A%20true" in statistics.bg_stats(level)


@pytest.mark.usefixtures("ann")
def test_a_group_as_csv_and_json() -> None:
    with engine.reading() as session:
        group = statistics.group(session, "g2")
    assert group is not None
    table = csv_rows(statistics.group_table(group))
    assert tuple(table[0]) == statistics.SEATS
    assert [(row["id"], row["player"], row["place"], row["bot"]) for row in table] == [
        ("g2", "Alice", "1", ""),
        ("g2", "Bob", "1", ""),
        ("g1", "Bob", "1", ""),
        ("g1", "Alice", "2", ""),
        ("g1", "Bot Narses", "3", "greedy"),
    ]
    listed = json.loads(statistics.group_list(group))
    assert [each["name"] for each in listed["ranking"]] == ["Bob", "Alice"]
    assert [game["id"] for game in listed["games"]] == ["g2", "g1"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_is_a_formula(ann: int, name: str) -> None:
    with engine.transaction() as session:
        session.get_one(Game, "g1").name = name
        for seat in (0, 1, 2):
            session.get_one(Seat, ("g1", seat)).stored_name = name
    with engine.reading() as session:
        group = statistics.group(session, "g1")
    assert group is not None
    for text in (statistics.own_table(games_of(ann), ann), statistics.group_table(group)):
        assert any(cell == f"'{name}" for row in csv_rows(text) for cell in row.values())
        assert not any(
            cell.startswith(("=", "+", "-", "@", "\t", "\r"))
            for row in csv_rows(text)
            for cell in row.values()
        )


@given(st.lists(st.text(max_size=12) | st.integers(-99, 99), min_size=1, max_size=6))
def test_what_is_written_is_read_back(cells: list[str | int]) -> None:
    """A guarded cell has one apostrophe more, and numbers stay numbers."""
    text = statistics.table(["c"] * len(cells), [cells])
    read = list(csv.reader(io.StringIO(text, newline="")))[1]
    for cell, found in zip(cells, read, strict=True):
        guarded = isinstance(cell, str) and cell.startswith(statistics._FORMULA)
        assert found == (f"'{cell}" if guarded else str(cell))
        assert isinstance(cell, int) or not found.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_archive_holds_a_record_of_each_game_that_verifies() -> None:
    table = played("g1", slug="byzantium")
    played("g2", slug="empire")
    with engine.transaction() as session:
        session.get_one(Game, "g2").quarantine = quoted("broken")
    games = games_of(table.people[0])
    assert [game.id for game in games] == ["g1"]
    out = io.BytesIO()
    with engine.reading() as session:
        statistics.records(session, games, out)
    with zipfile.ZipFile(out) as zipped:
        [name] = zipped.namelist()
        assert zipped.testzip() is None
        [found] = record.read(io.BytesIO(zipped.read(name)))
    assert name.endswith("-byzantium-g1.jsonl")
    assert record.verify(found).entries > 10
