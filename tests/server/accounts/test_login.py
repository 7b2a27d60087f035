"""Requested links: how many an hour each person gets, and what is left to open with a dead one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from server.accounts import login
from server.store import engine, links
from server.store.models import Game, Link, Seat
from tests.conftest import NOW, Table
from tests.support.lobby import ALICE, BOB, invited, mails, person, token

Begin = Callable[..., Table]
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def test_links_to_games_are_mailed_three_times_an_hour_to_each_person(table: Begin) -> None:
    alice, bob, _ = table(3).people
    login.mail_sign_in(ALICE.address, NOW)  # another kind has a limit of its own
    assert len(mails("signin", ALICE)) == 1
    for second in range(5):
        login.mail_games(alice, NOW + second * SECOND)
    assert len(mails("games")) == 3
    login.mail_games(bob, NOW)
    assert len(mails("games", BOB)) == 1
    login.mail_games(alice, NOW + HOUR)
    assert len(mails("games", ALICE)) == 4


def test_links_to_sign_in_are_mailed_three_times_an_hour_to_each_person(table: Begin) -> None:
    table(3)
    for second in range(5):
        login.mail_sign_in(ALICE.address, NOW + second * SECOND)
    assert len(mails("signin")) == 3
    login.mail_sign_in(BOB.address, NOW)
    assert len(mails("signin", BOB)) == 1
    login.mail_sign_in(ALICE.address, NOW + HOUR)
    assert len(mails("signin", ALICE)) == 4


@pytest.mark.usefixtures("app")
def test_a_link_signs_in_once_and_only_within_its_hour() -> None:
    invited(NOW)
    login.mail_sign_in(ALICE.address, NOW)
    with engine.reading() as session:
        (link,) = links.select_rows(session, Link.purpose == "signin")
        text = links.token(link)
    assert login.redeem(text, NOW + HOUR) is None
    assert login.redeem("a" * 26, NOW) is None
    found = login.redeem(text, NOW + HOUR - SECOND)
    assert found is not None
    assert found.email == ALICE.address
    assert login.redeem(text, NOW + HOUR - SECOND) is None


@pytest.mark.empty_database
def test_a_renewed_feed_ends_only_the_old_feed_of_its_person(table: Begin) -> None:
    game = table(3)
    for person_id in game.people:
        login.renew_feed(person_id, NOW)
    login.renew_feed(game.people[0], NOW)
    with engine.reading() as session:
        live = session.query(Link).filter_by(revoked_at=None).all()
        assert sorted(link.person_id for link in live if link.purpose == "feed") == sorted(game.people)
        assert len([link for link in live if link.purpose == "seat"]) == 3


CASES = [
    ("seat", "seated", "running", "seat"),
    ("invite", "seated", "running", "seat"),
    ("invite", "invited", "inviting", "invite"),
    ("invite", "declined", "inviting", "invite"),
    ("invite", "seated", "inviting", "invite"),
    ("seat", "declined", "running", "invite"),
    ("organise", "seated", "running", "organise"),
]


@pytest.mark.parametrize(("purpose", "seat", "game", "opens"), CASES)
@pytest.mark.usefixtures("app")
def test_a_dead_link_is_replaced_by_what_its_owner_may_open_today(
    purpose: str, seat: str, game: str, opens: str
) -> None:
    game_id, _ = invited(NOW)
    dead = token(purpose, ALICE, game_id, NOW)
    alice = person(ALICE, NOW)
    with engine.transaction() as session:
        row = session.get_one(Game, game_id)
        row.status, row.started_at = game, NOW if game == "running" else None
        session.get_one(Seat, (game_id, 0)).status = seat
        links.revoke(session, alice, game_id, NOW)
    login.mail_fresh_link(dead, NOW)
    (mail,) = mails("fresh", ALICE)
    assert (mail.game_id, mail.details) == (game_id, f'{{"purpose": "{opens}"}}')


@pytest.mark.usefixtures("app")
def test_who_holds_nothing_there_any_more_gets_no_link() -> None:
    game_id, _ = invited(NOW)
    invited(NOW)
    dead = [token(purpose, BOB, game_id, NOW) for purpose in ("invite", "seat")]
    organise = token("organise", BOB, game_id, NOW)
    with engine.transaction() as session:
        session.get_one(Seat, (game_id, 1)).person_id = None
    for text in (*dead, organise):
        login.mail_fresh_link(text, NOW)
    assert mails("fresh", BOB) == []
