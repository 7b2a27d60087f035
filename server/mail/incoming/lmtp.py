"""Receiving mail: by LMTP (RFC 2033) from a mail server on this machine, or one mail handed over by a program.

Each recipient gets its own reply. Any failure on our side is temporary (451), so that the mail server keeps the mail
and tries again; a mail is rejected for good only for its own faults.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from aiosmtpd.lmtp import LMTP
from flask import Flask

from server.config import settings
from server.mail.incoming import receive, reply
from server.store import operations
from server.store.engine import UNAVAILABLE, insert, transaction, utc_now
from server.store.models import Heartbeat

LOGGER = logging.getLogger(__name__)
HOST, PORT = "127.0.0.1", 8024
"""Where the server listens unless told otherwise."""
PART = "mail-in"
HEARTBEAT = timedelta(minutes=1)
"""How often the server records that it runs, for `byzanz doctor`."""
WORKERS = 4
"""Mails that are processed at the same time."""
ACCEPTED, TRY_LATER, UNKNOWN, TOO_BIG = 250, 451, 550, 552
ANSWERS = {
    ACCEPTED: "2.0.0 accepted",
    TRY_LATER: "4.3.0 temporary failure, please try again later",
    UNKNOWN: "5.1.1 no such address; reply to the latest email about the game",
    TOO_BIG: "5.3.4 message too big",
}

REJECTED = {TRY_LATER: "deferred", UNKNOWN: "unknown", TOO_BIG: "too_big"}
"""What the log and the metrics call a mail that was not accepted."""


def accept(app: Flask, raw: bytes, sender: str, recipient: str) -> int:
    """Process one mail for one recipient and return the reply code, one of `ANSWERS`.

    Args:
        raw: the mail as received.
        sender: of the envelope, empty for `<>`.
        recipient: of the envelope.
    """
    try:
        return _accept(app, raw, sender, recipient)
    except Exception:  # nothing that happens here may make the mail server give up
        LOGGER.exception("an incoming mail cannot be processed; the mail server keeps it")
        return TRY_LATER


def _accept(app: Flask, raw: bytes, sender: str, recipient: str) -> int:
    if operations.clock_off():
        return TRY_LATER
    with app.app_context():
        code = TOO_BIG if len(raw) > reply.LARGEST_MAIL else _process(raw, sender, recipient)
        if code != ACCEPTED:
            operations.count_figure(f"mail_in:{REJECTED[code]}")
        if code in (UNKNOWN, TOO_BIG):
            LOGGER.info("incoming mail: %(outcome)s", {"outcome": REJECTED[code]})
        if code != TRY_LATER:
            with suppress(*UNAVAILABLE):  # stored with the next mail
                operations.store_figures()
    return code


def _process(raw: bytes, sender: str, recipient: str) -> int:
    try:
        receive.receive(raw, sender, recipient, utc_now())
    except receive.NoSuchAddress:
        return UNKNOWN
    except UNAVAILABLE as error:
        kind = type(error).__name__
        LOGGER.error("the database failed while a mail came in: %s", kind, extra={"outage": True})
        return TRY_LATER
    except Exception:
        LOGGER.exception("an incoming mail cannot be processed; the mail server keeps it")
        return TRY_LATER
    return ACCEPTED


def serve(app: Flask, listener: socket.socket) -> None:
    """Receive mail on a bound socket until the process is stopped."""
    with (
        suppress(SystemExit, KeyboardInterrupt, asyncio.CancelledError),
        ThreadPoolExecutor(WORKERS, "byzanz-mail-in") as pool,
        heartbeats(app),
    ):
        asyncio.run(_serve_until_sigterm(app, listener, pool))


async def _serve_until_sigterm(app: Flask, listener: socket.socket, pool: ThreadPoolExecutor) -> None:
    # The loop notices a signal whichever thread has it. One that raises where it comes would end a connection's task.
    serving = asyncio.ensure_future(serve_async(app, listener, pool))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    await serving


async def serve_async(app: Flask, listener: socket.socket, pool: ThreadPoolExecutor) -> None:
    """Answer connections on a bound socket until this task is cancelled.

    Args:
        pool: the threads that process mails.
    """
    with app.app_context():
        domain = settings().mail_domain
    handler = Handler(app, pool)
    loop = asyncio.get_running_loop()

    def connection() -> LMTP:
        # Twice the limit, so that a mail that is too big gets its reply from `accept`, one for each recipient.
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


@contextmanager
def heartbeats(app: Flask) -> Iterator[None]:
    """Record within the block that mail is received, in a thread of its own; the first time before the block."""
    ended, process = threading.Event(), operations.ProcessHeartbeat([PART])
    _record_heartbeat(app, process)

    def record() -> None:
        while not ended.wait(HEARTBEAT.total_seconds()):
            _record_heartbeat(app, process)

    thread = threading.Thread(target=record, name="byzanz-mail-in-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with app.app_context(), suppress(Exception):
            process.stop()


def _record_heartbeat(app: Flask, process: operations.ProcessHeartbeat) -> None:
    try:
        with app.app_context():
            if not process.send(utc_now):
                LOGGER.error(
                    "the clock of this machine is wrong; mail waits until it is right", extra={"outage": True}
                )
                return
            with transaction() as session:
                now = utc_now()
                insert(session, Heartbeat, {"part": PART, "at": now}, key="part", again={"at": now})
    except Exception as error:  # whatever it is, the thread goes on
        LOGGER.warning("mail-in: no heartbeat: %s", type(error).__name__, extra={"outage": True})


class _Connection(LMTP):
    """One connection; mail servers on this machine may send longer lines than those on the network."""

    line_length_limit = 1 << 20


class Handler:
    """The callbacks of aiosmtpd.

    Args:
        app: the application in whose context mails are processed.
        pool: the threads that process them, so that other connections go on.
    """

    def __init__(self, app: Flask, pool: ThreadPoolExecutor) -> None:
        self._app = app
        self._pool = pool

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Reject at once an address that cannot be ours."""
        with self._app.app_context():
            known = receive.is_ours(address)
        if not known:
            return f"{UNKNOWN} {ANSWERS[UNKNOWN]}"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 recipient ok"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        """Process a complete mail: one reply for each recipient, in their order."""
        loop = asyncio.get_running_loop()
        raw = bytes(envelope.content)
        codes = [
            await loop.run_in_executor(
                self._pool, accept, self._app, raw, envelope.mail_from or "", recipient
            )
            for recipient in envelope.rcpt_tos
        ]
        return "\r\n".join(f"{code} {ANSWERS[code]}" for code in codes)

    async def handle_exception(self, error: Exception) -> str:
        """Keep the mail where it is, whatever failed here: aiosmtpd's own answer would reject it for good."""
        LOGGER.error("an incoming mail cannot be processed; the mail server keeps it", exc_info=error)
        return f"{TRY_LATER} {ANSWERS[TRY_LATER]}"
