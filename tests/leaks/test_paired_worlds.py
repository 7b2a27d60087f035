"""Hidden information never reaches a viewer (promise 10).

Pairs of worlds must be equal byte for byte to a viewer who may not tell them apart. The same comparison must find
leaks that are planted on purpose.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.leaks.conftest import Kept, Tally, Worlds
from tests.support.leaks import pairs
from tests.support.leaks.calls import every_request
from tests.support.leaks.pairs import KINDS, Pair, pair
from tests.support.leaks.plants import SHOWS_IN
from tests.support.leaks.plants_sealed import PLANTS

PAIRS = int(os.environ.get("TEST_PAIRS", "5"))
"""Pairs of each game."""


def difference(worlds: Worlds, tally: Tally) -> str | None:
    """Return the first difference between the worlds, or None."""
    for what, ask in every_request(worlds.one):
        one, other = worlds.one.mask(ask(worlds.one)), worlds.other.mask(ask(worlds.other))
        tally.answers += 1
        if one != other:
            lines = zip(one.splitlines(), other.splitlines(), strict=False)
            return "\n".join([what, *(f"- {a}\n+ {b}" for a, b in lines if a != b)][:6])
    return None


@pytest.mark.parametrize("slug", KINDS)
@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=() if seed % 5 == 4 else pytest.mark.nightly) for seed in range(PAIRS)],
)
def test_nobody_can_tell_worlds_apart(worlds: Worlds, tally: Tally, slug: str, seed: int) -> None:
    found = pair(slug, seed)
    worlds.play(found)
    tally.count(found)
    assert difference(worlds, tally) is None
    void = worlds.one.void() if seed % 5 == 4 else None
    if void:  # what was seen before a void stays known, and nothing else does
        for act in (void, "!resume"):
            worlds.moderate(act)
        assert difference(worlds, tally) is None


def test_there_are_no_pairs_of_a_game_whose_views_tell_what_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs, "GAMES", 3)
    PLANTS["empire"]["a_sealed_choice_in_the_view"](monkeypatch)
    with pytest.raises(AssertionError, match="meld under seal"):
        pair("empire", 0)


@pytest.mark.parametrize("slug", KINDS)
def test_without_a_leak_the_kept_pairs_are_equal(
    worlds: Worlds, ready: dict[str, list[Kept]], tally: Tally, slug: str
) -> None:
    assert [reopened(worlds, tally, *kept) for kept in ready[slug]] == [None] * len(ready[slug])


@pytest.mark.parametrize(
    ("slug", "leak"),
    [
        pytest.param(slug, leak, marks=pytest.mark.nightly if number % 3 else ())
        for number, (slug, leak) in enumerate((slug, leak) for slug in KINDS for leak in PLANTS[slug])
    ],
)
def test_a_planted_leak_is_found(
    worlds: Worlds,
    ready: dict[str, list[Kept]],
    tally: Tally,
    monkeypatch: pytest.MonkeyPatch,
    slug: str,
    leak: str,
) -> None:
    tally.planted += 1
    PLANTS[slug][leak](monkeypatch)
    pairs_first = sorted(ready[slug], key=lambda kept: kept[0].seed != SHOWS_IN.get(leak))
    found = next(filter(None, (reopened(worlds, tally, *kept) for kept in pairs_first)), None)
    assert found, f"{leak} is not found"
    tally.leaks += 1
    print(f"{leak} shows in {found}")


def reopened(worlds: Worlds, tally: Tally, found: Pair, one: Path, other: Path) -> str | None:
    """Return the difference between the worlds of a saved pair."""
    worlds.one.open(one, found)
    worlds.other.open(other, found)
    return difference(worlds, tally)
