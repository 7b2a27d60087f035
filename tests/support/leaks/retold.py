"""A game rewritten so that one viewer cannot tell it from the original.

Each change swaps two cards in a shuffle or another seat's sealed choice, and replays what follows. Changes that the
viewer could notice at any moment are undone, and so are those that turn a forced move into a real choice, because
whether a move came at once is a public event. Many such changes give the other game.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from byzanz import record
from byzanz.moves import Move, RulesError
from byzanz.rules import Viewer
from byzanz.umpire import forced_move
from tests.support.leaks.games import Kind, Step

TRIES, FIRST_TRIES = 200, 80
"""Changes tried in one game; one of the first must have the wanted effect."""
ENOUGH = 25
"""Successful changes after which a game differs enough."""
NEAR = 4
"""The greatest distance between cards of a shuffle that go to the same place."""


@dataclass
class Told:
    """A game as told to a viewer: each entry, and the states before, between and after them."""

    kind: Kind
    seats: int
    viewer: Viewer
    steps: list[Step]
    states: list[Any]

    @cached_property
    def views(self) -> list[Any]:
        """The viewer's view of each state."""
        return [self.kind.rules.view(state, self.viewer) for state in self.states]

    @cached_property
    def open_seqs(self) -> frozenset[int]:
        """The sealed choices that are open in the end."""
        return record.open_choices(self.kind.rules, self.seats, {}, entries(self.steps))

    def read(self, at: int, move: Move) -> str:
        """How the viewer reads a move in place of this one."""
        return self.kind.rules.redact_move(move, self.steps[at].seat, self.viewer, at + 1 in self.open_seqs)

    def is_secret(self, at: int) -> bool:
        """Whether part of an entry is hidden from the viewer: a shuffle, or another player's sealed choice."""
        step = self.steps[at]
        hidden = step.seat != self.viewer and step.made.verb in self.kind.rules.sealed
        return step.seat is None or (hidden and not step.forced)


def entries(steps: Sequence[Step]) -> list[record.Entry]:
    """Return the entries of a game, without times and hashes."""
    return [
        record.Entry(
            seq, "", step.seat, "chance" if step.seat is None else "player", step.move, None, None, ""
        )
        for seq, step in enumerate(steps, 1)
    ]


def retold(one: Told, wanted: frozenset[str], rng: random.Random) -> tuple[Told | None, int]:
    """Return the other game (None if it lacks a wanted secret) and how many changes were undone."""
    telling = Telling(one, replace(one, steps=[*one.steps], states=[*one.states]), rng)
    done, vain, found = 0, 0, False
    for tried in range(TRIES if telling.places else 0):
        if telling.change():
            done, found = done + 1, bool(wanted & secrets(one, telling.other))
        else:
            vain += 1
        if (found and done >= ENOUGH) or (tried >= FIRST_TRIES and not found):
            break
    return (telling.other if found else None), vain


