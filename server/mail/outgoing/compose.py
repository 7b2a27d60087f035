"""Composing a mail: its headers, and text and HTML parts with the same content."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime, parseaddr
from typing import Any

import css_inline
from flask import current_app
from flask_babel import force_locale, gettext, ngettext
from flask_babel import gettext as _
from markupsafe import Markup
from sqlalchemy.orm import Session

from server import i18n, play
from server.config import settings
from server.i18n import N_
from server.mail import deliverability
from server.mail.outgoing import digest, smtp, view
from server.mail.outgoing.letters import Talk
from server.mail.outgoing.relevance import MailRows
from server.mail.outgoing.smtp import Message
from server.mail.outgoing.view import MailLinks
from server.mail.text import as_text, one_line, wrapped
from server.play import names
from server.play import turns as play_turns
from server.store import log, outbox
from server.store.mail_kinds import Content, Reader
from server.store.models import LinkPurpose

# ---- the blocks of which emails consist, as text ----
# templates/mail/blocks.html has the same ones in HTML and explains them. Paragraphs stand between blank lines;
# `compose` takes out those too many and breaks long lines.

Caller = Callable[[], str]
"""What stands within a block, as templates give it."""


def _plain(body: object) -> str:
    return as_text(body) if hasattr(body, "__html__") else str(body).strip()


def _lines(body: object) -> str:
    return "\n".join(line for line in map(str.strip, _plain(body).split("\n")) if line)


def _block(text: str) -> Markup:
    """Return text between blank lines; a template passes it on as it is."""
    return Markup(f"\n\n{text}\n\n") if text else Markup("")  # noqa: S704 - no HTML is made of it


def _nothing(*_given: object) -> Markup:
    return Markup("")


class TextBlocks:
    """The blocks, by the names that templates call."""

    title = staticmethod(_nothing)
    fallback = staticmethod(_nothing)

    def p(self, text: object = "", _kind: str = "", caller: Caller | None = None) -> Markup:
        """Return a paragraph."""
        return _block(_lines(caller() if caller is not None else text))

    lead = section = p

    def opening(
        self, _over: str, _heading: str, reply: object = None, text: object = "", caller: Caller | None = None
    ) -> Markup:
        """Return the first paragraph, and the line above which replies are read."""
        return self.p(text, caller=caller) + self._marker(reply)

    def question(self, _over: str, asked: object, until: object = "", reply: object = None) -> Markup:
        """Return what is asked and until when, and the line above which replies are read."""
        return _block("\n".join(filter(None, (_lines(asked), _lines(until))))) + self._marker(reply)

    def _marker(self, reply: object) -> Markup:
        return _block(f"##- {gettext('Reply above this line')} -##") if reply else Markup("")

    def item(self, text: object) -> Markup:
        """Return an item of a list."""
        return Markup(f"- {_plain(text)}\n")  # noqa: S704 - no HTML is made of it

    def bullets(self, _kind: str = "", *, caller: Caller) -> Markup:
        """Return items."""
        return _block(_items(caller))

    def listed(self, title: object, *, caller: Caller) -> Markup:
        """Return items with a line above, unless there are none."""
        items = _items(caller)
        return _block(f"{_plain(title)}\n{items}") if items else Markup("")

    log = news = listed

    def events(self, drawn: str) -> Markup:
        """Return what a game draws above the news, as items."""
        return _block("".join(self.item(line) for line in drawn.splitlines() if line))

    def said(self, talk: Talk) -> Markup:
        """Return what others have said at the table."""
        one, many = "%(num)s earlier message on your page.", "%(num)s earlier messages on your page."
        first = [f"- {ngettext(one, many, talk.left_out)}"] if talk.left_out else []
        return _block("\n".join([*first, *(_spoken(*each) for each in talk.words)]))

    def button(self, label: object, url: object, _more: str = "", kind: str = "") -> Markup:  # noqa: ARG002 - for HTML
        """Return what the reader is to do, and where."""
        return _block(f"{_plain(label)}\n{url}")

    address = page = verify = button

    def stop(self, label: object, url: str | None) -> Markup:
        """Return the link to unsubscribe."""
        return _block(f"{label}\n{url}") if url else Markup("")

    def choices(self, label: object, *, caller: Caller) -> Markup:
        """Return moves as links."""
        return _block(f"{_plain(label)}\n{_items(caller)}")

    def choice(self, label: object, url: str, typed: object = "") -> Markup:
        """Return a move with its link, and how one replies with it."""
        reply = f"\n  {gettext('or reply:')} {_plain(typed)}" if typed else ""
        return Markup(f"- {_plain(label)}\n  {url}{reply}\n")  # noqa: S704 - no HTML is made of it

    def typed(self, label: object, text: object) -> Markup:
        """Return an example of a reply."""
        return _block(f"{label} {_plain(text)}")

    def facts(self, rows: Sequence[tuple[str, object]]) -> Markup:
        """Return labels and what they say, in two columns."""
        wide = max(len(str(label)) for label, _ in rows) + 1
        return _block("\n".join(f"{label}:".ljust(wide) + f"  {_plain(fact)}" for label, fact in rows))

    def game(self, name: object, asked: object) -> Markup:
        """Return the beginning of a game among several."""
        return _block(f"{_plain(name)}\n- {_plain(asked)}")

    def place(self, _label: str, url: str, head: str) -> Markup:
        """Return the end of a game among several."""
        return _block(url) + _block(head)

    def foot(self, *, caller: Caller) -> Markup:
        """Return what stands at the end."""
        return Markup(caller())  # noqa: S704 - it consists of blocks

    def proof(self, text: object, _kind: str = "", *, caller: Caller) -> Markup:
        """Return lines with which the log can be checked."""
        return _block(f"{_plain(text)}\n{_items(caller)}")

    def line(self, label: str, value: str) -> Markup:
        """Return one of them."""
        return Markup(f"{label} {value}\n")  # noqa: S704 - no HTML is made of it


def _spoken(speaker: str, lines: Sequence[str]) -> str:
    return f"- {names.shown(speaker)!s}: " + "\n    ".join(lines)


def _items(caller: Caller) -> str:
    """Return the lines of blocks that a template has put into another."""
    return "\n".join(line for line in str(caller()).split("\n") if line.strip())


# ---- the email ----

INLINER = css_inline.CSSInliner(keep_style_tags=True, load_remote_stylesheets=False)

_BLANK_LINES = re.compile(r"\n{3,}")
TO_INVITED = N_("Byzanz: an invitation")
"""The subject of emails about a game to people who have not taken a seat there: a stranger may have named the game."""


@dataclass(frozen=True, slots=True)
class ComposedMail:
    """A mail ready to be sent.

    Args:
        times: of the turn, as a turn mail prints them; None for other mails.
        turns: the turns that a digest lists.
        merged: the ids of other mails whose news it contains.
        mends_address: whether its acceptance shows that the reader's address works again. If a server accepts mail
            and bounces it later, accepting once more proves nothing.
    """

    message: Message
    times: play_turns.Times | None
    turns: tuple[play.NamedTurn, ...] = ()
    merged: tuple[int, ...] = ()
    mends_address: bool = False


def compose(session: Session, rows: MailRows, mail_links: MailLinks, now: datetime) -> ComposedMail:
    """Compose a mail from the state at the moment of sending.

    Args:
        rows: what it is about, loaded in this session.
        mail_links: the links it carries.

    Raises:
        Broken: the game's log does not replay.
    """
    times = view.turn_times(session, rows, now)
    with force_locale(_language(rows)), i18n.read_at(now):
        variables = view.template_context(session, rows, mail_links, times)
        if rows.kind.content is Content.OVERVIEW:
            variables |= digest.overview_context(session, rows.mail, mail_links.seats, now)
        plain = _headers(session, rows, mail_links) | {
            "Date": format_datetime(now),
            "Subject": subject(rows, variables),
        }
        text, html = _render(variables)
    name, sender = parseaddr(settings().mail_from)
    sender, recipient = smtp.reachable(sender), smtp.reachable(rows.person.email or "")
    headers = (
        smtp.header("From", one_line(name), sender),
        smtp.header("To", one_line(str(_name(rows))), recipient),
        *(smtp.header(*each) for each in plain.items()),
    )
    # Derived, not random: every copy is identical.
    boundary = f"=_{_unique(rows.mail.key)}"
    content = smtp.content(headers, text, html, boundary)
    made = Message(deliverability.envelope_sender(rows.mail.id) or sender, recipient, content)
    lost = rows.person.unreachable
    mends = (
        lost is not None
        and lost.code not in deliverability.PASSING.values()
        and rows.person.suppressed is None
    )
    return ComposedMail(made, times, variables.get("named", ()), variables["merged"], mends)


def _name(rows: MailRows) -> str:
    """Return the name of a mail's reader: until they have confirmed a game, the one with which it was requested."""
    details = outbox.details(rows.mail)
    return str(details["name"]) if rows.kind.to is Reader.ADDRESS and "name" in details else rows.person.name


