"""docs/benchmarks.md: which rows a run replaces, what marks those that are stale, and the plot."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import document
from benchmarks.__main__ import BENCHES, SECTIONS
from benchmarks.report import ROWS, YARDSTICKS, Figures, Row
from benchmarks.rows import OTHERS
from benchmarks.servers import ROOT

EVERY = (*ROWS, *YARDSTICKS, *OTHERS)
MACHINE = {"processor": "A processor", "cores": "2", "commit": "0123456789ab"}
MARKS = """\
# Before

<!-- begin: measured -->
old
<!-- end: measured -->

Between
<!-- begin: others --><!-- end: others -->
"""


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty document in the place of docs/."""
    for name, file in (
        ("DOCUMENT", "benchmarks.md"),
        ("IMAGE", "benchmarks.svg"),
        ("KEPT", "benchmarks.json"),
    ):
        monkeypatch.setattr(document, name, tmp_path / file)
    document.DOCUMENT.write_text(MARKS)
    return tmp_path


def figures_of(*rows: Row, value: float = 2.0) -> Figures:
    """Figures of which these rows are made."""
    names = {
        name for row in rows for name in (row.figure, row.over, *re.findall(r"{(\w+)", row.detail)) if name
    }
    return Figures({name: [value] for name in names})


def cells(what: str) -> list[list[str]]:
    """The lines of the tables that begin so, as cells."""
    lines = [line.strip("| ").split(" | ") for line in document.DOCUMENT.read_text().splitlines()]
    return [line for line in lines if line[0] == what]


def test_every_row_has_a_command_that_measures_it_and_paths_that_exist() -> None:
    assert {row.command for row in EVERY} == {*SECTIONS, *BENCHES}
    assert len({document.key(row) for row in (*ROWS, *OTHERS)}) == len(ROWS) + len(OTHERS)
    paths = {path for row in EVERY for path in row.paths}
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
    assert all(row.paths for row in EVERY)


def test_a_run_replaces_its_own_rows_only(docs: Path) -> None:
    rates, lengths = ROWS[0], next(row for row in ROWS if row.command == "lengths")
    assert (rates.command, lengths.command) == ("rates", "lengths")
    document.write(figures_of(*EVERY), {*SECTIONS, *BENCHES}, MACHINE, "2026-11-01")
    later = MACHINE | {"commit": "ba9876543210"}
    files = document.write(figures_of(*EVERY, value=3.0), {"lengths"}, later, "2026-11-02")
    assert [path.name for path in files] == ["benchmarks.json", "benchmarks.md", "benchmarks.svg"]
    assert cells(rates.what)[0][1:] == ["1 (2 ÷ 2)", "≥ 1.3", "", "not reached", "0123456789ab, 2026-11-01"]
    assert cells(lengths.what)[0][1:] == ["1 (3 ÷ 3 ms)", "≤ 1.05", "", "reached", "ba9876543210, 2026-11-02"]
    kept = json.loads((docs / "benchmarks.json").read_text())["rows"]
    commands = {row["command"] for row in kept.values() if row["commit"] == "ba9876543210"}
    assert commands == {"python3 dev.py bench lengths"}
    text = document.DOCUMENT.read_text()
    assert text.startswith("# Before\n\n<!-- begin: measured -->\n`python3 dev.py bench --write` wrote this")
    assert "\nold\n" not in text
    assert (
        "<!-- end: measured -->\n\nBetween\n<!-- begin: others -->\n| `python3 dev.py bench moves` |" in text
    )
    assert "not measured" not in text


@pytest.mark.usefixtures("docs")
def test_what_a_run_could_not_measure_keeps_its_value_and_date() -> None:
    row = ROWS[0]
    document.write(figures_of(row), {"rates"}, MACHINE, "2026-11-01")
    document.write(
        Figures({row.figure: [9.0]}), {"rates"}, MACHINE, "2026-11-02"
    )  # the other server is missing
    assert cells(row.what)[0][-1] == "0123456789ab, 2026-11-01"
    assert cells(ROWS[4].what)[0][1] == "not measured"


