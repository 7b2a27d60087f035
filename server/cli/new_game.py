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

    folder, model = Path(args.into) / args.slug, TEMPLATES / "new_game"
    _refuse(args.slug, folder)
    (its_slug,) = [rules.stem for rules in model.glob("*.py")]
    for name in ("README.md", "pyproject.toml", f"{its_slug}.py", f"tests/test_{its_slug}.py"):
        file = folder / name.replace(its_slug, args.slug)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (model / name).read_text("utf-8").replace(its_slug, args.slug)
        file.write_text(text.replace(its_slug.capitalize(), args.slug.capitalize()), "utf-8")
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
