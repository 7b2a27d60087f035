"""The command that receives mail: as a server, or one mail on standard input."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
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
        "address does not exist, and 75 after any other failure, so that the mail server keeps the email.",
    )
    mail_in.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="address to listen on (default: 127.0.0.1)"
    )
    mail_in.add_argument("--port", type=port, default=8024, metavar="N", help="port (default: 8024)")
    mail_in.add_argument("--stdin", action="store_true", help="read one email from standard input, then exit")
    mail_in.add_argument(
        "--recipient",
        metavar="ADDRESS",
        action="append",
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

    if not config.read().mail_domain:
        raise config.ConfigError("BYZANZ_MAIL_DOMAIN is not set: enter the domain for replies by email")
    return create_app(config.load())


def exit_status(words: Sequence[str], status: int) -> int:
    """Return the exit status of a command: one that is handed an email keeps it, unless the email itself is at fault.

    A mail server returns an email for good after any status that it does not know, such as 1 or 2.

    Args:
        words: the arguments after `byzanz`.
        status: with which the command would end.
    """
    one_mail = "mail-in" in words and "--stdin" in words
    return TRY_LATER if one_mail and status not in (0, TOO_BIG, NO_USER) else status


def _one_mail(args: Namespace) -> None:
    """Process the mail on standard input; after a failure on our side the mail server keeps it."""
    if args.recipient and len(args.recipient) > 1:
        raise CommandError("one recipient at a time: set byzanz_destination_recipient_limit = 1 in Postfix")
    try:
        code = _taken(args.sender, args.recipient[0] if args.recipient else None)
    except Exception as error:
        raise CommandError(error_line(error) or f"unexpected error: {type(error).__name__}") from error
    from server.mail.incoming import lmtp

    statuses = {lmtp.TOO_BIG: TOO_BIG, lmtp.UNKNOWN: NO_USER, lmtp.TRY_LATER: TRY_LATER}
    if code in statuses:
        raise CommandError(lmtp.ANSWERS[code].partition(" ")[2], status=statuses[code])


def _taken(sender: str | None, recipient: str | None) -> int:
    """Process the mail on standard input and return the reply code, one of `lmtp.ANSWERS`."""
    from server.mail.incoming import reply
    from server.ops import mail_checks
    from server.store import engine, migrate, processes

    app = _app()
    with app.app_context():
        try:
            migrate.check()
            processes.check_clock()
            mail_checks.forget(app.config["BYZANZ"])
            return _accept(app, sys.stdin.buffer.read(reply.LARGEST_MAIL + 1), sender, recipient)
        finally:
            engine.db.engine.dispose()


def _accept(app: Flask, raw: bytes, sender: str | None, recipient: str | None) -> int:
    from server.mail.incoming import lmtp, mime, receive, reply

    message = mime.parse(raw[: 256 * 1024])
    if sender is None:
        # Without an envelope the author counts as the sender; `<>` means an automatic mail.
        sender = os.environ.get("SENDER", message.header("return-path") or reply.author(message)[0])
    if recipient is not None:
        _check_domain(app, recipient)
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


def _check_domain(app: Flask, recipient: str) -> None:
    """Refuse an email for another domain than ours: one of the two set-ups is wrong, and not the email."""
    ours, given = app.config["BYZANZ"].mail_domain, recipient.strip("<> ").rpartition("@")[2]
    if given.lower() != ours.lower():
        raise CommandError(f"the email is for the domain {given!r}, but BYZANZ_MAIL_DOMAIN is {ours}")
