"""Characters in what people type: which cannot be seen, which look alike, and which make a link.

All checks of names, titles and handles ask here, so that two texts that look the same are the same everywhere.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import resources

import idna.core
import regex
from markupsafe import escape
from publicsuffixlist import PublicSuffixList

MOST_MARKS = 4
"""Marks that may stand on one letter: Tibetan, and Hebrew with points and accents, need this many."""
_DROPPED = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\u2800\uFFFC\U0001D159\U00013441\U00013442\U00016FE4]"
)
"""What is not drawn, by Unicode's property, and the few that it leaves out although they are drawn as a blank."""
_UNSEEN = regex.compile(rf"[\p{{C}}\p{{Zl}}\p{{Zp}}]|{_DROPPED.pattern}")
_NEEDED = regex.compile(
    # Emoji: joined ones, those with a variation selector, and flags of parts of a country.
    r"(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)\u200D(?=\p{Extended_Pictographic})"
    r"|(?<=\p{Emoji})[\uFE0E\uFE0F]|(?<=\U0001F3F4[\U000E0030-\U000E007A]*)[\U000E0030-\U000E007A](?=[\U000E0030-\U000E007F])"
    r"|(?<=\U0001F3F4[\U000E0030-\U000E007A]+)\U000E007F"
    # Variants of Mongolian letters and of Chinese characters.
    r"|(?<=\p{Script=Mongolian})[\u180B-\u180F]|(?<=\p{Script=Han})[\uFE00-\uFE0F\U000E0100-\U000E01EF]"
)
_MARKS = regex.compile(
    rf"(?:^|\s)[\p{{Mn}}\p{{Me}}]|[\p{{Mn}}\p{{Me}}]{{{MOST_MARKS + 1}}}"
    r"|[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Common}][\p{Mn}\p{Me}]{3}"
)
"""More marks than that; on letters of these scripts, two at most, besides the composed ones."""
_ISOLATE, _END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = regex.compile(r"[\p{Bidi_Class=R}\p{Bidi_Class=AL}\p{Bidi_Class=AN}]")
_VIRAMA = 9

_LINK = regex.compile(
    r"://|//|@|\bwww\.|\bxn--|\d+(?:\.\d+){3}|\w\.[^\W\d_]{2,}[\w.-]*[/:?#]\w", regex.IGNORECASE
)
_LABEL = regex.compile(r"(?<=\S\.)[^\W\d_]{2,}")
_NOT_DELEGATED = {"example", "internal", "invalid", "local", "localhost", "onion", "test"}
"""Domains that are set aside for special uses, which the public list leaves out."""
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")

_ALIKE = str.maketrans("oli_s", "011-5")
"""What people confuse besides, in lower case."""
_LETTER = regex.compile(
    "(?:LATIN LETTER SMALL CAPITAL|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER"
    "|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])"
)
"""Names of characters that are read as a capital, although Unicode's table leaves them out."""
_CAPITALS = (*range(0x1D00, 0x1D23), *range(0x250, 0x2B0), *range(0xA730, 0xA7FF), *range(0x1F150, 0x1F200))
_EDGES = regex.compile(r"^[\p{P}\s]+|[\p{P}\s]+$")
"""What a name may begin or end with without being another: "Bob." is Bob."""


class Name(str):
    """A name that is written from right to left: pages and emails keep its order apart from the text around it."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return it for a page."""
        return f"<bdi>{escape(str(self))}</bdi>"


def shown(name: str) -> str:
    """Return a name as pages show it: one that is written from right to left is isolated there."""
    return name if name.isascii() or not _RIGHT_TO_LEFT.search(name) else Name(name)


def isolated(name: str) -> str:
    """Return a name for plain text: one that is written from right to left between the characters that isolate it."""
    return f"{_ISOLATE}{name}{_END}" if isinstance(shown(name), Name) else name


