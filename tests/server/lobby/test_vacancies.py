"""Seats that need a player: who may offer one and when, who may take it, and that one of many gets it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from flask import Flask

from byzanz import record
from server import play
from server.errors import Closed, NoSuchLink, NotRunning, Refused, TooMany
from server.lobby import open_tables
from server.play import history, positions
from server.play.moderation import Newcomer
from server.play.powers import Asker
from server.store import engine, links, log
from server.store.models import Block, Game, Link, Mail, Person, Reliability, Seat, Tenure
from server.validation import Guest
from tests.conftest import NOW, Table
from tests.support.at_once import at_once
from tests.support.games import loaded, outsider
from tests.support.lobby import known, person, token

Seating = Callable[..., Table]
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
TAKER = Guest("Zoe", "zoe@example.org")
ALICE = Guest("Alice", "alice@example.org")
pytestmark = pytest.mark.usefixtures("app")


@pytest.fixture
def zoe(app: Flask) -> int:
    """Return Zoe, who plays elsewhere."""
    del app
    return known(TAKER, NOW)


def seat_of(game_id: str, number: int) -> Seat:
    """Return a seat."""
    with engine.reading() as session:
        return session.get_one(Seat, (game_id, number))


def host(game_id: str = "g1") -> str:
    """Return the token of the organiser's page."""
    return token("organise", ALICE, game_id, NOW)


def offered(game_id: str, number: int, now: datetime) -> None:
    """Let a player leave, and offer the seat."""
    play.leave(game_id, number, now=now)
    open_tables.offer_as_organiser(host(game_id), number, now)


def autopilot(game_id: str, number: int, now: datetime) -> None:
    """Put a seat on autopilot."""
    mia = person(Guest("Mia", "mia@example.org"), now)
    play.moderate(game_id, f"!autopilot {number} on", reason="away", person_id=mia, now=now)


# ---- offering ----


def test_a_seat_that_was_left_may_be_offered_at_once(table: Seating) -> None:
    table(3)
    play.leave("g1", 1, now=NOW)
    with engine.reading() as session:
        (away,) = open_tables.vacancies(loaded(session, "g1"), by_player=False)
        assert (away.seat.seat, away.since, away.offered_from) == (1, NOW, NOW)
    open_tables.offer_as_organiser(host(), 1, NOW + HOUR)
    assert seat_of("g1", 1).offered_at == NOW + HOUR
    open_tables.offer_as_organiser(host(), 1, NOW + 2 * HOUR)
    assert seat_of("g1", 1).offered_at == NOW + HOUR, "offered twice is offered once"
    open_tables.offer_as_organiser(host(), 1, NOW + 2 * HOUR, offered=False)
    assert seat_of("g1", 1).offered_at is None


@pytest.mark.parametrize("by", ["organiser", "moderator"])
def test_a_seat_on_autopilot_may_be_offered_after_72_hours(table: Seating, by: str) -> None:
    table(3)
    autopilot("g1", 2, NOW)

    def offer(at: datetime) -> None:
        if by == "organiser":
            open_tables.offer_as_organiser(host(), 2, at)
        else:
            open_tables.offer_as_moderator("g1", 2, Asker(outsider(), "away"), at)

    with pytest.raises(Closed):
        offer(NOW + 72 * HOUR - timedelta(seconds=1))
    offer(NOW + 72 * HOUR)
    assert seat_of("g1", 2).offered_at == NOW + 72 * HOUR


@pytest.mark.parametrize("how", ["left", "autopilot"])
def test_any_player_may_offer_it_after_seven_days(table: Seating, how: str) -> None:
    game = table(3)
    if how == "left":
        play.leave("g1", 1, now=NOW)
    else:
        autopilot("g1", 1, NOW)
    with pytest.raises(Closed):
        open_tables.offer_as_player(game.tokens[2], 1, NOW + 7 * DAY - timedelta(seconds=1))
    open_tables.offer_as_player(game.tokens[2], 1, NOW + 7 * DAY)
    assert seat_of("g1", 1).offered_at == NOW + 7 * DAY


def test_the_time_counts_from_the_last_absence(table: Seating) -> None:
    game = table(3)
    play.leave("g1", 1, now=NOW)
    play.reclaim("g1", 1, now=NOW + 6 * DAY)
    play.leave("g1", 1, now=NOW + 8 * DAY)
    with pytest.raises(Closed):
        open_tables.offer_as_player(game.tokens[2], 1, NOW + 14 * DAY)
    open_tables.offer_as_player(game.tokens[2], 1, NOW + 15 * DAY)


def test_no_seat_of_a_present_player_is_offered(table: Seating) -> None:
    game = table(3)
    for number in (0, 1, 2, 3, 99):
        with pytest.raises(Closed):
            open_tables.offer_as_organiser(host(), number, NOW + 30 * DAY)
        with pytest.raises(Closed):
            open_tables.offer_as_player(game.tokens[0], number, NOW + 30 * DAY)


