"""`byzanz doctor` names the right cause first: each fault is made for real, and the command sees it from outside."""

from __future__ import annotations

import asyncio
import base64
import http.server
import io
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dkim
import pytest
import sqlalchemy as sa
import time_machine

from server import create_app
from server.cli import main
from server.config import home
from server.demo import free_port
from server.mail.incoming import lmtp, receive
from server.ops import logs, mail_checks
from server.store import engine, people
from tests.conftest import NOW, SECRET, settings
from tests.support.mail_servers import FaultyServer, speaking
from tests.support.name_servers import serving as names
from tests.support.servers import serving

NOBODY = 65534
WITHOUT_POWERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")
"""Lets root do only what the owner of a file may do."""
AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root can give files to others, and needs setpriv",
)


@pytest.fixture
def place(tmp_path: Path, migrated_file: Path) -> Path:
    """Return a home with an embedded database and its key, as `byzanz upgrade` makes it."""
    made = tmp_path / "home"
    made.mkdir()
    home.create_key(made)
    shutil.copy(migrated_file, made / "instance" / "byzanz.db")
    return made


def environment(place: Path, **given: str) -> dict[str, str]:
    """Return the environment of a command: settings of this home alone."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BYZANZ_")}
    base = {"BYZANZ_HOME": str(place), "BYZANZ_MAIL_URL": "smtp://127.0.0.1:9", "PYTHONPATH": os.getcwd()}
    return clean | base | {"BYZANZ_BASE_URL": f"http://127.0.0.1:{free_port()}"} | given


def doctor(place: Path, folder: Path | None = None, **given: str) -> list[str]:
    """Run `byzanz doctor` in this process; see `wrong`.

    Args:
        folder: the current one.
        given: further settings.
    """
    out, error = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(error):
        patch.setattr(os, "environ", environment(place, **given))
        patch.setattr(logs, "log_to_stderr", lambda *_: None)  # this process belongs to pytest
        patch.chdir(folder or place.parent)
        status = main(["doctor"])
    return wrong(status, out.getvalue(), error.getvalue())


def doctor_run(place: Path, *before: str, **given: str) -> list[str]:
    """Run `byzanz doctor` in a process of its own; see `wrong`.

    Args:
        before: words before the command, such as those that set another clock.
        given: further settings.
    """
    done = subprocess.run(
        [*before, sys.executable, "-m", "server.cli", "doctor"],
        env=environment(place, **given),
        cwd=place.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return wrong(done.returncode, done.stdout, done.stderr)


def wrong(status: int, out: str, error: str) -> list[str]:
    """Return what the command found wrong, in its order; it must have failed, without a traceback."""
    assert status == 1, out + error
    assert "Traceback" not in out + error
    return [line.removeprefix("WRONG  ") for line in out.splitlines() if line.startswith("WRONG")]


def change_file(place: Path, statement: str) -> None:
    """Change the database with SQLite's own tools."""
    with sqlite3.connect(place / "instance" / "byzanz.db") as connection:
        connection.execute(statement)
    connection.close()


# ---- files ----


