"""Commands about people: export what is stored about them, change their address, erase them."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.cli.parser import CommandError, app_context

LOGGER = logging.getLogger(__name__)
_REASON = "why, without name and address; moderators read it among their actions"


def add(commands: Any) -> None:
    """Add these commands to `byzanz`."""
    person = commands.add_parser("person", help="show, export, move or erase what is stored about a person")
    acts = person.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = acts.add_parser("show", help="tell whether email reaches a person, and where they are to move")
    show.add_argument("email", metavar="EMAIL")
    show.set_defaults(run=_show)
    export = acts.add_parser("export", help="write everything stored about a person to a zip file")
    export.add_argument("email", metavar="EMAIL")
    export.add_argument("--out", required=True, metavar="FILE")
    export.set_defaults(run=_export)
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
    move.set_defaults(run=_move)
    erase = acts.add_parser(
        "erase",
        help="erase a person",
        description="Delete a person's name, address and settings. They leave their running games, and games that they "
        "organise are called off if they have not begun. Moves, cuts and notes stay, under another name.",
    )
    erase.add_argument("email", metavar="EMAIL")
    erase.add_argument("--yes", action="store_true", help="needed, because this cannot be undone")
    erase.add_argument("--reason", metavar="TEXT", help=f"needed: {_REASON}")
    erase.set_defaults(run=_erase)


def _show(args: Namespace) -> None:
    from server.ops import explain
    from server.store import engine
    from server.store.models import Person

    with app_context():
        person_id = _person(args.email)
        with engine.reading() as session:
            person = session.get_one(Person, person_id)
            print(*explain.person(session, person, engine.utc_now()), sep="\n")


def _export(args: Namespace) -> None:
    from server.accounts import personal_data

    with app_context():
        person_id = _person(args.email)
        with Path(args.out).open("wb") as file:
            file.writelines(personal_data.archive(person_id))


def _move(args: Namespace) -> None:
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


def _erase(args: Namespace) -> None:
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
