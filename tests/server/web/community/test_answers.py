"""The page on which a person sees how they answer, and the line that others see where seats are offered."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from server.store import engine, people
from server.store.models import Conduct, Reliability
from tests.conftest import NOW, Table
from tests.support.lobby import ALICE, BOB, CHARLIE, invited, token
from tests.support.pages import look, sign_in

LINE = "98% on time, usually within 5 h, left 1 of the last 20 games"


def known(address: str, **figures: int) -> int:
    """Store figures of a person; return their id."""
    row = {"decisions": 200, "missed": 3, "median": 4 * 3600 + 1, "games": 20, "abandoned": 1} | figures
    with engine.transaction() as session:
        person = people.get_or_create(session, address, "Somebody", NOW).id
        session.merge(Reliability(person_id=person, **row))
    return person


def test_a_stranger_is_asked_to_sign_in(client: FlaskClient) -> None:
    answer = client.get("/account/answers")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")


def test_somebody_new_reads_so_and_has_missed_nothing(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    table(3)
    sign_in(client, "alice@example.org")
    page = look(client, "/account/answers").text
    assert "Alice: new here" in page
    assert "None in the last two years." in page
    assert "How you answer" in look(client, "/account").text


def test_a_person_sees_every_miss_with_its_link_and_nobody_elses(
    client: FlaskClient, table: Callable[..., Table]
) -> None:
    game = table(3)
    known("alice@example.org")
    with engine.transaction() as session:
        for person, missed in ((game.people[0], 1), (game.people[1], 2)):
            session.add(
                Conduct(
                    game_id=game.id,
                    person_id=person,
                    ended_at=NOW,
                    abandoned=True,
                    substitute=False,
                    answers=json.dumps([[1, -1]] * missed + [[2, 60]]),
                )
            )
    sign_in(client, "alice@example.org")
    page = look(client, "/account/answers")
    assert f"Alice: {LINE}" in page.text
    assert page.html.count("/history?at=") == 1
    assert f'href="/g/{game.id}/history?at=1"' in page.html
    assert "The Golden Horn, entry 1" in page.text
    assert "1 of 1" in page.text
    assert client.get(f"/g/{game.id}/history?at=1").status_code == 200


def test_the_line_stands_beside_those_seated_wherever_a_seat_is_offered(client: FlaskClient) -> None:
    game_id, host = invited(NOW, players=(BOB, CHARLIE), listed=True, free=1)
    for guest in (ALICE, CHARLIE):
        known(guest.address)
    pages = (f"/join/{game_id}", f"/o/{host}", f"/i/{token('invite', BOB, game_id, NOW)}")
    for path in pages:
        assert look(client, path).text.count(LINE) == 1, path  # Charlie is invited, but not seated
        assert "new here" not in look(client, path).text


@pytest.mark.parametrize(
    ("figures", "english", "german", "dutch"),
    [
        (
            {},
            LINE,
            "98 % rechtzeitig, meist binnen 5 Std., hat 1 der letzten 20 Partien verlassen",
            "98% op tijd, meestal binnen 5 uur, heeft 1 van de laatste 20 spellen verlaten",
        ),
        (
            {"missed": 0, "median": 0, "abandoned": 0},
            "100% on time, usually within 1 min",
            "100 % rechtzeitig, meist binnen 1 Min.",
            "100% op tijd, meestal binnen 1 min",
        ),
        (
            {"median": 3540, "abandoned": 0},
            "98% on time, usually within 59 min",
            "98 % rechtzeitig, meist binnen 59 Min.",
            "98% op tijd, meestal binnen 59 min",
        ),
        (
            {"median": 3541, "abandoned": 0},
            "98% on time, usually within 1 h",
            "98 % rechtzeitig, meist binnen 1 Std.",
            "98% op tijd, meestal binnen 1 uur",
        ),
        (
            {"median": 169_201, "abandoned": 0},
            "98% on time, usually within 2 days",
            "98 % rechtzeitig, meist innerhalb von 2 Tagen",
            "98% op tijd, meestal binnen 2 dagen",
        ),
        ({"missed": 200}, "0% on time, left 1", "0 % rechtzeitig, hat 1", "0% op tijd, heeft 1"),
        ({"decisions": 49}, "new here", "neu hier", "nieuw hier"),
    ],
)
def test_the_line_says_it_in_three_languages(
    client: FlaskClient, figures: dict[str, int], english: str, german: str, dutch: str
) -> None:
    game_id, _host = invited(NOW, players=(BOB,), listed=True, free=1)
    known(ALICE.address, **figures)
    for language, line in (("en", english), ("de", german), ("nl", dutch)):
        page = look(client, f"/join/{game_id}", headers={"Accept-Language": language})
        assert line in page.text
