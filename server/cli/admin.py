"""Commands for administrators: games, moderators, people, and what happened to a game or an email."""

from __future__ import annotations

import logging
import re
from argparse import Namespace
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byzanz.bots import BOTS
from byzanz.games import latest
from server.cli.parser import CommandError, Parser, app_context

if TYPE_CHECKING:
    from server.store.models import Person


# ---- games and moderators ----

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def add_new(new: Parser) -> None:
    """Add the arguments of this command."""
    games = ", ".join(rules.slug for rules in latest())
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


def add_recount(recount: Parser) -> None:
    """Add the arguments of this command."""
    recount.description = (
        "Delete standings and reliability and count them again from the logs. It changes no game."
    )
    recount.set_defaults(run=_recount)


def add_moderator(moderator: Parser) -> None:
    """Add the arguments of this command."""
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


# ---- people ----

LOGGER = logging.getLogger(__name__)
_REASON = "why, without name and address; moderators read it among their actions"


def add_person(person: Parser) -> None:
    """Add the arguments of this command."""
    acts = person.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = acts.add_parser("show", help="tell whether email reaches a person, and where they are to move")
    show.add_argument("email", metavar="EMAIL")
    show.set_defaults(run=_show_person)
    export = acts.add_parser("export", help="write everything stored about a person to a zip file")
    export.add_argument("email", metavar="EMAIL")
    export.add_argument("--out", required=True, metavar="FILE")
    export.set_defaults(run=_export_person)
    move = acts.add_parser(
        "move",
        help="let a person have another address",
        description="Let a person have another address, with their games, results and rights, for example because they "
        "can no longer read their old mailbox. Both mailboxes get an email and can stop it; a day later it is done. "
        "Another move replaces one that waits.",
    )
    move.add_argument("old", metavar="OLD", help="the address that the person has")
    move.add_argument("new", metavar="NEW", nargs="?", help="the address that they want")
    move.add_argument("--join", action="store_true", help="join the account at the new address with this one")
    move.add_argument("--stop", action="store_true", help="stop a change that waits")
    move.add_argument(
        "--yes", action="store_true", help="needed; without it, the command only tells what it would do"
    )
    move.add_argument("--reason", metavar="TEXT", help=f"needed with --yes and with --stop: {_REASON}")
    move.set_defaults(run=_move_person)
    erase = acts.add_parser(
        "erase",
        help="erase a person",
        description="Delete a person's name, address and settings. They leave their running games, and games that they "
        "organise are called off if they have not begun. Moves, cuts and notes stay, under another name.",
    )
    erase.add_argument("email", metavar="EMAIL")
    erase.add_argument("--yes", action="store_true", help="needed, because this cannot be undone")
    erase.add_argument("--reason", metavar="TEXT", help=f"needed: {_REASON}")
    erase.set_defaults(run=_erase_person)


def _show_person(args: Namespace) -> None:
    from server.ops import explain
    from server.store import engine
    from server.store.models import Person

    with app_context():
        person_id = _person(args.email)
        with engine.reading() as session:
            person = session.get_one(Person, person_id)
            print(*explain.person(session, person, engine.utc_now()), sep="\n")


def _export_person(args: Namespace) -> None:
    from server.accounts import personal_data

    with app_context():
        person_id = _person(args.email)
        with Path(args.out).open("wb") as file:
            file.writelines(personal_data.archive(person_id))


def _move_person(args: Namespace) -> None:
    from server.accounts import addresses
    from server.store import engine

    if (args.new is None) != args.stop or (args.stop and args.join):
        raise CommandError("give either the new address or --stop (see byzanz person move --help)", status=2)
    reason = _reason(args) if args.stop or args.yes else ""
    with app_context():
        person_id, now = _person(args.old), engine.utc_now()
        if args.stop:
            stopped = addresses.stop_as_operator(person_id, reason, now)
            print("Stopped." if stopped else "No change of this address waits.")
            return
        print(*_preview(person_id, args.new, join=args.join), sep="\n")
        if not args.yes:
            raise CommandError("nothing has changed yet: add --yes and --reason TEXT", status=2)
        addresses.move(person_id, args.new, now, reason=reason, join=args.join)
        LOGGER.info("person %(person)s: the operator changes their address", {"person": person_id})
    print("Both mailboxes are told.")


