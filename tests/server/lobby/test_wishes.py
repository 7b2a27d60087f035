"""People who want to hear of open tables: what they keep, and one email a day with what is new."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from flask import Flask

from server.accounts import personal_data
from server.errors import TooMany
from server.lobby import invitations, open_tables
from server.lobby.open_tables import Wanted
from server.lobby.settings import TimeControl
from server.mail.outgoing.deliver import deliver
from server.store import engine
from server.store.models import Block, Person, Wish
from tests.support.at_once import at_once
from tests.support.lobby import BOB, CHARLIE, DAPHNE, invited, known, mails, open_table, person
from tests.support.mail_servers import FakeMailer

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
pytestmark = pytest.mark.usefixtures("app")


def wishes_of(person_id: int) -> list[tuple[str | None, int | None, int | None]]:
    """Return the searches of a person."""
    with engine.reading() as session:
        return [(wish.slug, wish.size, wish.pace) for wish in open_tables.of_person(session, person_id)]


def told_about(now: datetime) -> list[str]:
    """Send Daphne's emails about open tables; return the text of each."""
    fake_mailer = FakeMailer()
    while deliver(now, fake_mailer):
        pass
    texts = [(str(each["Subject"]), each.get_body(("plain",)).get_content()) for each in fake_mailer.sent]  # type: ignore[union-attr]
    return [text for subject, text in texts if subject == "Byzanz: open tables"]


@pytest.fixture
def daphne(now: datetime) -> int:
    """Return Daphne, who may sign in."""
    return known(DAPHNE, now)


def test_three_searches_and_each_once(daphne: int, now: datetime) -> None:
    for which in (Wanted(), Wanted("empire"), Wanted("empire"), Wanted("byzanz", 4, 3600, "de", 2)):
        open_tables.add(daphne, which, now)
    assert wishes_of(daphne) == [(None, None, None), ("empire", None, None), ("byzanz", 4, 3600)]
    with pytest.raises(TooMany):
        open_tables.add(daphne, Wanted("byzantium"), now)
    open_tables.add(daphne, Wanted("empire"), now)
    bob = person(BOB, now)
    with engine.reading() as session:
        first = open_tables.of_person(session, daphne)[0].id
    open_tables.remove(bob, first)
    assert len(wishes_of(daphne)) == 3, "it is not Bob's"
    open_tables.remove(daphne, first)
    assert wishes_of(daphne) == [("empire", None, None), ("byzanz", 4, 3600)]
    open_tables.remove(daphne)
    assert wishes_of(daphne) == []


@pytest.mark.concurrency
def test_no_more_than_three_at_once(app: Flask, now: datetime) -> None:
    daphne = known(DAPHNE, now)
    deeds = [lambda size=size: open_tables.add(daphne, Wanted(size=size), now) for size in range(2, 8)]
    results = at_once(app, *deeds)
    assert sorted(map(str, results)) == sorted([str(None)] * 3 + [str(TooMany)] * 3)
    assert len(wishes_of(daphne)) == 3


@pytest.mark.parametrize(
    ("which", "names"),
    [
        (Wanted(), {"Byzanz", "Slow", "Empire"}),
        (Wanted("byzanz"), {"Byzanz", "Slow"}),
        (Wanted("empire"), {"Empire"}),
        (Wanted(size=2), {"Empire"}),
        (Wanted("byzanz", 3, 100_000), {"Slow"}),
        (Wanted("byzantium"), set()),
    ],
)
def test_a_person_is_told_of_tables_like_those(
    daphne: int, now: datetime, which: Wanted, names: set[str]
) -> None:
    open_table("Before", now)
    open_tables.add(daphne, which, now + HOUR)
    at = now + 2 * HOUR
    open_table("Byzanz", at)
    open_table("Slow", at, time_control=TimeControl(2 * 86400))
    open_table("Empire", at, slug="empire", players=())
    open_table("Not listed", at, listed=False, free=0, players=(BOB, CHARLIE))
    assert open_tables.tell(at) == bool(names)
    texts = told_about(at)
    assert {name for text in texts for name in re.findall("“([^”]+)”\\. ", text)} == names
    assert len(texts) == bool(names)


def test_one_email_a_day_with_all_that_opened_since(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted("byzanz"), now)
    open_tables.add(daphne, Wanted(size=3), now)
    open_table("First", now + HOUR)
    assert open_tables.tell(now + HOUR) == 1
    assert open_tables.tell(now + HOUR) == 0
    open_table("Second", now + 2 * HOUR)
    open_table("Third", now + 20 * HOUR)
    for hours in (2, 20, 24.9):
        assert open_tables.tell(now + hours * HOUR) == 0
    assert open_tables.tell(now + 25 * HOUR) == 1
    for day in range(2, 6):
        assert open_tables.tell(now + day * DAY) == 0
    first, second = told_about(now + 6 * DAY)
    assert ("“First”" in first, "“Second”" in first) == (True, False)
    assert ("“First”" in second, "“Second”" in second, "“Third”" in second) == (False, True, True)
    assert second.count("/join/") == 2


@pytest.mark.concurrency
def test_two_schedulers_send_one(app: Flask, now: datetime) -> None:
    open_tables.add(known(DAPHNE, now), Wanted(), now)
    open_table("Table", now + HOUR)
    deeds = [lambda n=n: open_tables.tell(now + 2 * HOUR + timedelta(seconds=n)) for n in range(4)]
    results = at_once(app, *deeds)
    assert sum(map(int, map(str, results))) == 1
    assert len(mails("wish")) == 1
    with engine.reading() as session:
        daphne = session.query(Person).filter_by(email=DAPHNE.address).one().id
    open_table("Another", now + 3 * HOUR)
    assert not open_tables._tell(daphne, now + 3 * HOUR), "another scheduler was faster"


