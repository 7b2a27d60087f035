"""The API: what a seat's token opens, how moves are answered; every failure is one clear JSON answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from byzanz import record
from server import create_app
from server.store import engine, links
from server.store.models import Game, Person
from tests.conftest import NOW, Table
from tests.conftest import settings as configured
from tests.support.answers import fault, moderated, refused, seen
from tests.support.games import append
from tests.support.results import counted, handled

Seating = Callable[..., Table]


def awaited(client: FlaskClient, table: Table) -> tuple[str, dict[str, Any]]:
    """Return the token of the first seat to move, and its view."""
    for token in table.tokens:
        told = seen(client, token)
        if told["seat"] in told["awaited"]:
            return token, told
    raise AssertionError("nobody is awaited")


def post_move(client: FlaskClient, token: str, move: object, head: object, request_id: object = "r1") -> Any:
    """Submit a move."""
    body = {"move": move, "seen": head, "request_id": request_id}
    return client.post(f"/api/v1/seats/{token}/moves", json=body)


def test_a_seat_sees_its_own_hand_and_its_moves(client: FlaskClient, table: Seating) -> None:
    seats = table(4)
    told = [seen(client, token) for token in seats.tokens]
    keys = {"game", "id", "rules", "seq", "seat", "awaited", "deadline", "view", "moves", "result"}
    for number, each in enumerate(told):
        assert set(each) == keys
        assert (each["game"], each["id"], each["rules"], each["seat"]) == ("byzanz", "g1", 1, number)
        assert [hand is not None for hand in each["view"]["hands"]] == [seat == number for seat in range(4)]
        assert each["result"] is None
        assert each["deadline"] is None  # no mail server has taken the turn mail yet
    (asked,) = told[0]["awaited"]
    assert "pass" in told[asked]["moves"]
    assert all("pass" not in each["moves"] for each in told if each["seat"] != asked)


def test_the_deadline_is_that_of_the_seats_turn(client: FlaskClient, table: Seating) -> None:
    table(3)
    with engine.transaction() as session:
        person = session.query(Person).filter_by(email="alice@example.org").one()
        person.silent = True  # wants no mail: the clock starts when the turn opens
    seats = table(3, "g2")
    told = [seen(client, token) for token in seats.tokens]
    expected = engine.stamp(NOW + timedelta(days=1)) if 0 in told[0]["awaited"] else None
    assert [each["deadline"] for each in told] == [expected, None, None]


def test_a_move_is_played_once(client: FlaskClient, table: Seating) -> None:
    token, told = awaited(client, table(3))
    first = post_move(client, token, " PASS ", told["seq"])
    again = post_move(client, token, "pass", told["seq"])
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json == again.json == {"seq": told["seq"] + 1}
    other = next(move for move in told["moves"] if move != "pass")
    refused(post_move(client, token, other, told["seq"]), 422, "bad_request")


def test_what_is_not_legal_is_answered_with_all_that_is(client: FlaskClient, table: Seating) -> None:
    token, told = awaited(client, table(3))
    error = refused(post_move(client, token, "take cloth", told["seq"]), 422, "illegal")
    assert error["legal"] == told["moves"]
    assert (
        refused(post_move(client, token, "dance", told["seq"]), 422, "unreadable")["legal"] == told["moves"]
    )
    assert seen(client, token) == told


def test_moves_at_the_wrong_time_change_nothing(client: FlaskClient, table: Seating) -> None:
    seats = table(3)
    token, told = awaited(client, seats)
    other = next(one for one in seats.tokens if one != token)
    refused(post_move(client, other, "pass", told["seq"]), 409, "not_your_turn")
    refused(post_move(client, token, "pass", told["seq"] - 1), 409, "stale")
    refused(post_move(client, token, "pass", told["seq"] + 1), 422, "bad_request")
    moderated("g1", "!pause")
    refused(post_move(client, token, "pass", told["seq"]), 409, "paused")
    resting = seen(client, token)
    assert (resting["awaited"], resting["moves"], resting["deadline"]) == ([], [], None)
    moderated("g1", "!abandon")
    refused(post_move(client, token, "pass", told["seq"]), 409, "not_running")


def test_a_game_that_is_over_hides_nothing(client: FlaskClient, table: Seating) -> None:
    seats = table(3)
    moderated("g1", "!abandon")
    told = seen(client, seats.tokens[0])
    assert told["result"] == {"scores": [0, 0, 0], "winners": [], "reason": "abandoned"}
    assert all(told["view"]["hands"])
    assert told["moves"] == []
    public, own = (client.get(path).text for path in (RECORD, f"/api/v1/seats/{seats.tokens[0]}/record"))
    assert public == own
    (whole,) = record.read(public)
    assert whole.header.seed == bytes(32)
    assert record.verify(whole).unchecked == 0


RECORD = "/api/v1/games/g1/record"


def test_the_record_of_a_running_game_tells_only_what_its_reader_may_know(
    client: FlaskClient, table: Seating
) -> None:
    token, told = awaited(client, table(3))
    post_move(client, token, "pass", told["seq"])
    answer = client.get(RECORD)
    assert answer.mimetype == "application/jsonl"
    (public,) = record.read(answer.text)
    assert public.header.seats == ("Alice", "Bob", "Charlie")
    assert public.header.seed is None
    assert public.result is None
    assert (public.entries[0].move, public.entries[0].salt) == ("shuffle deal", None)
    own = next(record.read(client.get(f"/api/v1/seats/{token}/record").text))
    assert own.entries[told["seq"]].salt is not None  # its own pass
    assert public.entries[told["seq"]].salt is None
    assert record.verify(public).unchecked == len(public.entries)


def test_a_dead_link_opens_nothing(client: FlaskClient, table: Seating) -> None:
    seats = table(3)
    with engine.transaction() as session:
        links.revoke(session, seats.people[0], "g1", NOW)
    for token in (seats.tokens[0], "a" * 26, "x", "ü", "%00", "a" * 5000):
        refused(client.get(f"/api/v1/seats/{token}"), 404, "no_such_seat")
        refused(client.get(f"/api/v1/seats/{token}/record"), 404, "no_such_seat")
        refused(post_move(client, token, "pass", 1), 404, "no_such_seat")


@pytest.mark.parametrize("game_id", ["g2", "%00", "ü", "a" * 300, "%F0%9F%83%8F", "'"])
def test_an_unknown_game_has_no_record(client: FlaskClient, game_id: str) -> None:
    refused(client.get(f"/api/v1/games/{game_id}/record"), 404, "no_such_game")


def test_a_game_that_has_not_begun_or_is_set_aside_says_so(client: FlaskClient, table: Seating) -> None:
    token, told = awaited(client, table(3))
    append("g1", seat=0, by="player", move="dance", now=NOW)  # the rules refuse it
    refused(post_move(client, token, "pass", told["seq"]), 409, "not_running")
    refused(client.get(f"/api/v1/seats/{token}"), 409, "not_running")
    with engine.transaction() as session:
        game = session.get_one(Game, "g1")
        game.status, game.started_at = "inviting", None
    refused(client.get(RECORD), 409, "not_running")


BODIES = [
    ("", 400),
    ("{", 400),
    (b"\xff\xfe", 400),
    ("[" * 10_000, 400),
    ("1" * 10_000, 400),
    ("null", 422),
    ("[]", 422),
    ("{}", 422),
    ('{"move":"pass","seen":true,"request_id":"r"}', 422),
    ('{"move":"pass","seen":-1,"request_id":"r"}', 422),
    ('{"move":"pass","seen":1.5,"request_id":"r"}', 422),
    ('{"move":"pass","seen":1e99,"request_id":"r"}', 422),
    ('{"move":"pass","seen":99999999999999999999,"request_id":"r"}', 422),
    ('{"move":"pass","seen":1,"request_id":""}', 422),
    ('{"move":"pass","seen":1,"request_id":"r\\n"}', 422),
    ('{"move":"pass","seen":1,"request_id":"' + "r" * 65 + '"}', 422),
    ('{"move":"","seen":1,"request_id":"r"}', 422),
    ('{"move":7,"seen":1,"request_id":"r"}', 422),
    ('{"move":"pa\\u0000ss","seen":1,"request_id":"r"}', 422),
    ('{"move":"\\ud800","seen":1,"request_id":"r"}', 422),
    ('{"move":"pass","seen":1,"request_id":"r","by":"moderator"}', 422),
    ('{"move":"' + "p" * 1001 + '","seen":1,"request_id":"r"}', 422),
    ('{"move":"' + "p" * 20_000 + '","seen":1,"request_id":"r"}', 413),
]


@pytest.mark.parametrize(("body", "status"), BODIES)
def test_a_malformed_body_gets_one_clear_answer(
    client: FlaskClient, table: Seating, body: str | bytes, status: int
) -> None:
    token, told = awaited(client, table(3))
    answer = client.post(f"/api/v1/seats/{token}/moves", data=body, content_type="application/json")
    assert answer.status_code == status
    assert fault(answer)["message"]
    assert "\n" not in fault(answer)["message"]
    assert seen(client, token) == told


def test_whatever_fails_under_api_is_told_in_json(client: FlaskClient, table: Seating) -> None:
    token, _ = awaited(client, table(3))
    moves = f"/api/v1/seats/{token}/moves"
    refused(client.get("/api/v1/nothing"), 404, "not_found")
    refused(client.get("/api/"), 404, "not_found")
    wrong = client.get(moves)
    refused(wrong, 405, "method_not_allowed")
    assert "POST" in wrong.headers["Allow"]
    refused(client.post(moves, data="move=pass"), 415, "unsupported_media_type")
    assert client.get("/nothing").mimetype == "text/html"


def test_too_many_calls_are_told_in_json(database_url: str) -> None:
    app = create_app(configured(database_url, rate_limits=True))
    client = app.test_client()
    answers = [client.post(f"/api/v1/seats/{'a' * 26}/moves", json={}) for _ in range(130)]
    with app.app_context():
        engine.db.engine.dispose()
    assert {answer.status_code for answer in answers} == {404, 429}
    refused(answers[-1], 429, "too_many_requests")


def references(part: Any) -> Iterator[str]:
    """Yield all references within a part of the document."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for each in part.values():
            yield from references(each)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


