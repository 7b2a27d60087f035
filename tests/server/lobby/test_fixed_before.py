"""What is fixed before a player cuts the deck is shown and mailed to them, so that nobody can replace it later."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime, timedelta
from email.message import EmailMessage

import pytest
from flask.testing import FlaskClient
from sqlalchemy.orm import Session

from byzanz import chance, record
from byzanz.record import InvalidRecord, Mailed, mailed_in
from byzanz.rules import ALL
from server import play
from server.lobby import create, invitations
from server.play import history
from server.store import engine
from server.store.models import Game, Seat
from tests.support.games import loaded, play_on
from tests.support.lobby import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    game_of,
    invited,
    known,
    mails,
    person,
    seats_of,
    token,
    wish,
)
from tests.support.mails import html_of, send_waiting, text_of, words_of
from tests.support.pages import look, sign_in

pytestmark = pytest.mark.usefixtures("app")


def about(sent: list[EmailMessage], guest: str, phrase: str) -> Mailed:
    """Return what the only email to a guest with this phrase quotes, the same in text and HTML."""
    (message,) = [each for each in sent if guest in str(each["To"]) and phrase in text_of(each)]
    shown = words_of(html_of(message).replace("<br>", " <br>"))
    assert mailed_in(shown) == mailed_in(text_of(message))
    return mailed_in(text_of(message))


def accept(game_id: str, *guests: str, now: datetime) -> None:
    for guest in guests:
        of = {"Bob": BOB, "Charlie": CHARLIE}[guest]
        invitations.accept(token("invite", of, game_id, now), guest, f"{guest} cuts", now)


def order(game_id: str) -> tuple[int, ...] | None:
    with engine.reading() as session:
        return history.header_of(loaded(session, game_id)).cut_order


def finished(game_id: str) -> record.Record:
    play_on(game_id, 1000)
    with engine.reading() as session:
        return history.record_for(loaded(session, game_id), ALL)


def test_each_player_gets_what_was_fixed_before_their_cut(now: datetime) -> None:
    game_id, _host = invited(now)
    game = game_of(game_id)
    alice, bob, charlie = (
        chance.fingerprint(game_id, f"{name} cuts") for name in ("alice", "Bob", "Charlie")
    )
    seated, invites = "you have taken a seat", "See the invitation"
    sent = send_waiting(now)
    assert about(sent, "alice", seated) == Mailed((), (game.commitment,), (alice,))
    assert about(sent, "bob", invites) == Mailed((), (game.commitment,), (alice,))
    accept(game_id, "Charlie", now=now)
    assert about(send_waiting(now), "charlie", seated) == Mailed((), (game.commitment,), (charlie, alice))
    later = now + timedelta(days=3)
    assert invitations.send_invitation_reminders(later) == 1
    assert about(send_waiting(later), "bob", invites) == Mailed((), (game.commitment,), (alice, charlie))
    accept(game_id, "Bob", now=later)
    sent = send_waiting(later)
    assert about(sent, "bob", seated) == Mailed((), (game.commitment,), (bob, alice, charlie))
    assert about(sent, "alice", "Make your move").commitments == (game.commitment,)
    assert order(game_id) == (0, 2, 1)


def test_the_mail_is_queued_with_the_seat_or_not_at_all(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    game_id, _host = invited(now)
    monkeypatch.setattr("server.lobby.notify.begin_if_full", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        accept(game_id, "Bob", now=now)
    assert (seats_of(game_id)[1].status, mails("seated", BOB), game_of(game_id).cuts_made) == (
        "invited",
        [],
        1,
    )


def test_a_free_seat_taken_without_an_invitation_is_confirmed_too(now: datetime) -> None:
    game_id = create.create_game(wish(players=(BOB,), free=1, listed=True), now)
    create.confirm_game(token("organise", ALICE, game_id, now), now, cut="alice cuts")
    invitations.take_free_seat(game_id, known(DAPHNE, now), "Daphne", "mine", now)
    own, before = (chance.fingerprint(game_id, cut) for cut in ("mine", "alice cuts"))
    quoted = about(send_waiting(now), "daphne", "you have taken a seat in “The Golden Horn”")
    assert quoted == Mailed((), (game_of(game_id).commitment,), (own, before))


def test_pages_show_what_is_fixed_before_a_seat_is_taken(client: FlaskClient, now: datetime) -> None:
    game_id = create.create_game(wish(players=(BOB,), bots=("random",), free=1, listed=True), now)
    create.confirm_game(token("organise", ALICE, game_id, now), now, cut="alice cuts")
    fixed = [chance.fingerprint(game_id, cut) for cut in ("alice cuts", "Leontios")]
    pages = [look(client, f"/i/{token('invite', BOB, game_id, now)}"), look(client, f"/join/{game_id}")]
    known(DAPHNE, now)
    sign_in(client, DAPHNE.address)
    for page in (*pages, look(client, f"/join/{game_id}")):
        assert game_of(game_id).commitment in page.text
        assert [each for each in fixed if each in page.text] == fixed
        assert "Proven: the cards follow from the seed and the cuts" in page.text
        assert "Not proven: someone who knows the seed could still steer the deal" in page.text


def reseeded(session: Session, game_id: str) -> None:
    """Draw another seed, as an operator could who knows all cuts, and overwrite the commitment as well."""
    game = session.get_one(Game, game_id)
    game.seed = bytes(32).hex()
    game.commitment = chance.commitment(game_id, bytes(32))


def test_another_seed_after_the_last_cut_contradicts_every_players_mail(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    game_id, _host = invited(now)
    accept(game_id, "Bob", now=now)
    begin = play.begin

    def dishonest(session: Session, game_id: str, now: datetime) -> None:
        reseeded(session, game_id)
        begin(session, game_id, now)

    monkeypatch.setattr(play, "begin", dishonest)
    sent = send_waiting(now)
    quoted = [about(sent, "charlie", "See the invitation")]
    accept(game_id, "Charlie", now=now)
    sent += send_waiting(now)
    quoted += [about(sent, name, "you have taken a seat") for name in ("alice", "bob", "charlie")]
    forged = finished(game_id)
    record.verify(forged)
    assert forged.header.seed == bytes(32)
    for each in quoted:
        with pytest.raises(InvalidRecord) as found:
            record.verify(forged, mailed=each)
        assert (found.value.seq, found.value.step) == (0, "commitment")


def test_an_id_that_begins_with_digits_is_no_entry_of_the_log(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = secrets.token_bytes
    chosen = base64.b32decode("556QETNCPSVVAAAA")
    monkeypatch.setattr(
        secrets, "token_bytes", lambda count: chosen if count == len(chosen) else drawn(count)
    )
    game_id, _host = invited(now)
    assert game_id == "556qetncpsvv"
    for guest in ("Bob", "Charlie"):
        accept(game_id, guest, now=now)
    kept = finished(game_id)
    for message in send_waiting(now):
        if "you have taken a seat" in text_of(message):
            assert mailed_in(text_of(message)).heads == ()
            record.verify(kept, mailed=mailed_in(text_of(message)))


def test_who_completes_the_table_reads_that_the_game_has_started(now: datetime) -> None:
    game_id, _host = invited(now)
    sent: list[EmailMessage] = []
    for guest in ("Bob", "Charlie"):
        accept(game_id, guest, now=now)
        sent += send_waiting(now)
    texts = [text_of(each) for each in sent if "you have taken a seat" in text_of(each)]
    assert sum("Once every seat is taken, the cards are dealt." in text for text in texts) == 2
    assert sum("The game has started." in text for text in texts) == 1


def test_the_order_of_the_cuts_is_the_order_in_which_they_were_made(now: datetime) -> None:
    game_id, host = invited(now, players=(BOB, CHARLIE, DAPHNE), bots=("random",))
    for guest in (CHARLIE, BOB):
        invitations.accept(token("invite", guest, game_id, now), guest.name, "", now)
    invitations.decline(token("invite", CHARLIE, game_id, now), now)
    invitations.accept(token("invite", CHARLIE, game_id, now), "Charlie", "again", now)
    assert [seat.cut_number for seat in seats_of(game_id)] == [1, 3, 4, 0, 0]
    invitations.drop(host, 0, now)
    invitations.fill(host, 0, "greedy", now)
    invitations.start(host, now)  # without Daphne
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Theodora", "Bob", "Charlie", "Leontios"]
    assert order(game_id) == (1, 2, 0, 3)


def test_seats_that_were_not_asked_come_last_and_get_no_mail_about_a_cut(now: datetime) -> None:
    game_id = create.quick_game(slug="byzanz", players=[ALICE, BOB], bots=["random"], start=True, now=now)
    assert (order(game_id), mails("seated")) == ((0, 1, 2), [])
    with engine.reading() as session:
        assert history.header_of(loaded(session, game_id)).uncut == (0, 1)


def test_a_substitute_changes_nothing_of_the_header(now: datetime) -> None:
    game_id, _host = invited(now)
    accept(game_id, "Bob", "Charlie", now=now)
    with engine.reading() as session:
        before = history.header_of(loaded(session, game_id))
    daphne = person(DAPHNE, now)
    with engine.transaction() as session:
        session.get_one(Seat, (game_id, 1)).person_id = daphne
    with engine.reading() as session:
        assert history.header_of(loaded(session, game_id)).first_hash == before.first_hash


def test_a_game_that_began_with_the_first_format_keeps_it(now: datetime) -> None:
    game_id, _host = invited(now)
    accept(game_id, "Bob", "Charlie", now=now)
    with engine.transaction() as session:
        game = session.get_one(Game, game_id)
        game.record_format, game.cut_order = 1, "[]"
    assert order(game_id) is None
    with engine.reading() as session:
        header = history.header_of(loaded(session, game_id))
    assert (header.format, header.first_hash) == ("byzanz-record/1", record.GENESIS)