class Telling:
    """The first game, and the other one as changed so far.

    Args:
        one: the first game; other: initially the same.
    """

    def __init__(self, one: Told, other: Told, rng: random.Random) -> None:
        self.one, self.other, self.rng, self.rules = one, other, rng, one.kind.rules
        self.places = [at for at in range(len(one.steps)) if one.is_secret(at)]
        self.swapped: dict[str, str] = {}
        """The two cards that were just swapped in a shuffle."""
        self.quiet: dict[int, list[int]] = {}
        """The places of each shuffle that were changed unnoticed; they will work again."""

    def change(self) -> bool:
        """Change one entry and replay what follows; return whether the viewer notices nothing."""
        at, self.swapped = self.rng.choice(self.places), {}
        if self.other.steps[at].seat is not None:
            return self._follow(at, self._another(at, self.other.states[at]))
        verb, label, *cards = self.other.steps[at].move.split(" ")
        here, there = self._two_places(at, cards)
        cards[here], cards[there] = cards[there], cards[here]
        self.swapped = {cards[here]: cards[there], cards[there]: cards[here]}
        stands = self._follow(at, Step(None, " ".join((verb, label, *cards)), forced=False))
        if stands:
            self.quiet.setdefault(at, []).extend((here, there))
        return stands

    def _two_places(self, at: int, cards: Sequence[str]) -> tuple[int, int]:
        known = self.quiet.get(at)
        here = self.rng.choice(known) if known and self.rng.random() < 0.6 else self.rng.randrange(len(cards))
        others = [place for place, card in enumerate(cards) if card != cards[here]]
        near = [place for place in others if abs(place - here) < NEAR]  # of one lot or one hand, perhaps
        return here, self.rng.choice(near if near and self.rng.random() < 0.2 else others)

    def _follow(self, at: int, step: Step | None) -> bool:
        """Continue the other game from a changed entry, if the viewer notices nothing."""
        steps: list[Step] = []
        states: list[Any] = [self.other.states[at]]
        for place in range(at, len(self.one.steps)):
            if place > at:
                step = self._still(place, states[-1])
            after = step and self._after(states[-1], step)
            if not step or not after or self.rules.view(after, self.one.viewer) != self.one.views[place + 1]:
                return False
            if not self._as_free(states[-1], step):
                return False
            steps.append(step)
            states.append(after)
        if forced_move(self.rules, states[-1]) is not None:
            return False
        self.other.steps[at:], self.other.states[at:] = steps, states
        return True

    def _still(self, at: int, state: Any) -> Step | None:
        """Return an entry unchanged; if it is no longer possible and hidden from the viewer, what it becomes."""
        step = self.other.steps[at]
        if self._after(state, step):
            return step
        if step.seat is None:
            return self._reshuffled(step, state)
        if not self.one.is_secret(at):
            return None
        words = " ".join(self.swapped.get(word, word) for word in step.move.split(" "))
        renamed = replace(step, move=str(self.rules.parse(words)))
        alike = self.one.read(at, renamed.made) == self.one.read(at, self.one.steps[at].made)
        return renamed if alike and self._after(state, renamed) else self._another(at, state)

    def _another(self, at: int, state: Any) -> Step | None:
        """Return any choice of the same kind in this state that the viewer reads like the original one."""
        step, rules = self.one.steps[at], self.rules
        assert step.seat is not None
        read = self.one.read(at, step.made)
        moves = (*rules.moves(state, step.seat), *rules.out_of_turn_moves(state, step.seat))
        alike = [move for move in moves if move.verb == step.made.verb and self.one.read(at, move) == read]
        return replace(step, move=str(self.rng.choice(alike))) if alike else None

    def _reshuffled(self, step: Step, state: Any) -> Step | None:
        """Return the same order, with missing cards replaced by those that are there now."""
        due = self.rules.chance(state)
        if due is None or step.made.args[0] != due.label:
            return None
        cards, rest, strange = list(step.made.args[1:]), list(due.cards), []
        for at, card in enumerate(cards):
            if card in rest:
                rest.remove(card)
            else:
                strange.append(at)
        if len(strange) != len(rest):
            return None
        for at, card in zip(strange, rest, strict=True):
            cards[at] = card
        return replace(step, move=" ".join(("shuffle", due.label, *cards)))

    def _after(self, state: Any, step: Step) -> Any | None:
        """Return the state after an entry; None if the rules refuse it."""
        try:
            return self.rules.apply(state, step.seat, step.made)
        except RulesError:
            return None

    def _as_free(self, state: Any, step: Step) -> bool:
        """Whether a move is forced in this state as it was in the first game."""
        if step.seat is None:
            return True
        only = forced_move(self.rules, state)
        return only == (step.seat, step.made) if step.forced else only is None


def secrets(one: Told, other: Told) -> frozenset[str]:
    """Return what differs between two games that the viewer cannot tell apart.

    `hands`, `removed`, `chosen`: of the last moment; `piles`: a shuffle; `redrawn`, `kept`: open choices that are
    partly hidden; `replaced`: a choice that another one has replaced.
    """
    last, twin = one.states[-1], other.states[-1]
    names = ("hands", "removed", "chosen")
    found = {name for name in names if getattr(last, name, None) != getattr(twin, name, None)}
    changed = [at for at, step in enumerate(one.steps) if step.move != other.steps[at].move]
    return frozenset(found.union(_secret(one, at) for at in changed))


def _secret(one: Told, at: int) -> str:
    step = one.steps[at]
    if step.seat is None:
        return "piles"
    if at + 1 in one.open_seqs:
        return {"redraw": "redrawn", "keep": "kept"}.get(step.made.verb, "a choice")
    return "replaced" if any(later.seat == step.seat for later in one.steps[at + 1 :]) else "chosen"
