"""Pairs of games with the same public events that differ only in what one viewer may not know.

A game is played at random up to some moment, then rewritten with other secrets (`retold`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from byzanz.moves import Move
from byzanz.rules import PUBLIC, Viewer
from byzanz.umpire import forced_move
from tests.support import game_data
from tests.support.leaks.games import Kind, Moment, Step
from tests.support.leaks.retold import Told, retold, secrets

KINDS: dict[str, Kind] = game_data.of_all("PAIRED")
GAMES = 200
"""Games that are tried before a pair is given up."""
Play = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two games.

    Args:
        viewer: for whom both are equal at each moment.
        plays: all entries of each.
        moment: at which they are compared.
        differing: what differs, see `retold.secrets`.
        dropped: changes that were undone.
    """

    slug: str
    seed: int
    seats: int
    viewer: Viewer
    plays: tuple[Play, Play]
    moment: str
    differing: frozenset[str]
    dropped: int

    @property
    def kind(self) -> Kind:
        """The game that is played."""
        return KINDS[self.slug]


def pair(slug: str, seed: int) -> Pair:
    """Return the pair of this number; player counts, viewers and kinds of moment take turns."""
    kind, rng = KINDS[slug], random.Random(f"pair {slug} {seed}")
    seats, moment = kind.seats[seed % len(kind.seats)], kind.moments[seed % len(kind.moments)]
    dropped = 0
    for _ in range(GAMES):
        game = _game(kind, seats, rng)
        for at, viewer in _found(game, moment, rng):
            one = Told(kind, seats, viewer, game.steps[:at], game.states[: at + 1])
            other, vain = retold(one, moment.secrets, rng)
            dropped += vain
            if other is not None:
                plays = tuple(one.steps), tuple(other.steps)
                return Pair(slug, seed, seats, viewer, plays, moment.name, secrets(one, other), dropped)
    raise AssertionError(
        f"no two games of {slug} look the same at: {moment.name}. Does a view tell too much?"
    )


def _game(kind: Kind, seats: int, rng: random.Random) -> Told:
    """Play a whole game at random."""
    rules, choose = kind.rules, kind.choosing(rng)
    told = Told(kind, seats, PUBLIC, [], [rules.setup(seats, {})])
    while rules.outcome(state := told.states[-1]) is None:
        step = _next(kind, state, choose, rng)
        told.steps.append(step)
        told.states.append(rules.apply(state, step.seat, step.made))
    return told


def _next(kind: Kind, state: Any, choose: Any, rng: random.Random) -> Step:
    due = kind.rules.chance(state)
    if due is not None:
        return Step(None, str(Move("shuffle", (due.label, *rng.sample(due.cards, len(due.cards))))), False)
    only = forced_move(kind.rules, state)
    if only is not None:
        return Step(only[0], str(only[1]), forced=True)
    seat, move = choose(state, rng)
    return Step(seat, str(move), forced=False)


def _found(game: Told, moment: Moment, rng: random.Random) -> Iterator[tuple[int, Viewer]]:
    """Return a few moments of this kind with a real choice, and the viewer: mostly the seat to move."""
    rules = game.kind.rules
    found = []
    for at, (state, step) in enumerate(zip(game.states, game.steps, strict=False)):
        if step.seat is None or step.forced:
            continue
        asked = [*rules.awaited(state)]
        viewer = rng.choice([*asked, *asked, *range(game.seats), PUBLIC])
        if moment.fits(state, viewer):
            found.append((at, viewer))
    yield from rng.sample(found, min(2, len(found)))
