"""What emails and pages quote of the log lets anyone notice that it was rewritten, also after the last decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient

from byzanz import record
from byzanz.record import InvalidRecord, Mailed, mailed_in
from byzanz.rules import ALL
from server.play import history
from server.scheduler import jobs
from server.store import engine
from server.store.models import Game, Person, Turn
from tests.conftest import NOW, Table
from tests.support.game_data import SEATS
from tests.support.games import change, loaded, play_on, row, submit
from tests.support.mails import awaited, bold_move, html_of, one_database, send_waiting, text_of, words_of
from tests.support.pages import look
from tests.support.sample_mails import mailbox, with_replies

Begin = Callable[..., Table]
SEVEN = NOW.replace(hour=7) + timedelta(days=1)


def head_of(game_id: str) -> tuple[int, str]:
    game: Game = row(Game, game_id)
    return game.head, game.head_hash


def in_html(html: str) -> Mailed:
    """Return what a reader copies from an HTML email, in which a line break separates words."""
    return mailed_in(words_of(html.replace("<br>", " <br>")))


def record_of(game_id: str) -> record.Record:
    with engine.reading() as session:
        return history.record_for(loaded(session, game_id), ALL)


@one_database
@pytest.mark.parametrize("slug", SEATS)
def test_the_emails_about_the_end_quote_the_last_hash(table: Begin, client: FlaskClient, slug: str) -> None:
    game = table(SEATS[slug], slug=slug)
    send_waiting(NOW)
    play_on(game.id, 1000)
    final = head_of(game.id)
    sent = [message for message in send_waiting(NOW) if "Everything is now revealed" in text_of(message)]
    assert len(sent) == len(game.people)
    played = record_of(game.id)
    for message in sent:
        quoted = mailed_in(text_of(message))
        assert (quoted.heads, quoted.commitments) == ((final,), (played.header.commitment,))
        assert in_html(html_of(message)) == quoted
        record.verify(played, mailed=quoted)
        last = played.entries[-1]
        forged = replace(
            last, hash=record.expected_hash(played.entries[-2].hash, replace(last, salt="0" * 32))
        )
        rewritten = replace(
            played, entries=(*played.entries[:-1], replace(forged, salt="0" * 32)), head=forged.hash
        )
        record.verify(rewritten)
        with pytest.raises(InvalidRecord):
            record.verify(rewritten, mailed=quoted)
    page = look(client, f"/g/{game.id}")
    assert f"Head of the log {final[0]}:{final[1]}" in " ".join(page.text.split())


@one_database
def test_turn_emails_and_reminders_quote_head_and_commitment(table: Begin) -> None:
    game = table(3)
    commitment = row(Game, game.id).commitment
    (first,) = send_waiting(NOW)
    turn: Turn = row(Turn, (game.id, 0))
    assert turn.remind_at is not None
    jobs.tick_reminders(turn.remind_at + timedelta(minutes=1))
    (reminder,) = send_waiting(turn.remind_at + timedelta(minutes=1))
    assert "the others are waiting for you" in text_of(reminder)
    for message in (first, reminder):
        assert mailed_in(text_of(message)) == Mailed((head_of(game.id),), (commitment,))
        assert in_html(html_of(message)) == mailed_in(text_of(message))


@one_database
def test_digests_quote_the_heads_of_open_games_and_of_those_that_have_just_ended(table: Begin) -> None:
    open_game, ended, old = (table(3, game_id=name) for name in ("open", "ended", "old"))
    change(Person, open_game.people[0], cadence="digest")
    for game in (ended, old):
        play_on(game.id, 1000)
    change(Game, old.id, ended_at=NOW - timedelta(days=3))
    send_waiting(NOW)
    jobs.tick_digests(SEVEN, 1.0)
    (message,) = [each for each in send_waiting(SEVEN) if "once a day" in text_of(each)]
    assert "“The Golden Horn” is over." in text_of(message)
    assert set(mailed_in(text_of(message)).heads) == {head_of("open"), head_of("ended")}
    assert in_html(html_of(message)) == mailed_in(text_of(message))


@one_database
def test_receipts_quote_the_head(app: Flask, table: Begin, client: FlaskClient) -> None:
    with_replies(app)
    game = table(3)
    letters = mailbox(NOW)
    letters.write("pass")
    (answer,) = [message for message in send_waiting(NOW) if "Your line was carried out." in text_of(message)]
    assert mailed_in(text_of(answer)) == Mailed((head_of(game.id),), (row(Game, game.id).commitment,))
    seat = awaited(game.id)
    submit(game.id, seat, bold_move(game.id, seat))
    seq, digest = head_of(game.id)
    page = look(client, f"/t/{game.tokens[seat]}?played={seq}")
    assert page.status == 200
    assert f"Head of the log {seq}:{digest}" in " ".join(page.text.split())
