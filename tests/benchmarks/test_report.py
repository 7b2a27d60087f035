"""The table of the benchmarks: its arithmetic, its layout, and what becomes of what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

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
    row = Row("a row", figure="a", target=2, at_least=at_least)
    assert row.reached(measured(a=value)) is reached
    assert row.reached(Figures()) is None


def test_a_row_shows_its_value_the_figures_behind_it_and_its_limits() -> None:
    row = Row("a row", figure="a", over="b", target=0.8, stretch=1.3, at_least=True, unit=" ms")
    assert row.cells(measured(a=1000.0, b=3000.0)) == ("a row", "0.333 (1,000 ÷ 3,000 ms)", "≥ 0.8", "≥ 1.3")
    assert row.cells(measured(a=1000.0)) == ("a row", "not measured", "≥ 0.8", "≥ 1.3")
    assert Row("b", figure="b", target=1.05).cells(measured(b=1.0)) == ("b", "1", "≤ 1.05", "")


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
    limits = [row.target for row in ROWS]
    assert [
        row.stretch for row in ROWS if row.stretch is not None and (row.stretch > row.target) != row.at_least
    ] == []
    assert len(limits) == 16


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
        "target": 0.8,
        "stretch": 1.3,
        "reached": True,
    }
    assert found["rows"][1]["measured"] is None
    assert found["figures"]["byzanz_moves_per_second"] == 90
    assert found["rounds"]["byzanz_moves_per_second"] == [80, 100]
    assert found["machine"] == MACHINE


def test_the_document_gets_the_table_between_its_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, image = tmp_path / "benchmarks.md", tmp_path / "benchmarks.svg"
    document.write_text(f"# Before\n\n{report.BEGIN}\nold\n{report.END}\n\nAfter\n")
    monkeypatch.setattr(report, "DOCUMENT", document)
    monkeypatch.setattr(report, "IMAGE", image)
    assert report.write(complete(), MACHINE, "the command") == [document, image]
    text = document.read_text()
    assert text.startswith(
        f"# Before\n\n{report.BEGIN}\n`the command` measured this on processor A processor, cores 2"
    )
    assert text.endswith(f"{report.END}\n\nAfter\n")
    assert "at commit 0123456789ab." in text
    assert "old" not in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == len(ROWS) + 2 + len(report.YARDSTICKS) + 2
    assert {line.count("|") for line in table[: len(ROWS) + 2]} == {6}
    assert f"(images/{image.name})" in text
    ElementTree.fromstring(image.read_text())
    document.write_text("no marks")
    with pytest.raises(ValueError, match="does not contain"):
        report.write(complete(), MACHINE, "the command")


def test_the_document_of_this_checkout_has_the_marks() -> None:
    assert report.BEGIN in report.DOCUMENT.read_text().partition(report.END)[0]


def test_the_plot_shows_each_length_and_sums_the_jobs() -> None:
    figures = measured(
        milliseconds_a_page_at_50=4.0,
        milliseconds_a_page_at_2000=8.0,
        milliseconds_a_move_at_100=2.0,
        idle_jobs_milliseconds_of_turns_at_1000=0.5,
        idle_jobs_milliseconds_of_bots_at_1000=0.25,
        idle_jobs_milliseconds_of_turns_at_1000000=1.0,
    )
    assert report._points(figures, r"milliseconds_a_page_at_(\d+)") == [(50, 4), (2000, 8)]
    assert report._points(figures, r"idle_jobs_milliseconds_of_\w+_at_(\d+)") == [
        (1000, 0.75),
        (1_000_000, 1),
    ]
    drawn = ElementTree.fromstring(report.plot(figures))
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"50", "100", "2,000", "1,000", "1,000,000", "a turn page", "a move"} <= texts
    heights = [float(dot.attrib["cy"]) for dot in drawn.iter("{http://www.w3.org/2000/svg}circle")]
    assert heights[0] > heights[1], "the dearer page must stand higher"
    assert "not measured" in report.plot(Figures())


@pytest.mark.parametrize(("value", "top"), [(0.3, 0.4), (1.0, 1.0), (1.1, 2.0), (35.0, 40.0), (81.0, 100.0)])
def test_the_axis_ends_at_a_round_number(value: float, top: float) -> None:
    assert report._round_up(value) == pytest.approx(top)


def test_the_processor_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast 9000 @ 3: GHz\n\nmodel name\t: Another\n")
    monkeypatch.setattr(report, "CPUINFO", cpuinfo)
    assert report.processor() == "Fast 9000 @ 3: GHz"
    cpuinfo.unlink()
    assert report.processor()


def test_a_changed_checkout_is_told_from_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"rev-parse": "0123456789ab", "status": ""}
    monkeypatch.setattr(report, "_said", lambda _program, first, *_: said.get(first, ""))
    assert report.commit() == "0123456789ab"
    said["status"] = " M dev.py"
    assert report.commit() == "0123456789ab with changes"
    said["rev-parse"] = ""
    assert report.commit() == "unknown"
    assert report.machine()["Node.js"] == "not installed"
