"""Finding the lines of a mail that its writer wrote: no quoted text, no greeting, no signature.

Mail clients mark quoted text in many ways and languages (docs/mail-in.md): the words of English, Dutch and German
clients are known here, and a block of headers is known by its shape in any language. Each line is normalised first:
without odd blanks, characters or punctuation that a phone added.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence

MARKER = re.compile(r"##-.{1,200}-##")
"""The line in our own mails above which people write; the text between the signs may be in any language."""
LONGEST_LINE = 1000
"""Characters of a line that are read; no move is as long."""
MOST_LINES_READ = 4000
"""Lines that are read: a mail that quotes a whole thread has some hundreds."""
SAY = re.compile(r"([\W_]*)say(?:\s*:\s*|\s+)(.*\S)", re.IGNORECASE)
"""A line of words to the table; whatever it mentions, it is no signature and begins no quote."""
NARROWEST, WIDEST = 70, 80
"""Characters of a line at which mail programs break the text of their writers."""

_DATED = re.compile(
    r"(?:on|at)\b.{4,300}\bwrote ?:?"
    r"|op\b.{4,300}\b(?:schreef\b.{0,200}|geschreven) ?:"
    r"|am\b.{4,300}\b(?:schrieb\b.{0,200}|geschrieben) ?:",
    re.IGNORECASE,
)
_NAMED_FIRST = re.compile(
    r".{1,200}\bwrote(?: on .{3,80}| at .{3,80})? ?:"
    r"|.{1,200}\bschreef(?: op .{3,80})? ?:"
    r"|.{1,200}\b(?:schrieb(?: am .{3,80})?|hat (?:am|um) .{3,80} geschrieben) ?:",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"[*_\s]*(?:from|sent|date|to|cc|subject|reply-to|van|verzonden|datum|aan|onderwerp|von|gesendet|an|betreff"
    r"|antwort an)[*_]{0,2}[ \t]*:[*_\s]*\S?",
    re.IGNORECASE,
)
_ANY_LABEL = re.compile(r"[*_]{0,2}[^\W\d_](?:[\w .'’-]{0,28}\w)?[*_]{0,2} ?:[*_]{0,2} ?[^\s/:]")
"""A header's name in any language, and the beginning of its value."""
_HAS_ADDRESS = re.compile(r"\S@\S")
_RULE = re.compile(r"[_=*-]{10,}|[_=*-]{3,} ?[^\s_=*-].{1,80}?[_=*-]{2,}")
_FORWARDED = re.compile(
    r"(?:begin forwarded message|anfang der weitergeleiteten nachricht|begin doorgestuurd bericht"
    r"|original message|ursprüngliche nachricht|oorspronkelijk bericht) ?:?",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(
    r"(?:sent|get|gesendet|verstuurd|verzonden|von meine[mr]|vanaf mijn|envoyé|diese (?:nachricht|e-?mail) wurde"
    r"|dit bericht is|outlook|laden sie|holen sie|download|virus-?free|virusvrij|virenfrei)\b.*",
    re.IGNORECASE,
)
_SENT_WITH = re.compile(
    r".{0,60}\b(?:outlook|iphone|ipad|ios|android|galaxy|huawei|xiaomi)\b.{0,60}", re.IGNORECASE
)
"""What a phone or a program adds names it, in whatever language; no move does."""
_SIGNATURE = re.compile(r"[-–—]{1,3}\s*")
_NAMED = r"(?: [\w.'-]{1,20}){0,2}"
_HELLO = re.compile(
    rf"(?:hi|hello|hey|dear|hoi|hallo|dag|beste|hé|goede(?:morgen|middag|navond)|gute[nr] (?:morgen|tag|abend)"
    rf"|good (?:morning|afternoon|evening)|moin|servus|liebe[rs]?|hej(?:san)?|hei|moi|terve|bonjour|salut"
    rf"|hola|buen(?:os|as) (?:d[ií]as|tardes|noches)|ciao|buongiorno|salve|cześć|dzień dobry|witam|olá|oi"
    rf"|bom dia|boa (?:tarde|noite)|ahoj|dobrý den|merhaba|selam|привет|здравствуйте|добрый день){_NAMED}",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:many |vielen |hartelijk |heel erg )?(?:thanks?|thank you|thx|bedankt|dankjewel|dank je|dank u|danke?"
    r"|merci|(?:mange )?tak|takk|tack|gracias|grazie(?: mille)?|dzięki|dziękuję|obrigad[oa]|kiitos|díky"
    r"|děkuji|teşekkürler|спасибо)"
    r"(?: (?:a lot|very much|so much|you|all|again|wel|alvast|schön|sehr|im voraus|in advance|everyone"
    r"|for waiting|a million|en groet(?:en)?)){0,2}",
    re.IGNORECASE,
)
_BYE = re.compile(
    rf"(?:(?:all the )?best(?: wishes| regards)?|(?:kind |warm )?regards|cheers|yours|sincerely|greetings|love"
    rf"|(?:met )?(?:vriendelijke |hartelijke |lieve )?(?:groet(?:en|jes)?|gr)|mvg|vr ?gr|tot ziens|doei|bye"
    rf"|(?:mit |viele |liebe |beste |schöne |herzliche |freundliche[nr]? |mit freundlichen )?(?:grüße[n]?|gruß"
    rf"|gruss|gruesse|grüsse)|mfg|lg|vg|vlg|tschüss|x{{1,3}}|(?:(?:med )?(?:venlig|vennlig|kærlig) )?hilsen"
    rf"|mvh|(?:(?:med )?vänliga )?hälsningar|(?:bien )?cordialement|amicalement|bonne journée"
    rf"|(?:un )?(?:cordial )?saludos?|un abrazo|(?:(?:cordiali|distinti) )?saluti|pozdrawiam|abraços?"
    rf"|(?:com os melhores )?cumprimentos|(?:ystävällisin )?terveisin|s pozdravem|saygılarımla|selamlar"
    rf"|с уважением){_NAMED}",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[-*•·‣▪>]|[0-9]{1,2}[.)])\s+")
