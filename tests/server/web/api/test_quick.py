"""The short way of a move answers as the long one does, counts as it does, and leaves to it whatever is not plain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from server import create_app
from server.play import moderate
from server.play.moderation import Newcomer
from server.store import engine, links, operations, people
from server.store.models import Presence
from server.web import http
from server.web.http import limiter
from tests.conftest import NOW, Table, settings
from tests.support.games import position

Seating = Callable[..., Table]


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the paths of the requests that pass Flask."""
    found: list[str] = []
    request_context = Flask.request_context

    def note(self: Flask, environ: dict[str, Any]) -> Any:
        found.append(environ["PATH_INFO"])
        return request_context(self, environ)

    monkeypatch.setattr(Flask, "request_context", note)
    return found


@pytest.fixture
def limited(app: Flask, database_url: str) -> Iterator[FlaskClient]:
    """Return a client of another process on the same database, which limits requests."""
    assert app
    other = create_app(settings(database_url, rate_limits=True))
    limiter.reset()
    yield other.test_client()
    limiter.reset()
    with other.app_context():
        engine.db.engine.dispose()


def play(client: FlaskClient, game: Table, **more: Any) -> TestResponse:
    """Let the seat that is to move pass, or do what `more` says."""
    at = position(game.id)
    seat = min(at.awaited)
    body = {"move": "pass", "seen": at.head, "request_id": f"r{at.head}"} | more.pop("body", {})
    return client.post(f"/api/v1/seats/{game.tokens[seat]}/moves", **({"json": body} | more))


def opened(client: FlaskClient, game: Table) -> None:
    """Let this process open the links of all seats."""
    for token in game.tokens:
        assert client.get(f"/api/v1/seats/{token}").status_code == 200


def test_a_move_takes_the_short_way_once_its_link_was_opened(
    client: FlaskClient, table: Seating, long_way: list[str]
) -> None:
    game = table(4)
    links.forget()
    first = play(client, game)
    assert len(long_way) == 1
    opened(client, game)
    long_way.clear()
    second = play(client, game)
    assert long_way == []
    assert (first.status_code, second.status_code) == (201, 201)
    assert (first.json, second.json) == ({"seq": 2}, {"seq": 3})
    changing = {"X-Request-ID", "Content-Length"}
    assert [each for each in second.headers if each[0] not in changing] == [
        each for each in first.headers if each[0] not in changing
    ]
    assert second.headers["X-Request-ID"]
    assert second.data == b'{"seq":3}\n'


def test_a_repetition_gets_the_same_answer(client: FlaskClient, table: Seating, long_way: list[str]) -> None:
    game = table(4)
    opened(client, game)
    long_way.clear()
    body = {"move": "pass", "seen": 1, "request_id": "again"}
    answers = [client.post(f"/api/v1/seats/{game.tokens[0]}/moves", json=body) for _ in range(2)]
    assert [(each.status_code, each.json) for each in answers] == [(201, {"seq": 2}), (200, {"seq": 2})]
    assert long_way == []


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"body": {"move": "bid"}}, 422),
        ({"body": {"seen": 0}}, 409),
        ({"body": {"seen": 99}}, 422),
        ({"body": {"request_id": ""}}, 422),
        ({"data": b"{", "json": None, "content_type": "application/json"}, 400),
        ({"data": b"[" * 5000, "json": None, "content_type": "application/json"}, 400),
        ({"data": b"\xff", "json": None, "content_type": "application/json"}, 400),
        ({"data": b"move=pass", "json": None, "content_type": "application/x-www-form-urlencoded"}, 415),
        ({"data": b" " * 20000, "json": None, "content_type": "application/json"}, 413),
    ],
)
def test_what_is_not_played_is_answered_by_the_long_way_as_ever(
    client: FlaskClient, table: Seating, long_way: list[str], more: dict[str, Any], status: int
) -> None:
    game = table(4)
    links.forget()
    expected = play(client, game, **dict(more))
    opened(client, game)
    long_way.clear()
    answer = play(client, game, **dict(more))
    assert len(long_way) == 1
    assert (answer.status_code, answer.json) == (expected.status_code, expected.json)
    assert answer.status_code == status
    assert position(game.id).head == 1


