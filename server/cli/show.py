"""Commands that tell what happened to a game or an email, and what is waited for."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from server.cli.parser import CommandError, app_context


def add(commands: Any) -> None:
    """Add these commands to `byzanz`."""
    for name, of, example in (("game", "a game", "ID"), ("mail", "an outgoing email", "N")):
        about = commands.add_parser(name, help=f"show what happened to {of}")
        acts = about.add_subparsers(title="actions", metavar="ACTION", required=True)
        show = acts.add_parser("show", help=f"tell what happened to {of}, and what is waited for")
        show.add_argument("id", metavar=example)
        show.set_defaults(run=_game if name == "game" else _mail)


def _game(args: Namespace) -> None:
    from server.ops import explain
    from server.store import engine
    from server.store.models import Game

    with app_context(), engine.reading() as session:
        game = session.get(Game, args.id)
        if game is None:
            raise CommandError(f"game {args.id[:40]!r} does not exist")
        print(*explain.game(session, game, engine.utc_now()), sep="\n")


def _mail(args: Namespace) -> None:
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
