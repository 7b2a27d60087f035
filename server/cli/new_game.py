"""The command that writes a new game as a package of its own: its rules, tests, and what pip needs."""

from __future__ import annotations

import re
from argparse import Namespace
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Any

from byzanz.games import latest
from server.cli.parser import CommandError

_MODEL = "toll"
"""The slug of the game in `templates/new_game/`, which a new one replaces."""
_FILES = ("README.md", "pyproject.toml", f"{_MODEL}.py", f"tests/test_{_MODEL}.py")


def add(commands: Any) -> None:
    """Add this command to `byzanz`."""
    new = commands.add_parser(
        "new-game",
        help="write a new game as a package of its own",
        description="Write a small game that can be played at once, as a package of its own, to be changed into "
        "another. Play it with: byzanz play",
    )
    new.add_argument(
        "slug", metavar="SLUG", help="the game's name in addresses and commands, such as harbour"
    )
    new.add_argument(
        "--into", default=".", metavar="FOLDER", help="where to write the folder SLUG (default: here)"
    )
    new.set_defaults(run=_new_game)


def _new_game(args: Namespace) -> None:
    from server.config import TEMPLATES  # here, so that other commands start quickly

    folder = Path(args.into) / args.slug
    _refuse(args.slug, folder)
    for name in _FILES:
        file = folder / _named(name, args.slug)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_named((TEMPLATES / "new_game" / name).read_text("utf-8"), args.slug), "utf-8")
    print(f"Your game is in {folder}. Play it:")
    print(f"  cd {folder}\n  byzanz play ./{args.slug} --watch")


def _refuse(slug: str, folder: Path) -> None:
    """Refuse a name or a place that a new game cannot have."""
    if not re.fullmatch("[a-z][a-z0-9]{1,19}", slug):
        raise CommandError(
            f"{slug[:40]!r} cannot be the name of a game: use 2 to 20 lower-case letters and digits", status=2
        )
    if slug in {rules.slug for rules in latest()}:
        raise CommandError(f"there is already a game {slug!r}")
    if not folder.parent.is_dir():
        raise CommandError(f"there is no folder {folder.parent}")
    if folder.exists():
        raise CommandError(f"{folder} exists already")
    if iskeyword(slug):
        raise CommandError(f"{slug!r} is a word of Python; choose another name")
    if find_spec(slug):
        raise CommandError(f"there is already a Python module {slug!r}; choose another name")


def _named(text: str, slug: str) -> str:
    return text.replace(_MODEL, slug).replace(_MODEL.capitalize(), slug.capitalize())
