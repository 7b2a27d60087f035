"""Who was at which table, and when: noted in memory, stored by a tick, deleted after a month."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy.exc import OperationalError

from server.store import engine, people
from tests.conftest import NOW, Table

Begin = Callable[..., Table]
MINUTE = timedelta(minutes=1)


def last(person_id: int, *game_ids: str) -> object:
    with engine.reading() as session:
        return people.last(session, person_id, game_ids)


def test_each_table_has_its_newest_moment(table: Begin) -> None:
    here, there = table(3, "here"), table(3, "there")
    alice, bob, _ = here.people
    for minutes in (3, 1):  # another process may store an older one later
        people.note(alice, NOW + minutes * MINUTE, here.id)
        people.store()
    people.note(alice, NOW + 2 * MINUTE, there.id)
    people.note(bob, NOW + 9 * MINUTE, here.id)
    people.note(alice, NOW + 9 * MINUTE)  # at no table
    people.store()
    assert last(alice, here.id) == NOW + 3 * MINUTE
    assert last(alice, there.id) == NOW + 2 * MINUTE
    assert last(alice, here.id, there.id) == last(alice) == NOW + 3 * MINUTE
    assert last(bob, there.id) is None


def test_what_could_not_be_stored_is_stored_the_next_time(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3)
    people.note(game.people[0], NOW, game.id)

    def fail(*_: object, **__: object) -> None:
        raise OperationalError("x", {}, Exception())

    with monkeypatch.context() as patch:
        patch.setattr(people, "insert", fail)
        with pytest.raises(OperationalError):
            people.store()
    people.store()
    assert last(game.people[0], game.id) == NOW


def test_a_game_that_is_gone_does_not_keep_the_others_from_being_stored(table: Begin) -> None:
    game = table(3)
    people.note(game.people[0], NOW, "a-game-before")
    people.note(game.people[0], NOW, game.id)
    people.note(99, NOW, game.id)
    people.store()
    assert last(game.people[0], game.id) == NOW
    assert last(game.people[0]) == NOW
    assert people._noted == {}


def test_it_is_deleted_after_a_month(table: Begin) -> None:
    game = table(3)
    people.note(game.people[0], NOW, game.id)
    people.note(game.people[1], NOW + MINUTE, game.id)
    people.store()
    people.purge(NOW + people.RETENTION)
    assert last(game.people[0], game.id) == NOW
    people.purge(NOW + people.RETENTION + MINUTE)
    assert last(game.people[0], game.id) is None
    assert last(game.people[1], game.id) == NOW + MINUTE
