"""A stored time zone that this machine does not know counts as none: no page, email or clock fails because of it."""

from __future__ import annotations

import ast
import io
import json
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from importlib import resources
from pathlib import Path
from zipfile import ZipFile

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from server import i18n, play, validation
from server.accounts import absences
from server.errors import InvalidInput
from server.mail.outgoing import digest, relevance
from server.mail.outgoing.deliver import deliver
from server.ops import doctor, explain
from server.play import clock, turns
from server.store import engine
from server.store.models import Mail, Person
from tests.conftest import NOW, Table
from tests.support import mails
from tests.support.games import loaded, row, submit
from tests.support.mail_servers import FakeMailer
from tests.support.pages import log_in, look, send
from tests.support.routes import ANSWERS, VISITORS, address, routes, visitors
from tests.support.visitors import make_visitors

GONE = "Mars/Olympus"
NAMELESS = [
    "",
    ".",
    "America",
    "../../etc/passwd",
    "/etc/hostname",
    "a\0b",
    "x" * 300,
    "\ud800",
    "zone.tab",
    "ü",
]
Begin = Callable[..., Table]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Forget which zones there are, as a process does that starts again."""
    _restart()
    yield
    zoneinfo.reset_tzpath()
    _restart()


def _restart() -> None:
    i18n.find_zone.cache_clear()
    validation.time_zones.cache_clear()
    zoneinfo.ZoneInfo.clear_cache()


def lose(*, games: bool = True) -> None:
    """Give everybody, every table and every open turn a time zone that does not exist."""
    hours = json.dumps({"zone": GONE, "quiet": [1380, 420], "table_zone": GONE, "days_off": "7"})
    with engine.transaction() as session:
        session.execute(text("UPDATE person SET time_zone = :gone"), {"gone": GONE})
        session.execute(text("UPDATE person SET quiet_from = 1380, quiet_to = 420"))
        if games:
            session.execute(text("UPDATE game SET time_zone = :gone, days_off = '7'"), {"gone": GONE})
            session.execute(text("UPDATE turn SET hours = :hours"), {"hours": hours})


@pytest.mark.parametrize("name", [GONE, *NAMELESS])
def test_a_name_that_leads_to_no_zone_is_unknown(name: str) -> None:
    assert i18n.known_zone(name) is None
    assert i18n.zone(name) is UTC
    with pytest.raises(InvalidInput):
        validation.clean_zone(name)


def test_a_zone_whose_data_is_broken_is_unknown(tmp_path: Path) -> None:
    for name, data in (("Empty", b""), ("Short", b"TZif2"), ("Text", b"no zone at all " * 9)):
        (tmp_path / name).write_bytes(data)
        zoneinfo.reset_tzpath([tmp_path])
        assert i18n.known_zone(name) is None


def test_renamed_zones_are_known_by_both_names() -> None:
    for old, new in (
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("Europe/Kiev", "Europe/Kyiv"),
        ("US/Pacific", "UTC"),
    ):
        assert i18n.known_zone(old) == old
        assert i18n.known_zone(new) == new


def test_nothing_else_opens_a_time_zone() -> None:
    root = Path(__file__).parents[2]
    opening = {
        str(path.relative_to(root))
        for folder in ("server", "byzanz")
        for path in (root / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom | ast.Import)
        and "zoneinfo" in {getattr(node, "module", ""), *(each.name for each in node.names)}
    }
    assert opening == {"server/i18n/__init__.py", "server/validation.py"}  # the latter lists their names


@pytest.mark.changes_busy_table
def test_every_page_answers_as_if_none_were_set(app: Flask) -> None:
    there = make_visitors(app, engine.utc_now())
    with app.app_context():
        lose()
    wrong = []
    for name, rule in routes(app):
        if not name.startswith("GET"):
            continue
        for who, visitor, expected in zip(VISITORS, visitors(there), ANSWERS[name].split(), strict=True):
            answer = there.ask(there.browser(visitor.name), "GET", address(there, rule, visitor))
            told = name in ("GET /account", "GET /account/data.zip") or GONE not in answer.text
            if str(answer.status_code) != expected or not told:
                wrong.append(f"{name}: {who} got {answer.status_code}, not {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.changes_busy_table
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # one says more than PostgreSQL stores
def test_every_kind_of_email_is_sent(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    there = make_visitors(app, engine.utc_now())
    monkeypatch.setattr(relevance, "MERGED_INTO", {})  # each by itself
    fake_mailer = FakeMailer()
    with app.app_context():
        with engine.transaction() as session:
            mails.queue_every_mail(session, there)
            session.get_one(Person, there.person("Frank")).cadence = "digest"
        lose()
        noon = engine.utc_now().replace(hour=12) + timedelta(days=2)  # in no quiet hours
        digest.queue_due(noon)
        while deliver(noon, fake_mailer):
            pass
        with engine.reading() as session:
            left = session.query(Mail).filter(Mail.status != "sent", Mail.attempts > 0).all()
            sent = {kind for (kind,) in session.query(Mail.kind).filter_by(status="sent")}
    assert not left, [(mail.kind, mail.error) for mail in left]
    assert sent >= {*mails.KINDS, "digest"} - {"remind", "turn", "timeout", "wish"}, sent
    assert not [mail for mail in fake_mailer.sent if GONE in mail.as_string()]


def test_a_turn_is_told_and_ends_by_the_tables_zone(table: Begin) -> None:
    table(3, time_zone="Asia/Tokyo")
    with engine.transaction() as session:
        session.execute(text("UPDATE person SET time_zone = :gone"), {"gone": GONE})
        session.execute(text("UPDATE person SET quiet_from = 1380, quiet_to = 420"))
    submit("g1", 0, "pass")
    noon_there = NOW.replace(hour=3) + timedelta(days=1)
    fake_mailer = FakeMailer()
    deliver(noon_there, fake_mailer)
    assert any("(Tokyo)" in mail.as_string() for mail in fake_mailer.to("bob@example.org"))
    with engine.reading() as session:
        hand = loaded(session, "g1")
        (turn,) = hand.turns.values()
        times = turns.times(session, hand.game, turn)
    assert times is not None
    assert times.hours.zone == "Asia/Tokyo"
    assert play.time_out("g1", 1, turn.question, times.due + timedelta(seconds=1))


def test_hours_of_an_open_turn_count_in_the_tables_zone() -> None:
    kept = {"zone": GONE, "quiet": [1380, 420], "table_zone": "Asia/Tokyo", "days_off": "7"}
    hours = clock.Hours.read(json.dumps(kept))
    assert (hours.zone, hours.table_zone) == ("Asia/Tokyo", "Asia/Tokyo")
    due = clock.due(NOW, 86400, hours=hours)
    assert clock.counted(NOW, due, hours=hours) == 86400
    assert clock.Hours.read(json.dumps({"zone": GONE, "quiet": [1380, 420]})).zone == "UTC"
    assert clock.night_end(NOW.replace(hour=23), clock.Hours(GONE, (1380, 420))) is not None


def test_a_zone_is_removed_and_comes_back(table: Begin, client: FlaskClient, tmp_path: Path) -> None:
    person = table(3).people[0]
    _install(tmp_path)
    log_in(client, person)
    assert send(client, "/account", {"time_zone": GONE}, do="save").status_code == 303
    assert row(Person, person).time_zone == GONE
    assert "no longer knows" not in look(client, "/account").text

    (tmp_path / GONE).unlink()
    _restart()
    assert row(Person, person).time_zone is None
    assert f"This server no longer knows your time zone “{GONE}”" in look(client, "/account").text
    assert send(client, "/account", {"name": "Anna"}, do="save").status_code == 303
    told = json.loads(ZipFile(io.BytesIO(client.get("/account/data.zip").data)).read("account.json"))
    assert (told[0]["time_zone"], told[0]["name"]) == (GONE, "Anna")

    _install(tmp_path)
    assert row(Person, person).time_zone == GONE
    (tmp_path / GONE).unlink()
    _restart()
    assert send(client, "/account", {"time_zone": "Europe/Berlin"}, do="save").status_code == 303
    assert "no longer knows" not in look(client, "/account").text


def _install(folder: Path) -> None:
    """Give this machine a zone more."""
    (folder / GONE).parent.mkdir(exist_ok=True)
    (folder / GONE).write_bytes(resources.files("tzdata.zoneinfo.Asia").joinpath("Tokyo").read_bytes())
    zoneinfo.reset_tzpath([folder])
    _restart()


def test_days_away_want_a_known_zone(table: Begin) -> None:
    person = table(3).people[0]
    lose(games=False)
    with pytest.raises(InvalidInput, match="Set your time zone first"):
        absences.add_absence(person, "2026-08-01", "2026-08-02", NOW)


@pytest.mark.changes_busy_table
def test_doctor_and_person_show_name_the_zone(table: Begin) -> None:
    person = table(3).people[0]
    lose()
    with engine.reading() as session:
        found = [str(each) for each in doctor.zone_findings(session)]
        shown = list(explain.person(session, session.get_one(Person, person), NOW))
    assert len(found) == 2
    assert f"WRONG  the time zone {GONE!r} of" in found[0]
    assert "each table's is used instead: install newer time zones" in found[0]
    assert "UTC is used instead" in found[1]
    assert f"This machine does not know their time zone {GONE!r}; each table's counts instead." in shown