def isolate_in_text(html: str) -> str:
    """Return HTML with the characters that isolate names in place of the elements that do."""
    return html.replace("<bdi>", _ISOLATE).replace("</bdi>", _END)


def without_isolates(text: str) -> str:
    """Return a text without the characters that isolate names in plain text, which come along when one is copied."""
    return text.replace(_ISOLATE, "").replace(_END, "")


def is_drawn(text: str, at: int) -> bool:
    """Whether a character of a text can be seen, or something near it needs it."""
    return (
        (text[at].isascii() and text[at].isprintable()) or not _UNSEEN.match(text, at) or _is_needed(text, at)
    )


def hides_something(text: str) -> bool:
    """Whether a text has characters that cannot be seen where no script and no emoji needs them.

    Joiners are fine where IDNA's rules for them hold, and on both sides of a virama, as Bengali has them.
    """
    return any(not _is_needed(text, found.start()) for found in _UNSEEN.finditer(text))


def _is_needed(text: str, at: int) -> bool:
    if _NEEDED.match(text, at):
        return True
    if text[at] not in "\u200c\u200d" or at == 0:
        return False
    around = text[max(0, at - 8) : at + 9]
    sides = (text[at - 1], text[at + 1 : at + 2] or " ")
    if text[at] == "\u200d":
        return any(unicodedata.combining(side) == _VIRAMA for side in sides)
    return all(unicodedata.name(side, "") for side in sides) and idna.core.valid_contextj(around, min(8, at))


def is_overloaded(text: str) -> bool:
    """Whether a text, in NFC, has more marks on a letter than writing needs, or a mark without a letter."""
    return _MARKS.search(text) is not None


def has_link(text: str) -> bool:
    """Whether mail programs may make a link or an address of a part of a text.

    A dot makes one only before the name of a top-level domain, so St.John is none.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_DOTS)
    if _LINK.search(plain):
        return True
    return any(_is_top_level(label.lower()) for label in _LABEL.findall(plain))


def _is_top_level(label: str) -> bool:
    return label in _NOT_DELEGATED or _suffixes().publicsuffix(label) is not None


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False)


def skeleton(text: str) -> str:
    """Return what is equal for texts that look alike, in any letter case (Unicode Technical Standard #39).

    Besides, i, l and 1 are alike, and s and 5; other letters keep the case that looks like something else: В is B.
    """
    plain = _DROPPED.sub("", unicodedata.normalize("NFKC", text))
    found = _mapped(_mapped(plain).casefold())
    return " ".join(found.casefold().translate(_ALIKE).replace("rn", "m").split())


def _mapped(text: str) -> str:
    kinds = _confusables()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).translate(kinds))


@cache
def _confusables() -> dict[int, str]:
    table = resources.files("server.i18n").joinpath("confusables.txt").read_text("utf-8-sig")
    lines = [line.partition("#")[0].split(";") for line in table.splitlines()]
    found = {
        int(fields[0], 16): "".join(chr(int(code, 16)) for code in fields[1].split())
        for fields in lines
        if len(fields) > 1
    }
    capitals = {
        code: read[1] for code in _CAPITALS if (read := _LETTER.fullmatch(unicodedata.name(chr(code), "")))
    }
    return {code: text.translate(capitals) for code, text in found.items()} | capitals


def look_alike(one: str, other: str) -> bool:
    """Whether two names look the same, whatever punctuation stands around them."""
    return not _bare(one).isdisjoint(_bare(other))


def _bare(text: str) -> set[str]:
    return {_EDGES.sub("", look) or look for look in looks(text)}


def looks(text: str) -> set[str]:
    """Return the skeletons of a text as it is, in small letters, in capitals, and before its letters are normalised.

    Here, vv is w; not in skeletons, which handles are stored with.
    """
    forms = (text, text.casefold(), text.upper(), _mapped(_DROPPED.sub("", text)))
    return {skeleton(form).replace("vv", "w") for form in forms}
