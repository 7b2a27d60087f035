"""Small runs with the rules and the bots: moves are counted, rivals that are missing are named, shares are sound."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import rules
from benchmarks.__main__ import BENCHES, Values, main
from byzanz import bots, chance, umpire
from byzanz.games import rules_of


def figure(figures: Values, name: str) -> float:
    value = figures[name]
    assert value is not None, f"{name} was not measured"
    return value


def test_moves_are_counted() -> None:
    figures = rules.measure_moves(seconds=0.01)
    assert figure(figures, "moves_per_second") > 20
    assert figure(figures, "microseconds_per_apply") > 0
    assert figure(figures, "clone_to_apply") > 0


def test_a_game_of_byzanz_counts_what_seats_did_and_not_the_deal() -> None:
    byzanz, deal = rules_of("byzanz"), chance.deal(chance.key("bench0", bytes(32), "abcd"))
    made = rules.byzanz_game(lambda choices: choices[0])()
    state, steps = umpire.settle(byzanz, byzanz.setup(rules.SEATS, {}), deal)
    whole = len(steps)
    while byzanz.outcome(state) is None:
        seat = min(byzanz.awaited(state))
        after = umpire.play(
            byzanz, state, seat, (*byzanz.moves(state, seat), *byzanz.out_of_turn_moves(state, seat))[0]
        )
        state, steps = umpire.settle(byzanz, after, deal)
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
    monkeypatch.setattr(rules, "import_module", modules.__getitem__)
    made = {name: game() for name, game in rules.installed(lambda choices: choices[0]).items()}
    assert made == {"uno": 3, "liars_poker": 2, "open_spiel_goofspiel": 2}
    figures = rules.measure_moves(seconds=0.01)
    ours, uno = figure(figures, "moves_per_second"), figure(figures, "uno_moves_per_second")
    assert figures["ratio_to_uno"] == pytest.approx(ours / uno)
    ours, theirs = (figure(figures, f"{of}goofspiel_moves_per_second") for of in ("", "open_spiel_"))
    assert figures["ratio_to_open_spiel_goofspiel"] == pytest.approx(ours / theirs)


def test_rivals_that_are_missing_are_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(rules, "import_module", missing)
    monkeypatch.setitem(BENCHES, "moves", lambda: rules.measure_moves(seconds=0.01))
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
    monkeypatch.setattr(rules, "latest", lambda: (rules_of("byzantium"),))
    monkeypatch.setattr(
        rules,
        "play",
        lambda name, _rules, players, _: [float(name[-1:] in "13579")] + [0.5] * (len(players) - 1),
    )
    clock = iter(range(0, 600, 10))
    monkeypatch.setattr(rules, "monotonic", lambda: float(next(clock)))
    file = tmp_path / "new" / "seats.jsonl"
    for run in (1, 2):
        figures = rules.measure_seats(minutes=1.1, playouts=1, file=file)
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
    first, second = (
        rules.play("a deal", rules_of("byzantium"), ["search"] * 3, lambda: bots.playout_budget(3))
        for _ in range(2)
    )
    assert sum(first) == pytest.approx(1)
    assert first == second


@pytest.mark.nightly
def test_bots_play_matches() -> None:
    figures = rules.measure_bots(milliseconds=1, most=1)
    names = ("share", "from", "to", "even", "clearly_better", "games")
    assert len(figures) == len(names) * len(rules.MATCHES)
    for match in rules.MATCHES:
        name = f"{match.game}_{match.seats}_{match.bot}_v_{match.other}"
        share, low, high, even, better, games = (figures[f"{name}_{each}"] for each in names)
        assert 0 <= low <= share <= high <= 1
        assert (even, games, better) == (1 / match.seats, 1, low > even)


def test_the_interval_is_that_of_wilson() -> None:
    assert rules.interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert rules.interval(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)


def test_each_deal_is_played_from_every_seat() -> None:
    match = rules.Match("byzantium", 2, "greedy", "greedy", 2)
    assert sum(rules._share(match, number, 1.0) for number in (0, 1)) == 1
