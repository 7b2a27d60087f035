"""The command `byzanz check`: everything that a game can be judged by, its rules, templates and records."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byzanz import games, record
from byzanz.conformance import CHECKS, TABLE_CHECKS, Check, Fault, Found, Game, faults
from byzanz.conformance.checks import name_of, play, said_by
from byzanz.games import AnyRules
from byzanz.rules import ALL
from server.cli.parser import CommandError, count, error_line, find_game

if TYPE_CHECKING:
    from flask import Flask

_GAMES = 2
_WIDTH = 400
_SHOWN_MOVES = 40
_PATIENCE = 15.0
"""Seconds of processor time that bots may play in one game's checks; where bots differ, a few seconds show it."""


def add(commands: Any) -> None:
    """Add this command to `byzanz`."""
    check = commands.add_parser(
        "check",
        help="check the rules, templates and records of a game",
        description="Play a game at random with each number of players and check its rules, its templates and the "
        "records that its package brings. Each fault is told with the command that shows it again.",
    )
    check.add_argument(
        "game", metavar="GAME", help="the slug of a game, a .py file, or the folder of a package"
    )
    check.add_argument(
        "--games",
        type=count,
        default=_GAMES,
        metavar="N",
        help=f"games for each number of players (default: {_GAMES})",
    )
    check.add_argument("--seats", type=count, metavar="N", help="only this number of players")
    check.add_argument("--seed", type=count, default=1, metavar="N", help="of the first game (default: 1)")
    check.add_argument(
        "--at", type=int, metavar="K", help="show position K of one game, with what is wrong at it alone"
    )
    check.add_argument(
        "--traceback", action="store_true", help="also print where in the code each fault was found"
    )
    check.set_defaults(run=_check)


def _check(args: Namespace) -> int:
    """Check a game, which may fail in any way: even then a line says where, and no traceback ends the command."""
    try:
        return _judged(args, load(args.game))
    except (Exception, SystemExit) as error:  # a game that leaves Python is no game without a fault
        if isinstance(error, Exception) and error_line(error) is not None:
            raise
        if args.traceback:
            sys.stdout.writelines(chain.from_iterable(map(_indented, traceback.format_exception(error))))
        more = "" if args.traceback else "; --traceback shows where"
        raise CommandError(f"{args.game} cannot be checked further: {_where(error)}{more}") from error


