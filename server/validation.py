"""Checks and normalisation of input: names, addresses, times, bots and cuts of the deck."""

from __future__ import annotations

import csv
import itertools
import re
import unicodedata
import zoneinfo
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import email_validator
import idna
from email_validator import EmailNotValidError, validate_email

from byzanz import chance
from byzanz.bots import BOTS
from byzanz.games import latest
from byzanz.rules import Rules
from server import config, i18n
from server.errors import InvalidInput, InvalidLines, Refused
from server.i18n import N_, characters

LONGEST_NAME = 40
LONGEST_MESSAGE = 200
LONGEST_ADDRESS = 254
SHORTEST_ALLOWANCE = 10 * 60
LONGEST_ALLOWANCE = 30 * 24 * 3600
"""Seconds for a decision: from ten minutes to thirty days."""

email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()  # a network of its own has mail at .local or .test

LONGEST_LINE = 20_000
"""Characters in a line of a list of people."""
MOST_WRONG = 10
"""Of so many wrong lines of a list it is told what is wrong."""
_NO_ADDRESS = N_("“%(address)s” is not an email address like ann@example.org.")
_APART = r"\s<>()\[\],;:?\"“”„«»‘‚‹›|@\\"
_HOST = rf"[^{_APART}/'’`!…*&+=#$%^{{}}~]"
_ADDRESS = re.compile(
    r"(?P<open><)\s*(?P<closed>[^<>]*)>"
    rf"|(?P<bare>(?:mailto:)?(?![/'’`*&+=!…])[^{_APART}]{{1,64}}@{_HOST}{{0,254}}(?<!\.)(?:\?[^\s<>,;()]*)?)",
    re.IGNORECASE,
)
_TWICE = re.compile(
    rf"(?<![^{_APART}])([^{_APART}]{{1,64}}@[^{_APART}]{{1,254}})<mailto:\1[^<>]*>", re.IGNORECASE
)
"""An address beside its own link, as Outlook copies it."""
_AFTER = re.compile(r"\s*\(([^()<>@]*)\)")
"""A name, or a remark, in brackets after an address."""
_AND = re.compile(r"[\s,;]*(?:and|und|en|&|\+|/)(?=[\s\"'<]|$)")
"""What joins the last two of a list."""
_STAMP = r"\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s+\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?m\.?)?\]?\s*(?:[-–]\s+)?"
_BEFORE = re.compile(
    rf"^[\s>]*(?:{_STAMP}|[-*+•·‣◦▪–—☐☑☒✓✔]+\s+(?:\[[ x]?\]\s+)?|[(#]?\d{{1,3}}[.:)\]]\s*|#\d{{1,3}}\s+|[a-z]\)\s+)?"
    r"(?:(?!mailto)[^\W\d_]{1,12}\s?:\s*)?",
    re.IGNORECASE,
)
"""A bullet or a number before an item, the time of a chat's message, marks of a quotation, and the name of a header."""
_MAIL = re.compile(r"\be?-?mail", re.IGNORECASE)
_ONLY_MAIL = re.compile(r"e?-?mail(?:[ -]?address(?:es)?|-?adressen?|adres(?:sen)?|s)?", re.IGNORECASE)
_AROUND = " \t,;:|\"'“”„‟‘’‚«»()[]"
"""What stands around names and addresses and is no part of them."""
_DASHES = "-–—=+*&/\\☐☑☒✓✔"
_TEXT = re.compile(r"\w|[,;]")
_STRANGE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_WIDE = str.maketrans("，、،﹐；؛﹔＜＞＠：\u00a0", ",,,,;;;<>@: ")


class Guest(NamedTuple):
    """An invited person: name and email address, as typed or validated."""

    name: str
    address: str


