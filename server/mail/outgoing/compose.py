"""Composing a mail: its headers, and text and HTML parts with the same content."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime, parseaddr
from functools import partial
from typing import Any

import css_inline
from flask import current_app
from flask_babel import force_locale, gettext, ngettext
from flask_babel import gettext as _
from markupsafe import Markup, escape
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

# ---- the blocks of which emails consist ----
# A template lists them, as `mail.p(…)`, and is rendered once; each block is laid out in HTML and as text, and one that
# a form does not show is empty there. In text, paragraphs stand between blank lines; `compose` takes out those too many
# and breaks long lines.

Caller = Callable[[], str]
"""What stands within a block, as templates give it: where several sentences make one block, its lines."""


class HtmlBlocks:
    """The blocks in HTML, by the names that templates call."""

    def opening(
        self,
        over: str,
        heading: object,
        reply: object = None,
        text: object = "",
        caller: Caller | None = None,
    ) -> str:
        """Return what stands above an email about a game, and its first paragraph."""
        return f"{_above(over, reply)}<h1>{escape(heading)}</h1>\n{self.lead(text, caller)}"

    def question(self, over: str, asked: object, until: object = "", reply: object = None) -> str:
        """Return the same, where the first sentence is the heading."""
        due = f'<p class="until">{_joined(escape(until), " ")}</p>\n' if str(until).strip() else ""
        return f'{_above(over, reply)}<h1 class="asked">{_trimmed(asked)}</h1>\n{due}'

    def lead(self, text: object = "", caller: Caller | None = None) -> str:
        """Return the first paragraph."""
        return self.p(text, "lead", caller)

    def p(self, text: object = "", kind: str = "", caller: Caller | None = None) -> str:
        """Return a paragraph; `kind` is its class."""
        body = _trimmed(text if text or caller is None else caller())
        return f"<p{_classed(kind)}>{_lined(body)}</p>\n" if body else ""

    def title(self, text: object) -> str:
        """Return the heading of an email."""
        return f"<h1>{escape(text)}</h1>\n"

    def section(self, title: object) -> str:
        """Return the heading of a part."""
        return f"<h2>{escape(title)}</h2>\n"

    def item(self, text: object) -> str:
        """Return an item of a list."""
        return f"<li>{_lined(escape(text))}</li>\n"

    def bullets(self, kind: str = "", *, caller: Caller) -> str:
        """Return items."""
        items = _trimmed(caller())
        return f"<ul{_classed(kind)}>\n{items}\n</ul>\n" if items else ""

    def listed(self, title: object, *, caller: Caller) -> str:
        """Return items under a sentence, unless there are none."""
        items = self.bullets(caller=caller)
        return self.p(title) + items if items else ""

    def log(self, title: object, *, caller: Caller) -> str:
        """Return items under a heading, unless there are none."""
        items = self.bullets("log", caller=caller)
        return self.section(title) + items if items else ""

    def news(self, title: object, html: Sequence[object], text: Sequence[object]) -> str:  # noqa: ARG002 - for text
        """Return the news under a heading, unless there are none; a game draws them for each form."""
        items = "".join(map(self.item, html)).strip()
        inner = f"{self.section(title)}<ul>\n{items}\n</ul>"
        return f'<div class="newest">\n{inner}\n</div>\n' if items else ""

    def events(self, html: object, text: object) -> str:  # noqa: ARG002 - for text
        """Return what a game draws above the news."""
        return f'<div class="events">{escape(html)}</div>\n'

    def drawn(self, html: object = "", text: object = "") -> str:  # noqa: ARG002 - for text
        """Return what has a drawing for each form."""
        return str(html)

    def said(self, talk: Talk) -> str:
        """Return what others have said at the table."""
        first = f"<li>{_left_out(talk)}</li>\n" if talk.left_out else ""
        words = (
            f"<li><b>{escape(names.shown(speaker))}:</b> {'<br>'.join(map(escape, spoken))}</li>\n"
            for speaker, spoken in talk.words
        )
        return f'<ul class="said">\n{first}{"".join(words)}</ul>\n'

    def button(self, label: str, url: object, more: str = "", kind: str = "") -> str:
        """Return what the reader is to do; `more` is what the URL has besides."""
        look = f" {kind}" if kind not in ("", "first") else ""
        link = f'<a class="button{look}" href="{escape(url)}{escape(more)}">{escape(label.rstrip(":."))}</a>'
        return f'<p class="go{" pair" if kind else ""}">{link}</p>\n'

    def address(self, label: object, url: object) -> str:
        """Return a link that is spelled out."""
        return f"<p>{escape(label)}<br>{_spelled(url)}</p>\n"

    def page(self, label: str, url: object) -> str:
        """Return a link behind its label."""
        return f"<p>{_link(url, label.rstrip(':'))}</p>\n"

    def choices(self, label: object, *, caller: Caller) -> str:
        """Return moves as links."""
        return f'{self.p(label)}<ul class="choices">\n{_trimmed(caller())}\n</ul>\n'

    def choice(self, label: object, url: str, typed: object = "") -> str:
        """Return a move with its link, and how one replies with it, if it is an example of that."""
        label_of_reply = gettext("or reply:")
        more = f' <span class="typed">{label_of_reply} <code>{_trimmed(typed)}</code></span>' if typed else ""
        return f"<li>{_link(url, _trimmed(label))}{more}</li>\n"

    def typed(self, label: object, text: object) -> str:
        """Return an example of a reply."""
        return f'<p class="typed">{escape(label)} <code>{_trimmed(text)}</code></p>\n'

    def facts(self, rows: Sequence[tuple[str, object]]) -> str:
        """Return labels and what they say."""
        drawn = (
            f'<tr><th scope="row">{escape(label)}: </th><td>{escape(fact)}</td></tr>\n'
            for label, fact in rows
        )
        table = '<table class="facts" width="100%" cellspacing="0" cellpadding="0">'
        return f"{table}\n{''.join(drawn)}\n</table>\n"

    def game(self, name: object, asked: object) -> str:
        """Return the beginning of a game among several."""
        return self.section(name) + self.p(asked)

    def place(self, label: str, url: str, head: str) -> str:
        """Return the end of a game among several."""
        return f'{self.button(label, url)}<p class="small">{_spelled(url)}<br>\n{escape(head)}</p>\n'

    def foot(self, *, caller: Caller) -> str:
        """Return what stands at the end."""
        body = _trimmed(caller())
        return f'<div class="foot">\n{body}\n</div>\n' if body else ""

    def fallback(self, link: object) -> str:
        """Return the link of the button, spelled out."""
        label = gettext("If the button does not work:")
        return f'<p class="small">{label} {_spelled(link)}</p>\n' if link else ""

    def stop(self, label: str, url: str | None) -> str:
        """Return the link to unsubscribe."""
        return f'<p class="small">{_link(url, label.rstrip(":."))}</p>\n' if url else ""

    def proof(self, text: object, kind: str = "proof", *, caller: Caller) -> str:
        """Return what stands above lines with which the log can be checked, and them."""
        return f'<p class="{kind}">{escape(text)}{_trimmed(caller())}</p>\n'

    def line(self, label: str, value: str) -> str:
        """Return one of them."""
        return f"<br>{escape(label)} {escape(value)}"

    def verify(self, label: object, url: object, kind: str = "proof") -> str:
        """Return where."""
        return f'<p class="{kind}">{escape(label)} {_spelled(url)}</p>\n'


def _trimmed(text: object) -> Markup:
    return escape(text).strip()


def _lined(body: Markup) -> str:
    return _joined(body, "<br>") if "\n" in body else body


def _joined(body: Markup, between: str) -> str:
    return between.join(filter(None, map(str.strip, body.splitlines())))


def _classed(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _link(url: object, label: object) -> str:
    return f'<a href="{escape(url)}">{escape(label)}</a>'


def _spelled(url: object) -> str:
    return _link(url, url)


def _above(over: str, reply: object) -> str:
    shown = f'<p class="over">{escape(over)}</p>\n' if over else ""
    return shown + (f'<p class="marker">{_marker()}</p>\n' if reply else "")


def _marker() -> str:
    told = gettext("Reply above this line")
    return f"##- {told} -##"


def _left_out(talk: Talk) -> str:
    told: str = ngettext(
        "%(num)s earlier message on your page.", "%(num)s earlier messages on your page.", talk.left_out
    )
    return told


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
    """The blocks as text."""

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
        return _block(_marker()) if reply else Markup("")

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

    log = listed

    def news(self, title: object, html: Sequence[object], text: Sequence[object]) -> Markup:  # noqa: ARG002 - for HTML
        """Return the news with a line above, unless there are none."""
        items = _items(lambda: "".join(map(self.item, text)))
        return _block(f"{_plain(title)}\n{items}") if items else Markup("")

    def events(self, html: object, text: str) -> Markup:  # noqa: ARG002 - for HTML
        """Return what a game draws above the news, as items."""
        return _block("".join(self.item(line) for line in text.splitlines() if line))

    def drawn(self, html: object = "", text: object = "") -> Markup:  # noqa: ARG002 - for HTML
        """Return what has a drawing for each form."""
        return Markup(text)  # noqa: S704 - no HTML is made of it

    def said(self, talk: Talk) -> Markup:
        """Return what others have said at the table."""
        first = [f"- {_left_out(talk)}"] if talk.left_out else []
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
        label_of_reply = gettext("or reply:")
        reply = f"\n  {label_of_reply} {_plain(typed)}" if typed else ""
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


class Blocks:
    """What templates call `mail`: it lays out each block in both forms, and returns a mark that stands for it."""

    _forms = HtmlBlocks(), TextBlocks()
    _mark = secrets.token_hex(8)
    """Nobody can write it who does not know it."""
    _marked = re.compile(f"<{_mark}([0-9]+)>")

    def __init__(self) -> None:
        self._found: list[tuple[str, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Markup]:
        """Return the block of this name."""
        forms = [getattr(form, name) for form in self._forms]

        def block(*given: Any, caller: Caller | None = None, **named: Any) -> Markup:
            if caller is None:
                self._found.append(tuple([lay_out(*given, **named) for lay_out in forms]))
            else:
                inner = caller()
                within = [partial(self.read, inner, number) for number in range(len(forms))]
                found = zip(forms, within, strict=True)
                self._found.append(tuple([lay_out(*given, caller=told, **named) for lay_out, told in found]))
            return Markup(f"<{self._mark}{len(self._found) - 1}>")  # noqa: S704 - it is ours

        return block

    def read(self, rendered: str, form: int) -> Markup:
        """Return what a template has written, with the blocks in one of the forms in place of their marks."""
        text, replaced = str(rendered), 1
        while replaced:  # a drawing may consist of blocks
            text, replaced = self._marked.subn(lambda mark: self._found[int(mark[1])][form], text)
        return Markup(text)  # noqa: S704 - a template and the blocks have escaped it


# ---- the email ----

INLINER = css_inline.CSSInliner(keep_style_tags=True, load_remote_stylesheets=False)

_BLANK_LINES = re.compile(r"\n{3,}")
_BEGINS, _ENDS = '<div class="sheet">\n', "\n</div>\n</body>"
"""What stands around the blocks in templates/mail/html.html."""
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
    """Render text and HTML: a template lists the blocks of a mail once, and each form lays them out."""
    blocks = Blocks()
    page = current_app.jinja_env.get_template(f"mail/{variables['kind']}.html").render(variables, mail=blocks)
    text = blocks.read(page[page.index(_BEGINS) + len(_BEGINS) : page.rindex(_ENDS)], 1)
    # Some mail programs know only the styles of the elements themselves. They make long lines, which are broken between
    # elements, so that the part need not be encoded.
    html = INLINER.inline(blocks.read(page, 0)).replace("> <", ">\n<")
    return wrapped(_BLANK_LINES.sub("\n\n", text).strip()), html
