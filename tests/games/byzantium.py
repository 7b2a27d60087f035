"""What tests of every game must be told about Byzantium; see tests/support/game_data.py."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from byzanz.chance import Draw
from byzanz.charts import Heading
from byzanz.games import rules_of
from byzanz.games.byzantium.state import NAME, SLOTS
from byzanz.kit.played import choice
from byzanz.record import Record
from tests.records.moments import Moment as Seen
from tests.records.moments import ended, of_move
from tests.support.leaks.games import Chooser, Kind, Moment
from tests.support.orders import some_of

MISTAKES = ("put 7r on e", "put kb on n", "put 2b on sfl", "pass")
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("put", "ab#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = ("put any", "put 7r on e, 8r on ef, kb on n then ask", "put 2b on s, qr on w then any")
"""Standing orders whose answers can be foreseen."""
ORDER = "put any always"
"""A standing order that can be placed at any time."""
ORDER_AHEAD = "put any always"
"""A standing order of a player who is not asked about it now."""
ORDER_KINDS = {"put"}
"""The first words of its standing orders."""
QUESTIONS = {"put": 1}
"""Every question, with the random seed that leads to it in the game of its name."""
NOT_HELD = ("put 9r on el", "You do not hold red 9.")
"""A move with cards that are not in the hand, and why it is refused."""
CHARTS = ["points", "left"]
"""The charts of a finished game."""
PAIRS_WITH_LEAKS = (0, 3, 13)
"""Pairs of worlds for planted leaks, for a seat to move and for a spectator."""
ORDER_WORDS = (*NAME, *SLOTS[::7], "put on then any ask always , order")
"""Of what its standing orders are made."""


def random_orders(draw: Draw, view: Any) -> Iterator[str]:
    """Return random orders that the viewer may leave."""
    slots = {
        True: [slot for slot in SLOTS if slot[0] in "ew"],
        False: [slot for slot in SLOTS if slot[0] in "ns"],
    }
    put = [
        f"{card} on {choice(draw, tuple(slots[card[-1] == 'r']))}"
        for card in some_of(draw, view.hand or ("2r",), 5)
    ]
    yield choice(
        draw, (f"put {', '.join(put)} then {choice(draw, ('any', 'ask'))}", "put any", "put any always")
    )


def _players(_rng: random.Random) -> Chooser:
    rules = rules_of("byzantium")
    return lambda state, rng: (state.turn, rng.choice(rules.moves(state, state.turn)))


def _placing(name: str, fits: Callable[[Any], bool]) -> Moment:
    return Moment(name, lambda state, _viewer: state.step == "put" and fits(state), frozenset({"hands"}))


def _lying(state: Any) -> int:
    return sum(card >= 0 for card in state.cross)


_MOMENTS = (
    _placing("a cross begun", lambda state: _lying(state) < 8),
    _placing("a cross half full", lambda state: 8 <= _lying(state) < 16),
    _placing("a later round", lambda state: state.round > 1),
    _placing("somebody is out", lambda state: bool(state.passed)),
)
PAIRED = Kind(rules_of("byzantium"), (2, 3, 4), _players, _MOMENTS)
"""Which games of it pairs of worlds play, and at which moments they are compared."""


def _closed(moment: Seen) -> bool:
    return any(place.state == "closed" for place in moment.seen()[1].places)


def _both_ways(moment: Seen) -> bool:
    return {"rising", "falling"} <= {arm.direction for arm in moment.seen()[1].arms}


def _emptied(moment: Seen) -> bool:
    return moment.entry.move.startswith("put") and 0 in moment.seen()[1].hand_sizes


RARE_MOMENTS: dict[str, Callable[[Seen], bool]] = {
    "a seat that must pass": of_move("pass", "rules"),
    "a hand emptied": _emptied,
    "a slot closed by its neighbour": _closed,
    "arms rising and falling": _both_ways,
}
"""Rare events of an entry; a recorded game shows each."""
RARE_GAMES: dict[str, Callable[[Record], bool]] = {
    "a win shared": lambda game: len(ended(game).winners) > 1,
}
"""Rare events of a whole game; a recorded game shows each."""


def parts(seats: int) -> list[Heading]:
    """Return all parts of a game, from the page of its rules."""
    return [(f"round {number}",) for number in range(1, seats + 1)]
