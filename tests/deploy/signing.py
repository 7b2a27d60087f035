"""OpenDKIM signs what Postfix sends, as docs/mail-out.md says; Debian's dkimpy, another program, verifies it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from pathlib import Path

from server.demo import free_port
from tests.deploy.programs import Failed, running_program, wait
from tests.support import postfix
from tests.support.folders import ROOT

DOMAIN = "localhost"
"""The domain of the sender that players see, instead of the documentation's `example.org`."""
SIGNED = ("Feedback-ID", "List-Unsubscribe", "List-Unsubscribe-Post", "Message-ID", "Reply-To")
"""Headers of a turn email that must be signed, and once more than they occur."""
VERIFY = """
import sys, dkim
name, record = (word.encode() for word in sys.argv[1:])
answer = lambda asked, timeout=5: record if asked == name else None
sys.exit(0 if dkim.verify(sys.stdin.buffer.read(), dnsfunc=answer) else 1)
"""


@contextmanager
def opendkim(folder: Path) -> Iterator[dict[str, str]]:
    """Run OpenDKIM with the sample and a new key until the block ends; yield the settings of Postfix."""
    keys = folder / "dkimkeys"
    keys.mkdir(mode=0o700)
    shutil.chown(keys, "opendkim", "opendkim")
    port = str(free_port())
    text = (ROOT / "docs" / "deploy" / "opendkim.conf").read_text()
    for old, new in {
        "/etc/dkimkeys": str(keys),
        "example.org": DOMAIN,
        "8891": port,
        "/run/opendkim": str(keys),
    }.items():
        if old not in text:
            raise Failed(f"docs/deploy/opendkim.conf has no {old!r}")
        text = text.replace(old, new)
    (genkey,) = re.findall(r"opendkim-genkey .*", text)
    subprocess.run(genkey.split(), check=True, capture_output=True, text=True)
    file = folder / "opendkim.conf"
    file.write_text(text + "RequireSafeKeys no\n")  # /tmp belongs to everybody
    lines = [
        line.partition(" = ")
        for line in postfix.recipe("/etc/postfix/main.cf", "docs/mail-out.md")[0].splitlines()
    ]
    with running_program(["opendkim", "-f", "-x", str(file)], folder / "opendkim.log"):
        wait((keys / "opendkim.pid").exists, "OpenDKIM")
        yield {name: value.replace("8891", port) for name, _, value in lines}


def signed_emails(folder: Path) -> int:
    """Verify the signature of each email of Byzanz in the mailboxes and return their number; raises Failed."""
    quoted = re.findall(r'"([^"]*)"', (folder / "dkimkeys" / "byzanz.txt").read_text())
    key = (f"byzanz._domainkey.{DOMAIN}.", "".join(quoted))
    mails = [path.read_bytes() for path in sorted((folder / "mailboxes").glob("*/new/*"))]
    turns = [raw for raw in mails if set(SIGNED) <= set(message_from_bytes(raw).keys())]
    if not turns:
        raise Failed(f"no email has all of {SIGNED}")
    for raw in mails:
        if not verifies(raw, key):
            raise Failed(f"a signature is not valid:\n{raw.decode()}")
    for raw in turns:
        fields = dict(re.findall(r"(\w+)=([^;]*)", message_from_bytes(raw)["DKIM-Signature"]))
        names = re.sub(r"\s", "", fields["h"]).lower().split(":")
        if once := [name for name in SIGNED if names.count(name.lower()) != 2]:
            raise Failed(f"{once} are not signed twice: {names}")
    for name in SIGNED:
        if verifies(turns[0].replace(f"\n{name}: ".encode(), f"\n{name}: x".encode()), key):
            raise Failed(f"a changed {name} passes")
    return len(mails)


def verifies(raw: bytes, key: tuple[str, str]) -> bool:
    """Whether an email carries a signature by a key, given as the name and the text of its record in the DNS."""
    done = subprocess.run(
        ["/usr/bin/python3", "-c", VERIFY, *key], input=raw, check=False, capture_output=True
    )
    if b"Error" in done.stderr:
        raise Failed(done.stderr.decode())
    return done.returncode == 0
