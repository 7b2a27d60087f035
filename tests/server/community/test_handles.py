"""Handles: what they may be, that nobody imitates another, and that one given up stays its owner's for a year."""

from __future__ import annotations

import string
from datetime import timedelta
from functools import partial

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from byzanz import games
from byzanz.bots import BOTS
from server.accounts import personal_data
from server.community import profiles
from server.errors import InvalidInput, TooMany
from server.i18n.characters import skeleton
from server.lobby import create
from server.store import engine
from server.store.models import FormerHandle, Person
from tests.conftest import NOW
from tests.support.at_once import at_once
from tests.support.folders import example
from tests.support.results import counted, handled, person_of, somebody

pytestmark = pytest.mark.usefixtures("app")

DAY = timedelta(days=1)


@pytest.mark.parametrize("text", ["Ann", "ann-b", "A_1", "x" * 20, " Ann "])
def test_a_handle_is_letters_digits_and_hyphens(text: str) -> None:
    assert profiles.clean_handle(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "An",
        "x" * 21,
        "1ann",
        "-ann",
        "_ann",
        "änn",
        "ann b",
        "ann.b",
        "ann\n",
        "аnn",
        "ann\u202e",
        "<b>x</b>",
        "a'b",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    if text == "ann\n":  # surrounding blanks go
        assert profiles.clean_handle(text) == "ann"
        return
    with pytest.raises(InvalidInput):
        profiles.clean_handle(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "admin",
            "Admin",
            "ADM1N",
            "adm-in",
            "a_dmin",
            "admin1",
            "Admin-2026",
            "m0derator",
            "byzanz",
            "Byzanz_7",
        ),
        *("FormerPlayer", "former-player", "former_p1ayer", "nobody", "system", "nu11"),
        *BOTS,
        *(name for cast in create.CAST.values() for name in cast),
    ],
)
def test_reserved_words_are_refused_however_they_are_dressed(text: str) -> None:
    with pytest.raises(InvalidInput, match="reserved"):
        profiles.clean_handle(text)


def test_the_games_are_reserved_with_each_that_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    assert profiles.clean_handle("Goofspiel") == "Goofspiel"
    added = example("goofspiel").Goofspiel()
    monkeypatch.setattr(added, "title", "The Prizes", raising=False)
    monkeypatch.setattr(games, "_added", [added])
    names = [name.replace(" ", "_") for rules in games.latest() for name in (rules.slug, rules.title)]
    for name in (*names, "G00fspiel-2", "ThePrizes"):
        with pytest.raises(InvalidInput, match="reserved"):
            profiles.clean_handle(name)


ALIKE = ("oO0", "lLiI1", "sS5", "-_")


@given(st.text(string.ascii_letters + string.digits + "-_", min_size=3, max_size=20), st.data())
def test_handles_that_look_alike_have_one_skeleton(handle: str, data: st.DataObject) -> None:
    other = "".join(
        data.draw(st.sampled_from(next((group for group in ALIKE if char in group), char + char.swapcase())))
        for char in handle
    )
    assert skeleton(other) == skeleton(handle)


@given(
    st.text(string.ascii_lowercase, min_size=3, max_size=20),
    st.text(string.ascii_lowercase, min_size=3, max_size=20),
)
def test_handles_that_differ_otherwise_have_different_ones(one: str, other: str) -> None:
    alike = [name.replace("i", "l").replace("m", "rn") for name in (one, other)]
    assert (skeleton(one) == skeleton(other)) == (alike[0] == alike[1])


LIKE_SOLO = ("Solo", "solo", "SOLO", "S0lo", "so1o", "SOI0")


def test_nobody_imitates_another() -> None:
    ann, bob = somebody("Alice"), somebody("Bob")
    profiles.choose(ann, "Solo", "all", NOW)
    for text in LIKE_SOLO[1:]:
        with pytest.raises(InvalidInput, match="taken"):
            profiles.choose(bob, text, "all", NOW)
    assert person_of(bob).handle is None
    profiles.choose(ann, "SOLO", "met", NOW)  # the owner may write it otherwise
    assert (person_of(ann).handle, person_of(ann).shown) == ("SOLO", "met")
    with engine.reading() as session:
        assert session.query(FormerHandle).count() == 0


