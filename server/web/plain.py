"""Templates of games: those of the server, then those of the game's package, then `templates/plain/` for any view.

A package's templates stand under `games/<its slug>/` and nowhere else, so they replace none of the server's. They run
with the rights of the server, like the package's code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from types import SimpleNamespace
from typing import Any

from flask import Flask
from flask_babel import gettext, pgettext
from jinja2 import Environment, FileSystemLoader, TemplateNotFound
from jinja2.nodes import EvalContext
from jinja2.utils import pass_eval_context
from markdown_it import MarkdownIt
from markupsafe import Markup

from byzanz.games import folder_of, latest, rules_of, title_of
from byzanz.moves import Message, RulesError
from byzanz.rules import Rules
from server import config, i18n
from server.web.filters import listed
from server.web.plain_hand import hand
from server.web.plain_sheet import cards_of, in_words, in_writing, sheet

SLUG = re.compile(r"[\w-]+", re.ASCII)


class GameTemplates(FileSystemLoader):
    """Loads templates; in those of `templates/plain/`, `$slug` stands for the game that lacks its own."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's source, its file, and whether it is up to date."""
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            folder, _, rest = template.partition("/")
            slug, _, name = rest.partition("/")
            if folder != "games" or not SLUG.fullmatch(slug):
                raise
            own = folder_of(slug)
            with suppress(TemplateNotFound):
                if own is not None:
                    return FileSystemLoader(own / "templates").get_source(environment, name)
            source, file, is_current = super().get_source(environment, f"plain/{name}")
            return source.replace("$slug", slug), file, is_current

    def list_templates(self) -> list[str]:
        """Return the names of the server's templates and of those that packages bring, in order."""
        found = set(super().list_templates())
        for rules in latest():
            own = folder_of(rules.slug)
            if own is not None:
                names = FileSystemLoader(own / "templates").list_templates()
                found |= {f"games/{rules.slug}/{name}" for name in names}
        return sorted(found)


def init_app(app: Flask) -> None:
    """Let an app load its templates this way, and tell the plain ones about their game."""
    app.jinja_loader = GameTemplates(str(config.TEMPLATES))
    app.jinja_env.globals["plain"] = SimpleNamespace(
        sheet=sheet,
        hand=hand,
        in_writing=in_writing,
        names=cards_of,
        is_sealed=is_sealed,
        takes_orders=takes_orders,
        no_order=no_order,
        rules=rules_of,
        title=title_of,
        paragraphs=paragraphs,
        about=about,
        long_rules=long_rules,
        sentence=sentence,
        translated=translated,
    )


def paragraphs(slug: str) -> list[str]:
    """Return what the module of a game says about it, one text a paragraph; none if it is not installed."""
    module = next((type(rules).__module__ for rules in latest() if rules.slug == slug), __name__)
    text = inspect.cleandoc(sys.modules[module].__doc__ or "") if module != __name__ else ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph]


def long_rules(slug: str) -> Markup:
    """Return the rules that a game brings as Markdown in `RULES`, of its class or module; empty if it has none.

    They become HTML. HTML in the text is escaped, and its highest headings are h3.
    """
    kind = type(rules_of(slug))
    return _from_markdown(getattr(kind, "RULES", "") or getattr(sys.modules[kind.__module__], "RULES", ""))


@cache
def _from_markdown(text: str) -> Markup:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(inspect.cleandoc(text))
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    highest = min((int(token.tag[1]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) - highest + 3)}"
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704 - escaped by markdown-it


def translated(slug: str, text: str) -> str:
    """Return a name of a game's own, such as that of a field, in the reader's language if its catalogue has it."""
    return i18n.DOMAIN.get_translations(slug).ugettext(text)


def is_sealed(slug: str, view: Any) -> bool:
    """Return whether what the viewer is asked is a sealed choice, as some questions of a game may be and others not."""
    rules, kind = rules_of(slug), (view.question or "").split(" ")[0]
    if not kind or kind in rules.sealed or kind in rules.grammar:
        return kind in rules.sealed
    # The moves are the same in each state that gives this view.
    moves = rules.moves(rules.sample_state(view, lambda _number: 0), view.viewer)
    return any(move.verb in rules.sealed for move in moves)


def takes_orders(slug: str) -> bool:
    """Return whether a game takes standing orders."""
    return type(rules_of(slug)).parse_order is not Rules.parse_order


def no_order(slug: str) -> RulesError | None:
    """Return with which words a game refuses an empty standing order; None if it takes it."""
    try:
        rules_of(slug).parse_order("")
    except RulesError as refusal:
        return refusal
    return None


def about(slug: str) -> str:
    """Return the first paragraph of what the module of a game says about it."""
    return next(iter(paragraphs(slug)), "")


@pass_eval_context
def sentence(context: EvalContext, message: Message, names: Sequence[str], me: int | None) -> str:
    """Return what followed from a move in the reader's language, as text.

    Args:
        context: of the template, which is one of a game.
        message: the sentence.
        names: of the players, by seat.
        me: the reader's seat, or None.
    """
    own = message.you and me is not None and message.seats.get("name") == me

    def named(seat: int) -> str:
        return str(pgettext("a player in a list", "you")) if seat == me else names[seat]

    slug = getattr(context, "slug", "")
    found = {place: in_words(slug, value) for place, value in message.places.items()}
    found |= {
        place: listed([named(seat) for seat in seats]) if isinstance(seats, Sequence) else named(seats)
        for place, seats in message.seats.items()
    }
    return str(gettext(message.you if own else message.text)) % found
