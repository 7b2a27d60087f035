"""Small runs of what is measured: each section adds the figures of its rows, and a missing yardstick is named."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import measure, peers
from benchmarks.__main__ import SECTIONS
from benchmarks.peers import flask_apps
from benchmarks.report import QUICK, ROWS, YARDSTICKS, Figures, Size

TINY = replace(QUICK, moves=2, pages=1, commits=3, lengths=(50, 60), repeats=2, mails=6, games=300, front=2)
NAMES = {
    name
    for row in (*ROWS, *YARDSTICKS)
    for name in (row.figure, row.over, *re.findall(r"{(\w+)", row.detail))
    if name
}
NODE = ("flatfile", "minimal")
"""What the names of the figures begin with that need packages of npm."""


def wanted(*starts: str) -> set[str]:
    """The figures of rows and yardsticks whose names begin so."""
    return {name for name in NAMES if name.startswith(starts)}


@pytest.fixture
def no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No package of npm is installed."""
    monkeypatch.setattr(peers, "MODULES", tmp_path)


@pytest.mark.usefixtures("no_packages")
@pytest.mark.nightly
def test_byzanz_is_measured_beside_the_peers_that_are_installed() -> None:
    figures = Figures()
    measure.rates(TINY, figures)
    expected = wanted(
        "byzanz_", "flask_", "turn_", "hello_", "raw_", "cpu_milliseconds_a_turn", "megabytes_of_2"
    )
    assert set(figures.rounds) == expected
    assert {len(values) for values in figures.rounds.values()} == {TINY.rounds}, "the warm-up was counted"
    assert set(figures.missing) == {"boardgame.io FlatFile", "minimal server on better-sqlite3"}
    assert all(re.search("not installed", why) for why in figures.missing.values())


@pytest.mark.usefixtures("no_packages")
def test_a_missing_node_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: "/bin/node")
    with pytest.raises(
        peers.MissingError, match=r"boardgame\.io is not installed: run `python3 dev\.py peers`"
    ):
        peers.on_node(peers.FLATFILE, "flatfile.js", tmp_path / "data").__enter__()
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(peers.MissingError, match=r"Node\.js is not installed"):
        peers.on_node(peers.FLATFILE, "flatfile.js", tmp_path / "data").__enter__()


def test_a_missing_postgresql_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        raise ImportError

    monkeypatch.delenv("TEST_DATABASE_URL", raising=False)
    monkeypatch.setattr(importlib, "import_module", missing)
    figures = Figures()
    measure.workers(TINY, figures)
    assert set(figures.missing) == {"PostgreSQL"}
    assert not figures.rounds


def test_statements_of_the_front_page_are_counted() -> None:
    figures = Figures()
    measure.front(TINY, figures)
    assert wanted("front_page") <= set(figures.rounds)
    assert figures.rounds["front_page_statements_with_one_game"][0] > 1
    assert figures.rounds["front_page_games"] == [TINY.front]


def test_bytes_and_mails_of_whole_games_are_counted() -> None:
    figures = Figures()
    measure.storage(TINY, figures)
    assert wanted("bytes", "outbox") <= set(figures.rounds)
    assert 100 < figures.rounds["bytes_a_move"][0] < 1000
    assert figures.rounds["outbox_rows_left_a_move"][0] <= figures.rounds["outbox_rows_a_move"][0] + 0.1


@pytest.mark.nightly
def test_idle_jobs_are_measured_with_the_games_asked_for() -> None:
    figures = Figures()
    measure.idle_jobs(TINY, figures)
    assert wanted("idle_jobs") <= set(figures.rounds)
    assert figures.rounds["idle_jobs_games"] == [TINY.games]


@pytest.mark.nightly
def test_moves_and_pages_are_measured_at_each_length() -> None:
    figures = Figures()
    measure.lengths(TINY, figures)
    names = {f"milliseconds_a_{what}_at_{length}" for what in ("move", "page") for length in TINY.lengths}
    assert set(figures.rounds) == names


@pytest.mark.nightly
def test_memory_is_read_after_the_pages() -> None:
    figures = Figures()
    measure.memory(replace(TINY, memory_pages=9), figures)
    assert wanted("megabytes_after", "memory") <= set(figures.rounds)
    assert figures.rounds["memory_pages"] == [16]
    assert figures.rounds["megabytes_after_pages"][0] > 50


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR")
def test_two_processes_are_measured_beside_one() -> None:
    figures = Figures()
    measure.workers(replace(TINY, postgres_moves=2), figures)
    expected = wanted("moves_per_second_of", "cpu_milliseconds_a_move_in")
    assert set(figures.rounds) == expected or set(figures.missing) == {"PostgreSQL"}


def test_a_length_is_told_by_the_place_of_its_answers() -> None:
    figures = Figures()
    measure._add_by_length("a", [0.001, 0.010, 0.003, 0.030, 0.002, 0.020], TINY, figures)
    assert figures.rounds == {"a_at_50": [2], "a_at_60": [20]}


def test_kills_without_a_report_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(RuntimeError, match="reported nothing"):
        measure.kills(TINY, Figures())


def test_the_empty_application_inserts_durably(tmp_path: Path) -> None:
    database = tmp_path / "flask.db"
    flask_apps.connected(database).close()
    client = flask_apps.make_app(database).test_client()
    assert [client.post("/moves", data="a move").get_json() for _ in range(2)] == [{"seq": 1}, {"seq": 2}]
    assert "Hello" in client.get("/").get_data(as_text=True)
    connection = flask_apps.connected(database)
    assert connection.execute("SELECT count(*) FROM raw").fetchone() == (2,)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,), "not FULL"
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_sections_add_every_figure_of_the_rows() -> None:
    """Each figure is one that a test of this file has seen a section add."""
    seen = wanted(
        "byzanz_", "flask_", "turn_", "hello_", "raw_", "cpu_", "front_page", "bytes", "outbox", "idle_jobs",
        "milliseconds_a_", "megabytes", "memory", "moves_per_second_of", "kills", "faults", "browser_", "other_", *NODE,
    )  # fmt: skip
    assert seen == NAMES
    assert len(SECTIONS) == 9


@pytest.mark.nightly
def test_submissions_go_through_http() -> None:
    figures = measure.submit(moves=3)
    assert figures["ratio_to_raw"] == pytest.approx(
        figures["submissions_per_second"] / figures["raw_commits_per_second"]
    )
    assert figures["submissions_per_second_at_once"] > 0


def test_pages_of_a_short_and_of_a_long_log_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def lengths(size: Size, figures: Figures) -> None:
        for length in size.lengths:
            figures.add(f"milliseconds_a_page_at_{length}", length / 10)
            figures.add(f"milliseconds_a_move_at_{length}", 0)

    monkeypatch.setattr(measure, "lengths", lengths)
    assert measure.page() == {"milliseconds_at_50": 5, "milliseconds_at_5000": 500, "ratio": 100}


def test_the_report_of_the_kills_is_read_for_each_database() -> None:
    figures = Figures()
    measure.read_kills(
        "PostgreSQL: skipped, there is none: set TEST_DATABASE_URL\n"
        "kill -9 on SQLite: n = 100; 20 of the kills before it was ready, 9 s: nothing wrong\n"
        "kill -9 on PostgreSQL: n = 90; 18 of the kills before it was ready, 8 s: 2 FAULTS\n    a move is lost\n",
        figures,
    )
    assert figures.rounds == {"kills": [190], "faults_after_kills": [2]}
    measure.read_kills("nothing", figures)
    assert figures.rounds["kills"] == [190]
