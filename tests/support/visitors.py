"""Games with every kind of visitor: players, former players, spectators, moderators, and their links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from itsdangerous import URLSafeTimedSerializer
from sqlalchemy.orm import Session
from werkzeug.test import TestResponse

from byzanz import chance
from server import play
from server.mail.text import quoted
from server.play.moderation import Newcomer
from server.store import engine, links, operations, people
from server.store.models import Alert, Block, Game, Link, LinkPurpose, Person, Seat
from server.store.statements import LinkRow
from tests.support.pages import log_in

BASE = "https://byzanz.test"
PURPOSES: tuple[str, ...] = (
    *("seat", "invite", "organise", "stop", "signin", "feed", "noinvite", "noplayers", "keep", "wish"),
    *("move", "object"),
)
UNKNOWN = "a" * 26
"""A token that was never issued."""
EVERYBODY = ("Alice", "Bob", "Charlie", "Daphne", "Eve", "Frank", "Gina", "Hugo", "Ida", "Sam", "Mia", "Zoe")
CSRF = "c" * 40
"""The CSRF secret in the cookie of each browser here."""


@dataclass
class Visitor:
    """A visitor with a cookie, links, or both.

    Args:
        name: of the person signed in with this browser, None for nobody.
        tokens: the visitor's tokens by purpose; missing ones are unknown tokens.
    """

    name: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)

    def token(self, purpose: str) -> str:
        """Return the visitor's token for a URL of this purpose."""
        return self.tokens.get(purpose, UNKNOWN)


@dataclass
class Visitors:
    """Two running games, one game with an open seat, and their people.

    `here`: Alice (organises), Zoe (replaced Bob), Charlie (his first link was revoked), Daphne (moderates); `there`:
    Eve, Frank, Gina; `open`: Hugo organises and plays, Ida is invited, one seat is open; he has a
    profile and blocks Bob. Sam is a spectator; Mia moderates and has no seat.
    """

    app: Flask
    now: datetime
    tokens: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """By game and person: the tokens by purpose, valid or not."""
    look: int = 0
    """The seq of Mia's look into `here`."""
    alarm: int = 0

    @property
    def until(self) -> str:
        """When the open table ends by itself."""
        return (self.now + timedelta(days=21)).isoformat()

    def visitor(self, name: str, game: str = "here", cookie: bool = False) -> Visitor:
        """Return a person with their links to a game."""
        return Visitor(name if cookie else None, self.tokens.get((game, name), {}))

    def browser(self, name: str | None = None) -> FlaskClient:
        """Return a browser, signed in or not; its forms pass the CSRF check."""
        made = self.app.test_client()
        if name is not None:
            with self.app.app_context():
                log_in(made, self.person(name), BASE)
        with made.session_transaction(base_url=BASE) as cookie:
            cookie["csrf_token"] = CSRF
        return made

    def person(self, name: str) -> int:
        """Return the id of a person."""
        with self.app.app_context(), engine.reading() as session:
            return session.query(Person).filter_by(email=f"{name.lower()}@example.org").one().id

    def csrf(self) -> str:
        """Return the CSRF token of forms in these browsers."""
        secret = self.app.config["SECRET_KEY"]
        return str(URLSafeTimedSerializer(secret, salt="wtf-csrf-token").dumps(CSRF))

    def ask(
        self, browser: FlaskClient, method: str, path: str, body: Mapping[str, Any] | None = None, **more: Any
    ) -> TestResponse:
        """Send a request as a page of this server would: a form, or JSON to the API."""
        headers = {"Referer": f"{BASE}/", "X-Request-ID": "the-same"} | more.pop("headers", {})
        if body is not None and path.startswith("/api/"):
            more["json"] = body
        elif body is not None:
            more["data"] = {"csrf_token": self.csrf(), **body}
        return browser.open(path, method=method, base_url=BASE, headers=headers, buffered=True, **more)


def make_visitors(app: Flask, now: datetime) -> Visitors:
    """Set everything up.

    Args:
        now: when the games start; sign-in links are valid for an hour from then.
    """
    made = Visitors(app, now)
    with app.app_context():
        with engine.transaction() as session:
            for game_id, names in (
                ("here", ("Alice", "Bob", "Charlie", "Daphne")),
                ("there", ("Eve", "Frank", "Gina")),
            ):
                _running(session, game_id, names, now)
            _open(session, now)
            _known(session, now)
            for name in ("Sam", "Mia", "Daphne"):
                _person(session, name, now).moderator = name != "Sam"
            for game_id, name in (
                [("here", n) for n in ("Alice", "Bob", "Charlie", "Daphne")]
                + [("there", n) for n in ("Eve", "Frank", "Gina")]
                + [("open", "Hugo"), ("open", "Ida")]
            ):
                made.tokens[game_id, name] = _links(session, game_id, name, now)
        _moderated(made, now)
        for name in EVERYBODY:
            made.browser(name)  # so that no test sees the session begin
    return made


