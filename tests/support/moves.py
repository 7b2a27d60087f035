"""Moves through `server.play`, and what they leave in the log, the turns and the outbox."""

from __future__ import annotations

from sqlalchemy import select

from byzanz import chance, record, umpire
from byzanz.games import rules_of
from server import play
from server.play import positions
from server.store import engine, log, models
from server.store.models import Mail, Turn
from tests.conftest import NOW
from tests.support.busy_table import elsewhere


def position(game_id: str) -> positions.Position:
    with engine.reading() as session:
        return positions.load(session, session.get_one(models.Game, game_id))


def entries(game_id: str) -> list[record.Entry]:
    with engine.reading() as session:
        return log.entries(session, game_id)


def turn_of(game_id: str, seat: int) -> Turn | None:
    with engine.reading() as session:
        return session.get(Turn, (game_id, seat))


def mails(kind: str) -> list[Mail]:
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.kind == kind, elsewhere(Mail)).order_by(Mail.id)))


def submit(
    game_id: str, seat: int, text: str, request_id: str = "r1", seen: int | None = None
) -> play.Receipt:
    return play.submit(
        game_id,
        seat,
        text,
        seen=position(game_id).head if seen is None else seen,
        request_id=request_id,
        now=NOW,
    )


def sale_now(game_id: str) -> tuple[int, str]:
    at = position(game_id)
    for seat in range(1, 4):
        for move in at.rules.out_of_turn_moves(at.state, seat):
            return seat, str(move)
    raise AssertionError("nobody can sell; choose another deal")


def deal_with_a_set_to_sell() -> str:
    """Return the id of a game in which a seat other than 0 is dealt a set; the deal follows from the id."""
    rules = rules_of("byzanz")
    for number in range(500):
        game_id = f"sale{number}"
        key = chance.key(game_id, bytes(32), ["Alice", "Bob", "Charlie", "Daphne"])
        state, _ = umpire.settle(rules, rules.setup(4, {}), chance.deal(key))
        if 0 in rules.awaited(state) and any(rules.out_of_turn_moves(state, seat) for seat in (1, 2, 3)):
            return game_id
    raise AssertionError("no such deal among 500")


def play_on(game_id: str, count: int) -> None:
    """Play the first legal move of each seat to move, `count` times or to the end."""
    for number in range(count):
        at = position(game_id)
        if at.outcome:
            return
        seat = min(at.awaited)
        submit(game_id, seat, str(at.rules.moves(at.state, seat)[0]), request_id=f"auto{number}")
