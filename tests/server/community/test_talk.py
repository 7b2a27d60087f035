"""Table talk: who may say what, who reads it, and that it stays beside the log."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import timedelta

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import func, select

from server import play
from server.community import talk
from server.community.talk import cleaned
from server.errors import BadRequest, Closed, InvalidInput, NoSuchGame, NoSuchLink, Refused, TooMany
from server.i18n import characters
from server.play import names
from server.store import engine, links
from server.store.models import Block, Game, Link, LinkPurpose, Mail, Mute, Person, Seat, Turn, Word
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import change, loaded, row, submit
from tests.support.talk import word_id

Begin = Callable[..., Table]


def say(game: Table, seat: int, text: str, key: str = "", now=NOW) -> Word:
    return talk.say(game.id, game.people[seat], text, request_id=key or secrets.token_hex(), now=now)


def heard(game: Table, seat: int) -> list[str]:
    with engine.reading() as session:
        return [said.text for said in talk.words(session, loaded(session, game.id).game, game.people[seat])]


def since(game: Table, seat: int, seq: int) -> list[str]:
    with engine.reading() as session:
        return [
            said.text
            for said in talk.said_since(session, loaded(session, game.id).game, game.people[seat], seq)
        ]


def count_words() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.count()).select_from(Word)) or 0


def turns_and_mails() -> list[str]:
    with engine.reading() as session:
        rows = [*session.execute(select(Turn.__table__)), *session.execute(select(Mail.__table__))]
        return [str(row._mapping) for row in rows]


def add(*rows: object) -> None:
    with engine.transaction() as session:
        session.add_all(rows)


@pytest.fixture
def game(table: Begin) -> Table:
    return table(3)


def test_everybody_at_the_table_reads_it(game: Table) -> None:
    before = row(Game, game.id)
    first = say(game, 0, "Good morning")
    say(game, 1, "Hello\nAlice")
    assert (first.number, first.seq, first.seat) == (1, before.head, 0)
    for seat in range(3):
        assert heard(game, seat) == ["Good morning", "Hello\nAlice"]
    with engine.reading() as session:
        mine, theirs = talk.words(session, loaded(session, game.id).game, game.people[0])
    assert (mine.own, mine.name, mine.at, mine.hidden) == (True, "Alice", NOW, False)
    assert (theirs.own, theirs.name, theirs.id) == (False, "Bob", word_id(game.id, 2))


def test_the_log_and_the_page_of_the_game_do_not_change(game: Table) -> None:
    before, beside = row(Game, game.id), turns_and_mails()
    say(game, 0, "Hello")
    after = row(Game, game.id)
    assert turns_and_mails() == beside  # no clock starts, and nothing is sent
    assert (after.head, after.head_hash, after.revision) == (before.head, before.head_hash, before.revision)


def test_only_what_others_said_since_an_entry(game: Table) -> None:
    say(game, 1, "before")
    submit(game.id, 0, "pass")
    head = row(Game, game.id).head
    say(game, 1, "after")
    say(game, 0, "mine")
    assert since(game, 0, head) == ["after"]
    assert since(game, 0, head + 1) == []
    assert since(game, 0, 0) == ["before", "after"]
    change(Word, _id(game, 2), hidden_at=NOW, hidden_why="rude")
    assert since(game, 0, head) == []


def _id(game: Table, number: int) -> int:
    with engine.reading() as session:
        found = session.scalar(select(Word.id).where(Word.game_id == game.id, Word.number == number))
    assert found is not None
    return found


def test_a_hidden_word_has_no_text_for_anybody(game: Table) -> None:
    say(game, 1, "rubbish")
    change(Word, _id(game, 1), hidden_at=NOW, hidden_why="rude")
    with engine.reading() as session:
        for person in game.people:
            (said,) = talk.words(session, loaded(session, game.id).game, person)
            assert (said.text, said.hidden, said.why) == ("", True, "rude")


def test_strangers_and_people_of_other_tables_read_nothing(game: Table, table: Begin) -> None:
    other = table(4, game_id="g2")
    say(game, 0, "Hello")
    with engine.reading() as session:
        assert talk.words(session, loaded(session, game.id).game, other.people[3]) == []
        assert talk.said_since(session, loaded(session, game.id).game, other.people[3], 0) == []
        assert talk.words(session, loaded(session, other.id).game, other.people[0]) == []


@pytest.mark.parametrize("relation", ["mute", "block"])
def test_nothing_of_muted_or_blocked_people_arrives(game: Table, relation: str) -> None:
    me, other = game.people[:2]
    say(game, 0, "mine")
    say(game, 1, "theirs")
    say(game, 2, "a third")
    add(
        {
            "mute": Mute(person_id=me, other_id=other),
            "block": Block(person_id=me, other_id=other, at=NOW),
        }[relation]
    )
    assert heard(game, 0) == ["mine", "a third"]
    assert since(game, 0, 0) == ["a third"]
    assert heard(game, 1) == heard(game, 2) == ["mine", "theirs", "a third"]  # the others are never told


def test_repeating_a_request_says_it_once(game: Table) -> None:
    first = say(game, 0, "Hello", "k")
    assert say(game, 0, "Hello ", "k", NOW + timedelta(days=40)).number == first.number
    with pytest.raises(BadRequest):
        say(game, 0, "Something else", "k")
    say(game, 1, "Hello", "k")  # another person's id
    assert heard(game, 2) == ["Hello", "Hello"]


@pytest.mark.concurrency
def test_sixteen_copies_of_one_request_are_one_word(app: Flask, table: Begin) -> None:
    game = table(3)
    numbers = at_once(app, *[lambda: say(game, 0, "Hello", "k").number] * 16)
    assert numbers == [1] * 16
    assert heard(game, 1) == ["Hello"]


@pytest.mark.concurrency
def test_several_people_at_once_get_different_numbers(app: Flask, table: Begin) -> None:
    game = table(4)
    numbers = at_once(app, *(lambda seat=seat: say(game, seat, "Hello").number for seat in range(4)))
    assert set(numbers) == {1, 2, 3, 4}


@pytest.mark.parametrize("request_id", ["", "a b", "ä", "x" * 65])
def test_a_malformed_request_id(game: Table, request_id: str) -> None:
    with pytest.raises(BadRequest):
        talk.say(game.id, game.people[0], "Hello", request_id=request_id, now=NOW)


def test_twenty_a_day_and_game(game: Table, table: Begin) -> None:
    other = table(3, game_id="g2")
    for n in range(talk.A_DAY):
        say(game, 0, f"{n}", now=NOW + timedelta(minutes=n))
    with pytest.raises(TooMany):
        say(game, 0, "one more", now=NOW + timedelta(hours=23, minutes=59))
    say(game, 1, "I may")
    say(other, 0, "here I may")
    assert say(game, 0, "tomorrow", now=NOW + timedelta(days=1)).number == 22


def test_talk_ends_thirty_days_after_the_game(game: Table) -> None:
    change(Game, game.id, status="over", ended_at=NOW)
    say(game, 0, "well played", now=NOW + timedelta(days=30) - timedelta(seconds=1))
    with pytest.raises(Closed):
        say(game, 0, "too late", now=NOW + timedelta(days=30))
    assert heard(game, 1) == ["well played"]


@pytest.mark.parametrize("status", ["asked", "inviting", "cancelled"])
def test_no_talk_before_the_game(game: Table, status: str) -> None:
    change(Game, game.id, status=status)
    with pytest.raises(Closed):
        say(game, 0, "Hello")


def test_no_talk_where_it_is_closed(game: Table) -> None:
    say(game, 0, "Hello")
    change(Game, game.id, talk=False)
    with pytest.raises(Closed):
        say(game, 0, "Hello again")
    assert heard(game, 1) == ["Hello"]


def test_talk_taken_from_a_person(game: Table) -> None:
    change(Person, game.people[0], silenced_until=NOW + timedelta(days=2))
    with pytest.raises(Closed, match="2026-03-04 10:00 UTC"):
        say(game, 0, "Hello")
    say(game, 1, "Hello")
    say(game, 0, "Hello", now=NOW + timedelta(days=2))


def test_players_who_left_are_silent_until_they_return(game: Table) -> None:
    play.leave(game.id, 0, now=NOW)
    with pytest.raises(Closed):
        say(game, 0, "Hello")
    play.reclaim(game.id, 0, now=NOW)
    say(game, 0, "Hello")


def test_players_who_were_replaced_neither_talk_nor_read(game: Table, table: Begin) -> None:
    newcomer = table(4, game_id="g2").people[3]
    say(game, 0, "Hello")
    change(Seat, (game.id, 0), person_id=newcomer, stored_name="Nora")
    with pytest.raises(NoSuchLink):
        say(game, 0, "Hello?")
    assert heard(game, 0) == []
    with engine.reading() as session:
        (said,) = talk.words(session, loaded(session, game.id).game, newcomer)
        assert (said.name, said.own) == (names.FORMER, False)


def test_the_link_must_be_theirs(game: Table, table: Begin) -> None:
    other = table(3, game_id="g2")
    with engine.transaction() as session:
        theirs = links.existing(session, LinkPurpose.SEAT, game.people[0], game.id)
        elsewhere = links.existing(session, LinkPurpose.SEAT, other.people[0], other.id)
        stop = links.issue(session, LinkPurpose.STOP, game.people[0], NOW, game.id)
        reply = links.issue(session, LinkPurpose.TALK, game.people[0], NOW, game.id)
        others = links.existing(session, LinkPurpose.SEAT, game.people[1], game.id)
    assert theirs is not None
    assert elsewhere is not None
    assert others is not None
    for link in (elsewhere, stop, others):
        with pytest.raises(NoSuchLink):
            talk.say(game.id, game.people[0], "Hello", request_id="k", now=NOW, link_id=link.id)
    for n, link in enumerate((theirs, reply)):
        talk.say(game.id, game.people[0], "Hello", request_id=f"{n}", now=NOW, link_id=link.id)
    change(Link, theirs.id, revoked_at=NOW)
    with pytest.raises(NoSuchLink):
        talk.say(game.id, game.people[0], "Hello", request_id="k", now=NOW, link_id=theirs.id)


def test_an_unknown_game(game: Table) -> None:
    with pytest.raises(NoSuchGame):
        talk.say("nowhere", game.people[0], "Hello", request_id="k", now=NOW)


def test_what_is_taken_back_leaves_nothing_and_its_number_is_not_given_again(game: Table) -> None:
    rows = count_words()
    say(game, 0, "Hello")
    say(game, 0, "Helo")
    taken_back = word_id(game.id, 2)
    assert not talk.take_back(game.id, game.people[1], taken_back)
    assert talk.take_back(game.id, game.people[0], taken_back)
    assert not talk.take_back(game.id, game.people[0], taken_back)
    assert count_words() == rows + 1
    assert say(game, 0, "Hello!").number == 3
    assert heard(game, 1) == ["Hello", "Hello!"]


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("  Hello \r\n\r\n\r\n\r\nBob  ", "Hello\n\nBob"),
        ("a\tb\x00c\x1b[31m", "a bc[31m"),
        ("\u202egnp.exe\u2066 x\u2069", "gnp.exe x"),
        ("Subject: x\r\nBcc: y", "Subject: x\nBcc: y"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("e\u0301", "\u00e9"),
        ("\U0001f937\u200d\u2640", "\U0001f937\u200d\u2640"),
        ("soft\u00adhyphen\ufeff", "softhyphen"),
        ("one\u2028two", "one\ntwo"),
        ("\ud800x", "x"),
    ],
)
def test_what_is_typed_is_cleaned(game: Table, typed: str, stored: str) -> None:
    assert say(game, 0, typed, "k").text == stored
    assert heard(game, 1) == [stored]


@pytest.mark.parametrize("typed", ["", "  \n", "\u200b\u200d", "\u0301", "x" * 501, "x\n" * 20 + "x"])
def test_what_is_refused(game: Table, typed: str) -> None:
    with pytest.raises(InvalidInput):
        say(game, 0, typed, "k")
    assert heard(game, 0) == []


def test_the_longest_text(game: Table) -> None:
    assert len(say(game, 0, "\U0001f600" * 500).text) == 500
    assert say(game, 0, "x\n" * 19 + "x").text.count("\n") == 19


@given(st.text(max_size=700))
def test_cleaned_text_stays_as_it_is(text: str) -> None:
    try:
        once = cleaned(text, longest=500, most_lines=20)
    except Refused:
        return
    assert cleaned(once, longest=500, most_lines=20) == once
    assert len(once) <= 500
    assert not characters.hides_something(once.replace("\n", ""))


# ---- the ids of words ----


def ids(game_id: str, reader: int) -> list[str]:
    with engine.reading() as session:
        return [each.id for each in talk.words(session, loaded(session, game_id).game, reader)]


def test_the_ids_of_words_are_one_for_all_readers_and_tell_nothing_of_other_tables(
    table: Begin, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, other = table(3), table(3, game_id="g2")
    for each in (game, other):
        say(each, 0, "Hello", "the-same")
        say(each, 1, "Hello", "the-same")
    here, there = ids(game.id, game.people[0]), ids(other.id, game.people[0])
    assert ids(game.id, game.people[2]) == here
    assert len({*here, *there}) == 4
    guesses = (f"{game.people[0]}:the-same", f"{game.id}:1", f"{game.id}\n{game.people[0]}\nthe-same", "1")
    assert not {hashlib.sha256(guess.encode()).hexdigest()[:16] for guess in guesses} & {*here}
    with app.app_context():
        known = app.config["BYZANZ"]
        other_key = known.model_copy(update={"secret_key": SecretStr("another key of the server")})
        monkeypatch.setattr(talk, "settings", lambda: other_key)
        assert not {*ids(game.id, game.people[0])} & {*here}
