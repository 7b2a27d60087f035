"""What others see of how a person answers: window, rounding, left games; and their own page's list of misses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from statistics import median_low

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.community import reliability
from server.community.reliability import NOTHING, Shown
from server.store import engine, people
from server.store.models import Conduct, Game
from tests.conftest import NOW, Table
from tests.support.costs import statements

DAY = timedelta(days=1)


def conduct_row(
    number: int,
    answers: Sequence[int],
    *,
    ended: datetime = NOW,
    left: bool = False,
    substitute: bool = False,
) -> Conduct:
    pairs = [[seq, seconds] for seq, seconds in enumerate(answers, 1)]
    return Conduct(
        game_id=f"r{number}",
        person_id=1,
        ended_at=ended,
        abandoned=left,
        substitute=substitute,
        answers=json.dumps(pairs),
    )


def test_the_percentage_is_rounded_down() -> None:
    assert Shown(200, 2, 0, 1, 0).percent == 99
    assert Shown(200, 1, 0, 1, 0).percent == 99
    assert Shown(199, 0, 0, 1, 0).percent == 100
    assert Shown(3, 3, 0, 1, 0).percent == 0
    assert NOTHING.percent == 100


def test_a_person_is_new_before_fifty_decisions() -> None:
    assert Shown(49, 0, 0, 1, 0).new
    assert not Shown(50, 0, 0, 1, 0).new


def test_only_the_last_200_decisions_count() -> None:
    rows = [conduct_row(2, [7] * 150), conduct_row(1, [-1] * 20 + [9] * 60)]
    assert reliability.figures(rows) == Shown(200, 0, 7, 2, 0)
    rows = [conduct_row(2, [7] * 150), conduct_row(1, [9] * 60 + [-1] * 20)]
    assert reliability.figures(rows).missed == 20


def test_only_two_years_before_the_last_game_count() -> None:
    old = NOW - reliability.TWO_YEARS
    rows = [conduct_row(2, [7]), conduct_row(1, [9, -1], ended=old, left=True)]
    assert reliability.figures(rows) == Shown(1, 0, 7, 1, 0)
    rows[1].ended_at = old + timedelta(seconds=1)
    assert reliability.figures(rows) == Shown(3, 1, 7, 2, 1)


def test_a_game_finished_as_a_substitute_takes_one_left_game_away() -> None:
    rows = [conduct_row(number, [5], left=number < 2, substitute=number == 2) for number in range(4)]
    assert reliability.figures(rows).abandoned == 1
    rows = [conduct_row(0, [5], substitute=True)]
    assert reliability.figures(rows).abandoned == 0


def test_only_the_last_20_games_can_have_been_left() -> None:
    rows = [conduct_row(number, [5]) for number in range(20)] + [conduct_row(30, [5], left=True)]
    assert (reliability.figures(rows).games, reliability.figures(rows).abandoned) == (20, 0)


GAMES = st.lists(
    st.tuples(
        st.lists(st.integers(-1, 90_000), max_size=60),
        st.integers(0, 200),
        st.sampled_from(["stayed", "left", "substitute"]),
    ),
    max_size=30,
)


@given(GAMES)
def test_the_figures_are_those_of_a_second_count(games: list[tuple[list[int], int, str]]) -> None:
    ended, rows = NOW, []
    for number, (answers, days, what) in enumerate(games):
        ended -= days * DAY
        rows.append(
            conduct_row(number, answers, ended=ended, left=what == "left", substitute=what == "substitute")
        )
    found = reliability.figures(rows)
    flat, left, count = [], 0, 0
    for (answers, _, what), each in zip(games, rows, strict=True):
        if (rows[0].ended_at - each.ended_at).days < 730:
            flat += answers[::-1]
            count += 1
            left += {"left": 1, "substitute": -1, "stayed": 0}[what] if count <= 20 else 0
    window = flat[:200]
    answered = sorted(seconds for seconds in window if seconds >= 0)
    assert found.decisions == len(window)
    assert found.missed == window.count(-1)
    assert found.median == (median_low(answered) if answered else 0)
    assert (found.games, found.abandoned) == (min(20, count), max(0, left))
    assert 0 <= found.percent <= 100


def over(game_id: str, *, listed: bool) -> Game:
    return Game(
        id=game_id,
        slug="byzanz",
        rules=1,
        name=f"The {game_id}",
        organiser_id=None,
        status="over",
        allowance=60,
        seed="",
        commitment="",
        created_at=NOW,
        listed=listed,
        ended_at=NOW,
    )


@pytest.mark.usefixtures("app")
def test_others_see_listed_games_only_and_their_own_page_all() -> None:
    with engine.transaction() as session:
        zoe = people.get_or_create(session, "zoe@example.org", "Zoe", NOW).id
        session.add_all([over("open", listed=True), over("private", listed=False)])
        session.flush()
        for game_id, answers in (("open", [[1, 60]] * 60), ("private", [[2, -1]] * 5)):
            made = conduct_row(0, [])
            made.game_id, made.person_id, made.answers = game_id, zoe, json.dumps(answers)
            session.add(made)
        session.flush()
        reliability.refresh(session, [zoe])
    with engine.reading() as session:
        assert reliability.shown(session, [zoe, -1]) == {zoe: Shown(60, 0, 60, 1, 0), -1: NOTHING}
        assert reliability.of_all_games(session, zoe) == Shown(65, 5, 60, 2, 0)


@pytest.mark.usefixtures("app")
def test_what_is_shown_of_many_people_takes_one_statement() -> None:
    with engine.reading() as session, statements(engine.db.engine) as sent:
        assert len(reliability.shown(session, range(1, 50))) == 49
    assert len(sent) == 1


@pytest.mark.usefixtures("app")
def test_a_person_whose_listed_games_are_gone_is_new_again() -> None:
    with engine.transaction() as session:
        zoe = people.get_or_create(session, "zoe@example.org", "Zoe", NOW).id
        session.add(over("open", listed=True))
        session.flush()
        made = conduct_row(0, [60] * 60)
        made.game_id, made.person_id = "open", zoe
        session.add(made)
        session.flush()
        reliability.refresh(session, [zoe])
        session.delete(made)
        session.flush()
        reliability.refresh(session, [zoe])
        assert reliability.shown(session, [zoe]) == {zoe: NOTHING}


@pytest.mark.usefixtures("app")
def test_misses_are_listed_with_their_place_in_the_log_the_latest_first(
    table: Callable[..., Table],
) -> None:
    game = table(3)
    alice = game.people[0]
    with engine.transaction() as session:
        made = conduct_row(0, [])
        made.game_id, made.person_id, made.answers = game.id, alice, json.dumps([[1, -1], [2, 5]])
        session.add(made)
        other = conduct_row(0, [])
        other.game_id, other.person_id, other.answers = game.id, game.people[1], json.dumps([[1, -1]])
        session.add(other)
    with engine.reading() as session:
        [missed] = reliability.misses(session, alice)
    assert (missed.game_id, missed.name, missed.seq, missed.at) == (game.id, "The Golden Horn", 1, NOW)
