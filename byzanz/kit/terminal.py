"""A game in the terminal between one person and bots, without a server and without email."""

from __future__ import annotations

import inspect
import re
import select
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from byzanz.bots import decide, find_bot, playout_budget
from byzanz.chance import Stream, deal, key
from byzanz.games import AnyRules, read
from byzanz.games.facts import Fact, facts
from byzanz.moves import BadSetup, Message, Move, Outcome, RulesError, ranked
from byzanz.record import Cause, Entry, open_choices, redact_entries
from byzanz.rules import ALL, PUBLIC
from byzanz.umpire import Step, play, settle

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
        RulesError: the game is not for this number of players, it refuses a decision, or there is no such seat or bot.
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
            raise BadSetup(f"there is no seat {self.own}; the seats are 0 to {self.seats - 1}")
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
        self._add(before, (Step(seat, Cause.PLAYER if seat == self.own else Cause.BOT, move), *steps))

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


# ---- the game as text ----

WIDTH = 96
PAGE = 40
"""As many moves are listed at a time."""


def names(table: Table) -> list[str]:
    """Return what the seats are called."""
    return ["You" if seat == table.own else f"Seat {seat} ({table.bot} bot)" for seat in range(table.seats)]


def position(table: Table) -> Iterator[str]:
    """Yield the lines that show what the person may know of the table."""
    view = table.view()
    hand = getattr(view, "hand", ())
    heading = ", ".join(table.rules.heading(view))
    yield from ("", heading[:1].upper() + heading[1:]) if heading else ("",)
    shared, by_seat = facts(view, table.seats, table.rules.by_seat)
    for fact in shared:
        yield from _wrapped(f"  {_said(fact)}")
    for name, own in zip(names(table), by_seat, strict=True):
        said = "; ".join(_said(fact) for fact in own if not (hand and fact.cards == hand))
        yield from _wrapped(f"  {name}: {said}")
    if hand:
        yield from _wrapped(f"Your hand: {' '.join(hand)}")