def whole_number(text: str, most: int, least: int = 0) -> int | None:
    """Return the number that a text of up to nine digits gives; None for other texts, or outside `least` to `most`."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    number = int(text)
    return number if least <= number <= most else None


def excerpt(text: str) -> str:
    """Return the start of a typed text, printable, to be quoted in an error message."""
    return "".join(char if char.isprintable() else "�" for char in text.strip()[:80])


# fmt: off
SPEAKERS = (
    "admin", "administratie", "administration", "administrator", "administratoren", "administrators",
    "autopiloot", "autopilot", "beheer", "beheerder", "beheerders", "bot", "bots", "computer", "computers", "du",
    "ehemaliger spieler", "everybody", "former player", "free", "frei", "gastgeber", "gastgeberin", "iedereen",
    "jij", "mailer-daemon", "mod", "moderatie", "moderation", "moderator", "moderatoren", "moderatorin",
    "moderatorinnen", "moderators", "mods", "niemand", "no-reply", "nobody", "noreply", "operator", "organisator",
    "organisatoren", "organiser", "organisers", "organizer", "organizers", "oud-speler", "postmaster", "server",
    "spelleider", "spelleiding", "spielleiter", "spielleitung", "staff", "support", "systeem", "system",
    "verwaltung", "voormalige speler", "vrij", "webmaster", "you",
)
"""Words, in all languages of the pages, that say who speaks there: the server, its staff, the reader, nobody."""
# fmt: on
_ARTICLE = re.compile(r"^(?:the|a|de|het|een|der|die|das|ein|eine) ", re.IGNORECASE)
_OFFICE = ("admin", "administrator", "beheerder", "moderator", "moderation", "moderatie")
"""What makes any name one of the staff's as a word of it."""


def clean_name(text: str, field: str = "name") -> str:
    """Validate the name of a person: 1 to 40 characters and no link, safe in pages and mail headers.

    Args:
        text: as typed; runs of whitespace are collapsed.
        field: the form field, for the error.

    Raises:
        InvalidInput: the name is empty, too long, has invisible characters, looks like a web or email address, or
            sounds as if the server, its staff or a bot were speaking.
    """
    name = _clean_line(text, field)
    if _sounds_official(name):
        raise InvalidInput("The name “%(name)s” is reserved. Choose another name.", field=field, name=name)
    return name


def clean_title(text: str, field: str = "title") -> str:
    """Validate the name of a game, as `clean_name` does; it may contain the names of the server and of its parts.

    Raises:
        InvalidInput: as in `clean_name`.
    """
    title = _clean_line(text, field)
    if not _reserved(SPEAKERS).isdisjoint(_cores(title)):
        raise InvalidInput("The name “%(name)s” is reserved. Choose another name.", field=field, name=title)
    return title


def _clean_line(text: str, field: str) -> str:
    text = characters.without_isolates(text)
    if characters.hides_something(text):
        raise InvalidInput("Names cannot contain control or invisible characters.", field=field)
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not any(unicodedata.category(char)[0] in "LNPSC" for char in name):
        raise InvalidInput("Enter a name.", field=field)
    if characters.is_overloaded(name):
        raise InvalidInput("Names cannot have so many accents on one letter.", field=field)
    if len(name) > LONGEST_NAME:
        raise InvalidInput(
            "Names have at most %(most)s characters; this one has %(length)s.",
            field=field,
            most=LONGEST_NAME,
            length=len(name),
        )
    if characters.has_link(name):
        raise InvalidInput(
            "“%(name)s” looks like a web or email address. Put a space after each dot.",
            field=field,
            name=name,
        )
    return name


def _sounds_official(name: str) -> bool:
    """Whether a name, or a part of it in brackets or beside a comma or a dash, is reserved words or a bot's label."""
    reserved = _reserved(
        (*SPEAKERS, "team", *(f"{kind} bot" for kind in BOTS), *(rules.title for rules in latest()))
    )
    parts = [name, *re.split(r"[^\w\s.’']+|_", name)]
    words = [_cores(word) for word in name.split()]
    return (
        any(not reserved.isdisjoint(_cores(part)) for part in parts)
        or all(not reserved.isdisjoint(word) for word in words)
        or any(not _reserved(_OFFICE).isdisjoint(word) for word in words)
    )


@cache
def _reserved(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*map(_cores, words))


def _cores(text: str) -> set[str]:
    """Return the skeletons of the letters and digits, without an article before or a number after them."""
    plain = unicodedata.normalize("NFKC", _ARTICLE.sub("", text.strip(), count=1)).rstrip("0123456789 ")
    found = {"".join(filter(str.isalnum, look)) for look in characters.looks(plain)}
    return found - {""}


