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
from server import create_app
from server.config import Settings
from server.lobby import create
from server.play import positions
from server.store import engine, links, migrate
from server.store.models import Game
from server.validation import Guest

NAMES = ("Anna", "Basil", "Cassia", "Demetrios")


@dataclass(frozen=True, slots=True)
class ScriptedMove:
    """One move of a scripted game: the seat's token, the move, and the head of the log before it."""

    token: str
    move: str
    seen: int


@contextmanager
def temporary_server() -> Iterator[tuple[Flask, Path]]:
    """Yield the application, its context pushed, and the folder of its database."""
    with tempfile.TemporaryDirectory(prefix="byzanz-bench-") as folder:
        settings = Settings(
            _env_file=None,  # type: ignore[call-arg]
            database_url=f"sqlite:///{folder}/byzanz.db",
            mail_url="smtp://127.0.0.1:9",
            secret_key=SecretStr("only for a benchmark, never for people"),
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


def start_game(number: int) -> str:
    """Start a game of four and return its id."""
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
    """Return the first moves of a new game, chosen at random, without touching its log."""
    with engine.reading() as session:
        game = session.get_one(Game, game_id)
        rules, seed = rules_of(game.slug, game.rules), bytes.fromhex(game.seed)
        key = chance.key(game.id, seed, [seat.cut for seat in game.seats])
        seats = len(game.seats)
    tokens, deal, draw = tokens_of(game_id), chance.deal(key), chance.Stream(seed, "bench").below
    state, steps = umpire.settle(rules, rules.setup(seats, {}), deal)
    head, lines = len(steps), list[ScriptedMove]()
    while len(lines) < upto and rules.outcome(state) is None:
        seat = min(rules.awaited(state))
        moves = rules.moves(state, seat)
        move = moves[draw(len(moves))]
        lines.append(ScriptedMove(tokens[seat], str(move), head))
        state, steps = umpire.settle(rules, umpire.play(rules, state, seat, move), deal)
        head += 1 + len(steps)
    return lines
