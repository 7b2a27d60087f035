"""The files that a game's package brings in its folder `static/`: pictures, sounds and whatever its pages show."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import flask
from flask import Blueprint, Flask, Response, url_for
from werkzeug.security import safe_join

from byzanz import games
from server.web import stylesheet

blueprint = Blueprint("assets", __name__)


def init_app(app: Flask) -> None:
    """Make the URLs of these files available to templates."""
    app.jinja_env.globals["asset"] = url
    app.jinja_env.globals["share_picture"] = share_picture


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
    return stylesheet.kept_by_hash(flask.send_file(path), _digest(path), digest)


def _path(slug: str, name: str) -> Path | None:
    """Return the path of a file of a game, None if there is none; no name leads out of the folder."""
    folder = games.folder_of(slug)
    found = safe_join(str(folder / "static"), name) if folder else None
    return Path(found) if found and Path(found).is_file() else None


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