_QUOTES = "\"'`´‘’‚‛“”„‟«»‹›*_"


class OwnLine(str):
    """A line of the writer's own, normalised to be read as a move.

    Attributes:
        typed: the line as it was typed.
        joins: whether it may be the rest of the line above, which a mail program has broken.
    """

    __slots__ = ("joins", "typed")
    typed: str
    joins: bool

    def __new__(cls, text: str, typed: str, joins: bool = False) -> OwnLine:
        """Return a line from its normalised text."""
        made = super().__new__(cls, text)
        made.typed, made.joins = typed, joins
        return made


def own_lines(text: str, name: str = "", *, talk: bool = False) -> tuple[OwnLine, ...]:
    """Return the writer's own lines, normalised: those above the quoted text, else those below it.

    Args:
        text: the mail's text as received.
        name: the writer's name: as the last line it is a signature.
        talk: all of it is meant for people, so greetings and thanks are kept, too.
    """
    lines = [line[: LONGEST_LINE + 1] for line in text.split("\n", MOST_LINES_READ)[:MOST_LINES_READ]]
    began = _quote_start(lines)
    above = _without_courtesies(lines[:began], name, talk)
    return above or _without_courtesies(_lines_below(lines[began:]), name, talk)


def normalize_line(line: str) -> str:
    """Normalise a line for parsing: no invisible characters, emoji, bullets, quotes or final punctuation."""
    kept = []
    for char in unicodedata.normalize("NFKC", line):
        kind = unicodedata.category(char)
        if kind == "Pd":
            kept.append("-")
        elif kind == "Cf":
            continue
        elif (
            kind in ("So", "Sk") or kind[0] in "ZC" or char in "\ufe0e\ufe0f"
        ):  # emoji, blanks, unassigned ones
            kept.append(" ")
        else:
            kept.append(char)
    text = " ".join("".join(kept).replace(",", " ").split())
    text = _BULLET.sub("", text, count=1) if _BULLET.match(text) else text
    return text.strip(_QUOTES).rstrip(" .;:!?…").strip(_QUOTES + " ")


def _quote_start(lines: Sequence[str]) -> int:
    """Return the index at which quoted text begins, or the number of lines."""
    for index, line in enumerate(lines):
        text = _visible(line)
        if text.startswith(">") or MARKER.search(text):
            return _attribution_start(lines, index, ours=not text.startswith(">"))
        if SAY.match(text):
            continue
        if text and (_RULE.fullmatch(text) or _FORWARDED.fullmatch(text)):
            return index
        if text and (_attribution(lines, index) or _header_block(lines, index)):
            return index
    return len(lines)


def _visible(line: str) -> str:
    return "".join(char for char in line if unicodedata.category(char) != "Cf").replace("\xa0", " ").strip()


def _attribution(lines: Sequence[str], index: int) -> bool:
    """Whether "On …, Byzanz wrote:" begins here; mail clients wrap it into up to four lines."""
    wrapped = _up_to_colon(lines, index)
    text = " ".join(wrapped)
    if len(text) > 500:
        return False
    if _DATED.fullmatch(text):
        return True
    # Any line could begin “Byzanz … wrote:”, so the last that can does: those above it are the writer's.
    later = (number for number, line in enumerate(wrapped) if number and not line.startswith("<"))
    return _NAMED_FIRST.fullmatch(text) is not None and not any(_attribution(lines, index + n) for n in later)


