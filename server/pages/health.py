"""Signs of life for whoever watches the server."""

from __future__ import annotations

from flask import Blueprint

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def alive() -> tuple[dict[str, str], int]:
    """The process answers."""
    return {"status": "alive"}, 200
