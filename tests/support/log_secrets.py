"""What no log may contain: tokens of links, addresses of people, and moves with their cards."""

from __future__ import annotations

from sqlalchemy import select

from server.store import engine, links
from server.store.models import Entry, Person


def tokens() -> set[str]:
    """Return the token of every link in the database, valid or not."""
    with engine.reading() as session:
        return {links.token(link) for link in links.select_rows(session)}


def secrets_in(text: str) -> list[str]:
    """Return the secrets of the whole database that a text contains; of a shuffle, some of its cards."""
    found = tokens()
    with engine.reading() as session:
        found |= {email for email in session.scalars(select(Person.email)) if email}
        for move in session.scalars(select(Entry.move).where(Entry.move.contains(" "))):
            words = move.split()
            if words[0] == "shuffle":
                found |= {" ".join(words[start : start + 3]) for start in range(2, len(words) - 2)}
            elif not move.startswith("!"):
                found.add(move)
    return sorted(secret for secret in found if secret in text)
