"""What the page of a finished game decides, property by property; nothing here is drawn."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from server.web.game.pages import FinishedPage, clocks
from tests.conftest import NOW

PLACES = ((1, 2), (2, 0), (3, 1))


def page(
    reader: int | None = None,
    scores: tuple[int, ...] = (7, 3, 9),
    winners: tuple[int, ...] = (2,),
    reason: str = "",
    ranking: tuple[tuple[int, int], ...] = PLACES,
    charts: tuple[Any, ...] = (),
    counted: bool = True,
) -> FinishedPage:
    game: Any = SimpleNamespace(counted_at=NOW if counted else None)
    result = {"scores": scores, "winners": winners, "reason": reason}
    return FinishedPage(game, result, ranking, charts, reader)


def charts(*kinds: str) -> tuple[Any, ...]:
    return tuple(SimpleNamespace(name=str(number), kind=kind) for number, kind in enumerate(kinds))


def test_who_played_and_did_not_win_has_lost() -> None:
    assert page(reader=0).lost
    assert not page(reader=2).lost
    assert not page().lost
    assert not page(reader=0, winners=(), reason="abandoned").lost


def test_the_second_is_named_where_there_is_one_and_somebody_else_reads_it() -> None:
    assert page().second == page(reader=1).second == (0, 2)
    assert page(reader=0).second is None, "their own place has been told"
    assert page(winners=(0, 2)).second is None
    assert page(scores=(9, 3, 9)).second is None, "not behind"
    assert page(ranking=PLACES[:1]).second is None
    assert page(scores=(11, 3, 9)).second == (0, 2), "where few points win"


def test_two_charts_stand_open_and_rows_are_folded() -> None:
    some = page(charts=charts("lines", "rows", "bars", "rows", "points"))
    assert [chart.name for chart in some.open_charts] == ["0"]
    assert [chart.name for chart in some.folded_charts] == ["1", "3", "2", "4"]
    assert page(charts=charts("lines", "bars")).folded_charts == []


def test_a_group_has_results_once_they_are_counted() -> None:
    assert page().has_group
    assert not page(counted=False).has_group
    assert not page(winners=()).has_group


def test_only_one_clock_in_its_allowance_is_told_without_a_name() -> None:
    early: Any = SimpleNamespace(allowance_end=NOW, bank=60)
    late: Any = SimpleNamespace(allowance_end=NOW - timedelta(seconds=1), bank=60)
    spent: Any = SimpleNamespace(allowance_end=NOW - timedelta(seconds=1), bank=0)
    assert clocks({1: early}, NOW) == [(1, early, True)]
    assert clocks({1: early, 2: None}, NOW) == [(1, early, False)]
    assert clocks({1: late}, NOW) == [(1, late, False)], "in the time bank"
    assert clocks({1: spent}, NOW) == [(1, spent, True)]
