"""Charts: properties of their geometry; finished games show what the tables say, running games show none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from xml.etree.ElementTree import Element

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.charts import Chart, Kind, Row, chart, seats
from server import play
from server.store import engine, people
from server.web.game import charts
from server.web.game.charts import (
    BELOW,
    LABEL,
    PLOT,
    ROW,
    ROW_GAP,
    TOP,
    WIDTH,
    Drawing,
    draw,
    scale,
    spread_labels,
)
from tests.conftest import NOW, Table
from tests.support import game_data
from tests.support.game_data import SEATS
from tests.support.games import advance, count_entries, make, position, url
from tests.support.pages import Page, assert_sound, look

Begin = Callable[..., Table]
KINDS: tuple[Kind, ...] = ("lines", "rows", "bars", "points")
HEAVIEST = 60_000
"""The size in bytes that no page of a game may reach, over or not."""


@st.composite
def any_charts(draw: st.DrawFn) -> Chart:
    """Draw a chart of any kind, with one step or many, small numbers and large ones."""
    kind = draw(st.sampled_from(KINDS))
    count = draw(st.integers(1, 7))
    most = draw(st.sampled_from([0, 1, 7, 30, 900]))
    rounds = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    parts = [
        (f"round {at}", f"lot {lot}") for at, lots in enumerate(rounds, start=1) for lot in range(1, lots + 1)
    ]
    rows = []
    for place, part in enumerate(parts):
        values: list[int | None] = [draw(st.integers(0, most)) for _ in range(count)]
        if kind == "points":
            winner = draw(st.integers(0, count - 1))
            values = [value if seat == winner else None for seat, value in enumerate(values)]
        rows.append((part, place, values))
    return chart("any", kind, seats(count), rows)


@pytest.mark.parametrize(
    ("highest", "expected"),
    [
        (0, (1, 1)), (1, (1, 1)), (5, (1, 5)), (6, (2, 6)), (7, (2, 8)), (10, (2, 10)), (11, (5, 15)), (25, (5, 25)),
        (26, (10, 30)), (50, (10, 50)), (51, (20, 60)), (101, (50, 150)), (251, (100, 300)), (900, (200, 1000)),
    ],
)  # fmt: skip
def test_a_scale_has_at_most_five_round_steps(highest: int, expected: tuple[int, int]) -> None:
    step = ("a", "b"), 0, [highest]
    assert scale(chart("any", "bars", seats(1), [step])) == (0, *expected)
    assert scale(chart("any", "rows", seats(1), [step])) == (0, *(max(1, highest),) * 2)
    assert scale(chart("any", "lines", seats(1), [step])) == (0, *expected)
    assert scale(chart("any", "lines", seats(2), [(("a",), 0, [0, highest])])) == (0, *expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 17], (10, 2, 18)), ([13, 17], (13, 1, 17)), ([9, 17], (8, 2, 18)), ([8, 17], (0, 5, 20)),
        ([7, 7], (7, 1, 8)), ([51, 101], (40, 20, 120)), ([300, 305], (300, 1, 305)),
    ],
)  # fmt: skip
def test_lines_far_above_0_have_a_scale_of_their_own(
    values: list[int], expected: tuple[int, int, int]
) -> None:
    assert scale(chart("any", "lines", seats(2), [(("a",), 0, values)])) == expected


def test_names_beside_the_lines_get_the_room_that_they_need() -> None:
    told = chart("any", "lines", seats(2), [(("round 1",), 0, [3, 5])])
    assert draw(told, [1]).right == WIDTH - 88
    assert draw(told, [1], letters=3).right == WIDTH - 40


def test_bars_stand_side_by_side_in_the_middle_of_their_step() -> None:
    rows: list[Row] = [(("round 1", "a"), 0, [4, 2]), (("round 2", "a"), 1, [None, 3])]
    it = draw(chart("any", "bars", seats(2), rows), [1, 2])
    step = (it.right - it.left) / 2
    expected = [  # each fills 86 % of its share of the 86 % of the step
        (it.left + 0.07 * step, 0.43 * 0.86 * step),
        (it.left + 0.50 * step, 0.43 * 0.86 * step),
        (it.left + 1.07 * step, 0.86 * 0.86 * step),
    ]
    for bar, (x, width) in zip(it.bars, expected, strict=True):
        assert (abs(bar.x - x) < 0.06, abs(bar.width - width) < 0.06) == (True, True), bar
    assert [(bar.line, bar.value) for bar in it.bars] == [(0, 4), (1, 2), (1, 3)]
    assert it.stops == ((it.left + step / 2, "round 1"), (it.left + step * 1.5, "round 2"))
    assert (it.walls, it.ticks[-1][0]) == ((), it.base - PLOT)
    assert (it.left, it.right, it.height) == (26, WIDTH - 4, TOP + PLOT + BELOW)


def check_place(told: Chart, it: Drawing) -> None:
    """Check that everything is inside the drawing and at the height of its value, on one scale."""
    least, _, most = scale(told)
    assert (it.least, it.most) == (least, most)
    assert it.height == it.base + BELOW
    for number, stroke in enumerate(it.strokes, start=1):
        row = it.kind == "rows"
        base, unit = (TOP + number * ROW, (ROW - ROW_GAP) / most) if row else (it.base, PLOT / (most - least))
        values = told.lines[number - 1].values
        assert len(stroke.marks) == len(values)
        for (x, y), value in zip(stroke.marks, values, strict=True):
            assert it.left <= x <= it.right
            assert abs((base - y) / unit + least - (value or 0)) < 0.06 * max(1, 1 / unit)
        assert TOP - ROW_GAP <= stroke.label <= it.base
    for bar in it.bars:
        assert it.left <= bar.x <= bar.x + bar.width <= it.right + 0.1
        assert abs(bar.y + bar.height - it.base) < 0.11
        assert abs(bar.height / PLOT * most - bar.value) < 0.06 * max(1, most / PLOT)
    assert it.right < WIDTH


def check_table(told: Chart, it: Drawing) -> None:
    """Check that the table has each number once, and nothing else."""
    drawn_there = sorted(
        (step.heading, line.of, value)
        for line in told.lines
        for step, value in zip(told.steps, line.values, strict=True)
        if value is not None
    )
    in_table = []
    for row in it.rows:
        assert len(row.cells) == len(it.columns)
        for column, cell in zip(it.columns, row.cells, strict=True):
            if cell.value is not None:
                place = ((*row.heading, column), cell.of) if it.kind == "points" else (row.heading, column)
                in_table.append((*place, cell.value))
    assert sorted(in_table) == drawn_there


@given(any_charts())
@settings(max_examples=80, deadline=None)
def test_a_drawing_says_what_its_chart_says(told: Chart) -> None:
    it = draw(told, range(1, len(told.steps) + 1))
    check_place(told, it)
    check_table(told, it)
    assert [word for _, word in it.stops] == list(dict.fromkeys(step.heading[0] for step in told.steps))
    assert all(one < other for (one, _), (other, _) in pairwise(it.stops))
    assert [value for _, value in it.ticks] == sorted({value for _, value in it.ticks})
    assert it.kind == "rows" or (
        it.ticks[0][1] == it.least and it.ticks[-1][1] == it.most and len(it.ticks) <= 6
    )


def test_a_wrong_place_and_a_wrong_table_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    told = chart("any", "lines", seats(2), [(("round 1",), 0, [3, 5]), (("round 2",), 1, [4, 6])])
    with monkeypatch.context() as patch:
        patch.setattr(charts.Frame, "y", lambda _self, value: TOP + value)
        with pytest.raises(AssertionError):
            check_place(told, draw(told, [1, 2]))
    other = chart("any", "lines", seats(2), [(("round 1",), 0, [3, 5]), (("round 2",), 1, [4, 7])])
    with pytest.raises(AssertionError):
        check_table(told, draw(other, [1, 2]))


@given(st.lists(st.floats(TOP, TOP + PLOT), max_size=8))
def test_labels_keep_their_order_and_lie_apart(wanted: list[float]) -> None:
    placed = spread_labels(wanted, TOP, TOP + PLOT)
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    for one, other in pairwise(order):
        assert placed[other] - placed[one] >= LABEL - 0.15
    assert all(TOP - 0.1 <= y <= TOP + PLOT + 0.1 for y in placed)
    if all(abs(a - b) > LABEL + 1 for a, b in pairwise(sorted(wanted))):
        assert all(abs(a - b) < 0.1 for a, b in zip(wanted, placed, strict=True))


# The page of a finished game


def finish(game: Table, seed: int = 3) -> None:
    """Play at random to the end."""
    dice = random.Random(seed)
    for _ in range(2000):
        now = position(game.id)
        if now.outcome:
            return
        seat = min(now.awaited)
        moves = now.rules.moves(now.state, seat)
        make(game, seat, str(dice.choice(moves[: 6 if now.rules.slug == "byzanz" else None])))
    raise AssertionError("the game goes on")


def figures(page: Page) -> Iterator[Element]:
    """Return the charts of a page as SVG elements with plain names."""
    for item in page.root.iter():
        item.tag = item.tag.rpartition("}")[2]
    for item in page.root.iter("figure"):
        if "chart" in (item.get("class") or "").split():
            yield item


def cells(figure: Element) -> list[list[str]]:
    """Return the table below a chart, row by row, without its head."""
    [body] = figure.iter("tbody")
    return [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in body]


def scale_of(figure: Element) -> Callable[[float], float]:
    """Return the value of a height in the drawing, from its ticks."""
    ticks = [item for item in figure.iter("text") if item.get("class") == "tick"]
    (low, zero), (high, most) = [(float(t.get("y", "")), int(t.text or "")) for t in (ticks[0], ticks[-1])]
    return lambda y: zero + (low - 4 - y) / (low - high) * (most - zero)


def lines_of(figure: Element) -> list[list[float]]:
    """Return the values of each line of a line chart, read off its drawing by the ticks."""
    value = scale_of(figure)
    found = []
    for group in figure.iter("g"):
        uses = [float(use.get("y", "")) for use in group.iter("use")]
        named = any(True for _ in group.iter("text"))
        found.append(
            [value(y) for y in (uses[:-1] if named else uses)]
        )  # the last mark stands beside the name
    return found


def points_of(figure: Element) -> list[float]:
    value = scale_of(figure)
    return [value(float(use.get("y", ""))) for group in figure.iter("g") for use in group.iter("use")]


def check_figure(figure: Element) -> None:
    """Check that a chart has a name, a description and a table, and that its drawing matches the table."""
    drawing = next(item for item in figure.iter("svg") if item.get("role") == "img")
    ids = {item.get("id") for item in drawing.iter()}
    assert drawing.get("aria-labelledby") in ids
    assert drawing.get("aria-describedby") in ids
    assert all("".join(item.itertext()).strip() for item in drawing if item.tag in ("title", "desc"))
    table = cells(figure)
    assert table
    strokes = [item for item in drawing.iter("path") if item.get("class") == "stroke"]
    stems = [item for item in drawing.iter("path") if item.get("class") == "stem"]
    if strokes:
        assert len({item.get("stroke-dasharray") for item in strokes}) == len(strokes)
        columns = zip(*[[int(cell) for cell in row[1:]] for row in table], strict=True)
        for column, values in zip(columns, lines_of(figure), strict=True):
            assert values == pytest.approx(column, abs=0.2)
    elif stems:
        told = [int(cell.split(" ")[-1]) for row in table for cell in row[1:] if cell != "–"]
        assert sorted(points_of(figure)) == pytest.approx(sorted(told), abs=0.2)


CHARTS = game_data.of_all("CHARTS")


@pytest.mark.parametrize("slug", CHARTS)
def test_a_finished_game_shows_its_charts_with_their_tables(
    client: FlaskClient, table: Begin, slug: str
) -> None:
    game = table(SEATS[slug], slug=slug)
    finish(game)
    page = look(client, f"/g/{game.id}")
    assert_sound(slug, page)
    assert len(page.html.encode()) < HEAVIEST
    found = list(figures(page))
    assert [item.get("id") for item in found] == [f"chart-{name}" for name in CHARTS[slug]]
    for figure in found:
        check_figure(figure)
    links = set(re.findall(rf"/g/{game.id}/history\?at=(\d+)", page.html))
    assert links
    assert all(1 <= int(seq) <= count_entries(game.id) for seq in links)
    for seq in sorted(links, key=int)[:: max(1, len(links) // 5)]:
        assert look(client, f"/g/{game.id}/history?at={seq}").status == 200


def test_a_drawing_that_does_not_show_its_table_is_found(client: FlaskClient, table: Begin) -> None:
    game = table(2, slug="empire")
    finish(game)
    [territory, _] = figures(look(client, f"/g/{game.id}"))
    check_figure(territory)
    mark = next(item for group in territory.iter("g") for item in group.iter("use"))
    mark.set("y", str(float(mark.get("y", "")) + 12))
    with pytest.raises(AssertionError):
        check_figure(territory)
    mark.set("y", str(float(mark.get("y", "")) - 12))
    next(item for item in territory.iter("svg") if item.get("role")).set("aria-labelledby", "nothing")
    with pytest.raises(AssertionError):
        check_figure(territory)


@pytest.mark.parametrize("slug", CHARTS)
def test_a_running_game_has_no_charts(client: FlaskClient, table: Begin, slug: str) -> None:
    game = table(SEATS[slug], slug=slug)
    now = position(game.id)
    seat = min(now.awaited)
    make(game, seat, str(now.rules.moves(now.state, seat)[0]))
    for path in (f"/g/{game.id}", url(game, 0), f"/g/{game.id}/history", f"{url(game, 0)}/history?at=1"):
        assert list(figures(look(client, path))) == [], path


def test_the_winner_of_each_lot_stands_in_the_table_with_its_price(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    finish(game)
    [figure, *_] = figures(look(client, f"/g/{game.id}"))
    rows = cells(figure)
    assert len(rows) == 8
    for row in rows:
        assert sorted(cell.split(" ")[0] for cell in row[1:]) == ["Alice", "Bob", "Charlie"]


def test_a_game_that_was_ended_early_has_what_charts_there_are(client: FlaskClient, table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        person = people.get_or_create(session, "mod@example.org", "Mo", NOW).id
    advance(game, "take")
    play.moderate(game.id, "!abandon", reason="Enough", person_id=person, now=NOW)
    page = look(client, f"/g/{game.id}")
    assert_sound("abandoned", page)
    assert [item.get("id") for item in figures(page)] == ["chart-prices", "chart-market", "chart-hands"]
