"""Every text of the project that people read, collected from the code and the templates."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_file

import byzanz
import server
from byzanz.moves import RulesError
from server.errors import Refused
from server.store.facts import KEPT

ROOT = Path(__file__).parents[2]
KEEPING = {"kept": (1,), "OrderAnswer": (2,)}
"""Functions that mark a sentence that notes of the log keep in English, with the position of the sentence."""
SAID = ({"Message": (1,)}, {"Message": (4,)})
"""The sentences of a game about what followed from a move, for all and for the player whom they name."""
WORDLESS = (".css",)
"""Endings of the names of templates without texts."""


def refusals() -> set[str]:
    """Return the names of all errors whose first argument is a sentence.

    They are the subclasses of two base classes, found after every module was imported.
    """
    for package in (byzanz, server):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return {kind.__name__ for base in (RulesError, Refused) for kind in _kinds(base)}


def _kinds(base: type[Exception]) -> Iterator[type[Exception]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def code(root: Path = ROOT) -> Iterator[Path]:
    """Return the modules of the project, without those for makers of games: what they print stays English."""
    for folder in ("byzanz", "server"):
        yield from sorted(
            path for path in (root / folder).rglob("*.py") if path.parent != root / "byzanz/kit"
        )


def templates(root: Path = ROOT) -> Iterator[Path]:
    """Return the templates of the project that may contain texts."""
    for path in sorted((root / "templates").rglob("*")):
        if path.is_file() and path.suffix not in WORDLESS:
            yield path


def texts(root: Path = ROOT) -> Catalog:
    """Return all texts of the project as a catalogue without translations."""
    found = Catalog(project="Byzanz", charset="utf-8", fuzzy=False)
    told: dict[str, Any] = DEFAULT_KEYWORDS | dict.fromkeys(refusals(), (1,)) | KEEPING
    for method, paths, keywords in (
        ("python", code(root), told),
        *(("python", code(root), said) for said in SAID),
        ("jinja2", templates(root), DEFAULT_KEYWORDS),
    ):
        for path in paths:
            for _line, text, _comments, context in extract_from_file(method, path, keywords=keywords):
                found.add(text, context=context)
    for path in code(root):
        for _line, text, _comments, _context in extract_from_file("python", path, keywords=KEEPING):
            found.add(text, auto_comments=[KEPT])
    return found
