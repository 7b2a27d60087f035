"""How mail comes in: by LMTP (RFC 2033) from a mail server on this machine, or one mail handed over by a program.

Each recipient gets an answer of its own. Whatever our side fails at is "later" (451), so that the mail server keeps
the mail and tries again; a mail is refused for good only for what is wrong with itself.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from aiosmtpd.lmtp import LMTP
from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from server.config import settings
from server.mail.incoming import receive, reply
from server.store.engine import utc_now

LOGGER = logging.getLogger(__name__)
WORKERS = 4
"""Mails that are worked on at the same time."""
ACCEPTED, TRY_LATER, UNKNOWN, TOO_BIG = 250, 451, 550, 552
ANSWERS = {
    ACCEPTED: "2.0.0 taken",
    TRY_LATER: "4.3.0 not now, please keep it and try again",
    UNKNOWN: "5.1.1 this address takes no mail; the newest mail about the game has the one that does",
    TOO_BIG: "5.3.4 too big",
}


def accept(app: Flask, raw: bytes, sender: str, recipient: str) -> int:
    """Take one mail for one recipient; the status to answer with, one of `ANSWERS`.

    Args:
        raw: as it came in.
        sender: of the envelope, empty for `<>`.
        recipient: of the envelope.
    """
    if len(raw) > reply.LARGEST_MAIL:
        return TOO_BIG
    with app.app_context():
        try:
            receive.receive(raw, sender, recipient, utc_now())
        except receive.NoSuchAddress:
            return UNKNOWN
        except SQLAlchemyError as error:
            LOGGER.error("the database does not take a mail: %s", type(error).__name__)
            return TRY_LATER
        except Exception:
            LOGGER.exception("a mail that came in cannot be worked on; it is kept by who brought it")
            return TRY_LATER
    return ACCEPTED


def serve(app: Flask, listener: socket.socket) -> None:
    """Take mail on a bound socket, until the process is told to stop."""
    with suppress(SystemExit, KeyboardInterrupt), ThreadPoolExecutor(WORKERS, "byzanz-mail-in") as pool:
        asyncio.run(serve_async(app, listener, pool))


async def serve_async(app: Flask, listener: socket.socket, pool: ThreadPoolExecutor) -> None:
    """Answer whoever connects to a bound socket, until this task is cancelled.

    Args:
        pool: whose threads work on the mails.
    """
    with app.app_context():
        domain = settings().mail_domain
    handler = Handler(app, pool)
    loop = asyncio.get_running_loop()

    def connection() -> LMTP:
        # Twice what is taken: a mail that is too big is to get its own answer from `taken`, one for each recipient.
        made = _Connection(
            handler,
            data_size_limit=2 * reply.LARGEST_MAIL,
            enable_SMTPUTF8=True,
            hostname=domain,
            ident="Byzanz",
        )
        made.loop = loop
        return made

    server = await loop.create_server(connection, sock=listener)
    async with server:
        await server.serve_forever()


class _Connection(LMTP):
    """One connection; mail servers on this machine may bring lines longer than those that cross the network."""

    line_length_limit = 1 << 20


class Handler:
    """What aiosmtpd asks at each step of a conversation.

    Args:
        app: in whose context mails are worked on.
        pool: whose threads do it, so that the conversation of others goes on.
    """

    def __init__(self, app: Flask, pool: ThreadPoolExecutor) -> None:
        self._app = app
        self._pool = pool

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Refuse at once what can be no address of ours."""
        with self._app.app_context():
            known = receive.is_ours(address)
        if not known:
            return f"{UNKNOWN} {ANSWERS[UNKNOWN]}"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 go on"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        """Work on a mail that came in whole: one answer for each recipient, in their order."""
        loop = asyncio.get_running_loop()
        raw = bytes(envelope.content)
        codes = [
            await loop.run_in_executor(
                self._pool, accept, self._app, raw, envelope.mail_from or "", recipient
            )
            for recipient in envelope.rcpt_tos
        ]
        return "\r\n".join(f"{code} {ANSWERS[code]}" for code in codes)
