"""Small runs of each benchmark: they measure what they claim, on sound games."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import baselines, bots, fixtures, moves, page, seats, submit, tick
from benchmarks.__main__ import BENCHES, Figures, main
from byzanz import chance, record, umpire
from byzanz.games import rules_of
from byzanz.rules import ALL
from server.play import history
from server.store import engine
from server.store.models import Game
from tests.support.scheduled_jobs import JOBS


def figure(figures: Figures, name: str) -> float:
    value = figures[name]
    assert value is not None, f"{name} was not measured"
    return value


def test_moves_are_counted() -> None:
    figures = moves.measure(seconds=0.01)
    assert figure(figures, "moves_per_second") > 20
    assert figure(figures, "microseconds_per_apply") > 0
    assert figure(figures, "clone_to_apply") > 0


def test_a_game_of_byzanz_counts_what_seats_did_and_not_the_deal() -> None:
    rules, deal = rules_of("byzanz"), chance.deal(chance.key("bench0", bytes(32), "abcd"))
    made = moves.byzanz(lambda choices: choices[0])()
    state, steps = umpire.settle(rules, rules.setup(moves.SEATS, {}), deal)
    whole = len(steps)
    while rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        after = umpire.play(
            rules, state, seat, (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))[0]
        )
        state, steps = umpire.settle(rules, after, deal)
        whole += 1 + len(steps)
    assert made == whole - 1


class UnoTable:
    """As much of an environment of rlcard as the race asks for: three moves and it is over."""

    def reset(self) -> tuple[dict[str, Any], int]:
        self.left = 3
        return {"legal_actions": {7: None}}, 0

    def is_over(self) -> bool:
        return not self.left

    def step(self, action: int) -> tuple[dict[str, Any], int]:
        assert action == 7
        self.left -= 1
        return {"legal_actions": {7: None}}, 0


class Poker:
    """As much of a game of pyspiel as the race asks for: one card is dealt, two moves are made."""

    def new_initial_state(self) -> Poker:
        self.made: list[int] = []
        return self

    def is_terminal(self) -> bool:
        return len(self.made) == 3

    def is_chance_node(self) -> bool:
        return not self.made

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(4, 1.0)]

    def legal_actions(self) -> list[int]:
        return [5]

    def apply_action(self, action: int) -> None:
        assert action == (5 if self.made else 4)
        self.made.append(action)


def test_rivals_that_are_installed_are_measured_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {
        "rlcard": SimpleNamespace(make=lambda _name: UnoTable()),
        "open_spiel.python.games.liars_poker": SimpleNamespace(),
        "pyspiel": SimpleNamespace(
            load_game=lambda _name: Poker(), load_game_as_turn_based=lambda _name, _settings: Poker()
        ),
    }
    monkeypatch.setattr(baselines, "import_module", modules.__getitem__)
    made = {name: game() for name, game in baselines.installed(lambda choices: choices[0]).items()}
    assert made == {"uno": 3, "liars_poker": 2, "open_spiel_goofspiel": 2}
    figures = moves.measure(seconds=0.01)
    ours, uno = figure(figures, "moves_per_second"), figure(figures, "uno_moves_per_second")
    assert figures["ratio_to_uno"] == pytest.approx(ours / uno)
    ours, theirs = (figure(figures, f"{of}goofspiel_moves_per_second") for of in ("", "open_spiel_"))
    assert figures["ratio_to_open_spiel_goofspiel"] == pytest.approx(ours / theirs)


def test_rivals_that_are_missing_are_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(baselines, "import_module", missing)
    monkeypatch.setitem(BENCHES, "moves", lambda: moves.measure(seconds=0.01))
    main(["moves"])
    lines = capsys.readouterr().out.splitlines()
    assert sum("not installed" in line for line in lines) == 6
    theirs = (" uno ", "liars", "open spiel")
    assert not any("not installed" in line for line in lines if not any(name in line for name in theirs))
    main(["moves", "--json"])
    assert json.loads(capsys.readouterr().out)["moves"]["ratio_to_uno"] is None


def test_the_games_of_each_seat_go_on_where_they_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seats, "latest", lambda: (rules_of("byzantium"),))
    monkeypatch.setattr(
        seats, "play", lambda _rules, size, number, _playouts: [float(number % 2)] + [0.5] * (size - 1)
    )
    clock = iter(range(0, 600, 10))
    monkeypatch.setattr(seats, "monotonic", lambda: float(next(clock)))
    file = tmp_path / "new" / "seats.jsonl"
    for run in (1, 2):
        figures = seats.measure(minutes=1.1, playouts=1, file=file)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(lines) == 6 * run
        for size in (2, 3, 4):
            own = [line["number"] for line in lines if line["table"] == f"byzantium_{size}"]
            assert own == list(range(len(own)))
            assert figures[f"byzantium_{size}_games"] == len(own)
            if own:
                assert figures[f"byzantium_{size}_seat_1_share"] == 0.5
                assert figures[f"byzantium_{size}_seat_1_from"] < 0.5 < figures[f"byzantium_{size}_seat_1_to"]


def test_a_game_against_oneself_shares_one_win_and_is_the_same_each_time() -> None:
    first, second = (seats.play(rules_of("byzantium"), 3, 0, playouts=3) for _ in range(2))
    assert sum(first) == pytest.approx(1)
    assert first == second


def test_submissions_go_through_http() -> None:
    figures = submit.measure(moves=3)
    assert figures["ratio_to_raw"] == pytest.approx(
        figures["submissions_per_second"] / figures["raw_commits_per_second"]
    )
    assert figures["submissions_per_second_at_once"] > 0


def test_a_script_is_a_whole_legal_game() -> None:
    with fixtures.temporary_server():
        game_id = fixtures.start_game(0)
        lines = fixtures.script(game_id, 10_000)
        assert len(lines) > 50
        assert [line.seen for line in lines] == sorted({line.seen for line in lines})


def test_pages_are_opened_at_both_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "LONG", 130)
    assert set(page.measure(views=1)) == {"milliseconds_at_50", "milliseconds_at_130", "ratio"}


def test_a_log_made_long_is_a_true_one() -> None:
    with fixtures.temporary_server():
        game_id = fixtures.start_game(0)
        fixtures.lengthen(game_id, 60)
        with engine.reading() as session:
            whole = history.record_for(session, session.get_one(Game, game_id), ALL)
        assert len(whole.entries) == 60
        assert record.verify(whole).replayed


def test_ticks_find_nothing_due() -> None:
    figures = tick.measure(many=200, ticks=2)
    idle = JOBS.keys() - {"figures"}  # which reads all games
    ratios = [figures[f"ratio_of_{job}"] for job in idle]
    assert min(ratios) > 0
    assert figures["ratio"] == max(ratios)
    assert all(figures[f"milliseconds_of_{job}_at_{games}"] > 0 for job in idle for games in (tick.FEW, 200))
    assert set(tick.IDLE) == idle


@pytest.mark.nightly
def test_bots_play_matches() -> None:
    figures = bots.measure(milliseconds=1, most=1)
    names = ("share", "from", "to", "even", "clearly_better", "games")
    assert len(figures) == len(names) * len(bots.MATCHES)
    for match in bots.MATCHES:
        name = f"{match.game}_{match.seats}_{match.bot}_v_{match.other}"
        share, low, high, even, better, games = (figures[f"{name}_{each}"] for each in names)
        assert 0 <= low <= share <= high <= 1
        assert (even, games, better) == (1 / match.seats, 1, low > even)


def test_the_interval_is_that_of_wilson() -> None:
    assert bots.interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert bots.interval(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)


def test_each_deal_is_played_from_every_seat() -> None:
    match = bots.Match("byzantium", 2, "greedy", "greedy", 2)
    assert sum(bots._share(match, number, 1.0) for number in (0, 1)) == 1


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
