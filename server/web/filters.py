"""Template filters for lists, hours, days and numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from html import unescape

from babel.dates import format_skeleton, get_day_names
from babel.lists import format_list
from babel.numbers import format_decimal, format_percent
from flask import Flask
from flask_babel import format_date, get_locale, gettext
from markupsafe import Markup, escape

from byzanz import record
from server import i18n
from server.community.talk import FORMER
from server.config import zones
from server.i18n import characters
from server.i18n.characters import Name
from server.play import history
from server.play.clock import Span

_TAGS = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)


def init_app(app: Flask) -> None:
    """Register the filters."""
    app.jinja_env.globals["zone_of"] = zones.zone_of
    app.jinja_env.filters |= {
        "as_text": as_text,
        "listed": listed,
        "weekday": weekday,
        "weekdays": weekdays,
        "wall": time_of_day,
        "dates": date_range,
        "day": day,
        "month": month,
        "decimal": decimal,
        "percent": percent,
        "former": former_names,
        "player": player_name,
        "then": as_of_then,
    }


def as_text(html: object) -> str:
    """Return the text of HTML for the text part of an email: without tags, its characters unescaped, line by line.

    Unlike Jinja's `striptags` it keeps lines and blanks, so that a board stays a board.
    """
    given = html.__html__() if hasattr(html, "__html__") else str(html)
    lines = [line.rstrip() for line in unescape(_TAGS.sub("", given)).splitlines()]
    text = "\n".join(lines).strip("\n")
    return text if "\n" in text else text.strip()


def listed(texts: Sequence[str]) -> str:
    """Return texts as a list in words: `Ann, Bob and Carol`."""
    language = i18n.current_language()
    isolated = any(isinstance(text, Name) for text in texts)
    found = format_list(
        [str(escape(text)) for text in texts] if isolated else texts,
        locale="en_GB" if language == "en" else language,
    )
    return Markup(found) if isolated else found  # noqa: S704 - its parts are escaped


def former_names(
    names: Sequence[str], seats: Collection[int], known: Mapping[int, str] | None = None
) -> Sequence[str]:
    """Return the names at a table, by seat, as of a time when these seats had other players.

    Args:
        known: the names of these by seat, for moderators; to all others they are former players.
    """
    former, told = player_name(FORMER), known or {}
    return tuple(told.get(seat, former) if seat in seats else name for seat, name in enumerate(names))


def player_name(name: str) -> str:
    """Return a name at a table as its reader sees it: players whose names nobody has kept in the reader's language."""
    return str(gettext("Former player")) if name == FORMER else characters.shown(name)


def as_of_then(
    entries: Sequence[record.Entry], names: Sequence[str], me: int | None
) -> list[tuple[record.Entry, Sequence[str], int | None]]:
    """Return the newest entries of a log, each with the names of that time and the reader's seat, if it was theirs."""
    former = history.taken_over(entries)
    whose = [former.get(entry.seq, frozenset[int]()) for entry in entries]
    return [
        (entry, former_names(names, seats), None if me in seats else me)
        for entry, seats in zip(entries, whose, strict=True)
    ]


def weekday(number: str) -> str:
    """Return the name of a weekday from its ISO number: `6` is Saturday."""
    return str(get_day_names("wide", locale=get_locale() or "en")[int(number) - 1])


def weekdays(numbers: str) -> str:
    """Return the names of several weekdays: `67` is Saturday and Sunday."""
    return listed([weekday(number) for number in numbers])


def time_of_day(minute: int) -> str:
    """Format a minute of the day: 23:00."""
    return f"{minute // 60:02}:{minute % 60:02}"


def date_range(span: Span, zone: str) -> str:
    """Format the first and the last day of an absence, in a time zone."""
    first, last = days_of(span, zone)
    texts = format_date(first, i18n.day_format(first)), format_date(last, i18n.day_format(last))
    return texts[0] if first == last else f"{texts[0]} – {texts[1]}"


def day(at: datetime, zone: str, now: datetime | None = None) -> str:
    """Format the day of a moment in a time zone: `18 Nov 2026`.

    Args:
        now: leave out the year of days that are near: `18 Nov`.
    """
    local = at.astimezone(zones.get(zone))
    near = now is not None and abs(at - now) < i18n.SAME_YEAR
    form = i18n.day_format() if near else f"{i18n.day_format()} y"
    return str(format_date(local, form, rebase=False))


def month(at: datetime) -> str:
    """Format the month of a moment: March 2026."""
    return str(format_skeleton("yMMMM", at, locale=get_locale() or "en"))


def decimal(value: float, digits: int) -> str:
    """Format a number with this many digits after the decimal point or comma."""
    return str(format_decimal(value, format=f"0.{'0' * digits}", locale=get_locale() or "en"))


def percent(value: int) -> str:
    """Format a whole percentage: `99%`, in German `99 %`."""
    return str(format_percent(value / 100, locale=get_locale() or "en"))


def days_of(span: Span, zone: str) -> tuple[date, date]:
    """Return the first and the last day that a span touches."""
    here = zones.get(zone)
    return span[0].astimezone(here).date(), (span[1] - timedelta(seconds=1)).astimezone(here).date()
