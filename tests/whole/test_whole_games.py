"""Whole games over real HTTP and SMTP, from the form for a new game to the final score.

Players only follow the links in their emails: the organiser confirms, friends take their seats, and each turn is played
from its email. One player never answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from byzanz import record
from server.play import history
from server.store import engine, log, models
from tests.support.world import PlainHand, Player, World, link, world

NAMES = ("alice", "bob", "charlie", "daphne", "eirene", "felix")


@pytest.fixture
def server(database_url: str) -> Iterator[World]:
    with world(database_url) as running:
        yield running


def players(n: int, seed: int) -> dict[str, Player]:
    made = (Player(f"{name}@example.org", PlainHand(), random.Random(f"{seed} {name}")) for name in NAMES[:n])
    return {player.address: player for player in made}


def organise(server: World, people: dict[str, Player], slug: str = "byzanz") -> None:
    """Create a game on the page as the first player and confirm it by email; the others take their seats by email."""
    first, *friends = people.values()
    assert first.hand.open(f"{server.origin}/new") == 200
    form = first.hand.forms()[0]
    wish = {
        "game": slug,
        "title": "The Golden Horn",
        "name": "Alice",
        "address": first.address,
        "plays": "yes",
        "players": "\n".join(friend.address for friend in friends),
        "time_zone": "Europe/Berlin",
    }
    status = first.hand.press(form, form.buttons[-1], [], wish)
    assert status == 200, first.hand.text()
    server.tick()
    [(to, confirm)] = server.new_mails()
    assert to == first.address
    assert first.hand.open(link(confirm, "o")) == 200
    [press] = [form for form in first.hand.forms() if form.hidden.get("do") == "confirm"]
    assert first.hand.press(press, press.buttons[-1], [], {"cut": "from the top"}) == 200
    server.tick()
    invited = server.new_mails()
    assert sorted(to for to, _ in invited) == sorted(friend.address for friend in friends)
    for to, invitation in invited:
        people[to].take_seat(invitation)


def play_to_the_end(server: World, people: dict[str, Player]) -> dict[str, int]:
    """Let everyone answer their emails until the game is over; return how many emails of each kind came."""
    seen: dict[str, int] = {}
    ended: set[str] = set()
    idle = 0
    while ended != set(people):
        server.tick()
        mails = server.new_mails()
        idle = 0 if mails else idle + 1
        assert idle < 5, "nobody is mailed any more, and the game is not over"
        if not mails:
            server.pass_time(hours=25) if idle > 1 else server.pass_time(minutes=3)
        for to, message in mails:
            kind = kind_of(message)
            seen[kind] = seen.get(kind, 0) + 1
            if kind == "over":
                ended.add(to)
            elif kind == "turn" and people[to].answers:
                people[to].play(link(message, "t"))
    return seen


def kind_of(message: object) -> str:
    text = str(message.get_body(("plain",)).get_content())  # type: ignore[attr-defined]
    if "See how it went" in text:
        return "over"
    if "Move by" in text:
        return "turn"
    return "other"


def assert_a_true_record(server: World, n: int) -> record.Record:
    with server.app.app_context(), engine.reading() as session:
        game = session.scalars(select(models.Game)).one()
        assert game.status == "over"
        entries = log.entries(session, game.id)
        if game.slug == "byzantium":  # as many rounds as players, each with a deal; short ones hold few moves
            assert sum(entry.by == "chance" for entry in entries) == n
        elif game.slug == "empire":  # which may fall in its first year
            assert {"redraw", "meld"} <= {entry.move.partition(" ")[0] for entry in entries}
        else:
            assert len(entries) > 20 * n
        kept = history.record_for(session, game, "all")
    again = next(iter(record.read(record.write(kept).splitlines())))
    report = record.verify(again)
    assert report.replayed
    assert report.unchecked == 0
    return again


@pytest.mark.parametrize(
    ("database_url", "n"),
    [("sqlite", 3), ("postgresql", 4), pytest.param("sqlite", 5, marks=pytest.mark.nightly), ("sqlite", 6)],
    indirect=["database_url"],
)
def test_friends_play_a_whole_game_by_the_links_in_their_mails(server: World, n: int) -> None:
    people = players(n, seed=n)
    organise(server, people)
    play_to_the_end(server, people)
    kept = assert_a_true_record(server, n)
    assert kept.header.cuts == ("from the top", *(f"cut of {address}" for address in list(people)[1:]))
    assert all(player.moves for player in people.values())
    assert {entry.by for entry in kept.entries} <= {"player", "rules", "chance"}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_somebody_who_never_answers_is_passed_for(server: World) -> None:
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
    ("database_url", "n"),
    [("sqlite", 2), pytest.param("sqlite", 3, marks=pytest.mark.nightly), ("postgresql", 4)],
    indirect=["database_url"],
)
def test_friends_play_byzantium_by_the_links_in_their_mails(server: World, n: int) -> None:
    people = players(n, seed=n)
    organise(server, people, "byzantium")
    play_to_the_end(server, people)
    kept = assert_a_true_record(server, n)
    assert kept.header.game == "byzantium"
    assert all(player.moves for player in people.values())