def _language(rows: MailRows) -> str:
    """Return the language of a mail: its reader's, else the one it was requested in, else the organiser's."""
    organiser = rows.table.person(rows.table.game.organiser_id) if rows.table else None
    requested_language = outbox.details(rows.mail).get("language")
    candidates = (rows.person.language, requested_language, organiser.language if organiser else None)
    return next((code for code in candidates if code in i18n.NAMES), i18n.DEFAULT)


def _headers(session: Session, rows: MailRows, mail_links: MailLinks) -> dict[str, str]:
    # A digest's key names only its day: one that a restored server sends on the same day has other news.
    queued = f":{rows.mail.created_at.isoformat()}" if rows.kind.daily else ""
    # A restored server may give the number of an entry to another one; the email about that has another Message-ID.
    mark = ""
    if rows.game is not None and rows.mail.seq is not None:
        mark = log.mark_at(session, rows.game, rows.mail.seq)
    headers = {
        "Message-ID": message_id(rows.mail.key + queued, mark),
        "Auto-Submitted": "auto-replied" if rows.kind.answers_email else "auto-generated",
        # Not "All", which asks Exchange to keep reports of failures to itself, too.
        "X-Auto-Response-Suppress": "OOF, AutoReply",
        "Feedback-ID": f"{rows.mail.kind}:byzanz",  # by which Gmail counts complaints; it names nobody
    }
    if rows.game is not None:
        root = f"<{rows.game.id}.table@{settings().sender_domain}>"
        headers |= {"In-Reply-To": root, "References": root}
    if mail_links.reply is not None:
        headers["Reply-To"] = mail_links.reply
    if mail_links.stop is not None:
        headers["List-Id"] = f"<byzanz.{settings().sender_domain}>"
        address = mail_links.stop_address
        by_mail = f", <mailto:{address}?subject=unsubscribe>" if address else ""
        headers["List-Unsubscribe"] = f"<{mail_links.stop}>{by_mail}"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return headers


