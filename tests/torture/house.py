"""A server under torture: its settings, its processes, and restarting them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.torture import processes
from tests.torture.processes import LOOPBACK, Running

SECRET = "only the torturers know this one"
MAIL_DOMAIN = "in.torture.example"
"""Where replies are delivered."""
NO_MAIL = "smtp://127.0.0.1:9"
"""A port at which no mail server listens."""


def environment(url: str, mail: str) -> dict[str, str]:
    """Return the settings of a server under torture.

    Args:
        url: of its database; mail: of its mail server.
    """
    return {
        "BYZANZ_DATABASE_URL": url,
        "BYZANZ_MAIL_URL": mail,
        "BYZANZ_MAIL_FROM": "Byzanz <games@torture.example>",
        "BYZANZ_MAIL_DOMAIN": MAIL_DOMAIN,
        "BYZANZ_BASE_URL": f"http://{LOOPBACK}",
        "BYZANZ_SECRET_KEY": SECRET,
        "BYZANZ_TICK": "0.2",
        "BYZANZ_RATE_LIMITS": "off",
    }


@dataclass(frozen=True, slots=True)
class Part:
    """One process of a server.

    Args:
        words: after `byzanz`.
        port: on which it answers, if it does; takes_mail: it accepts email by LMTP there, not the players' requests.
    """

    words: tuple[str, ...]
    port: int | None = None
    takes_mail: bool = False


def answering(command: str, *more: str) -> Part:
    """A process that answers on a port of its own: `serve` or `web`."""
    port = processes.free_port()
    return Part((command, "--host", LOOPBACK, "--port", str(port), *more), port)


def taking_mail() -> Part:
    """A process that accepts email on a port of its own."""
    port = processes.free_port()
    return Part(("mail-in", "--host", LOOPBACK, "--port", str(port)), port, takes_mail=True)


class House:
    """The processes of a server, each restarted after it was killed.

    Args:
        parts: by name.
        settings: the environment of each.
        log: the file to which their output is appended.
        breaks: a promise to break on purpose.
    """

    def __init__(
        self, parts: Mapping[str, Part], settings: Mapping[str, str], log: Path, breaks: str | None = None
    ) -> None:
        self.parts = parts
        self._settings = settings
        self._log = log
        self._breaks = breaks
        self._running: dict[str, Running] = {}

    def __enter__(self) -> House:
        for name in self.parts:
            self.start(name)
        for name in self.parts:
            self.ready(name)
        return self

    def __exit__(self, *_error: object) -> None:
        for name in self.parts:
            self.kill(name)

    @property
    def ports(self) -> list[int]:
        """The ports for players."""
        return [part.port for part in self.parts.values() if part.port is not None and not part.takes_mail]

    @property
    def door(self) -> int:
        """The port for email."""
        return next(part.port for part in self.parts.values() if part.port is not None and part.takes_mail)

    def start(self, name: str) -> None:
        """Start a process; it is not ready yet."""
        part = self.parts[name]
        if (port := part.port) is not None:
            processes.wait(lambda: not processes.listens(port), "a port that was in use")
        self._running[name] = processes.start(part.words, self._settings, self._log, self._breaks)

    def ready(self, name: str) -> None:
        """Wait until a process is ready; one without a port cannot be asked."""
        part = self.parts[name]
        if (port := part.port) is not None:
            there = processes.listens if part.takes_mail else processes.is_ready
            processes.wait(lambda: there(port), f"byzanz {name}", self._running[name])

    def kill(self, name: str) -> None:
        """`kill -9`."""
        self._running[name].kill()
