"""The drawings of each game: one file for each language, which a browser keeps until it changes.

A page draws a card with `<use href="{{ sprite(slug) }}#card-…">`. Of the page's styles only the inherited ones reach
into a used file, so its drawings take their colours from custom properties.
"""

from __future__ import annotations

import hashlib
from functools import cache

import flask
import flask_babel
from flask import Blueprint, Flask, Response, render_template
from jinja2 import TemplateNotFound

from byzanz import games
from server import i18n
from server.web import stylesheet

blueprint = Blueprint("sprites", __name__)


def init_app(app: Flask) -> None:
    """Make the URLs of the drawings available to templates."""
    app.jinja_env.globals["sprite"] = url


def url(slug: str) -> str:
    """Return the URL of a game's drawings in the current language, which contains a hash of them."""
    language = i18n.current_language()
    return f"{flask.request.script_root}/static/{slug}-{language}-{_drawings(slug, language)[1]}.svg"


@blueprint.get("/static/<slug>-<language>-<digest>.svg")
def sheet(slug: str, language: str, digest: str) -> Response:
    """Serve the drawings of a game; an outdated URL, as after an upgrade, gets the current ones uncached."""
    known = slug in {rules.slug for rules in games.latest()} and language in i18n.NAMES
    if not known:
        flask.abort(404)
    try:
        text, current = _drawings(slug, language)
    except TemplateNotFound:
        flask.abort(404)
    return stylesheet.cacheable(text, "image/svg+xml", current, digest)


@cache
def _drawings(slug: str, language: str) -> tuple[str, str]:
    """Return the drawings and their hash, rendered once per process."""
    with flask_babel.force_locale(language):
        text = render_template(f"games/{slug}/sprite.svg")
    return text, hashlib.sha256(text.encode()).hexdigest()[:8]