def _up_to_colon(lines: Sequence[str], index: int) -> list[str]:
    """Return the lines from here to one that ends as an attribution does; empty if none of four does."""
    wrapped: list[str] = []
    for line in lines[index : index + 4]:
        bare = _visible(line)
        if not bare or bare.startswith(">"):
            return []
        wrapped.append(bare)
        if bare.endswith((":", "wrote")):
            return wrapped
    return []


def _header_block(lines: Sequence[str], index: int) -> bool:
    """Whether "From: … Sent: …" begins here, as Outlook and GMX write it above quoted text, in whatever language."""
    labels = [line for line in map(_visible, lines[index : index + 8]) if line][:3]
    if len(labels) > 1 and all(_LABEL.match(line) for line in labels[:2]):
        return True
    headers = len(labels) == 3 and all(_ANY_LABEL.match(line) for line in labels)
    return headers and any(_HAS_ADDRESS.search(line) for line in labels[:2])


def _attribution_start(lines: Sequence[str], index: int, *, ours: bool) -> int:
    """Return the index at which the words that introduce a quote begin, in a language not known here.

    Args:
        ours: the quote is our own marker without a quote sign: the paragraph above it is ours, too.
    """
    last = index
    while last and not _visible(lines[last - 1]):
        last -= 1
    if ours:
        while last and _visible(lines[last - 1]):
            last -= 1
        return last
    if last and _visible(lines[last - 1]).endswith(":"):
        last -= 1
        if last and re.search(r"@|\b[0-9]{4}\b", lines[last - 1]):
            last -= 1
    return last


def _lines_below(lines: Sequence[str]) -> list[str]:
    """Return the lines without a quote sign, below or between those that have one.

    A line squeezed between quoted lines is the wrapped rest of one of them, and not the writer's.
    """
    marked = [line.lstrip().startswith(">") for line in lines]
    if True not in marked:
        return []
    first, last = marked.index(True), len(marked) - 1 - marked[::-1].index(True)
    runs: list[list[str]] = [[]]
    for index in range(first, last + 1):
        if marked[index]:
            runs.append([])
        else:
            runs[-1].append(lines[index])
    between = [line for run in runs if any(not _visible(line) for line in run) for line in run]
    return between + list(lines[last + 1 :])


def _without_courtesies(lines: Sequence[str], name: str, talk: bool) -> tuple[OwnLine, ...]:
    """Return the lines without signature and, unless all of them are talk, without greetings and thanks."""
    found: list[OwnLine] = []
    for index, line in enumerate(lines):
        text, saying = normalize_line(line), SAY.match(line)
        if not saying and _is_signature(lines, index, talk):
            break
        if found and _BYE.fullmatch(text) and not (talk and _goes_on(lines[index + 1 :])):
            break
        courteous = any(words.fullmatch(text) for words in (_HELLO, _THANKS, _BYE))
        if _visible(line) if talk else text and not courteous:
            typed = line.replace("\xa0", " ").strip()
            found.append(OwnLine(text, typed, index > 0 and _may_continue(lines[index - 1], typed)))
    names = _signatures(name)
    while len(found) > 1 and found[-1].casefold().lstrip("-/ ") in names:
        found.pop()
    return tuple(found)


def _is_signature(lines: Sequence[str], index: int, talk: bool) -> bool:
    """Whether a signature begins here, or a line that a program adds; talk may mention a telephone, too."""
    bare = _visible(lines[index])
    if not bare or _SIGNATURE.fullmatch(bare):
        return bool(bare)
    added = [words.fullmatch(bare) is not None for words in (_SENT_FROM, _SENT_WITH)]
    if not talk:
        return any(added)
    if any(map(_visible, lines[index + 1 :])):
        return False
    return all(added) or (any(added) and index > 0 and not _visible(lines[index - 1]))


def _goes_on(lines: Sequence[str]) -> bool:
    """Whether more follows than the name under a closing, and what a telephone adds or a signature says below."""
    below = itertools.takewhile(
        lambda line: not _SIGNATURE.fullmatch(line), filter(None, map(_visible, lines))
    )
    return len(list(below)) > 2


def _may_continue(above: str, line: str) -> bool:
    """Whether a mail program may have broken one line into these two: the first word had no room above."""
    above = above.rstrip()
    return len(above) <= WIDEST and len(above) + 1 + len(line.split(" ", 1)[0]) > NARROWEST


def _signatures(name: str) -> set[str]:
    """Return the ways in which a person of this name may sign."""
    whole = normalize_line(name).casefold()
    parts = [part for part in re.split(r"[\s@]+", whole) if part]
    if not parts:
        return set()
    return {whole, *parts, parts[0][0], "".join(part[0] for part in parts)}
