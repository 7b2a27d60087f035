"""Erasing a person leaves no trace of name or address, and nothing else is lost (promise 15); their data as a zip."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from byzanz import record
from byzanz.rules import PUBLIC
from server import play
from server.accounts import personal_data
from server.mail.outgoing.deliver import deliver
from server.play import history
from server.scheduler import jobs
from server.store import engine, links, log
from server.store import people as store_people
from server.store.facts import Fact
from server.store.models import (
    Alert,
    BrowserSession,
    Link,
    Mute,
    Notes,
    Person,
    Presence,
    Seat,
    Turn,
    Word,
)
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import loaded
from tests.support.lobby import ALICE, BOB, CHARLIE, DAPHNE, everything, game_of, mails, person, seats_of
from tests.support.mail_servers import FakeMailer
from tests.support.pages import log_in
from tests.support.person_everywhere import PERSON, TRACES, create, named, traces, traces_in_files

pytestmark = pytest.mark.changes_busy_table


@pytest.fixture
def zeno(app: Flask) -> int:  # noqa: ARG001 - for its context
    """Return the id of Zenobia."""
    return create()


def test_no_trace_of_name_or_address_stays(client: FlaskClient, zeno: int) -> None:
    log_in(client, zeno)
    assert traces(str(everything())) == list(TRACES)
    sqlite = engine.db.engine.dialect.name == "sqlite"
    assert not sqlite or traces_in_files()
    assert personal_data.erase(zeno, NOW)
    assert traces(str(everything())) == []
    assert not sqlite or traces_in_files() == []
    for game_id in ("running", "over"):
        with engine.reading() as session:
            text = record.write(history.record_for(loaded(session, game_id), PUBLIC))
        assert not traces(text)
        assert personal_data.NAME in text
        [each] = record.read(io.BytesIO(text.encode()))
        assert record.verify(each).entries > 0
    with engine.reading() as session:
        assert session.query(Link).filter_by(person_id=zeno).count() == 0
        assert session.query(BrowserSession).filter_by(person_id=zeno).count() == 0
        assert session.query(Alert).filter_by(key="another").count() == 1
    assert client.get("/account").status_code == 303
    fake_mailer = FakeMailer()
    while deliver(NOW, fake_mailer):
        pass
    assert not traces("".join(str(message) for message in fake_mailer.sent))
    assert {message["To"].addresses[0].addr_spec for message in fake_mailer.sent} >= {ALICE.address}


def test_what_an_erased_person_said_and_noted_goes_with_them(zeno: int) -> None:
    personal_data.erase(zeno, NOW)
    with engine.reading() as session:
        assert list(session.scalars(select(Word.text).where(Word.game_id == "running"))) == ["Hello"]
        assert session.scalars(select(Notes)).all() == []
        assert session.scalars(select(Mute)).all() == []
        assert session.scalars(select(Alert).where(Alert.key.like("word:%"))).all() == []


def test_the_row_of_an_erased_person_says_nothing_of_them(zeno: int) -> None:
    store_people.note(zeno, NOW, "running")
    store_people.store()
    personal_data.erase(zeno, NOW)
    blank = Person(email=None, name=personal_data.NAME, created_at=NOW, silent=True)
    with engine.reading() as session:
        left = session.get_one(Person, zeno)
        assert session.query(Presence).filter_by(person_id=zeno).count() == 0
        said = {column.key for column in Person.__mapper__.columns} - {"id", "created_at", "digest_at"}
        assert {name: getattr(left, name) for name in said} == {name: getattr(blank, name) for name in said}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_a_reader_kept_in_the_log_goes_with_the_next_cleaning(zeno: int) -> None:
    with engine.reading() as session:
        session.scalars(select(Person)).all()
        assert not personal_data.erase(zeno, NOW)
    assert traces_in_files() != []
    jobs.tick_purge(NOW, 5)
    assert traces_in_files() == []


def test_games_go_on_without_an_erased_player(zeno: int) -> None:
    cut = seats_of("over")[1].cut
    personal_data.erase(zeno, NOW)
    gone = seats_of("running")[1]
    assert (gone.left, gone.autopilot, gone.stored_name) == (True, True, personal_data.NAME)
    assert (seats_of("over")[1].cut, seats_of("over")[1].status) == (cut, "seated")
    assert game_of("running").organiser_id is None
    assert named("hers").message == ""
    assert game_of("running").status == "running"
    assert named("hers").status == "cancelled"
    assert len(mails("cancelled", ALICE)) == 1
    theirs = named("of Alice")
    assert theirs.status == "inviting"
    assert [(seat.status, seat.cut) for seat in seats_of(theirs.id) if seat.person_id == zeno] == [
        ("declined", "")
    ]
    answers = [json.loads(mail.details) for mail in mails("answered", ALICE)]
    assert ("left", personal_data.NAME) in [(answer["answer"], answer["name"]) for answer in answers]
    with engine.reading() as session:
        assert "!leave 1" in [entry.move for entry in log.entries(session, "running")]


def test_erasing_twice_changes_nothing_more(zeno: int) -> None:
    personal_data.erase(zeno, NOW)
    before = everything()
    personal_data.erase(zeno, NOW + timedelta(hours=1))
    assert everything() == before


def test_the_others_lose_nothing(zeno: int) -> None:
    def others() -> list[str]:
        with engine.reading() as session:
            people = [row for row in session.query(Person) if row.id != zeno]
            seats = [row for row in session.query(Seat) if row.person_id != zeno]
            return [f"{row.id} {row.email} {row.name}" for row in people] + [
                f"{row.stored_name} {row.cut}" for row in seats
            ]

    before = others()
    personal_data.erase(zeno, NOW)
    assert others() == before


def test_two_erased_players_of_a_table_have_different_names(table: Callable[..., Table]) -> None:
    game = table(4)
    for number in (1, 2):
        personal_data.erase(game.people[number], NOW)
    assert [seat.stored_name for seat in seats_of(game.id)] == [
        "Alice",
        "Former player",
        "Former player 2",
        "Daphne",
    ]


@pytest.mark.concurrency
def test_a_whole_table_is_erased_at_once(app: Flask, table: Callable[..., Table]) -> None:
    one, other = table(4, "one"), table(4, "other")
    erased = at_once(app, *(partial(personal_data.erase, person_id, NOW) for person_id in one.people))
    assert all(isinstance(emptied, bool) for emptied in erased)
    for game in (one, other):
        names = [seat.stored_name for seat in seats_of(game.id)]
        assert sorted(names) == ["Former player", *(f"Former player {number}" for number in (2, 3, 4))]
        assert all(seat.left for seat in seats_of(game.id))


def test_a_game_on_hold_does_not_keep_the_name(zeno: int) -> None:
    play.quarantine("running", Fact("play_failed", {"fault": "ValueError"}), NOW)
    personal_data.erase(zeno, NOW)
    assert traces(str(everything())) == []


def test_who_may_not_leave_once_more_is_erased_and_holds_nobody_up(
    zeno: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.play.moves.LEAVES", 0)
    with engine.transaction() as session:
        session.execute(update(Turn).where(Turn.game_id == "running").values(started_at=None))
    personal_data.erase(zeno, NOW)
    assert traces(str(everything())) == []
    with engine.reading() as session:
        assert session.get_one(Turn, ("running", 1)).due_at is not None


def test_the_reason_why_a_clock_is_stopped_is_forgotten(zeno: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.play.moves.LEAVES", 0)
    personal_data.erase(zeno, NOW)
    assert traces(str(everything())) == []


def test_the_address_can_come_back_as_somebody_new(zeno: int) -> None:
    personal_data.erase(zeno, NOW)
    assert person(PERSON, NOW) != zeno


# ---- the data of a person ----


def test_the_archive_holds_what_is_stored_about_one_person(zeno: int) -> None:
    before = everything()
    packed = zipfile.ZipFile(io.BytesIO(b"".join(personal_data.archive(zeno))))
    assert everything() == before
    files = {name: packed.read(name).decode() for name in packed.namelist()}
    assert PERSON.address in files["account.json"]
    assert "Asia/Damascus" in files["account.json"]
    assert {game["game"]["name"] for game in json.loads(files["games.json"])} >= {"hers", "of Alice"}
    assert len(json.loads(files["absence.json"])) == 1
    assert "Quillfeather" in files["account.json"]
    assert [row["handle"] for row in json.loads(files["former_handles.json"])] == ["Zenobia"]
    assert [row["name"] for row in json.loads(files["blocked.json"])] == [
        "Charlie"
    ]  # and nobody who blocks her
    assert {word["text"] for word in json.loads(files["word.json"])} == {"I knit with a quill"}
    assert {notes["text"] for notes in json.loads(files["notes.json"])} == {"Palmyra holds the wine"}
    assert len(json.loads(files["mute.json"])) == 1
    assert {"records/running.jsonl", "records/over.jsonl"} <= set(files)
    assert (
        '"by":"chance","move":"shuffle deal"' in files["records/running.jsonl"]
    )  # nothing that her seat may not see
    secrets = [named("hers").seed, named("of Alice").seed]
    with engine.reading() as session:
        every = links.select_rows(session)
        secrets += [links.token(link) for link in every]
        secrets += [link.digest for link in every]
    everything_else = "".join(text for name, text in files.items() if not name.startswith("records/"))
    assert not [secret for secret in secrets if secret in everything_else]
    for other in (ALICE, BOB, CHARLIE, DAPHNE):
        assert other.address not in everything_else
