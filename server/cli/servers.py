"""Commands that run a server or its parts, receive email, check a server, back it up and restore it."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from server.cli.parser import CommandError, Parser, app_context, count, error_line, loading, port

if TYPE_CHECKING:
    from flask import Flask


# ---- incoming mail ----

TOO_BIG, NO_USER, TRY_LATER = 65, 67, 75
"""Exit statuses that a mail server expects of a program it hands a mail to (sysexits.h)."""


def add_mail_in(mail_in: Parser) -> None:
    """Add the arguments of this command."""
    mail_in.description = (
        "With --stdin the exit status is 0 if the email was accepted, 65 if it is too big, 67 if the "
        "address does not exist, and 75 after any other failure, so that the mail server keeps the email."
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
    from server.store import engine, migrate, operations

    app = _app()
    with app.app_context():
        try:
            migrate.check()
            operations.check_clock()
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


# ---- servers ----


def add_demo(demo: Parser) -> None:
    """Add the arguments of this command."""
    from byzanz.bots import BOTS  # here, so that other commands start quickly
    from byzanz.games import latest

    demo.add_argument("--port", type=port, metavar="N", help="port (default: the first free one from 8000)")
    demo.add_argument(
        "--players",
        type=count,
        metavar="N",
        help="number of players including you (default: 4, or the most allowed)",
    )
    demo.add_argument("--game", default=latest()[0].slug, metavar="G")
    demo.add_argument(
        "--bot",
        default="greedy",
        metavar="NAME",
        help=f"bot type of the other players, from weakest to strongest: {', '.join(BOTS)} (default: greedy)",
    )
    demo.set_defaults(run=_demo)


def add_serve(serve: Parser) -> None:
    """Add the arguments of this command."""
    _add_address(serve)
    serve.set_defaults(run=_serve)


def add_web(web: Parser) -> None:
    """Add the arguments of this command."""
    _add_address(web)
    web.add_argument("--workers", type=count, default=2, metavar="N", help="processes (default: 2)")
    web.set_defaults(run=_web)


def _add_address(command: Parser) -> None:
    command.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="address to listen on (default: 127.0.0.1)"
    )
    command.add_argument("--port", type=port, default=8000, metavar="N", help="port (default: 8000)")


def add_scheduler(scheduler: Parser) -> None:
    """Add the arguments of this command."""
    scheduler.set_defaults(run=_scheduler)


def add_upgrade(upgrade: Parser) -> None:
    """Add the arguments of this command."""
    upgrade.description = (
        "Create the database, or upgrade it to this version of Byzanz in one transaction. A database of "
        "a newer version is left alone: nothing can be downgraded."
    )
    upgrade.set_defaults(run=_upgrade)


def add_doctor(doctor: Parser) -> None:
    """Add the arguments of this command."""
    doctor.add_argument(
        "--all",
        action="store_true",
        dest="check_all",
        help="check the logs of all games, not only of the newest",
    )
    doctor.add_argument(
        "--clock-is-right",
        action="store_true",
        dest="clock_is_right",
        help="after a clock jump: confirm the clock and resume deadlines",
    )
    doctor.add_argument(
        "--after-restore",
        nargs="?",
        const="",
        metavar="FILE",
        help="after a backup was restored: list games whose newest entries are lost, by returned emails, opened "
        "links and FILE, a log or mailbox of your mail server",
    )
    doctor.add_argument(
        "--mail",
        metavar="ADDRESS",
        help="send a test email to this address and, if replies by email are on, wait until another one has come back "
        "through your mail server to `byzanz mail-in`",
    )
    doctor.set_defaults(run=_doctor)


def _demo(args: Namespace) -> None:
    from byzanz.games import rules_of
    from server import demo as server_demo

    players = args.players or min(4, max(rules_of(args.game).seats))
    server_demo.run(args.port, players, args.game, args.bot)


def _serve(args: Namespace) -> None:
    with loading():
        from server import config, create_app
        from server.ops import serve

        app = create_app(config.load("mailing", create=True))
    serve.serve(app, args.host, args.port)


def _web(args: Namespace) -> None:
    with loading():
        from server import config, create_app
        from server.ops import metrics, serve

    with metrics.shared():
        serve.web(create_app(config.load("mailing")), args.host, args.port, args.workers)


def _scheduler(_args: Namespace) -> None:
    with loading():
        from server import config, create_app
        from server.ops import serve

        app = create_app(config.load("mailing"))
    serve.scheduler(app)


def _upgrade(_args: Namespace) -> None:
    from server import config, create_app
    from server.store import engine, migrate

    with create_app(config.load(create=True)).app_context():
        try:
            before, after = migrate.upgrade()
        finally:
            engine.db.engine.dispose()
    if before == after:
        print(f"The database is at revision {after} already.")
    else:
        print(
            f"The database was {f'at revision {before}' if before else 'empty'} and is now at revision {after}."
        )


def _doctor(args: Namespace) -> int:
    from server import create_app
    from server.ops import doctor

    if args.clock_is_right:
        _confirm_clock()
    lost = 0
    if args.after_restore is not None:
        with app_context():
            lost = doctor.after_restore(Path(args.after_restore) if args.after_restore else None)
    if args.mail is not None:
        return _trial_mail(args.mail)
    return doctor.run(create_app, check_all=args.check_all) | lost


def _trial_mail(typed: str) -> int:
    from server import config, create_app
    from server.ops import mail_checks
    from server.store import engine
    from server.validation import clean_address

    settings = config.load("mailing")
    return mail_checks.send_trial(create_app(settings), settings, clean_address(typed), engine.utc_now())


def _confirm_clock() -> None:
    from server.scheduler import loop
    from server.store import engine

    with app_context():
        print(
            "The clock is confirmed; deadlines run again."
            if loop.confirm_clock(engine.utc_now())
            else "Nothing to do: the clock was not in doubt."
        )


# ---- backups ----


def add_backup(backup: Parser) -> None:
    """Add the arguments of this command."""
    backup.description = (
        "Copy the SQLite database while the server runs, check the copy, and write it and the secret key "
        "to FILE, a tar archive that only you can read. With PostgreSQL, use pg_dump."
    )
    backup.add_argument("file", metavar="FILE", type=Path)
    backup.set_defaults(run=_backup)


def add_restore(restore: Parser) -> None:
    """Add the arguments of this command."""
    restore.description = (
        "Check a backup and put its database and secret key in the place of the present ones, which are "
        "moved to a folder beside them. The server must be stopped."
    )
    restore.add_argument("file", metavar="FILE", type=Path)
    restore.set_defaults(run=_restore)


def _backup(args: Namespace) -> None:
    from server import config
    from server.ops import backup

    revision = backup.backup(config.load(), args.file)
    print(f"{args.file} holds the database at revision {revision} and the secret key.")
    print("Keep it safe: with both, anyone can open every seat.")


def _restore(args: Namespace) -> None:
    from server import config
    from server.ops import backup
    from server.store import engine

    revision, former = backup.restore(config.read(), args.file, engine.utc_now())
    print(f"The database is at revision {revision} again, with the key of the emailed links.")
    if former:
        print(f"The former files are in {former}.")
    print("Start the server, then run `byzanz doctor --after-restore` to see which moves were lost.")
