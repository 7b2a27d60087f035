"""What you may not know never reaches you (promise 10).

Pairs of worlds, equal byte for byte to a viewer who may not tell them apart; and leaks planted on purpose, which
the same comparison must find.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.leaks.calls import everything
from tests.leaks.conftest import Tally, Worlds
from tests.leaks.pairs import Pair, pair
from tests.leaks.plants import PLANTS

PAIRS = int(os.environ.get("BYZANZ_TEST_PAIRS", "40"))


def difference(worlds: Worlds, tally: Tally) -> str | None:
    """The first thing that tells the worlds apart, or None if nothing does."""
    for what, ask in everything(worlds.one):
        one, other = worlds.one.mask(ask(worlds.one)), worlds.other.mask(ask(worlds.other))
        tally.answers += 1
        if one != other:
            lines = zip(one.splitlines(), other.splitlines(), strict=False)
            return "\n".join([what, *(f"- {a}\n+ {b}" for a, b in lines if a != b)][:6])
    return None


@pytest.mark.parametrize("seed", range(PAIRS))
def test_nobody_can_tell_worlds_apart(worlds: Worlds, tally: Tally, seed: int) -> None:
    found = pair(seed)
    worlds.play(found)
    tally.count(found)
    assert difference(worlds, tally) is None
    if (
        seed % 8 == 6 and found.steps
    ):  # and with a void: what was seen before it stays known, and nothing else does
        for act in (f"!void {2 + (len(found.steps) - 1) // 2}", "!resume"):
            worlds.moderate(act)
        assert difference(worlds, tally) is None


def test_without_a_leak_the_kept_pairs_are_equal(
    worlds: Worlds, ready: list[tuple[Pair, Path, Path]], tally: Tally
) -> None:
    assert [reopened(worlds, tally, *kept) for kept in ready] == [None] * len(ready)


@pytest.mark.parametrize("leak", PLANTS)
def test_a_planted_leak_is_found(
    worlds: Worlds,
    ready: list[tuple[Pair, Path, Path]],
    tally: Tally,
    monkeypatch: pytest.MonkeyPatch,
    leak: str,
) -> None:
    PLANTS[leak](monkeypatch)
    found = next(filter(None, (reopened(worlds, tally, *kept) for kept in ready)), None)
    assert found, f"{leak} is not found"
    tally.leaks += 1
    print(f"{leak} shows in {found}")


def reopened(worlds: Worlds, tally: Tally, found: Pair, one: Path, other: Path) -> str | None:
    """What tells the worlds of a kept pair apart."""
    worlds.one.open(one, found)
    worlds.other.open(other, found)
    return difference(worlds, tally)
