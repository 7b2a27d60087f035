"""What may be asked for when a game is made or a seat taken: names, addresses, times, cuts, each checked."""

from __future__ import annotations

import re
import unicodedata
import zoneinfo
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from byzanz import chance
from byzanz.bots import BOTS
from byzanz.games import rules_of
from byzanz.rules import BadSetup, Rules
from server.errors import InvalidInput

LONGEST_NAME = 40
LONGEST_ADDRESS = 254
SHORTEST_ALLOWANCE = 10 * 60
LONGEST_ALLOWANCE = 30 * 24 * 3600
"""Seconds for a decision: ten minutes to thirty days."""

_DOTS = ".\u3002\uff0e\uff61"
_LINK = re.compile(rf"://|//|www[{_DOTS}]|\S[{_DOTS}][^\W\d_]{{2,}}|\d+([{_DOTS}]\d+){{3}}|@", re.IGNORECASE)
_LOCAL = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*", re.IGNORECASE)
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)", re.IGNORECASE)
_NAME_AND_ADDRESS = re.compile(r"\s*(?P<name>[^<>]*?)\s*<(?P<address>[^<>]*)>\s*")


class Guest(NamedTuple):
    """Somebody who is asked to a table: a name and a mail address, as typed or as checked."""

    name: str
    address: str


def one_line(text: str) -> str:
    """What people wrote, for a header or a sentence: whatever could end the line or hide in it is a blank."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def excerpt(text: str) -> str:
    """What somebody typed, short and harmless enough to be quoted in an error."""
    return "".join(char if char.isprintable() else "�" for char in text.strip()[:80])


def clean_name(text: str, field: str = "name") -> str:
    """A name of a person or a game that can stand in pages and mail headers: 1–40 characters and no link.

    Args:
        text: as typed; blanks around and inside are made single.
        field: the form's field, for the error.

    Raises:
        BadWish: empty, too long, with invisible or control characters, or like a web or mail address.
    """
    if any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in text):
        raise InvalidInput(
            "A name is one line of letters, without control or invisible characters.", field=field
        )
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not any(unicodedata.category(char)[0] in "LNPS" for char in name):
        raise InvalidInput("Please give a name.", field=field)
    if len(name) > LONGEST_NAME:
        raise InvalidInput(
            "A name has at most %(most)s characters; this one has %(length)s.",
            field=field,
            most=LONGEST_NAME,
            length=len(name),
        )
    if _LINK.search(unicodedata.normalize("NFKC", name)):
        raise InvalidInput(
            "“%(name)s” looks like a web or mail address; put a space after each dot.", field=field, name=name
        )
    return name


def clean_address(text: str, field: str = "address") -> str:
    """A mail address as it is kept: lower-case, its domain in ASCII.

    Args:
        text: as typed; blanks around it are dropped.
        field: the form's field, for the error.

    Raises:
        BadWish: it is no address that a mail could be sent to.
    """
    local, _, domain = text.strip().rpartition("@")
    host = _ascii_domain(domain)
    address = f"{local}@{host}".lower()
    if not _LOCAL.fullmatch(local) or len(local) > 64 or not host or len(address) > LONGEST_ADDRESS:
        raise InvalidInput(
            "“%(address)s” is not a mail address like ann@example.org.", field=field, address=excerpt(text)
        )
    return address


def _ascii_domain(domain: str) -> str:
    """A domain of at least two labels in its ASCII form, or nothing if it is none."""
    try:
        host = domain.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
    labels = host.split(".")
    proper = len(labels) > 1 and all(_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()
    return host if proper else ""


def parse_guests(text: str, field: str = "players") -> tuple[Guest, ...]:
    """The people named in a text: a line each, `Name <address>` or an address alone.

    Several may stand in one line with commas or semicolons between them. Who has no name gets one made of the
    address.

    Raises:
        BadWish: a line is neither; it is quoted.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return tuple(parse_guest(part, field) for line in lines for part in _split_guests(line))


def _split_guests(line: str) -> list[str]:
    parts = [part for part in re.split("[,;]", line) if part.strip()]
    return parts if len(parts) > 1 and all("@" in part for part in parts) else [line.strip().rstrip(",;")]


