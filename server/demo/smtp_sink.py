"""The mail server of `byzanz demo`: accepts every mail on this machine and keeps the newest in memory."""

from __future__ import annotations

import itertools
import socket
from collections import deque
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

MOST_MAILS = 500
"""Mails that the inbox keeps."""
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class StoredMail:
    """A received mail; `number` counts from 1."""

    number: int
    recipient: str
    message: EmailMessage

    def text(self) -> str:
        """Return the text part."""
        return self._part("plain")

    def html(self) -> str:
        """Return the HTML part."""
        return self._part("html")

    def _part(self, kind: str) -> str:
        part = self.message.get_body((kind,))
        return str(part.get_content()).replace("\r\n", "\n") if part is not None else ""


class Inbox:
    """An SMTP server on the loopback address; nothing it receives leaves the machine."""

    def __init__(self) -> None:
        self._mails: deque[StoredMail] = deque(maxlen=MOST_MAILS)
        self._numbers = itertools.count(1)
        self.port = free_port()
        self._controller = Controller(self, hostname=LOOPBACK, port=self.port, ready_timeout=30)

    @property
    def url(self) -> str:
        """The value for BYZANZ_MAIL_URL."""
        return f"smtp://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Start to receive mail, in its own thread."""
        self._controller.start()

    def stop(self) -> None:
        """Stop receiving; stored mails stay readable."""
        self._controller.stop()

    def mails(self) -> list[StoredMail]:
        """Return the stored mails, newest first."""
        return list(reversed(self._mails.copy()))

    def mail(self, number: int) -> StoredMail | None:
        """Return the mail with this number, if it is still stored."""
        return next((stored for stored in self.mails() if stored.number == number), None)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        """Store a mail; called by aiosmtpd."""
        message = message_from_bytes(envelope.content, _class=EmailMessage, policy=default)
        self._mails.append(StoredMail(next(self._numbers), ", ".join(envelope.rcpt_tos), message))
        return "250 kept"


def free_port() -> int:
    """Return a free port of the loopback address; aiosmtpd needs one."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
