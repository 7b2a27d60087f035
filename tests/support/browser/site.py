"""The games and people behind all pages, created when a page needs them and shared, and the ways to a page."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from server import play
from server.lobby import visitors
from server.store import engine
from server.store.engine import utc_now
from server.store.models import Game, Person, Seat
from tests.conftest import Table, begun
from tests.support import game_data
from tests.support.browser.server import BrowserServer
from tests.support.game_data import SEATS
from tests.support.games import advance, make, position
from tests.support.visitors import Visitors

KINDS = game_data.of_all("QUESTIONS")
ORDERS = game_data.of_all("ORDER_AHEAD")


@dataclass(frozen=True)
class Place:
    """A page.

    Args:
        person: the name of the person signed in, None for nobody.
        fields: what is posted to get there, None if it is only opened.
        status: of the answer.
    """

    path: str
    person: str | None = None
    fields: Mapping[str, str] | None = None
    status: int = 200


@dataclass
class Site:
    """All games; a test that changes one must ask for a `fresh` one."""

    house: BrowserServer
    there: Visitors
    places: dict[str, Place] = field(default_factory=dict)
    _made: dict[str, tuple[Table, int]] = field(default_factory=dict)

    def token(self, game: str, name: str, purpose: str = "seat") -> str:
        """Return a token of a person on this site."""
        return self.there.tokens[game, name][purpose]

    def asked(self, slug: str, kind: str, fresh: str = "") -> tuple[Table, int]:
        """Return a game with this question open, and the seat to move.

        Args:
            fresh: a name for a separate game; its deal differs, so only questions that come at once are possible.
        """
        name = f"{game_data.of(slug, 'DEALS', slug)}-{kind}{fresh}"
        if name not in self._made:
            game = begun(SEATS[slug], name, utc_now(), slug=slug)
            self._made[name] = game, advance(game, kind, KINDS[slug][kind], at=utc_now())
        return self._made[name]

    def first(self, slug: str, fresh: str) -> tuple[Table, int]:
        """Return a separate game at its first question, and the seat to move."""
        return self.asked(slug, next(iter(KINDS[slug])), f"-{fresh}")

    def midway(self, slug: str) -> Table:
        """Return a game that is under way."""
        name = f"{slug}-midway"
        if name not in self._made:
            game = begun(SEATS[slug], name, utc_now(), slug=slug)
            play_by_chance(game, game_data.of(slug, "UNDER_WAY", 10))
            self._made[name] = game, 0
        return self._made[name][0]

    def over(self, slug: str) -> Table:
        """Return a game that was played to its end."""
        name = f"{slug}-over"
        if name not in self._made:
            game = begun(SEATS[slug], name, utc_now(), slug=slug)
            play_by_chance(game)
            self._made[name] = game, 0
        return self._made[name][0]


Way = Callable[[Site], Place]
"""The steps to a page."""


def page_at(path: str, person: str | None = None, status: int = 200) -> Way:
    """A page that is only opened."""
    return lambda _site: Place(path, person, None, status)


def sent(path: str, person: str | None = None, status: int = 200, **fields: str) -> Way:
    """A page that answers a form."""
    return lambda _site: Place(path, person, fields, status)


def by_link(letter: str, game: str, name: str, purpose: str, rest: str = "", **fields: str) -> Way:
    """A page opened by a person's link; with fields, one that answers a form."""
    return lambda site: Place(f"/{letter}/{site.token(game, name, purpose)}{rest}", None, fields or None)


def trial(slug: str) -> str:
    """The path of the table of a visitor's game."""
    return f"/t/{visitors.start(slug, 'Guest', utc_now())}"


def play_first(game: Table, seat: int) -> str:
    """Play the first listed move of a seat and return it."""
    now = position(game.id)
    move = str(now.rules.moves(now.state, seat)[0])
    make(game, seat, move, at=utc_now())
    return move


def play_by_chance(game: Table, most: int = 1000) -> None:
    """Play on until the game is over, or this many moves."""
    dice = random.Random(most)
    for _ in range(most):
        now = position(game.id)
        if not now.awaited:
            return
        seat = min(now.awaited)
        make(game, seat, str(dice.choice(now.rules.moves(now.state, seat)[:6])), at=utc_now())


def leave_order(game: Table, seat: int, slug: str) -> None:
    """Leave an order that does nothing at once."""
    play.place_order(game.id, seat, ORDERS[slug], now=utc_now())


def moderate(site: Site, game_id: str, act: str) -> int:
    """Perform a moderator's action and return its seq."""
    return play.moderate(game_id, act, reason="A word.", person_id=site.there.person("Mia"), now=utc_now())


def set_game(game_id: str, **values: object) -> None:
    """Change the row of a game."""
    with engine.transaction() as session:
        game = session.get_one(Game, game_id)
        for name, value in values.items():
            setattr(game, name, value)


def set_seat(game_id: str, seat: int, **values: object) -> None:
    """Change the row of a seat."""
    with engine.transaction() as session:
        row = session.get_one(Seat, (game_id, seat))
        for name, value in values.items():
            setattr(row, name, value)


def set_zone(person: int, zone: str) -> None:
    """Set the time zone of a person."""
    with engine.transaction() as session:
        session.get_one(Person, person).time_zone = zone