def can_mount() -> bool:
    """Whether this machine lets us mount a file system of our own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False).returncode == 0
    )


@pytest.mark.skipif(not can_mount(), reason="a read-only file system needs root, unshare and mount")
def test_a_read_only_file_system_is_named_before_any_owner(place: Path) -> None:
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    first, *_ = doctor_run(place, "unshare", "-m", "sh", "-c", script, str(place))
    assert re.match(
        rf"the file system of {place}/instance/byzanz\.db is mounted read-only: mount it writable", first
    )


@pytest.mark.skipif(not can_mount(), reason="a full file system needs root, unshare and mount")
def test_a_full_disk_is_named(place: Path) -> None:
    small = (
        'cp -r "$0" "$0.kept" && mount -t tmpfs -o size=8m none "$0" && cp -r "$0.kept/." "$0" && exec "$@"'
    )
    first, *_ = doctor_run(place, "unshare", "-m", "sh", "-c", small, str(place))
    assert re.match(
        rf"only \d MB free in {place}/instance: make room: without it no move can be stored", first
    )


@AS_ROOT
def test_a_log_beside_the_database_with_another_owner_is_named(place: Path) -> None:
    log = place / "instance" / "byzanz.db-wal"
    log.touch(mode=0o600)
    os.chown(log, NOBODY, -1)
    first, *_ = doctor_run(place, *WITHOUT_POWERS)
    assert re.match(
        rf"{log} belongs to \S+, but the database to root: stop Byzanz, then: chown root {log}", first
    )


@AS_ROOT
def test_settings_that_this_user_may_not_read_are_named(place: Path) -> None:
    (place / ".env").write_text("BYZANZ_TICK=5\n")
    (place / ".env").chmod(0o600)
    os.chown(place / ".env", NOBODY, -1)
    (found,) = doctor_run(place, *WITHOUT_POWERS)
    assert found.startswith(f"configuration: {place}/.env cannot be read (Permission denied): let the user")


@AS_ROOT
def test_a_key_that_this_user_may_not_read_is_named(place: Path) -> None:
    os.chown(place / "instance" / "secret_key", NOBODY, -1)
    (found,) = doctor_run(place, *WITHOUT_POWERS)
    assert found.startswith(
        f"configuration: {place}/instance/secret_key cannot be read (Permission denied): let"
    )


def test_a_missing_key_is_named(place: Path) -> None:
    (place / "instance" / "secret_key").unlink()
    found = doctor(place)
    assert found[0].startswith(f"{place}/instance/secret_key is missing: restore it from a backup")
    assert not any("differs" in line for line in found)


def test_a_home_without_a_database_names_the_one_that_is_left(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first, *_ = doctor(other, folder=place)
    assert first.startswith("configuration: the current folder") or "but one in" in first
    assert f"BYZANZ_HOME={place}" in first


def test_an_empty_database_names_the_one_with_players(
    place: Path, tmp_path: Path, migrated_file: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    home.create_key(other)
    shutil.copy(migrated_file, other / "instance" / "byzanz.db")
    assert not any("nobody is in" in line for line in doctor(other, folder=place))
    with create_app(settings(f"sqlite:///{place}/instance/byzanz.db")).app_context():
        with engine.transaction() as session:
            people.get_or_create(session, "ann@example.org", "Ann", NOW)
        engine.db.engine.dispose()
    first, *_ = doctor(other, folder=place)
    assert first.startswith(
        f"nobody is in {other}/instance/byzanz.db, and there is another database in {place}"
    )
    assert f"set BYZANZ_HOME={place} and restart" in first


# ---- the database ----


def test_a_database_of_a_newer_version_is_named(place: Path) -> None:
    change_file(place, "UPDATE alembic_version SET version_num = '9999'")
    first, *_ = doctor(place)
    assert first.startswith(
        "database: at revision 9999, which this version of Byzanz does not know: a newer one has"
    )
    assert "byzanz upgrade" not in first


def test_an_older_database_is_to_be_upgraded(place: Path) -> None:
    change_file(place, "UPDATE alembic_version SET version_num = '0033'")
    first, *_ = doctor(place)
    assert re.fullmatch(r"database: at revision 0033, not \d+: run `byzanz upgrade`", first)


def test_a_database_that_is_too_old_names_the_commit_between(place: Path) -> None:
    change_file(place, "UPDATE alembic_version SET version_num = '0032'")
    first, *_ = doctor(place)
    assert first == (
        "database: at revision 0032, which is too old for this version of Byzanz: install commit dc3bbcf3 and run "
        "`byzanz upgrade`, then install this version and run it again (docs/deploy.md)"
    )


@pytest.mark.parametrize("at", [0, 4096 * 3])
def test_a_damaged_database_is_to_be_restored(place: Path, at: int) -> None:
    file = place / "instance" / "byzanz.db"
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(os.urandom(1) * (4096 if not at else file.stat().st_size - at))
    assert any("restore a backup" in line for line in doctor(place))


POSTGRESQL = [
    ({"database": "nowhere"}, "does not exist", "create it in PostgreSQL"),
    ({"port": 1}, "refused", "start PostgreSQL"),
    ({"host": "no.such.host.invalid"}, "", "correct the host"),
]


@pytest.mark.postgresql
@pytest.mark.parametrize(("changed", "said", "remedy"), POSTGRESQL, ids=["database", "port", "host"])
def test_why_postgresql_does_not_answer_is_named(
    place: Path, bare_postgres: str, changed: dict[str, Any], said: str, remedy: str
) -> None:
    url = sa.make_url(bare_postgres)
    if "host" in changed or "port" in changed:
        url = sa.URL.create("postgresql+psycopg", "byzanz", "x", "127.0.0.1", 5432, "byzanz")
    chosen = url.set(**changed).render_as_string(hide_password=False)
    found = doctor(place, BYZANZ_DATABASE_URL=chosen, BYZANZ_SECRET_KEY=SECRET)
    line = next(line for line in found if line.startswith("database:"))
    assert said in line.lower()
    assert remedy in line


@contextmanager
def role(server: str, how: str) -> Iterator[sa.URL]:
    """Create a user of PostgreSQL and yield a URL with the right password, without which nobody gets in.

    Args:
        server: the URL of a database, as a superuser.
        how: the method by which pg_hba.conf lets this user in; the server of the tests may trust all others.
    """
    name = f"byzanz_{uuid.uuid4().hex}"
    right = sa.make_url(server).set(username=name, password="right-one")
    lines = f"local all {name} {how}\nhost all {name} all {how}\n"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:

        def rewrite(change: Callable[[str], str]) -> None:
            """Change pg_hba.conf through the server itself, which may run in a container."""
            text = connection.scalar(sa.text("SELECT pg_read_file(current_setting('hba_file'))"))
            given = {"text": change(str(text)).encode()}
            made = {"made": connection.scalar(sa.text("SELECT lo_from_bytea(0, :text)"), given)}
            connection.execute(sa.text("SELECT lo_export(:made, current_setting('hba_file'))"), made)
            connection.execute(sa.text("SELECT lo_unlink(:made), pg_reload_conf()"), made)

        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD '{right.password}'")
        rewrite(lambda text: lines + text)
        try:
            wait_until_refused(right.set(password="wrong-one"))
            yield right
        finally:
            rewrite(lambda text: text.replace(lines, ""))
            connection.exec_driver_sql(f"DROP ROLE {name}")


def wait_until_refused(url: sa.URL) -> None:
    """Wait until PostgreSQL has read its settings again, by which nobody gets in with this URL."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            sa.create_engine(url, poolclass=sa.NullPool).connect().close()
        except sa.exc.OperationalError:
            return
        time.sleep(0.02)
    raise AssertionError("PostgreSQL has not read its settings again.")