def test_only_those_at_the_table_offer_its_seats(table: Seating) -> None:
    game = table(3)
    play.leave("g1", 1, now=NOW)
    play.leave("g1", 2, now=NOW)
    for stranger in ("a" * 26, game.tokens[0]):
        with pytest.raises(NoSuchLink):
            open_tables.offer_as_organiser(stranger, 1, NOW + 8 * DAY)
    for stranger in ("a" * 26, host()):
        with pytest.raises(NoSuchLink):
            open_tables.offer_as_player(stranger, 1, NOW + 8 * DAY)


def test_the_offer_ends_when_the_player_returns(table: Seating) -> None:
    table(3)
    offered("g1", 1, NOW)
    play.reclaim("g1", 1, now=NOW + HOUR)
    assert seat_of("g1", 1).offered_at is None


def test_the_offer_ends_with_the_game(table: Seating, zoe: int) -> None:
    table(3)
    offered("g1", 1, NOW)
    mia = person(Guest("Mia", "mia@example.org"), NOW)
    play.moderate("g1", "!abandon", reason="enough", person_id=mia, now=NOW)
    assert seat_of("g1", 1).offered_at is None
    with pytest.raises(Closed):
        open_tables.take("g1", 1, zoe, "Zoe", NOW)
    with pytest.raises(NotRunning):
        open_tables.offer_as_organiser(host(), 1, NOW)


# ---- taking ----


def test_the_taker_holds_the_seat_as_after_a_replace(table: Seating, zoe: int) -> None:
    game = table(3)
    offered("g1", 1, NOW)
    url = open_tables.take("g1", 1, zoe, " Zoe  Z ", NOW + HOUR)
    seat = seat_of("g1", 1)
    assert (seat.person_id, seat.stored_name, seat.autopilot, seat.left) == (zoe, "Zoe Z", False, False)
    assert seat.offered_at is None
    with engine.reading() as session:
        access = links.seat_access(session, url.rsplit("/", 1)[1], NOW + HOUR)
        assert access is not None
        assert access.seat.seat == 1
        assert links.seat_access(session, game.tokens[1], NOW + HOUR) is None, "the former link is dead"
        entry = next(each for each in log.entries(session, "g1") if each.seq == seat.held_since)
        assert (entry.move, entry.by, entry.seat, entry.note) == ("!replace 1", "player", 1, None)
        sent = {mail.kind: mail.person_id for mail in session.query(Mail).filter_by(seq=entry.seq)}
        assert (sent["former"], sent["replaced"]) == (game.people[1], zoe)
        acted = [mail.person_id for mail in session.query(Mail).filter_by(kind="act", seq=entry.seq)]
        assert sorted(acted) == sorted({game.people[0], game.people[2]})


def test_the_record_of_such_a_game_is_valid(table: Seating, zoe: int) -> None:
    table(3)
    offered("g1", 1, NOW)
    open_tables.take("g1", 1, zoe, "Zoe", NOW)
    mia = person(Guest("Mia", "mia@example.org"), NOW)
    play.moderate("g1", "!abandon", reason="enough", person_id=mia, now=NOW)
    with engine.reading() as session:
        text = record.write(history.record_for(loaded(session, "g1"), "public"))
    (found,) = record.read(text)
    assert record.verify(found).wrong is None


@pytest.mark.concurrency
def test_one_of_eight_takers_gets_it(app: Flask, table: Seating) -> None:
    table(3)
    takers = [known(Guest(f"Taker {n}", f"taker{n}@example.org"), NOW) for n in "abcdefgh"]
    offered("g1", 1, NOW)
    deeds = [
        lambda n=n, who=who: open_tables.take("g1", 1, who, f"Taker {'abcdefgh'[n]}", NOW)
        for n, who in enumerate(takers)
    ]
    results = at_once(app, *deeds)
    (got,) = [n for n, result in enumerate(results) if isinstance(result, str)]
    assert [result for n, result in enumerate(results) if n != got] == [Closed] * 7
    assert seat_of("g1", 1).person_id == takers[got]
    with engine.reading() as session:
        moves = [entry.move for entry in log.entries(session, "g1")]
        assert moves.count("!replace 1") == 1
        opened = session.query(Link).filter(Link.game_id == "g1", Link.person_id.in_(takers))
        assert {link.person_id for link in opened} == {takers[got]}


def refused_to(person_id: int, kind: type[Refused] = Closed, number: int = 1, name: str = "Zoe") -> str:
    """Return why a person may not take a seat."""
    with pytest.raises(kind) as refusal:
        open_tables.take("g1", number, person_id, name, NOW + DAY)
    return str(refusal.value)


def test_nobody_who_sat_here_takes_a_seat(table: Seating, zoe: int) -> None:
    game = table(3)
    offered("g1", 1, NOW)
    had = "You have or had a seat at this table, so you cannot take another."
    assert refused_to(game.people[0]) == had
    assert refused_to(game.people[1]) == had
    open_tables.take("g1", 1, zoe, "Zoe", NOW)
    offered("g1", 2, NOW)
    assert refused_to(game.people[1], number=2, name="Bob") == had, "they were replaced, and know the hand"
    assert refused_to(zoe, number=2) == had
    play.leave("g1", 1, now=NOW)
    open_tables.offer_as_organiser(host(), 1, NOW)
    assert refused_to(zoe) == had, "the same seat, either"


