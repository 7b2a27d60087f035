"""Games created, confirmed, announced by email and played again: for the tests of the lobby and its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import select

from byzanz import games
from server import play
from server.lobby import create
from server.lobby.settings import TimeControl
from server.store import engine, links, people
from server.store.engine import Base
from server.store.models import Block, Game, GameSettings, LinkPurpose, Mail, Person, Seat
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.games import give_to_bots
from tests.support.neighbour_game import elsewhere

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
        ask = session.connection().exec_driver_sql  # some tests read them after each of many requests
        return {
            name: sorted(map(repr, ask(f'SELECT * FROM "{name}"').all())) for name in Base.metadata.tables
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


# ---- finished games whose people may play again ----

MODERATOR = "mia@example.org"


def moderator() -> int:
    """Return the id of a moderator who does not play."""
    with engine.transaction() as session:
        mia = people.get_or_create(session, MODERATOR, "Mia", NOW)
        mia.moderator = True
        return mia.id


def end(game: Table, now: datetime = NOW) -> None:
    """Let a moderator end a game."""
    play.moderate(game.id, "!abandon", reason="Enough", person_id=moderator(), now=now)


def ended(begin: Callable[..., Table], n: int = 3, bots: tuple[str, ...] = (), **more: object) -> Table:
    """Start a game and end it.

    Args:
        bots: the kinds of those on the last seats.
        more: columns of the game.
    """
    game = begin(n, **more)
    for seat, bot in enumerate(bots, n - len(bots)):
        give_to_bots(game, range(seat, seat + 1), bot)
    end(game)
    return game


def block(person_id: int, other_id: int) -> None:
    """Let a person block another."""
    with engine.transaction() as session:
        session.add(Block(person_id=person_id, other_id=other_id, at=NOW))


CHOICES: dict[str, tuple[Any, ...]] = {
    "slug": tuple(rules.slug for rules in games.latest() if {3, 4} <= set(rules.seats)),
    "allowance": (3600, 86400, 100_000),
    "bank": (0, 7, 172_800),
    "days_off": ("", "67", "135"),
    "options": ("{}", '{"short": true}'),
    "time_zone": ("UTC", "Asia/Kathmandu"),
    "listed": (False, True),
    "asks": (0, 90, 98),
    "keep_going": (False, True),
    "talk": (False, True),
}
"""Values of each setting, for games of three and of four."""


def any_settings() -> st.SearchStrategy[GameSettings]:
    """Return a strategy for the settings of a game; a setting without two values here fails."""
    assert {name for name, values in CHOICES.items() if len(values) > 1} == {
        field.name for field in fields(GameSettings)
    }
    return st.builds(GameSettings, **{name: st.sampled_from(values) for name, values in CHOICES.items()})


def set_game(game_id: str, **values: object) -> None:
    """Change columns of a game."""
    with engine.transaction() as session:
        game = session.get_one(Game, game_id)
        for name, value in values.items():
            setattr(game, name, value)


def open_table(name: str, now: datetime = NOW, **more: object) -> str:
    """Open a table of Alice's with Bob invited and one free seat; return its id."""
    return invited(now, **{"name": name, "players": (BOB,), "free": 1, "listed": True} | more)[0]
