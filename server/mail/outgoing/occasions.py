"""What only an email at the beginning or at the end of a game tells: an invitation, and who came where."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz.moves import ranked
from byzanz.rules import PUBLIC
from server.community import results
from server.mail.outgoing.relevance import MailRows
from server.mail.text import one_line
from server.play import history, positions
from server.play.game import Table
from server.store.models import Game, Rematch, Seat

ANSWER_WITHIN = timedelta(days=2)
"""How soon an invitation asks for an answer: then comes the reminder (`NUDGE_AFTER` of server/lobby/organiser.py)."""


def ending(table: Table, scores: Sequence[int]) -> dict[str, Any]:
    """Return the place of each seat of a finished game, with the seat, the best first, and the table as it ended.

    With it come the seats that were placed by something else than their scores.
    """
    position = positions.current(table)
    ranking = ranked(position.rules.places(position.state))
    at = {score: {place for place, seat in ranking if scores[seat] == score} for score in scores}
    return {
        "ranking": ranking,
        "tied": [seat for _place, seat in ranking if len(at[scores[seat]]) > 1],
        "view": position.rules.view(position.state, PUBLIC),
    }


def invitation(session: Session, rows: MailRows, table: Table) -> dict[str, Any]:
    """Return what only an invitation tells: who sits there, the organiser's line, cuts, and how long games take.

    If the game follows another one of its reader, it also tells which. `company` says whether it has other people.
    """
    game = session.get_one(Game, table.game.id)
    return {
        "before": _game_before(session, rows),
        "statuses": tuple(seat.status for seat in table.seats),
        "bots": [seat.seat for seat in table.seats if seat.bot],
        "company": any(seat.person_id not in (None, rows.person.id) for seat in table.seats),
        "own_game": table.game.organiser_id == rows.person.id,
        "answer_by": rows.mail.created_at + ANSWER_WITHIN,
        "message": one_line(game.message),
        "cuts": history.fixed_cuts(table.seats).values(),
        "length": results.estimate(session, game, table.seats),
    }


def _game_before(session: Session, rows: MailRows) -> str | None:
    """Return the name of the game that this one follows, for those who held a seat there."""
    query = (
        select(Game.name)
        .join(Rematch, Rematch.after_id == Game.id)
        .join(Seat, Seat.game_id == Game.id)
        .where(Rematch.game_id == rows.mail.game_id, Seat.person_id == rows.person.id)
    )
    name = session.scalar(query)
    return None if name is None else one_line(name)
