"""Commands for makers of games: write a new game, check one, and play one in the terminal against bots."""

from __future__ import annotations

import secrets
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from byzanz import kit
from byzanz.bots import BOTS
from byzanz.games import AnyRules, latest
from byzanz.kit import check, terminal
from byzanz.kit.conformance import Game
from byzanz.moves import BadSetup
from server.cli.parser import CommandError, Parser, count, error_line, seat_number

if TYPE_CHECKING:
    from flask import Flask

_GAMES = 2


def add_new_game(new: Parser) -> None:
    """Add the arguments of this command."""
    new.description = (
        "Write a small game that can be played at once, as a package of its own, to be changed into "
        "another. Play it with: byzanz play"
    )
    new.add_argument(
        "slug", metavar="SLUG", help="the game's name in addresses and commands, such as harbour"
    )
    new.add_argument(
        "--into", default=".", metavar="FOLDER", help="where to write the folder SLUG (default: here)"
    )
    new.set_defaults(run=_new_game)


def add_check(checking: Parser) -> None:
    """Add the arguments of this command."""
    checking.description = (
        "Play a game at random with each number of players and check its rules, its templates and the "
        "records that its package brings. Each fault is told with the command that shows it again."
    )
    checking.add_argument(
        "game", metavar="GAME", help="the slug of a game, a .py file, or the folder of a package"
    )
    checking.add_argument(
        "--games",
        type=count,
        default=_GAMES,
        metavar="N",
        help=f"games for each number of players (default: {_GAMES})",
    )
    checking.add_argument("--seats", type=count, metavar="N", help="only this number of players")
    checking.add_argument("--seed", type=count, default=1, metavar="N", help="of the first game (default: 1)")
    checking.add_argument(
        "--at", type=int, metavar="K", help="show position K of one game, with what is wrong at it alone"
    )
    checking.add_argument(
        "--traceback", action="store_true", help="also print where in the code each fault was found"
    )
    checking.set_defaults(run=_check)


def add_play(play: Parser) -> None:
    """Add the arguments of this command."""
    games = ", ".join(rules.slug for rules in latest())
    play.description = "Play a game in the terminal against bots, without a server. Type ? for help."
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
    play.set_defaults(run=_play)


@contextmanager
def _refused_as_argument() -> Iterator[None]:
    """Report a refusal with the exit status of a wrong argument."""
    try:
        yield
    except BadSetup as error:
        raise CommandError(str(error), status=2) from error


def _new_game(args: Namespace) -> None:
    from server.config import TEMPLATES  # here, so that other commands start quickly

    with _refused_as_argument():
        check.check_slug(args.slug)
    folder = check.write(args.slug, Path(args.into), TEMPLATES / "new_game")
    print(f"Your game is in {folder}. Play it:")
    print(f"  cd {folder}\n  byzanz play ./{args.slug} --watch")


def _check(args: Namespace) -> int:
    """Check a game, which may fail in any way: even then a line says where, and no traceback ends the command."""
    try:
        return _judged(args, check.load(args.game))
    except (Exception, SystemExit) as error:  # a game that leaves Python is no game without a fault
        if isinstance(error, Exception) and error_line(error) is not None:
            raise
        if args.traceback:
            check.print_traceback(error)
        more = "" if args.traceback else "; --traceback shows where"
        raise CommandError(f"{args.game} cannot be checked further: {check.where(error)}{more}") from error


def _judged(args: Namespace, rules: AnyRules) -> int:
    """Check a game, print what was found, and return the exit status."""
    if args.seats is not None and args.seats not in rules.seats:
        raise CommandError(f"{rules.title} is for {check.numbers(rules.seats)} players", status=2)
    from server.cli import drawings  # here, so that other commands start quickly

    seats = [args.seats] if args.seats is not None else list(rules.seats)
    games = 1 if args.at is not None else args.games
    sample = check.Sample(args.game, rules, seats, games, args.seed, args.at)
    with tempfile.TemporaryDirectory(prefix="byzanz-check-") as folder, drawings.heard() as texts:
        app = _app(Path(folder))
        with app.test_request_context():
            checked = check.run(sample, drawings.CHECKS, time.process_time)
    if args.at is not None:
        with _refused_as_argument():
            check.show(Game(rules, seats[0], args.seed), args.at)
    checked.print_report(args.traceback)
    unread = _print_untranslated(drawings.untranslated(rules.slug, texts))
    checked.print_summary()
    return 1 if checked.found or unread else 0


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


def _print_untranslated(lines: Iterator[str]) -> bool:
    """Print which texts the catalogues lack; return whether the files of the package could not be read for that."""
    try:
        for line in lines:
            print(line)
    except Exception as error:  # any file of a package may be broken
        print(f"WRONG The texts to translate cannot be collected: {check.where(error)}")
        return True
    return False


def _play(args: Namespace) -> None:
    path = kit.path_of(args.game)
    if args.watch and not path:
        raise CommandError("--watch needs the path of the game's file or folder, such as ./mine.py", status=2)
    rules = kit.find_game(args.game)
    seed = args.seed or secrets.token_hex(4)
    table = terminal.Table(rules, args.seats or rules.seats[0], args.seat, args.bot, seed)
    print(f"{rules.title} for {table.seats} (--seed {seed}). Type ? for help.")
    terminal.Terminal(table, terminal.Files(path) if args.watch and path else None).play()
