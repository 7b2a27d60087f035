"""Restoring an older backup: no new email is taken for an old one, and what was lost is noticed and listed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from email.message import EmailMessage
from html import unescape
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from server.cli import main
from server.mail.incoming import receive
from server.mail.incoming.receive import NoSuchAddress
from server.ops import doctor
from server.scheduler import jobs
from server.store import engine
from server.store import log as store_log
from server.store.models import Alert, Game, Person
from tests.conftest import NOW, SECRET, Table
from tests.support.games import change, submit
from tests.support.mails import html_of, one_database, send_waiting, text_of
from tests.support.pages import look
from tests.support.sample_mails import with_replies

HOUR = timedelta(hours=1)
SEVEN = NOW.replace(hour=7) + timedelta(days=1)


def copy(source: str, target: str) -> None:
    """Copy a database, as an operator's backup does."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


class Lost:
    """A game of which three entries were played and emailed that the restored backup does not have.

    Attributes:
        game: begun before the backup.
        sent: every email before it was restored.
        lost: those about the lost entries.
    """

    def __init__(self, game: Table, folder: Path) -> None:
        live, backup = engine.db.engine.url.database or "", str(folder / "backup.db")
        self.game = game
        self.sent = send_waiting(NOW)
        submit(game.id, 0, "pass")
        self.sent += send_waiting(NOW)
        copy(live, backup)
        self.lost = []
        for seat in (1, 2):
            submit(game.id, seat, "pass")
            self.lost += send_waiting(NOW + HOUR)
        self.sent += self.lost
        engine.db.engine.dispose()
        copy(backup, live)


@pytest.fixture
def lost(app: Flask, table: Callable[..., Table], tmp_path: Path) -> Lost:
    """Restore a backup that lacks the newest entries."""
    with_replies(app)
    return Lost(table(4), tmp_path)


def reply(message: EmailMessage) -> bytes:
    """Return a reply to an email as every mail program writes it, without a quote."""
    mail_id = message["Message-ID"]
    return f"From: x@example.org\nIn-Reply-To: {mail_id}\nMessage-ID: <r@example.org>\n\npass\n".encode()


def alert_texts() -> list[str]:
    with engine.reading() as session:
        return [
            str(alert.text) for alert in session.scalars(select(Alert).where(Alert.key.like("log-behind:%")))
        ]


@one_database
def test_a_restored_game_sends_no_email_under_the_id_of_another(lost: Lost) -> None:
    again = []
    for seat in (1, 2):
        submit(lost.game.id, seat, "pass")
        again += send_waiting(NOW + 2 * HOUR)
    old = {message["Message-ID"]: text_of(message) for message in lost.sent}
    assert len(again) == len(lost.lost) == 2
    assert [message["Message-ID"] for message in again if message["Message-ID"] in old] == []


@one_database
def test_a_digest_of_the_same_day_has_another_id(table: Callable[..., Table], tmp_path: Path) -> None:
    live, backup = engine.db.engine.url.database or "", str(tmp_path / "backup.db")
    change(Person, table(4).people[0], cadence="digest")
    copy(live, backup)
    jobs.tick_digests(SEVEN, 1.0)
    (first,) = [
        each for each in send_waiting(SEVEN) if "daily" in text_of(each) or "once a day" in text_of(each)
    ]
    engine.db.engine.dispose()
    copy(backup, live)
    jobs.tick_digests(SEVEN + HOUR, 1.0)
    (second,) = [each for each in send_waiting(SEVEN + HOUR) if "once a day" in text_of(each)]
    assert first["To"] == second["To"]
    assert first["Message-ID"] != second["Message-ID"]


@one_database
def test_a_reply_to_a_lost_turn_raises_an_alert_though_its_address_is_gone(lost: Lost) -> None:
    newest = lost.lost[-1]
    with pytest.raises(NoSuchAddress):
        receive.receive(reply(newest), "x@example.org", newest["Reply-To"], NOW + 2 * HOUR)
    (text,) = alert_texts()
    assert "An email quotes entry 4 with the hash" in text
    assert "of game g1, which its log does not have" in text


