"""The feed of a person, as a reader fetches it."""

from __future__ import annotations

from server.accounts import login
from server.store import engine, links
from server.store.models import Link
from tests.conftest import NOW


def feed(person_id: int) -> str:
    """Return the URL of a fresh feed, without its ending."""
    login.renew_feed(person_id, NOW)
    with engine.reading() as session:
        feeds = session.query(Link).filter_by(person_id=person_id, purpose="feed", revoked_at=None)
        return links.url(feeds.one()).removeprefix("https://byzanz.test")