def news(table: Table, log: Sequence[Entry], known: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each entry that was not known before, or not in this form, and what followed from it.

    Args:
        table: the game.
        log: the log now, see `Table.log`.
        known: the log at an earlier time.
    """
    called = names(table)
    for at, entry in enumerate(log):
        if entry in known[at : at + 1] or entry.move.endswith(" ?"):
            continue  # the table shows who has chosen
        who = "Chance" if entry.seat is None else called[entry.seat]
        forced = " (the only move)" if entry.by == Cause.RULES else ""
        yield from _wrapped(f"{who}: {entry.move}{forced}")
        for message in table.told[at]:
            yield from _wrapped(f"  {_sentence(message, called, table.own)}")


def grouped(moves: Sequence[Move]) -> list[Move]:
    """Return the moves with those of one verb together."""
    verbs = list(dict.fromkeys(move.verb for move in moves))
    return sorted(moves, key=lambda move: verbs.index(move.verb))


def menu(moves: Sequence[Move], first: int) -> Iterator[str]:
    """Yield the lines of one page of a numbered list, a new line for each verb.

    Args:
        moves: all, as `grouped` returned them.
        first: the index of the first move of the page.
    """
    page = list(enumerate(moves, start=1))[first : first + PAGE]
    for _, group in groupby(page, key=lambda each: each[1].verb):
        texts = [f"{number:4} {move}" for number, move in group]
        wide = max(map(len, texts)) + 1
        across = max(1, WIDTH // wide)
        for start in range(0, len(texts), across):
            yield "".join(text.ljust(wide) for text in texts[start : start + across]).rstrip()
    left = len(moves) - first - len(page)
    if left:
        yield f"     and {left} more: type more"


def result(table: Table, outcome: Outcome) -> Iterator[str]:
    """Yield the lines that tell how a game ended."""
    ended = "" if outcome.reason == "finished" else f" ({outcome.reason})"
    yield from ("", f"The game is over{ended}.")
    for place, seat in ranked(table.places()):
        yield f"{place:3}. {names(table)[seat]}: {outcome.scores[seat]}"


def _said(fact: Fact) -> str:
    if fact.cards is None:
        return f"{fact.name} {fact.text}".rstrip()
    return f"{fact.name} {'sealed' if fact.cards == ('?',) else ' '.join(fact.cards) or 'none'}"


def _sentence(message: Message, names: Sequence[str], own: int) -> str:
    def called(seat: Any) -> str:
        return f"{names[seat[0]]} {seat[1]}" if isinstance(seat, tuple) else names[seat]

    named = {
        place: ", ".join(map(called, seats)) if isinstance(seats, tuple) else called(seats)
        for place, seats in message.seats.items()
    }
    listed = {
        place: ", ".join(map(str, value)) if isinstance(value, tuple) else value
        for place, value in message.places.items()
    }
    is_own = message.you and message.seats.get("name") == own
    return (message.you if is_own else message.text) % (listed | named)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="      ", break_on_hyphens=False)


# ---- the dialogue ----

HELP = """\
Type the number of a move, or a move as in an email: letters may be left out if it stays clear.
  Enter   show the table again          undo   take your last move back
  more    list further moves            q      end the game
  ?       show this help"""
_BLINK = 0.3
"""Seconds between two looks at a game's files."""


class Files:
    """The source files of a game, which may change.

    Args:
        path: of its file or folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = self._stamps()
        sys.dont_write_bytecode = True  # a cached module would hide a second change within the same second

    def changed(self) -> bool:
        """Return whether a file has changed since the last call."""
        before, self._seen = self._seen, self._stamps()
        return before != self._seen

    def read(self) -> AnyRules:
        """Return the rules as the files say now.

        Raises:
            BadSetup: they hold no game, or their code fails.
        """
        name = self.path.stem
        for module in [it for it in sys.modules if it.split(".")[0] == name]:
            del sys.modules[module]
        return read(self.path)

    def _stamps(self) -> dict[Path, tuple[int, int]]:
        files = self.path.rglob("*.py") if self.path.is_dir() else [self.path]
        found = [(file, file.stat()) for file in files if file.exists()]
        return {file: (stat.st_mtime_ns, stat.st_size) for file, stat in found}


class Terminal:
    """The dialogue of one game, on standard input and output.

    Args:
        table: the game.
        files: of the game, if they are to be watched.
    """

    def __init__(self, table: Table, files: Files | None = None) -> None:
        self._table, self._files = table, files
        self._known: tuple[Entry, ...] = ()
        self._moves: list[Move] = []
        self._first = 0
        # Unbuffered: `select` must see the lines that are still to be read.
        self._input = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115

    def play(self) -> None:
        """Play until the game is over, the person leaves or the input ends."""
        self._do(self._show)
        while self._files or not self._table.outcome():
            if self._files and self._files.changed():
                self._do(self._reload)
            elif not self._files or select.select([self._input], [], [], _BLINK)[0]:
                line = self._input.readline().decode(errors="replace")
                if not line or line.strip() in ("q", "quit"):
                    print("" if line else "\n", end="")
                    return
                self._do(self._answer, line.strip())

    def _do(self, act: Callable[..., None], *args: str) -> None:
        """Do something that runs the game's code; while its files are watched, its faults are only shown."""
        try:
            act(*args)
        except Exception:
            if self._files is None:
                raise
            traceback.print_exc(limit=-3, file=sys.stdout)  # the game's own lines come last
        if self._files or not self._table.outcome():
            print("> ", end="", flush=True)

    def _show(self) -> None:
        """Let the bots play, and show what happened, the table, and what the person can do, or the result."""
        table = self._table
        table.let_bots_play()
        log = table.log()
        _print(news(table, log, self._known))
        self._known = log
        _print(position(table))
        outcome = table.outcome()
        if outcome:
            _print(result(table, outcome))
            return
        answers, out_of_turn = table.moves()
        if not answers:
            raise BadSetup("the game is not over, but you have no move")
        self._moves = [*grouped(answers), *grouped(out_of_turn)]
        self._first = 0
        print(f"Your choice: {table.question()}")
        _print(menu(self._moves, 0))

    def _answer(self, line: str) -> None:
        if line == "":
            self._show()
        elif line == "?":
            print(HELP)
            print(inspect.cleandoc(sys.modules[type(self._table.rules).__module__].__doc__ or ""))
        elif line == "more":
            self._first += PAGE if self._first + PAGE < len(self._moves) else 0
            _print(menu(self._moves, self._first))
        elif line == "undo":
            self._undo()
        else:
            self._move(line)

    def _undo(self) -> None:
        before = self._table
        self._table = before.undone()
        if self._table is before:
            print("You have not moved yet.")
        else:
            self._known = self._table.log()
            self._show()

    def _move(self, line: str) -> None:
        is_number = re.fullmatch("[0-9]{1,6}", line)
        if is_number and not 1 <= int(line) <= len(self._moves):
            print(f"The list has the moves 1 to {len(self._moves)}.")
            return
        try:
            move = self._moves[int(line) - 1] if is_number else self._table.rules.parse(line)
            self._table.play(self._table.own, move)
        except RulesError as error:
            print(error)
        else:
            self._show()

    def _reload(self) -> None:
        assert self._files is not None
        try:
            rules = self._files.read()
        except RulesError as error:
            print(f"\n{error}\nThe game goes on as it was.")
            return
        try:
            self._table = replace(self._table, rules=rules)
            print("\nReloaded.")
        except RulesError as error:
            print(f"\nThe moves so far no longer fit ({error}). The game starts again.")
            self._table = replace(self._table, rules=rules, decisions=[])
        self._known = self._table.log()
        self._show()


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
