"""The log's triggers exist after every migration, and old rows stay readable."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import flask_babel
import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import downgrade, upgrade
from sqlalchemy.exc import DatabaseError

from server import config, create_app
from server.config import ConfigError
from server.store import engine, facts, log, migrate, outbox, totals
from server.store.facts import Fact
from server.store.models import (
    Alert,
    BrowserSession,
    Game,
    IncomingMail,
    Mail,
    ModeratorAction,
    Outage,
    Person,
    Seat,
    StandingOrder,
    Tenure,
    Turn,
    Word,
)
from tests.conftest import NOW, Table, settings

SCRIPTS = ScriptDirectory(str(config.MIGRATIONS))
REVISIONS = [revision.revision for revision in SCRIPTS.walk_revisions()]


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Flask]:
    """Return an app on a database without tables."""
    file = f"sqlite:///{tmp_path}/bare.db"
    url = file if request.param == "sqlite" else request.getfixturevalue("bare_postgres")
    app = create_app(settings(url))
    with app.app_context():
        yield app
        engine.db.engine.dispose()


def triggers(connection: sa.Connection) -> set[str]:
    if connection.dialect.name == "sqlite":
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'entry'"
    else:
        query = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'entry'::regclass AND NOT tgisinternal"
    return set(connection.scalars(sa.text(query)))


@pytest.mark.parametrize(
    "empty", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)], indirect=True
)
@pytest.mark.parametrize("revision", REVISIONS[::-1])
@pytest.mark.usefixtures("empty")
def test_the_log_keeps_its_triggers_at_every_revision(revision: str) -> None:
    upgrade(revision=revision)
    with engine.db.engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        wanted = (
            {"entry_no_update", "entry_no_delete"} if sqlite else {"entry_no_change", "entry_no_truncate"}
        )
        assert triggers(connection) == wanted


@pytest.mark.usefixtures("app")
def test_a_change_of_what_a_games_page_shows_raises_its_revision(table: Callable[..., Table]) -> None:
    game, other = table(3), table(3, "g2")

    def raised(statement: str) -> int:
        with engine.transaction() as session:
            before = session.scalar(sa.select(Game.revision).where(Game.id == game.id)) or 0
            session.execute(sa.text(statement))
            return (session.scalar(sa.select(Game.revision).where(Game.id == game.id)) or 0) - before

    for column in ("name", "status", "quarantine", "result", "seed", "commitment", "time_zone"):
        assert raised(f"UPDATE game SET {column} = {column} WHERE id = 'g1'") == 1, column
    for column in ("name", "cut", "uncut"):
        assert raised(f"UPDATE seat SET {column} = {column} WHERE game_id = 'g1' AND seat = 1") == 1, column
    assert raised("UPDATE game SET head = head, paused = paused WHERE id = 'g1'") == 0
    assert raised("UPDATE seat SET bank = bank, missed = missed WHERE game_id = 'g1'") == 0
    assert raised(f"UPDATE game SET name = 'Other' WHERE id = '{other.id}'") == 0


@pytest.mark.usefixtures("app")
def test_sqlite_is_set_up_to_last() -> None:
    if engine.db.engine.dialect.name != "sqlite":
        return
    with engine.db.engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "secure_delete")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "secure_delete": 1,
    }


# ---- sentences that became facts ----

OUTCOMES = (
    "in hand",
    "from another address",
    "1 of 2 lines carried out",
    "ignored: it was sent automatically: a b …",
    "ignored: too big",
    "failed: 550 5.1.1 no such user",
    "failed: the mail was not delivered",
    "delayed: the mail is delayed",
    "complaint: abuse, Yahoo!",
    "nothing: no report",
    "something that nobody has ever written: 100 %",
)
ERRORS = (
    "another mail has told it",
    "the person wants no mail about this game",
    "the turn is over",
    "550 5.1.1 no such user",
    "connection lost: [Errno 104] Connection reset by peer",
    "the mail server takes no addresses with letters beyond ASCII",
    "complaint: abuse",
)
ALARMS = (
    "The address of a player is refused: 550 gone",
    "A player gets no mail, for his address did not take it before: complaint: abuse",
    "A person has marked a mail of ours as unwanted and gets none any more: abuse",
    "The mail server objects to our settings: 530 no",
    "A mail (turn) waits since 2026-03-01 10:00 UTC: 451 later",
    "The clock of the machine jumped. Nobody is played for until it is right: see byzanz doctor.",
    "A game rests, for nobody in it answers.",
    "A player has left his game: give his seat to somebody else.",
    "No mail has reached a player for 72 hours; the server plays for him.",
    "KeyError when the server or a bot was to play for a seat",
    "game quiet: IllegalMove: You do not hold Wood 3.",
)
REASONS = (
    "The price is 10, and your order goes no further: your limit was 9.",
    "It could not be carried out as the table stands now.",
    "“sell wine1 wine2” is not possible any more.",
    "Nothing on your list lies in the market.",
    "You have left the game.",
    "Somebody else has taken the seat.",
    "The game is over.",
)
IN_GERMAN = {
    "in hand": "in Arbeit",
    "1 of 2 lines carried out": "1 von 2 Zeilen ausgeführt",
    "ignored: it was sent automatically: a b …": "übergangen: sie wurde automatisch verschickt: a b …",
    "failed: the mail was not delivered": "fehlgeschlagen: die E-Mail wurde nicht zugestellt",
    "something that nobody has ever written: 100 %": "something that nobody has ever written: 100 %",
    "550 5.1.1 no such user": "550 5.1.1 no such user",
    "The address of a player is refused: 550 gone": (
        "Der Mailserver lehnt die Adresse von jemandem am Tisch ab: 550 gone"
    ),
    "A player gets no mail, for his address did not take it before: complaint: abuse": (
        "Jemand am Tisch bekommt keine E-Mails, weil eine frühere abgelehnt wurde: Beschwerde: abuse"
    ),
    "A game rests, for nobody in it answers.": (
        "Ein Spiel ist angehalten, weil darin niemand mehr antwortet."
    ),
    "The price is 10, and your order goes no further: your limit was 9.": (
        "Der Preis ist 10, und dein Auftrag geht nicht weiter: Deine Grenze war 9."
    ),
    "The game is over.": "Das Spiel ist vorbei.",
}
"""How some of them read in German today."""


def write_sentences(connection: sa.Connection) -> None:
    """Fill the tables of revision 0005 with the sentences that were stored then."""
    tables = sa.MetaData()
    tables.reflect(connection)

    def insert(table: str, **values: Any) -> None:
        connection.execute(tables.tables[table].insert().values(values))

    person = {"created_at": NOW, "moderator": False, "silent": False}
    insert("person", id=1, name="Ann", email="a@b.test", unreachable=None, suppressed=None, **person)
    insert("person", id=2, name="Bob", unreachable="550 gone", suppressed="complaint: abuse", **person)
    game = {"slug": "byzanz", "rules": 1, "status": "running", "allowance": 60, "seed": "", "commitment": ""}
    game |= {
        "created_at": NOW,
        "options": "{}",
        "time_zone": "UTC",
        "listed": False,
        "head": 0,
        "paused": False,
    }
    insert("game", id="well", name="Well", quarantine=None, **game)
    insert(
        "game",
        id="quiet",
        name="Quiet",
        quarantine="KeyError when the server or a bot was to play for a seat",
        **game,
    )
    for number, said in enumerate(OUTCOMES):
        insert("received", digest=str(number), at=NOW, kind="reply", outcome=said)
    mail = {
        "kind": "turn",
        "person_id": 1,
        "created_at": NOW,
        "not_before": NOW,
        "details": "{}",
        "attempts": 0,
    }
    for number, error in enumerate((*ERRORS, None)):
        insert("outbox", key=str(number), status="failed", error=error, **mail)
    for number, said in enumerate(ALARMS):
        insert("alarm", key=str(number), text=said, at=NOW)
    order = {"game_id": "well", "seat": 0, "text": "pass", "occasion": "", "left_at": NOW, "left_seq": 1}
    for number, reason in enumerate((*REASONS, None)):
        insert("standing_order", number=number, status="stopped", reason=reason, **order)
    turn = {
        "game_id": "well",
        "question": "bid 1",
        "opened_seq": 1,
        "opened_at": NOW,
        "bot": False,
        "extra": 0,
    }
    for seat, refused in enumerate(("the mail was not delivered", "550 gone", None)):
        insert("turn", seat=seat, refused=refused, credited=0, **turn)


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
def test_only_the_addresses_of_turns_keep_their_purpose() -> None:
    upgrade(revision="0023")
    with engine.db.engine.begin() as connection:
        write_links(connection)

    def purposes() -> list[str]:
        with engine.db.engine.begin() as connection:
            return list(connection.scalars(sa.text("SELECT purpose FROM link ORDER BY id")))

    upgrade()
    assert purposes() == ["reply", "talk", "seat"]
    with engine.reading() as session:
        shown = list(session.scalars(sa.select(Word.text).order_by(Word.number)))
    assert shown == ["Byzanz <[address]> a écrit", "Open [link]", "Donaudampfschifffahrtsgesellschaft"]
    downgrade(revision="0023")
    assert purposes() == ["reply", "reply", "seat"]


def write_links(connection: sa.Connection) -> None:
    """Fill the table of links as before revision 0028: an address of a turn, one of table talk, and a page."""
    tables = sa.MetaData()
    tables.reflect(connection)
    person = {"id": 1, "name": "Ann", "created_at": NOW, "moderator": False, "silent": False}
    links = tables.tables["link"].insert()
    connection.execute(tables.tables["person"].insert().values(**person))
    for number, (purpose, seq) in enumerate((("reply", 7), ("reply", None), ("seat", None)), 1):
        row = {"id": number, "purpose": purpose, "seq": seq, "person_id": 1, "created_at": NOW}
        connection.execute(links.values(nonce=b"", digest=str(number), **row))
    game = {"slug": "byzanz", "rules": 1, "status": "running", "allowance": 60, "seed": "", "commitment": ""}
    game |= {"created_at": NOW, "options": "{}", "time_zone": "UTC", "head": 0, "id": "g", "name": "G"}
    insert_row(connection, tables.tables["game"], game)
    said = (
        "Byzanz <talk+abcdefghijklmnopqrstuvwx23@play.test> a écrit",
        "Open https://play.test/t/abcdefghijklmnopqrstuvwx23?a=b",
        "Donaudampfschifffahrtsgesellschaft",
    )
    for number, text in enumerate(said):
        word = {
            "game_id": "g",
            "number": number,
            "person_id": 1,
            "seat": 0,
            "text": text,
            "at": NOW,
            "seq": 1,
        }
        insert_row(connection, tables.tables["word"], word | {"request_id": str(number)})


def insert_row(connection: sa.Connection, table: sa.Table, values: dict[str, Any]) -> None:
    """Insert a row; columns that must have a value and are not given are empty, 0 or false."""
    asked = (column for column in table.columns if not column.nullable and not column.primary_key)
    blank = {
        column.name: column.type.python_type()
        for column in asked
        if column.server_default is None and column.name not in values
    }
    connection.execute(table.insert().values(**(blank | values)))


def stored() -> list[Fact]:
    """Every fact in the database, table by table."""
    columns = (IncomingMail.outcome, Mail.error, Alert.text, StandingOrder.reason)
    with engine.reading() as session:
        found: list[Any] = []
        for column in columns:
            found += session.scalars(sa.select(column).where(column.is_not(None)).order_by(column.class_.id))
        bob, quiet = session.get_one(Person, 2), session.get_one(Game, "quiet")
        assert session.get_one(Game, "well").quarantine is None
        turns = session.scalars(sa.select(Turn.refused).order_by(Turn.seat)).all()
        assert turns[2] is None
    return [*found, bob.unreachable, bob.suppressed, quiet.quarantine, *turns[:2]]


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
def test_stored_sentences_become_facts_and_sentences_again(empty: Flask) -> None:
    upgrade(revision="0005")
    with engine.db.engine.begin() as connection:
        write_sentences(connection)
    upgrade()
    old = [*OUTCOMES, *ERRORS, *ALARMS, *REASONS, "550 gone", "complaint: abuse"]
    old += [
        "KeyError when the server or a bot was to play for a seat",
        "the mail was not delivered",
        "550 gone",
    ]
    found = stored()
    migration = SCRIPTS.get_revision("0006").module
    assert [migration.sentence(facts.stored(fact)) for fact in found] == old
    unknown = {str(fact) for fact in found if fact.code == "text"}
    assert unknown == {
        "something that nobody has ever written: 100 %",
        "550 5.1.1 no such user",
        "550 gone",
        "game quiet: IllegalMove: You do not hold Wood 3.",
    }
    with empty.test_request_context(), flask_babel.force_locale("de"):
        german = dict(zip(old, map(facts.sentence, found), strict=True))
    assert {said: german[said] for said in IN_GERMAN} == IN_GERMAN
    downgrade(revision="0005")
    with engine.db.engine.connect() as connection:
        assert list(connection.scalars(sa.text("SELECT outcome FROM received ORDER BY id"))) == list(OUTCOMES)
        alarms = sa.text("SELECT text FROM alarm ORDER BY id")
        assert list(connection.scalars(alarms)) == list(ALARMS)


# ---- emails that were sent before they were deleted ----


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_emails_sent_long_ago_are_emptied_and_those_without_a_game_get_a_date() -> None:
    upgrade(revision="0006")
    with engine.db.engine.begin() as connection:
        write_sentences(connection)
        for change in (
            "UPDATE outbox SET details = '{\"a\": 1}', game_id = 'well'",
            "UPDATE outbox SET status = 'waiting' WHERE key = '0'",
            "UPDATE outbox SET kind = 'digest', game_id = NULL WHERE key = '1'",
            "UPDATE outbox SET kind = 'confirm' WHERE key = '2'",
        ):
            connection.execute(sa.text(change))
    upgrade()
    with engine.reading() as session:
        mails = session.scalars(sa.select(Mail).order_by(Mail.id)).all()
        person = session.get_one(Person, 1)
    assert [mail.details for mail in mails[:4]] == ['{"a": 1}'] * 3 + ["{}"]
    dates = {mail.key: mail.delete_at - engine.utc_now() for mail in mails if mail.delete_at}
    assert dates.keys() == {"1"}
    assert abs(dates["1"] - outbox.RETENTION) < timedelta(hours=1)
    assert person.digest_at < NOW
    downgrade(revision="0006")


# ---- entries in fewer bytes ----

LOG = (
    ("2026-03-02T10:00:00.000Z", None, "chance", "shuffle deal wine1", None, None),
    ("2026-03-02T10:00:00.001Z", 0, "player", "bid wine1", None, "request-1"),
    ("2026-03-02T23:59:59.999Z", 1, "player", "pass", None, "request-1"),
    ("2026-03-03T00:00:00.120Z", 1, "clock", "pass", "Too late.", None),
    ("2026-12-31T23:59:59.999Z", None, "moderator", "!note", "100 % of it: ok", None),
)
"""Entries of two games at revision 0009: time, seat, cause, move, note and request."""


def write_log(connection: sa.Connection, **changed: str) -> None:
    """Fill the tables of revision 0009 with the logs of two games and times of every kind; change the last entry."""
    write_sentences(connection)
    connection.execute(
        sa.text("UPDATE person SET digest_at = :at WHERE id = 1"), {"at": "2026-03-01 08:00:00.000007"}
    )
    tables = sa.MetaData()
    tables.reflect(connection, only=["entry", "outage"])
    for game in ("quiet", "well"):
        for seq, (at, seat, by, move, note, request) in enumerate(LOG, start=1):
            digest = hashlib.sha256(f"{game}{seq}".encode()).hexdigest()
            row = {"game_id": game, "seq": seq, "at": at, "seat": seat, "by": by, "move": move, "note": note}
            row |= {"salt": digest[:32], "hash": digest, "request_id": request}
            if (game, seq) == ("well", len(LOG)):
                row |= changed
            connection.execute(tables.tables["entry"].insert().values(row))
    late = NOW + timedelta(microseconds=999_999)
    connection.execute(tables.tables["outage"].insert().values(part="web", from_at=NOW, to_at=late))


def contents() -> dict[str, list[Any]]:
    """Return all rows of all tables, as the driver returns them."""
    with engine.db.engine.connect() as connection:
        names = sa.inspect(connection).get_table_names()
        return {
            name: sorted(map(tuple, connection.execute(sa.text(f"SELECT * FROM {name}"))), key=repr)
            for name in names
            if name != "alembic_version"
        }


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_an_entry_in_fewer_bytes_says_the_same() -> None:
    upgrade(revision="0009")
    with engine.db.engine.begin() as connection:
        write_log(connection)
    before = contents()
    upgrade()
    with engine.reading() as session:
        wanted = [(*row[:3], row[3], *row[4:9]) for row in before["entry"] if row[0] == "well"]
        found = [("well", *dataclasses.astuple(entry)) for entry in log.entries(session, "well")]
        assert sorted(found, key=repr) == wanted
        assert session.scalar(sa.select(Outage.to_at)) == NOW + timedelta(microseconds=999_999)
        digest_at = session.scalar(sa.select(Person.digest_at).where(Person.id == 1))
        assert digest_at == datetime(2026, 3, 1, 8, 0, 0, 7, tzinfo=UTC)
        sqlite = session.get_bind().dialect.name == "sqlite"
        by_hand = "lower(hex(hash))" if sqlite else "encode(hash, 'hex')"
        own = f"SELECT {by_hand} FROM entry WHERE game_id = 'well' AND seq = 1"
        assert session.scalar(sa.text(own)) == hashlib.sha256(b"well1").hexdigest()
    for statement in ("UPDATE entry SET note = ''", "DELETE FROM entry"):
        with pytest.raises(DatabaseError, match="append-only"), engine.transaction() as session:
            session.execute(sa.text(statement))
    downgrade(revision="0009")
    assert contents() == before


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize(
    "changed",
    [
        {"hash": "A" * 64},
        {"hash": "no hash"},
        {"salt": "0" * 31},
        {"at": "2026-03-02T10:00:00Z"},
        {"at": "2026-03-02 10:00:00.000Z"},
        {"at": "some day"},
    ],
    ids=lambda changed: next(iter(changed.values())),
)
@pytest.mark.usefixtures("empty")
def test_a_log_that_would_say_something_else_is_not_upgraded(changed: dict[str, str]) -> None:
    upgrade(revision="0009")
    with engine.db.engine.begin() as connection:
        write_log(connection, **changed)
    before = contents()
    with pytest.raises(ConfigError, match=f"game well, entry {len(LOG)}: its time, salt or hash"):
        migrate.upgrade()
    assert (migrate.current_revision(), contents()) == ("0009", before)
    with engine.db.engine.connect() as connection:
        assert len(triggers(connection)) == 2


# ---- who had accepted an invitation ----


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_people_who_play_organise_or_moderate_have_accepted_and_the_others_have_not() -> None:
    upgrade(revision="0009")
    with engine.db.engine.begin() as connection:
        write_people(connection)
    upgrade()
    with engine.reading() as session:
        accepted = session.scalars(sa.select(Person.name).where(Person.accepted)).all()
        assert sorted(accepted) == ["Host", "Mia", "Seated"]
        assert not session.scalars(sa.select(Person).where(Person.no_invitations)).all()
        assert not session.scalars(sa.select(BrowserSession)).all()
    downgrade(revision="0009")
    with engine.db.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM person")) == 5


def write_people(connection: sa.Connection) -> None:
    """Fill the tables of revision 0009 with a game that invites, one that is not confirmed, and their people."""
    tables = sa.MetaData()
    tables.reflect(connection)
    people = ("Seated", "Invited", "Host", "Unconfirmed", "Mia")
    for number, name in enumerate(people, 1):
        person = {"id": number, "name": name, "created_at": NOW, "silent": False, "cadence": "each"}
        connection.execute(tables.tables["person"].insert().values(moderator=name == "Mia", **person))
    game = {"slug": "byzanz", "rules": 1, "allowance": 60, "seed": "", "commitment": "", "created_at": NOW}
    game |= {"options": "{}", "time_zone": "UTC", "listed": False, "head": 0, "paused": False}
    game |= {"bank": 0, "days_off": "", "name": "A game"}
    for game_id, status, host in (("out", "inviting", 3), ("asked", "asked", 4)):
        connection.execute(
            tables.tables["game"].insert().values(id=game_id, status=status, organiser_id=host, **game)
        )
    seat = {"game_id": "out", "name": "", "cut": "", "uncut": False, "silent": False, "bank": 0, "missed": 0}
    seat |= {"autopilot": False, "lost": False}
    for number, status in ((1, "seated"), (2, "invited")):
        values = seat | {"seat": number - 1, "status": status, "person_id": number}
        connection.execute(tables.tables["seat"].insert().values(values))


# ---- games whose cuts were not numbered ----


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_cuts_made_before_are_numbered_in_their_order_and_games_keep_their_format() -> None:
    upgrade(revision="0009")
    with engine.db.engine.begin() as connection:
        write_cuts(connection)
    upgrade()
    with engine.reading() as session:
        games = {game.id: game for game in session.scalars(sa.select(Game))}
        seats = session.scalars(sa.select(Seat).order_by(Seat.game_id, Seat.seat)).all()
    assert {name: (game.record_format, game.cut_order) for name, game in games.items()} == {
        "waits": (1, "[]"),
        "well": (1, "[]"),
    }
    assert {name: game.cuts_made for name, game in games.items()} == {"waits": 2, "well": 0}
    numbers = [(seat.game_id, seat.cut_number) for seat in seats]
    assert numbers == [("waits", 2), ("waits", 1), ("waits", 0), ("waits", 0), ("well", 0)]
    downgrade(revision="0009")


def write_cuts(connection: sa.Connection) -> None:
    """Fill the tables of revision 0009 with a game that waits for a player, and one that has begun."""
    tables = sa.MetaData()
    tables.reflect(connection)

    def insert(table: str, **values: Any) -> None:
        connection.execute(tables.tables[table].insert().values(values))

    insert("person", id=1, name="Ann", email="a@b.test", created_at=NOW, moderator=False, silent=False)
    game = {"slug": "byzanz", "rules": 1, "allowance": 60, "seed": "", "commitment": "", "created_at": NOW}
    game |= {"options": "{}", "time_zone": "UTC", "listed": False, "head": 0, "paused": False}
    insert("game", id="waits", name="Waits", status="inviting", **game)
    insert("game", id="well", name="Well", status="running", **game)
    seat = {"name": "Ann", "cut": "", "uncut": False, "silent": False, "person_id": 1, "bank": 0}
    seat |= {"missed": 0, "autopilot": False}
    later = NOW + timedelta(hours=1)
    insert("seat", game_id="waits", seat=0, status="seated", answered_at=later, **seat)
    insert("seat", game_id="waits", seat=1, status="seated", answered_at=NOW, **seat)
    insert(
        "seat",
        game_id="waits",
        seat=2,
        status="seated",
        answered_at=NOW,
        **seat | {"person_id": None, "bot": "random"},
    )
    insert("seat", game_id="waits", seat=3, status="declined", answered_at=NOW, **seat)
    insert("seat", game_id="well", seat=0, status="seated", answered_at=NOW, **seat)


# ---- figures ----


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_figures_of_any_size_are_stored_and_an_older_version_starts_anew() -> None:
    totals.forget()  # what earlier tests of this process counted
    upgrade(revision="0020")
    with engine.transaction() as session:
        session.execute(sa.text("INSERT INTO total (name, value) VALUES ('mail_attempts', 7), ('other', 8)"))
    upgrade()
    with engine.reading() as session:
        assert totals.stored(session) == {"other": 8}
    totals.count("other", 1 << 40)
    totals.store()
    with engine.reading() as session:
        assert totals.stored(session) == {"other": (1 << 40) + 8}
    downgrade(revision="0020")
    with engine.reading() as session:
        assert totals.stored(session) == {}


# ---- open tables ----


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_listed_tables_that_wait_for_players_get_three_weeks_more() -> None:
    upgrade()
    kinds = {
        "open": ("inviting", True, "free"),
        "private": ("inviting", False, "free"),
        "full": ("inviting", True, "seated"),
        "over": ("over", True, "free"),
    }
    with engine.transaction() as session:
        for name, (status, listed, seat) in kinds.items():
            game = Game(
                id=name,
                slug="byzanz",
                rules=1,
                name=name,
                organiser_id=None,
                status=status,
                allowance=86400,
                seed="00" * 32,
                commitment="00" * 32,
                created_at=NOW,
                listed=listed,
            )
            session.add(game)
            session.flush()
            session.add(Seat(game_id=name, seat=0, stored_name="", status=seat))
    downgrade(revision="0022")
    upgrade()
    with engine.reading() as session:
        games = {game.id: game for game in session.scalars(sa.select(Game))}
    assert {name for name, game in games.items() if game.open_until} == {"open"}
    until = games["open"].open_until
    assert until is not None
    assert abs(until - engine.utc_now() - timedelta(days=21)) < timedelta(hours=1)
    assert games["open"].listed_at == NOW


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_an_older_version_lists_the_deeds_of_moderators_only() -> None:
    upgrade()
    with engine.transaction() as session:
        session.add(Person(email="mia@example.org", name="Mia", created_at=NOW))
        session.flush()
        mia = session.scalars(sa.select(Person.id)).one()
        for person_id, reason in ((mia, "by Mia"), (None, "at the shell")):
            session.add(ModeratorAction(person_id=person_id, at=NOW, power="erase", reason=reason))
    downgrade(revision="0031")
    upgrade()
    with engine.reading() as session:
        assert session.scalars(sa.select(ModeratorAction.reason)).all() == ["by Mia"]


# ---- who held which seat ----


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("empty")
def test_games_that_have_begun_get_their_tenures_from_the_log() -> None:
    upgrade(revision="0022")
    with engine.db.engine.begin() as connection:
        write_games(connection)
    before = contents()
    upgrade()
    with engine.reading() as session:
        query = sa.select(Tenure).order_by(Tenure.game_id, Tenure.seat, Tenure.from_seq)
        found = [
            (row.game_id, row.seat, row.from_seq, row.to_seq, row.person_id, row.bot)
            for row in session.scalars(query)
        ]
        assert found == [
            ("given", 0, 0, None, 1, None),
            ("given", 1, 0, None, None, "greedy"),
            ("given", 2, 0, None, None, None),
            ("over", 0, 0, 3, 1, None),
            ("over", 0, 3, 5, None, None),
            ("over", 0, 5, None, 1, None),
            ("over", 1, 0, None, None, "greedy"),
            ("over", 2, 0, 4, 2, None),
            ("over", 2, 4, None, None, None),
            ("played", 0, 0, None, None, None),
            ("visit", 0, 0, None, 4, None),
        ]
        games = {game.id: game for game in session.scalars(sa.select(Game))}
        assert [name for name in sorted(games) if games[name].past_unknown] == ["given"]
        assert {game.counted_at for game in games.values()} == {None}
        failed = session.execute(sa.select(Turn.seat, Turn.mail_failed).order_by(Turn.seat)).all()
        assert [tuple(row) for row in failed] == [(0, False), (1, True), (2, True)]
        assert not any(session.scalars(sa.text("SELECT count(*) FROM entry WHERE seconds IS NOT NULL")))
    downgrade(revision="0022")
    assert contents() == before


def write_games(connection: sa.Connection) -> None:
    """Fill the tables of revision 0022: seats that were left, given away and erased, and a game that waits."""
    tables = sa.MetaData()
    tables.reflect(connection)

    def insert(table: str, **values: Any) -> None:
        columns = tables.tables[table].columns
        row = {column.name: _some(column, connection) for column in columns if not column.nullable} | values
        names = ", ".join(f'"{name}"' for name in row)
        places = ", ".join(f":{name}" for name in row)
        connection.execute(sa.text(f'INSERT INTO "{table}" ({names}) VALUES ({places})'), row)

    when = 0 if connection.dialect.name == "sqlite" else NOW
    for number, email in ((1, "a@b.test"), (2, "b@b.test"), (3, None), (4, None)):
        insert("person", id=number, name=f"P{number}", email=email, silent=number == 3)
    for name in ("given", "over", "played", "visit", "waits"):
        begun = None if name == "waits" else when
        insert("game", id=name, slug="byzanz", started_at=begun, trial=name == "visit")
    seats: tuple[tuple[str, int, int | None, str | None, bool], ...] = (
        ("given", 0, 1, None, False),
        ("given", 1, None, "greedy", False),
        ("given", 2, 2, None, True),
        ("over", 0, 1, None, False),
        ("over", 1, None, "greedy", False),
        ("over", 2, 2, None, True),
        ("played", 0, 3, None, False),
        ("visit", 0, 4, None, False),
        ("waits", 0, 1, None, False),
    )
    for game, seat, person, bot, left in seats:
        insert("seat", game_id=game, seat=seat, name=f"{seat}", person_id=person, bot=bot, left=left)
    acts = (
        *(("given", 2, 0, "!leave 0"), ("given", 3, 0, "!replace 0"), ("given", 4, 2, "!leave 2")),
        *(("over", 1, 0, "!autopilot 0 on"), ("over", 2, 0, "!autopilot 0 off"), ("over", 3, 0, "!leave 0")),
        *(("over", 4, 2, "!leave 2"), ("over", 5, 0, "!autopilot 0 off"), ("played", 1, 0, "!note")),
    )
    for game, seq, seat, move in acts:
        chained = {"salt": bytes(16), "hash": bytes(32)}
        insert("entry", game_id=game, seq=seq, seat=seat, move=move, by="player", **chained)
    insert("turn", game_id="given", seat=0, question="bid 1", hours="{}")
    insert("turn", game_id="given", seat=1, question="bid 1", hours="{}", refused="550")
    insert("turn", game_id="given", seat=2, question="bid 1", hours="{}", anew=True)


def _some(column: sa.Column[Any], connection: sa.Connection) -> object:
    """Return some value, as the driver takes it, for a column that needs one."""
    kind = column.type
    if isinstance(kind, (sa.DateTime, sa.TIMESTAMP)):
        return 0 if connection.dialect.name == "sqlite" else NOW
    if isinstance(kind, sa.Boolean):
        return False
    return 0 if isinstance(kind, sa.Integer) else ""
