"""Everything that a game can be judged by: its rules, its records, and further checks that are handed in."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Any

from byzanz import games, record
from byzanz.games import AnyRules, latest
from byzanz.kit import find_game
from byzanz.kit.conformance import (
    CHECKS,
    TABLE_CHECKS,
    Check,
    Fault,
    Found,
    Game,
    check_play,
    faults,
    name_of,
    said_by,
)
from byzanz.moves import BadSetup
from byzanz.rules import ALL

_WIDTH = 400
_SHOWN_MOVES = 40
_PATIENCE = 15.0
"""Seconds of processor time that bots may play in one game's checks; where bots differ, a few seconds show it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The games that are played for a check.

    Args:
        name: of the game in commands: its slug or path.
        rules: of the game.
        seats: the numbers of players.
        games: for each number of players.
        seed: of the first game.
        at: the only position that is looked at; None for all.
    """

    name: str
    rules: AnyRules
    seats: Sequence[int]
    games: int
    seed: int
    at: int | None


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks, by the games that they look at.

    Args:
        each: every game.
        table: one game of each number of players.
        once: one game.
    """

    each: tuple[Check, ...]
    table: tuple[Check, ...]
    once: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checks.

    Args:
        sample: the games that were played.
        checks: that looked for faults, in the order of the report.
        everywhere: the faults that they found.
    """

    sample: Sample
    checks: tuple[Check, ...]
    everywhere: list[Found]

    @property
    def found(self) -> list[Found]:
        """The faults at the position that is looked at."""
        return [each for each in self.everywhere if self.sample.at in (None, each.at)]

    def print_report(self, traced: bool) -> None:
        """Print a line for each check, and below it its first fault and how to see that one again.

        Args:
            traced: whether to print where in the code each fault was found.
        """
        for check in self.checks:
            wrong = [each for each in self.found if each.check == name_of(check)]
            print(f"{'WRONG' if wrong else 'ok   '} {name_of(check):19} {said_by(check)}")
            for each in wrong[:1]:
                print(f"      {each.wrong}")
                again = (
                    f"byzanz check {self.sample.name} --seats {each.seats} --seed {each.seed} --at {each.at}"
                )
                more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
                print(f"      {each.seats} players, seed {each.seed}, position {each.at}{more}: {again}")
                if traced:
                    print_traceback(each.error)

    def print_summary(self) -> None:
        """Print in a line how many checks found a fault, and which faults a look at one position leaves out."""
        sample, number = self.sample, len(self.checks)
        wrong = len({each.check for each in self.found})
        said = f"{wrong} of {number} checks found a fault" if wrong else f"{number} checks found no fault"
        where = f" at position {sample.at}" if sample.at is not None else ""
        print(
            f"{sample.rules.title}, version {sample.rules.version} of its rules: {said}{where} in "
            f"{len(sample.seats) * sample.games} games of {numbers(sample.seats)} players."
        )
        if sample.at is not None:
            print(_left_out([each for each in self.everywhere if each.at != sample.at]))


def _left_out(elsewhere: Sequence[Found]) -> str:
    """Say which faults a look at one position leaves out; a check that has found one went no further."""
    if not elsewhere:
        return "No check found a fault at another position."
    found = ", ".join(f"{each.check} ({each.seats} players, position {each.at})" for each in elsewhere)
    return (
        f"Faults at other positions are not shown: {found}. Each check stops at its first fault; leave out --at to see "
        "all of these."
    )


def numbers(seats: Sequence[int]) -> str:
    """Return numbers of players in words."""
    return str(seats[0]) if len(seats) == 1 else f"{seats[0]} to {seats[-1]}"


def where(error: BaseException) -> str:
    """Return in a sentence what an exception is and in which line it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"


def print_traceback(error: BaseException) -> None:
    """Print where in the code an exception was raised."""
    lines = "".join(traceback.format_exception(error))
    print(textwrap.indent(lines, "      ", lambda _line: True), end="")


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