def test_a_link_that_was_revoked_opens_nothing_although_it_is_known(
    client: FlaskClient, table: Seating
) -> None:
    game = table(4)
    opened(client, game)
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, NOW)
    assert play(client, game).status_code == 404
    assert position(game.id).head == 1


def test_a_seat_that_has_a_new_player_opens_to_them_alone(client: FlaskClient, table: Seating) -> None:
    game = table(4)
    opened(client, game)
    with engine.transaction() as session:
        mia = people.get_or_create(session, "mia@example.org", "Mia", NOW)
        mia.moderator = True
        session.flush()
        moderator = mia.id
    zoe = Newcomer("Zoe", "zoe@example.org")
    moderate(game.id, "!replace 0", reason="gone", person_id=moderator, now=NOW, newcomer=zoe)
    assert play(client, game).status_code == 404


@pytest.mark.parametrize("page", [False, True])
@pytest.mark.parametrize("wrong", [("g1", 2), ("elsewhere", 0)])
def test_a_link_that_opens_another_seat_by_now_opens_that(
    client: FlaskClient, table: Seating, wrong: tuple[str, int], *, page: bool
) -> None:
    game = table(4)
    opened(client, game)
    token = game.tokens[0]
    known = links.known_seat(token)
    assert known is not None
    links._known[links._digest(token)] = replace(known, game_id=wrong[0], seat=wrong[1])
    if page:
        form = {"move": "pass", "seen": 1, "request_id": "r1"}
        assert client.post(f"/t/{token}", data=form).status_code == 303
    else:
        assert play(client, game).status_code == 201
    assert position(game.id).head == 2
    assert links.known_seat(token) == known


def test_both_ways_count_towards_the_same_limits(
    limited: FlaskClient, table: Seating, long_way: list[str]
) -> None:
    game = table(4)
    counted = []
    for known in (False, True):
        opened(limited, game)
        if not known:
            links.forget()
        limiter.reset()
        long_way.clear()
        assert play(limited, game, body={"request_id": f"r{known}"}).status_code == 201
        counted.append(dict(limiter.storage.storage))  # type: ignore[attr-defined]
        assert len(long_way) == (not known)
    assert counted[0] == counted[1]
    assert set(counted[0].values()) == {1}


def test_the_limit_of_moves_holds_on_the_short_way(limited: FlaskClient, table: Seating) -> None:
    game = table(4)
    opened(limited, game)
    limiter.reset()
    body = {"move": "pass", "seen": 1, "request_id": "same"}
    answers = [limited.post(f"/api/v1/seats/{game.tokens[0]}/moves", json=body) for _ in range(121)]
    assert [each.status_code for each in answers] == [201, *[200] * 119, 429]
    assert answers[-1].headers["Retry-After"]


def test_a_refused_move_counts_once(limited: FlaskClient, table: Seating) -> None:
    game = table(4)
    opened(limited, game)
    limiter.reset()
    assert play(limited, game, body={"move": "bid"}).status_code == 422
    assert set(limiter.storage.storage.values()) == {1}  # type: ignore[attr-defined]


def test_the_player_was_there(client: FlaskClient, table: Seating) -> None:
    game = table(4)
    opened(client, game)
    people.forget()
    play(client, game)
    people.store()
    with engine.reading() as session:
        assert session.query(Presence).count() == 1


def test_with_a_wrong_clock_nothing_is_played(
    client: FlaskClient, table: Seating, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(4)
    opened(client, game)
    monkeypatch.setitem(operations._found, "off", timedelta(hours=1))
    assert play(client, game).status_code == 503
    assert position(game.id).head == 1


def test_networks_are_read_from_the_request() -> None:
    assert http.networks_of({"REMOTE_ADDR": "192.0.2.7"}) == ("192.0.2.7/32", "192.0.2.0/24")
    assert http.networks_of({}) == ("no address",)


@pytest.mark.parametrize("page", [False, True])
def test_who_holds_a_revoked_link_was_not_there(client: FlaskClient, table: Seating, *, page: bool) -> None:
    game = table(4)
    opened(client, game)
    with engine.transaction() as session:
        links.revoke(session, game.people[0], game.id, NOW)
    people.forget()
    if page:
        client.post(f"/t/{game.tokens[0]}", data={"move": "pass", "seen": 1, "request_id": "r1"})
    else:
        play(client, game)
    people.store()
    with engine.reading() as session:
        assert session.query(Presence).count() == 0
