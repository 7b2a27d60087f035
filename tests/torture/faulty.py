"""A mail server that fails at random in every known way and records each email before acknowledging it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from email import message_from_bytes
from typing import Any

from aiosmtpd.controller import Controller

from tests.torture.journal import Journal
from tests.torture.processes import LOOPBACK, free_port

GREETING = {"421 come back": 1, "drip": 1}
SENDER = {"451 not now": 1, "reset": 1}
RECIPIENT = {"451 not now": 4, "550 nobody here": 3, "421 too many": 1, "hang": 1, "reset": 1, "drip": 1}
CONTENT = {"451 not now": 4, "552 too big": 1, "hang": 2, "reset": 3, "drip": 1, "kill": 3}
"""Faults in a hundred tries; the remaining tries succeed. `drip` sends an endless answer, a little at a time;
`kill` accepts the email and kills the mailer before it gets the answer.
"""
FOR_EVER = 3600.0
DROP = 0.1
"""Seconds between two pieces of a dripping answer."""


def _nobody() -> None:
    """Do nothing; there is no mailer yet."""


class Faulty:
    """Runs in a thread of the torture run; `taken` counts its emails, `met` the faults by name.

    Args:
        journal: gets `mail` for each accepted email, `swallowed` for each that is accepted without an answer, and
            `refused` for each recipient that is refused permanently.
        seed: of the faults.

    `kill` is called to kill the mailer; `down` and `calm` may be set at any time.
    """

    def __init__(self, journal: Journal, seed: int) -> None:
        self.taken = 0
        self.kill: Callable[[], None] = _nobody
        self.met: Counter[str] = Counter()
        self.down = self.calm = False
        self._journal, self._draw = journal, random.Random(seed)
        self._port = free_port()
        self._controller = Controller(self, hostname=LOOPBACK, port=self._port, ready_timeout=30)

    @property
    def url(self) -> str:
        """Return the value for BYZANZ_MAIL_URL."""
        return f"smtp://{LOOPBACK}:{self._port}"

    def __enter__(self) -> Faulty:
        self._controller.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._controller.stop()

    def _fall(self, faults: dict[str, int]) -> str:
        roll = self._draw.random() * 100
        for fault, share in {} if self.calm else faults.items():
            roll -= share
            if roll < 0:
                self.met[fault] += 1
                return fault
        return ""

    async def _fail(self, fault: str, server: Any) -> str:
        """Return the answer; for a fault without an answer, return late or not at all."""
        if fault == "reset":
            server.transport.abort()
        elif fault == "hang":
            await asyncio.sleep(FOR_EVER)
        while fault == "drip":
            await server.push("250-there is more")
            await asyncio.sleep(DROP)
        return fault if fault[0].isdigit() else "421 gone"

    async def handle_EHLO(  # noqa: N802  # aiosmtpd's name, as those below
        self, server: Any, session: Any, _envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        """Handle a connection; aiosmtpd calls this."""
        session.host_name = hostname
        fault = "421 down" if self.down else self._fall(GREETING)
        if fault:
            self.met["421 down"] += self.down
            return [await self._fail(fault, server)]
        return responses

    async def handle_MAIL(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        """Handle a sender; aiosmtpd calls this."""
        if fault := self._fall(SENDER):
            return await self._fail(fault, server)
        envelope.mail_from = address
        return "250 go on"

    async def handle_RCPT(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        """Handle a recipient; aiosmtpd calls this."""
        if fault := self._fall(RECIPIENT):
            if fault.startswith("5"):
                self._journal.write("refused", to=address)
            return await self._fail(fault, server)
        envelope.rcpt_tos.append(address)
        return "250 go on"

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        """Handle an email; aiosmtpd calls this."""
        fault, (to,) = self._fall(CONTENT), envelope.rcpt_tos
        name = {"to": to, "id": message_from_bytes(envelope.content)["Message-ID"]}
        if fault == "kill" or not fault:
            self._journal.write("mail", **name)
            self.taken += 1
            if fault:
                await asyncio.get_running_loop().run_in_executor(None, self.kill)
            return "250 taken"
        if fault.startswith("5"):
            self._journal.write("refused", to=to)
        elif not fault.startswith("4"):
            self._journal.write("swallowed", **name)
        return await self._fail(fault, server)
