"""The DKIM sample of the documentation signs what large providers want signed, and OpenDKIM takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.folders import ROOT
from tests.support.mails import Begin, one_database, send_waiting

SAMPLE = ROOT / "docs" / "deploy" / "opendkim.conf"
KEPT_BY_ALL = {"X-Auto-Response-Suppress", "Content-Transfer-Encoding"}
"""Headers that nobody gains by forging."""
ADDED_LATER = {"Return-Path"}


def settings() -> dict[str, str]:
    """Return the settings of the sample."""
    lines = [line.split(maxsplit=1) for line in SAMPLE.read_text().splitlines()]
    return {name: value for name, value in (line for line in lines if len(line) == 2) if name[0] != "#"}


@one_database
def test_every_header_of_ours_is_signed(table: Begin) -> None:
    table(3)
    (message, *_) = send_waiting()
    ours = set(message.keys()) - KEPT_BY_ALL - ADDED_LATER
    signed = set(settings()["SignHeaders"].split(","))
    assert {"List-Id", "List-Unsubscribe", "List-Unsubscribe-Post", "Message-ID"} <= ours
    assert ours <= signed
    assert "Reply-To" in signed


def test_headers_that_could_be_added_are_signed_once_more() -> None:
    twice = set(settings()["OversignHeaders"].split(","))
    assert {"List-Unsubscribe", "List-Unsubscribe-Post", "Message-ID", "Reply-To"} <= twice
    assert twice <= set(settings()["SignHeaders"].split(","))


@pytest.mark.skipif(shutil.which("opendkim") is None, reason="OpenDKIM is missing: apt-get install opendkim")
def test_opendkim_takes_the_sample(tmp_path: Path) -> None:
    key = tmp_path / "byzanz.private"
    command = ["openssl", "genrsa", "-out", str(key), "2048"]
    subprocess.run(command, check=True, capture_output=True)
    key.chmod(0o600)
    file = tmp_path / "opendkim.conf"
    text = SAMPLE.read_text().replace("/etc/dkimkeys/byzanz.private", str(key))
    unsafe = "\nRequireSafeKeys no\n"  # a test's folder lies below one that everybody may write
    file.write_text(re.sub(r"(?m)^UserID.*$", "", text) + unsafe)
    done = subprocess.run(["opendkim", "-n", "-x", str(file)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
