"""What tests of every game must be told about Empire and Foes; see tests/support/game_data.py."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from byzanz.chance import Draw
from byzanz.charts import Heading
from byzanz.games import rules_of
from byzanz.games.empire.orders import EITHER
from byzanz.games.empire.state import NAME
from byzanz.kit.played import choice
from byzanz.moves import Move
from byzanz.record import Record
from byzanz.rules import PUBLIC, Viewer
from tests.records.moments import Moment as Seen
from tests.records.moments import ended, of_move
from tests.support import empire_positions
from tests.support.leaks.games import Chooser, Kind, Moment, of_others
from tests.support.orders import some_of

MISTAKES = (
    "redraw",
    "redraw huns crisis taxes trade treaty",
    "meld siege",
    "meld reforms trade",
    "keep taxes",
    "decline",
    "buy-off huns with taxes",
)
"""Moves of which some are refused for a reason that could reveal too much."""
TICKED = ("decline", "no-such-card#0")
"""A verb and a card, as a form sends them, that are never a move."""
FORESEEN = (
    "redraw none",
    "redraw infantry",
    "meld most",
    "meld none",
    "meld infantry",
    "keep least",
    "keep trade most",
    "keep science",
)
"""Standing orders whose answers can be foreseen."""
ORDER = "keep least always"
"""A standing order that can be placed at any time."""
ORDER_AHEAD = "keep most always"
"""A standing order of a player who is not asked about it now."""
ORDER_KINDS = {"redraw", "meld", "defend", "negotiate", "replace", "buy-off", "keep"}
"""The first words of its standing orders."""
QUESTIONS = {"redraw": 0, "meld": 0, "defend": 24, "negotiate": 19, "replace": 59, "buy-off": 1, "keep": 0}
"""Every question, with the random seed that leads to it in the game of its name."""
DEALS = "e"
"""What the names of these games begin with."""
UNDER_WAY = 6
"""The number of moves after which a game is under way."""
NOT_HELD = ("meld huns", "You do not hold Huns.")
"""A move with cards that are not in the hand, and why it is refused."""
CHARTS = ["territory", "legacy"]
"""The charts of a finished game."""
PAIRS_WITH_LEAKS = (35, 16, 39, 28, 20)
"""Pairs of worlds for planted leaks, for a seat to move and for a spectator."""
ORDER_WORDS = (*NAME[::3], "redraw meld defend negotiate replace buy-off keep with then decline ask none "
               "most least always , order")  # fmt: skip
"""Of what its standing orders are made."""


def random_orders(draw: Draw, view: Any) -> Iterator[str]:
    """Return random orders that the viewer may leave."""
    always, then = choice(draw, ("", " always")), choice(draw, ("ask", "decline"))
    hand = view.hand or ("none",)
    yield choice(draw, ("redraw none", f"redraw none{always}", f"redraw {choice(draw, hand)}"))
    yield choice(draw, ("meld none", f"meld most{always}", f"meld {choice(draw, hand)}"))
    yield f"keep {' '.join(some_of(draw, (*NAME, 'most', 'least'), 4))}{always}"
    for verb in ("defend", "negotiate", "replace"):
        yield f"{verb} {' '.join(some_of(draw, (*EITHER[verb], 'most'), 3))} then {then}{always}"
    yield f"buy-off huns with {choice(draw, NAME[45:])}, most then {then}{always}"


def _players(_rng: random.Random) -> Chooser:
    """Replace sealed choices more often than people do."""

    def choose(state: Any, rng: random.Random) -> tuple[int, Move]:
        rules = empire_positions.EMPIRE
        sealed = [seat for seat in (0, 1) if rules.out_of_turn_moves(state, seat)]
        if sealed and rng.random() < 0.4:
            return sealed[0], rng.choice(rules.out_of_turn_moves(state, sealed[0]))
        return empire_positions.choice(state, rng)

    return choose


def _sealed(step: str, *secrets: str) -> Moment:
    """Whether the other seat, or for a spectator any seat, has made its sealed choice."""

    def fits(state: Any, viewer: Viewer) -> bool:
        others = [chosen for seat, chosen in enumerate(state.chosen) if seat != viewer]
        return bool(state.step == step and any(chosen is not None for chosen in others))

    return Moment(f"{step} under seal {' '.join(secrets)}".rstrip(), fits, frozenset(secrets or {"chosen"}))


def _nobody_chose(state: Any) -> bool:
    return bool(state.chosen == (None, None))


_MOMENTS = (
    _sealed("meld"),
    _sealed("redraw"),
    _sealed("meld", "replaced"),
    Moment(
        "after a redraw",
        lambda state, viewer: (
            state.step == "meld" and _nobody_chose(state) and any(of_others(state.redrawn, viewer))
        ),
        frozenset({"redrawn"}),
    ),
    _sealed("keep"),
    Moment(
        "an answer to open melds",
        lambda state, _viewer: state.step in ("defend", "negotiate", "replace", "buy-off"),
        frozenset({"replaced", "hands"}),
    ),
    Moment(
        "a card was passed face down",
        lambda state, viewer: viewer == PUBLIC and state.year in (2, 3) and state.step == "redraw",
        frozenset({"kept"}),
    ),
)


PAIRED = Kind(rules_of("empire"), (2,), _players, _MOMENTS)
"""Which games of it pairs of worlds play, and at which moments they are compared."""


def _is_aside(moment: Seen) -> bool:
    entry = moment.entry
    if entry.seat is None or entry.move.startswith("!"):
        return False
    return moment.rules.is_out_of_turn(moment.before, entry.seat, moment.rules.parse(entry.move))


def _void_under_seal(moment: Seen) -> bool:
    seats = range(len(moment.rules.scores(moment.before)))
    out_of_turn_moves = [moment.rules.out_of_turn_moves(moment.before, seat) for seat in seats]
    return moment.entry.move.startswith("!void") and any(out_of_turn_moves)


def _full_territory(moment: Seen) -> bool:
    return bool(moment.seen()[1].territory == 20)


RARE_MOMENTS: dict[str, Callable[[Seen], bool]] = {
    "a sealed choice replaced": _is_aside,
    "a void while a choice is sealed": _void_under_seal,
    "a defence": of_move("defend"),
    "a negotiation": of_move("negotiate"),
    "a negotiation, and another card in its place": of_move("replace"),
    "an army bought off": of_move("buy-off"),
    "discards of the Foes shuffled again": of_move("shuffle foes:4"),
    "discards of the Byzantines shuffled again": of_move("shuffle byzantines:4"),
    "a last card passed by itself": of_move("keep", "rules"),
    "territory at its highest": _full_territory,
}
"""Rare events of an entry; a recorded game shows each."""
RARE_GAMES: dict[str, Callable[[Record], bool]] = {
    "all twelve years played": lambda game: ended(game).reason == "finished",
    "the Empire falls": lambda game: ended(game).reason == "fallen",
    "a draw": lambda game: len(ended(game).winners) == 2,
}
"""Rare events of a whole game; a recorded game shows each."""
ENDS_EARLY = True
"""The Empire may fall before the last part of a game."""


def parts(_seats: int) -> list[Heading]:
    """Return all parts of a game, from the page of its rules."""
    return [(f"year {number}",) for number in range(1, 13)]
