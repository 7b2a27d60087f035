"""The table of the benchmarks: its arithmetic, its layout, and what becomes of what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.report import ROWS, Figures, Row

MACHINE = {"processor": "A processor", "cores": "2", "commit": "0123456789ab"}


def measured(**values: float | list[float]) -> Figures:
    """Figures with these values, one or one for each round."""
    rounds = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
    return Figures(rounds)


def complete() -> Figures:
    """Figures of which every row is made: each is 2, and what divides is 4."""
    found = Figures()
    for row in ROWS:
        for name in [row.figure, *re.findall(r"{(\w+)", row.detail)]:
            found.rounds.setdefault(name, [2.0])
    for row in ROWS:
        if row.over:
            found.rounds[row.over] = [4.0]
    return found


def test_a_figure_is_the_median_of_its_rounds() -> None:
    assert measured(a=[9.0, 1.0, 2.0]).median("a") == 2
    assert Figures().median("a") is None


def test_a_ratio_is_taken_within_each_round() -> None:
    """A round in which the machine was busy slows both and leaves the ratio as it is."""
    figures = measured(ours=[10.0, 1.0, 30.0], theirs=[5.0, 1.0, 10.0])
    assert figures.ratio("ours", "theirs") == 2  # of 2, 1 and 3; the medians alone would also give 10 ÷ 5
    assert measured(ours=[10.0, 1.0, 30.0], theirs=[5.0, 0.1, 10.0]).ratio("ours", "theirs") == 3


def test_a_ratio_to_another_number_of_rounds_is_that_of_the_medians() -> None:
    assert measured(ours=6.0, theirs=[1.0, 2.0, 9.0]).ratio("ours", "theirs") == 3


def test_a_ratio_to_what_is_missing_is_missing() -> None:
    assert measured(ours=1.0).ratio("ours", "theirs") is None
    assert measured(theirs=1.0).ratio("ours", "theirs") is None


@pytest.mark.parametrize(
    ("value", "at_least", "reached"),
    [(2.0, True, True), (1.9, True, False), (2.0, False, True), (2.1, False, False)],
)
def test_a_target_is_a_lower_or_an_upper_limit(value: float, at_least: bool, reached: bool) -> None:
    row = Row("a row", "a", "rates", (), target=2, at_least=at_least)
    assert row.reached(measured(a=value)) is reached
    assert row.reached(Figures()) is None


def test_a_row_shows_its_value_the_figures_behind_it_and_its_limits() -> None:
    row = Row("a row", "a", "rates", (), over="b", target=0.8, stretch=1.3, at_least=True, unit=" ms")
    assert row.cells(measured(a=1000.0, b=3000.0)) == ("a row", "0.333 (1,000 ÷ 3,000 ms)", "≥ 0.8", "≥ 1.3")
    assert row.cells(measured(a=1000.0)) == ("a row", "not measured", "≥ 0.8", "≥ 1.3")
    assert Row("b", "b", "rates", (), target=1.05).cells(measured(b=1.0)) == ("b", "1", "≤ 1.05", "")


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.03456, "0.0346"), (2.0, "2"), (12345.6, "12,346"), (99.96, "100")]
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert report.three_digits(value) == text


def test_every_row_is_made_of_its_figures() -> None:
    figures = complete()
    for row in ROWS:
        assert row.measured(figures) == figures.rounds[row.figure][0] / (4 if row.over else 1), row.what
        assert "not measured" not in row.cells(figures)[1]
        assert row.measured(Figures()) is None
    assert all(row.target is not None for row in ROWS)
    assert all((row.stretch > (row.target or 0)) == row.at_least for row in ROWS if row.stretch is not None)
    assert len(ROWS) == 17


def test_the_text_is_a_table_in_columns() -> None:
    figures = complete()
    figures.missing["boardgame.io FlatFile"] = "Node.js is not installed"
    lines = report.as_text(figures, MACHINE).splitlines()
    table = lines[: len(ROWS) + 1]
    assert table[0].split() == ["what", "measured", "target", "stretch"]
    for column, name in enumerate(report.HEADER):
        start = table[0].index(name)
        for line, row in zip(table[1:], ROWS, strict=True):
            assert line[start:].startswith(row.cells(figures)[column])
    assert sum(line.endswith(("  reached", "  not reached")) for line in table) == len(ROWS)
    assert "missing: boardgame.io FlatFile: Node.js is not installed" in lines
    assert lines[-1] == "processor: A processor; cores: 2; commit: 0123456789ab"


def test_json_holds_rows_figures_and_rounds() -> None:
    figures = measured(byzanz_moves_per_second=[80.0, 100.0], flatfile_moves_per_second=[100.0, 100.0])
    found = json.loads(json.dumps(report.as_json(figures, MACHINE)))
    assert found["rows"][0] == {
        "what": ROWS[0].what,
        "measured": 0.9,
        "target": 1.3,
        "stretch": None,
        "reached": False,
    }
    assert found["rows"][1]["measured"] is None
    assert found["figures"]["byzanz_moves_per_second"] == 90
    assert found["rounds"]["byzanz_moves_per_second"] == [80, 100]
    assert found["machine"] == MACHINE


def test_the_processor_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast 9000 @ 3: GHz\n\nmodel name\t: Another\n")
    monkeypatch.setattr(report, "CPUINFO", cpuinfo)
    assert report.processor() == "Fast 9000 @ 3: GHz"
    cpuinfo.unlink()
    assert report.processor()


def test_a_changed_checkout_is_told_from_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"rev-parse": "0123456789ab", "status": ""}
    monkeypatch.setattr(report, "said", lambda _program, first, *_, **_folder: said.get(first, ""))
    assert report.commit() == "0123456789ab"
    said["status"] = " M dev.py"
    assert report.commit() == "0123456789ab with changes"
    said["rev-parse"] = ""
    assert report.commit() == "unknown"
    assert report.machine()["Node.js"] == "not installed"