def subject(rows: MailRows, variables: dict[str, Any]) -> str:
    """Return the subject, the same for every mail of a game, so that clients group them in one thread.

    Nothing that a stranger has typed stands in it, such as the name of a game to which the reader is only invited.
    """
    if rows.kind.subject is not None:
        return one_line(_(rows.kind.subject))
    if _is_to_invited(rows, variables["seated"]):
        return one_line(_(TO_INVITED))
    # Not translated: the reader may switch languages.
    return f"{one_line(variables['title'])}: {variables['game']}"


def _is_to_invited(rows: MailRows, seated: bool) -> bool:
    """Whether the reader of a mail is invited and has no seat yet, or it carries the link of their invitation."""
    return (rows.kind.to is Reader.INVITED and not seated) or outbox.details(rows.mail).get(
        "purpose"
    ) == LinkPurpose.INVITE


def message_id(key: str, mark: str = "") -> str:
    """Return the Message-ID, the same for every copy of a mail; it reveals at most where the game's log stood.

    Args:
        mark: of the entry that the mail is about (`log.mark_at`), or empty.
    """
    return f"<{_unique(key)}{mark and '.' + mark}@{settings().sender_domain}>"


def _unique(key: str) -> str:
    secret = hashlib.sha256(b"byzanz mail ids" + settings().secret_key.get_secret_value().encode()).digest()
    return hmac.digest(secret, key.encode(), "sha256").hex()[:32]


def _render(variables: dict[str, Any]) -> tuple[str, str]:
    """Render text and HTML: a template lists the blocks of a mail, and each form lays them out."""
    environment = current_app.jinja_env
    template = environment.get_template(f"mail/{variables['kind']}.html")
    forms = {"text": TextBlocks(), "html": environment.get_template("mail/blocks.html").module}
    text, page = (
        template.render(variables, form=form, layout=f"mail/{form}.html", mail=blocks)
        for form, blocks in forms.items()
    )
    # Some mail programs know only the styles of the elements themselves. They make long lines, which are broken between
    # elements, so that the part need not be encoded.
    return wrapped(_BLANK_LINES.sub("\n\n", text).strip()), INLINER.inline(page).replace("> <", ">\n<")