@pytest.mark.usefixtures("docs")
def test_a_row_is_stale_once_its_paths_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    old = replace(ROWS[0], paths=("server",))
    fresh = replace(ROWS[1], paths=("templates",))
    monkeypatch.setattr(document, "ROWS", (old, fresh))
    digests = {("server",): "a", ("templates",): "b"}
    monkeypatch.setattr(document, "digest", lambda paths: digests.get(paths, "c"))
    document.write(figures_of(old, fresh), {"rates"}, MACHINE, "2026-11-01")
    assert document.stale() == []
    digests["server",] = "changed"
    assert document.stale() == [
        f"{old.what}: 1 (2 ÷ 2), measured at 0123456789ab on 2026-11-01; depends on server"
    ]
    assert "stale" not in document.DOCUMENT.read_text(), "listing marks nothing"
    document.draw()
    assert cells(old.what)[0][-1] == "0123456789ab, 2026-11-01, **stale**"
    assert cells(fresh.what)[0][-1] == "0123456789ab, 2026-11-01"
    document.write(figures_of(old), {"rates"}, MACHINE, "2026-11-02")
    assert document.stale() == []


def test_a_value_of_which_nobody_knows_the_paths_contents_is_stale() -> None:
    kept = document.Kept("2", 2.0, "python3 dev.py bench rates", "unknown", "2026-11-01", "a machine", "")
    assert document.is_stale(ROWS[0], kept)


def test_the_digest_is_of_names_and_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a/one.py": "1", "a/two.py": "2"}
    (tmp_path / "a").mkdir()

    def found() -> str:
        document.digest.cache_clear()
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return document.digest(("a",))

    monkeypatch.setattr(document, "ROOT", tmp_path)
    monkeypatch.setattr(document, "said", lambda *_: "\0".join(files))
    before = found()
    assert len(before) == 16
    assert found() == before
    files["a/two.py"] = "3"
    assert (changed := found()) != before
    files["a/three.py"] = "3"
    assert found() != changed
    files.clear()  # no git
    assert found() == ""
    document.digest.cache_clear()


@pytest.mark.usefixtures("docs")
def test_a_document_without_marks_is_refused() -> None:
    document.DOCUMENT.write_text("no marks")
    with pytest.raises(ValueError, match="does not contain <!-- begin: measured -->"):
        document.draw()


def test_the_tables_of_this_checkout_are_those_of_the_values_kept() -> None:
    """Nobody edits them by hand; only the marks may be older."""
    text = document.DOCUMENT.read_text().replace(document.STALE, "")
    store = document.read()
    for section in (document.table(store), document.others(store)):
        assert section.replace(document.STALE, "") in text, "run `python3 dev.py bench --stale --write`"
    assert set(store.rows) <= {document.key(row) for row in EVERY}
    assert document.IMAGE.read_text() == document.plot(store.lines)


def test_the_plot_shows_each_length_and_sums_the_jobs() -> None:
    figures = Figures(
        {
            "milliseconds_a_page_at_50": [4.0],
            "milliseconds_a_page_at_2000": [8.0],
            "milliseconds_a_move_at_100": [2.0],
            "idle_jobs_milliseconds_of_turns_at_1000": [0.5],
            "idle_jobs_milliseconds_of_bots_at_1000": [0.25],
            "idle_jobs_milliseconds_of_turns_at_1000000": [1.0],
        }
    )
    lines = {name: document._points(figures, pattern) for name, pattern in document.LINES.items()}
    assert lines["a turn page"] == [[50, 4], [2000, 8]]
    assert lines["all jobs of the scheduler, idle"] == [[1000, 0.75], [1_000_000, 1]]
    drawn = ElementTree.fromstring(document.plot(lines))
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"50", "100", "2,000", "1,000", "1,000,000", "a turn page", "a move"} <= texts
    heights = [float(dot.attrib["cy"]) for dot in drawn.iter("{http://www.w3.org/2000/svg}circle")]
    assert heights[0] > heights[1], "the dearer page must stand higher"
    assert "not measured" in document.plot({})


@pytest.mark.parametrize(("value", "top"), [(0.3, 0.4), (1.0, 1.0), (1.1, 2.0), (35.0, 40.0), (81.0, 100.0)])
def test_the_axis_ends_at_a_round_number(value: float, top: float) -> None:
    assert document._round_up(value) == pytest.approx(top)
