"""The page of an offered seat shows nothing of any hand: it is the same in two worlds that differ in hidden cards."""

from __future__ import annotations

import re

import pytest

from server.store import engine
from server.store.models import Seat
from tests.leaks.conftest import Kept, Worlds
from tests.support.leaks.calls import Call, answer_to
from tests.support.leaks.pairs import KINDS
from tests.support.leaks.worlds import LATER, World

FORM = re.compile(r'Set-Cookie: [^\n]*|name="csrf_token" value="[^"]*"|Content-Length: \d+')
"""What is random in the answer to a visitor without a cookie."""


def offer(world: World, number: int) -> None:
    """Offer a seat of the game."""
    with world.app.app_context(), engine.transaction() as session:
        seat = session.get_one(Seat, (world.game_id, number))
        seat.autopilot, seat.offered_at = True, LATER


@pytest.mark.parametrize("slug", KINDS)
def test_nobody_sees_a_hidden_card_before_taking_the_seat(
    worlds: Worlds, ready: dict[str, list[Kept]], slug: str
) -> None:
    for found, one, other in ready[slug]:
        worlds.one.open(one, found)
        worlds.other.open(other, found)
        for world in (worlds.one, worlds.other):
            for number in range(found.seats):
                offer(world, number)
        takes = [f"/take/{found_id(worlds)}/{number}" for number in range(found.seats)]
        calls = [
            Call("GET", path, who) for path in ("/tables", "/api/v1/tables", *takes) for who in (None, "Sam")
        ]
        calls += [Call("POST", f"{take}/sign-in", None, {"address": "nobody"}) for take in takes]
        for call in calls:
            pages = [FORM.sub("", world.mask(answer_to(call, world))) for world in (worlds.one, worlds.other)]
            assert pages[0] == pages[1], str(call)
            if call.path in takes:
                assert "Take over this seat?" in pages[0]
            elif "sign-in" not in call.path:
                assert found_id(worlds) in pages[0]


def found_id(worlds: Worlds) -> str:
    """Return the id of the game."""
    return worlds.one.game_id


def test_a_hand_on_that_page_would_be_found(
    worlds: Worlds, ready: dict[str, list[Kept]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.web.lobby.open_tables.PUBLIC", "all")
    differ = 0
    for found, one, other in ready["byzanz"]:
        worlds.one.open(one, found)
        worlds.other.open(other, found)
        for world in (worlds.one, worlds.other):
            offer(world, 0)
        call = Call("GET", f"/take/{found_id(worlds)}/0", "Sam")
        differ += len({world.mask(answer_to(call, world)) for world in (worlds.one, worlds.other)}) - 1
    assert differ
