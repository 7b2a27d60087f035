"""Tenures: who held a seat of a game that has begun, from which entry to which.

At each moment a seat has exactly one. A person's ends when they leave or are replaced, not when they go on autopilot;
the next one begins with the same entry. A void changes no tenure: the game goes back, but not who sits there.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from server.store.models import Tenure
from server.store.statements import SeatRow
from server.store.table import Table


def begin(table: Table) -> None:
    """Write the first tenures of a game that begins."""
    rows = [_row(seat, 0, seat.person_id) for seat in table.seats]
    table.session.execute(insert(Tenure), rows)


def change(table: Table, seat: SeatRow, seq: int) -> None:
    """Let the present tenure of a seat end with an entry, and that of its holder begin; nobody's if they have left.

    Args:
        seat: as it is after the entry.
        seq: of the entry.
    """
    held = (Tenure.game_id == seat.game_id, Tenure.seat == seat.seat, Tenure.to_seq.is_(None))
    table.session.execute(update(Tenure).where(*held).values(to_seq=seq))
    erased = seat.person is not None and seat.person.email is None and not table.game.trial
    person_id = None if seat.left or erased else seat.person_id
    table.session.execute(insert(Tenure), [_row(seat, seq, person_id)])


def _row(seat: SeatRow, seq: int, person_id: int | None) -> dict[str, object]:
    bot = None if seat.left else seat.bot
    place = {"game_id": seat.game_id, "seat": seat.seat, "from_seq": seq, "to_seq": None}
    return place | {"person_id": person_id, "bot": bot}


def hand_over(session: Session, game_id: str, visitor_id: int, person_id: int) -> None:
    """Give a visitor's tenures in a game to the person whose address is now known: they are the same player."""
    own = (Tenure.game_id == game_id, Tenure.person_id == visitor_id)
    session.execute(update(Tenure).where(*own).values(person_id=person_id))


def of_game(session: Session, game_id: str) -> Sequence[Tenure]:
    """Return the tenures of a game, by seat and in order."""
    query = select(Tenure).where(Tenure.game_id == game_id)
    return session.scalars(query.order_by(Tenure.seat, Tenure.from_seq)).all()
