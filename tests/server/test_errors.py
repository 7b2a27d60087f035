"""Refusals: the status and the code of each, which clients of the API rely on."""

from __future__ import annotations

from server import errors

STATUSES = {
    "refused": 409,
    "not_running": 409,
    "paused": 409,
    "stale": 409,
    "not_your_turn": 409,
    "closed": 409,
    "not_everybody": 409,
    "no_such_game": 404,
    "no_such_link": 404,
    "no_such_order": 404,
    "too_many": 429,
    "bad_request": 422,
    "bad_wish": 422,
}


def test_every_refusal_keeps_its_status_and_its_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert {kind.code: kind.status for kind in kinds if issubclass(kind, errors.Refused)} == STATUSES
