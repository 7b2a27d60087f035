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
"""In a hundred tries; whatever is left goes well. `drip` says that there is more to say, a little at a time, for ever;
`kill` takes the mail and has the mailer killed before it hears of that."""
FOR_EVER = 3600.0
DROP = 0.1
"""Seconds between two drops."""


def _nobody() -> None:
    """There is no mailer yet."""


class Faulty:
    """Runs in a thread of the torturer; `taken` counts its mails, `met` the faults by name.

    Args:
        journal: takes `mail` for each that is accepted, `swallowed` for each that is taken without a word, and
            `refused` for each recipient that is refused for good.
        seed: of the dice.

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
        """What BYZANZ_MAIL_URL should be."""
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
        """What to answer; of a fault that is no answer, never or when nobody listens any more."""
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
        """Called by aiosmtpd with each connection."""
        session.host_name = hostname
        fault = "421 down" if self.down else self._fall(GREETING)
        if fault:
            self.met["421 down"] += self.down
            return [await self._fail(fault, server)]
        return responses

    async def handle_MAIL(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        """Called by aiosmtpd with each sender."""
        if fault := self._fall(SENDER):
            return await self._fail(fault, server)
        envelope.mail_from = address
        return "250 go on"

    async def handle_RCPT(  # noqa: N802
        self, server: Any, _session: Any, envelope: Any, address: str, _options: list[str]
    ) -> str:
        """Called by aiosmtpd with each recipient."""
        if fault := self._fall(RECIPIENT):
            if fault.startswith("5"):
                self._journal.write("refused", to=address)
            return await self._fail(fault, server)
        envelope.rcpt_tos.append(address)
        return "250 go on"

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        """Called by aiosmtpd with each mail."""
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