def _preview(person_id: int, new: str, *, join: bool) -> Iterator[str]:
    """Tell what a change of an address would do.

    Raises:
        Refused: it is not possible.
    """
    from server import validation
    from server.accounts import addresses, merging
    from server.store import engine, people
    from server.store.models import Person

    address = validation.clean_address(new)
    with engine.reading() as session:
        person = session.get_one(Person, person_id)
        addresses.check_move(session, person, address, join=join)
        moved = len(merging.played(session, person_id))
        yield f"Person {person_id}, with seats in {moved} game{'s' * (moved != 1)}, gets the address {address}."
        other = people.find(session, address)
        if join and other is not None:
            joined = len(merging.played(session, other.id))
            seats = f"with seats in {joined} game{'s' * (joined != 1)}"
            yield f"Person {other.id}, {seats}, has it now and becomes one with them; this cannot be undone."
        if addresses.of_person(session, person_id, engine.utc_now()) is not None:
            yield "This replaces the change that waits."
    yield "Both mailboxes get an email and can stop it. It is done a day later; until then nothing changes."


def _erase_person(args: Namespace) -> None:
    from server.accounts import personal_data
    from server.store import engine

    reason = _reason(args) if args.yes else ""
    with app_context():
        person_id = _person(args.email)
        if not args.yes:
            raise CommandError("this cannot be undone: add --yes and --reason TEXT", status=2)
        emptied = personal_data.erase_as_operator(person_id, reason, engine.utc_now())
    print(
        "Erased."
        if emptied
        else "Erased; the scheduler empties the database's write-ahead log within ten minutes."
    )


def _reason(args: Namespace) -> str:
    """Return why something is done about a person.

    Raises:
        CommandError: the command was given without it.
    """
    if args.reason is None:
        raise CommandError("say why with --reason TEXT; moderators read it among their actions", status=2)
    return str(args.reason)


def _person(email: str) -> int:
    from server import validation
    from server.store import engine, people

    with engine.reading() as session:
        person = people.find(session, validation.clean_address(email))
    if person is None:
        raise CommandError(f"nobody has the address {email}")
    return person.id


# ---- what happened ----


def add_game(game: Parser) -> None:
    """Add the arguments of this command."""
    _add_show(game, "a game", "ID").set_defaults(run=_show_game)


def add_mail(mail: Parser) -> None:
    """Add the arguments of this command."""
    _add_show(mail, "an outgoing email", "N").set_defaults(run=_show_mail)


def _add_show(about: Parser, of: str, example: str) -> Parser:
    acts = about.add_subparsers(title="actions", metavar="ACTION", required=True)
    show: Parser = acts.add_parser("show", help=f"tell what happened to {of}, and what is waited for")
    show.add_argument("id", metavar=example)
    return show


def _show_game(args: Namespace) -> None:
    from server.ops import explain
    from server.store import engine
    from server.store.models import Game

    with app_context(), engine.reading() as session:
        game = session.get(Game, args.id)
        if game is None:
            raise CommandError(f"game {args.id[:40]!r} does not exist")
        print(*explain.game(session, game, engine.utc_now()), sep="\n")


def _show_mail(args: Namespace) -> None:
    from server.ops import explain
    from server.store import engine
    from server.store.models import Mail

    if not re.fullmatch("[0-9]{1,18}", args.id):
        raise CommandError(f"{args.id[:40]!r} must be the number of an email, as the log names it", status=2)
    with app_context(), engine.reading() as session:
        mail = session.get(Mail, int(args.id))
        if mail is None:
            raise CommandError(
                f"email {args.id} does not exist; emails are deleted 30 days after their game ended"
            )
        print(*explain.mail(session, mail, engine.utc_now()), sep="\n")
