"""Every text of the house that people read, as the code and the templates have it."""

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
from byzanz.rules import RulesError
from server.errors import Refused
from server.play.notes import KEPT

ROOT = Path(__file__).parents[2]
KEEPING = {"kept": (1,), "OrderAnswer": (2,)}
"""What marks a sentence that notes of the log keep in English, with the place of the sentence."""
WORDLESS = (".css",)
"""Ends of the names of templates without words."""


def refusals() -> set[str]:
    """The names of all errors that say in a sentence what is refused: it is the first thing they are called with.

    They are found by asking their two bases for their kinds, once every module has been imported.
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
    """The modules of the house."""
    for folder in ("byzanz", "server"):
        yield from sorted((root / folder).rglob("*.py"))


def templates(root: Path = ROOT) -> Iterator[Path]:
    """The templates of the house that may hold words."""
    for path in sorted((root / "templates").rglob("*")):
        if path.is_file() and path.suffix not in WORDLESS:
            yield path


def texts(root: Path = ROOT) -> Catalog:
    """All texts of the house: a catalogue without translations."""
    found = Catalog(project="Byzanz", charset="utf-8", fuzzy=False)
    told: dict[str, Any] = DEFAULT_KEYWORDS | dict.fromkeys(refusals(), (1,)) | KEEPING
    for method, paths, keywords in (
        ("python", code(root), told),
        ("jinja2", templates(root), DEFAULT_KEYWORDS),
    ):
        for path in paths:
            for _line, text, _comments, context in extract_from_file(method, path, keywords=keywords):
                found.add(text, context=context)
    for path in code(root):
        for _line, text, _comments, _context in extract_from_file("python", path, keywords=KEEPING):
            found.add(text, auto_comments=[KEPT])
    return found
