"""What tests of every game must be told about Byzanz; see tests/support/game_data.py."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from byzanz.chance import Draw
from byzanz.charts import Heading
from byzanz.games import rules_of
from byzanz.games.byzanz.state import GROUPS, NAME
from byzanz.kit.played import choice
from byzanz.moves import Move
from byzanz.record import Record
from byzanz.rules import Viewer
from tests.records.moments import Moment as Seen
from tests.records.moments import ended, of_move
from tests.support.byzanz_positions import choices
from tests.support.leaks.games import Chooser, Kind, Moment, of_others
from tests.support.orders import some_of

MISTAKES = (
    "bid cloth4",
    "sell merchant merchant merchant",
    "tax wine4",
    "take wood",
    "discard olive3",
    "done",
    "bid spice1 wood1",
)
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("bid", "merchant#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = (
    "raise upto 3",
    "raise upto 9 then ask",
    "ladder cloth1 grain1 wine2 wood3 upto 7",
    "pass",
    "tax best always",
    "tax lowest",
    "take wine best",
    "take most always",
    "limit sell lowest",
    "finish",
)
"""Standing orders whose answers can be foreseen."""
ORDER = "finish"
"""A standing order that can be placed at any time."""
ORDER_AHEAD = "take wine most always"
"""A standing order of a player who is not asked about it now."""
ORDER_KINDS = {"ladder", "raise", "pass", "tax", "take", "limit", "finish"}
"""The first words of its standing orders."""
QUESTIONS = {"bid": 1, "tax": 1, "limit": 1, "take": 1, "end": 1}
"""Every question, with the random seed that leads to it in the game of its name."""
UNDER_WAY = 20
"""The number of moves after which a game is under way."""
NOT_HELD = ("bid wood3 wood3", "You do not hold 2× Wood 3.")
"""A move with cards that are not in the hand, and why it is refused."""
CHARTS = ["prices", "profit", "market", "hands"]
"""The charts of a finished game."""
PAIRS_WITH_LEAKS = (14, 7, 20, 37)
"""Pairs of worlds for planted leaks, for a seat to move and for a spectator."""
ORDER_WORDS = (*NAME, *GROUPS, "ladder raise pass tax take limit finish upto 9 0 then ask this every lot always "
               "most best lowest sell order")  # fmt: skip
"""Of what its standing orders are made."""


def random_orders(draw: Draw, view: Any) -> Iterator[str]:
    """Return random orders that the viewer may leave."""
    then, lots = choice(draw, ("pass", "ask")), choice(draw, ("", " every lot"))
    cards = tuple(name for name in view.hand if name != "merchant") or ("wine2",)
    limit, rungs = f"upto {1 + draw(9)} then {then}{lots}", " ".join(choice(draw, cards) for _ in range(3))
    yield choice(draw, (f"pass{lots}", f"raise {limit}", f"ladder {rungs} {limit}"))
    for verb, also in (
        ("tax", ("best", "lowest")),
        ("take", ("best", "most")),
        ("limit", ("sell", "lowest")),
    ):
        yield " ".join([verb, *some_of(draw, (*GROUPS, *also), 4), *["always"][: draw(2)]])
    yield "finish"


def _players(rng: random.Random) -> Chooser:
    """Mostly play cards that others have seen, so that secrets last to the end."""
    hoards = rng.random() < 0.7

    def choose(state: Any, rng: random.Random) -> tuple[int, Move]:
        seat, move = choices(state, rng)
        for _ in range(10 if hoards else 0):
            if not _shows_a_secret(state, seat, move):
                break
            seat, move = choices(state, rng)
        if move.verb == "bid" and rng.random() < 0.3:  # otherwise every auction goes to the limit
            move = Move("pass")
        return seat, move

    return choose


def _shows_a_secret(state: Any, seat: int, move: Move) -> bool:
    """Whether a card leaves a hand without anyone else having known it was there."""
    if move.verb not in ("bid", "sell", "discard"):
        return False
    return bool(Counter(move.args) - Counter(NAME[card] for card in state.known[seat]))


def _at(step: str, *secrets: str) -> Moment:
    """Whether this question is open while others hold a few unknown cards; late in a game they may hold none."""

    def fits(state: Any, viewer: Viewer) -> bool:
        hands, known = of_others(state.hands, viewer), of_others(state.known, viewer)
        unknown = sum(len(hand) - len(part) for hand, part in zip(hands, known, strict=True))
        return bool(state.step == step and unknown >= 4)

    return Moment(step, fits, frozenset({"hands", *secrets}))


PAIRED = Kind(
    rules_of("byzanz"),
    (3, 4, 5, 6),
    _players,
    (_at("bid"), _at("end", "removed"), _at("tax"), _at("market"), _at("limit")),
)
"""Which games of it pairs of worlds play, and at which moments they are compared."""


def _unsold(moment: Seen) -> bool:
    """Whether a pass lets the first seat that passed win the lot for nothing."""
    if moment.entry.move != "pass":
        return False
    before, after = moment.seen()
    return not before.highest and before.won != after.won


def _empty_market(moment: Seen) -> bool:
    """Whether the market is over although not every seat has taken a group."""
    if not moment.entry.move.startswith(("take", "sell", "discard")):
        return False
    before, after = moment.seen()
    taken = before.taken + moment.entry.move.startswith("take")
    return before.step in ("market", "limit") and after.step in ("bid", "end") and 0 < taken < before.seats


def _rival_tied(record: Record) -> bool:
    """Whether the best score does not decide, because another seat has the same score and more cards."""
    result = ended(record)
    return result.scores.count(max(result.scores)) > len(result.winners) > 0


RARE_MOMENTS: dict[str, Callable[[Seen], bool]] = {
    "discards at the hand limit": of_move("discard"),
    "a sale at the hand limit": lambda of: of_move("sell")(of) and of.asked == "limit",
    "a sale out of turn": lambda of: of_move("sell")(of) and not of.asked,
    "a sale at the end": lambda of: of_move("sell")(of) and of.asked == "end",
    "three merchants sold": of_move("sell merchant merchant merchant"),
    "all pass, the first wins for nothing": _unsold,
    "a pass by itself, for want of a higher bid": of_move("pass", "rules"),
    "no group left for the last at the market": _empty_market,
}
"""Rare events of an entry; a recorded game shows each."""
RARE_GAMES: dict[str, Callable[[Record], bool]] = {
    "a win shared": lambda game: len(ended(game).winners) > 1,
    "a tie, won by the cards in hand": _rival_tied,
}
"""Rare events of a whole game; a recorded game shows each."""


def parts(seats: int) -> list[Heading]:
    """Return all parts of a game, from the page of its rules."""
    lots, rounds = {
        3: ("642", 8),
        4: ("5432", 6),
        5: ("54321", 6),
        6: ("654321", 4),
    }[seats]
    names = [*(f"lot {size}" for size in lots), "market"]
    return [*((f"round {number}", name) for number in range(1, rounds + 1) for name in names), ("end",)]
