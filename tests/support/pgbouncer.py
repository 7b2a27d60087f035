"""The distribution's PgBouncer with the settings of docs/deploy/pgbouncer.ini, in front of a PostgreSQL."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from server.demo import LOOPBACK, free_port
from tests.support.folders import ROOT
from tests.torture.databases import folder

PATIENCE = 30.0
SAMPLE = ROOT / "docs" / "deploy" / "pgbouncer.ini"


def why_not() -> str:
    """Return why PgBouncer cannot run here, empty if it can."""
    return "" if shutil.which("pgbouncer") else "PgBouncer is missing: apt-get install pgbouncer"


@contextmanager
def running(database: str, connections: int) -> Iterator[str]:
    """Run PgBouncer until the block ends, and yield the URL under which it serves a database.

    Args:
        database: the URL of the database.
        connections: that it opens to the database, at most.
    """
    behind, port = make_url(database), free_port()
    host = str(behind.query.get("host") or behind.host)
    with folder() as private:
        private.chmod(0o755)
        users = private / "users.txt"
        users.write_text(f'"{behind.username}" "{behind.password or ""}"\n')
        changed = {
            "listen_port": str(port),
            "auth_type": "any" if not behind.password else "plain",
            "auth_file": str(users),
            "default_pool_size": str(connections),
        }
        text = SAMPLE.read_text()
        for name, value in changed.items():
            text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        target = f"host={host} port={behind.port or 5432} dbname={behind.database} user={behind.username}"
        text = text.replace("host=127.0.0.1 port=5432 dbname=byzanz", target)
        file = private / "pgbouncer.ini"
        file.write_text(f"{text}unix_socket_dir =\n")
        owner = Path(host).stat().st_uid if host.startswith("/") else None
        command = [str(shutil.which("pgbouncer")), str(file)]
        with (private / "log").open("wb") as log:
            process = subprocess.Popen(command, user=owner, stdout=log, stderr=log)
        try:
            url = f"postgresql://{behind.username}:{behind.password or ''}@{LOOPBACK}:{port}/byzanz"
            _wait(url, private / "log")
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _wait(url: str, log: Path) -> None:
    last = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > last:
                raise RuntimeError(log.read_text()[-2000:]) from None
            time.sleep(0.1)
