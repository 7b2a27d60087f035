"""Writing a new game as a package of its own: its rules, tests, and what pip needs."""

from __future__ import annotations

import re
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from byzanz.games import latest
from byzanz.moves import BadSetup


def check_slug(slug: str) -> None:
    """Check that a text can be the slug of a game.

    Raises:
        BadSetup: it cannot.
    """
    if not re.fullmatch("[a-z][a-z0-9]{1,19}", slug):
        raise BadSetup(
            f"{slug[:40]!r} cannot be the name of a game: use 2 to 20 lower-case letters and digits"
        )


def write(slug: str, into: Path, model: Path) -> Path:
    """Write a new game into a folder of its name, and return that folder.

    Args:
        slug: of the new game.
        into: where its folder is made.
        model: the folder of the game that is copied under the new name.

    Raises:
        BadSetup: a new game cannot have this name or place.
    """
    folder = into / slug
    _refuse(slug, folder)
    (its_slug,) = [rules.stem for rules in model.glob("*.py")]
    for name in ("README.md", "pyproject.toml", f"{its_slug}.py", f"tests/test_{its_slug}.py"):
        file = folder / name.replace(its_slug, slug)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (model / name).read_text("utf-8").replace(its_slug, slug)
        file.write_text(text.replace(its_slug.capitalize(), slug.capitalize()), "utf-8")
    return folder


def _refuse(slug: str, folder: Path) -> None:
    check_slug(slug)
    if slug in {rules.slug for rules in latest()}:
        raise BadSetup(f"there is already a game {slug!r}")
    if not folder.parent.is_dir():
        raise BadSetup(f"there is no folder {folder.parent}")
    if folder.exists():
        raise BadSetup(f"{folder} exists already")
    if iskeyword(slug):
        raise BadSetup(f"{slug!r} is a word of Python; choose another name")
    if find_spec(slug):
        raise BadSetup(f"there is already a Python module {slug!r}; choose another name")
