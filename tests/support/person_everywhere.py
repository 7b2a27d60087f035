"""A person who has left something in every place where people can, to be erased or exported."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select, update

from server import play
from server.accounts import absences, login
from server.community import blocks, profiles, reports, talk
from server.lobby import invitations
from server.mail import deliverability
from server.mail.text import quoted
from server.store import engine, operations, outbox
from server.store.facts import Fact
from server.store.models import Game, IncomingMail, Mail, Person, Seat, Turn
from server.validation import Guest
from tests.conftest import NOW, begun
from tests.support.games import submit
from tests.support.lobby import ALICE, BOB, CHARLIE, DAPHNE, invited, person, token
from tests.support.talk import word_id

PERSON = Guest("Zenobia Quillfeather", "zenobia.quill@palmyra.example")
"""A person whose name and address occur nowhere else."""
TRACES = ("zenobia", "quill", "palmyra")


def traces(text: str) -> list[str]:
    """Return what of Zenobia stands in a text."""
    return [word for word in TRACES if word in text.lower()]


def traces_in_files() -> list[str]:
    """Return what of Zenobia stands in the database file or the files beside it."""
    path = engine.db.engine.url.database
    assert path is not None
    found = []
    for file in Path(path).parent.glob(f"{Path(path).name}*"):
        content = file.read_bytes().lower()
        found += [f"{file.name}: {word}" for word in TRACES if word.encode() in content]
    return found


def create() -> int:
    """Return the id of Zenobia, who has left something in every place where people can.

    She plays in `running`, is over with `over`, organises `hers`, which has not begun, and sits in one of Alice's.
    """
    zeno_id = person(PERSON, NOW)
    for game_id in ("running", "over"):
        game = begun(3, game_id)
        with engine.transaction() as session:
            seat = session.get_one(Seat, (game_id, 1))
            seat.person_id, seat.stored_name = zeno_id, PERSON.name
        submit(game.id, 0, "pass")
        with engine.transaction() as session:
            turn = update(Turn).where(Turn.game_id == game_id, Turn.seat == 1)
            said = Fact("text", {"text": "quill"})
            session.execute(turn.values(refused=said, refused_at=NOW, started_at=NOW))
    with engine.transaction() as session:
        session.get_one(Game, "running").organiser_id = zeno_id
    play.moderate("over", "!abandon", reason="for a test", person_id=person(DAPHNE, NOW), now=NOW)
    invited(NOW, organiser=PERSON, players=(ALICE, BOB), name="hers", message="Zenobia calls")
    invited(NOW, players=(PERSON, BOB), name="of Alice")
    alices = next(game for game in games() if game.name == "of Alice")
    invitations.accept(token("invite", PERSON, alices.id, NOW), "Zenobia Q", "", NOW)
    _talk(zeno_id)
    login.mail_sign_in(PERSON.address, NOW)
    login.renew_feed(zeno_id, NOW)
    with engine.transaction() as session:
        me = session.get_one(Person, zeno_id)
        me.time_zone, me.moderator = "Asia/Damascus", True
    profiles.choose(zeno_id, "Zenobia", "all", NOW)
    profiles.choose(zeno_id, "Quillfeather", "all", NOW)
    blocks.block(zeno_id, person(CHARLIE, NOW), NOW)
    blocks.block(person(BOB, NOW), zeno_id, NOW)
    absences.add_absence(zeno_id, "2026-04-01", "2026-04-03", NOW)
    with engine.transaction() as session:
        me = session.get_one(Person, zeno_id)
        me.suppressed = me.unreachable = Fact("text", {"text": "no user zenobia"})
        said = Fact("text", {"text": "unknown: quill"})
        session.add(IncomingMail(digest="0" * 64, at=NOW, kind="bounce", outcome=said, person_id=zeno_id))
        outbox.enqueue(session, key="f", kind="turn", person_id=zeno_id, now=NOW, game_id="running", seat=1)
        mail = session.scalars(select(Mail).where(Mail.key == "f")).one()
        mail.error = said
        for key in deliverability.alert_keys(zeno_id, ["running"]):
            operations.raise_alert(session, key, said, NOW)
        operations.raise_alert(session, "another", quoted("of somebody else"), NOW)
        details = {"name": PERSON.name, "why": "lost"}
        bob = session.scalars(select(Person.id).where(Person.email == BOB.address)).one()
        outbox.enqueue(
            session, key="v", kind="vacant", person_id=bob, now=NOW, game_id="running", details=details
        )
    return zeno_id


def _talk(zeno_id: int) -> None:
    """Let her talk at two tables, note something, and mute and report Alice, who has muted her."""
    for game_id in ("running", "over"):
        talk.say(game_id, zeno_id, "I knit with a quill", request_id="z", now=NOW)
        talk.write_notes(game_id, zeno_id, "Palmyra holds the wine", NOW)
    alice = person(ALICE, NOW)
    said = talk.say("running", alice, "Hello", request_id="a", now=NOW)
    reports.report("running", zeno_id, word_id("running", said.number), NOW)
    talk.mute(zeno_id, "running", word_id("running", said.number))
    talk.mute(alice, "running", word_id("running", said.number - 1))


def games() -> list[Game]:
    """Return all games."""
    with engine.reading() as session:
        return list(session.scalars(select(Game)).unique())


def named(name: str) -> Game:
    """Return the game of this name."""
    return next(game for game in games() if game.name == name)
