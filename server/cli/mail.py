"""The command that receives mail: as a server, or one mail on standard input."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from server.cli.parser import CommandError, error_line, port

if TYPE_CHECKING:
    from flask import Flask

TOO_BIG, NO_USER, TRY_LATER = 65, 67, 75
"""Exit statuses that a mail server expects of a program it hands a mail to (sysexits.h)."""


def add(commands: Any) -> None:
    """Add this command to `byzanz`."""
    mail_in = commands.add_parser(
        "mail-in",
        help="receive moves by email, bounces and complaints, as an LMTP server or one email on standard input",
        description="With --stdin the exit status is 0 if the email was accepted, 65 if it is too big, 67 if the "
        "address does not exist, and 75 if it should be tried again.",
    )
    mail_in.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="address to listen on (default: 127.0.0.1)"
    )
    mail_in.add_argument("--port", type=port, default=8024, metavar="N", help="port (default: 8024)")
    mail_in.add_argument("--stdin", action="store_true", help="read one email from standard input, then exit")
    mail_in.add_argument(
        "--recipient",
        metavar="ADDRESS",
        help="with --stdin: the envelope recipient (default: found in the email)",
    )
    mail_in.add_argument(
        "--sender",
        metavar="ADDRESS",
        help="with --stdin: the envelope sender (default: the Return-Path of the email)",
    )
    mail_in.set_defaults(run=_mail_in)


def _mail_in(args: Namespace) -> None:
    if args.stdin:
        _one_mail(args)
        return
    from server.ops import serve

    serve.mail_in(_app(), args.host, args.port)


def _app() -> Flask:
    from server import config, create_app

    settings = config.load()
    if not settings.mail_domain:
        raise config.ConfigError("BYZANZ_MAIL_DOMAIN is not set: enter the domain for replies by email")
    return create_app(settings)


def _one_mail(args: Namespace) -> None:
    """Process the mail on standard input; after a failure on our side the mail server keeps it."""
    from server.mail.incoming import lmtp, reply
    from server.store import engine, migrate

    try:
        app = _app()
        with app.app_context():
            try:
                migrate.check()
                raw = sys.stdin.buffer.read(reply.LARGEST_MAIL + 1)
                code = _accept(app, raw, args.sender, args.recipient)
            finally:
                engine.db.engine.dispose()
    except Exception as error:
        line = error_line(error) or f"unexpected error: {type(error).__name__}"
        raise CommandError(line, status=TRY_LATER) from error
    statuses = {lmtp.TOO_BIG: TOO_BIG, lmtp.UNKNOWN: NO_USER, lmtp.TRY_LATER: TRY_LATER}
    if code in statuses:
        raise CommandError(lmtp.ANSWERS[code].partition(" ")[2], status=statuses[code])


def _accept(app: Flask, raw: bytes, sender: str | None, recipient: str | None) -> int:
    from server.mail.incoming import lmtp, mime, receive, reply

    message = mime.parse(raw[: 256 * 1024])
    if sender is None:
        # Without an envelope the author counts as the sender; `<>` means an automatic mail.
        sender = os.environ.get("SENDER", message.header("return-path") or reply.author(message)[0])
    if recipient is not None:
        return lmtp.accept(app, raw, sender, recipient)
    found = [os.environ.get("RECIPIENT", "")]
    for name in ("x-original-to", "delivered-to", "envelope-to", "to", "cc"):
        found += [
            word.strip("<>,;\"'()")
            for value in message.all_headers(name)
            for word in value.replace(",", " ").split()
        ]
    ours = next((address for address in found if receive.is_ours(address)), "")
    return lmtp.accept(app, raw, sender, ours)