@pytest.mark.parametrize("blocks", [("host", "me"), ("me", "host"), ("guest", "me"), ("me", "guest")])
def test_never_a_table_of_blocked_people(daphne: int, now: datetime, blocks: tuple[str, str]) -> None:
    open_tables.add(daphne, Wanted(), now)
    game_id = open_table("Hidden", now + HOUR, players=(), free=2)
    eve = known(CHARLIE, now)
    invitations.take_free_seat(game_id, eve, "Charlie", "cut", now + HOUR)
    with engine.reading() as session:
        host = session.query(Person).filter_by(email="alice@example.org").one().id
    people = {"me": daphne, "host": host, "guest": eve}
    with engine.transaction() as session:
        session.add(Block(person_id=people[blocks[0]], other_id=people[blocks[1]], at=now))
    assert open_tables.tell(now + 2 * HOUR) == 0
    assert not mails("wish")


def test_never_ones_own_table(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted(), now)
    open_table("Mine", now + HOUR, organiser=DAPHNE)
    with_me = open_table("With me", now + HOUR, free=2)
    invitations.take_free_seat(with_me, daphne, "Daphne", "cut", now + HOUR)
    assert open_tables.tell(now + 2 * HOUR) == 0


def test_an_email_names_only_tables_that_still_wait(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted(), now)
    _gone, host = invited(now + HOUR, name="Gone", players=(BOB,), free=1, listed=True)
    open_table("Here", now + HOUR)
    assert open_tables.tell(now + HOUR) == 1
    invitations.cancel(host, now + HOUR)
    (text,) = told_about(now + HOUR)
    assert ("“Here”" in text, "“Gone”" in text) == (True, False)


def test_a_block_counts_that_came_after_the_email_was_queued(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted(), now)
    open_table("Hidden", now + HOUR)
    open_table("Open", now + HOUR, organiser=CHARLIE)
    assert open_tables.tell(now + HOUR) == 1
    with engine.transaction() as session:
        host = session.query(Person).filter_by(email="alice@example.org").one().id
        session.add(Block(person_id=host, other_id=daphne, at=now + HOUR))
    (text,) = told_about(now + HOUR)
    assert ("“Open”" in text, "“Hidden”" in text) == (True, False)


def test_an_email_about_no_table_is_not_sent(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted(), now)
    _gone, host = invited(now + HOUR, name="Gone", players=(BOB,), free=1, listed=True)
    assert open_tables.tell(now + HOUR) == 1
    invitations.cancel(host, now + HOUR)
    assert told_about(now + HOUR) == []
    (mail,) = mails("wish")
    assert mail.status == "dropped"


def test_it_comes_in_the_persons_language_after_their_quiet_hours(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted(), now)
    with engine.transaction() as session:
        me = session.get_one(Person, daphne)
        me.language, me.time_zone, me.quiet_from, me.quiet_to = "de", "UTC", 11 * 60, 13 * 60
    open_table("Tisch", now + HOUR)
    assert open_tables.tell(now + 2 * HOUR) == 1
    fake_mailer = FakeMailer()
    while deliver(now + 2 * HOUR, fake_mailer):
        pass
    assert "Byzanz: offene Tische" not in {str(each["Subject"]) for each in fake_mailer.sent}
    while deliver(now + 3 * HOUR, fake_mailer):
        pass
    (mine,) = (each for each in fake_mailer.sent if "w/" in (each["List-Unsubscribe"] or ""))
    assert "daphne@" in str(mine["To"])
    assert str(mine["Subject"]) == "Byzanz: offene Tische"
    assert mine["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert re.fullmatch(r"<https?://\S+/w/[a-z2-7]{26}>", mine["List-Unsubscribe"])


def test_a_person_who_wants_no_emails_gets_none(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted(), now)
    with engine.transaction() as session:
        session.get_one(Person, daphne).silent = True
    open_table("Table", now + HOUR)
    open_tables.tell(now + HOUR)
    assert told_about(now + HOUR) == []


def test_many_readers_are_all_told(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_tables, "READERS_AT_ONCE", 2)
    host = person(BOB, now)
    with engine.transaction() as session:
        for number in range(5):
            reader = Person(email=f"reader{number}@example.org", name=f"Reader {number}", created_at=now)
            session.add(reader)
            session.flush()
            session.add(Wish(person_id=reader.id, slug=None, size=None, pace=None, created_at=now))
            if number < 3:  # three who must not be told of it do not keep the others from hearing
                session.add(Block(person_id=reader.id, other_id=host, at=now))
    open_table("Table", now + HOUR, organiser=BOB, players=(), free=2)
    assert open_tables.tell(now + HOUR) == 2


@pytest.mark.changes_busy_table
def test_erasure_deletes_searches_and_the_export_has_them(daphne: int, now: datetime) -> None:
    open_tables.add(daphne, Wanted("byzanz", 4), now)
    assert b"wish.json" in b"".join(personal_data.archive(daphne))
    personal_data.erase(daphne, now)
    with engine.reading() as session:
        assert session.query(Wish).count() == 0
