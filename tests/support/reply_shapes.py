"""The shapes in which mail programs send replies: what their writer wrote, and around it what the program adds.

A reply is made from a real email about a turn, so that its quote is what players quote.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP

from tests.support.mail_languages import Language

ALICE, NAME, BYZANZ = "alice@example.org", "Alice Example", "Byzanz"


@dataclass(frozen=True)
class Turn:
    """The email about a turn to which somebody replies."""

    text: str
    page: str
    address: str


@dataclass(frozen=True)
class Letter:
    """A reply as it arrives."""

    text: str = ""
    page: str = ""
    flowed: bool = False

    def raw(self, to: str) -> bytes:
        """Return the email."""
        message = EmailMessage(policy=SMTP.clone(max_line_length=998))
        message["From"] = f"{NAME} <{ALICE}>"
        message["To"] = to
        message["Subject"] = "Re: Byzanz: The Golden Horn"
        message["Message-ID"] = "<languages@example.org>"
        if self.text:
            message.set_content(self.text, params={"format": "flowed"} if self.flowed else None)
        if self.page and self.text:
            message.add_alternative(self.page, subtype="html")
        elif self.page:
            message.set_content(self.page, subtype="html")
        return message.as_bytes()


Shape = Callable[[str, Language, Turn], Letter]


def _filled(words: str, turn: Turn) -> str:
    return words.format(n=BYZANZ, a=turn.address)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def _block(language: Language, turn: Turn, *, colon: str = ": ", bold: str = "", bare: bool = False) -> str:
    sender, reader = (BYZANZ, NAME) if bare else (f"{BYZANZ} <{turn.address}>", f"{NAME} <{ALICE}>")
    values = (sender, language.day, reader, "Byzanz: The Golden Horn")
    return "\n".join(
        f"{bold}{label}{colon.strip()}{bold}{colon[1:]}{value}"
        for label, value in zip(language.labels, values, strict=True)
    )


def _below(own: str, language: Language, turn: Turn) -> str:
    return f"{own}\n\n{_filled(language.gmail, turn)}\n\n{_quoted(turn.text)}\n"


def _in_html(text: str) -> str:
    return "".join(f"<div>{html.escape(line) or '<br>'}</div>" for line in text.split("\n"))


def _wrapped(words: str) -> str:
    return textwrap.fill(words, 45, break_long_words=False, break_on_hyphens=False)


def _gmail_page(own: str, language: Language, turn: Turn) -> str:
    attribution = html.escape(_filled(language.gmail, turn))
    return (
        f'<div dir="ltr">{_in_html(own)}</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" '
        f'class="gmail_attr">{attribution}<br></div><blockquote class="gmail_quote" style="margin:0">{turn.page}'
        "</blockquote></div>"
    )


def _outlook_page(own: str, language: Language, turn: Turn) -> str:
    block = "<br>".join(map(html.escape, _block(language, turn).split("\n")))
    return (
        f'<div class="elementToProof">{_in_html(own)}</div><div id="appendonsend"></div><hr tabindex="-1">'
        f'<div id="divRplyFwdMsg" dir="ltr"><font face="Calibri">{block}</font></div><div>{turn.page}</div>'
    )


def _word_page(own: str, language: Language, turn: Turn) -> str:
    block = "<br>".join(map(html.escape, _block(language, turn).split("\n")))
    own_part = "".join(f'<p class="MsoNormal">{html.escape(line)}</p>' for line in own.split("\n"))
    return (
        f"{own_part}<div style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0 0 0'><p class=MsoNormal>"
        f"{block}</p></div>{turn.page}"
    )


def _yahoo_page(own: str, language: Language, turn: Turn) -> str:
    return (
        f'<div class="yahoo-style-wrap"><div dir="ltr">{_in_html(own)}</div></div><div id="ydp1yahoo_quoted_1" '
        f'class="ydp1yahoo_quoted"><div>{html.escape(_filled(language.yahoo, turn))}</div><div>{turn.page}</div></div>'
    )


def _apple_page(own: str, language: Language, turn: Turn) -> str:
    return (
        f"{_in_html(own)}<div><br><blockquote type='cite'><div>{html.escape(_filled(language.gmail, turn))}</div><br>"
        f"</blockquote></div><blockquote type='cite'><div>{turn.page}</div></blockquote>"
    )


def _answered_within(own: str, language: Language, turn: Turn) -> str:
    first, rest = turn.text.strip().split("\n\n", 1)
    return f"{_filled(language.gmail, turn)}\n\n{_quoted(first)}\n\n{own}\n\n{_quoted(rest)}\n"


SHAPES: dict[str, Shape] = {
    "above quoted lines": lambda o, w, t: Letter(_below(o, w, t)),
    "attribution wrapped": lambda o, w, t: Letter(
        f"{o}\n\n{_wrapped(_filled(w.gmail, t))}\n\n{_quoted(t.text)}\n"
    ),
    "attribution right below": lambda o, w, t: Letter(f"{o}\n{_filled(w.gmail, t)}\n{_quoted(t.text)}\n"),
    "attribution without address": lambda o, w, t: Letter(
        f"{o}\n\n{_filled(w.bird, t)}\n{_quoted(t.text)}\n"
    ),
    "attribution quoted": lambda o, w, t: Letter(
        f"{o}\n\n{_quoted(_filled(w.gmail, t))}\n>\n{_quoted(t.text)}\n"
    ),
    "Yahoo, unquoted": lambda o, w, t: Letter(
        f"{o}\n\n     {_filled(w.yahoo, t)}  \n  \n {t.text.strip().replace(chr(10), chr(10) + ' ')}\n"
    ),
    "Yahoo wrapped, unquoted": lambda o, w, t: Letter(
        f"{o}\n\n{_wrapped(_filled(w.yahoo, t))}\n\n{t.text}\n"
    ),
    "header block": lambda o, w, t: Letter(f"{o}\n\n{_block(w, t)}\n\n{t.text}\n"),
    "header block, bold": lambda o, w, t: Letter(f"{o}\n\n{_block(w, t, bold='*')}\n\n{t.text}\n"),
    "header block, full-width colons": lambda o, w, t: Letter(
        f"{o}\n\n{_block(w, t, colon='：')}\n\n{t.text}\n"
    ),
    "header block without address": lambda o, w, t: Letter(f"{o}\n\n{_block(w, t, bare=True)}\n\n{t.text}\n"),
    "line and header block": lambda o, w, t: Letter(f"{o}\n{'_' * 32}\n{_block(w, t)}\n\n{t.text}\n"),
    "original message": lambda o, w, t: Letter(
        f"{o}\n\n-----{w.original}-----\n{_block(w, t, bare=True)}\n\n{t.text}\n"
    ),
    "Gmail, HTML": lambda o, w, t: Letter(page=_gmail_page(o, w, t)),
    "Gmail, both": lambda o, w, t: Letter(_below(o, w, t), _gmail_page(o, w, t)),
    "Yahoo, HTML": lambda o, w, t: Letter(page=_yahoo_page(o, w, t)),
    "Apple, HTML": lambda o, w, t: Letter(page=_apple_page(o, w, t)),
    "Outlook, HTML": lambda o, w, t: Letter(page=_outlook_page(o, w, t)),
    "Word, HTML": lambda o, w, t: Letter(page=_word_page(o, w, t)),
    "below the quote": lambda o, w, t: Letter(f"{_filled(w.gmail, t)}\n\n{_quoted(t.text)}\n\n{o}\n"),
    "within the quote": lambda o, w, t: Letter(_answered_within(o, w, t)),
    "closing and name": lambda o, w, t: Letter(_below(f"{o}\n\n{w.closing}\n{NAME}", w, t)),
    "closing with comma": lambda o, w, t: Letter(_below(f"{o}\n\n{w.closing},\nAlice", w, t)),
    "phone": lambda o, w, t: Letter(_below(f"{o}\n\n{w.phone}", w, t)),
    "closing, name and phone": lambda o, w, t: Letter(
        _below(f"{o}\n\n{w.closing}\n{NAME}\n\n{w.phone}", w, t)
    ),
    "signature": lambda o, w, t: Letter(_below(f"{o}\n-- \n{NAME}\n{w.closing}", w, t)),
    "flowed": lambda o, w, t: Letter(_below(o, w, t), flowed=True),
}
"""Replies with what their writer wrote, in a language, to an email about a turn."""
