"""A mail server for tests that fails on command, a sender that needs none, and what their readers get."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

from server.demo import LOOPBACK, free_port
from server.mail.outgoing.smtp import MailServer, Message, Transport


class FaultyServer:
    """A mail server that follows a script: `script["RCPT"] = ["451 busy"]` for the first RCPT, then normal answers.

    A line of a script is an answer, `hang` (until the client gives up), `reset` (hang up at once) or `ok`. `kept` lists
    all emails whose content arrived completely, whatever the answer was.
    """

    def __init__(self, **script: list[str]) -> None:
        self.script = defaultdict(list, script)
        self.kept: list[bytes] = []
        self.recipients: list[str] = []
        self.senders: list[str] = []
        self.connections = 0
        self.port = free_port()

    @property
    def mails(self) -> list[EmailMessage]:
        return [message_from_bytes(raw, _class=EmailMessage, policy=default) for raw in self.kept]

    def transport(self, timeout: float = 1.0, longest: float = 5.0) -> Transport:
        return Transport(
            MailServer(LOOPBACK, self.port, "none"), "byzanz.test", timeout=timeout, send_timeout=longest
        )

    @contextmanager
    def running(self) -> Iterator[FaultyServer]:
        controller = Controller(
            self, hostname=LOOPBACK, port=self.port, ready_timeout=30, enable_SMTPUTF8=True
        )
        controller.start()
        try:
            yield self
        finally:
            controller.stop()

    async def _act(self, command: str, server: Any, good: str) -> str:
        action = self.script[command].pop(0) if self.script[command] else "ok"
        if action == "hang":
            await asyncio.sleep(3600)
        if action == "reset":
            server.transport.abort()
            return "421 gone"
        return good if action == "ok" else action

    async def handle_EHLO(  # noqa: N802
        self, _server: Any, session: Any, _envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        self.connections += 1
        session.host_name = hostname
        return responses

    async def handle_MAIL(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        answer = await self._act("MAIL", server, "250 sender ok")
        if answer.startswith("2"):
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return answer

    async def handle_RCPT(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        answer = await self._act("RCPT", server, "250 recipient ok")
        if answer.startswith("2"):
            envelope.rcpt_tos.append(address)
            envelope.rcpt_options.extend(options)
        return answer

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.kept.append(envelope.content)
        self.recipients.extend(envelope.rcpt_tos)
        self.senders.append(envelope.mail_from)
        return await self._act("DATA", server, "250 taken")


@contextmanager
def speaking(*lines: bytes, pause: float = 0.0) -> Iterator[int]:
    """Listen on a port, send these lines to each client with pauses, then hang up; return the port."""
    listener = socket.create_server((LOOPBACK, 0))
    stop = threading.Event()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    for line in lines:
                        connection.sendall(line)
                        if stop.wait(pause):
                            return
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


AS_RECEIVED = default.clone(linesep="\r\n", refold_source="none")


def received(message: Message) -> EmailMessage:
    """Return an email as the reader's mail server stores it: with the envelope sender, and lines that end in LF."""
    content = message.content.replace(b"\r\n", b"\n")
    stored = message_from_bytes(content, _class=EmailMessage, policy=AS_RECEIVED)
    stored["Return-Path"] = f"<{message.sender}>"
    return stored


class FakeMailer:
    """A sender that stores its emails; `faults` are raised first, one per email."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.sent: list[EmailMessage] = []

    def send(self, message: Message) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.sent.append(received(message))

    def to(self, address: str) -> list[EmailMessage]:
        return [message for message in self.sent if address in str(message["To"])]
