"""A game between one person and bots without a server: its decisions, and all that follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from byzanz.bots import decide, find_bot, playout_budget
from byzanz.chance import Stream, deal, key
from byzanz.games import AnyRules
from byzanz.moves import Message, Move, Outcome
from byzanz.record import Entry, open_choices, redact_entries
from byzanz.rules import ALL, PUBLIC
from byzanz.umpire import Step, play, settle
from server.cli.parser import CommandError

_PLAYOUTS = 100
"""The search bot's budget for each move."""


@dataclass
class Table:
    """A running game. The same seed and decisions give the same game.

    Args:
        rules: the game.
        seats: the number of players.
        own: the person's seat; bots play the others.
        bot: their name.
        seed: any text.
        decisions: made so far, by seat.

    Raises:
        CommandError: there is no such seat.
        RulesError: the game is not for this number of players, it refuses a decision, or there is no such bot.
    """

    rules: AnyRules
    seats: int
    own: int
    bot: str
    seed: str
    decisions: list[tuple[int, Move]] = field(default_factory=list)

    def __post_init__(self) -> None:
        find_bot(self.bot)
        self._key = key("", self.seed.encode(), ())
        first = self.rules.setup(self.seats, {})
        self._state, steps = settle(self.rules, first, deal(self._key))
        self._steps: list[Step] = []
        self.told: list[Sequence[Message]] = []
        """What followed from each entry of the log."""
        self._add(first, steps)
        if self.own >= self.seats:
            raise CommandError(f"there is no seat {self.own}; the seats are 0 to {self.seats - 1}")
        decisions, self.decisions = self.decisions, []
        for seat, move in decisions:
            self.play(seat, move)

    def play(self, seat: int, move: Move) -> None:
        """Make a decision, and all that follows from it.

        Raises:
            RulesError: the rules refuse it, and nothing has changed.
        """
        before = self._state
        self._state, steps = settle(self.rules, play(self.rules, before, seat, move), deal(self._key))
        self.decisions.append((seat, move))
        self._add(before, (Step(seat, "player" if seat == self.own else "bot", move), *steps))

    def _add(self, state: Any, steps: Iterable[Step]) -> None:
        before = self.rules.view(state, PUBLIC)
        for step in steps:
            state = self.rules.apply(state, step.seat, step.move)
            after = self.rules.view(state, PUBLIC)
            self._steps.append(step)
            self.told.append(self.rules.followed(before, after))
            before = after

    def let_bots_play(self) -> None:
        """Let the bots play until only the person is to move or the game is over."""
        while asked := [seat for seat in self.rules.awaited(self._state) if seat != self.own]:
            seat = asked[0]
            moves = (*self.rules.moves(self._state, seat), *self.rules.out_of_turn_moves(self._state, seat))
            draw = Stream(self._key, f"bot:{len(self.decisions)}").below
            view = self.rules.view(self._state, seat)
            self.play(seat, decide(self.bot, self.rules, view, moves, draw, playout_budget(_PLAYOUTS)))

    def undone(self) -> Table:
        """Return the game before the person's last decision; this one if there was none."""
        own = [at for at, (seat, _) in enumerate(self.decisions) if seat == self.own]
        return replace(self, decisions=self.decisions[: own[-1]]) if own else self

    def outcome(self) -> Outcome | None:
        """Return how the game ended, or None while it runs."""
        return self.rules.outcome(self._state)

    def question(self) -> str:
        """Return the kind of what the person is asked, empty if they are not to move."""
        asked = self.rules.awaited(self._state).get(self.own)
        return asked.kind if asked else ""

    def places(self) -> tuple[int, ...]:
        """Return the place of each seat as the game stands, from 1."""
        return self.rules.places(self._state)

    def view(self) -> Any:
        """Return what the person may know; all once the game is over."""
        return self.rules.view(self._state, ALL if self.outcome() else self.own)

    def moves(self) -> tuple[Sequence[Move], Sequence[Move]]:
        """Return the person's legal answers, and the moves that they may make out of turn."""
        return (
            self.rules.moves(self._state, self.own),
            self.rules.out_of_turn_moves(self._state, self.own),
        )

    def log(self) -> tuple[Entry, ...]:
        """Return what has happened, as the person may read it."""
        entries = [
            Entry(number, "", step.seat, step.by, str(step.move), None, None, "")
            for number, step in enumerate(self._steps, start=1)
        ]
        over = self.outcome() is not None
        is_open = open_choices(self.rules, self.seats, {}, entries)
        return redact_entries(self.rules, entries, self.own, over, is_open)
