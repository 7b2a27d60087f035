"""Commands about records: simulate games, verify a file of records, export the record of a game."""

from __future__ import annotations

import re
import secrets
import sys
from argparse import ArgumentTypeError, Namespace
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import IO

from byzanz import record
from byzanz.bots import BOTS
from byzanz.bots.simulate import simulate_game
from byzanz.games import latest, rules_of
from byzanz.record import BadRecord, Header, InvalidRecord, Mailed, Record, Report
from byzanz.rules import ALL, PUBLIC, Viewer
from server.cli.parser import (
    CommandError,
    Parser,
    app_context,
    count,
    error_line,
    seat_number,
    whole_number,
)


def add_simulate(simulate: Parser) -> None:
    """Add the arguments of this command."""
    games = ", ".join(rules.slug for rules in latest())
    simulate.add_argument("game", metavar="GAME", help=f"one of: {games}")
    simulate.add_argument("--players", type=count, required=True, metavar="N")
    simulate.add_argument("--games", type=count, required=True, metavar="K")
    simulate.add_argument(
        "--seed", metavar="HEX", help="the same seed gives the same bytes (default: random)"
    )
    simulate.add_argument(
        "--bots",
        default="random",
        metavar="A,B,…",
        help=f"bots by seat, repeated as needed, from weakest to strongest: {', '.join(BOTS)} (default: random)",
    )
    simulate.add_argument("--out", required=True, metavar="FILE", help="- for standard output")
    simulate.set_defaults(run=_simulate)


def add_verify(verify: Parser) -> None:
    """Add the arguments of this command."""
    verify.add_argument("file", metavar="FILE", help="- for standard input")
    quoted = "what an email quotes of the game, which its record must contain; FILE then holds one record"
    verify.add_argument(
        "--head", action="append", type=_head, metavar="SEQ:HASH", help=f"{quoted}; may be repeated"
    )
    verify.add_argument("--commitment", action="append", type=_hash, metavar="HEX", help="likewise")
    verify.add_argument("--cut", action="append", type=_hash, metavar="HEX", help="likewise: a fingerprint")
    verify.add_argument(
        "--seat",
        type=seat_number,
        metavar="N",
        help="also list what was settled after the player of seat N cut the deck",
    )
    verify.set_defaults(run=_verify)


def add_export(export: Parser) -> None:
    """Add the arguments of this command."""
    export.description = (
        "Print the record of a game as one reader may see it. While a game runs, the records of a seat "
        "and of a moderator show hidden cards. This leaves no log entry, since anyone who can run it can read the "
        "database anyway; moderators should view hands on the moderation page, which informs the players."
    )
    export.add_argument("id", metavar="ID", help="the game's ID")
    export.add_argument(
        "--as",
        dest="reader",
        default=PUBLIC,
        metavar="SEAT|public|moderator",
        help="the reader (default: public)",
    )
    export.set_defaults(run=_export)


def _simulate(args: Namespace) -> None:
    rules = rules_of(args.game)
    seed = _seed(args.seed)
    bots = args.bots.split(",")
    first = simulate_game(rules, args.players, seed, 0, bots)  # fail before the file is opened
    entries = len(first.entries)
    with _writable(args.out) as out:
        out.write(record.write(first))
        for number in range(1, args.games):
            played = simulate_game(rules, args.players, seed, number, bots)
            out.write(record.write(played))
            entries += len(played.entries)
    print(f"{args.games} games, {entries} entries, seed {seed.hex()}", file=sys.stderr)


def _seed(text: str | None) -> bytes:
    if text is None:
        return secrets.token_bytes(32)
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        raise CommandError("--seed must be hex digits, two for each byte", status=2) from None
    if not 1 <= len(seed) <= 1024:
        raise CommandError("--seed must have 1 to 1024 bytes", status=2)
    return seed


def _writable(name: str) -> AbstractContextManager[IO[str]]:
    return nullcontext(sys.stdout) if name == "-" else Path(name).open("w", encoding="utf-8", newline="\n")


def _readable(name: str) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb")


def _hash(text: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise ArgumentTypeError(f"{text[:40]!r} must be 64 hex digits")
    return text.lower()


def _head(text: str) -> tuple[int, str]:
    seq, _colon, digest = text.partition(":")
    number = whole_number(seq, 999_999_999)
    if number is None:
        raise ArgumentTypeError(f"{text[:40]!r} must be the number of an entry, a colon and its hash")
    return number, _hash(digest)


def _verify(args: Namespace) -> None:
    mailed = Mailed(*(tuple(given or ()) for given in (args.head, args.commitment, args.cut)))
    alone = len(mailed) or args.seat is not None
    records = 0
    with _readable(args.file) as file:
        try:
            for each in record.read(record.lines(file)):
                records += 1
                if alone and records > 1:
                    raise CommandError(f"{args.file}: with these options it must hold one record", status=2)
                print(_verified(each, records, mailed))
                if args.seat is not None:
                    print(_settled_after(each.header, args.seat))
        except BadRecord as error:
            raise CommandError(f"{args.file}: {error}") from error
    if not records:
        raise CommandError(f"{args.file}: no record found")


def _settled_after(header: Header, seat: int) -> str:
    if seat >= len(header.seats):
        raise CommandError(f"game {header.id[:40]} has only seats 0 to {len(header.seats) - 1}")
    later = record.settled_after(header, seat)
    if later is None:
        return f"seat {seat}: the record does not say in which order the cuts were made"
    names = [
        f"seat {each} ({header.seats[each][:40]}{', not asked' if each in header.uncut else ''})"
        for each in later
    ]
    line = f"settled after seat {seat}: {', '.join(names) or 'no cut of another seat'}"
    line += "; also withdrawn cuts and the number of seats, which the record does not date"
    return error_line(CommandError(line)) or line


def _verified(each: Record, number: int, mailed: Mailed) -> str:
    try:
        line = _summary(each, record.verify(each, mailed=mailed))
        return f"{line}; {len(mailed)} hashes of emails found in it" if len(mailed) else line
    except InvalidRecord as error:
        raise CommandError(f"record {number}, game {each.header.id[:40]}: {error}") from error


def _summary(each: Record, report: Report) -> str:
    header = each.header
    line = f"{header.id[:40]}: ok, {header.game} for {len(header.seats)}, {report.entries} entries"
    if report.result is not None:
        line += f", {report.result.reason}, scores {' '.join(map(str, report.result.scores))}"
    else:
        line += ", still in progress"
    if report.unchecked:
        line += (
            f"; {report.unchecked} entries could not be checked because they are hidden until the game ends"
        )
    return error_line(CommandError(line)) or line


def _export(args: Namespace) -> None:
    from server.errors import NoSuchGame
    from server.play import history
    from server.play.game import Table, load
    from server.store import engine

    viewer = _viewer(args.reader)
    table: Table | None = None
    with app_context(), engine.reading() as session:
        with suppress(NoSuchGame):
            table = load(session, args.id, engine.utc_now())
        if table is None or table.game.started_at is None:
            raise CommandError(f"game {args.id!r} does not exist or has not started")
        if isinstance(viewer, int) and viewer >= len(table.seats):
            raise CommandError(f"game {args.id} has only seats 0 to {len(table.seats) - 1}")
        text = record.write(history.record_for(table, viewer))
    sys.stdout.write(text)


def _viewer(text: str) -> Viewer:
    if text in (PUBLIC, "moderator"):
        return PUBLIC if text == PUBLIC else ALL
    number = whole_number(text, 999)
    if number is None:
        raise CommandError("--as must be a seat number from 0, public or moderator", status=2)
    return number
