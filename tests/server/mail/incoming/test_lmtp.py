"""Email arrives by LMTP with one status per recipient, or on standard input with the exit statuses of sysexits."""

from __future__ import annotations

import asyncio
import io
import shutil
import smtplib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from server.cli import main
from server.cli.servers import NO_USER, TOO_BIG, TRY_LATER
from server.mail.incoming import lmtp, receive, reply
from server.ops import serve
from server.store import engine, people
from server.store.models import Heartbeat, Person
from tests.conftest import SECRET, Table
from tests.support.database_faults import impatient, locked
from tests.support.games import change
from tests.support.mails import text_of
from tests.support.sample_mails import (
    ALICE,
    DOMAIN,
    count_answers,
    mailbox,
    moves_of,
    remembered,
    sample_mails,
    send_and_return,
    with_replies,
    written,
)
from tests.support.servers import terminate_through_another_thread
from tests.support.talk import MINUTE, letter, said

__all__ = ["impatient"]

Begin = Callable[..., Table]
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PATIENCE = 30.0


@contextmanager
def listening(app: Flask) -> Iterator[int]:
    """Run an LMTP server in a separate thread; return its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    with serve.listening("127.0.0.1", 0) as listener, ThreadPoolExecutor(2) as pool:
        listener.listen()
        task = asyncio.run_coroutine_threadsafe(lmtp.serve_async(app, listener, pool), loop)
        try:
            yield listener.getsockname()[1]
        finally:
            task.cancel()
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            if left := asyncio.all_tasks(loop):  # gathering none makes a future of another loop
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.close()


@one_database
def test_a_conversation_between_players(app: Flask, table: Begin) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    change(Person, game.people[1], talk="once")
    with listening(app) as port:
        with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
            client.sendmail(ALICE, [box.reply], letter("say Hello, Bob!", sender=ALICE))
        (heard,) = send_and_return(engine.utc_now() + 3 * MINUTE)
        assert str(heard["To"]).startswith("Bob")
        assert "- Alice: Hello, Bob!" in text_of(heard)
        with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
            raw = letter("Thanks!\n\nBob", sender="Bob <bob@example.org>")
            for _ in range(3):
                client.sendmail("bob@example.org", [str(heard["Reply-To"])], raw)
            assert (
                client.sendmail("bob@example.org", [str(heard["Reply-To"])], letter("", sender=ALICE)) == {}
            )
            with pytest.raises(smtplib.SMTPRecipientsRefused):
                client.sendmail("bob@example.org", [f"talk+@{DOMAIN}"], raw)
    assert said(game) == [(0, "Hello, Bob!"), (1, "Thanks!")]


@pytest.mark.concurrency
def test_a_conversation_plays_a_move_and_answers_each_recipient(app: Flask, table: Begin) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    gone = f"play+{'a' * 26}@{DOMAIN}"
    with listening(app) as port, smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
        client.ehlo_or_helo_if_needed()
        assert client.has_extn("size")
        assert client.mail(ALICE)[0] == 250
        assert client.rcpt(box.reply)[0] == 250
        assert client.rcpt(gone)[0] == 250  # it has the form of one of ours
        assert client.rcpt("somebody@elsewhere.example")[0] == 550
        assert client.rcpt(f"postmaster@{DOMAIN}")[0] == 550
        assert client.data(written("pass"))[0] == 250
        assert client.getreply()[0] == 550  # the answer for the second recipient
        assert client.noop()[0] == 250
        assert client.sendmail("", [box.bounce], bounce(box.bounce)) == {}
    assert moves_of(game.id, 0) == ["pass"]
    assert [row.kind for row in remembered()] == ["reply", "bounce"]
    assert count_answers(game.id) == 1


def bounce(address: str) -> bytes:
    return next(letter for letter in sample_mails() if letter.name == "qmail").raw("", address)


@one_database
def test_a_running_server_records_heartbeats_and_one_that_has_stopped_is_not_waited_for(app: Flask) -> None:
    with_replies(app)
    for _ in range(2):
        with lmtp.heartbeats(app), engine.reading() as session:
            assert session.get_one(Heartbeat, lmtp.PART).at > engine.utc_now() - lmtp.HEARTBEAT
        with engine.reading() as session:
            assert session.get(Heartbeat, lmtp.PART) is None


@one_database
def test_a_server_whose_database_is_locked_keeps_all_mail_waiting_and_goes_on(
    impatient: Flask, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_replies(impatient)
    game = table(4)
    box = mailbox()
    monkeypatch.setattr(lmtp, "HEARTBEAT", timedelta(seconds=0.05))
    with lmtp.heartbeats(impatient), listening(impatient) as port:
        with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
            with locked(impatient):
                for raw, sender, recipient in (
                    (written("pass"), ALICE, box.reply),
                    (bounce(box.bounce), "", box.bounce),
                ):
                    with pytest.raises(smtplib.SMTPDataError) as refused:
                        client.sendmail(sender, [recipient], raw)
                    assert refused.value.smtp_code == lmtp.TRY_LATER
            assert client.sendmail(ALICE, [box.reply], written("pass")) == {}
        with engine.reading() as session:
            before = session.get_one(Heartbeat, lmtp.PART).at
        for _ in range(600):
            time.sleep(0.05)
            with engine.reading() as session:
                if session.get_one(Heartbeat, lmtp.PART).at > before:
                    break
        else:
            pytest.fail("the thread of the heartbeats has ended")
    assert moves_of(game.id, 0) == ["pass"]


@one_database
@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), OSError(28, "full")]
)
@pytest.mark.parametrize(
    "place", ["server.mail.incoming.lmtp._accept", "server.store.operations.store_figures"]
)
def test_whatever_fails_here_is_a_temporary_failure(
    app: Flask, table: Begin, monkeypatch: pytest.MonkeyPatch, place: str, error: Exception
) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()

    def fail(*_words: object) -> int:
        raise error

    monkeypatch.setattr(place, fail)
    assert lmtp.accept(app, written("pass"), ALICE, box.reply) == lmtp.TRY_LATER
    monkeypatch.setattr(lmtp, "accept", fail)
    with listening(app) as port, smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
        with pytest.raises(smtplib.SMTPDataError) as refused:
            client.sendmail(ALICE, [box.reply], written("pass"))
        assert refused.value.smtp_code == lmtp.TRY_LATER
        assert client.noop()[0] == 250
    assert moves_of(game.id, 0) in ([], ["pass"])


@one_database
def test_nonsense_and_hang_ups_do_not_stop_the_server(app: Flask, table: Begin) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    with listening(app) as port:
        for said in (
            b"",
            b"\x00\xff\r\n",
            b"EHLO x\r\nHELO x\r\n",
            b"LHLO x\r\nMAIL FROM:<>\r\nDATA\r\n",
            b"x" * 5000,
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
                raw.sendall(said)
        with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
            client.sendmail(ALICE, [box.reply], written("x" * 100_000))
        with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
            client.sendmail(ALICE, [box.reply], written("pass", number=2))
    assert moves_of(game.id, 0) == ["pass"]


@one_database
def test_a_mail_that_is_too_big_is_refused(app: Flask, table: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    monkeypatch.setattr(reply, "LARGEST_MAIL", 2000)
    assert lmtp.accept(app, written("pass", "x" * 3000), ALICE, box.reply) == lmtp.TOO_BIG
    assert (moves_of(game.id, 0), remembered()) == ([], [])


@one_database
def test_a_fault_of_ours_keeps_the_mail_with_who_brought_it(
    app: Flask, table: Begin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with_replies(app)
    table(4)
    box = mailbox()

    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(receive, "receive", broken)
    assert lmtp.accept(app, written("pass"), ALICE, box.reply) == lmtp.TRY_LATER
    assert box.reply not in caplog.text


# One mail on standard input


@pytest.fixture
def hand_over(
    app: Flask, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., int]:
    """Return a function that pipes an email to `byzanz mail-in --stdin` and returns the exit status."""
    for name, value in {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET,
        "MAIL_FROM": "Byzanz <games@byzanz.test>",
        "MAIL_DOMAIN": DOMAIN,
        "BASE_URL": "https://byzanz.test",
    }.items():
        monkeypatch.setenv(f"BYZANZ_{name}", value)
    monkeypatch.delenv("SENDER", raising=False)
    monkeypatch.delenv("RECIPIENT", raising=False)
    with_replies(app)

    def handed(raw: bytes, *words: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        status = main(["mail-in", "--stdin", *words])
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == (status != 0)
        return status

    return handed


@one_database
def test_standard_input_plays_a_move(hand_over: Callable[..., int], table: Begin) -> None:
    game = table(4)
    box = mailbox()
    assert hand_over(written("pass"), "--recipient", box.reply, "--sender", ALICE) == 0
    assert moves_of(game.id, 0) == ["pass"]


@one_database
@pytest.mark.parametrize("header", ["To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To"])
def test_the_recipient_is_looked_for_in_the_mail(
    hand_over: Callable[..., int], table: Begin, header: str
) -> None:
    game = table(4)
    box = mailbox()
    raw = f'{header}: "A, b" <x@y.example>, Byzanz <{box.reply.upper()}>\n'.encode() + written("pass")
    assert hand_over(raw) == 0
    assert moves_of(game.id, 0) == ["pass"]


@one_database
def test_the_return_path_is_the_sender_and_an_empty_one_is_a_machine(
    hand_over: Callable[..., int], table: Begin
) -> None:
    game = table(4)
    box = mailbox()
    assert hand_over(b"Return-Path: <>\n" + written("pass"), "--recipient", box.reply) == 0
    # What Postfix tells a pipe instead of `<>`.
    words = ("--recipient", box.reply, "--sender", "MAILER-DAEMON")
    assert hand_over(written("pass", number=2), *words) == 0
    assert moves_of(game.id, 0) == []
    assert [row.kind for row in remembered()] == ["auto", "auto"]


@one_database
def test_the_statuses_are_those_that_mail_servers_know(
    hand_over: Callable[..., int], table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(4)
    box = mailbox()
    assert (TOO_BIG, NO_USER, TRY_LATER) == (
        65,
        67,
        75,
    )  # EX_DATAERR, EX_NOUSER and EX_TEMPFAIL of sysexits.h
    assert hand_over(written("pass"), "--recipient", f"play+{'a' * 26}@{DOMAIN}") == NO_USER
    assert hand_over(b"\x00\xff") == NO_USER
    assert hand_over(b"x" * (reply.LARGEST_MAIL + 1), "--recipient", box.reply) == TOO_BIG
    with engine.transaction() as session:
        session.execute(sa.text("UPDATE alembic_version SET version_num = 'ffff'"))
    assert hand_over(written("pass"), "--recipient", box.reply) == TRY_LATER
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "sqlite:////no/such/folder/byzanz.db")
    assert hand_over(written("pass"), "--recipient", box.reply) == TRY_LATER
    monkeypatch.setenv("BYZANZ_MAIL_DOMAIN", "")
    assert hand_over(written("pass"), "--recipient", box.reply) == TRY_LATER


NOT_THE_MAILS_FAULT = [
    ("one recipient", ["--recipient", "{box}", "--recipient", "{box}"]),
    ("--no-such-option", ["--recipient", "{box}", "--no-such-option"]),
    ("unrecognized arguments", ["--recipient", "{box}", "{box}"]),
    ("expected one argument", ["--recipient", "{box}", "--sender"]),
    ("'play.example.org'", ["--recipient", "play+aaaaaaaaaaaaaaaaaaaaaaaaaa@play.example.org"]),
]


@pytest.mark.usefixtures("hand_over")
@one_database
@pytest.mark.parametrize(("said", "words"), NOT_THE_MAILS_FAULT)
def test_a_mail_is_kept_after_every_fault_of_the_set_up(
    table: Begin,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    words: list[str],
) -> None:
    game = table(4)
    box = mailbox()
    errors: list[str] = []
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("builtins.print", lambda line, **_more: errors.append(line))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written("pass"))))
    assert main(["mail-in", "--stdin", *(word.format(box=box.reply) for word in words)]) == TRY_LATER
    assert said in errors[0]
    assert moves_of(game.id, 0) == []


@one_database
@pytest.mark.parametrize(
    "setting", [("TICK", "often"), ("SECRET_KEY", "short"), ("MAIL_DOMAIN", "play.example.org")]
)
def test_a_mail_is_kept_while_a_setting_is_wrong(
    hand_over: Callable[..., int], table: Begin, monkeypatch: pytest.MonkeyPatch, setting: tuple[str, str]
) -> None:
    table(4)
    box = mailbox()
    monkeypatch.setenv(f"BYZANZ_{setting[0]}", setting[1])
    assert hand_over(written("pass"), "--recipient", box.reply) == TRY_LATER


@one_database
def test_a_mail_is_kept_while_the_program_is_incomplete(hand_over: Callable[..., int], table: Begin) -> None:
    table(4)
    box = mailbox()
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("server.create_app")
        assert hand_over(written("pass"), "--recipient", box.reply) == TRY_LATER
    for missing in ("server.cli", "server.cli.servers", "server.config", "byzanz.moves"):
        code = f"import runpy, sys; sys.modules[{missing!r}] = None; sys.argv = ['x', 'mail-in', '--stdin']"
        code += "; runpy.run_path('server/cli/__main__.py', run_name='__main__')"
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(people.__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (TRY_LATER, "", 1), missing


@one_database
def test_a_sender_that_looks_like_an_option_is_a_sender(hand_over: Callable[..., int], table: Begin) -> None:
    table(4)
    box = mailbox()
    assert hand_over(written("pass"), "--sender=-ann@example.org", f"--recipient={box.reply}") == 0
    assert hand_over(written("pass", number=2), "--sender=", f"--recipient={box.reply}") == 0
    assert [row.kind for row in remembered()] == ["reply", "auto"]


def test_the_command_says_where_it_listens_and_stops_when_told(tmp_path: Path, migrated_file: Path) -> None:
    shutil.copy(migrated_file, tmp_path / "byzanz.db")
    environment = {
        "BYZANZ_DATABASE_URL": f"sqlite:///{tmp_path}/byzanz.db",
        "BYZANZ_SECRET_KEY": SECRET,
        "BYZANZ_MAIL_DOMAIN": DOMAIN,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(people.__file__).parents[1]),
    }
    words = [sys.executable, "-m", "server.cli", "mail-in", "--port", "0"]
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            stopped_when_told(process)
        finally:
            process.kill()


def stopped_when_told(process: subprocess.Popen[str]) -> None:
    """The command prints its address, answers there, and exits cleanly."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line.startswith("Byzanz is receiving email by LMTP on 127.0.0.1:")
    port = int(line.partition("127.0.0.1:")[2].partition(".")[0])
    with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
        assert client.noop()[0] == 250
    with smtplib.LMTP("127.0.0.1", port, timeout=PATIENCE) as client:
        assert client.noop()[0] == 250
        terminate_through_another_thread(process)  # while a mail server is still connected
        assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == ""
