"""`byzanz doctor` finds each kind of problem, says where it is, and says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from server import create_app, play
from server.demo.smtp_sink import Inbox
from server.mail.text import quoted
from server.ops import doctor
from server.ops.doctor import Finding
from server.scheduler import clockwork, jobs
from server.scheduler.heartbeat import CLOCK_JUMPED, HeartbeatRecorder
from server.store import alerts, engine, outbox
from server.store.facts import Fact
from server.store.models import Game, IncomingMail, Mail, Person
from tests.conftest import NOW, SECRET, Table

Seating = Callable[..., Table]


@pytest.fixture
def mail_server() -> Iterator[Inbox]:
    """A mail server that accepts everything."""
    inbox = Inbox()
    inbox.start()
    yield inbox
    inbox.stop()


@pytest.fixture(autouse=True)
def environment(database_url: str, mail_server: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the settings of the test's server."""
    monkeypatch.setenv("BYZANZ_DATABASE_URL", database_url)
    monkeypatch.setenv("BYZANZ_SECRET_KEY", SECRET)
    monkeypatch.setenv("BYZANZ_MAIL_URL", mail_server.url)


@pytest.fixture
def alive(app: Flask) -> Flask:
    """Return an application with current heartbeats."""
    for part in ("web", "scheduler"):
        clockwork.record_heartbeat(HeartbeatRecorder(part, 5.0), engine.utc_now(), jobs.steady())
    return app


def wrong(*, every: bool = False) -> list[Finding]:
    """Return the problems found."""
    return [finding for finding in doctor.findings(create_app, every) if not finding.ok]


def only_wrong() -> str:
    """Return the only problem, with its remedy."""
    (finding,) = wrong()
    assert finding.remedy
    return str(finding)


