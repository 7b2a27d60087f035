"""Games created, confirmed and announced by email: the setup for the tests of the lobby and its pages."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import select

from server.lobby import create
from server.lobby.settings import TimeControl
from server.store import engine, links, outbox, people
from server.store.engine import Base
from server.store.models import Game, GameSettings, Link, LinkPurpose, Mail, Person, Seat
from server.validation import Guest
from tests.support.busy_table import elsewhere

ALICE = Guest("Alice", "alice@example.org")
BOB = Guest("Bob", "bob@example.org")
CHARLIE = Guest("Charlie", "charlie@example.org")
DAPHNE = Guest("Daphne", "daphne@example.org")


def wish(**more: Any) -> create.GameRequest:
    """Return the form of a new game by Alice, with changes of it, its settings or its `time_control`."""
    values: dict[str, Any] = {
        "organiser": ALICE,
        "name": "The Golden Horn",
        "players": (BOB, CHARLIE),
        **more,
    }
    chosen = {"slug": "byzanz", **values.pop("time_control", TimeControl(86400))._asdict()}
    chosen |= {field.name: values.pop(field.name) for field in fields(GameSettings) if field.name in values}
    return create.GameRequest(settings=GameSettings(**chosen), **values)


def token(purpose: str, guest: Guest, game_id: str, now: datetime) -> str:
    """Return the token that an email of this purpose would carry."""
    with engine.transaction() as session:
        person = people.get_or_create(session, guest.address, guest.name, now)
        return links.token(links.link_for(session, LinkPurpose(purpose), person.id, game_id, now))


def mails(kind: str, guest: Guest | None = None) -> list[Mail]:
    """Return the queued emails of a kind, oldest first."""
    with engine.reading() as session:
        query = select(Mail).where(Mail.kind == kind, elsewhere(Mail)).order_by(Mail.id)
        if guest:
            query = query.join(Person, Person.id == Mail.person_id).where(Person.email == guest.address)
        return list(session.scalars(query))


def game_of(game_id: str) -> Game:
    """Return the row of a game."""
    with engine.reading() as session:
        return session.get_one(Game, game_id)


def seats_of(game_id: str) -> list[Seat]:
    """Return its seats, in order."""
    with engine.reading() as session:
        return list(session.scalars(select(Seat).where(Seat.game_id == game_id).order_by(Seat.seat)))


def everything() -> dict[str, list[Any]]:
    """Return every row of the database, which a refusal or an opened page must not change."""
    with engine.reading() as session:
        return {
            name: sorted(map(repr, session.execute(select(table)).all()))
            for name, table in Base.metadata.tables.items()
        }


def invited(now: datetime, **more: Any) -> tuple[str, str]:
    """Create a confirmed game; return its id and its organiser's token."""
    game_id = create.create_game(wish(**more), now)
    host = token("organise", more.get("organiser", ALICE), game_id, now)
    create.confirm_game(host, now, "alice cuts")
    return game_id, host


def person(guest: Guest, now: datetime) -> int:
    """Return the id of a person, created if necessary."""
    with engine.transaction() as session:
        return people.get_or_create(session, guest.address, guest.name, now).id


def known(guest: Guest, now: datetime) -> int:
    """Return the id of a person who plays in a game and so may sign in."""
    create.quick_game(
        slug="byzanz", players=[guest], bots=["greedy"] * 2, name="Elsewhere", start=True, now=now
    )
    return person(guest, now)


def sign_in_token(mail: Mail) -> str:
    """Return the token of the link in a queued sign-in email."""
    with engine.reading() as session:
        return links.token(session.get_one(Link, outbox.details(mail)["link"]))