@one_database
def test_a_reply_to_an_older_email_raises_none(lost: Lost) -> None:
    before = next(message for message in lost.sent if message not in lost.lost)
    receive.receive(reply(before), "x@example.org", before["Reply-To"], NOW + 2 * HOUR)
    assert alert_texts() == []


@one_database
def test_a_link_of_a_lost_email_says_so_and_raises_an_alert(lost: Lost, client: FlaskClient) -> None:
    message = lost.lost[-1]
    links = [line.strip() for line in text_of(message).split("\n") if "at=" in line]
    assert links
    button = unescape(html_of(message).split('class="button" href="')[1].split('"')[0])
    for address in (links[0], button):
        page = look(client, address.removeprefix("https://byzanz.test"))
        assert page.status == 200
        assert "The email with this link knew more than this server." in page.text
        assert "It was sent when the log stood at entry 4" in page.text
    assert len(alert_texts()) == 1
    known = lost.sent[0]
    button = unescape(html_of(known).split('class="button" href="')[1].split('"')[0])
    assert "knew more" not in look(client, button.removeprefix("https://byzanz.test")).text


@one_database
def test_another_entry_under_the_same_number_is_noticed_too(lost: Lost, client: FlaskClient) -> None:
    for seat in (1, 2):
        submit(lost.game.id, seat, "pass")
    address = next(line.strip() for line in text_of(lost.lost[-1]).split("\n") if "at=" in line)
    assert "knew more" in look(client, address.removeprefix("https://byzanz.test")).text


@one_database
def test_made_up_heads_and_marks_of_other_games_change_nothing(lost: Lost, client: FlaskClient) -> None:
    mark = store_log.marked(f"{lost.game.id}.4.{'0' * 16}")
    forged = [
        mark[:-1] + ("0" if mark[-1] != "0" else "1"),
        f"g1.9.{'0' * 16}.{'0' * 16}",
        "x",
        mark.replace(".4.", ".5."),
    ]
    for at in forged:
        assert "knew more" not in look(client, f"/t/{lost.game.tokens[0]}?at={at}").text
    assert alert_texts() == []
    other = store_log.marked(f"zzz.4.{'0' * 16}")
    assert "knew more" not in look(client, f"/t/{lost.game.tokens[0]}?at={other}").text
    assert len(alert_texts()) == 1


@one_database
def test_the_doctor_lists_games_that_had_gone_further(
    lost: Lost, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert doctor.after_restore(None) == 0
    assert capsys.readouterr().out == f"ok     {doctor.NONE_MISSING}\n"
    log = tmp_path / "mail.log"
    log.write_text("".join(f"cleanup: message-id={message['Message-ID']}\n" for message in lost.sent))
    assert doctor.after_restore(log) == 1
    told = capsys.readouterr().out
    assert told.startswith("WRONG  game g1, entry 4 was emailed as ")
    assert "but the log ends at 2: restore a newer backup" in told
    assert len(alert_texts()) == 1
    for seat in (1, 2):
        submit(lost.game.id, seat, "pass")
    assert doctor.after_restore(None) == 1
    assert "but the log has another entry there" in capsys.readouterr().out


@one_database
def test_the_command_fails_as_long_as_entries_are_missing(
    lost: Lost, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", database_url)
    monkeypatch.setenv("BYZANZ_SECRET_KEY", SECRET)
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://127.0.0.1:9")
    for message in lost.lost:
        store_log.report_missing(message["Message-ID"], NOW)
    assert main(["doctor", "--after-restore"]) == 1
    told = capsys.readouterr().out
    assert "game g1, entry 4 was emailed as" in told
    assert "alert since" in told
    with engine.reading() as session:
        assert session.get_one(Game, "g1").head == 2
