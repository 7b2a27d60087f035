"""The emails that a change of a running game causes."""

from __future__ import annotations

from datetime import datetime

from server.config import settings
from server.play import turns
from server.store.statements import TurnRow
from server.store.table import Table

OWN_TURN_DELAY = 120
"""Seconds before a turn is emailed that its player's own move has just opened: most players go on at once."""


def announce_turn(table: Table, turn: TurnRow, now: datetime, delay: int) -> None:
    """Email a turn that has just opened, or start its clock at once if its player wants no email."""
    seat = table.seats[turn.seat]
    person = seat.person
    if person is None or table.game.trial:  # bots and visitors need neither mail nor clock
        return
    if seat.silent or person.silent or person.email is None:
        turns.start(table, turn, now)
        return
    if person.cadence == "digest":  # the digest that names it starts its clock, or a tick one day later
        return
    mail_turn(table, turn, person.id, now, delay)


def mail_turn(
    table: Table, turn: TurnRow, person_id: int, now: datetime, delay: int = 0, again: str = ""
) -> None:
    """Queue the email about a turn.

    Args:
        delay: seconds to wait before the first attempt.
        again: a suffix of the key for another email about the same turn; empty the first time.
    """
    if not again and settings().mail_domain:
        table.link("reply", person_id, now, seq=turn.opened_seq)
    key = f"turn:{turn.game_id}:{turn.seat}:{turn.opened_seq}{again}"
    table.mail("turn", key, person_id, now, seat=turn.seat, seq=turn.opened_seq, delay=delay)


def mail_table(
    table: Table, kind: str, key: str, now: datetime, seq: int, leave_out: int | None = None
) -> None:
    """Queue one email to each player except the seat left out; the person's id is added to the key."""
    for seat in table.seats:
        if seat.person_id is not None and seat.seat != leave_out:
            table.mail(kind, f"{key}:{seat.person_id}", seat.person_id, now, seat=seat.seat, seq=seq)
