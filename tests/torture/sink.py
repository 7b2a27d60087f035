"""A mail server that accepts every email and records it in the journal before acknowledging it."""

from __future__ import annotations

from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from typing import Any

from aiosmtpd.controller import Controller

from tests.torture.journal import Journal
from tests.torture.processes import LOOPBACK, free_port


class Sink:
    """Runs in a thread of the torture run, so that it outlives every server; `taken` counts its emails.

    Args:
        heard: called with each email.
    """

    def __init__(self, journal: Journal, heard: Callable[[Message], None]) -> None:
        self.taken = 0
        self._heard = heard
        self._journal = journal
        self._port = free_port()
        self._controller = Controller(self, hostname=LOOPBACK, port=self._port, ready_timeout=30)

    @property
    def url(self) -> str:
        """Return the value for BYZANZ_MAIL_URL."""
        return f"smtp://{LOOPBACK}:{self._port}"

    def __enter__(self) -> Sink:
        self._controller.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._controller.stop()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        """Handle an email; aiosmtpd calls this."""
        message = message_from_bytes(envelope.content)
        for recipient in envelope.rcpt_tos:
            self._journal.write("mail", to=recipient, id=message["Message-ID"])
        self.taken += 1
        self._heard(message)
        return "250 noted"
