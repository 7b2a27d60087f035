"""The form of a move, what it has chosen beforehand, and what the page says after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flask_babel import gettext as _
from flask_babel import ngettext
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict

from byzanz import record, umpire
from byzanz.games import rules_of
from byzanz.moves import RulesError, UnreadableMove
from server import play
from server.accounts import login
from server.play import history as play_history
from server.play import turns
from server.play.game import Table
from server.play.positions import Position
from server.store import links, log
from server.store.links import SeatAccess
from server.store.models import Game, Link, LinkPurpose
from server.validation import whole_number
from server.web.game import history
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


# ---- after a move ----


def context(
    table: Table,
    access: SeatAccess,
    position: Position,
    own: record.Entry,
    entries: Sequence[record.Entry],
    zone: str,
    elsewhere: Sequence[tuple[str, str]] | None,
) -> dict[str, Any]:
    """Return what seat/played.html shows; no move to show if it was undone since.

    Args:
        position: of the game.
        own: the move that led to the page; entries: those after it.
        zone: the reader's time zone.
        elsewhere: the player's other open turns, None if this browser may not know them; then only counted.
    """
    told = play_history.told(position, [own, *entries])
    (line,) = history.lines_of([own], log.voids_in(entries), zone, told)
    person = access.seat.person
    others = len(elsewhere or ())
    if elsewhere is None and person is not None and person.email is not None:
        others = table.session.scalar(turns.open_of(person.id).where(Game.id != table.game.id)) or 0
    return {
        "played": None if line.voided else line,
        "others": others,
    }


def next_games(session: Session, access: SeatAccess) -> list[tuple[str, str]] | None:
    """Return name and URL of the person's other open turns, the most urgent first; None if they are not signed in."""
    person = login.signed_in(session)
    if person is None or person.id != access.seat.person_id:
        return None
    games = [game for game, *_ in turns.of_person(session, person.id) if game.id != access.game.id]
    live = (Link.purpose == LinkPurpose.SEAT, Link.person_id == person.id, Link.revoked_at.is_(None))
    newest_first = links.select_rows(session, *live, Link.game_id.in_([game.id for game in games]))
    urls = {link.game_id: links.url(link) for link in reversed(newest_first)}
    return [(game.name, urls[game.id]) for game in games if game.id in urls]


# ---- the form ----

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
