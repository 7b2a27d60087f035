"""The programs of the distribution and of Byzanz, each until its block ends, with the samples of the documentation."""

from __future__ import annotations

import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from server.demo import free_port
from tests.support import postfix
from tests.support.folders import ROOT

PEOPLE = ("ann", "bob")
"""Who has a mailbox at example.org."""
PATIENCE = 90.0
"""Seconds in which each program starts, even on a busy machine."""
NGINX = """
daemon off; user www-data; pid {folder}/pid; error_log {folder}/main.log;
events {{}}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {sample}
}}
"""


class Failed(Exception):
    """A step has not led to what the documentation says."""


def programs_of_postgresql() -> Path | None:
    """Return the folder with PostgreSQL's programs, the newest version's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL of our own until the block ends; yield the URL of an empty database."""
    programs, data = programs_of_postgresql(), folder / "postgresql"
    assert programs is not None
    data.mkdir()
    shutil.chown(data, "postgres")
    port = free_port()

    def run(program: str, *words: str | Path) -> None:
        command = [programs / program, *words]
        subprocess.run(command, user="postgres", cwd=data, check=True, capture_output=True, text=True)

    run("initdb", "-A", "trust", "-U", "byzanz", "-D", data / "data")
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {data}"
    control: tuple[str | Path, ...] = ("-D", data / "data", "-w", "-l", data / "log")
    run("pg_ctl", *control, "-o", options, "start")
    try:
        run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "byzanz", "byzanz")
        yield f"postgresql://byzanz@127.0.0.1:{port}/byzanz"
    finally:
        run("pg_ctl", *control, "-m", "fast", "stop")


def mailboxes(folder: Path, lmtp: int) -> dict[str, str]:
    """Return the settings of Postfix: mailboxes at example.org, and the documentation's way to `byzanz mail-in`."""
    box = folder / "mailboxes"
    box.mkdir()
    shutil.chown(box, "nobody", "nogroup")
    ours = postfix.recipe("/etc/postfix/main.cf")[0].replace("8024", str(lmtp))
    addresses = folder / "byzanz.regexp"
    addresses.write_text(postfix.recipe("/etc/postfix/byzanz")[0] + "\n")
    lines = [line.partition(" = ") for line in ours.splitlines()]
    settings = {name: value.replace("/etc/postfix/byzanz", str(addresses)) for name, _, value in lines}
    owners = {f"virtual_{kind}_maps": f"static:{number}" for kind, number in owner("nobody").items()}
    known = ", ".join(f"{{{name}@example.org = {name}/}}" for name in PEOPLE)
    return (
        settings
        | owners
        | {
            "virtual_mailbox_domains": "example.org",
            "virtual_mailbox_base": str(box),
            "virtual_mailbox_maps": f"inline:{{{known}}}",
            "virtual_minimum_uid": "1",
            "mynetworks": "127.0.0.0/8",
        }
    )


def owner(name: str) -> dict[str, int]:
    """Return the numbers of a user and its group."""
    entry = pwd.getpwnam(name)
    return {"uid": entry.pw_uid, "gid": entry.pw_gid}


def certificate(folder: Path) -> None:
    """Make a certificate for localhost."""
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*words.split(), *names], cwd=folder, check=True, capture_output=True)


@contextmanager
def nginx(folder: Path, pages: int, https: int) -> Iterator[None]:
    """Run nginx with the sample until the block ends."""
    place = folder / "nginx"
    place.mkdir()
    text = (ROOT / "docs" / "deploy" / "nginx.conf").read_text()
    http = free_port()
    for old, new in {
        "/etc/letsencrypt/live/byzanz.example.org/fullchain.pem": f"{folder}/cert.pem",
        "/etc/letsencrypt/live/byzanz.example.org/privkey.pem": f"{folder}/key.pem",
        "byzanz.example.org": "localhost",
        "127.0.0.1:8000": f"127.0.0.1:{pages}",
        "listen 80": f"listen 127.0.0.1:{http}",
        "listen [::]:80": f"listen 127.0.0.2:{http}",
        "listen 443": f"listen 127.0.0.1:{https}",
        "listen [::]:443": f"listen 127.0.0.2:{https}",
        "/var/log/nginx": str(place),
    }.items():
        if old not in text:
            raise Failed(f"docs/deploy/nginx.conf has no {old!r}")
        text = text.replace(old, new)
    (place / "nginx.conf").write_text(NGINX.format(folder=place, sample=text))
    with running_program(["nginx", "-e", "stderr", "-c", str(place / "nginx.conf")], place / "output"):
        yield


@contextmanager
def running_program(
    command: list[str], output: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends."""
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment, cwd=ROOT)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


def wait(until: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Return what a function returns as soon as it is true; raises Failed."""
    last = time.monotonic() + seconds
    while not (found := until()):
        if time.monotonic() > last:
            raise Failed(f"waited in vain for {what}")
        time.sleep(0.2)
    return found


class Byzanz:
    """The commands of `byzanz`, with the settings of the documentation."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "server.cli", *words]

    def running(self, *words: str) -> Any:
        """Run a command until the block ends."""
        return running_program(self._command(*words), self._folder / f"{words[0]}.log", self._environment)

    def wait_for(self, name: str, line: str) -> None:
        """Wait for a line in the output of a running command."""
        wait(lambda: line in (self._folder / f"{name}.log").read_text(), f"{name}: {line}")

    def run(self, *words: str) -> str:
        """Run a command and return its output; raises Failed."""
        done = subprocess.run(
            self._command(*words),
            env=self._environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Failed(f"byzanz {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout
