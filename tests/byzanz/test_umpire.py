"""The umpire checks moves, settles in a fixed order, and replays."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from byzanz.chance import deal
from byzanz.games import rules_of
from byzanz.moves import IllegalMove, Move, NotAwaited, Shuffle, UnreadableMove
from byzanz.umpire import Step, forced_move, play, read_logged, replay, settle
from tests.support.sealed_game import Duel, Sealed

RULES = Sealed()
DEAL = deal(b"umpire")


def state_with(hands: tuple[tuple[str, ...], ...], **fields: Any) -> Duel:
    used = {card for hand in hands for card in hand}
    stock = tuple(card for card in Duel().stock if card not in used)
    return Duel(step="lay", number=1, round=4, hands=hands, stock=(), gone=stock, **fields)


def test_settling_deals_before_anybody_chooses() -> None:
    state, steps = settle(RULES, RULES.setup(2, {}), DEAL)
    assert [(step.seat, step.by, step.move.verb) for step in steps] == [(None, "chance", "shuffle")]
    assert set(RULES.awaited(state)) == {0, 1}
    assert settle(RULES, state, DEAL) == (state, ())


def test_forced_moves_are_made_lowest_seat_first_until_the_game_is_over() -> None:
    state, steps = settle(RULES, state_with((("ash1",), ("oak1",))), DEAL)
    assert steps == (
        Step(0, "rules", Move("lay", ("ash1",))),
        Step(1, "rules", Move("lay", ("oak1",))),
        Step(0, "rules", Move("decline")),
    )
    assert RULES.outcome(state) is not None


def test_a_forced_move_does_not_wait_for_the_choice_of_a_lower_seat() -> None:
    state = state_with((("ash1", "ash2"), ("oak1",)))
    assert forced_move(RULES, state) == (1, Move("lay", ("oak1",)))
    state, steps = settle(RULES, state, DEAL)
    assert [step.seat for step in steps] == [1]
    assert set(RULES.awaited(state)) == {0}


def test_a_shuffle_that_falls_due_comes_before_the_forced_moves_after_it() -> None:
    before = Duel(
        step="answer", number=2, round=2, hands=((), ()), laid=("ash1", "oak1"), stock=("ash2", "oak2")
    )
    assert forced_move(RULES, before) == (0, Move("decline"))
    _, steps = settle(RULES, before, DEAL)
    assert [step.move.verb for step in steps] == ["decline", "shuffle", "lay", "lay", "decline"]
    assert [step.by for step in steps] == ["rules", "chance", "rules", "rules", "rules"]


def test_play_is_checked() -> None:
    state, _ = settle(RULES, RULES.setup(2, {}), DEAL)
    card = state.hands[1][0]
    after = play(RULES, state, 1, Move("lay", (card,)))
    assert after.laid == ("", card)
    with pytest.raises(IllegalMove):
        play(RULES, state, 0, Move("lay", (card,)))
    with pytest.raises(NotAwaited):
        play(RULES, after, 1, Move("decline"))
    for seat in (-1, 2):
        with pytest.raises(NotAwaited):
            play(RULES, state, seat, Move("lay", (card,)))
    with pytest.raises(IllegalMove, match="over"):
        play(RULES, replace(state, step="over"), 0, Move("lay", (card,)))


def test_play_leaves_settling_to_others() -> None:
    state = state_with((("ash1", "ash2"), ("oak1",)))
    assert RULES.awaited(play(RULES, state, 0, Move("lay", ("ash1",))))


def test_replay_is_the_same_as_playing() -> None:
    options: Mapping[str, Any] = {}
    state, steps = settle(RULES, RULES.setup(2, options), DEAL)
    made: list[tuple[int | None, Move]] = [(step.seat, step.move) for step in steps]
    for seat in (1, 0):
        move = RULES.moves(state, seat)[0]
        state = play(RULES, state, seat, move)
        made.append((seat, move))
    assert replay(RULES, 2, options, made) == state
    with pytest.raises(IllegalMove):
        replay(RULES, 2, options, made[1:])


def test_what_the_log_holds_is_read_to_the_letter() -> None:
    byzanz = rules_of("byzanz")
    for text in ("pass", "bid cloth1 wood4", "shuffle deal cloth1 merchant"):
        assert str(read_logged(byzanz, text)) == text
    for text in ("", " ", "pass ", "bid  cloth1", "Pass", "bid\tcloth1", "bid cloth1\n", "bid clóth1"):
        with pytest.raises(UnreadableMove):
            read_logged(byzanz, text)


def test_a_dealer_is_asked_for_what_is_due() -> None:
    asked: list[Shuffle] = []

    def dealer(shuffle: Shuffle) -> Move:
        asked.append(shuffle)
        return DEAL(shuffle)

    settle(RULES, RULES.setup(2, {}), dealer)
    assert asked == [Shuffle("deal:1", tuple(sorted(Duel().stock)))]
