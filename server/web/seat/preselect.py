"""A move preselected by a mailed link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask_babel import gettext as _

from byzanz import umpire
from byzanz.moves import RulesError
from server import play
from server.play.positions import Position
from server.web.http import refusal_text


@dataclass(frozen=True, slots=True)
class Preselected:
    """A move named by a link; nothing is played before a button is pressed.

    Args:
        text: the move, canonical; empty if the link names none.
        ticked: the values of the boxes of its cards.
        why: why it cannot be played now; empty if it can.
    """

    text: str
    ticked: tuple[str, ...] = ()
    why: str = ""


def from_link(position: Position, seat: int, text: str) -> Preselected:
    """Check the move that a link names.

    Args:
        text: the move in the URL, which anyone may have written.
    """
    if position.outcome or position.paused:
        return Preselected("", why=_("Nobody is to move in this game now."))
    if not text.isprintable():
        return Preselected("", why=_("The link does not contain a valid answer."))
    rules, state = position.rules, position.state
    move = None
    try:
        move = rules.parse(text[: play.LONGEST_TEXT + 1])
        umpire.play(rules, state, seat, move)
    except RulesError as error:
        return Preselected(str(move or ""), why=refusal_text(error, rules.slug))
    return Preselected(str(move), _boxes(position.view(seat).hand, move.args))


def _boxes(hand: Sequence[str], cards: Sequence[str]) -> tuple[str, ...]:
    """Return the checkboxes of these cards in a hand; duplicates have different numbers."""
    found: dict[str, str] = {}
    for card in cards:
        places = [f"{name}#{number}" for number, name in enumerate(hand) if name == card]
        free = next((box for box in places if box not in found), None)
        if free is not None:
            found[free] = card
    return (*found, *found.values())
