"""The call that makes the next game of the same people."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from server.lobby import notify
from server.store.models import Seat
from tests.conftest import Table
from tests.support.games import change
from tests.support.lobby import ended, everything, game_of

Begin = Callable[..., Table]


def call(client: FlaskClient, game: Table, seat: int) -> tuple[int, dict[str, str]]:
    answer = client.post(f"/api/v1/seats/{game.tokens[seat]}/again")
    assert answer.json is not None
    return answer.status_code, answer.json.get("error", answer.json)


def test_the_first_call_makes_the_game_and_the_others_name_it(client: FlaskClient, table: Begin) -> None:
    game = ended(table)
    status, made = call(client, game, 1)
    assert (status, list(made)) == (201, ["id"])
    assert game_of(made["id"]).organiser_id == game.people[1]
    assert [call(client, game, seat) for seat in (1, 0, 2)] == [(200, made)] * 3


def test_a_refusal_says_why_and_changes_nothing(
    client: FlaskClient, table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, game = table(3, "g0"), ended(table)
    before = everything()
    assert (call(client, running, 0)[0], call(client, running, 0)[1]["code"]) == (409, "closed")
    with monkeypatch.context() as patch:
        patch.setattr(notify, "INVITATIONS_A_DAY", 1)
        status, error = call(client, game, 0)
        assert (status, error["code"]) == (429, "too_many")
    assert everything() == before
    change(Seat, (game.id, 2), left=True)
    status, error = call(client, game, 0)
    assert (status, error["code"]) == (409, "not_everybody")
    status, error = call(client, game, 2)
    assert (status, error["code"]) == (409, "closed")


def test_nobody_makes_a_game_by_looking_or_without_a_seat(client: FlaskClient, table: Begin) -> None:
    game = ended(table)
    before = everything()
    assert client.get(f"/api/v1/seats/{game.tokens[0]}/again").status_code == 405
    assert client.post(f"/api/v1/seats/{'a' * 26}/again").status_code == 404
    assert everything() == before