def clean_message(text: str, field: str = "message") -> str:
    """Validate a personal line, which may be empty: one line without a link, safe in pages and mails.

    Raises:
        InvalidInput: it is too long, has invisible characters, or looks like it holds a web or email address.
    """
    line = " ".join(unicodedata.normalize("NFC", characters.without_isolates(text)).split())
    if (
        len(line) > LONGEST_MESSAGE
        or characters.hides_something(line)
        or characters.is_overloaded(line)
        or characters.has_link(line)
    ):
        raise InvalidInput(
            "A personal line has at most %(most)s characters and no web or email address. Put a space after each dot.",
            field=field,
            most=LONGEST_MESSAGE,
        )
    return line


def clean_address(text: str, field: str = "address") -> str:
    """Validate an email address and return it as it is stored: lower case, its domain in ASCII.

    Args:
        text: as typed; surrounding blanks are dropped.
        field: the form field, for the error.

    Raises:
        InvalidInput: it is not an address that mail can be sent to, or mail programs disagree where to send it.
    """
    local, at, domain = text.strip().rpartition("@")
    try:
        host = ascii_domain(domain[: LONGEST_ADDRESS + 1]).lower()
        # It would decode Punycode, and refuse the joiners in Sinhala and Persian names.
        plain = re.sub(r"(?<=\w)--(?=[\w-])", "00", host)
        validate_email(f"{local}{at}{plain}", allow_smtputf8=False, strict=True, check_deliverability=False)
    except (UnicodeError, EmailNotValidError):
        raise InvalidInput(_NO_ADDRESS, field=field, address=excerpt(text)) from None
    _check_unambiguous(local, domain, host, field)
    return f"{local}@{host}".lower()


def ascii_domain(domain: str) -> str:
    """Return a domain in ASCII as IDNA 2008 reads it, after the mapping of UTS 46.

    Raises:
        UnicodeError: it has no such form.
    """
    # Python's own codec reads by IDNA 2003, in which straße.de is strasse.de: another owner's domain.
    return domain if domain.isascii() else idna.encode(domain, uts46=True).decode()


def _check_unambiguous(local: str, domain: str, host: str, field: str) -> None:
    """Check that older mail programs, which read domains by IDNA 2003, would send to the same one."""
    if domain.isascii():
        return
    try:
        older = domain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return
    if older != host:
        raise InvalidInput(
            "“%(domain)s” can mean two domains. Enter %(exact)s for the domain as you wrote it, or %(older)s.",
            field=field,
            domain=excerpt(domain),
            exact=f"{local}@{host}",
            older=f"{local}@{older}",
        )


def parse_guests(text: str, field: str = "players") -> tuple[Guest, ...]:
    """Parse a list of people, as typed or as mail programs, address books and tables copy it.

    On each line stand `Name <address>`, `Name address`, `name,address` or addresses alone; commas, semicolons or blanks
    separate several. People without a name get one made from their address.

    Raises:
        InvalidInput: the only line is none of these; the message quotes it. InvalidLines: one of several, or more.
    """
    found: list[Guest] = []
    wrong: list[tuple[int, Refused]] = []
    lines = _lines(text)
    for number, line in lines:
        try:
            found += _guests_of(line, field)
        except InvalidInput as why:
            wrong.append((number, why))
    if wrong and len(lines) == 1:
        raise wrong[0][1]
    if wrong:
        raise InvalidLines(wrong[:MOST_WRONG], field=field)
    return tuple(found)


