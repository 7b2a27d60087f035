"""The command of the benchmarks: the table, a section of it, or one benchmark; and what becomes of what fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import report
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
    monkeypatch.setitem(SECTIONS, "jobs", adds)
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


@pytest.mark.usefixtures("sections")
def test_only_a_whole_run_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[object] = []

    def write(*what: object) -> list[Path]:
        written.append(what)
        return []

    monkeypatch.setattr(report, "write", write)
    for words in (["--write", "--quick"], ["front", "--write"], ["--write", "--kills", "3"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "--write needs the whole table" in capsys.readouterr().err
    assert not written
    assert main(["--write"]) == 0
    assert len(written) == 1


def test_one_benchmark_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in BENCHES:
        monkeypatch.setitem(BENCHES, name, lambda: {"figure": 1.5})
    assert main(["tick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"tick": {"figure": 1.5}}
    for name in BENCHES:
        assert main([name]) == 0
    assert capsys.readouterr().out.count("1.5") == len(BENCHES)