def test_the_document_is_one_as_the_standard_wants_it(client: FlaskClient) -> None:
    described = json.loads(client.get("/api/v1/openapi.json").text)
    schemathesis.openapi.from_dict(described).validate()
    known = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert set(references(described)) <= known
    assert {name for name in known if "/VIEW_" not in name} <= set(references(described))
    for path, methods in described["paths"].items():
        for method in ("get", "post", "delete"):
            if method not in methods:
                continue
            responses = methods[method]["responses"]
            says_what = method == "post" and not path.endswith("/again")
            assert ("requestBody" in methods[method]) == says_what
            assert {status for status in responses if status[0] == "2"}
            assert {"429", *(["404"] if "{" in path else [])} <= set(responses)
            for status, response in responses.items():
                if status[0] == "4":
                    (body,) = set(references(response))
                    assert body == "#/components/schemas/ErrorBody"


def test_the_document_describes_every_call(app: Flask, client: FlaskClient) -> None:
    described = json.loads(client.get("/api/v1/openapi.json").text)
    rules = {
        rule.rule.replace("<", "{").replace(">", "}")
        for rule in app.url_map.iter_rules()
        if "/api/" in rule.rule
    }
    assert set(described["paths"]) == rules - {"/api/v1/openapi.json"}
    assert described["openapi"] == "3.1.0"


