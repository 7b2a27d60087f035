"""Parsing arguments, the application context of a command, errors in one line, and completion in shells."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from byzanz.moves import RulesError
from byzanz.record import BadRecord, InvalidRecord
from server.validation import whole_number


class CommandError(Exception):
    """The command failed; the one-line message says why and what to do.

    Args:
        line: the message.
        status: the exit status.
    """

    def __init__(self, line: str, status: int = 1) -> None:
        super().__init__(line)
        self.status = status


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one line instead of a page of usage."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_abbrev=False, **more)

    def error(self, message: str) -> NoReturn:
        """Reject the arguments."""
        raise CommandError(f"{message} (see {self.prog} --help)", status=2)


def count(text: str) -> int:
    """Parse a whole number from 1 to a million, for argparse."""
    number = whole_number(text, 1_000_000, 1)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} must be a whole number from 1 to 1000000")
    return number


def port(text: str) -> int:
    """Parse a port, 0 for any free one."""
    number = whole_number(text, 65535)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} must be a port from 0 to 65535")
    return number


def seat_number(text: str) -> int:
    """Parse the number of a seat, for argparse."""
    number = whole_number(text, 999)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} must be a seat number from 0")
    return number


def error_line(error: Exception) -> str | None:
    """Return an error as one line to print; None for an unexpected one."""
    text = _message(error)
    if text is None:
        return None
    return "".join(char if char.isprintable() else "�" for char in " ".join(text.split()))


def _message(error: Exception) -> str | None:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, (CommandError, BadRecord, InvalidRecord, RulesError)):
        return str(error)
    return _server_message(error) if "server.config" in sys.modules else None


def _server_message(error: Exception) -> str | None:
    from sqlalchemy.exc import SQLAlchemyError

    from server.config import ConfigError
    from server.errors import Refused
    from server.play.positions import Broken
    from server.store.migrate import error_line
    from server.store.operations import WrongClock

    if isinstance(error, (ConfigError, Refused, Broken, WrongClock)):
        return str(error)
    if isinstance(error, SQLAlchemyError):
        return f"the database: {error_line(error)}"
    return None


@contextmanager
def app_context() -> Iterator[None]:
    """Open the application's context on an up-to-date database; its connections are closed at the end.

    Raises:
        ConfigError: a setting is missing or invalid, or the database cannot be used as it is.
        WrongClock: the clock of this machine contradicts the database's.
    """
    # Imported here, so that commands about files start quickly.
    from server import create_app
    from server.store import engine, migrate, operations

    with create_app().app_context():
        try:
            migrate.check()
            operations.check_clock()
            yield
            operations.store_figures()
        finally:
            engine.db.engine.dispose()


# ---- completion ----

FILES = {
    "bash": "/etc/bash_completion.d/byzanz",
    "zsh": "/usr/local/share/zsh/site-functions/_byzanz",
    "fish": "/etc/fish/completions/byzanz.fish",
}
"""The shells, and where the script of each belongs."""
PATHS = ("FILE", "FOLDER", "GAME", "SLUG|PATH")
"""What an argument that can name a file or folder is called in the help."""


def add_completion(commands: Any, parser: ArgumentParser) -> None:
    """Add this command to `byzanz`, whose parser has all others."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in bash, zsh or fish",
        description="Print a script for a shell. "
        + " ".join(f"`byzanz completion {shell} > {file}` installs it." for shell, file in FILES.items()),
    )
    completion.add_argument("shell", nargs="?", default="bash", choices=tuple(FILES), help="default: bash")
    completion.set_defaults(run=lambda args: _print_completion(parser, args.shell))


def _print_completion(parser: ArgumentParser, shell: str) -> None:
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
