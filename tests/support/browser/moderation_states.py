"""The pages of moderators."""

from __future__ import annotations

import secrets
from datetime import timedelta

from server.community import reports, talk
from server.store.engine import utc_now
from tests.support.browser.account_states import signed_in
from tests.support.browser.lobby_states import offered_seat
from tests.support.browser.site import (
    Place,
    Site,
    Way,
    moderate,
    page_at,
    sent,
)


def looked(site: Site) -> Place:
    """A page that a moderator opened."""
    return Place(f"/m/here/look/{site.there.look}", "Mia")


def talked(site: Site) -> Place:
    """The page of a moderator's look, with what was said."""
    alice, mia, now = site.there.person("Alice"), site.there.person("Mia"), utc_now()
    for text in ("Hello", "Hello again\nand more"):
        talk.say("here", alice, text, request_id=secrets.token_hex(), now=now)
    reports.hide("here", 1, "twice", mia, now)
    seq = moderate(site, "here", "!look public")
    return Place(f"/m/here/look/{seq}", "Mia")


def preview(act: str, reason: str = "A word.", status: int = 200, **fields: str) -> Way:
    """A preview of a moderator's action."""
    return sent("/m/here/preview", "Mia", status, act=act, reason=reason, **fields)


MODERATION: dict[str, Way] = {
    "moderate vacant": lambda site: Place(f"/m/{offered_seat(site).partition('/')[0]}", "Mia"),
    "moderate": page_at("/m/", "Mia"),
    "moderate erase": page_at("/m/erase", "Mia"),
    "moderate erase, signed in long ago": signed_in("/m/erase", "Daphne", timedelta(hours=1)),
    "moderate erase refused": sent("/m/erase", "Mia", 422, address="nobody"),
    "moderate search": page_at("/m/games?q=table&status=running", "Mia"),
    "moderate nothing found": page_at("/m/games?q=zzz", "Mia"),
    "moderate deeds": page_at("/m/deeds", "Mia"),
    "moderate game": page_at("/m/here", "Mia"),
    "moderate own game": page_at("/m/here", "Daphne"),
    "moderate history": page_at("/m/here?at=3", "Mia"),
    "moderate void": preview("void", entry="2"),
    "moderate replace": preview("replace", seat="1", who="Zed <zed@example.org>"),
    "moderate extend": preview("extend", seat="3", hours="12"),
    "moderate refused": preview("note", reason="", status=422),
    "moderate look": looked,
    "moderate talk": talked,
    "moderate talk refused": sent("/m/here/talk", "Mia", 422, do="silence", seat="0", days="400", reason="x"),
}
