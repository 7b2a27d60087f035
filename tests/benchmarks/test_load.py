"""The games of the benchmarks are sound, and the scheduler's jobs find nothing due in many of them."""

from __future__ import annotations

import pytest

from benchmarks import load
from byzanz import record
from byzanz.rules import ALL
from server.play import history
from server.store import engine
from tests.support.games import loaded
from tests.support.scheduler import JOBS


def test_a_script_is_a_whole_legal_game() -> None:
    with load.temporary_server():
        game_id = load.start_game()
        lines = load.script(game_id, 10_000)
        assert len(lines) > 50
        assert [line.seen for line in lines] == sorted({line.seen for line in lines})


def test_a_game_too_short_for_its_clients_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "start_game", str)
    monkeypatch.setattr(load, "script", lambda _game, _moves: [])
    with pytest.raises(ValueError, match="over before 5 moves"):
        load.scripts(1, 5)


def test_a_log_made_long_is_a_true_one() -> None:
    with load.temporary_server():
        game_id = load.start_game()
        load.lengthen(game_id, 60)
        with engine.reading() as session:
            whole = history.record_for(loaded(session, game_id), ALL)
        assert len(whole.entries) == 60
        assert record.verify(whole).replayed


def test_ticks_find_nothing_due() -> None:
    figures = load.measure_jobs(many=200, ticks=2)
    idle = JOBS.keys() - {"figures"}  # which reads all games
    ratios = [figures[f"ratio_of_{job}"] for job in idle]
    assert min(ratios) > 0
    assert figures["ratio"] == max(ratios)
    assert all(figures[f"milliseconds_of_{job}_at_{games}"] > 0 for job in idle for games in (load.FEW, 200))
    assert set(load.IDLE) == idle
