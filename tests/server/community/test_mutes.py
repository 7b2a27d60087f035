"""Muting: one-sided, repeatable, and undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import func, select

from server.community import talk
from server.store import engine
from server.store.models import Mute, Seat
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import change
from tests.support.talk import word_id

Begin = Callable[..., Table]


@pytest.fixture
def game(table: Begin) -> Table:
    found = table(3)
    talk.say(found.id, found.people[1], "Hello", request_id="k", now=NOW)
    return found


def muted(person: int) -> list[tuple[int, str]]:
    with engine.reading() as session:
        return [(other, name) for other, name in talk.muted(session, person)]


def count_mutes() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.count()).select_from(Mute)) or 0


def test_a_person_is_muted_once_and_heard_again(game: Table) -> None:
    me, other = game.people[:2]
    assert [talk.mute(me, game.id, word_id(game.id, 1)) for _ in range(2)] == [True, False]
    assert muted(me) == [(other, "Bob")]
    assert muted(other) == []
    assert count_mutes() == 1
    talk.unmute(other, me)
    assert count_mutes() == 1
    talk.unmute(me, other)
    assert count_mutes() == 0


@pytest.mark.parametrize(("person", "number"), [(1, 1), (0, 2), (0, 0)])
def test_nobody_mutes_themselves_or_what_was_never_said(game: Table, person: int, number: int) -> None:
    assert not talk.mute(game.people[person], game.id, word_id(game.id, number))
    assert count_mutes() == 0


def test_somebody_who_sits_nowhere_with_me_any_more_has_no_name(game: Table, table: Begin) -> None:
    table(4, game_id="g2")  # other names of Bob's stand at other tables
    talk.mute(game.people[0], game.id, word_id(game.id, 1))
    for game_id in (game.id, "g2", "busy"):
        with engine.reading() as session:
            seat = session.scalar(
                select(Seat.seat).where(Seat.game_id == game_id, Seat.person_id == game.people[1])
            )
        if game_id != "busy":
            change(Seat, (game_id, seat), person_id=None)
    assert muted(game.people[0]) == [(game.people[1], "Bob")]  # from the busy table
    assert muted(game.people[2]) == []


@pytest.mark.concurrency
def test_several_requests_at_once_make_one_mute(app: Flask, game: Table) -> None:
    me = game.people[0]
    assert at_once(app, *[lambda: talk.mute(me, game.id, word_id(game.id, 1))] * 8).count(True) == 1
    assert count_mutes() == 1
