"""A server on an empty database in a temporary folder, and games to be played from a script."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flask import Flask
from pydantic import SecretStr

from byzanz import chance, umpire
from byzanz.games import rules_of
from server import create_app, play
from server.config import Settings
from server.lobby import create
from server.play import positions, running
from server.store import engine, links, migrate
from server.store.models import Game
from server.validation import Guest

NAMES = ("Anna", "Basil", "Cassia", "Demetrios")
NO_MAIL = "smtp://127.0.0.1:9"
SECRET = "only for a benchmark, never for people"  # noqa: S105 - of databases that are thrown away


@dataclass(frozen=True, slots=True)
class ScriptedMove:
    """One move of a scripted game: the seat and its token, the move, and the head of the log before it."""

    seat: int
    token: str
    move: str
    seen: int


@contextmanager
def temporary_server(database_url: str | None = None) -> Iterator[tuple[Flask, Path]]:
    """Yield the application, its context pushed, and a folder, which holds its database.

    Args:
        database_url: of another, empty database.
    """
    with tempfile.TemporaryDirectory(prefix="byzanz-bench-") as folder:
        settings = Settings(
            database_url=database_url or f"sqlite:///{folder}/byzanz.db",
            mail_url=NO_MAIL,
            secret_key=SecretStr(SECRET),
            rate_limits=False,
        )
        app = create_app(settings)
        with app.app_context():
            try:
                migrate.upgrade()
                yield app, Path(folder)
            finally:
                engine.db.session.remove()
                engine.db.engine.dispose()


def environment() -> dict[str, str]:
    """Return the variables with which another process runs the application that is running here."""
    return {
        "BYZANZ_DATABASE_URL": engine.db.engine.url.render_as_string(hide_password=False),
        "BYZANZ_MAIL_URL": NO_MAIL,
        "BYZANZ_SECRET_KEY": SECRET,
        "BYZANZ_RATE_LIMITS": "off",
    }


def start_game(number: int | str) -> str:
    """Start a game of four and return its id; people of different numbers are different people."""
    players = [Guest(name, f"{name.lower()}{number}@example.org") for name in NAMES]
    return create.quick_game(slug="byzanz", players=players, now=engine.utc_now(), start=True)


def tokens_of(game_id: str) -> list[str]:
    """Return the tokens of a game's seats, in order."""
    now = engine.utc_now()
    with engine.transaction() as session:
        seats = positions.seats_of(session, game_id)
        persons = [seat.person_id for seat in seats if seat.person_id is not None]
        return [links.token(links.link_for(session, "seat", person, game_id, now)) for person in persons]


def script(game_id: str, upto: int) -> list[ScriptedMove]:
    """Return the first moves of a new game, or of one that was lengthened, chosen at random; its log is not touched."""
    with engine.reading() as session:
        game = session.get_one(Game, game_id)
        head = game.head
        rules, seed = rules_of(game.slug, game.rules), bytes.fromhex(game.seed)
        key = chance.key(game.id, seed, [seat.cut for seat in game.seats])
        seats = len(game.seats)
    tokens, deal, draw = tokens_of(game_id), chance.deal(key), chance.Stream(seed, "bench").below
    state, _ = umpire.settle(rules, rules.setup(seats, {}), deal)
    lines = list[ScriptedMove]()
    while len(lines) < upto and rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        moves = rules.moves(state, seat)
        move = moves[draw(len(moves))]
        lines.append(ScriptedMove(seat, tokens[seat], str(move), head))
        state, steps = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
        head += 1 + len(steps)
    return lines


def play_line(game_id: str, line: ScriptedMove) -> None:
    """Make a move in this process."""
    now = engine.utc_now()
    play.submit(game_id, line.seat, line.move, seen=line.seen, request_id=f"request-{line.seen}", now=now)


def lengthen(game_id: str, length: int) -> int:
    """Make the log of a new game long, and return the seat that is to move, as before.

    It passes and a moderator voids that, again and again.
    """
    now = engine.utc_now()
    with engine.transaction() as session, running.in_hand(session, game_id, now) as table:
        position = positions.current(table)
        seat = min(position.awaited)
        while table.game.head < length - 3:
            passed = table.append(seat=seat, by="player", move="pass", now=now)
            for act in (f"!void {passed.seq}", "!pause", "!resume"):
                table.append(seat=None, by="moderator", move=act, now=now, note="to measure")
        while table.game.head < length:
            table.append(seat=None, by="moderator", move="!note", now=now, note="to measure")
        positions.save(table, position)
    return seat
