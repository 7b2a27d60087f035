"""What wants a moderator's attention, found alike in each database."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask
from sqlalchemy import select

from server import db
from server.pages import desk, troubles
from server.schema import Game
from tests.conftest import NOW, Table
from tests.pages.troubled import troubled

FOUND = {
    "late": {"soon", "overdue"},
    "mail": {"bounced", "unsent"},
    "stuck": {"paused", "rests", "quiet"},
    "aside": {"aside"},
    "away": {"away", "left", "rests"},
}


def test_each_trouble_is_found_in_each_database(app: Flask, table: Callable[..., Table]) -> None:
    troubled(table, NOW)
    with db.reading() as session:
        for kind in troubles.KINDS:
            assert set(session.scalars(select(Game.id).where(troubles.games(kind, NOW)))) == FOUND[kind], kind
        everywhere = set().union(*FOUND.values())
        assert set(session.scalars(select(Game.id).where(troubles.games("trouble", NOW)))) == everywhere
        listed = {
            "late": troubles.late(session, NOW),
            "stuck": troubles.stuck(session, NOW),
            "aside": troubles.aside(session),
            "away": troubles.away(session),
        }
        for kind, some in listed.items():
            assert {row[0].id for row in some.rows} == FOUND[kind], kind
            assert some.count == len(some.rows)
        mail = (troubles.unreached(session), troubles.unsent(session, NOW), troubles.refused(session, NOW))
        assert [some.count for some in mail] == [1, 1, 1]
        assert troubles.resting(session, ["paused", "rests"]) == {"rests"}
        assert troubles.left(session, [("away", 1), ("left", 2), ("left", 1)]) == {("left", 2)}
        assert troubles.alarms(session).count == 4


def test_the_search_and_the_deeds_are_the_same_in_each_database(
    app: Flask, table: Callable[..., Table]
) -> None:
    troubled(table, NOW)
    with db.reading() as session:
        found = session.scalars(desk._search(q="FELIX@", status="mail", kind="byzanz")).all()
        assert [game.id for game in found] == ["bounced"]
        deeds = session.execute(desk._deeds(by="", game="rests", what="act")).all()
        assert [entry.move for _, entry, _, _ in deeds] == [f"!autopilot {seat} on" for seat in (2, 1, 0)]
        assert desk._names(session, {"rests"}) == {"rests": ["Alice", "Bob", "Charlie"]}
