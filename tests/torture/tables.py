"""Games for torture runs, started like `byzanz new --start` does, with the tokens of their seats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path

from server.store.models import LinkPurpose
from tests.torture.journal import Journal
from tests.torture.processes import CONTEXT, Running

NAMES = ("Alice", "Bob", "Charlie", "Daphne", "Eirene", "Felix")
ALLOWANCE = 24 * 3600


@dataclass(frozen=True, slots=True)
class Table:
    """A game that has started; `tokens` by the seat they open, none for a bot."""

    id: str
    tokens: dict[int, str]


@dataclass(frozen=True, slots=True)
class Wish:
    """The games to be started.

    Args:
        games: how many.
        players: people in each.
        bots: bots in every second one.
        allowance: seconds per decision.
        bank: seconds of time bank of each seat in every third game.
        gone: the last player of every fourth game has left it.
        silent: the people want no email, so their clock starts when a turn opens.
        at: when they start; now if None.
        apart: seconds between the starts of two games.
    """

    games: int
    players: int = 3
    bots: int = 0
    allowance: int = ALLOWANCE
    bank: int = 0
    gone: bool = False
    silent: bool = False
    at: datetime | None = None
    apart: float = 0


def lay(wish: Wish, environment: Mapping[str, str], log: Path, journal: Journal) -> list[Table]:
    """Start games on a database, which is upgraded first.

    Raises:
        RuntimeError: the games could not be started; the log says why.
    """
    mine, its = CONTEXT.Pipe(duplex=False)
    child = Running(_lay, (wish, its), environment, log)
    its.close()
    try:
        tables: list[Table] = mine.recv()
    except EOFError:
        raise RuntimeError(f"no games could be begun:\n{log.read_text()}") from None
    finally:
        child.finish()
    for number, table in enumerate(tables):
        journal.write("game", id=table.id)
        if _is_left(wish, number):
            journal.write("left", game=table.id, seat=max(table.tokens))
    return tables


def _is_left(wish: Wish, number: int) -> bool:
    return wish.gone and number % 4 == 0


def _lay(wish: Wish, answer: Connection) -> None:
    from server import config, create_app
    from server.store import migrate

    with create_app(config.load("mailing", create=True)).app_context():
        migrate.upgrade()
        answer.send([_begin(wish, number) for number in range(wish.games)])


def _begin(wish: Wish, number: int) -> Table:
    from server import play
    from server.lobby import create
    from server.lobby.settings import TimeControl
    from server.play import positions
    from server.store import engine, links, people
    from server.validation import Guest

    now = (wish.at or engine.utc_now()) - timedelta(seconds=wish.apart * number)
    guests = [Guest(name, f"{name.lower()}{number % 7}@torture.example") for name in NAMES[: wish.players]]
    if wish.silent:
        with engine.transaction() as session:
            for guest in guests:
                people.get_or_create(session, guest.address, guest.name, now).silent = True
    game_id = create.quick_game(
        slug="byzanz",
        players=guests,
        bots=["random"] * (wish.bots if number % 2 else 0),
        time_control=TimeControl(wish.allowance, 0 if number % 3 else wish.bank),
        start=True,
        now=now,
    )
    with engine.transaction() as session:
        seats = [seat for seat in positions.seats_of(session, game_id) if seat.person_id is not None]
        doors = {
            seat.seat: links.link_for(session, LinkPurpose.SEAT, seat.person_id or 0, game_id, now)
            for seat in seats
        }
        tokens = {seat: links.token(link) for seat, link in doors.items()}
    if _is_left(wish, number):
        play.leave(game_id, max(tokens), now=now)
    return Table(game_id, tokens)