def _where(error: BaseException) -> str:
    """Return in a sentence what an exception is and in which line it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"


def _judged(args: Namespace, rules: AnyRules) -> int:
    """Check a game, print what was found, and return the exit status."""
    if args.seats is not None and args.seats not in rules.seats:
        raise CommandError(f"{rules.title} is for {_numbers(rules.seats)} players", status=2)
    seats = [args.seats] if args.seats is not None else list(rules.seats)
    from server.cli.brought import heard, untranslated  # here, so that other commands start quickly

    with tempfile.TemporaryDirectory(prefix="byzanz-check-") as folder, heard() as texts:
        found, checks = _faults(args, rules, seats, _app(Path(folder)))
    everywhere = found
    if args.at is not None:
        found = [each for each in everywhere if each.at == args.at]
        _show(Game(rules, seats[0], args.seed), args.at)
    _report(args, checks, found)
    unread = _print_untranslated(untranslated(rules.slug, texts))
    number = len(seats) * (1 if args.at is not None else args.games)
    wrong = len({each.check for each in found})
    said = (
        f"{wrong} of {len(checks)} checks found a fault" if wrong else f"{len(checks)} checks found no fault"
    )
    where = f" at position {args.at}" if args.at is not None else ""
    print(
        f"{rules.title}, version {rules.version} of its rules: {said}{where} in {number} games of "
        f"{_numbers(seats)} players."
    )
    if args.at is not None:
        print(_left_out([each for each in everywhere if each.at != args.at]))
    return 1 if found or unread else 0


def _left_out(elsewhere: Sequence[Found]) -> str:
    """Say which faults a look at one position leaves out; a check that has found one went no further."""
    if not elsewhere:
        return "No check found a fault at another position."
    found = ", ".join(f"{each.check} ({each.seats} players, position {each.at})" for each in elsewhere)
    return (
        f"Faults at other positions are not shown: {found}. Each check stops at its first fault; leave out --at to see "
        "all of these."
    )


def _print_untranslated(lines: Iterator[str]) -> bool:
    """Print which texts the catalogues lack; return whether the files of the package could not be read for that."""
    try:
        for line in lines:
            print(line)
    except Exception as error:  # any file of a package may be broken
        print(f"WRONG The texts to translate cannot be collected: {_where(error)}")
        return True
    return False


def load(name: str) -> AnyRules:
    """Return the rules of a game, and make it available if it is in a file or folder.

    Args:
        name: a slug or a path.

    Raises:
        BadSetup: there is no such game, or it cannot be loaded.
    """
    rules = find_game(name)
    known = next((it for it in games.latest() if it.slug == rules.slug), None)
    is_shipped = type(known).__module__.startswith("byzanz.") and type(known) is not type(rules)
    if known is None or is_shipped:  # an installed copy may be worked on
        games.add(rules)
    return rules


def _app(folder: Path) -> Flask:
    """Return an application that draws pages and has no database."""
    from pydantic import SecretStr

    from server import create_app
    from server.config import Settings

    settings = Settings(
        home=folder,
        database_url=f"sqlite:///{folder}/none.db",
        database_url_file="",
        secret_key=SecretStr("0" * 32),
        secret_key_file="",
        mail_url_file="",
        base_url="http://127.0.0.1:8000",
    )
    return create_app(settings)


def _faults(
    args: Namespace, rules: AnyRules, seats: Sequence[int], app: Flask
) -> tuple[list[Found], tuple[Check, ...]]:
    """Return the faults of all games, and the checks that looked for them."""
    from server.cli.brought import BROUGHT_CHECKS
    from server.cli.drawings import DRAWING_CHECKS, DRAWING_TABLE_CHECKS

    def check_restart(game: Game) -> None:
        """A game that is played again in a new process is the same."""
        here, there = fingerprint(game), _elsewhere(args.game, game)
        if here != there:
            raise Fault(
                "Played again in another process, the game is another: does it use the order of a set?"
            )

    each = (*CHECKS, *DRAWING_CHECKS)
    table = (*TABLE_CHECKS, *DRAWING_TABLE_CHECKS)
    once = (check_restart, check_kept_records, *BROUGHT_CHECKS)
    found: list[Found] = []
    with app.test_request_context():
        for number in seats:
            for seed in range(args.seed, args.seed + (1 if args.at is not None else args.games)):
                first = seed == args.seed
                checks = (*each, *(table if first else ()), *(once if first and number == seats[0] else ()))
                found += faults(Game(rules, number, seed, _has_time()), checks)
    return found, (play, *TABLE_CHECKS, *CHECKS, *DRAWING_TABLE_CHECKS, *DRAWING_CHECKS, *once)


def _has_time() -> Callable[[], bool]:
    """Return what says whether the patience has not run out; it begins to count when it is first asked."""
    began: list[float] = []

    def has_time() -> bool:
        now = time.process_time()
        began.append(now)
        return now - began[0] < _PATIENCE

    return has_time


def fingerprint(game: Game) -> str:
    """Return a hash of all positions of a game that was played, and of the legal moves in them."""
    rules, digest = game.rules, hashlib.sha256()
    for state in game.states:
        moves = [list(map(str, rules.moves(state, seat))) for seat in range(game.seats)]
        digest.update(f"{rules.encode(state)} {moves} {rules.view(state, ALL)}\n".encode())
    return digest.hexdigest()


def print_fingerprint(name: str, seats: str, seed: str) -> None:
    """Print the fingerprint of a game that is played anew, see `check_restart`."""
    game = Game(load(name), int(seats), int(seed))
    game.play()
    print(fingerprint(game))


def _elsewhere(name: str, game: Game) -> str:
    code = "import sys; from server.cli.check import print_fingerprint; print_fingerprint(*sys.argv[1:])"
    words = [sys.executable, "-c", code, name, str(game.seats), str(game.seed)]
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fault(f"The game cannot be played in another process: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.strip()


def check_kept_records(game: Game) -> None:
    """The finished games in the folder `records` of the package replay as they were played."""
    module = sys.modules[type(game.rules).__module__.partition(".")[0]]
    for root in getattr(module, "__path__", ()):
        for path in sorted(Path(root, "records").glob("*.jsonl")):
            _check_kept(path, game.rules)


def _check_kept(path: Path, rules: AnyRules) -> None:
    with path.open("rb") as file:
        for number, each in enumerate(record.read(record.lines(file)), start=1):
            try:
                record.verify(each, find=games.rules_of)
            except record.InvalidRecord as error:
                raise Fault(f"{path.name}, record {number}: {error}") from error
            if each.header.game != rules.slug:
                raise Fault(f"{path.name}, record {number} is of {each.header.game}.")


def _report(args: Namespace, checks: Sequence[Check], found: Sequence[Found]) -> None:
    """Print a line for each check, and below it its first fault and how to see that one again."""
    for check in checks:
        wrong = [each for each in found if each.check == name_of(check)]
        print(f"{'WRONG' if wrong else 'ok   '} {name_of(check):19} {said_by(check)}")
        for each in wrong[:1]:
            print(f"      {each.wrong}")
            again = f"byzanz check {args.game} --seats {each.seats} --seed {each.seed} --at {each.at}"
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            print(f"      {each.seats} players, seed {each.seed}, position {each.at}{more}: {again}")
            if args.traceback:
                sys.stdout.writelines(
                    chain.from_iterable(map(_indented, traceback.format_exception(each.error)))
                )


def _indented(lines: str) -> Iterator[str]:
    return (f"      {line}\n" for line in lines.splitlines())


def _show(game: Game, at: int) -> None:
    """Print a position: the view and the legal moves of each seat that is asked, and what was played."""
    try:
        game.play()
    except Exception as error:
        print(f"The game stops at position {len(game.made)}: {type(error).__name__}: {error}")
    if not 0 <= at < len(game.states):
        raise CommandError(f"the game has the positions 0 to {len(game.states) - 1}", status=2)
    try:
        _show_position(game, at)
    except Exception as error:
        print(f"It cannot be shown any further: {_where(error)}")
    print()


def _show_position(game: Game, at: int) -> None:
    rules, state = game.rules, game.states[at]
    print(f"{rules.title}, {game.seats} players, seed {game.seed}, position {at}")
    asked = rules.awaited(state)
    for viewer in asked or (ALL,):
        print(f"View of {viewer if viewer == ALL else f'seat {viewer}'}")
        for name, value in _values(rules.view(state, viewer)):
            print(f"  {name}: {_cut(value)}")
    for seat, question in asked.items():
        moves = list(map(str, rules.moves(state, seat)[:_SHOWN_MOVES]))
        print(f"Seat {seat} is asked “{question}”; legal: {', '.join(moves)}")
    if (shuffle := rules.chance(state)) is not None:
        print(f"The shuffle {shuffle.label} is due.")
    if at < len(game.made):
        mover, move = game.made[at]
        print(f"Played next: {move} ({'chance' if mover is None else f'seat {mover}'})")


def _values(view: Any) -> Iterator[tuple[str, Any]]:
    names = [field.name for field in fields(view)] if is_dataclass(view) else sorted(vars(view))
    return ((name, getattr(view, name)) for name in names)


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _numbers(seats: Sequence[int]) -> str:
    return str(seats[0]) if len(seats) == 1 else f"{seats[0]} to {seats[-1]}"
