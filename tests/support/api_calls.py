"""Calls of the API, and what each must answer."""

from __future__ import annotations

import json
from typing import Any

from flask.testing import FlaskClient

from server import play
from server.store import engine, people
from tests.conftest import NOW


def seen(client: FlaskClient, token: str) -> dict[str, Any]:
    """Return what the API shows to the seat of this token."""
    answer = client.get(f"/api/v1/seats/{token}")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = json.loads(answer.text)
    return told


def fault(answer: Any) -> dict[str, Any]:
    """Return the error of an answer."""
    told: dict[str, Any] = answer.json["error"]
    assert set(told) == {"code", "message", "legal"}
    return told


def refused(answer: Any, status: int, code: str) -> dict[str, Any]:
    """Return the error of an answer that must be this refusal."""
    assert (answer.status_code, fault(answer)["code"]) == (status, code), answer.text
    assert fault(answer)["message"]
    return fault(answer)


def moderated(game_id: str, act: str) -> None:
    """Perform a moderator's action on the game."""
    with engine.transaction() as session:
        person = people.get_or_create(session, "mod@example.org", "Mod", NOW)
        person.moderator = True
    play.moderate(game_id, act, reason="because", person_id=person.id, now=NOW)
