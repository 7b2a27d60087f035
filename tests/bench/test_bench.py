"""The benchmarks measure what they say: small runs of each, and that what they set up is sound."""

from __future__ import annotations

import json

import pytest

from byzanz import record
from byzanz.rules import ALL
from server import bench, db, positions, records
from server.bench import house, moves, page, submit, tick
from server.cli import main
from server.schema import Game


def test_moves_are_counted() -> None:
    figures = moves.measure(seconds=0.01)
    assert figures["moves"] > 20
    assert figures["moves_per_second"] > 0


def test_submissions_go_through_http() -> None:
    figures = submit.measure(moves=3)
    assert figures["ratio_to_raw"] == pytest.approx(
        figures["submissions_per_second"] / figures["raw_commits_per_second"]
    )
    assert figures["submissions_per_second_at_once"] > 0


def test_a_script_is_a_whole_legal_game() -> None:
    with house.house():
        game_id = house.begun_game(0)
        lines = house.script(game_id, 10_000)
        assert len(lines) > 50
        assert [line.seen for line in lines] == sorted({line.seen for line in lines})


def test_pages_are_opened_at_both_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "LONG", 130)
    assert set(page.measure(views=1)) == {"milliseconds_at_50", "milliseconds_at_130", "ratio"}


def test_a_log_made_long_is_a_true_one() -> None:
    with house.house():
        game_id = house.begun_game(0)
        with db.reading() as session:
            position = positions.load(session, session.get_one(Game, game_id))
        page._lengthen(game_id, min(position.awaited), 60, db.utc_now())
        with db.reading() as session:
            whole = records.record_of(session, session.get_one(Game, game_id), ALL)
        assert len(whole.entries) == 60
        assert record.verify(whole).replayed


def test_ticks_find_nothing_due() -> None:
    figures = tick.measure(many=200, ticks=2)
    assert figures["ratio"] > 0
    assert "milliseconds_at_200" in figures


def test_one_benchmark_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "BENCHES", {name: lambda: {"figure": 1.5} for name in bench.BENCHES})
    assert main(["bench", "tick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"tick": {"figure": 1.5}}
    assert main(["bench"]) == 0
    assert capsys.readouterr().out.count("1.5") == len(bench.BENCHES)