def test_nobody_who_looked_takes_a_seat(table: Seating, zoe: int) -> None:
    table(3)
    offered("g1", 1, NOW)
    play.moderate("g1", "!look 0", reason="a question", person_id=zoe, now=NOW)
    assert "hidden hands" in refused_to(zoe)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("mine", [True, False])
def test_a_block_hides_the_seat_and_says_nothing(table: Seating, zoe: int, number: int, mine: bool) -> None:
    game = table(3)
    offered("g1", 1, NOW)
    one, other = (zoe, game.people[number]) if mine else (game.people[number], zoe)
    with engine.transaction() as session:
        session.add(Block(person_id=one, other_id=other, at=NOW))
    assert refused_to(zoe) == "This seat is no longer offered."
    with engine.reading() as session:
        assert open_tables.offered_seat(session, "g1", 1, zoe) is None
        assert open_tables.offered_seat(session, "g1", 1, None) is not None
        assert not open_tables.offered_seats(session, open_tables.Wanted(), zoe)
        assert len(open_tables.offered_seats(session, open_tables.Wanted(), None)) == 1
    assert refused_to(zoe, number=2) == "This seat is no longer offered.", "as one that never was"


def test_the_table_may_ask_how_reliably_players_answer(table: Seating, zoe: int) -> None:
    table(3, asks=95)
    offered("g1", 1, NOW)
    assert "at least 95%" in refused_to(zoe)
    with engine.transaction() as session:
        session.add(Reliability(person_id=zoe, decisions=100, missed=5, median=60, games=3, abandoned=0))
    open_tables.take("g1", 1, zoe, "Zoe", NOW)


def test_nobody_gets_the_name_of_another(table: Seating, zoe: int) -> None:
    table(3)
    offered("g1", 1, NOW)
    with pytest.raises(Refused):
        open_tables.take("g1", 1, zoe, "Alice", NOW)
    open_tables.take("g1", 1, zoe, "Bob", NOW)


def left_right_after(zoe: int, decisions: int, at: datetime, *, given: bool) -> None:
    """Let Zoe take a seat or a moderator give it to her, let her decide so often, and leave.

    Her tenure is stored as `server/play` stores it.
    """
    offered("g1", 0, at)
    if given:
        mia, newcomer = person(Guest("Mia", "mia@example.org"), at), Newcomer(*TAKER)
        play.moderate("g1", "!replace 0", reason="she asked", person_id=mia, now=at, newcomer=newcomer)
    else:
        open_tables.take("g1", 0, zoe, "Zoe", at)
    taken = seat_of("g1", 0).held_since
    for number in range(decisions):
        with engine.reading() as session:
            now = positions.current(loaded(session, "g1"))
        while 0 not in now.awaited:
            seat = min(now.awaited)
            move = str(now.rules.moves(now.state, seat)[0])
            play.submit("g1", seat, move, seen=now.head, request_id=f"x{now.head}", now=at)
            with engine.reading() as session:
                now = positions.current(loaded(session, "g1"))
        move = str(now.rules.moves(now.state, 0)[0])
        play.submit("g1", 0, move, seen=now.head, request_id=f"z{number}", now=at)
    play.leave("g1", 0, now=at)
    with engine.transaction() as session:
        gone = [entry.seq for entry in log.entries(session, "g1") if entry.move == "!leave 0"][-1]
        session.merge(Tenure(game_id="g1", seat=0, from_seq=taken, person_id=zoe, to_seq=gone))


@pytest.mark.parametrize(
    ("decisions", "days", "may", "given"),
    [
        (0, 29, False, False),
        (2, 1, False, False),
        (3, 1, True, False),
        (0, 31, True, False),
        (0, 1, True, True),
    ],
)
def test_a_taker_who_leaves_at_once_takes_no_other_seat_for_a_month(
    table: Seating, zoe: int, decisions: int, days: int, may: bool, given: bool
) -> None:
    table(3)
    other = table(3, game_id="g2")
    left_right_after(zoe, decisions, NOW, given=given)
    offered("g2", 1, NOW)
    if may:
        open_tables.take("g2", 1, zoe, "Zoe", NOW + days * DAY)
        return
    with pytest.raises(TooMany):
        open_tables.take("g2", 1, zoe, "Zoe", NOW + days * DAY)
    assert seat_of("g2", 1).person_id == other.people[1]


def test_a_game_that_rests_goes_on_with_the_taker(table: Seating, zoe: int) -> None:
    table(3)
    for number in range(3):
        play.leave("g1", number, now=NOW)
    with engine.reading() as session:
        assert session.get_one(Game, "g1").paused
    open_tables.offer_as_organiser(host(), 1, NOW)
    open_tables.take("g1", 1, zoe, "Zoe", NOW)
    with engine.reading() as session:
        assert not session.get_one(Game, "g1").paused
        assert session.get_one(Person, zoe).accepted
