"""Checks of the bots: greed beats chance, and equal bots do not always tie."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean

from byzanz import bots
from byzanz.chance import Stream, deal
from byzanz.conformance.game import LONGEST_GAME, Game, expect
from byzanz.moves import Outcome
from byzanz.umpire import play, settle

_MOST = 300
"""Games between greedy and random bots before their difference is not clear."""
_LEAST = 8
_CLEAR = 3.0
"""Standard errors by which the greedy bots must be ahead."""
_TIES = 100
"""Games among equal bots of which one must not end in a tie; of Byzantium for two, nearly all do."""


def check_bots(game: Game) -> None:
    """A greedy bot comes before random ones by a clear margin, and games among equal bots do not all end in a tie.

    The margin is that of the smallest table, because chance decides more among many players; at the others the greedy
    bot must not come after random ones by one.
    """
    _check_ties(game)
    ahead, behind = _compared(game)
    margin, clear = ahead - behind, _CLEAR * sqrt(ahead + behind)
    expect(
        clear > 0 and (margin >= clear if game.seats == min(game.rules.seats) else margin > -clear),
        "The greedy bot comes before random ones in %s games and after them in %s, which is no clear margin. "
        "evaluate tells bots how good a view is for its seat: more is better, also where the fewest points win.",
        ahead,
        behind,
    )


def _check_ties(game: Game) -> None:
    for name in ("random", "greedy"):
        decided = (len(_result(game, number, [name])[0].winners) < game.seats for number in range(_TIES))
        expect(any(decided), "%s games among %s bots all end in a tie.", _TIES, name)


def _compared(game: Game) -> tuple[int, int]:
    """Return how often a greedy bot came before random ones, and after them, once the difference is clear.

    It is also clear that there is none if time runs out, or most games are lost.
    """
    ahead = behind = 0
    for number in range(_MOST):
        greedy = number % game.seats  # alone, as several of them may stand in each other's way
        players = ["greedy" if seat == greedy else "random" for seat in range(game.seats)]
        _, places = _result(game, number, players)
        margin = fmean(place for seat, place in enumerate(places) if seat != greedy) - places[greedy]
        ahead, behind = ahead + (margin > 0), behind + (margin < 0)
        is_clear = abs(ahead - behind) >= _CLEAR * sqrt(ahead + behind) > 0
        if number >= _LEAST and (is_clear or not game.has_time()):
            break
    return ahead, behind


def _result(game: Game, number: int, players: Sequence[str]) -> tuple[Outcome, Sequence[int]]:
    """Let bots play a whole game; return its outcome and the place of each seat.

    Args:
        game: whose rules and seats are played.
        number: of the game that the bots play.
        players: names of bots by seat, repeated as needed.
    """
    rules, name = game.rules, f"{game}:bots:{number}".encode()
    draws = [Stream(name, f"bot:{seat}").below for seat in range(game.seats)]
    dealer = deal(name)
    state, _ = settle(rules, rules.setup(game.seats, {}), dealer)
    turns = 0
    while (outcome := rules.outcome(state)) is None:
        turns += 1
        expect(turns < LONGEST_GAME, "A game of the bots %s has not ended after %s turns.", players, turns)
        seat = min(rules.awaited(state))
        moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        move = bots.decide(players[seat % len(players)], rules, rules.view(state, seat), moves, draws[seat])
        state, _ = settle(rules, play(rules, state, seat, move), dealer)
    return outcome, rules.places(state)
