"""How many invitations, reminders and unconfirmed games one organiser may cause within a day."""

from __future__ import annotations

from datetime import timedelta

import pytest

from server.errors import TooMany
from server.lobby import create, notify
from server.store import engine, outbox
from server.store.models import Game
from tests.conftest import NOW
from tests.support.lobby import ALICE, BOB, CHARLIE, DAPHNE, invited, mails, person, wish

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


def record_sent(game_id: str, kind: str, count: int, age: timedelta) -> None:
    """Queue emails of a kind about a game, as if some time ago."""
    reader = person(DAPHNE, NOW)
    with engine.transaction() as session:
        for number in range(count):
            key = f"{game_id}:{kind}:{age}:{number}"
            outbox.enqueue(session, key=key, kind=kind, person_id=reader, now=NOW - age, game_id=game_id)


@pytest.mark.parametrize(
    ("kind", "age", "of", "counts"),
    [
        ("invite", SECOND, ALICE, True),
        ("nudge", DAY - SECOND, ALICE, True),
        ("invite", DAY, ALICE, False),
        ("turn", SECOND, ALICE, False),
        ("invite", SECOND, BOB, False),
    ],
)
@pytest.mark.usefixtures("app")
def test_invitations_and_reminders_of_a_day_count_for_their_organiser(
    kind: str, age: timedelta, of: object, counts: bool
) -> None:
    own = create.create_game(wish(), NOW)
    others = create.create_game(wish(organiser=BOB, players=(ALICE, CHARLIE)), NOW)
    record_sent(own if of is ALICE else others, kind, 3, age)
    alice = person(ALICE, NOW)
    left = notify.INVITATIONS_A_DAY - (3 if counts else 0)
    with engine.reading() as session:
        notify.check_invitations(session, alice, left, NOW)
        with pytest.raises(TooMany, match=f"send 20 invitations a day; you have {left} left today"):
            notify.check_invitations(session, alice, left + 1, NOW)


@pytest.mark.usefixtures("app")
def test_with_more_than_all_sent_none_is_left() -> None:
    record_sent(create.create_game(wish(), NOW), "invite", notify.INVITATIONS_A_DAY + 2, SECOND)
    alice = person(ALICE, NOW)
    with engine.reading() as session, pytest.raises(TooMany, match="you have 0 left today"):
        notify.check_invitations(session, alice, 1, NOW)


@pytest.mark.usefixtures("app")
def test_only_ones_own_unconfirmed_games_of_a_day_keep_one_from_another() -> None:
    invited(NOW)
    for number in range(notify.MOST_UNCONFIRMED):
        create.create_game(wish(organiser=BOB, players=(ALICE, CHARLIE)), NOW)
        if number:
            create.create_game(wish(), NOW)
    create.create_game(wish(), NOW - DAY)
    create.create_game(wish(), NOW)
    with pytest.raises(TooMany, match="5 games under this address are waiting"):
        create.create_game(wish(), NOW)
    create.create_game(wish(), NOW + DAY)
    create.create_game(wish(), NOW, person(ALICE, NOW))  # who is signed in is no stranger
    assert len(mails("confirm", ALICE)) == notify.MOST_UNCONFIRMED + 4


@pytest.mark.usefixtures("app")
def test_the_name_on_the_page_is_that_of_its_own_request() -> None:
    first, second = create.create_game(wish(name="One"), NOW), create.create_game(wish(name="Two"), NOW)
    with engine.transaction() as session:
        for mail, name in zip(mails("confirm", ALICE), ("Al", "Alicia"), strict=True):
            session.merge(mail).details = mail.details.replace("Alice", name)
    with engine.reading() as session:
        names = [notify.requested_name(session, session.get_one(Game, each)) for each in (first, second)]
    assert names == ["Al", "Alicia"]
