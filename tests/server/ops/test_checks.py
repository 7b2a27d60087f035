"""`byzanz doctor` looks at the server from outside, through the proxy, and says what the proxy lacks."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from server import create_app
from server.config import Settings
from server.demo import free_port
from server.ops import checks
from server.store import engine
from tests.conftest import settings
from tests.support.servers import serving

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def only_whole_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the check for slow clients, which waits."""
    monkeypatch.setattr(checks, "passes_on_halves", lambda _base: False)


Proxy = Callable[[Flask], Callable[..., Any]]


def headers(**given: str) -> Proxy:
    """Return a proxy that sets these variables of each request, and asks by loopback."""
    return lambda app: lambda environ, start: app(environ | given, start)


@contextmanager
def behind(proxy: Proxy, database_url: str, **more: object) -> Iterator[Settings]:
    """Run a server behind a proxy; yield its settings."""
    port = free_port()
    chosen = settings(database_url, base_url=f"http://127.0.0.1:{port}", **more)
    app = create_app(chosen)
    with serving(app, port, proxy(app)):
        yield chosen
    with app.app_context():
        engine.db.engine.dispose()


def findings(chosen: Settings) -> list[str]:
    """Return all findings but that about slow clients."""
    return [str(finding) for finding in checks.proxy(chosen)][:-1]


@pytest.mark.parametrize(
    ("told", "hops", "said"),
    [
        (None, 0, "ok     http"),
        ("192.0.2.1", 1, "ok     http"),
        ("192.0.2.1, 192.0.2.9", 2, "ok     http"),
        (None, 1, "sends no X-Forwarded-For"),
        ("", 1, "sends no X-Forwarded-For"),
        ("192.0.2.1", 0, "set BYZANZ_PROXY_HOPS=1"),
        ("192.0.2.1", 2, "set BYZANZ_PROXY_HOPS=1"),
        ("192.0.2.1, 192.0.2.9", 1, "set BYZANZ_PROXY_HOPS=2"),
    ],
)
def test_the_proxies_that_tell_the_visitor_are_counted(
    database_url: str, told: str | None, hops: int, said: str
) -> None:
    proxy = headers(**({} if told is None else {"HTTP_X_FORWARDED_FOR": told}))
    with behind(proxy, database_url, proxy_hops=hops) as chosen:
        (found,) = findings(chosen)
    assert said in found


@pytest.mark.parametrize(
    ("forwarded", "said"), [(1, "ok     https"), (2, "ok     https"), (0, "let it send this header")]
)
def test_proxies_that_the_settings_do_not_count_are_told_once(
    database_url: str, monkeypatch: pytest.MonkeyPatch, forwarded: int, said: str
) -> None:
    answers = {
        "/healthz": f'{{"status": "alive", "forwarded": {forwarded}, "proxy_hops": 0}}',
        "/metrics": "",
    }
    monkeypatch.setattr(checks, "_fetch", lambda _settings, path: ("200", answers[path]))
    chosen = settings(database_url)
    told = [*checks.machine_findings(chosen), *list(checks.proxy(chosen))[:-1]]
    assert said in str(told[-1])
    assert sum("BYZANZ_PROXY_HOPS" in str(finding) for finding in told) == 1


def test_over_https_there_is_a_proxy_and_it_must_tell_the_visitor(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {
        "/healthz": '{"status": "alive", "forwarded": 0, "proxy_hops": 0}',
        "/metrics": "byzanz_games 1",
    }
    monkeypatch.setattr(checks, "_fetch", lambda _settings, path: ("200", answers[path]))
    silent, open_to_all = findings(settings(database_url))
    assert "sends no X-Forwarded-For" in silent
    assert "everybody can read https://byzanz.test/metrics" in open_to_all


def test_a_proxy_that_shows_the_metrics_is_told(database_url: str) -> None:
    def proxy(app: Flask) -> Callable[..., Any]:
        hidden = {"HTTP_X_FORWARDED_FOR"}

        def pass_on(environ: dict[str, Any], start: Any) -> Any:
            told = environ["PATH_INFO"] != "/metrics"
            environ |= {"HTTP_X_FORWARDED_FOR": "192.0.2.1"} if told else {}
            return app({name: environ[name] for name in environ if told or name not in hidden}, start)

        return pass_on

    with behind(proxy, database_url, proxy_hops=1) as chosen:
        sound, shown = findings(chosen)
    assert sound.startswith("ok")
    assert shown.startswith("WRONG  everybody can read")


@pytest.mark.parametrize(
    ("status", "more", "said"),
    [
        ("502 Bad Gateway", [], "healthz answers 502"),
        ("301 Moved", [("Location", "https://www.byzanz.test/")], "301 (to 'https://www.byzanz.test/')"),
        ("200 OK", [], "healthz answers 200 instead"),
    ],
)
def test_a_proxy_that_leads_elsewhere_is_told(
    database_url: str, status: str, more: list[tuple[str, str]], said: str
) -> None:
    def elsewhere(_app: Flask) -> Callable[..., Any]:
        def answer(_environ: dict[str, Any], start: Any) -> list[bytes]:
            healthy = b'{"status": "alive", "forwarded": 0, "proxy_hops": 0}'
            body = b"[17]" if status == "200 OK" else healthy
            start(status, [("Content-Length", str(len(body))), *more])
            return [body]

        return answer

    with behind(elsewhere, database_url) as chosen:
        (found,) = findings(chosen)
    assert found.startswith("WRONG")
    assert said in found


def test_another_server_at_the_address_is_told(database_url: str) -> None:
    with behind(headers(), database_url) as chosen:
        other = settings(database_url, base_url=chosen.base_url, secret_key="another secret key of this test")
        (found,) = findings(other)
    assert "another server answers, or one with another secret key" in found


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "nothing answers at https://byzanz.test"),
        (TimeoutError("timed out"), "(timed out)"),
        (socket.gaierror(-2, "Name or service not known"), "does not resolve"),
        (ssl.SSLCertVerificationError(1, "expired"), "the certificate of https://byzanz.test is not valid"),
        (http.client.BadStatusLine("SSH-2.0"), "SSH-2.0"),
    ],
)
def test_an_address_where_nothing_answers_is_told(
    database_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail(_settings: Settings, _path: str) -> None:
        raise error

    if isinstance(error, ssl.SSLCertVerificationError):
        error.verify_message = "certificate has expired"
    monkeypatch.setattr(checks, "_fetch", fail)
    (found,) = findings(settings(database_url))
    assert found.startswith("WRONG")
    assert said in found
    (found,) = findings(settings(database_url, base_url="http://127.0.0.1:8000"))
    assert found.startswith("ok") == ("nothing answers" in found)


def test_a_proof_is_valid_for_a_minute_or_two(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "time", SimpleNamespace(time=lambda: 1_700_000_000))
    for ago, valid in ((0, True), (1, True), (2, False), (-1, False)):
        proof = checks._proof(client.application.config["BYZANZ"], ago)
        told = client.get("/healthz", headers={checks.DOCTOR: proof}).json
        assert ("forwarded" in (told or {})) == valid, ago


def test_nobody_else_learns_what_the_proxy_told(client: FlaskClient) -> None:
    for proof in (None, "", "forged", "ImEi.aaaa.bbbb"):
        given = {"X-Forwarded-For": "192.0.2.1"} | ({} if proof is None else {checks.DOCTOR: proof})
        assert client.get("/healthz", headers=given).json == {"status": "alive"}
