"""The base of the API's bodies, and those of standing orders and table talk."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from server import play
from server.community import talk


class Body(BaseModel):
    """The base of all bodies: the string under a field is its description."""

    model_config = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)


class OrderRequest(Body):
    """A standing order to be left."""

    order: Annotated[str, Field(min_length=1, max_length=play.LONGEST_TEXT, examples=["pass this lot"])]
    """One line of text in the grammar of the game (docs/orders.md)."""


class OrderState(Body):
    """A standing order of the seat; hidden from others until the game is over."""

    id: int
    """Counts this seat's orders from 1."""
    order: str
    """Canonical text."""
    status: str
    """`standing`, or `resting` after a void until it is confirmed, or `stopped`."""
    reason: str | None
    """Why it stopped."""


class OrderList(Body):
    """The standing orders of the seat, oldest first."""

    orders: list[OrderState]


class OrderReceipt(Body):
    """The result of leaving an order."""

    id: int
    order: str
    """Canonical text."""
    seq: int
    """The head of the log afterwards: an order that answers an open question is carried out at once."""


class WordRequest(Body):
    """Something to be said to the table."""

    text: Annotated[str, Field(min_length=1, max_length=4 * talk.LONGEST, examples=["Well played!"])]
    """Plain text of at most 500 characters and 20 lines, without control and invisible characters."""
    request_id: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,64}$")]
    """The client's own id for this request: repeating it says nothing twice."""


class WordReceipt(Body):
    """The result of saying something."""

    id: str
    """Its id; two words of a table never have the same."""
    text: str
    """As the table reads it: `[address]` and `[link]` stand in place of email addresses and personal links."""


class WordState(Body):
    """Something said at the table."""

    id: str
    """The same for all readers; it does not tell how much else was said."""
    seat: int
    """Where it was said."""
    name: str
    """Who said it."""
    text: str
    """Plain text with line breaks; empty if a moderator has hidden it."""
    at: str
    """RFC 3339, UTC."""
    seq: int
    """The head of the log when it was said."""
    own: bool
    """Whether this seat's player said it."""
    hidden: bool


class WordList(Body):
    """What this seat's player may read, oldest first."""

    words: list[WordState]
