"""Commands about people: export what is stored about them, erase them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from server.cli.parser import CommandError, app_context


def add(commands: Any) -> None:
    """Add these commands to `byzanz`."""
    person = commands.add_parser("person", help="show, export or erase what is stored about a person")
    acts = person.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = acts.add_parser("show", help="tell whether email reaches a person, and where they are to move")
    show.add_argument("email", metavar="EMAIL")
    show.set_defaults(run=_show)
    export = acts.add_parser("export", help="write everything stored about a person to a zip file")
    export.add_argument("email", metavar="EMAIL")
    export.add_argument("--out", required=True, metavar="FILE")
    export.set_defaults(run=_export)
    erase = acts.add_parser(
        "erase",
        help="erase a person",
        description="Delete a person's name, address and settings. They leave their running games, and games that they "
        "organise are called off if they have not begun. Moves, cuts and notes stay, under another name.",
    )
    erase.add_argument("email", metavar="EMAIL")
    erase.add_argument("--yes", action="store_true", help="needed, because this cannot be undone")
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
    from server.accounts import export
    from server.store import engine

    with app_context():
        person_id = _person(args.email)
        with engine.reading() as session:
            Path(args.out).write_bytes(export.archive(session, person_id))


def _erase(args: Namespace) -> None:
    from server.accounts import erasure
    from server.store import engine

    with app_context():
        person_id = _person(args.email)
        if not args.yes:
            raise CommandError("this cannot be undone: add --yes", status=2)
        emptied = erasure.erase(person_id, engine.utc_now(), why=erasure.BY_ADMINISTRATOR)
    print(
        "Erased."
        if emptied
        else "Erased; the scheduler empties the database's write-ahead log within ten minutes."
    )


def _person(email: str) -> int:
    from server import validation
    from server.store import engine, people

    with engine.reading() as session:
        person = people.find(session, validation.clean_address(email))
    if person is None:
        raise CommandError(f"nobody has the address {email}")
    return person.id
