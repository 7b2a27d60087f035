"""Every email of the corpus is read as its manifest says, and has the effect on a game that it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from server.mail.incoming import bounces, mime, receive, reply
from server.store import engine
from server.store.models import Alert, Game, Person, Turn
from tests.conftest import NOW, Table
from tests.support.databases import kept, restore
from tests.support.folders import CORPUS
from tests.support.mails import text_of
from tests.support.sample_mails import (
    ALICE,
    SampleMail,
    count_answers,
    mailbox,
    moves_of,
    remembered,
    sample_mails,
    send_and_return,
    with_replies,
)
from tests.support.talk import said

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
each = pytest.mark.parametrize("letter", sample_mails(), ids=lambda letter: letter.name)
SHARES = 6
"""Parts of the corpus that can be tested in parallel."""
REPLY = "play+abcdefghijklmnopqrstuvwxyz@byzanz.test"
BOUNCE = "bounce+1-abcdefghij@byzanz.test"


def test_the_corpus_is_whole() -> None:
    assert {path.stem for path in CORPUS.glob("*.eml")} == {letter.name for letter in sample_mails()}
    assert len(sample_mails()) >= 60


@each
def test_it_is_read_as_it_was_meant(letter: SampleMail) -> None:
    raw = letter.raw(REPLY, BOUNCE)
    if letter.report is not None:
        assert bounces.parse_report(mime.parse(raw), letter.sender, ALICE).kind == letter.report
        return
    letter_read = reply.parse_reply(mime.parse(raw), letter.sender, talk=letter.to == "talk")
    automatic = letter_read.ignored is not None or (letter_read.doubt is not None and letter.kind == "auto")
    assert automatic == (letter.kind == "auto" and letter.name != "ourselves")
    if letter.lines is not None:
        assert list(letter_read.lines) == letter.lines
    if letter.count is not None:
        assert len(letter_read.lines) == letter.count


@one_database
@pytest.mark.parametrize("share", range(SHARES))
def test_it_does_what_it_may_and_once(share: int, app: Flask, table: Callable[..., Table]) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    fresh = kept(app)
    for letter in sample_mails()[share::SHARES]:
        restore(fresh)
        box.send(letter)
        check_game(letter, game)
        assert box.send(letter) == ("not about one of our emails" if letter.nobody else "seen before"), (
            letter.name
        )
        assert len(remembered()) == (not letter.nobody), letter.name
        assert moves_of(game.id, 0) == letter.moves, letter.name
        assert len(said(game)) == bool(letter.words), letter.name
        check_answer(letter)


def check_game(letter: SampleMail, game: Table) -> None:
    """Check that the email had its expected effect and no other."""
    assert moves_of(game.id, 0) == letter.moves, letter.name
    assert [row.kind for row in remembered()] == ([] if letter.nobody else [letter.kind]), letter.name
    assert [text for _seat, text in said(game)] == [letter.words] * bool(letter.words), letter.name
    assert count_answers(game.id) == (letter.answered and letter.kind in ("reply", "refused")), letter.name
    with engine.reading() as session:
        alice = session.get_one(Person, game.people[0])
        turn = session.get(Turn, (game.id, 0))
        lost = letter.report in ("failed", "complaint") and not letter.nobody
        passing = letter.report in ("expired", "ours")
        stopped = letter.report == "failed" or passing
        assert (alice.suppressed is not None) == lost, letter.name
        assert (alice.retry_at is not None) == passing, letter.name
        assert (turn is not None and turn.refused is not None) == stopped, letter.name
        raised = session.scalars(select(Alert).where(Alert.cleared_at.is_(None))).all()
        assert bool(raised) == ((lost or stopped) and not letter.quiet), letter.name
        assert ("mail-blocked" in {alert.key for alert in raised}) == (letter.report == "ours"), letter.name
        if not letter.moves:
            assert session.get_one(Game, game.id).head == 1, letter.name


def check_answer(letter: SampleMail) -> None:
    """Check that the answer, if any, says what was played and can be replied to."""
    for message in send_and_return():
        if message["Auto-Submitted"] != "auto-replied":
            continue
        assert message["To"] == "Alice <alice@example.org>", letter.name
        assert "Bcc" not in message, letter.name
        assert message["Reply-To"].startswith("talk+" if letter.to == "talk" else "play+"), letter.name
        assert "/t/" in text_of(message), letter.name
        assert ("played (entry 2)." in text_of(message)) == bool(letter.moves), letter.name


@one_database
def test_a_mail_to_nobody_here_is_refused_and_changes_nothing(
    app: Flask, table: Callable[..., Table], client: FlaskClient
) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    raw = next(letter for letter in sample_mails() if letter.name == "no-quote-en").raw(box.reply, box.bounce)
    local, _at, domain = box.reply.partition("@")
    forged = box.bounce.replace("bounce+", "bounce+1")
    for address in (
        f"play+{'a' * 26}@{domain}",
        f"play+{game.tokens[0]}@{domain}",  # the token of a link is none of a mail address
        f"{local}@elsewhere.example",
        f"{local}x@{domain}",
        forged,
        f"postmaster@{domain}",
        "",
        "\r\nRCPT TO:<x@y>",
    ):
        with pytest.raises(receive.NoSuchAddress):
            receive.receive(raw, "alice@example.org", address, NOW)
    assert client.get(f"/t/{local.removeprefix('play+')}").status_code == 404
    assert (moves_of(game.id, 0), remembered()) == ([], [])
