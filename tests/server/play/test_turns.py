"""Hints: which open turns the scheduler and a player's next pages look at."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from server.mail.text import quoted
from server.play import turns
from server.store import engine
from server.store.models import Game, Person, Seat, Turn
from tests.conftest import NOW, Table

Begin = Callable[..., Table]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LATE = NOW + 5 * DAY

HINTS: dict[str, Callable[[Session, int], list[str]]] = {
    "due": lambda session, limit: turns.due_games(session, LATE, limit),
    "reminders": lambda session, limit: [turn.game_id for turn in turns.due_reminders(session, LATE, limit)],
    "unreachable": lambda session, limit: [turn.game_id for turn in turns.unreachable(session, LATE, limit)],
    "bots": lambda session, limit: [turn.game_id for turn in turns.bots_to_move(session, limit)],
}
"""The hints of the scheduler: the games that each names."""


def everything_due(game: Table, hours: int) -> None:
    """Make the open turn of a game one that each hint names; the fewer hours, the longer it has waited."""
    at = NOW + hours * HOUR
    with engine.transaction() as session:
        turn = session.scalars(select(Turn).where(Turn.game_id == game.id)).one()
        turn.opened_at = turn.due_at = turn.remind_at = turn.refused_at = at
        turn.bot = True


@pytest.mark.parametrize("hint", list(HINTS))
def test_a_game_on_hold_is_never_hinted_and_takes_no_others_place(table: Begin, hint: str) -> None:
    games = [table(3, game_id=f"game{number}") for number in range(4)]
    for hours, game in enumerate(games):
        everything_due(game, hours)
    with engine.reading() as session:
        assert HINTS[hint](session, 9) == ["game0", "game1", "game2", "game3"]
        assert HINTS[hint](session, 2) == ["game0", "game1"]
    with engine.transaction() as session:
        for on_hold in ("game0", "game2"):  # its turns are still open: only the hint may leave it out
            session.get_one(Game, on_hold).quarantine = quoted("a fault")
    with engine.reading() as session:
        assert HINTS[hint](session, 9) == ["game1", "game3"]
        assert HINTS[hint](session, 1) == ["game1"]


def test_a_turn_is_hinted_from_its_time_on(table: Begin) -> None:
    game = table(3)
    everything_due(game, 1)
    early, late = NOW + HOUR - timedelta(seconds=1), NOW + HOUR
    with engine.reading() as session:
        assert turns.due_games(session, early, 9) == []
        assert turns.due_games(session, late, 9) == [game.id]
        assert turns.due_reminders(session, early, 9) == []
        assert len(turns.due_reminders(session, late, 9)) == 1
        assert turns.unreachable(session, early + 3 * DAY, 9) == []
        assert len(turns.unreachable(session, late + 3 * DAY, 9)) == 1
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, 0)).autopilot = True
        session.get_one(Turn, (game.id, 0)).bot = False
    with engine.reading() as session:
        assert turns.unreachable(session, LATE, 9) == []
        assert turns.bots_to_move(session, 9) == []


@pytest.mark.empty_database
def test_a_player_is_led_to_no_game_that_cannot_go_on(table: Begin) -> None:
    """Each of these games has an open turn of Alice, which alone is no reason to lead her there."""
    for game_id in ("plain", "later", "on hold", "paused", "over", "left"):
        table(3, game_id=game_id)
    with engine.transaction() as session:
        for game_id, hours in (("plain", 9), ("later", None), ("on hold", 1), ("paused", 1), ("over", 1)):
            turn = session.get_one(Turn, (game_id, 0))
            turn.due_at = NOW + hours * HOUR if hours else None
        session.get_one(Game, "on hold").quarantine = quoted("a fault")
        session.get_one(Game, "paused").paused = True
        session.get_one(Game, "over").status = "over"
        session.get_one(Seat, ("left", 0)).status = "declined"
    with engine.reading() as session:
        alice, bob = session.scalars(select(Person).order_by(Person.id).limit(2))
        found = turns.of_person(session, alice.id)
        assert [(game.id, seat.seat, turn.game_id) for game, seat, turn in found] == [
            ("plain", 0, "plain"),
            ("later", 0, "later"),
        ]
        assert turns.of_person(session, bob.id) == []
