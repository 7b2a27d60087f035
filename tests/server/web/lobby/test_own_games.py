"""What one's own games on the home page say of themselves, property by property; nothing here is drawn."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from server.store.models import GameStatus, SeatStatus
from server.web.lobby.home import RANKS, OwnGame
from tests.conftest import NOW

EARLY: Any = SimpleNamespace(allowance_end=NOW, bank=60)
LATE: Any = SimpleNamespace(allowance_end=NOW - timedelta(seconds=1), bank=60)
SPENT: Any = SimpleNamespace(allowance_end=NOW - timedelta(seconds=1), bank=0)


def own(
    status: GameStatus = GameStatus.RUNNING,
    seat: SeatStatus | None = SeatStatus.SEATED,
    paused: bool = False,
    **values: Any,
) -> OwnGame:
    game: Any = SimpleNamespace(status=status, paused=paused)
    held: Any = SimpleNamespace(status=seat) if seat else None
    given: dict[str, Any] = {"to_move": (), "awaited": False, "times": None} | values
    return OwnGame(game=game, seat=held, others=(), news=0, url="/", host=None, seated=2, size=3, **given)


@pytest.mark.parametrize(
    ("entry", "state", "heading"),
    [
        (own(awaited=True, paused=True), "me", "Your turn"),
        (own(GameStatus.ASKED, SeatStatus.INVITED), "confirmation", "Waiting for your answer"),
        (own(GameStatus.ASKED, None), "confirmation", "Waiting for your answer"),
        (own(GameStatus.INVITING, SeatStatus.INVITED), "answer", "Waiting for your answer"),
        (own(GameStatus.INVITING), "players", "Waiting for others"),
        (own(paused=True, to_move=("Bob",)), "moderator", "Waiting for others"),
        (own(to_move=("Bob",), times=LATE), "bank", "Waiting for others"),
        (own(to_move=("Bob",), times=EARLY), "others", "Waiting for others"),
        (own(to_move=("Bob",), times=SPENT), "others", "Waiting for others"),
        (own(), "", "Waiting for others"),
    ],
)
def test_what_a_game_waits_for(entry: OwnGame, state: str, heading: str) -> None:
    assert (entry.state(NOW), RANKS[entry.rank]) == (state, heading)


def test_the_button_says_what_is_asked() -> None:
    assert own(awaited=True).button == "Make your move:"
    assert own(GameStatus.ASKED).button == "Confirm"
    invited = own(GameStatus.INVITING, SeatStatus.INVITED)
    assert (invited.button, invited.needs_answer) == ("Answer", True)
    assert not own(GameStatus.INVITING).needs_answer