def parse_guest(text: str, field: str = "players") -> Guest:
    """Parse one person, as in a list of them.

    Raises:
        InvalidInput: it is nobody, or several.
    """
    found = parse_guests(text, field)
    if len(found) != 1:
        raise InvalidInput(_NO_ADDRESS, field=field, address=excerpt(text))
    return found[0]


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines with their numbers, without what mail programs put before and around them.

    A line that begins with an address in angle brackets continues one without any; a heading of columns is left out.
    """
    found: list[tuple[int, str]] = []
    for number, line in enumerate(_STRANGE.sub("", text).translate(_WIDE).splitlines(), 1):
        plain = _BEFORE.sub("", _TWICE.sub(r"\1", line) if len(line) <= LONGEST_LINE else line).strip()
        if plain.startswith("<") and found and "@" not in found[-1][1]:
            found[-1] = (found[-1][0], f"{found[-1][1]} {plain}")
        elif re.search(r"[^\s,;|:_=-]", plain) and not (not found and _is_heading(plain)):
            found.append((number, plain))
    return found


def _is_heading(line: str) -> bool:
    """Whether a line names the columns of a table."""
    columns = re.search("[,;\t|]", line) and _MAIL.search(line)
    return not re.search("[@<>]", line) and bool(columns or _ONLY_MAIL.fullmatch(line))


def _guests_of(line: str, field: str) -> list[Guest]:
    """Return the people on a line."""
    column = _from_columns(line) if len(line) <= LONGEST_LINE else None
    if column is not None:
        return [_guest(*column, field)]
    parts = [part for part in line.split(";") if part.strip()]
    if (
        len(parts) > 1
        and len(line) <= LONGEST_LINE
        and all(len(_ADDRESS.findall(part)) == 1 for part in parts)
    ):
        return [guest for part in parts for guest in _guests_of(part, field)]
    found, name, at = [], "", 0
    addresses = list(_ADDRESS.finditer(line))
    if not addresses or len(line) > LONGEST_LINE:
        raise InvalidInput(_NO_ADDRESS, field=field, address=excerpt(line))
    for address, following in itertools.zip_longest(addresses, addresses[1:]):
        between = line[at : address.start()]
        name += _AND.sub("", between, count=1) if at and _AND.match(between) else between
        at = address.end()
        if (
            following
            and (_same(address, following) or (following["open"] and not address["open"]))
            and not _TEXT.search(line[at : following.start()])
        ):
            continue  # the name of the next is an address, its own in most cases
        if after := _AFTER.match(line, at):
            at, name = after.end(), name if _TEXT.search(name) else after[1]
        if address["bare"] and not _is_text(name):
            name = ""  # the number of an item
        found.append(_guest(name, address["bare"] or address["closed"], field))
        name = ""
    rest = line[at:].strip(f"{_AROUND}.!…")
    if found and not _is_text(rest) and addresses[-1]["bare"] and ">" not in rest:
        rest = ""
    if rest and (len(found) > 1 or "<" in line or line[: addresses[0].start()].strip(_AROUND)):
        raise InvalidInput(_NO_ADDRESS, field=field, address=excerpt(line))
    return [_guest(rest, found[0].address, field)] if rest else found


def _is_text(name: str) -> bool:
    """Whether a name is more than numbers and punctuation."""
    return any(sign.isalpha() or unicodedata.category(sign) == "So" for sign in name)


def _same(one: re.Match[str], other: re.Match[str]) -> bool:
    return _bare(one[0].strip("<>")).lower() == _bare(other[0].strip("<>")).lower()


def _from_columns(line: str) -> tuple[str, str] | None:
    """Return name and address of a line of a table; None if it is none."""
    separator = next((sign for sign in "\t;," if sign in line), None)
    if separator is None:
        return None
    fields = [
        each.strip(_AROUND)
        for each in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    ]
    places = [place for place, each in enumerate(fields) if _ADDRESS.fullmatch(each)]
    if len(places) != 1 or "<" in line or sum("@" in each for each in fields) > 1:
        return None
    before, after = (
        [each for each in part if re.search(r"[^\W\d_]", each)]
        for part in (fields[: places[0]], fields[places[0] + 1 :])
    )
    name = " ".join(before) if len(before) <= 2 else before[0]
    return name or next(iter(after), ""), fields[places[0]]


def _bare(address: str) -> str:
    """Return an address without what makes a link of it."""
    return re.sub(r"^mailto:|\?.*$", "", address.strip(), flags=re.IGNORECASE)


def _guest(name: str, address: str, field: str) -> Guest:
    clean = clean_address(_bare(address), field)
    name = " ".join(re.sub(r"\\(.)", r"\1", name).replace('""', '"').strip(_AROUND + _DASHES).split())
    name += ")" * (name.count("(") > name.count(")"))
    if re.search("[<>]|@", name):
        raise InvalidInput(_NO_ADDRESS, field=field, address=excerpt(f"{name} {address}"))
    return Guest(clean_name(name, field) if name else name_from_address(clean), clean)


def name_from_address(address: str) -> str:
    """Derive a name from an address: `ann.smith@example.org` becomes Ann Smith."""
    words = re.split(r"[^a-z0-9]+", address.partition("@")[0].partition("+")[0])
    name = " ".join(word.capitalize() for word in words if word)[:LONGEST_NAME].strip()
    return name if name and not _sounds_official(name) else "Guest"


def clean_allowance(seconds: int, field: str = "allowance") -> int:
    """Check the seconds for a decision.

    Raises:
        InvalidInput: fewer than ten minutes or more than thirty days.
    """
    if not SHORTEST_ALLOWANCE <= seconds <= LONGEST_ALLOWANCE:
        raise InvalidInput("The time per move must be between 10 minutes and 30 days.", field=field)
    return seconds


@cache
def time_zones() -> tuple[str, ...]:
    """Return the names of all known time zones."""
    return tuple(sorted(zoneinfo.available_timezones() - {"localtime", "Factory"}))


def clean_zone(name: str, field: str = "time_zone") -> str:
    """Check the name of a time zone.

    Raises:
        InvalidInput: it is unknown.
    """
    if name not in time_zones() or not i18n.known_zone(name):
        raise InvalidInput(
            "“%(name)s” is not a time zone like Europe/Amsterdam or UTC.", field=field, name=excerpt(name)
        )
    return name


def clean_cut(text: str, field: str = "cut") -> str:
    """Check a cut of the deck and return it exactly as typed (docs/formats.md §3).

    Raises:
        InvalidInput: it is longer than 64 characters or has control characters.
    """
    try:
        return chance.clean_cut(text)
    except chance.BadCut as error:
        raise InvalidInput(error.message, field=field, **error.places) from None


def clean_bot(kind: str, field: str = "bots") -> str:
    """Check the name of a kind of bot.

    Raises:
        InvalidInput: it is unknown.
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