def test_without_a_handle_nothing_is_shown() -> None:
    ann = somebody("Alice")
    assert (person_of(ann).handle, person_of(ann).shown) == (None, "nobody")
    profiles.choose(ann, "", "all", NOW)
    assert person_of(ann).shown == "nobody"
    with pytest.raises(InvalidInput):
        profiles.choose(ann, "Solo", "friends", NOW)


def test_a_handle_given_up_is_kept_for_its_owner_for_a_year() -> None:
    ann, bob = somebody("Alice"), somebody("Bob")
    profiles.choose(ann, "Solo", "all", NOW)
    profiles.choose(ann, "", "all", NOW)
    with pytest.raises(InvalidInput, match="taken"):
        profiles.choose(bob, "S0lo", "all", NOW + 364 * DAY)
    profiles.choose(ann, "Solo", "all", NOW + 10 * DAY)  # taken back
    profiles.choose(ann, "Other", "all", NOW + 20 * DAY)
    with pytest.raises(InvalidInput, match="taken"):
        profiles.choose(bob, "Solo", "all", NOW + (20 + 364) * DAY)
    profiles.choose(bob, "Solo", "all", NOW + (20 + 365) * DAY)
    assert person_of(bob).handle == "Solo"


def test_a_handle_can_be_changed_three_times_a_year() -> None:
    ann = somebody("Alice")
    for text in ("Eins", "Zwei", "Drei", "Vier"):
        profiles.choose(ann, text, "all", NOW)
    with pytest.raises(TooMany):
        profiles.choose(ann, "Fuenf", "all", NOW + 364 * DAY)
    assert person_of(ann).handle == "Vier"
    profiles.choose(ann, "Vier", "nobody", NOW)
    profiles.choose(ann, "Fuenf", "all", NOW + 365 * DAY)
    assert profiles.purge(NOW + 365 * DAY) == 3
    with engine.reading() as session:
        assert [row.handle for row in session.query(FormerHandle)] == ["Vier"]


@pytest.mark.concurrency
def test_of_many_who_take_a_handle_at_once_one_gets_it(app: Flask) -> None:
    people = [somebody(f"Guest{n}") for n in range(6)]

    deeds = [
        partial(profiles.choose, person, text, "all", NOW)
        for person, text in zip(people, LIKE_SOLO, strict=True)
    ]
    answers = at_once(app, *deeds)
    assert sorted(answer is InvalidInput for answer in answers) == [False] + [True] * 5


@pytest.mark.changes_busy_table
def test_the_handle_of_an_erased_person_can_be_checked_and_not_read() -> None:
    ann, bob = somebody("Alice"), somebody("Bob")
    profiles.choose(ann, "Quill", "all", NOW)
    profiles.choose(ann, "Feather", "all", NOW)
    personal_data.erase(ann, NOW)
    with engine.reading() as session:
        rows = session.query(FormerHandle).all()
        left = [(row.handle, row.person_id) for row in rows]
        assert left == [(None, None)] * 2
        assert session.get_one(Person, ann).skeleton is None
    for text in ("Quill", "feather"):
        with pytest.raises(InvalidInput, match="taken"):
            profiles.choose(bob, text, "all", NOW + 364 * DAY)


def test_a_profile_is_seen_by_those_for_whom_it_is() -> None:
    counted("g", ["Alice", "Bob"], [1, 2])
    ann, bob, cara = somebody("Alice"), somebody("Bob"), somebody("Gina")
    seen = {}
    for shown in profiles.SHOWN:
        handled("Alice", "Solo", shown)
        with engine.reading() as session:
            person = session.get_one(Person, ann)
            seen[shown] = [profiles.may_see(session, person, viewer) for viewer in (ann, bob, cara, None)]
    assert seen == {
        "nobody": [True, False, False, False],
        "met": [True, True, False, False],
        "all": [True, True, True, True],
    }


def test_a_handle_is_found_in_any_case_and_as_no_look_alike() -> None:
    ann = handled("Alice", "Solo")
    with engine.reading() as session:
        found = [profiles.find(session, text) for text in ("Solo", "SOLO", "S0lo", "so", "nobody-here")]
    assert [person and person.id for person in found] == [ann, ann, None, None, None]