LET_IN: list[tuple[str, str | None, str, str]] = [
    ("scram-sha-256", "wrong-one", "password authentication failed", "correct the password"),
    ("scram-sha-256", None, "no password supplied", "write user and password"),
    ("reject", "right-one", "pg_hba.conf rejects connection", "allow this machine and user"),
    ("scram-sha-256", "right-one", "permission denied", "let this user own the database and its tables"),
]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("how", "password", "said", "remedy"), LET_IN, ids=[said for *_, said, _ in LET_IN])
def test_why_postgresql_does_not_let_us_in_is_named(
    place: Path, database_url: str, how: str, password: str | None, said: str, remedy: str
) -> None:
    with role(database_url, how) as right:
        url = sa.URL.create(
            right.drivername, right.username, password, right.host, right.port, right.database
        )
        chosen = url.set(query=right.query).render_as_string(hide_password=False)
        found = doctor(place, BYZANZ_DATABASE_URL=chosen, BYZANZ_SECRET_KEY=SECRET)
    (line,) = [line for line in found if line.startswith("database:")]
    assert said in line
    assert f": {remedy}" in line
    assert not any("wrong-one" in line for line in found), "no password is printed"


DATABASE_CLOCKS = [
    (timedelta(hours=2, seconds=5), "2 hours ahead of"),
    (timedelta(minutes=-10, seconds=-5), "10 minutes behind"),
    (timedelta(minutes=2, seconds=5), "2 minutes ahead of"),
    (timedelta(seconds=10), None),
]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("by", "told"), DATABASE_CLOCKS)
def test_a_clock_that_differs_from_that_of_postgresql_is_named(
    place: Path, database_url: str, by: timedelta, told: str | None
) -> None:
    with time_machine.travel(datetime.now(UTC) + by):  # this process alone: PostgreSQL has the right time
        found = doctor(place, BYZANZ_DATABASE_URL=database_url, BYZANZ_SECRET_KEY=SECRET)
    said = [line for line in found if line.startswith("the clock of this machine")]
    expected = (
        f"the clock of this machine is {told} that of the database: set the one that is wrong, and keep both "
    )
    assert said == ([f"{expected}right with NTP"] if told else [])


