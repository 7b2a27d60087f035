"""The order of the seats before the start: shuffled before anybody cuts, and closed up when one is removed."""

from __future__ import annotations

import secrets
from datetime import datetime

import pytest
from sqlalchemy import select

from byzanz import record
from server.errors import Closed, InvalidInput
from server.lobby import create, invitations
from server.play import history
from server.store import engine
from server.store.models import Seat
from server.validation import Guest
from tests.server.lobby.test_fixed_before import about, finished, order
from tests.support.games import loaded
from tests.support.lobby import (
    ALICE,
    BOB,
    CHARLIE,
    DAPHNE,
    everything,
    game_of,
    invited,
    mails,
    seats_of,
    token,
    wish,
)
from tests.support.mails import send_waiting
from tests.support.neighbour_game import elsewhere

pytestmark = pytest.mark.usefixtures("app")


class Reversed:
    """A random source that always turns the order around, and sees which people have cut the deck by then."""

    cuts: list[str]

    def shuffle(self, items: list[int]) -> None:
        """Turn the list around."""
        with engine.reading() as session:
            made = select(Seat.cut).where(Seat.bot.is_(None), Seat.cut != "", elsewhere(Seat))
            Reversed.cuts = [*session.scalars(made)]
        items.reverse()


def test_seats_are_shuffled_before_anybody_cuts_and_the_record_verifies(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Reversed)
    game_id = create.create_game(wish(bots=("random",)), now)
    create.confirm_game(token("organise", ALICE, game_id, now), now, "alice cuts", shuffle=True)
    assert Reversed.cuts == []
    assert [(seat.seat, seat.stored_name) for seat in seats_of(game_id)] == [
        (0, "Leontios"),
        (1, "Charlie"),
        (2, "Bob"),
        (3, "Alice"),
    ]
    assert [seat.cut for seat in seats_of(game_id)] == ["Leontios", "", "", "alice cuts"]
    for guest in (BOB, CHARLIE):
        invitations.accept(token("invite", guest, game_id, now), guest.name, f"{guest.name} cuts", now)
    quoted = [about(send_waiting(now), "charlie", "you have taken a seat")]
    assert order(game_id) == (3, 2, 1, 0)
    ended = finished(game_id)
    for each in quoted:
        record.verify(ended, mailed=each)
    assert ended.header.cuts == ("Leontios", "Charlie cuts", "Bob cuts", "alice cuts")


def test_seats_stay_in_the_order_of_the_list_unless_shuffled(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Reversed)
    game_id, _host = invited(now)
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Bob", "Charlie"]


def test_a_shuffle_keeps_everybody(now: datetime) -> None:
    game_id = create.create_game(wish(players=(BOB, CHARLIE, DAPHNE), bots=("random",)), now)
    before = {(seat.stored_name, seat.person_id, seat.bot) for seat in seats_of(game_id)}
    create.confirm_game(token("organise", ALICE, game_id, now), now, shuffle=True)
    after = seats_of(game_id)
    assert {(seat.stored_name, seat.person_id, seat.bot) for seat in after} == before
    assert [seat.seat for seat in after] == [0, 1, 2, 3, 4]
    assert {mail.person_id for mail in mails("invite")} == {
        seat.person_id for seat in after if seat.status == "invited"
    }


def test_a_seat_is_removed_and_the_others_move_up(now: datetime) -> None:
    game_id, host = invited(now, players=(BOB, CHARLIE, DAPHNE))
    for guest in (CHARLIE, DAPHNE):
        invitations.accept(token("invite", guest, game_id, now), guest.name, guest.name, now)
    invitations.decline(token("invite", BOB, game_id, now), now)
    with pytest.raises(Closed):
        invitations.remove(host, 0, now)  # taken
    assert invitations.remove(host, 1, now)
    assert [(seat.seat, seat.stored_name) for seat in seats_of(game_id)] == [
        (0, "Alice"),
        (1, "Charlie"),
        (2, "Daphne"),
    ]
    assert (game_of(game_id).status, order(game_id)) == ("running", (0, 1, 2))
    with engine.reading() as session:
        assert history.header_of(loaded(session, game_id)).cuts == ("alice cuts", "Charlie", "Daphne")


def test_a_seat_that_the_game_needs_is_not_removed(now: datetime) -> None:
    _game_id, host = invited(now)
    before = everything()
    with pytest.raises(InvalidInput):
        invitations.remove(host, 1, now)
    assert everything() == before


def test_somebody_who_has_declined_is_invited_again(now: datetime) -> None:
    game_id, host = invited(now)
    with pytest.raises(Closed):
        invitations.invite_again(host, 1, now)  # still asked
    invitations.decline(token("invite", BOB, game_id, now), now)
    invitations.invite_again(host, 1, now)
    assert [seat.status for seat in seats_of(game_id)] == ["seated", "invited", "invited"]
    assert len(mails("invite", BOB)) == 2
    with pytest.raises(Closed):
        invitations.invite_again(host, 1, now)


def test_nobody_at_a_table_looks_like_somebody_else() -> None:
    now = engine.utc_now()
    game_id, _host = invited(now)
    link = token("invite", BOB, game_id, now)
    for twin in ("Аlice", "ALICE", "AIice", "A1ice", "Ａlice"):
        with pytest.raises(InvalidInput, match="already called"):
            invitations.accept(link, twin, "bob cuts", now)
    invitations.accept(link, "Алиса", "bob cuts", now)
    assert "Алиса" in {seat.stored_name for seat in seats_of(game_id)}


def test_guests_whose_names_look_alike_get_numbers() -> None:
    game_id, _host = invited(
        engine.utc_now(), players=(Guest("Аlice", BOB.address), Guest("alice", CHARLIE.address))
    )
    assert [seat.stored_name for seat in seats_of(game_id)] == ["Alice", "Аlice 2", "alice 3"]
