"""The games that pairs of worlds play: how they continue at random, and which moments are compared."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byzanz.games import rules_of
from byzanz.games.byzanz.cards import NAME
from byzanz.moves import Move
from byzanz.rules import PUBLIC, Rules, Viewer
from tests.support import empire_positions
from tests.support.byzanz_positions import choices

Chooser = Callable[[Any, random.Random], tuple[int, Move]]


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a game: a move of a seat, or a shuffle; `forced` if the seat had no other move."""

    seat: int | None
    move: str
    forced: bool

    @property
    def made(self) -> Move:
        """The move itself."""
        verb, *args = self.move.split(" ")
        return Move(verb, tuple(args))


@dataclass(frozen=True, slots=True)
class Moment:
    """A kind of moment at which a pair is compared.

    Args:
        name: of the kind.
        fits: whether a state is such a moment, and for which viewer.
        secrets: what must differ between the two worlds, one of `retold.secrets`.
    """

    name: str
    fits: Callable[[Any, Viewer], bool]
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the games.

    Args:
        seats: the possible numbers of seats.
        choosing: returns the players of one game: who may move, and what they do.
        moments: in which pairs take turns.
    """

    rules: Rules[Any, Any]
    seats: tuple[int, ...]
    choosing: Callable[[random.Random], Chooser]
    moments: tuple[Moment, ...]


def _byzanz_players(rng: random.Random) -> Chooser:
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


def _empire_players(_rng: random.Random) -> Chooser:
    """Replace sealed choices more often than people do."""

    def choose(state: Any, rng: random.Random) -> tuple[int, Move]:
        rules = empire_positions.EMPIRE
        sealed = [seat for seat in (0, 1) if rules.out_of_turn_moves(state, seat)]
        if sealed and rng.random() < 0.4:
            return sealed[0], rng.choice(rules.out_of_turn_moves(state, sealed[0]))
        return empire_positions.choice(state, rng)

    return choose


def _byzantium_players(_rng: random.Random) -> Chooser:
    rules = rules_of("byzantium")
    return lambda state, rng: (state.turn, rng.choice(rules.moves(state, state.turn)))


def _at(step: str, *secrets: str) -> Moment:
    """Whether this question is open while others hold a few unknown cards; late in a game they may hold none."""

    def fits(state: Any, viewer: Viewer) -> bool:
        hands, known = _of_others(state.hands, viewer), _of_others(state.known, viewer)
        unknown = sum(len(hand) - len(part) for hand, part in zip(hands, known, strict=True))
        return bool(state.step == step and unknown >= 4)

    return Moment(step, fits, frozenset({"hands", *secrets}))


def _sealed(step: str, *secrets: str) -> Moment:
    """Whether the other seat, or for a spectator any seat, has made its sealed choice."""

    def fits(state: Any, viewer: Viewer) -> bool:
        others = [chosen for seat, chosen in enumerate(state.chosen) if seat != viewer]
        return bool(state.step == step and any(chosen is not None for chosen in others))

    return Moment(f"{step} under seal {' '.join(secrets)}".rstrip(), fits, frozenset(secrets or {"chosen"}))


def _nobody_chose(state: Any) -> bool:
    return bool(state.chosen == (None, None))


EMPIRE_MOMENTS = (
    _sealed("meld"),
    _sealed("redraw"),
    _sealed("meld", "replaced"),
    Moment(
        "after a redraw",
        lambda state, viewer: (
            state.step == "meld" and _nobody_chose(state) and any(_of_others(state.redrawn, viewer))
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


def _of_others(items: tuple[Any, ...], viewer: Viewer) -> list[Any]:
    return [item for seat, item in enumerate(items) if seat != viewer]


def _placing(name: str, fits: Callable[[Any], bool]) -> Moment:
    return Moment(name, lambda state, _viewer: state.step == "put" and fits(state), frozenset({"hands"}))


def _lying(state: Any) -> int:
    return sum(card >= 0 for card in state.cross)


BYZANTIUM_MOMENTS = (
    _placing("a cross begun", lambda state: _lying(state) < 8),
    _placing("a cross half full", lambda state: 8 <= _lying(state) < 16),
    _placing("a later round", lambda state: state.round > 1),
    _placing("somebody is out", lambda state: bool(state.passed)),
)
KINDS = {
    "byzanz": Kind(
        rules_of("byzanz"),
        (3, 4, 5, 6),
        _byzanz_players,
        (_at("bid"), _at("end", "removed"), _at("tax"), _at("market"), _at("limit")),
    ),
    "empire": Kind(rules_of("empire"), (2,), _empire_players, EMPIRE_MOMENTS),
    "byzantium": Kind(rules_of("byzantium"), (2, 3, 4), _byzantium_players, BYZANTIUM_MOMENTS),
}
