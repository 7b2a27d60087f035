"""Where the files that are not code lie: beside the packages in a checkout, inside `server` in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _place(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


TEMPLATES = _place("templates")
MIGRATIONS = _place("migrations")
