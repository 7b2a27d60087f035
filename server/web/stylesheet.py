"""The one stylesheet of all pages: the base and what each game looks like, joined."""

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
"""Seconds for which a browser may keep a sheet: whatever changes has another address."""


def init_app(app: Flask) -> None:
    """Tell the templates where the sheet is."""
    app.jinja_env.globals["stylesheet"] = url


def url() -> str:
    """The sheet's address; a hash of what is in it is part of it."""
    return url_for("stylesheet.sheet", digest=_stylesheet()[1])


@blueprint.get("/static/style-<digest>.css")
def sheet(digest: str) -> Response:
    """The sheet; whoever asks with an old address, as after an upgrade, gets the new one and does not keep it."""
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
    """The sheet and its hash."""
    return _concatenate(
        BASE, *(config.TEMPLATES / "games" / rules.slug / "style.css" for rules in games.latest())
    )


@cache
def _concatenate(*paths: Path) -> tuple[str, str]:
    """These files one after the other, once a process, without comments and what only makes them easy to read."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(path.read_text() for path in paths), flags=re.DOTALL)
    text = re.sub(r"\s*([{};,])\s*", r"\1", text.strip()).replace(": ", ":").replace(";}", "}")
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]