def parse_guest(text: str, field: str = "players") -> Guest:
    """One person: `Name <address>` or an address alone.

    Raises:
        BadWish: it is neither.
    """
    named = _NAME_AND_ADDRESS.fullmatch(text)
    address = clean_address(named["address"] if named else text, field)
    name = named["name"].strip("\"' ") if named else ""
    return Guest(clean_name(name, field) if name else name_from_address(address), address)


def name_from_address(address: str) -> str:
    """A name for somebody of whom only the address is known: `ann.smith@example.org` is Ann Smith."""
    words = re.split(r"[^a-z0-9]+", address.partition("@")[0].partition("+")[0])
    return " ".join(word.capitalize() for word in words if word)[:LONGEST_NAME].strip() or "Guest"


def clean_allowance(seconds: int, field: str = "allowance") -> int:
    """The seconds for a decision.

    Raises:
        BadWish: below ten minutes or above thirty days.
    """
    if not SHORTEST_ALLOWANCE <= seconds <= LONGEST_ALLOWANCE:
        raise InvalidInput("The time for a decision is from 10 minutes to 30 days.", field=field)
    return seconds


@cache
def time_zones() -> tuple[str, ...]:
    """All known time zones, by name."""
    return tuple(sorted(zoneinfo.available_timezones() - {"localtime", "Factory"}))


def clean_zone(name: str, field: str = "time_zone") -> str:
    """The name of a time zone.

    Raises:
        BadWish: nobody knows it.
    """
    if name not in time_zones():
        raise InvalidInput(
            "“%(name)s” is not a time zone like Europe/Amsterdam or UTC.", field=field, name=excerpt(name)
        )
    return name


def clean_cut(text: str, field: str = "cut") -> str:
    """A cut of the deck, exactly as typed (formats.md §3).

    Raises:
        BadWish: longer than 64 characters, or with control characters.
    """
    try:
        return chance.clean_cut(text)
    except chance.BadCut as error:
        raise InvalidInput(error.message, field=field, **error.places) from None


def clean_bot(kind: str, field: str = "bots") -> str:
    """The name of a kind of bot.

    Raises:
        BadWish: there is none of that kind.
    """
    if kind not in BOTS:
        known = ", ".join(sorted(BOTS))
        raise InvalidInput(
            "There is no bot “%(name)s”; the bots are: %(known)s.",
            field=field,
            name=excerpt(kind),
            known=known,
        )
    return kind


def game_rules(slug: str, field: str = "game") -> Rules[Any, Any]:
    """The latest rules of a game.

    Raises:
        BadWish: there is no such game.
    """
    try:
        return rules_of(slug)
    except BadSetup as error:
        raise InvalidInput(error.message, field=field, **error.places) from None


def check_player_count(rules: Rules[Any, Any], count: int, field: str = "players") -> None:
    """Whether a game can be played by so many.

    Raises:
        BadWish: too few or too many.
    """
    if count not in rules.seats:
        raise InvalidInput(
            "%(title)s is for %(fewest)s to %(most)s players; this table has %(count)s.",
            field=field,
            title=rules.title,
            fewest=rules.seats[0],
            most=rules.seats[-1],
            count=count,
        )


def check_distinct_addresses(guests: Sequence[Guest], field: str = "players") -> None:
    """Whether everybody at a table has an address of his own.

    Raises:
        BadWish: the address that stands there twice.
    """
    seen: set[str] = set()
    for guest in guests:
        if guest.address in seen:
            raise InvalidInput("%(address)s is named twice.", field=field, address=guest.address)
        seen.add(guest.address)


def name_key(name: str) -> str:
    """What of a name people tell apart: two names that are equal in this look the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def unique_name(name: str, taken: Iterable[str]) -> str:
    """The name, or the name with a number where somebody at the table is called so already."""
    used = {name_key(other) for other in taken}
    numbered = (f"{name[: LONGEST_NAME - 3].strip()} {n}" for n in range(2, len(used) + 3))
    return next(choice for choice in (name, *numbered) if name_key(choice) not in used)
