"""Again, with the same people: one game however many press, nobody is exposed, and tables that keep going."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from functools import partial

import pytest
from flask import Flask
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from byzanz.games import rules_of
from server import play
from server.accounts import personal_data
from server.errors import Closed, NotEverybody, TooMany
from server.lobby import invitations, notify, rematch
from server.mail import subscriptions
from server.play.moderation import Newcomer
from server.scheduler import jobs
from server.store import engine, links
from server.store.models import Game, GameSettings, Link, LinkPurpose, Mail, Person, Rematch, Seat
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import change
from tests.support.lobby import (
    any_settings,
    block,
    end,
    ended,
    everything,
    game_of,
    moderator,
    seats_of,
    set_game,
)
from tests.support.mails import send_waiting, text_of
from tests.support.neighbour_game import elsewhere

Begin = Callable[..., Table]
pytestmark = pytest.mark.usefixtures("app")
DAY = timedelta(days=1)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def over(table: Begin) -> Begin:
    """Return a function that starts a game and ends it."""
    return partial(ended, table)


def again(game: Table, seat: int = 0, now: datetime = LATER) -> str:
    """Let the player of a seat press the button; return the id of the next game."""
    return rematch.again(game.id, game.people[seat], now).game_id


def sitting(game_id: str) -> list[tuple[str, str, str | None]]:
    return [(seat.stored_name, seat.status, seat.bot) for seat in seats_of(game_id)]


def invitees(game_id: str, kind: str = "invite") -> list[str]:
    """Return who has been mailed an invitation to a game."""
    with engine.reading() as session:
        query = select(Person.name).join(Mail, Mail.person_id == Person.id)
        return sorted(session.scalars(query.where(Mail.game_id == game_id, Mail.kind == kind)))


def games() -> int:
    with engine.reading() as session:
        return session.scalar(select(func.count(Game.id))) or 0


def token(purpose: str, person_id: int, game_id: str) -> str:
    with engine.transaction() as session:
        return links.token(links.link_for(session, LinkPurpose(purpose), person_id, game_id, NOW))


# ---- the next game ----


def test_the_next_game_is_the_same_with_everybody_one_seat_on(over: Begin) -> None:
    game = over(
        4,
        allowance=7200,
        bank=5,
        days_off="67",
        time_zone="Asia/Tokyo",
        listed=True,
        talk=False,
        options="{}",
    )
    made = game_of(again(game, 1))
    old = game_of(game.id)
    for column in ("slug", "allowance", "bank", "days_off", "time_zone", "listed", "talk", "options"):
        assert getattr(made, column) == getattr(old, column), column
    assert (made.status, made.organiser_id) == ("inviting", game.people[1])
    assert (made.rules, made.name) == (rules_of("byzanz").version, "The Golden Horn (2)")
    assert made.seed != old.seed
    assert sitting(made.id) == [
        ("Daphne", "invited", None),
        ("Alice", "invited", None),
        ("Bob", "seated", None),
        ("Charlie", "invited", None),
    ]
    assert invitees(made.id) == ["Alice", "Charlie", "Daphne"]
    assert not invitees(made.id, "seated")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=any_settings())
@example(chosen=GameSettings("byzanz", 86400, listed=False, asks=90))
def test_the_next_game_has_the_same_settings(
    over: Begin, monkeypatch: pytest.MonkeyPatch, chosen: GameSettings
) -> None:
    monkeypatch.setattr(notify, "INVITATIONS_A_DAY", 1000)
    game = over(game_id=f"g{games()}")
    set_game(game.id, **asdict(chosen))
    made = GameSettings.of(game_of(again(game)))
    for field in fields(GameSettings):
        assert getattr(made, field.name) == getattr(chosen, field.name), field.name


def test_whoever_does_not_play_organises_nothing(over: Begin) -> None:
    game = over()
    with pytest.raises(Closed):
        rematch.again(game.id, moderator(), LATER)


def test_in_empire_the_roles_change(over: Begin) -> None:
    game = over(2, slug="empire")
    made = again(game)
    assert [name for name, _, _ in sitting(made)] == ["Bob", "Alice"]
    invitations.accept(token("invite", game.people[1], made), "Bob", "bob cuts", LATER)
    assert game_of(made).status == "running"
    end(Table(made, [], []), LATER)
    third = again(Table(made, game.people, []), 1)
    assert [name for name, _, _ in sitting(third)] == ["Alice", "Bob"]
    assert game_of(third).name == "The Golden Horn (3)"


@given(st.lists(st.sampled_from(["me", "you", "bot"]), min_size=2, max_size=6))
def test_the_order_of_the_seats_is_found_again(kinds: list[str]) -> None:
    table = [
        Seat(game_id="g", seat=n, stored_name=f"{n}", status="seated", person_id=None if kind == "bot" else n)
        for n, kind in enumerate(kinds)
    ]
    for seat, kind in zip(table, kinds, strict=True):
        seat.bot = "greedy" if kind == "bot" else None
    host = next((seat for seat, kind in zip(table, kinds, strict=True) if kind == "me"), None)
    people = [seat for seat in table if not seat.bot and seat is not host]
    made = [*([host] if host else []), *people, *(seat for seat in table if seat.bot)]
    order = rematch._order(table, host.seat if host else -1)
    assert [made[number] for number in order] == table


def test_bots_keep_their_strength_and_their_place(over: Begin) -> None:
    game = over(4, ("search", "random"))
    made = again(game)
    assert [(name, bot) for name, _, bot in sitting(made)] == [
        ("Leontios", "random"),
        ("Alice", None),
        ("Bob", None),
        ("Psellos", "search"),
    ]


def test_among_bots_alone_the_next_game_begins_at_once(over: Begin) -> None:
    game = over(3, ("greedy", "greedy"))
    found = rematch.again(game.id, game.people[0], LATER)
    assert game_of(found.game_id).status == "running"
    assert found.link is not None
    assert found.link.purpose == "seat"
    assert game_of(found.game_id).started_at == LATER
    assert seats_of(found.game_id)[1].uncut


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Horn", "Horn (2)"),
        ("Horn (2)", "Horn (3)"),
        ("Horn (9)", "Horn (10)"),
        ("Horn (1)", "Horn (1) (2)"),
        ("Horn (1453)", "Horn (1453) (2)"),
        ("(2)", "(2) (2)"),
        ("x" * 60, "x" * 56 + " (2)"),
        ("x" * 55 + " (99)", "x" * 54 + " (100)"),
    ],
)
def test_the_name_counts_on(name: str, expected: str) -> None:
    assert rematch.next_name(name) == expected


@given(st.text(min_size=1, max_size=60), st.integers(40, 60))
def test_no_name_is_too_long(name: str, most: int) -> None:
    assert len(rematch.next_name(name, most)) <= most


# ---- one game ----


@pytest.mark.concurrency
def test_sixteen_who_press_at_once_make_one_game(app: Flask, over: Begin) -> None:
    game = over(4)
    before = games()
    pressing = [partial(rematch.again, game.id, game.people[n % 4], LATER) for n in range(16)]
    found = at_once(app, *pressing)
    assert all(isinstance(each, rematch.NextGame) for each in found), found
    made = {each.game_id for each in found if isinstance(each, rematch.NextGame)}
    assert len(made) == 1
    assert sum(each.created for each in found if isinstance(each, rematch.NextGame)) == 1
    assert games() == before + 1
    assert len(invitees(made.pop())) == 3


def test_a_second_presser_is_led_to_their_own_invitation(over: Begin) -> None:
    game = over()
    first = rematch.again(game.id, game.people[0], LATER)
    second = rematch.again(game.id, game.people[1], LATER)
    assert (second.game_id, second.created) == (first.game_id, False)
    assert first.link is not None
    assert second.link is not None
    assert (first.link.purpose, second.link.purpose) == ("organise", "invite")
    assert second.link.person_id == game.people[1]
    invitations.accept(links.token(second.link), "Bob", "bob cuts", LATER)
    with engine.reading() as session:
        assert session.query(Link).filter_by(game_id=first.game_id, purpose="invite").count() == 1


def test_after_a_moderator_revoked_a_link_only_email_leads_to_the_seat(over: Begin) -> None:
    game = over(3, ("greedy", "greedy"))
    made = again(game)
    assert rematch.again(game.id, game.people[0], LATER).link is not None
    play.moderate(made, "!link 1", reason="read by others", person_id=moderator(), now=LATER)
    assert rematch.again(game.id, game.people[0], LATER).link is None


def test_once_it_is_cancelled_the_next_presser_makes_another(over: Begin) -> None:
    game = over()
    first = again(game)
    invitations.cancel(token("organise", game.people[0], first), LATER)
    second = rematch.again(game.id, game.people[1], LATER)
    assert second.created
    assert second.game_id != first
    assert game_of(second.game_id).organiser_id == game.people[1]


@pytest.mark.parametrize("values", [{"status": "running"}, {"trial": True}])
def test_there_is_none_before_the_end_nor_after_a_visitors_game(
    over: Begin, values: dict[str, object]
) -> None:
    game = over()
    change(Game, game.id, **values)
    before = everything()
    with pytest.raises(Closed):
        again(game)
    assert everything() == before


# ---- who is asked ----


@pytest.mark.changes_busy_table
@pytest.mark.parametrize("why", ["left", "erased", "refuses", "blocked"])
def test_all_who_cannot_be_asked_are_treated_alike(over: Begin, why: str) -> None:
    game = over(4)
    alice, bob = game.people[:2]
    match why:
        case "left":
            change(Seat, (game.id, 1), left=True)
        case "erased":
            personal_data.erase(bob, NOW)
        case "refuses":
            subscriptions.refuse_invitations(bob, True)
        case "blocked":
            block(alice, bob)
    before = everything()
    with pytest.raises(NotEverybody) as refused:
        again(game)
    assert str(refused.value) == "Not everyone can be invited again. Create a new game with the others."
    assert everything() == before
    with engine.reading() as session:
        seats = session.scalars(select(Seat).where(Seat.game_id == game.id).order_by(Seat.seat)).all()
        assert [seat.seat for seat in rematch.invitable(session, seats, alice)] == [0, 2, 3]


def test_whoever_blocks_the_presser_is_missing_for_nobody_and_never_emailed(over: Begin) -> None:
    """Another player can press as well, and would find everybody there: a refusal would tell of the block."""
    game = over(3)
    block(game.people[1], game.people[0])
    made = again(game)
    assert invitees(made) == ["Bob", "Charlie"]
    readers = {str(mail["To"]) for mail in send_waiting(LATER) if "Again?" in text_of(mail)}
    assert readers == {"Charlie <charlie@example.org>"}


def test_a_block_between_two_others_is_no_obstacle(over: Begin) -> None:
    game = over(3)
    block(game.people[1], game.people[2])
    assert invitees(again(game)) == ["Bob", "Charlie"]


def test_whoever_has_left_cannot_press(over: Begin) -> None:
    game = over()
    change(Seat, (game.id, 0), left=True)
    with pytest.raises(Closed, match="left"):
        again(game)


def test_the_presser_may_want_no_invitations(over: Begin) -> None:
    game = over()
    subscriptions.refuse_invitations(game.people[0], True)
    assert invitees(again(game)) == ["Bob", "Charlie"]


def test_those_who_held_the_seats_at_the_end_are_asked(table: Begin) -> None:
    game = table(3)
    end_by = Newcomer("Zoe", "zoe@example.org")
    play.moderate(game.id, "!replace 1", reason="ill", person_id=moderator(), now=NOW, newcomer=end_by)
    end(game)
    assert invitees(again(game)) == ["Charlie", "Zoe"]


def test_the_daily_limit_of_invitations_holds(over: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    game = over(4)
    monkeypatch.setattr(notify, "INVITATIONS_A_DAY", 2)
    before = everything()
    with pytest.raises(TooMany):
        again(game)
    assert everything() == before
    monkeypatch.setattr(notify, "INVITATIONS_A_DAY", 3)
    again(game)


# ---- tables that keep going ----


def following(game: Table) -> str | None:
    with engine.reading() as session:
        found = rematch.next_game(session, game.id)
        return found.id if found else None


def test_the_next_game_is_offered_once_a_day_after_the_end(over: Begin) -> None:
    game = over(keep_going=True)
    assert jobs.tick_rematches(NOW + DAY - timedelta(seconds=1)) == 0
    assert jobs.tick_rematches(NOW + DAY) == 1
    made = following(game)
    assert made is not None
    assert (game_of(made).organiser_id, game_of(made).keep_going) == (game.people[0], True)
    assert invitees(made) == ["Alice", "Bob", "Charlie"]
    assert [status for _, status, _ in sitting(made)] == ["invited"] * 3
    before = everything()
    assert jobs.tick_rematches(NOW + 2 * DAY) == 0
    assert everything() == before


def test_nothing_is_offered_where_nobody_chose_it(over: Begin) -> None:
    game = over()
    assert jobs.tick_rematches(NOW + 9 * DAY) == 0
    assert following(game) is None


def test_a_game_that_somebody_made_is_not_offered_again(over: Begin) -> None:
    game = over(keep_going=True)
    made = again(game, 1)
    assert jobs.tick_rematches(NOW + DAY) == 0
    invitations.cancel(token("organise", game.people[1], made), NOW + DAY)
    assert jobs.tick_rematches(NOW + 2 * DAY) == 0
    assert following(game) is None


@pytest.mark.concurrency
def test_two_schedulers_offer_one_game(app: Flask, over: Begin) -> None:
    game = over(keep_going=True)
    before = games()
    ticks = [partial(rematch.offer, game.id, NOW + DAY) for _ in range(4)]
    presses = [partial(rematch.again, game.id, each, NOW + DAY) for each in game.people]
    at_once(app, *ticks, *presses)
    assert games() == before + 1


@pytest.mark.parametrize("why", ["left", "blocked", "no organiser", "the organiser wants no invitations"])
def test_without_everybody_there_is_no_offer(over: Begin, why: str) -> None:
    game = over(keep_going=True)
    match why:
        case "left":
            change(Seat, (game.id, 2), left=True)
        case "blocked":
            block(game.people[0], game.people[1])
        case "no organiser":
            change(Game, game.id, organiser_id=None)
        case _:
            subscriptions.refuse_invitations(game.people[0], True)
    assert jobs.tick_rematches(NOW + DAY) == 0
    assert following(game) is None
    assert not game_of(game.id).keep_going


def test_an_organiser_who_does_not_play_still_organises(over: Begin) -> None:
    game = over(keep_going=True)
    change(Game, game.id, organiser_id=moderator())
    assert jobs.tick_rematches(NOW + DAY) == 1
    made = following(game) or ""
    assert game_of(made).organiser_id == moderator()
    assert [name for name, _, _ in sitting(made)] == ["Charlie", "Alice", "Bob"]


def test_an_offer_beyond_the_limit_waits_until_the_next_day(
    over: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = over(keep_going=True)
    with monkeypatch.context() as patch:
        patch.setattr(notify, "INVITATIONS_A_DAY", 0)
        assert jobs.tick_rematches(NOW + DAY) == 0
    assert following(game) is None
    assert jobs.tick_rematches(NOW + 2 * DAY) == 1


def test_a_fault_in_one_game_does_not_stop_the_others(over: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = over(3, game_id="g1", keep_going=True), over(3, game_id="g2", keep_going=True)
    make = rematch._make

    def fails(session: object, game: Game, *more: object, **others: bool) -> Game:
        if game.id == "g1":
            raise RuntimeError
        return make(session, game, *more, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(rematch, "_make", fails)
    assert jobs.tick_rematches(NOW + DAY) == 1
    assert following(first) is None
    assert following(second)


@pytest.mark.parametrize("accepts_first", [False, True])
def test_whoever_declines_ends_it_and_the_organiser_is_told_once(over: Begin, accepts_first: bool) -> None:
    game = over(keep_going=True)
    jobs.tick_rematches(NOW + DAY)
    made = following(game) or ""
    invite = token("invite", game.people[1], made)
    if accepts_first:
        invitations.accept(invite, "Bob", "bob cuts", NOW + DAY)
    invitations.decline(invite, NOW + DAY)
    assert not game_of(made).keep_going
    with engine.reading() as session:
        told = session.scalars(select(Mail).where(Mail.game_id == made, Mail.kind == "answered")).all()
    assert [mail.person_id for mail in told] == [game.people[0]] * (1 + accepts_first)
    assert ['"ends": true' in mail.details for mail in told] == [False] * accepts_first + [True]
    invitations.decline(token("invite", game.people[2], made), NOW + DAY)
    with engine.reading() as session:
        last = session.scalars(select(Mail).where(Mail.game_id == made).order_by(Mail.id.desc())).first()
    assert last is not None
    assert "ends" not in last.details


def test_in_the_first_game_of_a_table_others_can_be_asked_instead() -> None:
    with engine.transaction() as session:
        alice = Person(email="a@example.org", name="A", created_at=NOW)
        session.add(alice)
        session.flush()
        number = alice.id
    with engine.reading() as session:
        game = Game(
            id="first", slug="byzanz", rules=1, name="x", organiser_id=number, status="inviting", allowance=1,
            seed="", commitment="", created_at=NOW, keep_going=True,
        )  # fmt: skip
        assert not rematch.stop_if_declined(session, game)
        assert game.keep_going


def test_the_organiser_chooses_until_the_next_game_is_due(over: Begin) -> None:
    game = over()
    host = token("organise", game.people[0], game.id)
    invitations.set_keep_going(host, True, NOW)
    assert game_of(game.id).keep_going
    invitations.set_keep_going(host, False, NOW + DAY - timedelta(seconds=1))
    assert not game_of(game.id).keep_going
    with pytest.raises(Closed, match="too late"):
        invitations.set_keep_going(host, True, NOW + DAY)
    again(game)
    with pytest.raises(Closed, match="too late"):
        invitations.set_keep_going(host, True, NOW)


def test_a_cancelled_game_does_not_keep_going(over: Begin) -> None:
    game = over()
    made = again(game)
    host = token("organise", game.people[0], made)
    invitations.set_keep_going(host, True, LATER)
    invitations.cancel(host, LATER)
    with pytest.raises(Closed, match="called off"):
        invitations.set_keep_going(host, True, LATER)
    with engine.reading() as session:
        assert session.get(Rematch, game.id) is None
        assert session.scalar(select(func.count(Mail.id)).where(Mail.game_id == made, elsewhere(Mail)))
