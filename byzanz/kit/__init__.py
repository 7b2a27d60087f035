"""For makers of games: checks that any game is judged by, a new game to start from, and playing in the terminal.

These modules may use files and the terminal, but no server. `server.cli`, the only package that imports them, parses
the arguments of their commands and hands in what draws templates.
"""

from __future__ import annotations

import os
from pathlib import Path

from byzanz.games import AnyRules, latest, read, rules_of


def path_of(text: str) -> Path | None:
    """Return the path of a game that is named by its file, with or without `.py`, or its folder; None for a slug.

    So `./toll` stays the name of a game whose file becomes a folder.
    """
    path = Path(text)
    is_path = os.sep in text or path.suffix == ".py" or path.is_dir()
    if not is_path or any(text == rules.slug for rules in latest()):
        return None
    file = Path(f"{path}.py")
    return (file if file.is_file() and not (path / "__init__.py").exists() else path).resolve()


def find_game(text: str) -> AnyRules:
    """Return the rules of a game, by its slug or by the path of its file or folder.

    Raises:
        BadSetup: there is no such game, or what is there holds none.
    """
    path = path_of(text)
    return read(path) if path else rules_of(text)