def _person(session: Session, name: str, now: datetime) -> Person:
    return people.get_or_create(session, f"{name.lower()}@example.org", name, now)


def _game(session: Session, game_id: str, host: str, now: datetime, **more: Any) -> Game:
    seed = bytes(32)
    game = Game(
        id=game_id,
        slug="byzanz",
        rules=1,
        name=f"The table {game_id}",
        organiser_id=_person(session, host, now).id,
        status="inviting",
        allowance=86400,
        seed=seed.hex(),
        commitment=chance.commitment(game_id, seed),
        created_at=now - timedelta(hours=1),
        **more,
    )
    session.add(game)
    session.flush()
    return game


def _running(session: Session, game_id: str, names: tuple[str, ...], now: datetime) -> None:
    _game(session, game_id, names[0], now)
    for number, name in enumerate(names):
        person = _person(session, name, now)
        session.add(
            Seat(
                game_id=game_id, seat=number, stored_name=name, status="seated", person_id=person.id, cut=name
            )
        )
    session.flush()
    game = play.lock_game(session, game_id)
    assert game is not None
    play.begin(session, game.id, now)


def _open(session: Session, now: datetime) -> None:
    _game(session, "open", "Hugo", now, listed=True, open_until=now + timedelta(days=21), listed_at=now)
    for number, (name, status) in enumerate((("Hugo", "seated"), ("Ida", "invited"), ("", "free"))):
        person = _person(session, name, now).id if name else None
        session.add(Seat(game_id="open", seat=number, stored_name=name, status=status, person_id=person))
    session.flush()


def _known(session: Session, now: datetime) -> None:
    """Hugo has a profile that everybody may see but Bob, whom he blocks."""
    hugo = _person(session, "Hugo", now)
    hugo.handle, hugo.skeleton, hugo.shown = "Hugo", "hug0", "all"
    session.add(Block(person_id=hugo.id, other_id=_person(session, "Bob", now).id, at=now))


def _links(session: Session, game_id: str, name: str, now: datetime) -> dict[str, str]:
    person = _person(session, name, now)
    made: dict[str, LinkRow] = {}
    for purpose in PURPOSES:
        if purpose == "signin":
            expires = now + timedelta(hours=1)
            made[purpose] = links.issue(session, LinkPurpose(purpose), person.id, now, expires_at=expires)
        else:
            game = None if purpose in ("feed", "noinvite", "noplayers", "wish", "move", "object") else game_id
            made[purpose] = links.issue(session, LinkPurpose(purpose), person.id, now, game)
    return {purpose: links.token(link) for purpose, link in made.items()}


def _moderated(made: Visitors, now: datetime) -> None:
    """All but Daphne pass; Zoe replaces Bob, Charlie's links are revoked, Mia looks, an alert is open."""
    for game_id, seat in (("here", 0), ("here", 1), ("here", 2), ("there", 0)):
        play.submit(game_id, seat, "pass", seen=seat + 1, request_id="first", now=now)
    mia = made.person("Mia")
    for _ in range(4):
        play.moderate("there", "!note", reason="a word", person_id=mia, now=now)
    zoe = Newcomer("Zoe", "zoe@example.org")
    play.moderate("here", "!replace 1", reason="Bob is ill", person_id=mia, now=now, newcomer=zoe)
    play.moderate("here", "!link 2", reason="lost", person_id=mia, now=now)
    made.look = play.moderate("here", "!look 0", reason="a question", person_id=mia, now=now)
    with engine.transaction() as session:
        operations.raise_alert(session, "x", quoted("Something is wrong."), now)
        made.tokens["here", "Zoe"] = _links(session, "here", "Zoe", now)
    with engine.transaction() as session:
        made.alarm = session.query(Alert).one().id
        bob = made.tokens["here", "Bob"]
        used = links.find_any(session, LinkPurpose.SIGNIN, bob["signin"])
        assert used is not None
        session.get_one(Link, used.id).used_at = now
        for purpose in ("signin", "feed"):
            charlie = links.find_any(session, LinkPurpose(purpose), made.tokens["here", "Charlie"][purpose])
            assert charlie is not None
            session.get_one(Link, charlie.id).revoked_at = now
