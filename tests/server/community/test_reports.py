"""Reports, and what moderators do about table talk."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import select

from server.community import reports, talk
from server.errors import BadRequest, Closed, InvalidInput, NoSuchGame, Refused, TooMany
from server.scheduler import jobs
from server.store import engine, log, operations, people
from server.store.models import Alert, Game, Person, Seat, Word
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import change, row
from tests.support.talk import word_id

Begin = Callable[..., Table]
DAY = timedelta(days=1)


@pytest.fixture
def game(table: Begin) -> Table:
    found = table(3)
    for text in ("one", "two", "three"):
        talk.say(found.id, found.people[1], text, request_id=text, now=NOW)
    return found


@pytest.fixture
def mia(app: Flask) -> int:  # noqa: ARG001 - requested for its context
    with engine.transaction() as session:
        person = people.get_or_create(session, "mia@example.org", "Mia", NOW)
        person.moderator = True
        return person.id


def raised() -> list[str]:
    with engine.reading() as session:
        return list(session.scalars(select(Alert.key).where(Alert.key.like("word:%")).order_by(Alert.id)))


def word(game: Table, number: int) -> Word:
    with engine.reading() as session:
        return session.scalars(select(Word).where(Word.game_id == game.id, Word.number == number)).one()


# ---- reports ----


def test_a_word_is_reported_once_by_each(game: Table) -> None:
    for seat in (0, 2, 0):
        reports.report(game.id, game.people[seat], word_id(game.id, 2), NOW)
    keys = [f"word:{game.people[seat]}:{game.id}:2" for seat in (0, 2)]
    assert raised() == keys
    with engine.transaction() as session:
        operations.clear_alerts(session, keys, NOW)
    reports.report(game.id, game.people[0], word_id(game.id, 2), NOW + DAY)
    with engine.reading() as session:
        assert operations.open_alert(session, keys[0]) is None  # a moderator has dealt with it


@pytest.mark.parametrize(("seat", "number"), [(1, 2), (0, 4), (0, 0)])
def test_own_words_and_unknown_ones_cannot_be_reported(game: Table, seat: int, number: int) -> None:
    with pytest.raises(BadRequest):
        reports.report(game.id, game.people[seat], word_id(game.id, number), NOW)
    assert raised() == []


def test_nobody_reports_what_they_cannot_read(game: Table, table: Begin, mia: int) -> None:
    stranger = table(4, game_id="g2").people[3]
    talk.mute(game.people[0], game.id, word_id(game.id, 1))
    reports.hide(game.id, 3, "rude", mia, NOW)
    for person, number in ((stranger, 1), (game.people[0], 1), (game.people[2], 3)):
        with pytest.raises(BadRequest):
            reports.report(game.id, person, word_id(game.id, number), NOW)


def test_ten_reports_a_day(game: Table) -> None:
    for number in range(4, 13):
        talk.say(game.id, game.people[1], "more", request_id=f"{number}", now=NOW)
    for number in range(1, 11):
        reports.report(game.id, game.people[0], word_id(game.id, number), NOW + timedelta(minutes=number))
    with pytest.raises(TooMany):
        reports.report(game.id, game.people[0], word_id(game.id, 11), NOW + DAY)
    reports.report(game.id, game.people[2], word_id(game.id, 11), NOW)
    reports.report(game.id, game.people[0], word_id(game.id, 11), NOW + DAY + timedelta(minutes=1))


@pytest.mark.concurrency
def test_reports_at_once_raise_one_alert(app: Flask, game: Table) -> None:
    person = game.people[0]
    assert (
        at_once(app, *[lambda: reports.report(game.id, person, word_id(game.id, 1), NOW)] * 8) == [None] * 8
    )
    assert len(raised()) == 1


# ---- hiding ----


def test_hidden_words_keep_their_text_for_a_month(game: Table, mia: int) -> None:
    reports.hide(game.id, 2, "  be\tkind ", mia, NOW)
    assert (word(game, 2).hidden_at, word(game, 2).hidden_why) == (NOW, "be kind")
    reports.hide(game.id, 2, "again", mia, NOW + DAY)
    assert word(game, 2).hidden_at == NOW
    with engine.reading() as session:
        heard = reports.heard(session, game.id, NOW, 100)
    assert [(each.number, each.name, each.text, each.hidden_why) for each in heard] == [
        (1, "Bob", "one", None),
        (2, "Bob", "two", "again"),
        (3, "Bob", "three", None),
    ]
    assert reports.purge(NOW + timedelta(days=30) - timedelta(seconds=1)) == 0
    assert word(game, 2).text == "two"
    assert reports.purge(NOW + timedelta(days=30)) == 1
    assert [word(game, number).text for number in (1, 2, 3)] == ["one", "", "three"]
    assert reports.purge(NOW + timedelta(days=31)) == 0


def test_the_scheduler_purges_hidden_words(game: Table, mia: int) -> None:
    reports.hide(game.id, 2, "rude", mia, NOW)
    late = NOW + timedelta(days=31)
    for part in operations.PARTS:
        operations.HeartbeatRecorder(part, 5).record(late, 0)
    jobs.tick_purge(late, 5)
    assert word(game, 2).text == ""
    again = talk.say(game.id, game.people[1], "two", request_id="two", now=late)
    assert again.number == 2  # a late copy of the request says nothing new


def test_a_moderator_reads_only_up_to_the_look(game: Table) -> None:
    talk.say(game.id, game.people[0], "later", request_id="later", now=NOW + DAY)
    with engine.reading() as session:
        assert [each.text for each in reports.heard(session, game.id, NOW, 100)] == ["one", "two", "three"]
        assert [each.text for each in reports.heard(session, game.id, NOW + DAY, 2)] == ["three", "later"]


def test_words_of_a_former_player_have_their_own_name(game: Table, table: Begin) -> None:
    newcomer = table(4, game_id="g2").people[3]
    change(Seat, (game.id, 1), person_id=newcomer, stored_name="Nora")
    with engine.reading() as session:
        assert {each.name for each in reports.heard(session, game.id, NOW, 100)} == {"Bob"}


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201, "a\u202eb"])
def test_hiding_needs_a_reason(game: Table, mia: int, reason: str) -> None:
    with pytest.raises(InvalidInput):
        reports.hide(game.id, 2, reason, mia, NOW)
    assert word(game, 2).hidden_at is None


def test_what_is_gone_cannot_be_hidden(game: Table, mia: int) -> None:
    talk.take_back(game.id, game.people[1], word_id(game.id, 2))
    with pytest.raises(BadRequest):
        reports.hide(game.id, 2, "rude", mia, NOW)


# ---- closing, and taking talk from a person ----


def test_closing_and_opening_leaves_notes_in_the_log(game: Table, mia: int) -> None:
    reports.set_talk(game.id, False, "It was too much.", mia, NOW)
    with pytest.raises(Closed):
        talk.say(game.id, game.people[0], "Hello", request_id="k", now=NOW)
    with pytest.raises(Refused):
        reports.set_talk(game.id, True, " ", mia, NOW)
    assert row(Game, game.id).talk is False
    reports.set_talk(game.id, True, "Calm again.", mia, NOW)
    talk.say(game.id, game.people[0], "Hello", request_id="k", now=NOW)
    with engine.reading() as session:
        entries = log.entries(session, game.id)
    assert [entry.note for entry in entries if entry.move == "!note"] == ["It was too much.", "Calm again."]


def test_silence_holds_at_all_tables_until_it_ends(game: Table, mia: int, table: Begin) -> None:
    other = table(3, game_id="g2")
    reports.silence(game.id, "1", "7", "be kind", mia, NOW)
    for each in (game, other):
        with pytest.raises(Closed, match="be kind"):
            talk.say(
                each.id, each.people[1], "Hello", request_id="k", now=NOW + 7 * DAY - timedelta(seconds=1)
            )
        talk.say(each.id, each.people[0], "Hello", request_id="k", now=NOW)
    talk.say(game.id, game.people[1], "Hello", request_id="k", now=NOW + 7 * DAY)
    reports.silence(game.id, "1", "365", "again", mia, NOW)
    reports.silence(game.id, "1", "0", "a mistake", mia, NOW)
    bob = row(Person, game.people[1])
    assert (bob.silenced_until, bob.silenced_why) == (None, None)


@pytest.mark.parametrize(
    ("seat", "days", "why"),
    [("1", "366", "x"), ("1", "-1", "x"), ("1", "", "x"), ("1", "7", ""), ("9", "7", "x"), ("x", "7", "x")],
)
def test_a_malformed_silence_changes_nothing(game: Table, mia: int, seat: str, days: str, why: str) -> None:
    with pytest.raises(Refused):
        reports.silence(game.id, seat, days, why, mia, NOW)
    assert row(Person, game.people[1]).silenced_until is None


def test_a_moderator_who_plays_here_leaves_it_to_others(game: Table) -> None:
    me = game.people[0]
    for deed in (
        lambda: reports.hide(game.id, 1, "x", me, NOW),
        lambda: reports.set_talk(game.id, False, "x", me, NOW),
        lambda: reports.silence(game.id, "1", "7", "x", me, NOW),
    ):
        with pytest.raises(Closed):
            deed()
    assert (word(game, 1).hidden_at, row(Game, game.id).talk) == (None, True)
    assert row(Person, game.people[1]).silenced_until is None


def test_an_unknown_game(app: Flask, mia: int) -> None:  # noqa: ARG001 - requested for its context
    for deed in (
        lambda: reports.hide("nowhere", 1, "x", mia, NOW),
        lambda: reports.set_talk("nowhere", False, "x", mia, NOW),
        lambda: reports.silence("nowhere", "1", "7", "x", mia, NOW),
    ):
        with pytest.raises(NoSuchGame):
            deed()
