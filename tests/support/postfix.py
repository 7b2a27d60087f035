"""The distribution's Postfix on loopback, with the recipes of the documentation, in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.demo import free_port
from tests.support.folders import ROOT

PATIENCE = 60.0
OFFICIAL = Path("/etc/postfix/master.cf.proto")
"""Debian's services, from which a test takes all but their chroots."""


def why_not() -> str:
    """Return why Postfix cannot run here, empty if it can."""
    if shutil.which("postfix") is None or not OFFICIAL.exists():
        return "Postfix is missing: apt-get install postfix"
    return "" if os.geteuid() == 0 else "only root can start Postfix"


class Postfix:
    """A running Postfix.

    Args:
        folder: with its settings, its queue and its log.
        port: on which it takes mail.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    @property
    def log(self) -> str:
        """What it has logged."""
        file = self.folder / "log"
        return file.read_text() if file.exists() else ""

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Wait for lines of the log."""
        last = time.monotonic() + PATIENCE
        while len(re.findall(pattern, self.log)) < times:
            if time.monotonic() > last:
                pytest.fail(f"waited in vain for {pattern!r}\n{self.log[-4000:]}", pytrace=False)
            time.sleep(0.1)

    def command(self, *words: str) -> str:
        """Run one of Postfix's commands on this one, such as `postqueue -f`."""
        config = ("-c", str(self.folder / "conf"))
        return subprocess.run(
            [words[0], *config, *words[1:]], check=True, capture_output=True, text=True
        ).stdout


def recipe(file: str, page: str = "docs/deploy.md") -> list[str]:
    """Return what the documentation puts into a file of Postfix, one block of it after another."""
    text = (ROOT / page).read_text()
    blocks = re.findall(rf"^# {re.escape(file)}\n(.*?)(?=^# /etc|^```)", text, re.MULTILINE | re.DOTALL)
    return [block.strip() for block in blocks]


@contextmanager
def running(settings: Mapping[str, str], services: str = "") -> Iterator[Postfix]:
    """Run Postfix until the block ends.

    Args:
        settings: more lines of main.cf.
        services: more lines of master.cf.
    """
    folder = Path(tempfile.mkdtemp(prefix="byzanz-postfix-"))
    folder.chmod(0o755)  # its parts run as several users
    postfix = Postfix(folder, free_port())
    conf, queue, data = (folder / name for name in ("conf", "queue", "data"))
    for made in (conf, queue, data):
        made.mkdir()
    shutil.chown(data, "postfix")
    plain = {
        "compatibility_level": "3.6",
        "queue_directory": queue,
        "data_directory": data,
        "maillog_file": folder / "log",
        "maillog_file_prefixes": "/tmp, /var/tmp",
        "inet_interfaces": "loopback-only",
        "inet_protocols": "ipv4",
        "myhostname": "mail.example.org",
        "mydestination": "",
        "alias_maps": "",
        "alias_database": "",
        "default_transport": "error:this Postfix sends nothing away",
        "relay_transport": "error:this Postfix sends nothing away",
    }
    lines = [f"{name} = {value}" for name, value in (plain | dict(settings)).items()]
    (conf / "main.cf").write_text("\n".join(lines) + "\n")
    ours = re.sub(r"^smtp +inet", f"127.0.0.1:{postfix.port} inet", OFFICIAL.read_text(), flags=re.MULTILINE)
    unchained = re.sub(r"^(\S+ +\S+ +\S+ +\S+ +)y ", r"\1n ", ours + services, flags=re.MULTILINE)
    (conf / "master.cf").write_text(unchained)
    (conf / "dynamicmaps.cf").write_text("")
    # In a session of its own: when Postfix stops, it signals its whole process group, and its script says so.
    process = subprocess.Popen(
        ["postfix", "-c", str(conf), "start-fg"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the log has everything else
        start_new_session=True,
    )
    try:
        postfix.wait_for("daemon started")
        yield postfix
    finally:
        subprocess.run(["postfix", "-c", str(conf), "stop"], check=False, capture_output=True)
        process.wait(PATIENCE)  # a signal would end the script that started it alone
        shutil.rmtree(folder, ignore_errors=True)
