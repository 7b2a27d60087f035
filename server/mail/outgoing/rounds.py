"""What a mail tells that is about all games of its reader: the daily digest, and the links that somebody asked for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from byzanz.games import rules_of
from byzanz.rules import BadSetup
from server.mail.outgoing.context import listed_turns, one_line
from server.mail.outgoing.digest import DigestTurn
from server.mail.outgoing.relevance import MailRows
from server.play import positions, turns
from server.play.positions import Broken
from server.store.models import Game, Seat, Turn

LOGGER = logging.getLogger(__name__)
KINDS = ("digest", "games")
"""The kinds of such mails."""
NEVER = datetime.max.replace(tzinfo=UTC)


def told_of(session: Session, found: MailRows, links: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """The words of the templates: `items`, a game each, the least time left first; and `named`, for a digest.

    Args:
        links: to the reader's seats, by game; what was not there when they were made is left for the next mail.
        now: when a digest is accepted: then the clocks begin of turns that none has named before.
    """
    items, named = [], []
    for game, seat, turn in listed_turns(session, found):
        if game.id not in links:
            continue
        starts = found.mail.kind == "digest" and (turn.started_at is None or turn.refused is not None)
        times = turns.printed(session, game, turn, now) if starts else turns.times(session, game, turn)
        try:
            items.append(_item(session, game, seat, turn, times) | {"link": links[game.id]})
        except (Broken, BadSetup) as broken:  # one broken game must not hold up the others
            LOGGER.warning("game %s is left out of a mail: %s", game.id, broken)
            continue
        if times is not None:
            named.append(DigestTurn(game.id, turn.seat, turn.opened_seq, times.due, starts))
    items.sort(key=lambda item: item["times"].due if item["times"] else NEVER)
    return {"items": items, "named": tuple(named)}


def _item(session: Session, game: Game, seat: Seat, turn: Turn, times: turns.Times | None) -> dict[str, Any]:
    position = positions.load(session, game)
    person = seat.person
    return {
        "slug": game.slug,
        "title": rules_of(game.slug, game.rules).title,
        "game": one_line(game.name),
        "names": [one_line(other.name) for other in positions.seats_of(session, game.id)],
        "view": position.view(turn.seat),
        "times": times,
        "zone": (person.time_zone if person else None) or game.time_zone,
    }
