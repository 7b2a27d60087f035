"""Where `byzanz mail-in` listens, written down for `byzanz doctor`, which asks there whether it answers."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from server import config
from server.config import Settings

FILE = "mail-in.address"
"""The file in the folder of the database, or in the home."""
SECONDS = 3.0
"""How long an answer may take."""
LMTP, SILENT, ABSENT = "lmtp", "silent", "absent"
"""What answers at an address: `mail-in`, a program that says nothing, or none; else the first words of another one."""


def note(settings: Settings, listener: socket.socket) -> None:
    """Write down the address; it stays when the process ends, so that its absence is noticed."""
    host, port = listener.getsockname()[:2]
    if (path := _path(settings)) is not None:
        with suppress(OSError):  # only doctor misses it
            path.write_text(f"{socket.gethostname()} {host} {port}\n")


def forget(settings: Settings) -> None:
    """Forget the address, since a program hands over each email now."""
    if (path := _path(settings)) is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def noted(settings: Settings) -> tuple[str, int] | None:
    """Return host and port where `mail-in` has last listened on this machine, None if that is unknown."""
    path = _path(settings)
    try:
        machine, host, port = path.read_text().split() if path is not None else ("", "", "")
        if machine != socket.gethostname():  # such as another container that shares the folder
            return None
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)  # noqa: S104 - compared only
    except (OSError, ValueError):
        return None


def _path(settings: Settings) -> Path | None:
    file = config.database_file(settings)
    folder = file.parent if file is not None else settings.home
    return None if folder is None else folder / FILE


def answers(host: str, port: int) -> str:
    """Return what answers at an address: LMTP, SILENT, ABSENT, or the first words of something else."""
    try:
        with socket.create_connection((host, port), timeout=SECONDS) as connection:
            return _greeting(connection)
    except OSError:
        return ABSENT


def _greeting(connection: socket.socket) -> str:
    try:
        with connection.makefile("rwb") as stream:
            first = stream.readline(500)
            if first.startswith(b"220"):
                stream.write(b"LHLO doctor\r\n")
                stream.flush()
                if stream.readline(500).startswith(b"250"):
                    return LMTP
            return first.decode("ascii", "replace").strip()[:60] or SILENT
    except OSError:
        return SILENT
