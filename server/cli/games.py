"""Commands about games and moderators: create a game, count results again, appoint moderators."""

from __future__ import annotations

import re
from argparse import Namespace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from byzanz.bots import BOTS
from byzanz.games import latest
from server.cli.parser import CommandError, app_context

if TYPE_CHECKING:
    from server.store.models import Person

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def add(commands: Any) -> None:
    """Add these commands to `byzanz`."""
    games = ", ".join(rules.slug for rules in latest())
    new = commands.add_parser("new", help="create a game, invite players by email and print the game's ID")
    new.add_argument("game", metavar="GAME", help=f"one of: {games}")
    new.add_argument(
        "--player",
        action="append",
        default=[],
        metavar="'Ann <ann@example.org>'",
        help="repeat for each player; the first is the organiser",
    )
    new.add_argument(
        "--bot",
        action="append",
        default=[],
        metavar="NAME",
        help=f"repeat for each bot; from weakest to strongest: {', '.join(BOTS)}",
    )
    new.add_argument(
        "--allow",
        default="24h",
        metavar="TIME",
        help="time per move, such as 90m, 24h or 3d (default: 24h)",
    )
    new.add_argument("--bank", metavar="TIME", help="time bank for the whole game (default: twice --allow)")
    new.add_argument(
        "--days-off", default="", metavar="DAYS", help="days that no clock counts, such as sat,sun"
    )
    new.add_argument(
        "--zone",
        default="UTC",
        metavar="ZONE",
        help="time zone of the table, such as Europe/Amsterdam (default: UTC)",
    )
    new.add_argument("--name", help="name of the game (default: random)")
    new.add_argument("--start", action="store_true", help="seat everyone without invitations, and start")
    new.set_defaults(run=_new)

    recount = commands.add_parser(
        "recount",
        help="count the results of all finished games again",
        description="Delete standings and reliability and count them again from the logs. It changes no game.",
    )
    recount.set_defaults(run=_recount)

    moderator = commands.add_parser("moderator", help="add, remove or list moderators")
    acts = moderator.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_one = acts.add_parser("add", help="make a person a moderator")
    remove = acts.add_parser("remove", help="remove a moderator")
    for act in (add_one, remove):
        act.add_argument("email", metavar="EMAIL")
    add_one.set_defaults(run=_add_moderator)
    remove.set_defaults(run=_remove_moderator)
    acts.add_parser("list", help="list all moderators").set_defaults(run=_list_moderators)


def _new(args: Namespace) -> None:
    from server import validation
    from server.lobby import create, settings
    from server.store import engine

    allowance = _seconds("--allow", args.allow)
    bank = settings.default_bank(allowance) if args.bank is None else _seconds("--bank", args.bank)
    with app_context():
        game_id = create.quick_game(
            slug=args.game,
            players=[validation.parse_guest(text) for text in args.player],
            bots=args.bot,
            time_control=settings.TimeControl(
                allowance, bank, settings.parse_weekdays(args.days_off.replace(",", " ").split())
            ),
            time_zone=args.zone,
            name=args.name,
            start=args.start,
            now=engine.utc_now(),
        )
    print(game_id)


def _seconds(option: str, text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,6})([mhd])", text)
    if not found:
        raise CommandError(f"{option}: {text[:40]!r} must be a time like 90m, 24h or 3d", status=2)
    return int(found[1]) * round(UNITS[found[2]].total_seconds())


def _recount(_args: Namespace) -> None:
    from server.community import results
    from server.store import engine

    with app_context():
        games = results.everything(engine.utc_now())
    print(f"Finished games counted: {games}")


def _add_moderator(args: Namespace) -> None:
    from server import validation
    from server.store import engine, people

    with app_context():
        address = validation.clean_address(args.email)
        with engine.transaction() as session:
            person = people.get_or_create(
                session, address, validation.name_from_address(address), engine.utc_now()
            )
            person.moderator = True
    print(f"{address} is now a moderator and can sign in by email on the home page.")


def _remove_moderator(args: Namespace) -> None:
    from server.store import engine

    with app_context(), engine.transaction() as session:
        found = [person for person in _moderators(session) if person.email == args.email.strip().lower()]
        if not found:
            raise CommandError(f"{args.email} is not a moderator")
        found[0].moderator = False
    print(f"{found[0].email} is no longer a moderator.")


def _list_moderators(_args: Namespace) -> None:
    from server.store import engine

    with app_context(), engine.reading() as session:
        for person in _moderators(session):
            print(person.email)


def _moderators(session: Any) -> list[Person]:
    from sqlalchemy import select

    from server.store.models import Person

    return list(session.scalars(select(Person).where(Person.moderator).order_by(Person.email)))
