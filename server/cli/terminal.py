"""The command that plays a game in the terminal against bots, without a server and without email."""

from __future__ import annotations

import inspect
import re
import secrets
import select
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from byzanz.bots import BOTS
from byzanz.games import AnyRules, latest, read
from byzanz.moves import Move, RulesError
from byzanz.record import Entry
from server.cli import screen
from server.cli.parser import CommandError, count, find_game, path_of, seat_number
from server.cli.table import Table

HELP = """\
Type the number of a move, or a move as in an email: letters may be left out if it stays clear.
  Enter   show the table again          undo   take your last move back
  more    list further moves            q      end the game
  ?       show this help"""
_BLINK = 0.3
"""Seconds between two looks at a game's files."""


def add(commands: Any) -> None:
    """Add this command to `byzanz`."""
    games = ", ".join(rules.slug for rules in latest())
    play = commands.add_parser(
        "play",
        help="play a game in the terminal against bots",
        description="Play a game in the terminal against bots, without a server. Type ? for help.",
    )
    play.add_argument(
        "game", metavar="SLUG|PATH", help=f"one of: {games}; or the file or folder of a game: ./mine.py"
    )
    play.add_argument("--seats", type=count, metavar="N", help="number of players (default: the fewest)")
    play.add_argument(
        "--seat", type=seat_number, default=0, metavar="K", help="your seat, from 0 (default: 0)"
    )
    play.add_argument(
        "--bot",
        default="greedy",
        metavar="NAME",
        help=f"who plays the other seats, from weakest to strongest: {', '.join(BOTS)} (default: greedy)",
    )
    play.add_argument("--seed", metavar="TEXT", help="the same seed gives the same cards (default: random)")
    play.add_argument(
        "--watch",
        action="store_true",
        help="reload the game when its files change, and play your moves so far again",
    )
    play.set_defaults(run=_run)


def _run(args: Namespace) -> None:
    path = path_of(args.game)
    if args.watch and not path:
        raise CommandError("--watch needs the path of the game's file or folder, such as ./mine.py", status=2)
    rules = find_game(args.game)
    seed = args.seed or secrets.token_hex(4)
    table = Table(rules, args.seats or rules.seats[0], args.seat, args.bot, seed)
    print(f"{rules.title} for {table.seats} (--seed {seed}). Type ? for help.")
    Terminal(table, Files(path) if args.watch and path else None).play()


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
        _print(screen.news(table, log, self._known))
        self._known = log
        _print(screen.position(table))
        outcome = table.outcome()
        if outcome:
            _print(screen.result(table, outcome))
            return
        answers, out_of_turn = table.moves()
        if not answers:
            raise CommandError("the game is not over, but you have no move")
        self._moves = [*screen.grouped(answers), *screen.grouped(out_of_turn)]
        self._first = 0
        print(f"Your choice: {table.question()}")
        _print(screen.menu(self._moves, 0))

    def _answer(self, line: str) -> None:
        if line == "":
            self._show()
        elif line == "?":
            print(HELP)
            print(inspect.cleandoc(sys.modules[type(self._table.rules).__module__].__doc__ or ""))
        elif line == "more":
            self._first += screen.PAGE if self._first + screen.PAGE < len(self._moves) else 0
            _print(screen.menu(self._moves, self._first))
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
