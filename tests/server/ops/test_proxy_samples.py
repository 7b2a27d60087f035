"""The samples in docs/deploy: the real proxy runs with each, before a real server, and somebody signs in through it.

A proxy that is not installed is skipped. Ports, certificates, folders and the host name are replaced; all else is as
an operator would copy it.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPSHandler, Request, build_opener

import pytest

from server import create_app
from server.config import Settings
from server.demo import free_port
from server.ops import checks
from server.store import engine, links, people
from server.store.models import LinkPurpose
from tests.conftest import copied, settings
from tests.support.folders import ROOT
from tests.support.servers import PATIENCE, running, status

pytestmark = pytest.mark.nightly
SAMPLES = ROOT / "docs" / "deploy"
TOKEN = "q" * 26
NGINX = """
daemon off; user root; pid {folder}/pid; error_log {folder}/main.log;
events {{}}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {sample}
}}
"""
APACHE = """
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/main.log
User www-data
Listen 127.0.0.1:{http}
Listen 127.0.0.1:{https}
{modules}
{sample}
"""
CADDY_OPTIONS = """{{
    admin off
    skip_install_trust
    default_bind 127.0.0.1
    http_port {http}
    https_port {https}
"""
CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
)
MODULES = "mpm_event authz_core alias filter ssl headers proxy proxy_http deflate reqtimeout setenvif"


@dataclass
class Proxy:
    """A proxy with its sample, not yet started.

    Args:
        name: of its program.
        folder: for its files, with `cert.pem` and `key.pem` for localhost.
        upstream: the port of the server behind it.
        path: under which the server lies.
        passed_on: what of this path reaches the server.
    """

    name: str
    folder: Path
    upstream: int
    http: int
    https: int
    path: str = ""
    passed_on: str = ""

    @property
    def base(self) -> str:
        """The address of the server."""
        return f"https://localhost:{self.https}{self.path}"

    def sample(self, name: str, **more: str) -> str:
        """Return a sample with what differs between machines replaced."""
        text = (SAMPLES / name).read_text()
        for old, new in {
            "/etc/letsencrypt/live/byzanz.example.org/fullchain.pem": f"{self.folder}/cert.pem",
            "/etc/letsencrypt/live/byzanz.example.org/privkey.pem": f"{self.folder}/key.pem",
            "byzanz.example.org": "localhost",
            "127.0.0.1:8000": f"127.0.0.1:{self.upstream}",
            **more,
        }.items():
            assert old in text or "letsencrypt" in old, (name, old)
            text = text.replace(old, new)
        return text

    def command(self) -> list[str]:
        """Write the configuration and return the command that runs the proxy in the foreground."""
        return {"nginx": self._nginx, "caddy": self._caddy, "apache2": self._apache}[self.name]()

    def _nginx(self) -> list[str]:
        listens = {
            "listen 80": f"listen 127.0.0.1:{self.http}",
            "listen [::]:80": f"listen 127.0.0.2:{self.http}",
        }
        listens |= {"listen 443": f"listen 127.0.0.1:{self.https}", "[::]:443": f"127.0.0.2:{self.https}"}
        listens |= {"https://$host": f"https://$host:{self.https}"}
        inside, port = "location / {\n        proxy_pass http://127.0.0.1:8000", self.upstream
        if self.path:
            inside = inside.replace("8000", str(port))
            listens |= {inside: inside.replace(" / ", f" {self.path}/ ") + self.passed_on}
        sample = self.sample("nginx.conf", **listens, **{"/var/log/nginx": str(self.folder)})
        return self._written(["nginx", "-e", "stderr", "-c"], NGINX.format(folder=self.folder, sample=sample))

    def _apache(self) -> list[str]:
        ports = {"*:80>": f"*:{self.http}>", "*:443>": f"*:{self.https}>"}
        ports |= {"https://localhost/": f"https://localhost:{self.https}/"}
        sample = self.sample("apache.conf", **ports, **{"/var/log/apache2": str(self.folder)})
        loads = "\n".join(
            f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES.split()
        )
        text = APACHE.format(
            folder=self.folder, http=self.http, https=self.https, modules=loads, sample=sample
        )
        return self._written(["apache2", "-DFOREGROUND", "-f"], text)

    def _caddy(self) -> list[str]:
        sample = self.sample("Caddyfile").replace(
            "\nlocalhost {", f"\nlocalhost {{\n\ttls {self.folder}/cert.pem {self.folder}/key.pem"
        )
        version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
        if version.strip() == "2.6.2":
            sample = sample.replace("request_buffers 2MB", "buffer_requests")
        options = CADDY_OPTIONS.format(http=self.http, https=self.https)
        return self._written(
            ["caddy", "run", "--adapter", "caddyfile", "--config"],
            re.sub(r"^\{", options, sample, flags=re.MULTILINE),
        )

    def _written(self, command: list[str], text: str) -> list[str]:
        file = self.folder / "proxy.conf"
        file.write_text(text)
        return [*command, str(file)]

    def logs(self) -> str:
        """Return all that it has logged."""
        return "".join(path.read_text(errors="replace") for path in self.folder.glob("*log*"))


@pytest.fixture(params=["nginx", "caddy", "apache2"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Proxy:
    """Return a proxy before a port on which nothing listens yet."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    subprocess.run(
        [
            *CERTIFICATE.split(),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    return Proxy(request.param, tmp_path, free_port(), free_port(), free_port())


@contextmanager
def started(proxy: Proxy) -> Iterator[None]:
    """Run a proxy until the block ends."""
    homes = {name: str(proxy.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with (proxy.folder / "output.log").open("wb") as output:
        process = subprocess.Popen(
            proxy.command(), stdout=output, stderr=subprocess.STDOUT, env=os.environ | homes
        )
        try:
            wait(lambda: process.poll() is not None or listens(proxy.https), "the proxy")
            assert process.poll() is None, proxy.logs()
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(until: Callable[[], bool], what: str) -> None:
    last = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < last, f"waited in vain for {what}"
        time.sleep(0.05)


class Visitor:
    """A browser that trusts the proxy's certificate."""

    def __init__(self, proxy: Proxy) -> None:
        self.base = proxy.base
        trusting = ssl.create_default_context(cafile=str(proxy.folder / "cert.pem"))
        self._opener = build_opener(HTTPSHandler(context=trusting), HTTPCookieProcessor(CookieJar()))

    def ask(self, path: str, body: bytes | None = None) -> tuple[int, str]:
        """Return the status and the text of an answer, after redirections."""
        request = Request(self.base + path, data=body, headers={"Referer": self.base + path})
        try:
            with self._opener.open(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")


@pytest.fixture
def chosen(proxy: Proxy, migrated_file: Path) -> Iterator[Settings]:
    """Return the settings of the server behind the proxy, as the sample tells them, and its database."""
    with copied(migrated_file) as url:
        yield settings(url, base_url=proxy.base, proxy_hops=1)


def sign_in_token(chosen: Settings) -> str:
    """Return the token of a link that signs Ann in."""
    app = create_app(chosen)
    now = engine.utc_now()
    with app.app_context(), engine.transaction() as session:
        person = people.get_or_create(session, "ann@example.org", "Ann", now)
        link = links.issue(session, LinkPurpose.SIGNIN, person.id, now, expires_at=now + timedelta(hours=1))
        session.flush()
        token = links.token(link)
        session.commit()
        engine.db.engine.dispose()
    return token


@contextmanager
def signed_in(proxy: Proxy, chosen: Settings) -> Iterator[Visitor]:
    """Run a server behind a proxy, sign Ann in, and yield her browser."""
    token = sign_in_token(chosen)
    words = ("serve", "--port", str(proxy.upstream))
    more = {"BYZANZ_BASE_URL": chosen.base_url, "BYZANZ_PROXY_HOPS": "1"}
    with running(words, chosen.database_url, proxy.folder / "server.txt", more) as server, started(proxy):
        server.wait(lambda: status(proxy.upstream) == 200, "the server")
        visitor = Visitor(proxy)
        _, page = visitor.ask(f"/s/{token}?x={TOKEN}")
        csrf = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert csrf is not None, page
        code, page = visitor.ask(f"/s/{token}", urlencode({"csrf_token": csrf[1]}).encode())
        assert (code, "Sign in</a>" in page) == (200, False)
        _, account = visitor.ask("/account")
        assert "ann@example.org" in account
        assert [finding for finding in checks.proxy(chosen) if not finding.ok] == []
        yield visitor
    assert token not in proxy.logs()
    assert TOKEN not in proxy.logs()


@pytest.fixture(autouse=True)
def trusted(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let doctor trust the certificate of the proxy."""
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.folder / "cert.pem"))


def test_somebody_signs_in_through_the_sample(proxy: Proxy, chosen: Settings) -> None:
    with signed_in(proxy, chosen) as visitor:
        assert visitor.ask("/metrics")[0] in (403, 404)
        assert visitor.ask("/verify", b"x" * 3_000_000)[0] in (413, 502)  # as Caddy 2.6 puts it
        assert visitor.ask(f"/t/{TOKEN}")[0] == 404
        plain = http.client.HTTPConnection("127.0.0.1", proxy.http)
        plain.request("GET", "/rules/byzanz", headers={"Host": "localhost"})
        answer = plain.getresponse()
        plain.close()
        assert answer.status in (301, 308)
        assert re.fullmatch(r"https://localhost(:\d+)?/rules/byzanz", answer.headers["Location"])
    assert "/account" in proxy.logs() or "request" in proxy.logs(), "nothing was logged"


@pytest.mark.parametrize("proxy", ["nginx"], indirect=True)
@pytest.mark.parametrize("passed_on", ["", "/"], ids=["passed on", "stripped"])
def test_the_server_may_lie_under_a_path(proxy: Proxy, passed_on: str, migrated_file: Path) -> None:
    proxy.path, proxy.passed_on = "/byzanz", passed_on
    with copied(migrated_file) as url:
        chosen = settings(url, base_url=proxy.base, proxy_hops=1)
        with signed_in(proxy, chosen) as visitor:
            assert visitor.ask("/metrics")[0] == 404


def test_no_token_is_logged_while_the_server_is_down(proxy: Proxy) -> None:
    with started(proxy):
        code, _ = Visitor(proxy).ask(f"/t/{TOKEN}?move={TOKEN}")
    assert code in (502, 503)
    assert str(code) in proxy.logs()
    assert TOKEN not in proxy.logs()
