"""A database that fails: each answer says truly whether anything has changed, and a repeated request finds out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from server.store import engine
from tests.conftest import Table
from tests.support.answers import refused
from tests.support.games import entries_by

Seating = Callable[..., Table]
FORM = {"move": "pass", "seen": "1", "request_id": "again"}
JSON: dict[str, Any] = {"move": "pass", "seen": 1, "request_id": "again"}
UNSURE = "We do not know whether your move was saved. Reload the table to see."


@contextmanager
def failing(at: str, how: Callable[[Connection], object]) -> Iterator[None]:
    """Call this when each transaction begins, or before its COMMIT is sent."""
    event.listen(engine.db.engine, at, how)
    try:
        yield
    finally:
        event.remove(engine.db.engine, at, how)


def down(_connection: Connection) -> None:
    raise OperationalError("", {}, Exception("the server has gone"))


def lose_answer(connection: Connection) -> None:
    """Carry out the COMMIT of a writing transaction, but lose the database's answer."""
    if connection.get_execution_options().get("writes"):
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.commit()
        down(connection)


def unavailable(answer: Any) -> None:
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0


def test_a_move_whose_commit_failed_is_in_doubt_and_its_page_says_so(
    client: FlaskClient, table: Seating
) -> None:
    game = table(3)
    page = f"/t/{game.tokens[0]}"
    with failing("commit", lose_answer):
        answer = client.post(page, data=FORM)
    unavailable(answer)
    assert UNSURE in answer.text
    assert "Nothing has changed" not in answer.text
    assert f'href="{page}"' in answer.text
    assert entries_by(game.id)[0] == (0, "player", "pass")
    again = client.post(page, data=FORM)
    assert (again.status_code, again.headers["Location"]) == (303, f"{page}?played=2")
    assert entries_by(game.id).count((0, "player", "pass")) == 1


def test_a_move_whose_commit_failed_is_in_doubt_for_the_api_and_can_be_repeated(
    client: FlaskClient, table: Seating
) -> None:
    game = table(3)
    call = f"/api/v1/seats/{game.tokens[0]}/moves"
    with failing("commit", lose_answer):
        answer = client.post(call, json=JSON)
    unavailable(answer)
    assert refused(answer, 503, "unavailable")["message"] == UNSURE
    again = client.post(call, json=JSON)
    assert (again.status_code, again.json) == (200, {"seq": 2})
    assert entries_by(game.id).count((0, "player", "pass")) == 1


def test_another_change_whose_commit_failed_is_in_doubt_as_well(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    with failing("commit", lose_answer):
        answer = client.post(f"/api/v1/seats/{game.tokens[1]}/orders", json={"order": "pass this lot"})
    unavailable(answer)
    unsure = "We do not know whether your change was saved. Reload the page to see."
    assert refused(answer, 503, "unavailable")["message"] == unsure


def test_an_error_after_the_commit_does_not_claim_that_nothing_has_changed(
    client: FlaskClient, table: Seating, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3)

    def faulty(*_args: object, **_more: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("server.web.seat.turn.url_for", faulty)
    answer = client.post(f"/t/{game.tokens[0]}", data=FORM)
    assert answer.status_code == 500
    assert UNSURE in answer.text


def test_a_request_that_never_reached_its_commit_has_changed_nothing(
    client: FlaskClient, table: Seating
) -> None:
    game = table(3)
    for token, other in zip(game.tokens[:2], ("again", "other"), strict=True):
        with failing("begin", down):
            page = client.post(f"/t/{token}", data=FORM | {"request_id": other})
            call = client.post(f"/api/v1/seats/{token}/moves", json=JSON | {"request_id": other})
        unavailable(page)
        assert "Nothing has changed" in page.text
        unavailable(call)
        assert "Nothing has changed" in refused(call, 503, "unavailable")["message"]
        assert client.get("/healthz").status_code == 200
    assert entries_by(game.id) == []
    assert client.post(f"/t/{game.tokens[0]}", data=FORM).status_code == 303
    with failing("begin", down):  # what the request before has committed is not in doubt
        answer = client.post(f"/t/{game.tokens[1]}", data=FORM)
    assert "Nothing has changed" in answer.text


def test_a_page_that_only_shows_something_is_in_no_doubt(client: FlaskClient, table: Seating) -> None:
    game = table(3)
    for path in (f"/t/{game.tokens[0]}", f"/api/v1/seats/{game.tokens[0]}", "/"):
        with failing("commit", down):
            answer = client.get(path)
        unavailable(answer)
        assert "We do not know" not in answer.text


def test_a_move_of_a_program_whose_commit_failed_is_in_doubt_on_the_short_way_too(
    client: FlaskClient, table: Seating
) -> None:
    game = table(3)
    moves = f"/api/v1/seats/{game.tokens[0]}"
    assert client.get(moves).status_code == 200  # its link is known now
    with failing("commit", lose_answer):
        answer = client.post(f"{moves}/moves", json=JSON)
    unavailable(answer)
    assert refused(answer, 503, "unavailable")["message"] == UNSURE
    assert client.post(f"{moves}/moves", json=JSON).status_code == 200
    assert entries_by(game.id) == [(0, "player", "pass")]
