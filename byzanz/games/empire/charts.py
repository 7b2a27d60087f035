"""Headings, charts and highlights of Empire: its years, territory, and the legacy of both players."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from byzanz.charts import Chart, Heading, Highlight, chart, seats, turning_point
from byzanz.games.empire.view import View


def heading(view: View) -> Heading:
    """Return the year."""
    return (f"year {view.year}",)


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Chart territory and legacy after the battle of each year.

    Args:
        views: of the public, after each move that counts, from the first shuffle on.
    """
    fought = list(_battles(views))
    territory = ((where, place, [max(0, views[place].territory)]) for where, place in fought)
    legacy = ((where, place, views[place].legacy) for where, place in fought)
    return (
        chart("territory", "lines", ("territory",), territory),
        chart("legacy", "lines", seats(2), legacy),
    )


def _battles(views: Sequence[View]) -> Iterator[tuple[Heading, int]]:
    """Yield the year of each battle, with the place of the view that shows its result."""
    for place, (before, after) in enumerate(pairwise(views), start=1):
        if after.battle and after.battle != before.battle:
            yield (f"year {after.battle.year}",), place


def highlights(views: Sequence[View], winners: Sequence[int]) -> list[Highlight]:
    """Return the fall of the Empire or its greatest victory, its heaviest defeat, and the turning point.

    The numbers of a battle are the year, the force of the side that gained by it and of the other, and the territory
    before and after. Those of the turning point end with the Emperor of that year, the change of their legacy, and what
    of it their cards earned.

    Args:
        views: as for `charts`.
        winners: of the game.
    """
    found: dict[str, Highlight] = {}
    steps = []
    for _, place in _battles(views):
        battle, legacy = views[place].battle, views[place].legacy
        assert battle is not None
        steps.append((battle.year, place, legacy))
        after = max(0, battle.after)
        change = after - battle.before
        victor = battle.emperor if change > 0 else 1 - battle.emperor
        forces = battle.melds[victor].force, battle.melds[1 - victor].force
        name = "greatest victory" if change > 0 else "heaviest defeat"
        most = found[name].numbers[4] - found[name].numbers[3] if name in found else 0
        if abs(change) > abs(most):
            numbers = (battle.year, *forces, battle.before, after)
            found[name] = Highlight(name, place, victor, numbers)
        if after == 0:  # the last battle
            fall = Highlight("fall", place, victor, (battle.year, *forces, battle.before, after))
            found = {"fall": fall} | {
                name: it for name, it in found.items() if name == "heaviest defeat" and it.place != place
            }
    turns = turning_point(steps, winners)
    return list(found.values()) + [
        replace(it, numbers=it.numbers + _legacy_change(views[it.place])) for it in turns
    ]


def _legacy_change(view: View) -> tuple[int, int, int]:
    """Return the Emperor of the last battle, the change of their legacy, and what of it their cards earned."""
    battle = view.battle
    assert battle is not None
    earned = sum(card.legacy for card in battle.melds[battle.emperor].cards) if battle.after > 0 else 0
    return battle.emperor, battle.legacy, earned
