"""Parsing arguments, the application context of a command, and errors in one line."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn


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
    """An argument parser that reports errors in one line instead of a page of usage.

    Args:
        declare: adds the arguments of a command when somebody asks for them, so that no other command waits for what
            they need.
        more: arguments of `ArgumentParser`.
    """

    def __init__(self, declare: Callable[[Parser], None] | None = None, **more: Any) -> None:
        super().__init__(allow_abbrev=False, **more)
        self._declare = declare

    def declared(self) -> Parser:
        """Return this parser with the arguments of its command."""
        declare, self._declare = self._declare, None
        if declare is not None:
            declare(self)
        return self

    def parse_known_args(  # type: ignore[override]  # argparse has overloads for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments of this command, which has been chosen."""
        return super(Parser, self.declared()).parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Reject the arguments."""
        raise CommandError(f"{message} (see {self.prog} --help)", status=2)


def whole_number(text: str, most: int, least: int = 0) -> int | None:
    """Return the number that an argument gives; None if it gives none, or one outside `least` to `most`."""
    from server import validation  # here, so that commands without a number start quickly

    return validation.whole_number(text, most, least)


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
    from byzanz.moves import RulesError  # here, so that commands start quickly
    from byzanz.record import BadRecord, InvalidRecord

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
def loading() -> Iterator[None]:
    """Import modules without looking for garbage meanwhile, which is a tenth of the time: they make none."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def app_context() -> Iterator[None]:
    """Open the application's context on an up-to-date database; its connections are closed at the end.

    Raises:
        ConfigError: a setting is missing or invalid, or the database cannot be used as it is.
        WrongClock: the clock of this machine contradicts the database's.
    """
    # Imported here, so that commands about files start quickly.
    with loading():
        from server import create_app
        from server.store import engine, migrate, operations

        app = create_app()
    with app.app_context():
        try:
            migrate.check()
            operations.check_clock()
            yield
            operations.store_figures()
        finally:
            engine.db.engine.dispose()
