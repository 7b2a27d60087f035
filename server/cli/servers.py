"""Commands that run a server or its parts, and those that check one."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from byzanz.bots import BOTS
from byzanz.games import latest, rules_of
from server.cli import mail
from server.cli.parser import app_context, count, port


def add(commands: Any) -> None:
    """Add the commands that run something."""
    demo = commands.add_parser(
        "demo", help="try out a complete server on this machine, with an inbox and a game against bots"
    )
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

    serve = commands.add_parser(
        "serve", help="run web, scheduler and mailer in one process, after upgrading the database"
    )
    web = commands.add_parser("web", help="run only the web pages, in several processes")
    for each in (serve, web):
        each.add_argument(
            "--host", default="127.0.0.1", metavar="H", help="address to listen on (default: 127.0.0.1)"
        )
        each.add_argument("--port", type=port, default=8000, metavar="N", help="port (default: 8000)")
    web.add_argument("--workers", type=count, default=2, metavar="N", help="processes (default: 2)")
    serve.set_defaults(run=_serve)
    web.set_defaults(run=_web)
    commands.add_parser(
        "scheduler", help="run only deadlines, reminders, bots and outgoing email"
    ).set_defaults(run=_scheduler)
    upgrade = commands.add_parser(
        "upgrade",
        help="create the database or upgrade it to this version",
        description="Create the database, or upgrade it to this version of Byzanz in one transaction. A database of "
        "a newer version is left alone: nothing can be downgraded.",
    )
    upgrade.set_defaults(run=_upgrade)
    mail.add(commands)


def add_checks(commands: Any) -> None:
    """Add the commands that check something."""
    doctor = commands.add_parser("doctor", help="report what is wrong with this server and what to do")
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
    from server import demo as server_demo

    players = args.players or min(4, max(rules_of(args.game).seats))
    server_demo.run(args.port, players, args.game, args.bot)


def _serve(args: Namespace) -> None:
    from server import config, create_app
    from server.ops import serve

    serve.serve(create_app(config.load("mailing", create=True)), args.host, args.port)


def _web(args: Namespace) -> None:
    from server import config, create_app
    from server.ops import metrics, serve

    with metrics.shared():
        serve.web(create_app(config.load("mailing")), args.host, args.port, args.workers)


def _scheduler(_args: Namespace) -> None:
    from server import config, create_app
    from server.ops import serve

    serve.scheduler(create_app(config.load("mailing")))


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
