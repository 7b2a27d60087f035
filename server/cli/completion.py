"""The command that prints a script with which a shell completes the commands of `byzanz`."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

FILES = {
    "bash": "/etc/bash_completion.d/byzanz",
    "zsh": "/usr/local/share/zsh/site-functions/_byzanz",
    "fish": "/etc/fish/completions/byzanz.fish",
}
"""The shells, and where the script of each belongs."""
PATHS = ("FILE", "FOLDER", "GAME", "SLUG|PATH")
"""What an argument that can name a file or folder is called in the help."""


def add(commands: Any, parser: ArgumentParser) -> None:
    """Add this command to `byzanz`, whose parser has all others."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in bash, zsh or fish",
        description="Print a script for a shell. "
        + " ".join(f"`byzanz completion {shell} > {file}` installs it." for shell, file in FILES.items()),
    )
    completion.add_argument("shell", nargs="?", default="bash", choices=tuple(FILES), help="default: bash")
    completion.set_defaults(run=lambda args: _print(parser, args.shell))


def _print(parser: ArgumentParser, shell: str) -> None:
    import shtab  # here, so that other commands start quickly

    for action in _actions(parser):
        if action.metavar in PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # how shtab is told
    print(shtab.complete(parser, shell))


def _actions(parser: ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a command and of the commands under it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
