"""What is kept beside an answer for those who count it after the game: the time it took, and whether it counts."""

from __future__ import annotations

from datetime import datetime

from server.play import clock
from server.store.models import EXCUSED
from server.store.statements import SeatRow, TurnRow


def seconds_of_turn(turn: TurnRow, seat: SeatRow, now: datetime) -> int:
    """The seconds that the clock of an answered turn has run, outages included; EXCUSED if they say nothing.

    An absence that was entered after the turn had opened does not move its deadline, but it excuses a turn that lies in
    it from its beginning to its end.
    """
    if turn.mail_failed or _is_away(seat, turn.opened_at, now):
        return EXCUSED
    if turn.started_at is None:
        return 0
    return max(0, int(clock.counted(turn.started_at, now, hours=clock.Hours.read(turn.hours))))


def seconds_on_autopilot(seat: SeatRow, now: datetime) -> int:
    """EXCUSED if the player of a seat on autopilot could not answer now: they are away, or no email reaches them."""
    person = seat.person
    unreached = person is not None and bool(person.unreachable or person.suppressed)
    return EXCUSED if unreached or _is_away(seat, now, now) else 0


def _is_away(seat: SeatRow, since: datetime, until: datetime) -> bool:
    return any(gone <= since and until < back for gone, back in seat.absences)
