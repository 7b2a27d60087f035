"""The time of a table, allowance, bank and days off, and a person's quiet hours, each checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from server.errors import BadWish
from server.play import clock
from server.validation import clean_allowance, shown

HOUR = 3600
LONGEST_BANK = 30 * 24 * HOUR
"""Seconds beyond the allowances, for a whole game."""
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Weekdays as the command line names them; the first is ISO number 1."""
_WALL = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(:00)?")


class Pace(NamedTuple):
    """The time of a table.

    Args:
        allowance: seconds for each decision.
        bank: seconds beyond the allowances that each seat has for the whole game.
        days_off: weekdays that no clock counts, as ISO numbers, ascending: `67` is the weekend.
    """

    allowance: int
    bank: int = 0
    days_off: str = ""


A_DAY = Pace(24 * HOUR)
"""A day for each decision, and nothing more."""
PRESETS = {
    "relaxed": Pace(48 * HOUR, 96 * HOUR, "67"),
    "daily": Pace(24 * HOUR, 48 * HOUR),
    "evening": Pace(2 * HOUR, 4 * HOUR),
}
"""What an organiser may choose by name."""


def usual_bank(allowance: int) -> int:
    """The bank that goes with an allowance when nobody says another: twice as long."""
    return min(2 * allowance, LONGEST_BANK)


def clean_pace(pace: Pace) -> Pace:
    """The time of a table as it can be had.

    Raises:
        BadWish: an allowance or a bank out of bounds, no weekdays, or too many of them.
    """
    if not 0 <= pace.bank <= LONGEST_BANK:
        raise BadWish("The bank for a whole game is at most 30 days.", field="bank")
    if not set(pace.days_off) <= set("1234567"):
        raise BadWish("“%(text)s” are no days of a week.", field="days_off", text=shown(pace.days_off))
    days_off = "".join(sorted(set(pace.days_off)))
    if len(days_off) > clock.MOST_DAYS_OFF:
        raise BadWish("At least two days of the week must count.", field="days_off")
    return Pace(clean_allowance(pace.allowance), pace.bank, days_off)


def read_days(names: Sequence[str]) -> str:
    """The ISO numbers of weekdays called `mon` to `sun`.

    Raises:
        BadWish: one of them is no weekday.
    """
    for name in names:
        if name not in DAYS:
            raise BadWish(
                "“%(name)s” is no day; say %(days)s.",
                field="days_off",
                name=shown(name),
                days=", ".join(DAYS),
            )
    return "".join(sorted({str(DAYS.index(name) + 1) for name in names}))


def read_quiet(start: str, end: str) -> tuple[int, int] | None:
    """Quiet hours as a form gives them: two wall times such as 23:00, or both empty for none.

    Returns:
        Minutes of the day, over midnight if the second is not the later.

    Raises:
        BadWish: one is missing or no time, or they are longer than ten hours.
    """
    if not start and not end:
        return None
    begins, ends = _minute(start, "quiet_from"), _minute(end, "quiet_to")
    if clock.quiet_minutes(begins, ends) > clock.LONGEST_QUIET:
        raise BadWish("Quiet hours are at most ten hours a day.", field="quiet_to")
    return begins, ends


def _minute(text: str, field: str) -> int:
    found = _WALL.fullmatch(text)
    if not found:
        raise BadWish(
            "“%(text)s” is not a time like 23:00; give both times, or none.", field=field, text=shown(text)
        )
    return int(found[1]) * 60 + int(found[2])
