"""The command of the benchmarks: the table, a section of it, or one benchmark; and what becomes of what fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks import document
from benchmarks.__main__ import BENCHES, SECTIONS, main, run
from benchmarks.report import QUICK, Figures, Size


def fails(_size: Size, figures: Figures) -> None:
    figures.add("begun", 1)
    raise RuntimeError("no disk")


def adds(size: Size, figures: Figures) -> None:
    figures.add("games", size.games)


def test_a_section_that_fails_is_named_and_the_others_run(capsys: pytest.CaptureFixture[str]) -> None:
    figures = run(QUICK, {"first": fails, "second": adds})
    assert figures.missing == {"first": "failed: RuntimeError: no disk"}
    assert figures.rounds["games"] == [QUICK.games]
    assert figures.rounds["begun"] == [1]
    assert {"seconds_of_first", "seconds_of_second"} <= set(figures.rounds)
    assert "no disk" in capsys.readouterr().err


@pytest.fixture
def sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sections instead of the real ones."""
    for name in list(SECTIONS):
        monkeypatch.delitem(SECTIONS, name)
    monkeypatch.setitem(SECTIONS, "tick", adds)
    monkeypatch.setitem(SECTIONS, "front", lambda _, figures: figures.add("front_page_games", 3))


@pytest.mark.usefixtures("sections")
def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("what ")
    assert main(["--json", "--quick", "--games", "77"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["figures"]["games"], found["figures"]["front_page_games"]) == (77, 3)
    assert {"processor", "cores", "kernel", "Python", "commit"} <= set(found["machine"])


@pytest.mark.usefixtures("sections")
def test_a_section_can_be_measured_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["front"]) == 0
    out = capsys.readouterr().out
    assert "front page games" in out
    assert "what" not in out


def test_a_failed_section_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECTIONS, "front", fails)
    assert main(["front"]) == 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Figures, set[str]]]:
    """What would be written: the figures, and whose rows they are."""
    calls: list[tuple[Figures, set[str]]] = []

    def write(figures: Figures, names: Iterable[str], machine: dict[str, str], date: str) -> list[Path]:
        assert machine["commit"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
        calls.append((figures, set(names)))
        return []

    monkeypatch.setattr(document, "write", write)
    return calls


@pytest.mark.usefixtures("sections")
def test_only_figures_in_their_full_size_are_written(
    written: list[tuple[Figures, set[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--write", "--quick"], ["front", "--write", "--games", "3"], ["--write", "--kills", "3"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "--write needs the full size" in capsys.readouterr().err
    assert not written
    assert main(["--write"]) == 0
    assert main(["front", "--write"]) == 0
    assert [names for _, names in written] == [{"tick", "front"}, {"front"}]


def test_a_benchmark_of_its_own_is_written(
    written: list[tuple[Figures, set[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BENCHES, "moves", lambda: {"moves_per_second": 2.0, "ratio_to_uno": None})
    assert main(["moves", "--write"]) == 0
    assert [(figures.rounds, names) for figures, names in written] == [
        ({"moves_per_second": [2.0]}, {"moves"})
    ]


def test_stale_rows_are_listed_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[bool] = []
    monkeypatch.setattr(document, "stale", lambda: ["a row: 2"])
    monkeypatch.setattr(document, "draw", lambda: drawn.append(True))
    assert main(["--stale"]) == 0
    assert capsys.readouterr().out == "a row: 2\n"
    assert not drawn
    assert main(["--stale", "--write"]) == 0
    assert drawn


def test_one_benchmark_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in BENCHES:
        monkeypatch.setitem(BENCHES, name, lambda: {"figure": 1.5})
    assert main(["moves", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"moves": {"figure": 1.5}}
    for name in BENCHES:
        assert main([name]) == 0
    assert capsys.readouterr().out.count("1.5") == len(BENCHES)