words = st.sampled_from(
    ["pass", "bid", "sell", "cloth", "cloth2", "sp2", "wine 3", "take", "tax", "done", "", " ", "\x00"]
)
moves = st.lists(words | st.text(max_size=8), max_size=6).map(" ".join)
odd = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=st.fixed_dictionaries(
        {},
        optional={
            "move": moves | odd,
            "seen": st.integers() | odd,
            "request_id": st.text(max_size=9) | odd,
            "more": odd,
        },
    )
)
def test_no_body_is_a_fault(client: FlaskClient, table: Seating, body: dict[str, Any]) -> None:
    with engine.reading() as session:
        begun = session.get(Game, "g1") is not None
    if not begun:
        TOKENS[:] = table(3).tokens
    before = client.get(RECORD).text
    answer = client.post(
        f"/api/v1/seats/{TOKENS[0]}/moves", data=json.dumps(body), content_type="application/json"
    )
    assert answer.status_code in {200, 201, 400, 409, 422}
    if answer.status_code >= 400:
        assert fault(answer)["message"]
        assert client.get(RECORD).text == before


TOKENS: list[str] = []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_the_api_keeps_to_its_document(app: Flask, table: Seating, mode: schemathesis.GenerationMode) -> None:
    keys = {"{token}": {"token": table(3).tokens[0]}, "{game_id}": {"game_id": "g1"}}
    counted("ended", ["Alice", "Bob"], [1, 2])
    handled("Alice", "Solo")
    keys["{handle}"] = {"handle": "Solo"}
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app)
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]
        call_often(operation.as_strategy(generation_mode=mode))
        if (
            mode == schemathesis.GenerationMode.POSITIVE or operation.body
        ):  # else nothing is left to get wrong
            own = next((keys[place] for place in keys if place in operation.path), {})
            call_often(operation.as_strategy(generation_mode=mode, path_parameters=own))


def call_often(cases: st.SearchStrategy[schemathesis.Case]) -> None:
    """Make calls of this kind and check each answer against the document.

    A well-formed move is often illegal now, which gives a 422; a standard check would report that as an error.
    """

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=cases)
    def call(case: schemathesis.Case) -> None:
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    call()
