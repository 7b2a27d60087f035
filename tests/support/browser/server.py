"""A server for browser tests: a real port, the scheduler stopped, games advanced directly through `server.play`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flask import Flask

from server import create_app
from server.accounts import login
from server.demo import free_port
from server.store import engine
from server.store.models import Person
from tests.conftest import settings
from tests.support.pages import session_of
from tests.support.servers import below, serving
from tests.support.visitors import CSRF

HOST = "127.0.0.1"


@dataclass(frozen=True)
class BrowserServer:
    """The running server.

    Args:
        origin: its URL without a trailing slash.
    """

    app: Flask
    origin: str

    def cookie(self, name: str) -> dict[str, str]:
        """Return the cookie that signs in the person of this name; `Scene.csrf` fits its forms."""
        with engine.reading() as session:
            person = session.query(Person).filter_by(email=f"{name.lower()}@example.org").one().id
        serializer = self.app.session_interface.get_signing_serializer(self.app)  # type: ignore[attr-defined]
        value = str(serializer.dumps({login.COOKIE_KEY: session_of(person), "csrf_token": CSRF}))
        return {"name": self.app.config["SESSION_COOKIE_NAME"], "value": value, "url": self.origin}


@contextmanager
def browser_server(database_url: str, path: str = "") -> Iterator[BrowserServer]:
    """Run a server on this database, under a path of its host, with its context pushed, until the block ends."""
    port = free_port()
    origin = f"http://{HOST}:{port}{path}"
    app = create_app(settings(database_url, base_url=origin))
    with serving(app, port, below(app, path)), app.app_context():
        yield BrowserServer(app, origin)
        engine.db.session.remove()
