"""The blocks of which emails consist, as text; templates/mail/blocks.html has the same ones in HTML and explains them.

Paragraphs stand between blank lines; `compose` takes out those too many and breaks long lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flask_babel import gettext, ngettext
from markupsafe import Markup

from server.mail.outgoing.talk import Talk
from server.mail.text import as_text
from server.play import names

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
