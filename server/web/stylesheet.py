"""The one stylesheet of a page: the base styles, those of the game that it shows and its own, concatenated."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, url_for

from byzanz import games
from server import config

blueprint = Blueprint("stylesheet", __name__)

BASE = Path(__file__).resolve().parents[1] / "static" / "style.css"
PAGES = ("columns", "desk", "front", "history", "new", "over", "plan", "rules", "turn", "verify")
"""The pages with styles of their own: `new.css`, `over.css` …"""
MAX_AGE = 365 * 86400
"""Seconds for which a browser may cache a file whose URL contains its hash: each change has another URL."""


def init_app(app: Flask) -> None:
    """Make the stylesheet's URL available to templates."""
    app.jinja_env.globals["stylesheet"] = url


def url(slug: str = "", page: str = "") -> str:
    """Return the URL of the styles of a page, which contains a hash of their content.

    Args:
        slug: the game that it shows, if any.
        page: itself, if it is one of `PAGES`.
    """
    name = "-".join(filter(None, (slug, page)))
    name = name if name in _sheets() else ""
    return url_for("stylesheet.sheet", slug=name or "page", digest=_stylesheet(name)[1])


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