@pytest.mark.usefixtures("alive")
def test_nothing_is_wrong_with_a_sound_server(table: Seating, capsys: pytest.CaptureFixture[str]) -> None:
    table(4)
    assert doctor.run(create_app, check_all=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Nothing is wrong."
    assert all(line.startswith("ok ") for line in lines[:-1])
    assert any("the logs of 2 games" in line for line in lines)  # the busy table has the other


CHANGES_OF_THE_LOG = [
    ("UPDATE entry SET move = 'bid 3' WHERE seq = 3", "entry 3: the hash"),
    ("UPDATE entry SET note = 'no reason' WHERE seq = 2", "entry 2: the hash"),
    ("UPDATE entry SET salt = '" + "0" * 32 + "' WHERE seq = 1", "entry 1: the hash"),
    ("DELETE FROM entry WHERE seq = 2", "found entry 3 instead of entry 2"),
    ("DELETE FROM entry WHERE seq = 3", "entry 3: the log ends at 2, its game at 3"),
    ("UPDATE game SET head = 2", "entry 3: the log ends at 3, its game at 2"),
    ("UPDATE game SET paused = NOT paused", "it is paused in the database"),
    ("UPDATE snapshot SET state = replace(state, '\"round\":1', '\"round\":2')", "its snapshot"),
    ("UPDATE game SET slug = 'chess'", "game g1"),
    ("UPDATE seat SET cut = 'another'", "entry 1: seed and cuts give a different order"),
    (f"UPDATE game SET seed = '{'1' * 64}'", "the seed does not match the commitment"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES_OF_THE_LOG, ids=range(len(CHANGES_OF_THE_LOG)))
@pytest.mark.usefixtures("alive")
def test_an_edit_of_history_is_noticed(table: Seating, change: str, told: str) -> None:
    table(3)
    table(3, "g2")
    for number in (0, 1):
        with engine.reading() as session:
            turn = session.execute(text("SELECT seat FROM turn WHERE game_id = 'g1'")).scalar_one()
        play.submit("g1", turn, "pass", seen=number + 1, request_id=f"r{number}", now=NOW)
    assert wrong() == []
    edit(change)
    findings = wrong()
    assert any("game g1" in finding.what and told in str(finding) for finding in findings), findings


def edit(statement: str) -> None:
    """Change rows of g1 with the database's own tools, without the triggers, which are then restored."""
    joiner = " AND" if "WHERE" in statement else " WHERE"
    column = "id" if statement.startswith("UPDATE game") else "game_id"
    with engine.db.engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "sqlite":
            kept = connection.execute(
                text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            ).all()
            for name, _ in kept:
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
        else:
            connection.exec_driver_sql("ALTER TABLE entry DISABLE TRIGGER USER")
        connection.exec_driver_sql(f"{statement}{joiner} {column} = 'g1'")
        if connection.dialect.name == "sqlite":
            for _, sql in kept:
                connection.exec_driver_sql(sql)
        else:
            connection.exec_driver_sql("ALTER TABLE entry ENABLE TRIGGER USER")


@pytest.mark.usefixtures("alive")
def test_only_the_newest_games_are_sampled(table: Seating, monkeypatch: pytest.MonkeyPatch) -> None:
    table(3)
    table(3, "g2", now=NOW + timedelta(days=1))
    edit("UPDATE entry SET note = 'no reason'")
    monkeypatch.setattr(doctor, "SAMPLE", 1)
    assert wrong() == []
    assert "game g1" in str(wrong(every=True)[0])


@pytest.mark.usefixtures("alive")
def test_many_damaged_logs_are_summed_up(table: Seating, monkeypatch: pytest.MonkeyPatch) -> None:
    table(3)
    table(3, "g2")
    with engine.transaction() as session:
        session.execute(text("UPDATE game SET head = 7 WHERE id IN ('g1', 'g2')"))
    monkeypatch.setattr(doctor, "MOST_SHOWN", 1)
    assert [finding.what for finding in wrong()] == [
        "game g1, entry 2: the log ends at 1, its game at 7",
        "2 damaged logs in total",
    ]


@pytest.mark.usefixtures("alive")
def test_a_missing_trigger_is_named() -> None:
    with engine.transaction() as session:
        sqlite = session.get_bind().dialect.name == "sqlite"
        session.execute(
            text("DROP TRIGGER entry_no_update" if sqlite else "DROP TRIGGER entry_no_truncate ON entry")
        )
    assert "entry_no_" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_a_trigger_that_does_nothing_is_missing() -> None:
    with engine.transaction() as session:
        if session.get_bind().dialect.name == "sqlite":
            session.execute(text("DROP TRIGGER entry_no_delete"))
            session.execute(text("CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN SELECT 1; END"))
        else:
            session.execute(text("ALTER TABLE entry DISABLE TRIGGER entry_no_change"))
    assert "the log can be changed" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_another_secret_key_is_noticed(table: Seating, monkeypatch: pytest.MonkeyPatch) -> None:
    table(3)
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "0123456789abcdef0123456789abcdef")
    assert "BYZANZ_SECRET_KEY" in only_wrong()


@pytest.mark.usefixtures("app")
def test_a_part_that_is_silent_is_named() -> None:
    assert [finding.what for finding in wrong()] == [
        "no heartbeat from the web",
        "no heartbeat from the scheduler",
    ]


@pytest.mark.usefixtures("alive")
def test_a_frozen_clock_is_told_with_its_remedy() -> None:
    with engine.transaction() as session:
        alerts.raise_alert(session, CLOCK_JUMPED, quoted("The clock jumped."), engine.utc_now())
    assert "--clock-is-right" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_a_game_set_aside_is_named(table: Seating) -> None:
    table(3)
    with engine.transaction() as session:
        session.get_one(Game, "g1").quarantine = quoted("a fault")
    assert "game g1 is on hold (a fault)" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_mail_that_nobody_takes_is_told() -> None:
    with engine.transaction() as session:
        person = Person(email="ann@example.org", name="Ann", created_at=NOW)
        session.add(person)
        session.flush()
        outbox.enqueue(
            session, key="k", kind="over", person_id=person.id, now=engine.utc_now() - timedelta(days=2)
        )
        session.flush()
        mail = session.query(Mail).filter_by(key="k").one()
        mail.attempts, mail.error = 9, quoted("451 later")
    assert "451 later" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_a_refused_turn_is_told(table: Seating) -> None:
    table(3)
    with engine.transaction() as session:
        session.execute(text("UPDATE turn SET refused = '550 nobody' WHERE game_id = 'g1'"))
    assert "1 turns are stopped" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_a_mail_server_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    assert "mail server" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_a_mail_server_that_refuses_our_name_is_told(
    mail_server: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", mail_server.url.replace("//", "//ann:geheim@"))
    said = only_wrong()
    assert "mail server" in said
    assert "geheim" not in said


def test_bad_settings_end_the_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_TICK", "often")
    (finding,) = wrong()
    assert "BYZANZ_TICK" in str(finding)


@pytest.mark.usefixtures("alive")
def test_without_mail_the_rest_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BYZANZ_MAIL_URL")
    assert "BYZANZ_MAIL_URL" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_old_tables_are_told() -> None:
    with engine.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    assert "revision 0000" in only_wrong()


def test_a_database_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "sqlite:////no/such/folder/byzanz.db")
    assert "BYZANZ_DATABASE_URL" in only_wrong()


# ---- the way in ----


def way_in() -> list[Finding]:
    """Return the findings about incoming email."""
    words = ("has ever arrived", "incoming email", "replies by email")
    return [
        found
        for found in doctor.findings(create_app, check_all=False)
        if any(word in found.what for word in words)
    ]


def received(**values: object) -> None:
    """Receive an email."""
    row: dict[str, Any] = {
        "digest": "d",
        "at": engine.utc_now(),
        "kind": "reply",
        "outcome": Fact("carried_out", {"done": 1, "of": 1}),
    }
    with engine.transaction() as session:
        session.add(IncomingMail(**(row | values)))


def sent_once(ago: timedelta) -> None:
    """Send an email."""
    at = engine.utc_now() - ago
    with engine.transaction() as session:
        person = Person(email="x@example.org", name="X", created_at=at)
        session.add(person)
        session.flush()
        about: dict[str, Any] = {
            "key": "k",
            "kind": "signin",
            "person_id": person.id,
            "created_at": at,
            "not_before": at,
        }
        session.add(Mail(**about, status="sent", finished_at=at))


@pytest.mark.usefixtures("alive")
def test_answers_by_mail_may_be_off() -> None:
    sent_once(timedelta(days=99))
    (found,) = way_in()
    assert found.ok
    assert "BYZANZ_MAIL_DOMAIN is not set" in found.what


@pytest.mark.empty_database  # the busy table has mails that were sent
@pytest.mark.parametrize(("ago", "sound"), [(0, True), (6, True), (8, False)])
@pytest.mark.usefixtures("alive")
def test_a_way_in_by_which_nothing_ever_came_is_wrong_after_a_while(
    monkeypatch: pytest.MonkeyPatch, ago: int, sound: bool
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "play.example.org")
    (found,) = way_in()
    assert (found.ok, "play.example.org; 0 sent" in found.what) == (True, True)
    sent_once(timedelta(days=ago))
    (found,) = way_in()
    assert found.ok == sound
    assert "1 sent" in found.what
    assert ("byzanz mail-in" in found.remedy) != sound
    received(at=engine.utc_now())
    (found,) = way_in()
    assert found.ok
    assert "the last one on" in found.what


@pytest.mark.usefixtures("alive")
def test_mails_that_nobody_finished_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "play.example.org")
    received(outcome=Fact("in_hand"))
    assert all(found.ok for found in way_in())
    received(digest="e", outcome=Fact("in_hand"), at=engine.utc_now() - timedelta(hours=1))
    half, last = way_in()
    assert not half.ok
    assert "1 incoming emails were not processed" in half.what
    assert last.ok
