"""Whole games over real HTTP and SMTP, from the form for a new game to the final score.

Players only follow the links in their emails: the organiser confirms, friends take their seats, and each turn is played
from its email. One player never answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.support.live_server import (
    LiveServer,
    PlainHand,
    Player,
    assert_a_true_record,
    live_server,
    organise,
    play_to_the_end,
)

NAMES = ("alice", "bob", "charlie", "daphne", "eirene", "felix")


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    """Return the path of its host under which the server lies."""
    return str(getattr(request, "param", ""))


@pytest.fixture
def server(database_url: str, path: str) -> Iterator[LiveServer]:
    with live_server(database_url, path) as running:
        yield running


def players(n: int, seed: int) -> dict[str, Player]:
    made = (Player(f"{name}@example.org", PlainHand(), random.Random(f"{seed} {name}")) for name in NAMES[:n])
    return {player.address: player for player in made}


@pytest.mark.parametrize(
    ("database_url", "n"),
    [
        ("sqlite", 3),
        ("postgresql", 4),
        pytest.param("sqlite", 5, marks=pytest.mark.nightly),
        pytest.param("sqlite", 6, marks=pytest.mark.nightly),
    ],
    indirect=["database_url"],
)
def test_friends_play_a_whole_game_by_the_links_in_their_mails(server: LiveServer, n: int) -> None:
    people = players(n, seed=n)
    organise(server, people)
    play_to_the_end(server, people)
    kept = assert_a_true_record(server, n)
    assert kept.header.cuts == ("from the top", *(f"cut of {address}" for address in list(people)[1:]))
    assert all(player.moves for player in people.values())
    assert {entry.by for entry in kept.entries} <= {"player", "rules", "chance"}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_somebody_who_never_answers_is_passed_for(server: LiveServer) -> None:
    people = players(3, seed=7)
    silent = people["charlie@example.org"]
    silent.answers = False
    organise(server, people)
    play_to_the_end(server, people)
    kept = assert_a_true_record(server, 3)
    assert silent.moves == 0
    passed_for = [entry for entry in kept.entries if entry.seat == 2]
    assert {entry.by for entry in passed_for} == {"clock", "autopilot", "rules"}
    assert [entry.by for entry in passed_for if entry.move == "!autopilot 2 on"] == ["clock"]
    assert "clock" not in {entry.by for entry in kept.entries if entry.seat != 2}


@pytest.mark.parametrize(
    ("database_url", "path", "n"),
    [
        pytest.param("sqlite", "/byzanz", 2, id="below a path"),
        pytest.param("sqlite", "", 3, marks=pytest.mark.nightly),
        pytest.param("postgresql", "", 4, marks=pytest.mark.nightly),
    ],
    indirect=["database_url", "path"],
)
def test_friends_play_byzantium_by_the_links_in_their_mails(server: LiveServer, path: str, n: int) -> None:
    assert server.origin.endswith(path)
    people = players(n, seed=n)
    organise(server, people, "byzantium")
    play_to_the_end(server, people)
    kept = assert_a_true_record(server, n)
    assert kept.header.game == "byzantium"
    assert all(player.moves for player in people.values())
