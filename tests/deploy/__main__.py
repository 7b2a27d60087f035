"""Follow docs/deploy.md and docs/mail-out.md on this machine, then play a whole game through real mailboxes.

    sudo apt-get install nginx postgresql postfix openssl opendkim opendkim-tools python3-dkim
    sudo .venv/bin/python -m tests.deploy [--keep]

The distribution's nginx, PostgreSQL, Postfix and OpenDKIM run with the samples and recipes of the documentation, on
loopback and in a temporary folder, which `--keep` leaves behind. Ann and Bob have mailboxes, and play against a bot by
replying to emails. In the end, the record of the game and the DKIM signatures of all emails are verified. What runs on
this machine already is not touched.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from server.demo import free_port
from tests.deploy.people import Mailbox, Web, sign_in, whole_game
from tests.deploy.programs import (
    PEOPLE,
    Byzanz,
    Failed,
    certificate,
    mailboxes,
    nginx,
    postgresql,
    programs_of_postgresql,
)
from tests.deploy.signing import DOMAIN, opendkim, signed_emails
from tests.support import postfix

PACKAGES = "nginx postgresql postfix openssl opendkim opendkim-tools python3-dkim"
REPLIES = "play.example.org"
"""The domain of the documentation's recipe for Postfix."""


def main() -> int:
    """Set everything up, play, and take everything down again; 0 if all went well."""
    parser = argparse.ArgumentParser(prog="python -m tests.deploy", description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help="leave the folder with all logs behind")
    keep = parser.parse_args().keep
    missing = [
        name
        for name in ("nginx", "postfix", "openssl", "opendkim", "opendkim-genkey")
        if shutil.which(name) is None
    ]
    if missing or not programs_of_postgresql() or os.geteuid() != 0:
        print(f"This needs root, and: apt-get install {PACKAGES}", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="byzanz-deploy-"))
    folder.chmod(0o755)
    try:
        with ExitStack() as stack:
            play(stack, folder)
    except (Failed, subprocess.CalledProcessError, OSError) as error:
        print(f"FAILED: {error}\n{getattr(error, 'stderr', '') or ''}", file=sys.stderr)
        print(f"The logs are in {folder}.", file=sys.stderr)
        return 1
    if not keep:
        shutil.rmtree(folder)
    return 0


def play(stack: ExitStack, folder: Path) -> None:
    """Carry out all steps; raises Failed."""
    began = time.monotonic()

    def done(what: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)

    database = stack.enter_context(postgresql(folder))
    done("PostgreSQL runs")
    lmtp, pages, https = free_port(), free_port(), free_port()
    milter = stack.enter_context(opendkim(folder))
    mail = stack.enter_context(postfix.running(mailboxes(folder, lmtp) | milter))
    done("Postfix delivers to mailboxes and, by LMTP, to Byzanz, and has OpenDKIM sign")
    certificate(folder)
    environment = os.environ | {
        "BYZANZ_DATABASE_URL": database,
        "BYZANZ_SECRET_KEY": "0123456789abcdef0123456789abcdef",
        "BYZANZ_BASE_URL": f"https://localhost:{https}",
        "BYZANZ_MAIL_URL": f"smtp://127.0.0.1:{mail.port}",
        "BYZANZ_MAIL_FROM": f"Byzanz <byzanz@{DOMAIN}>",
        "BYZANZ_MAIL_DOMAIN": REPLIES,
        "BYZANZ_PROXY_HOPS": "1",
        "BYZANZ_TICK": "1",
        "SSL_CERT_FILE": f"{folder}/cert.pem",
    }
    byzanz = Byzanz(folder, environment)
    stack.enter_context(byzanz.running("serve", "--port", str(pages)))
    byzanz.wait_for("serve", "Byzanz is listening")
    stack.enter_context(byzanz.running("mail-in", "--port", str(lmtp)))
    byzanz.wait_for("mail-in", "receiving email by LMTP")
    stack.enter_context(nginx(folder, pages, https))
    done("Byzanz runs behind nginx")
    mailbox = {name: Mailbox(folder, name, mail.port) for name in PEOPLE}
    web = Web(folder, https)
    byzanz.run("moderator", "add", "ann@example.org")
    sign_in(web, mailbox["ann"])
    done("Ann has signed in through nginx with an emailed link, and /metrics is closed")
    check_doctor(byzanz, folder)
    done("byzanz doctor finds nothing wrong, and its test email came back")
    game = new_game(byzanz)
    replies = whole_game(web, mailbox)
    done(f"Ann and Bob have played a whole game by {replies} replies")
    record = byzanz.run("export", game)
    (folder / "game.jsonl").write_text(record)
    done(byzanz.run("verify", str(folder / "game.jsonl")).splitlines()[0])
    done(
        f"{signed_emails(folder)} emails carry a valid DKIM signature, which breaks when a header is changed"
    )


def check_doctor(byzanz: Byzanz, folder: Path) -> None:
    """Run doctor in both ways; raises Failed if something is wrong."""
    (folder / "doctor.txt").write_text(byzanz.run("doctor"))
    (folder / "doctor-mail.txt").write_text(byzanz.run("doctor", "--mail", "ann@example.org"))


def new_game(byzanz: Byzanz) -> str:
    """Start a game between Ann, Bob and a bot, and return its id."""
    people = [word for name in PEOPLE for word in ("--player", f"{name.title()} <{name}@example.org>")]
    return byzanz.run("new", "byzanz", *people, "--bot", "greedy", "--start").strip()


if __name__ == "__main__":
    sys.exit(main())
