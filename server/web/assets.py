"""Files with a hash in their URL: stylesheets, the drawings of a game, and what its package brings."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import flask
import flask_babel
from flask import Blueprint, Flask, Response, render_template, url_for
from jinja2 import TemplateNotFound
from werkzeug.security import safe_join

from byzanz import games
from server import config, i18n

blueprint = Blueprint("assets", __name__)


def init_app(app: Flask) -> None:
    """Make the URLs of all these files available to templates."""
    app.jinja_env.globals |= {
        "stylesheet": stylesheet_url,
        "sprite": sprite_url,
        "asset": url,
        "share_picture": share_picture,
    }


# ---- the stylesheet ----
# One for a page: the base styles, those of the game that it shows and its own, concatenated.


BASE = Path(__file__).resolve().parents[1] / "static" / "style.css"
PAGES = ("columns", "desk", "front", "history", "new", "over", "plan", "rules", "turn", "verify")
"""The pages with styles of their own: `new.css`, `over.css` …"""
MAX_AGE = 365 * 86400
"""Seconds for which a browser may cache a file whose URL contains its hash: each change has another URL."""


def stylesheet_url(slug: str = "", page: str = "") -> str:
    """Return the URL of the styles of a page, which contains a hash of their content.

    Args:
        slug: the game that it shows, if any.
        page: itself, if it is one of `PAGES`.
    """
    return flask.request.script_root + _sheet_path(slug, page, games.latest())


@cache
def _sheet_path(slug: str, page: str, _installed: tuple[games.AnyRules, ...]) -> str:
    name = "-".join(filter(None, (slug, page)))
    name = name if name in _sheets() else ""
    return f"/static/style-{name or 'page'}-{_stylesheet(name)[1]}.css"


@blueprint.get("/static/style-<slug>-<digest>.css")
def sheet(slug: str, digest: str) -> Response:
    """Serve a stylesheet; an outdated URL, as after an upgrade, gets the current one uncached."""
    text, current = _stylesheet(slug)
    return cacheable(text, "text/css", current, digest)


def cacheable(text: str, mimetype: str, current: str, digest: str) -> Response:
    """Respond with a file that a browser may keep for ever if it was asked for by its hash, else not at all.

    Args:
        current: its hash.
        digest: that in the URL.
    """
    return kept_by_hash(Response(text, mimetype=mimetype), current, digest)


def kept_by_hash(response: Response, current: str, digest: str) -> Response:
    """Let a browser keep a file for ever if it was asked for by its hash, else not at all; as for `cacheable`."""
    if digest == current:
        response.cache_control.public = response.cache_control.immutable = True
        response.cache_control.no_cache = None
        response.cache_control.max_age = MAX_AGE
    else:
        response.cache_control.no_cache = True
    response.set_etag(current)
    return response


def _sheets() -> dict[str, tuple[Path, ...]]:
    """Return what each stylesheet has besides the base, by its name: a game, a page, or both."""
    own = {rules.slug: _own_sheet(rules.slug) for rules in games.latest()}
    pages = {page: BASE.with_name(f"{page}.css") for page in PAGES}
    alone = {**own, **{page: (path,) for page, path in pages.items()}}
    return {**alone, **{f"{slug}-{page}": (*own[slug], pages[page]) for slug in own for page in pages}}


def _own_sheet(slug: str) -> tuple[Path, ...]:
    """Return the styles of a game: the server's, or the plain ones and those that its package adds to them."""
    path = config.TEMPLATES / "games" / slug / "style.css"
    if path.exists():
        return (path,)
    folder = games.folder_of(slug)
    own = [folder / place / "style.css" for place in ("templates", "static")] if folder else []
    return (config.TEMPLATES / "plain" / "style.css", *(path for path in own if path.is_file()))


def _stylesheet(name: str) -> tuple[str, str]:
    """Return a stylesheet and its hash; the base alone if there is none of that name."""
    return _concatenate(BASE, *_sheets().get(name, ()))


@cache
def _concatenate(*paths: Path) -> tuple[str, str]:
    """Concatenate and minify these files, once per process."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(path.read_text() for path in paths), flags=re.DOTALL)
    text = re.sub(r"\s*([{};,>])\s*", r"\1", text.strip()).replace(": ", ":").replace(";}", "}")
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]


# ---- drawings ----
# One file for each language. A page draws a card with `<use href="{{ sprite(slug) }}#card-…">`. Of the page's styles
# only the inherited ones reach into a used file, so its drawings take their colours from custom properties.


def sprite_url(slug: str) -> str:
    """Return the URL of a game's drawings in the current language, which contains a hash of them."""
    language = i18n.current_language()
    return f"{flask.request.script_root}/static/{slug}-{language}-{_drawings(slug, language)[1]}.svg"


@blueprint.get("/static/<slug>-<language>-<digest>.svg")
def drawings(slug: str, language: str, digest: str) -> Response:
    """Serve the drawings of a game; an outdated URL, as after an upgrade, gets the current ones uncached."""
    known = slug in {rules.slug for rules in games.latest()} and language in i18n.NAMES
    if not known:
        flask.abort(404)
    try:
        text, current = _drawings(slug, language)
    except TemplateNotFound:
        flask.abort(404)
    return cacheable(text, "image/svg+xml", current, digest)


@cache
def _drawings(slug: str, language: str) -> tuple[str, str]:
    """Return the drawings and their hash, rendered once per process."""
    with flask_babel.force_locale(language):
        text = render_template(f"games/{slug}/sprite.svg")
    return text, hashlib.sha256(text.encode()).hexdigest()[:8]


# ---- files of a game's package ----


def url(slug: str, name: str) -> str:
    """Return the URL of a file of a game, which contains a hash of its content.

    Args:
        name: of the file in the folder `static/` of the game's package.
    """
    path = _path(slug, name)
    return url_for("assets.file", slug=slug, digest=_digest(path) if path else "none", name=name)


def share_picture(slug: str) -> str | None:
    """Return the URL of the picture that messengers show with links to a game, None if it has none.

    A package brings it as `static/share.png`; those of the shipped games stand in the server's own folder.
    """
    if _path(slug, "share.png"):
        return url(slug, "share.png")
    name = f"share-{slug}.png"
    return (
        url_for("static", filename=name)
        if Path(str(flask.current_app.static_folder), name).is_file()
        else None
    )


@blueprint.get("/static/games/<slug>/<digest>/<path:name>")
def file(slug: str, digest: str, name: str) -> Response:
    """Serve a file of a game; an outdated URL, as after an upgrade, gets the current file uncached."""
    path = _path(slug, name)
    if path is None:
        flask.abort(404)
    return kept_by_hash(flask.send_file(path), _digest(path), digest)


def _path(slug: str, name: str) -> Path | None:
    """Return the path of a file of a game, None if there is none; no name leads out of the folder."""
    folder = games.folder_of(slug)
    found = safe_join(str(folder / "static"), name) if folder else None
    return Path(found) if found and Path(found).is_file() else None


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
