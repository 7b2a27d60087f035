"""What the server refuses, by kind; each has a status for HTTP and a code for the API."""

from __future__ import annotations

from typing import ClassVar


class Refused(Exception):
    """A wish that the server does not grant; nothing has changed.

    Args:
        message: an English sentence with named places, marked for extraction by being this class's first argument.
        places: the value of each place.
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
    """The game has not begun, is over, or is set aside."""

    code = "not_running"


class Paused(Refused):
    """The game is paused; nobody moves."""

    code = "paused"


class Stale(Refused):
    """The turn opened after what this page or client has seen."""

    code = "stale"


class NotYourTurn(Refused):
    """The seat is not awaited."""

    code = "not_your_turn"


class NoSuchLink(Refused):
    """The link was revoked, or its owner sits there no more."""

    status = 404
    code = "no_such_link"


class NoSuchOrder(Refused):
    """This seat has no such order standing."""

    status = 404
    code = "no_such_order"


class TooMany(Refused):
    """So many would be a nuisance to somebody: of mails, of orders, of comings and goings."""

    status = 429
    code = "too_many"


class BadRequest(Refused):
    """The request itself is malformed, or its id was used for another move."""

    status = 422
    code = "bad_request"


class Closed(Refused):
    """The moment for this has passed: the game has begun, was cancelled, or somebody was faster."""

    code = "closed"


class InvalidInput(Refused):
    """Something in a form cannot be had; the sentence says why and what would do.

    Args:
        message: as of every refusal.
        field: the form's field that it is about.
    """

    status = 422
    code = "bad_wish"

    def __init__(self, message: str, *, field: str, **places: object) -> None:
        super().__init__(message, **places)
        self.field = field
