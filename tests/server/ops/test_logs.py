"""The log: its formats and levels, what it says about each event, and what it never says."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from server import config
from server.mail.incoming import lmtp
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.ops import logs, serve
from server.scheduler import jobs, loop
from server.store import engine, links, operations
from tests.conftest import NOW, Table, begun, settings
from tests.support.games import give_to_bots, submit
from tests.support.log_secrets import secrets_in
from tests.support.mail_servers import FakeMailer
from tests.support.mails import awaited, bold_move, send_waiting
from tests.support.sample_mails import ALICE, mailbox, sample_mails, with_replies, written

Log = Callable[..., io.StringIO]
ADDRESS = "bob@example.org"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """Return a function that starts a log as a server does, with some settings."""
    root, ours = logging.getLogger(), logging.getLogger("server")
    handlers, levels = root.handlers, (root.level, ours.level)

    def start(**more: object) -> io.StringIO:
        heard = io.StringIO()
        monkeypatch.setattr(sys, "stderr", heard)
        root.handlers = []  # pytest adds its own for each phase of a test
        logs.log_to_stderr(settings("sqlite:////x.db", **more))
        return heard

    yield start
    root.handlers = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def logged(heard: io.StringIO) -> list[str]:
    """The messages of a log in text, without time, level and logger."""
    return [line.partition(": ")[2] for line in heard.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("level", "letters"),
    [("debug", ["D", "I", "W"]), ("info", ["I", "W"]), ("warning", ["W"]), ("error", [])],
)
def test_the_level_is_that_of_the_settings_and_for_libraries_never_below_warning(
    log: Log, level: str, letters: list[str]
) -> None:
    heard = log(log_level=level)
    for name in ("server.of.this", "some.library"):
        for number, letter in ((logging.DEBUG, "D"), (logging.INFO, "I"), (logging.WARNING, "W")):
            logging.getLogger(name).log(number, "%s of %s", letter, name)
    loud = ["W of some.library"] if level != "error" else []
    assert logged(heard) == [f"{letter} of server.of.this" for letter in letters] + loud


def test_json_has_a_line_for_each_record_with_its_values(log: Log) -> None:
    heard = log(log_format="json")
    logger = logging.getLogger("server.of.this")
    logger.info("mail %(mail)s to %(who)s", {"mail": 7, "who": f"<{ADDRESS}>", "game": None})
    try:
        raise ValueError(f"a\nfault at {ADDRESS}")
    except ValueError:
        logger.exception("it failed")
    first, second = (json.loads(line) for line in heard.getvalue().splitlines())
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "INFO",
        "logger": "server.of.this",
        "message": "mail 7 to <…>",
        "mail": 7,
        "who": "<…>",
        "game": None,
    }
    assert second["message"] == "it failed"
    assert second["error"].endswith("ValueError: a\nfault at …")


@pytest.mark.parametrize("form", ["text", "json"])
def test_tokens_addresses_and_passwords_are_masked(log: Log, form: str) -> None:
    heard = log(log_format=form)
    token = "abcdefghijklmnopqrstuvwxyz"
    url = "postgresql://byzanz:secret@db.example.org/byzanz"
    logging.getLogger("server").warning("%s", f"\n{token} <{ADDRESS}> {url} play+{token}@example.org")
    text = heard.getvalue()
    assert [each for each in (token, ADDRESS, "example.org", "secret") if each in text] == []
    if form == "json":
        assert json.loads(text)["message"] == "\n… <…> postgresql://…/byzanz …"


@pytest.mark.parametrize("name", ["LOG_LEVEL", "LOG_FORMAT", "METRICS_TOKEN"])
def test_a_setting_that_means_nothing_is_told_in_a_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"BYZANZ_{name}", "loud")
    with pytest.raises(config.ConfigError, match=f"BYZANZ_{name}: "):
        config.load()


def test_levels_may_be_written_in_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_LOG_LEVEL", "WARNING")
    assert config.Settings().log_level == "warning"


def test_gunicorn_logs_like_all_others(log: Log) -> None:
    heard = log(log_format="json")
    web = serve.GunicornServer(None, serve.options("127.0.0.1", 1, 1))  # type: ignore[arg-type]  # nothing is asked of it
    web.cfg.logger_class(web.cfg).warning("Worker of %s is late", ADDRESS)
    assert json.loads(heard.getvalue())["message"] == "Worker of … is late"
    assert web.cfg.accesslog is None
    heard = log(log_level="error")
    web.cfg.logger_class(web.cfg).warning("Worker is late")
    assert heard.getvalue() == ""


# ---- request IDs ----

DEAD = "/t/abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("given", ["7f3a-from.the_proxy", "x" * 64])
def test_a_request_keeps_the_id_that_its_proxy_gave_it(client: FlaskClient, given: str) -> None:
    answer = client.get(DEAD, headers={"X-Request-ID": given})
    assert answer.headers.getlist("X-Request-ID") == [given]
    assert f"Request ID: {given}<" in answer.text


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "<b>", "ä", "a,b"])
def test_an_id_that_could_hide_something_is_replaced(client: FlaskClient, given: str) -> None:
    found = [client.get(DEAD, headers={"X-Request-ID": given}).headers["X-Request-ID"] for _ in range(2)]
    assert given not in found
    assert len(set(found)) == 2
    assert {len(each) for each in found} == {16}


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/seats/none", "/nowhere"])
def test_every_answer_has_an_id(client: FlaskClient, path: str) -> None:
    assert client.get(path).headers["X-Request-ID"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_lines_of_a_request_have_its_id_and_so_has_its_error_page(
    client: FlaskClient, log: Log, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    heard = log(log_format=form)

    def faulty(*_args: object, **_more: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(links, "seat_access", faulty)
    answer = client.get(DEAD, headers={"X-Request-ID": "the-7th", "Accept-Language": "de"})
    assert answer.status_code == 500
    assert "Anfragenummer: the-7th" in answer.text
    logging.getLogger("server").warning("later")
    first, *_, last = heard.getvalue().splitlines()
    if form == "json":
        assert json.loads(first)["request_id"] == "the-7th"
        assert "request_id" not in json.loads(last)
    else:
        assert " ERROR server.web.setup [the-7th]: fault at turn.show" in first
        assert last.endswith(" WARNING server: later")


# ---- what happens is told ----


def test_a_move_is_one_line_that_names_no_card(
    client: FlaskClient, table: Callable[..., Table], log: Log
) -> None:
    game = table(3)
    heard = log()
    answer = client.post(
        f"/api/v1/seats/{game.tokens[0]}/moves", json={"move": "pass", "seen": 1, "request_id": "a"}
    )
    assert answer.status_code == 201
    again = client.post(
        f"/api/v1/seats/{game.tokens[0]}/moves", json={"move": "pass", "seen": 1, "request_id": "a"}
    )
    assert again.status_code == 200  # the same move, of which the log has told
    assert logged(heard) == [f"game g1: entry 2 is a move of seat 0 (player, person {game.people[0]})"]
    assert f" INFO server.play.moves [{answer.headers['X-Request-ID']}]: " in heard.getvalue()


@pytest.mark.empty_database
def test_each_mail_is_one_line(table: Callable[..., Table], log: Log) -> None:
    game = table(3)
    heard = log()
    deliver.deliver(NOW, FakeMailer(PermanentFailure(f"550 <{ADDRESS}> unknown")), n=1)
    submit(game.id, 0, "pass")
    send_waiting(NOW)
    first, _move, second = logged(heard)
    assert first == f"mail 1 (turn, game g1) to person {game.people[0]} was rejected: 550 <…> unknown"
    assert second.endswith(f"(turn, game g1) to person {game.people[1]} was sent")
    operations.store_figures()
    with engine.reading() as session:
        assert (
            operations.stored_figures(session)["mail_out:rejected"]
            == operations.stored_figures(session)["mail_out:sent"]
            == 1
        )


def test_each_mail_that_comes_in_is_one_line(app: Flask, table: Callable[..., Table], log: Log) -> None:
    with_replies(app)
    game = table(3)
    box = mailbox()
    heard = log()
    assert lmtp.accept(app, written("pass"), ALICE, box.reply) == lmtp.ACCEPTED
    assert lmtp.accept(app, written("pass"), ALICE, box.reply) == lmtp.ACCEPTED
    assert lmtp.accept(app, written("pass"), ALICE, "nobody@example.org") == lmtp.UNKNOWN
    assert lmtp.accept(app, written("spam"), ALICE, "complaints@byzanz.test") == lmtp.ACCEPTED
    _move, done, again, unknown, strange = logged(heard)
    assert strange == "incoming mail: not about one of our emails"
    assert done.endswith(f"(reply, game g1, person {game.people[0]}): 1 of 1 lines carried out")
    assert (again, unknown) == ("incoming mail: seen before", "incoming mail: unknown")
    with engine.reading() as session:
        stored = operations.stored_figures(session)
    assert [stored[f"mail_in:{kind}"] for kind in ("reply", "repeated", "unknown")] == [1, 1, 2]


def test_a_bounce_names_the_mail_that_came_back(app: Flask, table: Callable[..., Table], log: Log) -> None:
    with_replies(app)
    game = table(3)
    box, heard = mailbox(), log()
    (bounced,) = (letter for letter in sample_mails() if letter.name == "dsn-postfix")
    lmtp.accept(app, bounced.raw(box.reply, box.bounce), "", box.bounce)
    (line,) = logged(heard)
    assert re.search(rf"\(bounce, mail \d+, person {game.people[0]}, game g1\): failed: ", line)


def test_a_bots_move_names_no_person(table: Callable[..., Table], log: Log) -> None:
    give_to_bots(table(3), range(1))
    heard = log()
    assert jobs.tick_bots(NOW)
    assert logged(heard)[0] == "game g1: entry 2 is a move of seat 0 (bot)"


def test_a_tick_is_told_if_it_did_something_and_its_success_is_noted(app: Flask, log: Log) -> None:
    made = loop.Scheduler(app, app.config["BYZANZ"])
    heard = log()

    def fail() -> None:
        raise RuntimeError("boom")

    made._run_job("reminders", lambda: 0)
    made._run_job("nudges", lambda: 2)
    made._run_job("purge", fail)
    operations.store_figures()
    first, second, *_trace = logged(heard)
    assert first == "job nudges: 2 done"
    assert second.startswith("job purge failed")
    with engine.reading() as session:
        done = {name for name in operations.stored_figures(session) if name.startswith("job:")}
    assert done == {"job:reminders", "job:nudges"}


@pytest.mark.usefixtures("app")
def test_a_seat_that_is_played_for_is_told(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(3)
    send_waiting()
    later = NOW + timedelta(days=9)
    monkeypatch.setattr(operations, "enforced_until", lambda *_: later)
    heard = log()
    assert jobs.tick_turns(later, 5.0)
    assert "game g1: entry 2 was played for seat 0 in time-out" in logged(heard)


def test_an_outage_of_the_database_is_a_line_of_each_kind(
    app: Flask, table: Callable[..., Table], client: FlaskClient, log: Log
) -> None:
    with_replies(app)
    game = table(3)
    box, heard = mailbox(), log()
    made = loop.Scheduler(app, app.config["BYZANZ"])

    def down(_connection: object) -> None:
        raise OperationalError("BEGIN", {}, Exception("the server has gone"))

    event.listen(engine.db.engine, "begin", down)
    try:
        for _ in range(10):
            assert client.get(f"/t/{game.tokens[0]}").status_code == 503
            assert client.get(f"/api/v1/seats/{game.tokens[1]}").status_code == 503
            assert lmtp.accept(app, written("pass"), ALICE, box.reply) == lmtp.TRY_LATER
            made._run_job("turns", lambda: jobs.tick_turns(NOW, 5.0))
            made._run_job("outbox", made._send_mail)
    finally:
        event.remove(engine.db.engine, "begin", down)
    assert sorted(logged(heard)) == [
        "fault at api.seat: the server has gone",
        "fault at turn.show: the server has gone",
        "job turns failed; it will run again at the next tick: the server has gone",
        "the database failed while a mail came in: OperationalError",
    ]


def test_neither_moves_nor_mails_in_and_out_leave_a_secret(
    app: Flask, table: Callable[..., Table], caplog: pytest.LogCaptureFixture
) -> None:
    """Also without the mask, which is only the second line of defence."""
    with_replies(app)
    table(4)
    box = mailbox()
    caplog.set_level(logging.DEBUG, "server")
    for letter in sample_mails()[::12]:
        lmtp.accept(app, letter.raw(box.reply, box.bounce), letter.sender, box.address(letter.to))
    deliver.deliver(
        NOW, FakeMailer(PermanentFailure(f"550 <{ADDRESS}> unknown"), TemporaryFailure(f"<{ADDRESS}>"))
    )
    for _ in range(3):
        send_waiting(NOW + timedelta(days=1))
        submit("g1", awaited("g1"), bold_move("g1", awaited("g1")))
    assert len(caplog.messages) > 10
    assert secrets_in(caplog.text) == []
