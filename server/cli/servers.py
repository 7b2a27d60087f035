"""Commands that run a server or its parts, and those that check one."""

from __future__ import annotations

from argparse import Namespace
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
    doctor.set_defaults(run=_doctor)


def _demo(args: Namespace) -> None:
    from server.demo import run

    players = args.players or min(4, max(rules_of(args.game).seats))
    run.run(args.port, players, args.game, args.bot)


def _serve(args: Namespace) -> None:
    from server import config, create_app
    from server.ops import serve

    serve.serve(create_app(config.load("mailing")), args.host, args.port)


def _web(args: Namespace) -> None:
    from server import config, create_app
    from server.ops import serve

    settings = config.load("mailing")
    serve.web(lambda: create_app(settings), args.host, args.port, args.workers)


def _scheduler(_args: Namespace) -> None:
    from server import config, create_app
    from server.ops import serve

    serve.scheduler(create_app(config.load("mailing")))


def _doctor(args: Namespace) -> int:
    from server import create_app
    from server.ops import doctor

    if args.clock_is_right:
        _confirm_clock()
    return doctor.run(create_app, check_all=args.check_all)


def _confirm_clock() -> None:
    from server.scheduler import clockwork
    from server.store import engine

    with app_context(upgrade=False):
        print(
            "The clock is confirmed; deadlines run again."
            if clockwork.confirm_clock(engine.utc_now())
            else "Nothing to do: the clock was not in doubt."
        )
