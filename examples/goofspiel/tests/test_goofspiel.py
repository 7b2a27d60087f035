"""Goofspiel: who wins a prize, what is carried over, and that the order of the prizes stays hidden."""

from goofspiel import CARDS, Goofspiel, Position

from byzanz.bots.simulate import simulate_game
from byzanz.record import verify

RULES = Goofspiel()
START = Position((CARDS,) * 3, (0, 0, 0), offered=("7",), to_come=("2", "9"))


def test_the_highest_bid_wins_the_prize() -> None:
    after = RULES.resolve(START, ("3", "12", "3"))
    assert after.points == (0, 7, 0)
    assert after.offered == ("2",)
    assert "12" not in after.hands[1]


def test_equal_highest_bids_carry_the_prize_over() -> None:
    after = RULES.resolve(START, ("12", "12", "3"))
    assert after.points == (0, 0, 0)
    assert after.offered == ("7", "2")


def test_nobody_sees_the_order_of_the_prizes() -> None:
    assert RULES.shown(START, 0) == RULES.shown(
        Position(START.hands, START.points, START.offered, ("9", "2")), 0
    )


def test_a_whole_game_verifies() -> None:
    game = simulate_game(RULES, 3, b"seed", 0, ["random"])
    assert verify(game, lambda _slug, _version: RULES).worked_out == game.result
