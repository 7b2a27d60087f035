"""`byzanz web`: what its processes share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from flask import Flask

from server import i18n
from server.config import ConfigError
from server.ops import logs, serve
from server.store import engine


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[serve.GunicornServer]]:
    """The gunicorn servers that were started, none of which forks."""
    found: list[serve.GunicornServer] = []

    def run(web: serve.GunicornServer) -> None:
        found.append(web)

    monkeypatch.setattr(serve.GunicornServer, "run", run)
    monkeypatch.setattr(logs, "log_to_stderr", lambda *_: None)
    monkeypatch.setattr(serve, "exit_on_sigterm", lambda: None)
    gc.unfreeze()  # what the server freezes counts
    yield found
    gc.freeze()


def test_web_processes_share_the_application_and_no_connection(
    app: Flask,
    started: list[serve.GunicornServer],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = ["base.html"]  # all of them take seconds
    monkeypatch.setattr(app.jinja_env, "list_templates", lambda **_: some)
    with engine.reading() as session:
        session.connection()
    assert engine.db.engine.pool.checkedin()  # type: ignore[attr-defined]  # of a pool that keeps connections
    i18n.translations.cache_clear()
    serve.web(app, "127.0.0.1", 0, 3)
    (web,) = started
    assert web.load() is app
    assert web.cfg.workers == 3
    assert not engine.db.engine.pool.checkedin()  # type: ignore[attr-defined]
    assert app.jinja_env.cache is not None
    assert any(name == "base.html" for _, name in app.jinja_env.cache), "each would compile its pages"
    assert i18n.translations.cache_info().currsize == len(i18n.NAMES)
    assert gc.get_freeze_count() > 1000, "a collection in one process would copy what all share"
    assert "with 3 processes" in capsys.readouterr().out


@pytest.mark.usefixtures("started")
def test_a_misspelt_setting_is_told_at_the_start(
    app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("BYZANZ_MAILURL", "smtp://mail")
    serve.web(app, "127.0.0.1", 0, 1)
    told = "BYZANZ_MAILURL is not a setting: did you mean BYZANZ_MAIL_URL?"
    assert told in [record.getMessage() for record in caplog.records]


def test_a_port_that_is_taken_says_what_to_do() -> None:
    with serve.listening("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"port {port} \(.*\): stop the program that uses it, or choose another"
        ):
            serve.listening("127.0.0.1", port)
    with pytest.raises(ConfigError, match="choose a --host that this machine has"):
        serve.listening("192.0.2.1", 8000)
