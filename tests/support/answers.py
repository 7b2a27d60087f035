"""What programs read from a server: the API, the feed of a person, the figures of /metrics."""

from __future__ import annotations

import json
from typing import Any

from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from server import play
from server.accounts import login
from server.store import engine, links, people
from server.store.models import LinkPurpose
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


# ---- feeds ----


def feed(person_id: int) -> str:
    """Return the URL of a fresh feed, without its ending."""
    login.renew_feed(person_id, NOW)
    with engine.reading() as session:
        own = links.existing(session, LinkPurpose.FEED, person_id, None)
        assert own is not None
        return links.url(own).removeprefix("https://byzanz.test")


# ---- metrics ----


def figures(client: FlaskClient) -> dict[str, float]:
    """Return the figures of a scrape, by name and label."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in samples}
