"""Notes to oneself: replaced, deleted when empty, and read by nobody else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from server.community import talk
from server.errors import InvalidInput
from server.store import engine
from server.store.models import Notes
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import loaded, row

Begin = Callable[..., Table]


def notes_of(game: Table, seat: int) -> str:
    with engine.reading() as session:
        return talk.at_table(session, loaded(session, game.id).game, game.people[seat], 0, 10)[1]


def test_notes_are_replaced_and_deleted(table: Begin) -> None:
    game, other = table(3), table(3, game_id="g2")
    talk.write_notes(game.id, game.people[0], " Bob holds\r\nthe wine \n\n", NOW)
    talk.write_notes(game.id, game.people[1], "mine", NOW)
    talk.write_notes(other.id, other.people[0], "elsewhere", NOW)
    assert [notes_of(game, seat) for seat in range(3)] == ["Bob holds\nthe wine", "mine", ""]
    talk.write_notes(game.id, game.people[0], "changed", NOW)
    assert (notes_of(game, 0), notes_of(other, 0)) == ("changed", "elsewhere")
    for _ in range(2):
        talk.write_notes(game.id, game.people[0], "\u200b ", NOW)
    assert row(Notes, (game.id, game.people[0])) is None
    assert (notes_of(game, 0), notes_of(game, 1)) == ("", "mine")


def test_notes_stand_beside_words(table: Begin) -> None:
    game = table(3)
    talk.write_notes(game.id, game.people[0], "mine", NOW)
    for number in range(4):
        talk.say(game.id, game.people[number % 2], f"{number}", request_id=f"{number}", now=NOW)
    with engine.reading() as session:
        said, noted = talk.at_table(session, loaded(session, game.id).game, game.people[0], 0, 3)
        assert ([word.text for word in said], noted) == (["1", "2", "3"], "mine")
        assert talk.at_table(session, loaded(session, game.id).game, game.people[0], 99, 3) == ([], "mine")


def test_the_longest_notes(table: Begin) -> None:
    game = table(3)
    talk.write_notes(game.id, game.people[0], "x" * talk.LONGEST_NOTES, NOW)
    for text in ("x" * (talk.LONGEST_NOTES + 1), "x\n" * 501):
        with pytest.raises(InvalidInput):
            talk.write_notes(game.id, game.people[0], text, NOW)
    assert notes_of(game, 0) == "x" * talk.LONGEST_NOTES


@pytest.mark.concurrency
def test_several_requests_at_once_leave_one_row(app: Flask, table: Begin) -> None:
    game = table(3)
    person = game.people[0]
    assert at_once(app, *[lambda: talk.write_notes(game.id, person, "mine", NOW)] * 8) == [None] * 8
    assert notes_of(game, 0) == "mine"
