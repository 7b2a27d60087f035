"""Migrated tables match the models, the log's triggers exist after every migration, and old rows stay readable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flask_babel
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import downgrade, upgrade

from server import config, create_app
from server.store import engine, facts
from server.store.facts import Fact
from server.store.models import Alert, Game, IncomingMail, Mail, Person, StandingOrder, Turn
from tests.conftest import NOW, settings

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


@pytest.mark.parametrize("empty", ["sqlite", "postgresql"], indirect=True)
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
def test_the_migrated_tables_are_those_of_the_models() -> None:
    with engine.db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, engine.Base.metadata) == []


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