# ---- from outside ----


@contextmanager
def dead_behind(status: int) -> Iterator[str]:
    """Run a proxy whose server is dead; yield its address."""

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_server_that_is_dead_behind_its_proxy_is_named(place: Path, status: int) -> None:
    with dead_behind(status) as base:
        found = doctor(place, BYZANZ_BASE_URL=base)
    (line,) = [line for line in found if "/healthz" in line]
    assert line.startswith(
        f"{base}/healthz answers {status}: the proxy is there, but Byzanz does not answer it: start"
    )


@pytest.mark.skipif(shutil.which("faketime") is None, reason="another clock needs faketime")
@pytest.mark.parametrize(("by", "told"), [("+2h", "2 hours ahead of"), ("-10m", "10 minutes behind")])
def test_a_wrong_clock_is_named_and_no_other_server(place: Path, by: str, told: str) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    key = (place / "instance" / "secret_key").read_text()
    app = create_app(settings(f"sqlite:///{place}/instance/byzanz.db", base_url=base, secret_key=key))
    with serving(app, port, app):
        found = doctor_run(
            place, "faketime", "-f", by, BYZANZ_BASE_URL=base, FAKETIME_DONT_FAKE_MONOTONIC="1"
        )
    said = f"the clock of this machine is {told} that of the server at {base}: set the one that is wrong"
    assert found[0].startswith(said), "before the heartbeats, which are older by this clock"
    assert not any("another server" in line for line in found)


# ---- email ----


