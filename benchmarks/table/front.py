"""The database statements of the signed-in front page, by the number of the person's games."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import flask
from flask.testing import FlaskClient
from sqlalchemy import event, select

from benchmarks.fixtures import NAMES, start_game, temporary_server
from benchmarks.table.figures import Figures, Size
from server.accounts import login
from server.store import engine
from server.store.models import Person, Seat


def measure(size: Size, figures: Figures) -> None:
    """Open the page of a person with one game, and of one with many, and count the statements of each."""
    with temporary_server() as (app, _):
        for games in (1, size.front):
            for _ in range(games):
                game_id = start_game(f"front{games}")
            client = app.test_client()
            with app.test_request_context(), client.session_transaction() as session:
                login.sign_in(_first_player(game_id), "", engine.utc_now())
                session.update(flask.session)
            _open(client)  # the first one compiles the templates
            with counted() as statements:
                _open(client)
            name = "one_game" if games == 1 else "many_games"
            figures.add(f"front_page_statements_with_{name}", len(statements))
        figures.add("front_page_games", size.front)


def _first_player(game_id: str) -> int:
    with engine.reading() as session:
        first = select(Person.id).join(Seat).where(Seat.game_id == game_id, Person.name == NAMES[0])
        return session.scalars(first).one()


def _open(client: FlaskClient) -> None:
    answer = client.get("/")
    if answer.status_code != 200:
        raise RuntimeError(f"the front page answered {answer.status_code}")


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collect the statements that are executed in the block."""
    found: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        found.append(statement)

    event.listen(engine.db.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine.db.engine, "before_cursor_execute", note)
