"""The form of a move: what the page posts, read strictly, and why a move was refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.datastructures import MultiDict

from byzanz.games import rules_of
from byzanz.moves import RulesError, UnreadableMove
from server import play
from server.validation import whole_number
from server.web.http import refusal_text

_VERB = re.compile(r"[a-z][a-z-]{0,19}")
_CARD = re.compile(r"[a-z0-9-]{1,40}(#[0-9]{1,3})?")


class MalformedForm(Exception):
    """A form that no page of this server sends; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class MoveForm:
    """A submitted move form.

    Args:
        text: the move.
        seen: the newest entry when the page was rendered.
        ticked: values of the ticked boxes, to be ticked again if the move is refused.
    """

    text: str
    seen: int
    request_id: str
    ticked: tuple[str, ...]


def read_form(form: MultiDict[str, str], head: int) -> MoveForm:
    """Read a form strictly: our own pages send nothing else.

    Raises:
        MalformedForm: a field is missing or cannot be what the page sent.
    """
    seen, request_id = whole_number(form.get("seen", ""), head), form.get("request_id", "")
    if seen is None:
        raise MalformedForm(_("The form lacks the game version it was made from."))
    if not play.REQUEST_ID.fullmatch(request_id):
        raise MalformedForm(_("The form lacks its request ID."))
    ticked = tuple(form.getlist("card"))
    if not all(map(_CARD.fullmatch, ticked)):
        raise MalformedForm(_("The form names an invalid card."))
    return MoveForm(_move_text(form, ticked), seen, request_id, ticked)


def _move_text(form: MultiDict[str, str], ticked: Iterable[str]) -> str:
    text = form.get(f"move-{form['list']}") if "list" in form else form.get("move")
    if text is not None:
        if len(text) > play.LONGEST_TEXT or not text.isprintable():
            raise MalformedForm(_("The move in the form is not a single line of text."))
        return text
    verb = form.get("verb", "")
    if not _VERB.fullmatch(verb):
        raise MalformedForm(_("The form does not say what to do."))
    return " ".join((verb, *(value.partition("#")[0] for value in ticked)))


def why(error: RulesError, slug: str, form: MoveForm) -> str:
    """Return why a move was refused; of ticked cards, that they are too few or too many."""
    places, given = rules_of(slug).grammar.get(form.text.split(" ")[0], ()), len(form.ticked)
    if isinstance(error, UnreadableMove) and given and places and given != len(places):
        said = ngettext(
            "Select %(num)s card, not %(given)s.",
            "Select %(num)s cards, not %(given)s.",
            len(places),
            given=given,
        )
        return str(said)
    return refusal_text(error, slug)
