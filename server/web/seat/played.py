"""The page after a move: what was played, who is next, and the games in which the player is to move as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz import record
from server.accounts import login
from server.play import history as play_history
from server.play import turns
from server.play.game import Table
from server.play.positions import Position
from server.store import links, log
from server.store.links import SeatAccess
from server.store.models import Game, Link
from server.web.game import history


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
    told = play_history.told(position, position.view(access.seat.seat), [own, *entries])
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
    live = (Link.purpose == "seat", Link.person_id == person.id, Link.revoked_at.is_(None))
    query = select(Link).where(*live, Link.game_id.in_([game.id for game in games])).order_by(Link.id)
    urls = {link.game_id: links.url(link) for link in session.scalars(query)}
    return [(game.name, urls[game.id]) for game in games if game.id in urls]
