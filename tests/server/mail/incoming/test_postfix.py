"""Postfix hands over email as docs/deploy.md tells it to: by LMTP, and by a pipe."""

from __future__ import annotations

import shutil
import smtplib
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

from tests.conftest import SECRET, Table
from tests.server.mail.incoming.test_lmtp import listening
from tests.support import postfix
from tests.support.folders import ROOT
from tests.support.postfix import Postfix
from tests.support.sample_mails import ALICE, moves_of, remembered, send_and_return, written

Begin = Callable[..., Table]
DOMAIN = "play.example.org"
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(postfix.why_not()), reason=postfix.why_not()),
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]


@pytest.fixture
def boxes(app: Flask, table: Begin) -> list[str]:
    """Return the reply addresses of one player in two games."""
    app.config["BYZANZ"] = app.config["BYZANZ"].model_copy(update={"mail_domain": DOMAIN})
    for game_id in ("g1", "g2"):
        table(3, game_id)
    return [mail["Reply-To"] for mail in send_and_return() if mail["To"].endswith("<alice@example.org>")]


@pytest.fixture
def recipients() -> Iterator[str]:
    """Return the file of the documentation that lists our addresses."""
    with tempfile.NamedTemporaryFile("w", suffix=".regexp") as file:
        Path(file.name).chmod(0o644)
        file.write("\n".join(postfix.recipe("/etc/postfix/byzanz")) + "\n")
        file.flush()
        yield file.name


def postfix_settings(recipients: str, *blocks: str) -> dict[str, str]:
    """Return the lines of main.cf in blocks of the documentation, later ones before earlier ones."""
    lines = [line.partition(" = ") for block in blocks for line in block.splitlines()]
    return {name: value.replace("/etc/postfix/byzanz", recipients) for name, _, value in lines}


def send_to(to: Postfix, raw: bytes, *recipients: str, sender: str = ALICE) -> None:
    """Hand an email to Postfix, as another mail server does."""
    with smtplib.SMTP("127.0.0.1", to.port) as client:
        client.sendmail(sender, recipients, raw)


def test_postfix_delivers_by_lmtp(app: Flask, boxes: list[str], recipients: str) -> None:
    lmtp, _pipe = postfix.recipe("/etc/postfix/main.cf")
    with listening(app) as port:
        found = postfix_settings(recipients, lmtp.replace("8024", str(port)))
        with postfix.running(found) as running:
            send_to(running, written("pass"), *boxes)
            running.wait_for("status=sent", 2)
            with pytest.raises(smtplib.SMTPRecipientsRefused):
                send_to(running, written("pass"), f"postmaster@{DOMAIN}")
            gone = f"play+{'a' * 26}@{DOMAIN}"
            send_to(running, written("pass", number=2), gone, sender="<>")
            running.wait_for("status=bounced .*5.1.1 no such address")
    assert [moves_of(game_id, 0) for game_id in ("g1", "g2")] == [["pass"], ["pass"]]
    assert [row.kind for row in remembered()] == ["reply", "reply"]


@pytest.fixture
def folder(database_url: str, boxes: list[str]) -> Iterator[Path]:
    """Return a folder of the user nobody with the database of the test, as the pipe needs it."""
    assert boxes  # the games are in the database
    found = Path(tempfile.mkdtemp(prefix="byzanz-pipe-"))
    with (
        closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as here,
        closing(sqlite3.connect(found / "byzanz.db")) as there,
    ):
        here.backup(there)
    for each in (found, found / "byzanz.db"):
        shutil.chown(each, "nobody", "nogroup")
    yield found
    shutil.rmtree(found)


def interpreter() -> list[str]:
    """Return the beginning of a command that runs this checkout as the user nobody."""
    path = ":".join([str(ROOT), *(each for each in sys.path if each.endswith("-packages"))])
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        words = ["/usr/bin/env", f"PYTHONPATH={path}", "PYTHONDONTWRITEBYTECODE=1", python]
        try:
            subprocess.run(
                [*words, "-c", "import server.cli, psycopg"], user="nobody", check=True, capture_output=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return words
    pytest.skip("the user nobody cannot run this checkout's Python")


def piped(folder: Path, domain: str) -> str:
    """Return the documentation's pipe to this checkout."""
    (service,) = postfix.recipe("/etc/postfix/master.cf")
    given = {"DATABASE_URL": f"sqlite:///{folder}/byzanz.db", "SECRET_KEY": SECRET, "MAIL_DOMAIN": domain}
    python = interpreter()
    words = [*python[:-1], *(f"{{BYZANZ_{name}={value}}}" for name, value in given.items()), python[-1]]
    changes = {
        "user=byzanz": "user=nobody",
        "/srv/byzanz": str(folder),
        "/usr/bin/python3 dev.py": f"{' '.join(words)} -m server.cli",
    }
    for old, new in changes.items():
        assert old in service
        service = service.replace(old, new)
    return "\n" + service + "\n"


def stored_moves(folder: Path) -> list[tuple[str, str]]:
    """Return what players have moved in the database of a pipe."""
    with closing(sqlite3.connect(folder / "byzanz.db")) as database:
        query = (
            "SELECT game_id, move FROM entry WHERE by = 'player' AND game_id IN ('g1', 'g2') ORDER BY game_id"
        )
        return database.execute(query).fetchall()


def test_postfix_delivers_each_recipient_by_a_pipe_and_keeps_what_the_server_cannot_take(
    boxes: list[str], recipients: str, folder: Path
) -> None:
    found = postfix_settings(recipients, *postfix.recipe("/etc/postfix/main.cf"))
    with postfix.running(
        found, piped(folder, "play.example.net")
    ) as running:  # another domain than Postfix's
        send_to(running, written("pass"), *boxes)
        running.wait_for("status=deferred .*BYZANZ_MAIL_DOMAIN is play.example.net", 2)
        assert "bounced" not in running.log
        master = running.folder / "conf" / "master.cf"
        master.write_text(master.read_text().replace("play.example.net", DOMAIN))
        running.command("postfix", "reload")
        running.command("postqueue", "-f")
        running.wait_for("status=sent", 2)
        send_to(running, written("pass", number=2), f"play+{'a' * 26}@{DOMAIN}", sender="<>")
        running.wait_for("status=bounced .*no such address")
    assert stored_moves(folder) == [("g1", "pass"), ("g2", "pass")]


def test_two_recipients_at_once_wait_in_the_queue(boxes: list[str], recipients: str, folder: Path) -> None:
    found = postfix_settings(recipients, *postfix.recipe("/etc/postfix/main.cf"))
    found["byzanz_destination_recipient_limit"] = "50"
    with postfix.running(found, piped(folder, DOMAIN)) as running:
        send_to(running, written("pass"), *boxes)
        running.wait_for("status=deferred .*one recipient at a time", 2)
        assert "bounced" not in running.log
    assert stored_moves(folder) == []