def run(sample: Sample, more: Checks, clock: Callable[[], float]) -> Checked:
    """Play the games of a sample and return what checks find.

    Args:
        sample: the games.
        more: checks besides those of the rules and of records.
        clock: returns the seconds of processor time so far.
    """

    def check_restart(game: Game) -> None:
        """A game that is played again in a new process is the same."""
        here, there = fingerprint(game), _elsewhere(sample.name, game)
        if here != there:
            raise Fault(
                "Played again in another process, the game is another: does it use the order of a set?"
            )

    each = (*CHECKS, *more.each)
    table = (*TABLE_CHECKS, *more.table)
    once = (check_restart, check_kept_records, *more.once)
    found: list[Found] = []
    for seats in sample.seats:
        for seed in range(sample.seed, sample.seed + sample.games):
            first = seed == sample.seed
            checks = (
                *each,
                *(table if first else ()),
                *(once if first and seats == sample.seats[0] else ()),
            )
            found += faults(Game(sample.rules, seats, seed, _has_time(clock)), checks)
    checks = (check_play, *TABLE_CHECKS, *CHECKS, *more.table, *more.each, *once)
    return Checked(sample, checks, found)


def _has_time(clock: Callable[[], float]) -> Callable[[], bool]:
    """Return what says whether the patience has not run out; it begins to count when it is first asked."""
    began: list[float] = []

    def has_time() -> bool:
        now = clock()
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
    code = "import sys; from byzanz.kit.check import print_fingerprint; print_fingerprint(*sys.argv[1:])"
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


def show(game: Game, at: int) -> None:
    """Print a position: the view and the legal moves of each seat that is asked, and what was played.

    Args:
        game: not yet played.
        at: the number of the position.

    Raises:
        BadSetup: the game has no such position.
    """
    try:
        game.play()
    except Exception as error:
        print(f"The game stops at position {len(game.made)}: {type(error).__name__}: {error}")
    if not 0 <= at < len(game.states):
        raise BadSetup(f"the game has the positions 0 to {len(game.states) - 1}")
    try:
        _show_position(game, at)
    except Exception as error:
        print(f"It cannot be shown any further: {where(error)}")
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


# ---- a new game ----


def check_slug(slug: str) -> None:
    """Check that a text can be the slug of a game.

    Raises:
        BadSetup: it cannot.
    """
    if not re.fullmatch("[a-z][a-z0-9]{1,19}", slug):
        raise BadSetup(
            f"{slug[:40]!r} cannot be the name of a game: use 2 to 20 lower-case letters and digits"
        )


def write(slug: str, into: Path, model: Path) -> Path:
    """Write a new game into a folder of its name, and return that folder.

    Args:
        slug: of the new game.
        into: where its folder is made.
        model: the folder of the game that is copied under the new name.

    Raises:
        BadSetup: a new game cannot have this name or place.
    """
    folder = into / slug
    _refuse(slug, folder)
    (its_slug,) = [rules.stem for rules in model.glob("*.py")]
    for name in ("README.md", "pyproject.toml", f"{its_slug}.py", f"tests/test_{its_slug}.py"):
        file = folder / name.replace(its_slug, slug)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (model / name).read_text("utf-8").replace(its_slug, slug)
        file.write_text(text.replace(its_slug.capitalize(), slug.capitalize()), "utf-8")
    return folder


def _refuse(slug: str, folder: Path) -> None:
    check_slug(slug)
    if slug in {rules.slug for rules in latest()}:
        raise BadSetup(f"there is already a game {slug!r}")
    if not folder.parent.is_dir():
        raise BadSetup(f"there is no folder {folder.parent}")
    if folder.exists():
        raise BadSetup(f"{folder} exists already")
    if iskeyword(slug):
        raise BadSetup(f"{slug!r} is a word of Python; choose another name")
    if find_spec(slug):
        raise BadSetup(f"there is already a Python module {slug!r}; choose another name")
