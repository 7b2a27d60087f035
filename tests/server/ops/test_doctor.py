"""`byzanz doctor` finds each kind of problem, says where it is, and says what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text, update

from server import config, create_app, play
from server.config import Settings
from server.demo import Inbox, free_port
from server.mail import deliverability
from server.mail.incoming import lmtp
from server.mail.text import quoted
from server.ops import checks, doctor, mail_checks, serve
from server.ops.checks import Finding
from server.scheduler import jobs, loop
from server.store import engine, operations, outbox
from server.store.facts import Fact
from server.store.models import Game, Heartbeat, IncomingMail, Mail, Outage, Person, Turn
from server.store.operations import HeartbeatRecorder
from tests.conftest import NOW, SECRET, Table
from tests.support.mail_servers import FaultyServer

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
    monkeypatch.setenv("BYZANZ_BASE_URL", f"http://127.0.0.1:{free_port()}")


@pytest.fixture
def alive(app: Flask) -> Flask:
    """Return an application with current heartbeats."""
    for part in ("web", "scheduler"):
        loop.record_heartbeat(HeartbeatRecorder(part, 5.0), engine.utc_now(), jobs.steady())
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


@pytest.mark.usefixtures("alive")
def test_a_time_zone_that_this_machine_does_not_know_is_named(table: Seating) -> None:
    values = {"gone": "Mars/Olympus", "id": table(3).people[1]}
    with engine.transaction() as session:
        session.execute(text("UPDATE person SET time_zone = :gone WHERE id = :id"), values)
    assert "the time zone 'Mars/Olympus' of 1 person is unknown here" in only_wrong()


CHANGES_OF_THE_LOG = [
    ("UPDATE entry SET move = 'bid 3' WHERE seq = 3", "entry 3: the hash"),
    ("UPDATE entry SET note = 'no reason' WHERE seq = 2", "entry 2: the hash"),
    ("UPDATE entry SET salt = substr(hash, 1, 16) WHERE seq = 1", "entry 1: the hash"),
    ("UPDATE entry SET at = (SELECT max(created_at) FROM person) WHERE seq = 3", "entry 3: its time"),
    (f"UPDATE entry SET hash = '{'x' * 32}' WHERE seq = 3", "game g1"),
    ("DELETE FROM entry WHERE seq = 2", "found entry 3 instead of entry 2"),
    ("DELETE FROM entry WHERE seq = 3", "entry 3: the log ends at 2, its game at 3"),
    ("UPDATE game SET head = 2", "entry 3: the log ends at 3, its game at 2"),
    ("UPDATE game SET head_hash = '00'", "entry 3: its hash is not the one that its game remembers"),
    ("UPDATE game SET paused = NOT paused", "it is paused in the database"),
    ("UPDATE snapshot SET state = replace(state, '\"round\":1', '\"round\":2')", "its snapshot"),
    ("UPDATE game SET slug = 'chess'", "game g1"),
    ("UPDATE seat SET cut = 'another'", "entry 1: the hash does not match"),
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


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(("passed_on", "said"), [(True, "WRONG"), (False, "ok"), (None, "ok")])
def test_pages_that_slow_clients_can_keep_busy_are_named(
    monkeypatch: pytest.MonkeyPatch, passed_on: bool | None, said: str
) -> None:
    answers = {"https://byzanz.test": passed_on}
    monkeypatch.setattr(checks, "passes_on_halves", answers.__getitem__)
    monkeypatch.setenv("BYZANZ_BASE_URL", "https://byzanz.test")
    found = [str(finding) for finding in doctor.findings(create_app, False)]
    assert found[-1].startswith(said)
    assert "https://byzanz.test" in found[-1]


@pytest.mark.usefixtures("app")
def test_a_part_that_is_silent_is_named() -> None:
    assert [finding.what for finding in wrong()] == [
        "no heartbeat from the web",
        "no heartbeat from the scheduler",
    ]


@pytest.mark.usefixtures("alive")
def test_a_frozen_clock_is_told_with_its_remedy() -> None:
    with engine.transaction() as session:
        operations.raise_alert(
            session, operations.CLOCK_JUMPED, quoted("The clock jumped."), engine.utc_now()
        )
    assert "--clock-is-right" in only_wrong()


@pytest.mark.usefixtures("alive")
def test_a_mail_server_that_refuses_us_is_told_with_its_remedy() -> None:
    with engine.transaction() as session:
        deliverability.report_refusal(session, quoted("550 listed"), engine.utc_now())
    assert "look the server up in block lists" in only_wrong()


@pytest.mark.usefixtures("app")
def test_a_clock_set_back_is_told_with_its_remedy_though_nothing_runs() -> None:
    later = engine.utc_now() + timedelta(days=4)
    for part in ("web", "scheduler"):
        loop.record_heartbeat(HeartbeatRecorder(part, 5.0), later, jobs.steady())
    found = [str(finding) for finding in wrong()]
    assert len(found) == 2
    for part, finding in zip(("web", "scheduler"), found, strict=True):
        assert f"the last heartbeat of the {part} lies in the future" in finding
        assert "--clock-is-right" in finding


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
        session.execute(update(Turn).where(Turn.game_id == "g1").values(refused=quoted("550 nobody")))
    assert "1 turns are stopped because their email was rejected (games g1): 550 nobody" in only_wrong()


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


def test_a_database_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "byzanz.db").write_text("something else" * 100)
    monkeypatch.setenv("BYZANZ_DATABASE_URL", f"sqlite:///{tmp_path}/byzanz.db")
    assert "BYZANZ_DATABASE_URL" in only_wrong()


def test_a_missing_database_is_told_and_not_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", f"sqlite:///{tmp_path}/byzanz.db")
    assert f"there is no database {tmp_path}/byzanz.db: run `byzanz serve`" in only_wrong()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("alive")
def test_outages_at_the_same_time_count_once() -> None:
    now = engine.utc_now()
    spans = (
        ("web", 600, 300),
        ("scheduler", 500, 200),
        ("web", 400, 350),
        ("web", 340, 250),
        ("web", 100, 40),
    )
    with engine.transaction() as session:
        for part, start, end in (*spans, ("scheduler", 10 * 86400, 7 * 86400 - 120)):
            began, ended = (now - timedelta(seconds=seconds) for seconds in (start, end))
            session.add(Outage(part=part, from_at=began, to_at=ended))
    (told,) = [found.what for found in doctor.findings(create_app, False) if "outages" in found.what]
    assert told.startswith("outages in the last 7 days: 6, 10 minutes in all")  # 400 + 60 + 120 seconds


@pytest.mark.usefixtures("alive")
def test_an_alert_names_its_game(table: Seating) -> None:
    table(3)
    with engine.transaction() as session:
        operations.raise_alert(session, "k", quoted("a fault"), engine.utc_now(), "g1")
    assert ", game g1: a fault" in only_wrong()


# ---- settings and files ----

SETTINGS = [
    ({"BASE_URL": None}, "BYZANZ_BASE_URL is not set"),
    ({"BASE_URL": None, "MAIL_URL": "smtp://mail.example.org"}, "BYZANZ_BASE_URL is not set"),
    ({"BASE_URL": "http://localhost:8000", "MAIL_URL": "smtp://mail.example.org"}, "only this machine"),
    ({"BASE_URL": "http://127.0.0.2:8000", "MAIL_URL": ""}, ""),
    ({"BASE_URL": "http://byzanz.example.org"}, "is not encrypted"),
    ({"BASE_URL": "http://93.184.215.14"}, "is not encrypted"),
    ({"BASE_URL": "http://192.168.2.10:8000"}, ""),
    ({"BASE_URL": "http://games.lan"}, ""),
    ({"BASE_URL": "http://games"}, ""),
    ({"BASE_URL": "https://byzanz.example.org"}, "set BYZANZ_PROXY_HOPS=1"),
    ({"BASE_URL": "https://byzanz.example.org", "PROXY_HOPS": "1"}, ""),
    (
        {"BASE_URL": "https://byzanz.example.org", "PROXY_HOPS": "1", "MAIL_FROM": None},
        "BYZANZ_MAIL_FROM is not set",
    ),
    (
        {"BASE_ULR": "https://byzanz.example.org"},
        "BYZANZ_BASE_ULR is not a setting: did you mean BYZANZ_BASE_URL?",
    ),
    ({"COLOUR": "red"}, "BYZANZ_COLOUR is not a setting"),
]


@pytest.mark.parametrize(("given", "told"), SETTINGS, ids=str)
def test_settings_that_make_a_server_useless_are_wrong(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str | None], told: str
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_FROM", "byzanz@example.org")
    for name, value in given.items():
        if value is None:
            monkeypatch.delenv(f"BYZANZ_{name}")
        else:
            monkeypatch.setenv(f"BYZANZ_{name}", value)
    found = [str(each) for each in checks.machine_findings(config.load()) if not each.ok]
    assert len(found) == bool(told), found
    assert told in "".join(found)


def files(settings: Settings) -> list[str]:
    """Return what is wrong with the files of a database."""
    return [str(found) for found in checks.machine_findings(settings) if not found.ok]


def test_a_database_that_cannot_be_written_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "instance"
    folder.mkdir()
    file = folder / "byzanz.db"
    file.touch()
    given = config.load().model_copy(update={"database_url": f"sqlite:///{file}"})
    assert files(given) == []
    file.chmod(0o444)
    assert files(given) == [f"WRONG  {file} is read-only: allow its owner to write: chmod u+w {file}"]
    file.chmod(0o644)
    folder.chmod(0o555)
    assert files(given) == [f"WRONG  {folder} is read-only: allow its owner to write: chmod u+w {folder}"]
    folder.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        assert f"this user may not write {file}: run doctor as its owner" in files(given)[0]
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=50 * 1024**2))
    assert files(given) == [
        f"WRONG  only 50 MB free in {folder}: make room: without it no move can be stored"
    ]


def test_the_files_that_are_used_are_told_without_a_password() -> None:
    url = "postgresql+psycopg://ann:geheim@db/byzanz"
    given = config.load().model_copy(update={"database_url": url})
    told = "\n".join(str(found) for found in checks.machine_findings(given))
    assert "postgresql+psycopg://ann:***@db/byzanz" in told
    assert "settings f" in told


# ---- the mail server ----


def add_moderator() -> None:
    """Let there be a moderator, whose address the mail server is asked about."""
    with engine.transaction() as session:
        session.add(Person(email="mia@example.org", name="Mia", created_at=NOW, moderator=True))


@pytest.mark.usefixtures("alive")
def test_a_relay_that_refuses_to_relay_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    add_moderator()
    with FaultyServer(RCPT=["554 5.7.1 Relay access denied"]).running() as server:
        monkeypatch.setenv("BYZANZ_MAIL_URL", f"smtp://127.0.0.1:{server.port}")
        assert "554 5.7.1 Relay access denied" in only_wrong()
        assert wrong() == []
        server.script["MAIL"] = ["553 5.7.1 Sender address rejected"]
        assert "553 5.7.1 Sender address rejected" in only_wrong()
        server.script["RCPT"] = ["reset"]
        assert "the mail server would not take" in only_wrong()
    assert server.kept == []


# ---- a test email ----


def trial(domain: str, monkeypatch: pytest.MonkeyPatch, mail_url: str) -> list[str]:
    """Send a test email; return the findings."""
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", domain)
    monkeypatch.setenv("BYZANZ_MAIL_URL", mail_url)
    settings = config.load("mailing")
    with create_app(settings).app_context():
        return [
            str(found)
            for found in mail_checks.trial_findings(settings, "mia@example.org", NOW, sleep=lambda _: None)
        ]


@pytest.mark.usefixtures("app")
def test_a_test_email_is_sent_and_another_comes_back_through_mail_in(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer().running() as server:
        url = f"smtp://127.0.0.1:{server.port}"
        (took, off) = trial("", monkeypatch, url)
        assert took.startswith("ok     the mail server took an email to mia@example.org")
        assert "replies by email are off" in off
        (_, lost) = trial("play.example.org", monkeypatch, url)
        assert lost.startswith("WRONG  an email to play.example.org did not come back to byzanz mail-in")
        assert server.recipients[:2] == ["mia@example.org", "mia@example.org"]
        real = server.handle_DATA

        async def delivered(connection: Any, session: Any, envelope: Any) -> str:
            if "play.example.org" in envelope.rcpt_tos[0]:
                app = create_app(config.load())
                assert lmtp.accept(app, envelope.content, envelope.mail_from, envelope.rcpt_tos[0]) == 250
            return await real(connection, session, envelope)

        monkeypatch.setattr(server, "handle_DATA", delivered)
        (_, back) = trial("play.example.org", monkeypatch, url)
        assert back == "ok     an email to play.example.org came back to byzanz mail-in"
        server.script["RCPT"] = ["554 5.7.1 Relay access denied"]
        (refused,) = trial("play.example.org", monkeypatch, url)
        assert refused.startswith(
            "WRONG  the mail server did not take the email: 554 5.7.1 Relay access denied"
        )


# ---- mail-in ----


def about_mail_in() -> list[Finding]:
    """Return the findings about incoming email."""
    words = ("email has arrived", "takes in email", "mail-in", "incoming email", "replies by email")
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
    (found,) = about_mail_in()
    assert found.ok
    assert "BYZANZ_MAIL_DOMAIN is not set" in found.what


def mail_in_beat(ago: timedelta) -> None:
    """Let `byzanz mail-in` have run until some time ago."""
    with engine.transaction() as session:
        session.merge(Heartbeat(part=lmtp.PART, at=engine.utc_now() - ago))


@pytest.mark.usefixtures("alive")
def test_a_mail_in_that_nobody_runs_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "play.example.org")
    monkeypatch.setattr(lmtp, "PORT", free_port())
    (found,) = about_mail_in()
    assert str(found).startswith("WRONG  nothing takes in email for play.example.org: run `byzanz mail-in`")
    with serve.listening(lmtp.HOST, lmtp.PORT) as listener:
        listener.listen()
        (found,) = about_mail_in()
        assert (found.ok, found.what) == (True, "no email has arrived at play.example.org yet")
    received(at=engine.utc_now())  # through a pipe
    (found,) = about_mail_in()
    assert found.ok
    assert "the last one on" in found.what


@pytest.mark.usefixtures("alive")
def test_a_dead_mail_in_is_wrong_unless_a_pipe_has_replaced_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "play.example.org")
    received(at=engine.utc_now() - timedelta(hours=2))
    mail_in_beat(timedelta(minutes=2))
    running, _last = about_mail_in()
    assert (running.ok, running.what) == (True, "byzanz mail-in is running")
    mail_in_beat(timedelta(hours=1))
    dead, _last = about_mail_in()
    assert not dead.ok
    assert dead.what.startswith("byzanz mail-in has not run since")
    received(digest="later", at=engine.utc_now())
    assert all(found.ok for found in about_mail_in())


@pytest.mark.usefixtures("alive")
def test_mails_that_nobody_finished_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "play.example.org")
    received(outcome=Fact("in_hand"))
    assert all(found.ok for found in about_mail_in())
    received(digest="e", outcome=Fact("in_hand"), at=engine.utc_now() - timedelta(hours=1))
    half, last = about_mail_in()
    assert not half.ok
    assert "1 incoming emails were not processed" in half.what
    assert last.ok


def test_a_finding_is_one_line_with_its_remedy_only_if_something_is_wrong() -> None:
    assert str(Finding(True, "mail server", "check it")) == "ok     mail server"
    assert str(Finding(False, "mail server", "check it")) == "WRONG  mail server: check it"
