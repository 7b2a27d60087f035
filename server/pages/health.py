"""Signs of life for whoever watches the server."""

from __future__ import annotations

from typing import Any

from flask import Blueprint
from sqlalchemy.exc import SQLAlchemyError

from server import beats, db, revisions
from server.config import settings

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def alive() -> tuple[dict[str, str], int]:
    """The process answers."""
    return {"status": "alive"}, 200


@blueprint.get("/readyz")
def ready() -> tuple[dict[str, Any], int]:
    """Database, migrations and scheduler are in order; 503 with the reasons if not."""
    reasons = _reasons()
    return {"status": "not ready" if reasons else "ready", "reasons": reasons}, 503 if reasons else 200


def _reasons() -> list[str]:
    try:
        if revisions.present() != revisions.newest():
            return ["the database is not at the newest revision"]
        with db.reading() as session:
            silent = beats.silent(session, "scheduler", db.utc_now(), settings().tick)
    except SQLAlchemyError:  # what it says may hold the database's address
        return ["the database does not answer"]
    return ["the scheduler gives no sign of life"] if silent else []