def game_rules(slug: str, among: Sequence[Rules[Any, Any]] | None = None) -> Rules[Any, Any]:
    """Return the latest rules of a game among these; among those that can be started if None.

    Raises:
        InvalidInput: the game is not among them.
    """
    games = {rules.slug: rules for rules in (config.offered_games() if among is None else among)}
    if slug not in games:
        raise InvalidInput(
            "There is no game “%(slug)s”; the games are: %(known)s.",
            field="game",
            slug=excerpt(slug),
            known=", ".join(games),
        )
    return games[slug]


def check_player_count(rules: Rules[Any, Any], count: int, field: str = "players") -> None:
    """Check that a game can be played with this many players.

    Raises:
        InvalidInput: there are too few or too many.
    """
    if count not in rules.seats:
        raise InvalidInput(
            "%(title)s needs %(fewest)s to %(most)s players; this table has %(count)s.",
            field=field,
            title=rules.title,
            fewest=rules.seats[0],
            most=rules.seats[-1],
            count=count,
        )


def check_distinct_addresses(guests: Sequence[Guest], field: str = "players") -> None:
    """Check that no address is used twice at a table.

    Raises:
        InvalidInput: the message names the address that is.
    """
    seen: set[str] = set()
    for guest in guests:
        if guest.address in seen:
            raise InvalidInput("%(address)s is listed twice.", field=field, address=guest.address)
        seen.add(guest.address)


def is_taken(name: str, taken: Iterable[str]) -> bool:
    """Whether somebody at the table has a name that looks like this one."""
    return any(characters.look_alike(name, other) for other in taken)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number added if it is taken at the table."""
    used = list(taken)
    numbered = (f"{name[: LONGEST_NAME - 3].strip()} {n}" for n in itertools.count(2))
    return next(
        choice
        for choice in (name, *itertools.islice(numbered, 3 * len(used) + 3))
        if not is_taken(choice, used)
    )
