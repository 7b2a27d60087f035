"""The time control of a table (allowance, bank, days off) and a person's own hours, validated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from server.errors import InvalidInput
from server.play import clock
from server.store.models import GameSettings, Person
from server.validation import clean_allowance, clean_zone, excerpt

HOUR = 3600
LONGEST_BANK = 30 * 24 * HOUR
"""Seconds beyond the allowances, for a whole game."""
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Weekdays as the command line names them; the first is ISO number 1."""
_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(:00)?")


class TimeControl(NamedTuple):
    """The time control of a table.

    Args:
        allowance: seconds for each decision.
        bank: seconds beyond the allowances that each seat has for the whole game.
        days_off: weekdays that no clock counts, as ISO numbers, ascending: `67` is the weekend.
    """

    allowance: int
    bank: int = 0
    days_off: str = ""

    @classmethod
    def of(cls, chosen: GameSettings) -> TimeControl:
        """Return the time control among the settings of a game."""
        return cls(chosen.allowance, chosen.bank, chosen.days_off)

    def gives_at_least(self, other: TimeControl) -> bool:
        """Return whether nobody has less time with this than with another."""
        longer = self.allowance >= other.allowance and self.bank >= other.bank
        return longer and set(self.days_off) >= set(other.days_off)


ONE_DAY = TimeControl(24 * HOUR)
"""A day for each decision, and no bank."""
PRESETS = {
    "relaxed": TimeControl(48 * HOUR, 96 * HOUR, "67"),
    "daily": TimeControl(24 * HOUR, 48 * HOUR),
    "evening": TimeControl(2 * HOUR, 4 * HOUR),
}
"""Time controls that an organiser may choose by name."""


def default_bank(allowance: int) -> int:
    """Return the default bank for an allowance: twice as long."""
    return min(2 * allowance, LONGEST_BANK)


def clean_time_control(pace: TimeControl) -> TimeControl:
    """Validate a time control.

    Raises:
        InvalidInput: allowance or bank out of bounds, not weekdays, or too many of them.
    """
    if not 0 <= pace.bank <= LONGEST_BANK:
        raise InvalidInput("The time bank can hold at most 30 days.", field="bank")
    if not set(pace.days_off) <= set("1234567"):
        raise InvalidInput(
            "“%(text)s” are not days of the week.", field="days_off", text=excerpt(pace.days_off)
        )
    days_off = "".join(sorted(set(pace.days_off)))
    if len(days_off) > clock.MOST_DAYS_OFF:
        raise InvalidInput("At least two days of the week must count.", field="days_off")
    return TimeControl(clean_allowance(pace.allowance), pace.bank, days_off)


def parse_weekdays(names: Sequence[str]) -> str:
    """Return the ISO numbers of weekdays named `mon` to `sun`.

    Raises:
        InvalidInput: one of them is not a weekday.
    """
    for name in names:
        if name not in WEEKDAYS:
            raise InvalidInput(
                "“%(name)s” is not a day of the week. Use %(days)s.",
                field="days_off",
                name=excerpt(name),
                days=", ".join(WEEKDAYS),
            )
    return "".join(sorted({str(WEEKDAYS.index(name) + 1) for name in names}))


class OwnHours(NamedTuple):
    """A person's time zone and quiet hours, None for what they do not name."""

    zone: str | None = None
    quiet: tuple[int, int] | None = None

    def set_for(self, person: Person, now: datetime) -> None:
        """Make them the person's."""
        person.time_zone = self.zone
        person.quiet_from, person.quiet_to = self.quiet or (None, None)
        person.digest_at = now

    def propose_to(self, person: Person, now: datetime) -> None:
        """Make them the person's unless they have chosen a time zone or quiet hours."""
        if not has_hours(person):
            self.set_for(person, now)


NO_HOURS = OwnHours()


def has_hours(person: Person) -> bool:
    """Return whether a person has chosen a time zone or quiet hours."""
    return person.time_zone is not None or person.quiet_from is not None


def parse_own_hours(form: Mapping[str, str]) -> OwnHours:
    """Parse a time zone and quiet hours from the fields `time_zone`, `quiet_from` and `quiet_to` of a form.

    Raises:
        InvalidInput: the zone is unknown, or the hours are incomplete, invalid or longer than ten.
    """
    zone = form.get("time_zone", "")
    quiet = parse_quiet_hours(form.get("quiet_from", ""), form.get("quiet_to", ""))
    return OwnHours(clean_zone(zone) if zone else None, quiet)


def parse_quiet_hours(start: str, end: str) -> tuple[int, int] | None:
    """Parse quiet hours from a form: two times of day such as 23:00, or both empty for none.

    Returns:
        Minutes of the day; over midnight if the second is not the later.

    Raises:
        InvalidInput: one is missing or invalid, or they are longer than ten hours.
    """
    if not start and not end:
        return None
    begins, ends = _minute(start, "quiet_from"), _minute(end, "quiet_to")
    if clock.quiet_minutes(begins, ends) > clock.LONGEST_QUIET:
        raise InvalidInput("Quiet hours can last at most ten hours a day.", field="quiet_to")
    return begins, ends


def _minute(text: str, field: str) -> int:
    found = _TIME_OF_DAY.fullmatch(text)
    if not found:
        raise InvalidInput(
            "“%(text)s” is not a time like 23:00. Enter both times or neither.",
            field=field,
            text=excerpt(text),
        )
    return int(found[1]) * 60 + int(found[2])
