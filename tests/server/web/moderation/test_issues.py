"""Issues for a moderator's attention are found alike in each kind of database."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from server.play import autopilot
from server.store import engine
from server.store.models import Game, Seat
from server.web.moderation import desk
from tests.conftest import NOW, Table
from tests.support.games import troubled

pytestmark = pytest.mark.empty_database  # the troubles of all games are counted
FOUND = {
    "late": {"soon", "overdue"},
    "mail": {"bounced", "unsent"},
    "stuck": {"paused", "rests", "quiet"},
    "aside": {"aside"},
    "away": {"away", "left", "rests"},
}


def test_each_trouble_is_found_in_each_database(table: Callable[..., Table]) -> None:
    troubled(table, NOW)
    with engine.reading() as session:
        for kind in desk.KINDS:
            assert set(session.scalars(select(Game.id).where(desk.games_with(kind, NOW)))) == FOUND[kind], (
                kind
            )
        everywhere = set().union(*FOUND.values())
        assert set(session.scalars(select(Game.id).where(desk.games_with("trouble", NOW)))) == everywhere
        listed = {
            "late": desk.late(session, NOW),
            "stuck": desk.stuck_games(session, NOW),
            "aside": desk.quarantined(session),
            "away": desk.autopilot_games(session),
        }
        for kind, some in listed.items():
            assert {row[0].id for row in some.rows} == FOUND[kind], kind
            assert some.count == len(some.rows)
        mail = (desk.unreached(session), desk.unsent(session, NOW), desk.refused(session, NOW))
        assert [some.count for some in mail] == [1, 1, 1]
        assert autopilot.unattended(session, ["paused", "rests"]) == {"rests"}
        gone = select(Seat.game_id, Seat.seat).where(Seat.left)
        assert session.execute(gone).all() == [("left", 2)]
        assert desk.open_alerts(session).count == 2  # what another list has is not said twice


def test_the_search_and_the_actions_are_the_same_in_each_database(table: Callable[..., Table]) -> None:
    troubled(table, NOW)
    with engine.reading() as session:
        found = session.scalars(desk._search(q="FELIX@", status="mail", kind="byzanz")).all()
        assert [game.id for game in found] == ["bounced"]
        actions = session.execute(desk._select_actions(by="", game="rests", what="act")).all()
        assert [entry.move for _, entry, *_ in actions] == [f"!autopilot {seat} on" for seat in (2, 1, 0)]
        assert desk._names(session, {"rests"}) == {"rests": ["Alice", "Bob", "Charlie"]}
