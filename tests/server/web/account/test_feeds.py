"""Feeds: deadlines as a calendar, games as news; what they contain, for whom, and how often they are sent."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import icalendar
import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete

from server import play
from server.mail.outgoing import deliver
from server.mail.text import quoted
from server.store import engine, links
from server.store.models import Game, Seat, Turn
from tests.conftest import NOW
from tests.support.answers import feed
from tests.support.games import make, outsider
from tests.support.mail_servers import FakeMailer
from tests.support.neighbour_game import NEIGHBOUR
from tests.support.pages import log_in

DAY = timedelta(days=1)
ATOM = "{http://www.w3.org/2005/Atom}"
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def events(client: FlaskClient, path: str) -> list[Any]:
    answer = client.get(f"{path}.ics")
    assert answer.status_code == 200
    return list(icalendar.Calendar.from_ical(answer.data).walk("VEVENT"))


def titles(client: FlaskClient, path: str) -> list[str]:
    answer = client.get(f"{path}.atom")
    assert answer.status_code == 200
    return [
        entry.findtext(f"{ATOM}title", "")
        for entry in ElementTree.fromstring(answer.data).iter(f"{ATOM}entry")
    ]


def start_clocks() -> None:
    while deliver.deliver(NOW, FakeMailer(), steady=lambda: 0.0):
        pass


def test_the_calendar_has_the_deadline_of_each_turn_whose_clock_runs(client: FlaskClient, table: Any):
    games = [table(3, "g1"), table(3, "g2")]
    path = feed(games[0].people[0])
    assert events(client, path) == []
    start_clocks()
    make(games[1], 0, "pass")
    (event,) = events(client, path)
    with engine.reading() as session:
        due = session.get_one(Turn, ("g1", 0)).due_at
    assert event.decoded("dtstart") == due
    assert event["dtstart"].to_ical().endswith(b"Z")
    assert event["summary"] == "Your deadline in “The Golden Horn”"
    assert event["url"] == "https://byzanz.test/g/g1"
    assert events(client, feed(games[0].people[2])) == []


def test_the_news_names_the_own_games_and_how_they_stand(client: FlaskClient, table: Any):
    first, second = table(3, "g1"), table(3, "g2")
    path = feed(first.people[0])
    make(second, 0, "pass")
    assert sorted(titles(client, path)) == [
        "The Busy Bazaar: waiting for others",
        "The Golden Horn: it is your turn",
        "The Golden Horn: waiting for others",
    ]
    play.moderate("g2", "!abandon", reason="enough", person_id=outsider(), now=engine.utc_now())
    assert "The Golden Horn: the game is over" in titles(client, path)


def test_no_seat_and_no_secret_is_in_a_feed(client: FlaskClient, table: Any):
    game = table(3)
    start_clocks()
    path = feed(game.people[0])
    with engine.reading() as session:
        tokens = {links.token(link) for link in links.select_rows(session)}
        commitment = session.get_one(Game, game.id).commitment
    for ending in ("ics", "atom"):
        text = client.get(f"{path}.{ending}").text
        assert not [token for token in tokens if token in text]
        assert commitment not in text
        assert set(re.findall(r"https://byzanz\.test/[^\s\"<#]*", text)) <= {
            "https://byzanz.test/",
            "https://byzanz.test/g/g1",
            f"https://byzanz.test/g/{NEIGHBOUR}",
        }


@one_database
@pytest.mark.parametrize(
    "name", ["<b>&\"'", "a;b,c\\d", "END:VCALENDAR\r\nBEGIN:VEVENT", "x\u2028y\x0bz", "Βυζάντιο 🎲" * 8]
)
def test_names_cannot_break_out(client: FlaskClient, table: Any, name: str):
    game = table(3)
    start_clocks()
    with engine.transaction() as session:
        session.get_one(Game, game.id).name = name[:60]
    path = feed(game.people[0])
    (event,) = events(client, path)
    assert str(event["summary"]) == f"Your deadline in “{' '.join(name[:60].split())}”"
    assert all(len(line) <= 75 for line in client.get(f"{path}.ics").data.split(b"\r\n"))
    (title,) = [title for title in titles(client, path) if "The Busy Bazaar" not in title]
    assert title.endswith(": it is your turn")


@pytest.mark.parametrize("ending", ["ics", "atom"])
def test_what_has_not_changed_is_not_sent_again(client: FlaskClient, table: Any, ending: str):
    game = table(3)
    path = f"{feed(game.people[0])}.{ending}"
    first = client.get(path)
    assert first.headers["Cache-Control"] == "private, max-age=300"
    assert "Set-Cookie" not in first.headers
    assert "cookie" not in first.headers.get("Vary", "").lower()
    tag = first.headers["ETag"]
    again = client.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    start_clocks()
    changed = client.get(path, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag


def test_kinds_of_content_are_named(client: FlaskClient, table: Any):
    path = feed(table(3).people[0])
    assert client.get(f"{path}.ics").headers["Content-Type"] == "text/calendar; charset=utf-8"
    assert client.get(f"{path}.atom").headers["Content-Type"] == "application/atom+xml; charset=utf-8"


def test_a_renewed_feed_ends_the_old_one(client: FlaskClient, table: Any):
    game = table(3)
    old, new = feed(game.people[0]), feed(game.people[0])
    for ending in ("ics", "atom"):
        assert client.get(f"{old}.{ending}").status_code == 404
        assert client.get(f"{new}.{ending}").status_code == 200
        assert client.get(f"/feed/{game.tokens[0]}.{ending}").status_code == 404


def test_the_account_page_makes_the_addresses(client: FlaskClient, table: Any):
    game = table(3)
    base = "https://byzanz.test"
    log_in(client, game.people[0], base)
    page = client.get("/account", base_url=base).text
    assert "/feed/" not in page
    found = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert found is not None
    body = {"csrf_token": found[1], "do": "feed"}
    answer = client.post("/account", data=body, base_url=base, headers={"Referer": f"{base}/account"})
    assert answer.status_code == 303
    page = client.get("/account", base_url=base).text
    for path in re.findall(r'href="https://byzanz\.test(/feed/[^"]+)"', page):
        assert client.get(path).status_code == 200
    assert page.count("/feed/") == 4


@one_database
def test_an_atom_feed_is_one_as_the_standard_wants_it(client: FlaskClient, table: Any):
    game = table(3)
    root = ElementTree.fromstring(client.get(f"{feed(game.people[0])}.atom").data)
    assert root.tag == f"{ATOM}feed"
    for node in (root, *root.iter(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(node.findall(f"{ATOM}{name}")) == 1
        datetime.strptime(node.findtext(f"{ATOM}updated", ""), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    ids = [entry.findtext(f"{ATOM}id") for entry in root.iter(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids) == 2


def changed(game_id: str, **values: object) -> None:
    """Change columns of a game."""
    with engine.transaction() as session:
        for name, value in values.items():
            setattr(session.get_one(Game, game_id), name, value)


def news(client: FlaskClient, path: str) -> list[tuple[str, str, str]]:
    """Return the path and mark of each game, when it changed, and what is to be done, in order."""
    root = ElementTree.fromstring(client.get(f"{path}.atom").data)
    return [
        (
            entry.findtext(f"{ATOM}id", "").removeprefix("https://byzanz.test/g/"),
            entry.findtext(f"{ATOM}updated", ""),
            entry.findtext(f"{ATOM}summary", ""),
        )
        for entry in root.iter(f"{ATOM}entry")
    ]


@pytest.mark.empty_database
def test_games_are_listed_by_their_last_change_until_a_month_after_their_end(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("server.web.account.feeds.utc_now", lambda: NOW + 40 * DAY)
    for number, game_id in enumerate(("turn", "waits", "just", "long", "held", "asked", "left", "other")):
        game = table(3, game_id)
        changed(game_id, started_at=NOW - number * DAY)
        with engine.transaction() as session:
            if game_id != "turn":
                session.execute(delete(Turn).where(Turn.game_id == game_id))
    changed("just", status="over", ended_at=NOW + 10 * DAY + timedelta(seconds=1))
    changed("long", status="over", ended_at=NOW + 10 * DAY)
    changed("held", quarantine=quoted("a fault"))
    changed("asked", status="inviting")
    with engine.transaction() as session:
        session.get_one(Seat, ("left", 0)).status = "declined"
        session.get_one(Seat, ("other", 0)).person_id = game.people[1]
        session.get_one(Turn, ("turn", 0)).opened_at = NOW + DAY
    path = feed(game.people[0])
    assert news(client, path) == [
        ("just#over", "2026-03-12T10:00:01Z", "Nothing to do right now."),
        ("turn#turn-1", "2026-03-03T10:00:00Z", "Your clock has not started yet."),
        ("waits#waiting", "2026-03-01T10:00:00Z", "Nothing to do right now."),
    ]
    root = ElementTree.fromstring(client.get(f"{path}.atom").data)
    assert root.findtext(f"{ATOM}updated") == "2026-03-12T10:00:01Z"
    assert [link.get("href") for link in root.findall(f"{ATOM}link")] == ["https://byzanz.test/"]
    for game_id in ("turn", "waits", "just"):
        changed(game_id, status="cancelled")
    root = ElementTree.fromstring(client.get(f"{path}.atom").data)
    assert (news(client, path), root.findtext(f"{ATOM}updated")) == ([], "2026-03-02T10:00:00Z")


def test_a_feed_has_a_name_of_its_own_and_no_more_games_than_it_holds(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch
):
    for number in range(3):
        game = table(3, f"g{number}")
        changed(f"g{number}", started_at=NOW + number * DAY)
    paths = [feed(person) for person in game.people]
    roots = [ElementTree.fromstring(client.get(f"{path}.atom").data) for path in paths]
    assert len({root.findtext(f"{ATOM}id") for root in roots}) == 3
    monkeypatch.setattr("server.web.account.feeds.MOST_GAMES", 2)
    assert {entry[0] for entry in news(client, paths[1])} == {"g1#waiting", "g2#waiting"}


def test_a_deadline_is_an_event_that_blocks_no_time_and_changes_with_the_turn(
    client: FlaskClient, table: Any
):
    game = table(3)
    start_clocks()
    path = feed(game.people[0])
    (event,) = events(client, path)
    assert event["uid"] == "g1-turn-1@byzanz.test"
    assert (event.decoded("dtstamp"), event["transp"]) == (NOW, "TRANSPARENT")
    assert event["description"].startswith("Move before then.")
    whole = icalendar.Calendar.from_ical(client.get(f"{path}.ics").data)
    assert (whole["version"], whole["prodid"]) == ("2.0", "-//Byzanz//Deadlines//EN")
    assert whole["x-wr-calname"] == "Byzanz: your deadlines"


@one_database
def test_games_in_which_one_is_due_stay_in_full_feeds(
    client: FlaskClient, table: Any, monkeypatch: pytest.MonkeyPatch
):
    games = [table(3, f"g{number}") for number in range(4)]
    start_clocks()
    for number, game in enumerate(games):
        changed(game.id, started_at=NOW + number * DAY)
    for game in games[1:]:
        make(game, 0, "pass")
    monkeypatch.setattr("server.web.account.feeds.MOST_GAMES", 2)
    path = feed(games[0].people[0])
    assert [event["url"] for event in events(client, path)] == ["https://byzanz.test/g/g0"]
    assert "g0" in {entry[0].partition("#")[0] for entry in news(client, path)}
    assert len(titles(client, path)) == 2
    monkeypatch.setattr("server.web.account.feeds.MOST_GAMES", 0)
    assert [event["url"] for event in events(client, path)] == ["https://byzanz.test/g/g0"]
