"""The one stylesheet of all pages: the base styles and each game's own, concatenated."""

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
MAX_AGE = 365 * 86400
"""Seconds for which a browser may cache the stylesheet: each change has another URL."""


def init_app(app: Flask) -> None:
    """Make the stylesheet's URL available to templates."""
    app.jinja_env.globals["stylesheet"] = url


def url() -> str:
    """Return the stylesheet's URL, which contains a hash of its content."""
    return url_for("stylesheet.sheet", digest=_stylesheet()[1])


@blueprint.get("/static/style-<digest>.css")
def sheet(digest: str) -> Response:
    """Serve the stylesheet; an outdated URL, as after an upgrade, gets the current one uncached."""
    text, current = _stylesheet()
    response = Response(text, mimetype="text/css")
    if digest == current:
        response.cache_control.public = response.cache_control.immutable = True
        response.cache_control.max_age = MAX_AGE
    else:
        response.cache_control.no_cache = True
    response.set_etag(current)
    return response


def _stylesheet() -> tuple[str, str]:
    """Return the stylesheet and its hash."""
    return _concatenate(
        BASE, *(config.TEMPLATES / "games" / rules.slug / "style.css" for rules in games.latest())
    )


@cache
def _concatenate(*paths: Path) -> tuple[str, str]:
    """Concatenate and minify these files, once per process."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(path.read_text() for path in paths), flags=re.DOTALL)
    text = re.sub(r"\s*([{};,])\s*", r"\1", text.strip()).replace(": ", ":").replace(";}", "}")
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]
