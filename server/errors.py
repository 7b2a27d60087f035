"""Errors for requests that the server refuses; each has an HTTP status and a code for the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class Refused(Exception):
    """A request that the server refuses; nothing has changed.

    Args:
        message: an English sentence with named placeholders; as this class's first argument it is extracted.
        places: the value of each placeholder.
    """

    status: ClassVar[int] = 409
    code: ClassVar[str] = "refused"

    def __init__(self, message: str, **places: object) -> None:
        super().__init__(message % places if places else message)
        self.message = message
        self.places = places


class NoSuchGame(Refused):
    """No game has this id, or it has not begun."""

    status = 404
    code = "no_such_game"


class NotRunning(Refused):
    """The game has not begun, is over, or is on hold."""

    code = "not_running"


class Paused(Refused):
    """The game is paused; nobody can move."""

    code = "paused"


class Stale(Refused):
    """The turn opened after the version of the game that the page or client had seen."""

    code = "stale"


class NotYourTurn(Refused):
    """The seat is not to move."""

    code = "not_your_turn"


class NoSuchLink(Refused):
    """The link was revoked, or its owner no longer holds the seat."""

    status = 404
    code = "no_such_link"


class NoSuchOrder(Refused):
    """The seat has no such standing order."""

    status = 404
    code = "no_such_order"


class TooMany(Refused):
    """A limit is exceeded: of emails, of orders, of changes in a short time."""

    status = 429
    code = "too_many"


class Crowded(TooMany):
    """The visitor's networks have caused too many emails; it says nothing about the address that they typed."""


class BadRequest(Refused):
    """The request is malformed, or its id was used for another move."""

    status = 422
    code = "bad_request"


class Closed(Refused):
    """It is too late: the game has begun or was cancelled, or another person was faster."""

    code = "closed"


class NotEverybody(Refused):
    """Somebody of a finished game cannot be invited again; nobody learns who does not want it, or why."""

    code = "not_everybody"


class InvalidInput(Refused):
    """A field of a form is invalid; the message says why and what is valid.

    Args:
        message: as for every refusal.
        field: the form field that it is about.
    """

    status = 422
    code = "bad_wish"

    def __init__(self, message: str, *, field: str, **places: object) -> None:
        super().__init__(message, **places)
        self.field = field


class InvalidLines(InvalidInput):
    """Lines of a field are invalid, each for its own reason.

    Args:
        lines: the numbers of the lines and what is wrong there.
        field: the form field.
    """

    def __init__(self, lines: Sequence[tuple[int, Refused]], *, field: str) -> None:
        told = "\n".join(f"Line {number}: {why}" for number, why in lines)
        super().__init__("%(told)s", field=field, told=told)
        self.lines = tuple(lines)