def test_a_mail_in_that_has_stopped_is_named(place: Path) -> None:
    port = str(free_port())
    given = environment(place, BYZANZ_MAIL_DOMAIN="play.example.org")
    for stop in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(
            [sys.executable, "-m", "server.cli", "mail-in", "--port", port],
            env=given,
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout
            assert b"by LMTP" in process.stdout.readline()
            running = doctor(place, BYZANZ_MAIL_DOMAIN="play.example.org")
            assert not any("mail-in" in line for line in running)
            process.send_signal(stop)
            process.wait(60)
        stopped = doctor(place, BYZANZ_MAIL_DOMAIN="play.example.org")
        said = f"byzanz mail-in has stopped: nothing answers on 127.0.0.1 port {port}: start it again"
        assert any(line.startswith(said) for line in stopped)
    with dead_behind(200) as base:
        (place / "instance" / mail_checks.FILE).write_text(
            f"{socket.gethostname()} 127.0.0.1 {base.rpartition(':')[2]}\n"
        )
        odd = doctor(place, BYZANZ_MAIL_DOMAIN="play.example.org")
    assert any("byzanz mail-in does not answer on 127.0.0.1 port" in line for line in odd)


@pytest.mark.parametrize(
    ("lines", "remedy"),
    [
        (
            (b"220 hello\r\n", b"250-mail\r\n250 AUTH PLAIN\r\n", b"535 5.7.8 failed\r\n"),
            "correct user and password",
        ),
        ((b"220 hello\r\n", b"250 mail\r\n"), "correct user, password and tls"),
        (None, "start the mail server, or correct host and port"),
    ],
)
def test_why_the_mail_server_does_not_let_us_in_is_named(
    place: Path, lines: tuple[bytes, ...] | None, remedy: str
) -> None:
    if lines is None:
        found = doctor(place, BYZANZ_MAIL_URL="smtp://127.0.0.1:9")
    else:
        with speaking(*lines, pause=0.5) as port:
            found = doctor(place, BYZANZ_MAIL_URL=f"smtp://ann:geheim@127.0.0.1:{port}?tls=none")
    (line,) = [line for line in found if line.startswith("mail server:")]
    assert remedy in line
    assert "geheim" not in line


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """Return a private key, and the record that publishes its other half."""
    file = tmp_path_factory.mktemp("dkim") / "key.pem"
    subprocess.run(["openssl", "genrsa", "-out", str(file), "1024"], check=True, capture_output=True)
    public = ["openssl", "rsa", "-in", str(file), "-pubout", "-outform", "DER"]
    made = subprocess.run(public, check=True, capture_output=True).stdout
    return file.read_bytes(), f"v=DKIM1; k=rsa; p={base64.b64encode(made).decode()}"


SIGNED = [
    ("example.org", "right", "ok     DKIM: its signature of example.org is right"),
    (
        "example.org",
        "another key",
        "WRONG  the DKIM signature of the email that came back is wrong: the signature of",
    ),
    ("example.org", "no key", "WRONG  the DKIM signature of the email that came back is wrong: "),
    ("example.net", "right", "is wrong: the signature is of example.net, another domain: publish the key"),
    (
        "",
        "right",
        "WRONG  the email that came back has no DKIM signature of example.org: let your mail server sign",
    ),
]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")
@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("domain", "published", "said"), SIGNED)
def test_the_signature_of_the_email_that_comes_back_is_checked(
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,
    keys: tuple[bytes, str],
    domain: str,
    published: str,
    said: str,
) -> None:
    private, record = keys
    if published == "another key":
        record = f"{record[:90]}{record[90:100].swapcase()}{record[100:]}"
    dns = (
        {(f"mail._domainkey.{domain or 'example.org'}", "TXT"): [f'"{record}"']}
        if published != "no key"
        else {}
    )
    chosen = settings(
        database_url,
        mail_from="Byzanz <games@example.org>",
        mail_domain="play.example.org",
        mail_url="smtp://x",
    )
    with names({**dns, ("example.org", "A"): ["192.0.2.1"]}) as resolver, FaultyServer().running() as server:
        chosen = chosen.model_copy(update={"mail_url": f"smtp://127.0.0.1:{server.port}"})
        monkeypatch.setattr(receive, "resolver", lambda: resolver)
        app = create_app(chosen)
        real = server.handle_DATA

        async def delivered(connection: Any, session: Any, envelope: Any) -> str:
            if "play.example.org" in envelope.rcpt_tos[0]:
                sign = dkim.sign(envelope.content, b"mail", domain.encode(), private) if domain else b""
                took = await asyncio.to_thread(
                    lmtp.accept, app, sign + envelope.content, envelope.mail_from, envelope.rcpt_tos[0]
                )
                assert took == 250
            return await real(connection, session, envelope)

        monkeypatch.setattr(server, "handle_DATA", delivered)
        with app.app_context():
            found = [
                str(each)
                for each in mail_checks.trial_findings(chosen, "mia@example.org", NOW, sleep=lambda _: None)
            ]
    assert "came back to byzanz mail-in" in found[1]
    assert said in found[2]
    assert (published == "right" and domain == "example.org") == found[2].startswith("ok")
