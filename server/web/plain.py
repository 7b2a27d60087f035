"""Templates of games: what a game's own folder lacks comes from `templates/plain/`, which draws any view."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import SimpleNamespace

from flask import Flask
from jinja2 import Environment, FileSystemLoader, TemplateNotFound

from byzanz.games import latest, rules_of
from byzanz.games.facts import facts
from server import config


class GameTemplates(FileSystemLoader):
    """Loads the project's templates; in those of `templates/plain/`, `$slug` stands for the game that lacks its own."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's source, its file, and whether it is up to date."""
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            folder, _, rest = template.partition("/")
            slug, _, name = rest.partition("/")
            if folder != "games" or slug not in {rules.slug for rules in latest()}:
                raise
            source, file, is_current = super().get_source(environment, f"plain/{name}")
            return source.replace("$slug", slug), file, is_current


def init_app(app: Flask) -> None:
    """Let an app load its templates this way, and tell the plain ones about their game."""
    app.jinja_loader = GameTemplates(str(config.TEMPLATES))
    app.jinja_env.globals["plain"] = SimpleNamespace(
        facts=facts, rules=rules_of, paragraphs=paragraphs, about=about
    )


def paragraphs(slug: str) -> list[str]:
    """Return what the module of a game says about it, one text a paragraph."""
    text = inspect.cleandoc(sys.modules[type(rules_of(slug)).__module__].__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph]


def about(slug: str) -> str:
    """Return the first paragraph of what the module of a game says about it."""
    return next(iter(paragraphs(slug)), "")
