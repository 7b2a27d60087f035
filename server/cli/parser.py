"""Reading the words of a command, and telling in one line what is wrong."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from byzanz.moves import RulesError
from byzanz.record import BadRecord, InvalidRecord
from server.validation import whole_number

Asked = argparse.Namespace


class Mistake(Exception):
    """What was asked for cannot be done; the text is one line that says why and what would do.

    Args:
        line: the text.
        status: with which the command ends.
    """

    def __init__(self, line: str, status: int = 1) -> None:
        super().__init__(line)
        self.status = status


class Words(argparse.ArgumentParser):
    """Reads words; what is wrong with them is one line and not a page of usage."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_abbrev=False, **more)

    def error(self, message: str) -> NoReturn:
        """Refuse the words."""
        raise Mistake(f"{message} (see {self.prog} --help)", status=2)


def count(text: str) -> int:
    """A whole number from 1 to a million, as argparse wants it read."""
    number = whole_number(text, 1_000_000, 1)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} should be a whole number from 1 to 1000000")
    return number


def port(text: str) -> int:
    """A port, 0 for one that is free."""
    number = whole_number(text, 65535)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} should be a port from 0 to 65535")
    return number


def as_line(error: Exception) -> str | None:
    """What an error says, as one line to print; None for a fault that nobody foresaw."""
    said = _said(error)
    if said is None:
        return None
    return "".join(sign if sign.isprintable() else "�" for sign in " ".join(said.split()))


def _said(error: Exception) -> str | None:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, (Mistake, BadRecord, InvalidRecord, RulesError)):
        return str(error)
    return _said_by_server(error) if "server.config" in sys.modules else None


def _said_by_server(error: Exception) -> str | None:
    from sqlalchemy.exc import SQLAlchemyError

    from server.config import ConfigError
    from server.errors import Refused
    from server.store.migrate import fault

    if isinstance(error, (ConfigError, Refused)):
        return str(error)
    if isinstance(error, SQLAlchemyError):
        return f"the database: {fault(error)}"
    return None
