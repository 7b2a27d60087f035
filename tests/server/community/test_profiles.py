"""What a profile counts, and what chance alone would have given."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.community import profiles, results
from server.store import engine
from server.store.models import Game
from tests.conftest import NOW
from tests.support.results import counted, handled, played, somebody

pytestmark = pytest.mark.usefixtures("app")

DAY = timedelta(days=1)
odds = st.lists(st.sampled_from([1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 2 / 3]), max_size=40)


# ---- chance ----


@given(odds)
def test_the_expected_wins_are_the_sum_of_the_odds_and_lie_within_the_bounds(chances: list[float]) -> None:
    even, low, high = profiles.by_chance(chances)
    assert even == pytest.approx(sum(chances))
    assert 0 <= low <= high <= len(chances)
    assert low <= even + 1
    assert high >= even - 1


@given(st.lists(st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(2, 5)]), max_size=8))
def test_the_bounds_are_exact(chances: list[Fraction]) -> None:
    """Compare with all possible outcomes, counted one by one in fractions."""
    exact = [Fraction(0)] * (len(chances) + 1)
    for wins in product((0, 1), repeat=len(chances)):
        ways = prod((p if won else 1 - p for p, won in zip(chances, wins, strict=True)), start=Fraction(1))
        exact[sum(wins)] += ways
    _even, low, high = profiles.by_chance([float(p) for p in chances])
    tail = Fraction(1, 40)
    assert sum(exact[:low]) <= tail <= sum(exact[: low + 1])  # equal: floats may round either way
    assert sum(exact[high + 1 :]) <= tail
    assert high == 0 or sum(exact[high:]) >= tail
    assert sum(exact[low : high + 1]) >= Fraction(95, 100)


def test_forty_even_games_of_four() -> None:
    even, low, high = profiles.by_chance([1 / 4] * 40)
    upto = [sum(comb(40, k) * 3 ** (40 - k) for k in range(n + 1)) / 4**40 for n in range(41)]
    assert even == pytest.approx(10)
    assert (low, high) == (
        next(n for n, p in enumerate(upto) if p > 0.025),
        next(n for n, p in enumerate(upto) if p >= 0.975),
    )
    assert (low, high) == (5, 16)


@given(st.integers(1, 30), st.integers(2, 6))
def test_whoever_shares_all_wins_of_a_table_expects_them(games: int, size: int) -> None:
    """Over all seats of one table the expected wins are the wins."""
    found = [
        results.Ended(
            *(f"g{n}", "byzanz", "Byzanz", "A table", True, NOW, NOW),
            tuple(results.Placed(seat, "x", seat, None, 1 + (seat != n % size), 0) for seat in range(size)),
        )
        for n in range(games)
    ]
    tallies = [profiles.tallies(found, seat)[0] for seat in range(size)]
    assert sum(tally.even for tally in tallies) == pytest.approx(sum(tally.won for tally in tallies))


# ---- what counts ----


def profile_of(person: int) -> profiles.Profile:
    with engine.reading() as session:
        found = profiles.visible(session, "Solo", None)
        assert found is not None
        assert found.id == person
        return profiles.profile(session, found)


def test_listed_games_count_by_game_and_size() -> None:
    ann = handled("Alice", "Solo")
    counted("g1", ["Alice", "Bob", "Charlie"], [1, 2, 3])
    counted("g2", ["Bob", "Alice", "Charlie"], [1, 1, 3], at=NOW + DAY)
    counted("g3", ["Bob", "Alice"], [1, 2], slug="empire", at=NOW + 2 * DAY)
    counted("g4", ["Bob", "Charlie"], [1, 2])
    found = profile_of(ann)
    assert [(tally.slug, tally.size, tally.played, tally.won, tally.place) for tally in found.tallies] == [
        ("byzanz", 3, 2, 2, 1.0),
        ("empire", 2, 1, 0, 2.0),
    ]
    assert [tally.even for tally in found.tallies] == pytest.approx([1 / 3 + 2 / 3, 1 / 2])
    assert [game.id for game in found.latest] == ["g3", "g2", "g1"]


@pytest.mark.parametrize(
    "what",
    [{"listed": False}, {"early": True}, {"quarantine": "x"}, {"trial": True}, {"names": ["Alice", "Bot"]}],
)
def test_what_never_counts_in_public(what: dict[str, object]) -> None:
    ann = handled("Alice", "Solo")
    values = dict(what)
    names = values.pop("names", ["Alice", "Bob"])
    quarantined = values.pop("quarantine", None)
    counted("g1", names, [1, 2], **values)  # type: ignore[arg-type]
    if quarantined:
        from server.mail.text import quoted

        with engine.transaction() as session:
            session.get_one(Game, "g1").quarantine = quoted("broken")
    found = profile_of(ann)
    assert (list(found.tallies), list(found.latest)) == ([], [])


def test_a_running_game_and_one_not_counted_yet_do_not_count() -> None:
    ann = handled("Alice", "Solo")
    counted("g1", ["Alice", "Bob"], [1, 2])
    with engine.transaction() as session:
        session.get_one(Game, "g1").status = "running"
    assert not profile_of(ann).tallies


def test_at_most_twenty_games_are_listed() -> None:
    ann = handled("Alice", "Solo")
    for n in range(profiles.LATEST + 2):
        counted(f"g{n}", ["Alice", "Bob"], [1, 2], at=NOW + n * DAY)
    found = profile_of(ann)
    assert len(found.latest) == profiles.LATEST
    assert found.latest[0].id == f"g{profiles.LATEST + 1}"
    assert found.tallies[0].played == profiles.LATEST + 2


def test_two_people_together_count_all_their_games() -> None:
    ann, bob = somebody("Alice"), somebody("Bob")
    counted("g1", ["Alice", "Bob"], [1, 2], listed=False)
    counted("g2", ["Bob", "Alice", "Charlie"], [2, 1, 3])
    counted("g3", ["Bob", "Alice", "Charlie"], [1, 1, 3])
    counted("g4", ["Bob", "Charlie"], [1, 2])
    counted("g5", ["Alice", "Bob"], [1, 2], early=True)
    with engine.reading() as session:
        assert profiles.company(session, ann, bob) == profiles.Company(3, 2)
        assert profiles.company(session, bob, ann) == profiles.Company(3, 0)
        assert profiles.company(session, ann, somebody("Gina")) == profiles.Company(0, 0)


def test_a_played_game_counts() -> None:
    table = played("g1", 3, "byzantium", listed=True)
    ann = handled("Alice", "Solo")
    assert ann == table.people[0]
    [tally] = profile_of(ann).tallies
    assert (tally.slug, tally.size, tally.played) == ("byzantium", 3, 1)
