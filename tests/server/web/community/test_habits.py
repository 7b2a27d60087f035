"""The private page of one's own games in numbers, and the downloads there."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import timedelta

import pytest
from flask.testing import FlaskClient

from server.community import statistics
from server.store import engine
from server.store.models import Conduct, Game
from tests.conftest import NOW
from tests.support.pages import log_in, look
from tests.support.results import counted, played, somebody

DAY = timedelta(days=1)


def text(client: FlaskClient, path: str) -> str:
    return " ".join("".join(look(client, path).root.itertext()).split())


def test_the_page_of_somebody_new_says_so(client: FlaskClient) -> None:
    log_in(client, somebody("Gina"))
    shown = text(client, "/account/habits")
    assert "No finished games yet." in shown
    assert "No order has answered for you yet." in shown
    assert "Nobody yet." in shown


def test_the_page_shows_habits(client: FlaskClient) -> None:
    table = played("g1")
    with engine.transaction() as session:
        row = Conduct(
            game_id="g1",
            person_id=table.people[0],
            ended_at=NOW,
            abandoned=False,
            substitute=False,
            answers="",
        )
        row.answers = json.dumps([[1, 60], [2, 5400], [3, 90000]])
        session.add(row)
    log_in(client, table.people[0])
    shown = text(client, "/account/habits")
    assert "3 decisions. Half of your answers took less than 1 h 30 min." in shown
    assert "Within an hour: 33%. Within a day: 66%." in shown
    assert re.search(r"Empire and Foes 2[01] of 1", shown)
    assert "Bob1" in shown
    assert "Monday" in shown
    assert "09–12" in shown


def test_only_their_owner_sees_them(client: FlaskClient) -> None:
    for path in ("/account/habits", "/account/results.csv", "/account/results.json", "/account/records.zip"):
        assert client.get(path).location.endswith("/sign-in")


@pytest.mark.parametrize(
    ("kind", "mimetype"), [("csv", "text/csv; charset=utf-8"), ("json", "application/json")]
)
def test_results_are_downloads(client: FlaskClient, kind: str, mimetype: str) -> None:
    counted("g1", ["Alice", "Bob"], [1, 2], listed=False)
    counted("other", ["Charlie", "Bob"], [1, 2])
    log_in(client, somebody("Alice"))
    answer = client.get(f"/account/results.{kind}")
    assert answer.headers["Content-Type"] == mimetype
    assert answer.headers["Content-Disposition"] == f"attachment; filename=byzanz-results.{kind}"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Table g1" in answer.text
    assert "Charlie" not in answer.text
    assert client.get("/account/results.xml").status_code == 404


def test_records_come_in_parts(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_RECORDS", 1)
    played("g0")
    played("g1")
    with engine.transaction() as session:
        session.get_one(Game, "g1").ended_at = NOW + 9 * DAY
    log_in(client, somebody("Alice"))
    names = []
    for part in (1, 2, 3):
        answer = client.get(f"/account/records.zip?part={part}")
        assert answer.content_type == "application/zip"
        assert answer.headers["Cache-Control"] == "no-store"
        with zipfile.ZipFile(io.BytesIO(answer.data)) as zipped:
            names.append([name[-8:-6] for name in zipped.namelist()])
    assert names == [["g1"], ["g0"], []]
    page = look(client, "/account/habits")
    links = [link.get("href") for link in page.root.iter("a") if "records.zip" in link.get("href", "")]
    assert links == ["/account/records.zip", "/account/records.zip?part=2"]
    for odd in ("0", "x", "-1", "9999"):
        assert client.get(f"/account/records.zip?part={odd}").status_code == 404
