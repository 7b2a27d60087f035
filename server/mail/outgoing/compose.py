"""Composing a mail: its headers, and text and HTML parts with the same content."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.headerregistry import Address, AddressHeader
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime, parseaddr
from functools import cache
from typing import Any

import css_inline
from flask import current_app
from flask_babel import force_locale
from flask_babel import gettext as _
from jinja2 import TemplateNotFound
from sqlalchemy.orm import Session

from server import i18n, play
from server.config import settings
from server.mail import envelope
from server.mail.outgoing import context, digest
from server.mail.outgoing.context import MailLinks
from server.mail.outgoing.relevance import MailRows
from server.mail.outgoing.smtp import ascii_domain
from server.mail.text import one_line
from server.store import outbox
from server.store.models import Person

LONGEST_LINE = 998
"""The longest header line that mail servers pass on."""


class _Policy(EmailPolicy):
    """Keep headers on one line, since folding would break ids and links, and encode letters beyond ASCII word by word.

    The library's own folding loses blanks between encoded words, and unfolded its words are longer than clients
    accept.
    """

    def fold(self, name: str, value: Any) -> str:
        return str(super().fold(name, value)) if str(value).isascii() else _encode_header(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode()


HEADER_POLICY = _Policy(linesep="\r\n", max_line_length=LONGEST_LINE)


def _encode_header(name: str, value: Any) -> str:
    if isinstance(value, AddressHeader):
        address = value.addresses[0]
        encoded = Header(address.display_name, "utf-8", maxlinelen=75, header_name=name).encode(
            linesep="\r\n"
        )
        return f"{name}: {encoded}\r\n <{ascii_domain(address.addr_spec)}>\r\n"
    encoded = Header(str(value), "utf-8", maxlinelen=75, header_name=name).encode(linesep="\r\n")
    return f"{name}: {encoded}\r\n"


@dataclass(frozen=True, slots=True)
class ComposedMail:
    """A mail ready to be sent.

    Args:
        due: the deadline that a turn mail prints; None for other mails.
        turns: the turns that a digest lists.
        merged: the ids of other mails whose news it contains.
    """

    message: EmailMessage
    due: datetime | None
    turns: tuple[play.NamedTurn, ...] = ()
    merged: tuple[int, ...] = ()


def compose(session: Session, rows: MailRows, mail_links: MailLinks, now: datetime) -> ComposedMail:
    """Compose a mail from the state at the moment of sending.

    Args:
        rows: what it is about, loaded in this session.
        mail_links: the links it carries.

    Raises:
        Broken: the game's log does not replay.
    """
    with force_locale(language(session, rows)):
        return _compose(session, rows, mail_links, now)


def language(session: Session, rows: MailRows) -> str:
    """Return the language of a mail: its reader's, else the one it was requested in, else the organiser's."""
    organiser = session.get(Person, rows.game.organiser_id or 0) if rows.game else None
    requested_language = outbox.details(rows.mail).get("language")
    candidates = (rows.person.language, requested_language, organiser.language if organiser else None)
    return next((code for code in candidates if code in i18n.NAMES), i18n.DEFAULT)


def _compose(session: Session, rows: MailRows, mail_links: MailLinks, now: datetime) -> ComposedMail:
    times = context.turn_times(session, rows, now)
    variables = context.template_context(session, rows, mail_links, times)
    if rows.mail.kind in digest.OVERVIEWS:
        variables |= digest.overview_context(session, rows.mail, mail_links.seats, now)
    text, html = render(variables)
    message = EmailMessage(policy=HEADER_POLICY)
    _address(message, rows, now)
    message["Subject"] = subject(variables)
    if rows.game is not None:
        root = f"<{rows.game.id}.table@{settings().sender_domain}>"
        message["In-Reply-To"] = root
        message["References"] = root
    if mail_links.reply is not None:
        message["Reply-To"] = mail_links.reply
    bounce = envelope.envelope_sender(rows.mail.id)
    if bounce is not None:
        message["Return-Path"] = f"<{bounce}>"  # the transport removes it
    if mail_links.stop is not None:
        message["List-Unsubscribe"] = f"<{mail_links.stop}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(text, cte=_encoding(text))
    message.add_alternative(html, subtype="html", cte=_encoding(html))
    # Derived, not random: every copy is identical.
    message.set_boundary(f"=_{message['Message-ID'].strip('<>').partition('@')[0]}")
    return ComposedMail(
        message, times.due if times else None, variables.get("named", ()), variables["merged"]
    )


def _address(message: EmailMessage, rows: MailRows, now: datetime) -> None:
    name, address = parseaddr(settings().mail_from)
    message["From"] = Address(display_name=one_line(name), addr_spec=address)
    local, _at, domain = (rows.person.email or "").rpartition("@")
    message["To"] = Address(display_name=one_line(rows.person.name), username=local, domain=domain)
    message["Date"] = format_datetime(now)
    message["Message-ID"] = message_id(rows.mail.key)
    message["Auto-Submitted"] = "auto-replied" if rows.mail.kind == "answer" else "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"


def subject(variables: dict[str, Any]) -> str:
    """Return the subject, the same for every mail of a game, so that clients group them in one thread."""
    if "game" in variables:
        return one_line(
            f"{variables['title']}: {variables['game']}"
        )  # not translated: the reader may switch languages
    if "items" in variables:
        return one_line(_("Byzanz: your games"))
    return one_line(_("Your Byzanz sign-in link"))


def message_id(key: str) -> str:
    """Return the Message-ID, the same for every copy of a mail; it does not reveal what the mail is about."""
    secret = hashlib.sha256(b"byzanz mail ids" + settings().secret_key.get_secret_value().encode()).digest()
    return f"<{hmac.digest(secret, key.encode(), 'sha256').hex()[:32]}@{settings().sender_domain}>"


def render(variables: dict[str, Any]) -> tuple[str, str]:
    """Render text and HTML; most kinds have only a text template, from which the HTML is made."""
    environment = current_app.jinja_env
    rendered = environment.get_template(f"mail/{variables['kind']}.txt").render(variables)
    text = re.sub(r"\n{3,}", "\n\n", rendered).strip() + "\n"
    try:
        page = environment.get_template(f"mail/{variables['kind']}.html").render(variables)
    except TemplateNotFound:
        page = environment.get_template("mail/letter.html").render(variables, paragraphs=paragraphs(text))
    return text, _inliner().inline(page)


def paragraphs(text: str) -> list[list[str]]:
    """Split a text into paragraphs of lines."""
    return [block.split("\n") for block in text.strip().split("\n\n")]


@cache
def _inliner() -> css_inline.CSSInliner:
    return css_inline.CSSInliner(keep_style_tags=True, load_remote_stylesheets=False)


def _encoding(text: str) -> str:
    short = all(len(line) < LONGEST_LINE for line in text.split("\n"))
    return "7bit" if text.isascii() and short else "quoted-printable"
