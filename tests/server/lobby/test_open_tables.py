"""Open tables: which are found, in which order, by which filter, and never those that a block hides."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from server.community import results
from server.community.results import Kind, Span
from server.errors import Closed, InvalidInput
from server.lobby import invitations, open_tables
from server.lobby.open_tables import Wanted
from server.lobby.settings import TimeControl
from server.store import engine
from server.store.models import Block, Game, Person, Reliability, Seat
from server.validation import Guest
from tests.conftest import begun
from tests.support.lobby import BOB, CHARLIE, DAPHNE, game_of, invited, known, open_table, person, token

HOUR, DAY = 3600, timedelta(days=1)
pytestmark = pytest.mark.usefixtures("app")


def found_tables(which: Wanted = Wanted(), reader: int | None = None, **more: int) -> list[str]:  # noqa: B008 - frozen
    """Return the names of the open tables on a page."""
    with engine.reading() as session:
        return [table.game.name for table in open_tables.open_tables(session, which, reader, **more)[0]]


def blocks(person_id: int, other_id: int, now: datetime) -> None:
    """Let a person block another."""
    with engine.transaction() as session:
        session.add(Block(person_id=person_id, other_id=other_id, at=now))


def set_reliability(person_id: int, decisions: int, missed: int) -> None:
    """Say how reliably a person answers."""
    with engine.transaction() as session:
        session.merge(
            Reliability(
                person_id=person_id, decisions=decisions, missed=missed, median=HOUR, games=5, abandoned=0
            )
        )


def test_the_fullest_table_comes_first_then_the_oldest(now: datetime) -> None:
    open_table("Two free", now, free=2)
    open_table("Younger", now + DAY)
    open_table("Older", now)
    open_table("Not listed", now, listed=False, free=0, players=(BOB, CHARLIE))
    open_table("Full", now, free=0, players=(BOB, CHARLIE))
    assert found_tables() == ["Older", "Younger", "Two free"]


def test_pages(now: datetime) -> None:
    for number in range(5):
        open_table(f"Table {number}", now + number * DAY)
    assert found_tables(page=2, most=2) == ["Table 2", "Table 3"]
    assert found_tables(page=3, most=2) == ["Table 4"]
    assert found_tables(page=4, most=2) == []
    with engine.reading() as session:
        assert [open_tables.open_tables(session, Wanted(), None, page, 2)[1] for page in (1, 2, 3)] == [
            True,
            True,
            False,
        ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["Byzanz", "Slow", "Empire", "Big"]),
        ({"game": "byzanz"}, ["Byzanz", "Slow", "Big"]),
        ({"game": "empire"}, ["Empire"]),
        ({"size": "3"}, ["Byzanz", "Slow"]),
        ({"size": "5"}, ["Big"]),
        ({"pace": "90000"}, ["Slow"]),
        ({"pace": "86400"}, ["Byzanz", "Slow", "Big"]),
        ({"free": "2"}, ["Big"]),
        ({"language": "de"}, ["Slow"]),
        ({"game": "byzanz", "size": "3", "pace": "3600", "free": "1", "language": ""}, ["Byzanz", "Slow"]),
    ],
)
def test_filters(now: datetime, query: dict[str, str], names: list[str]) -> None:
    open_table("Byzanz", now)
    open_table("Slow", now + DAY, time_control=TimeControl(2 * 86400), organiser=DAPHNE)
    open_table("Empire", now + 2 * DAY, slug="empire", players=(), time_control=TimeControl(7200))
    open_table("Big", now + 3 * DAY, free=3)
    with engine.transaction() as session:
        session.execute(select(Person).where(Person.email == DAPHNE.address)).scalar_one().language = "de"
    assert found_tables(open_tables.wanted(query)) == names


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"game": "chess"}, "game"),
        ({"size": "0"}, "size"),
        ({"size": "many"}, "size"),
        ({"pace": "-1"}, "pace"),
        ({"pace": "9" * 30}, "pace"),
        ({"free": "²"}, "free"),
        ({"language": "xx"}, "language"),
    ],
)
def test_a_filter_that_no_table_can_meet_is_refused(query: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_tables.wanted(query)
    assert refused.value.field == field


NAMES = ("Alice", "Bob", "Charlie", "Daphne")


@given(
    hosts=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=4),
    pairs=st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=4),
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_filter_lists_what_a_block_hides_or_the_readers_own_tables(
    hosts: list[tuple[str, str]], pairs: set[tuple[str, str]], now: datetime
) -> None:
    guests = {name: Guest(name, f"{name.lower()}@example.org") for name in NAMES}
    ids = {name: person(guest, now) for name, guest in guests.items()}
    with engine.transaction() as session:
        for game in session.scalars(select(Game).where(Game.open_until.is_not(None))):
            invitations.cancel_locked(session, game, now)
        session.query(Block).delete()
        for one, other in pairs:
            if one != other:
                session.add(Block(person_id=ids[one], other_id=ids[other], at=now))
    for number, (host, guest) in enumerate(hosts):
        game_id = open_table(str(number), now, organiser=guests[host], players=(), free=2)
        if guest != host:
            with engine.transaction() as session:
                seat = session.get_one(Seat, (game_id, 1))
                seat.stored_name, seat.status, seat.person_id = guest, "seated", ids[guest]
    for reader in NAMES:
        hidden = {two for one, two in pairs if one == reader} | {one for one, two in pairs if two == reader}
        shown = [str(number) for number, at_table in enumerate(hosts) if not {*at_table} & {*hidden, reader}]
        assert sorted(found_tables(reader=ids[reader])) == sorted(shown), reader
    assert len(found_tables()) == len(hosts)


def test_the_statements_do_not_grow_with_the_tables(now: datetime) -> None:
    reader = person(DAPHNE, now)
    blocks(reader, person(CHARLIE, now), now)

    def sent() -> int:
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        event.listen(engine.db.engine, "before_cursor_execute", note)
        with engine.reading() as session:
            list(open_tables.open_tables(session, Wanted(), reader)[0])
        event.remove(engine.db.engine, "before_cursor_execute", note)
        return count

    open_table("One", now)
    few = sent()
    for number in range(8):
        open_table(f"More {number}", now, free=1 + number % 3)
    assert sent() == few


# ---- how long games like it took ----


def test_games_of_one_kind_tell_how_long_they_took(now: datetime) -> None:
    kind = Kind("byzanz", 3, 86400, 0, "")
    others = {
        kind._replace(size=4),
        kind._replace(slug="empire"),
        kind._replace(bank=60),
        kind._replace(days_off="67"),
    }
    for number in range(1, 11):
        table = begun(n=3, game_id=f"g{number}", now=now)
        with engine.transaction() as session:
            game = session.get_one(Game, table.id)
            game.status, game.ended_at, game.result = "over", now + number * DAY, '{"reason": "finished"}'
        with engine.reading() as session:
            known_kinds = results.lengths(session, {kind, *others})
        assert known_kinds == ({kind: Span("day", 3, 8)} if number == 10 else {}), number
    with engine.transaction() as session:
        session.get_one(Game, "g1").result = '{"reason": "abandoned"}'
    with engine.reading() as session:
        assert results.lengths(session, {kind}) == {}
        assert results.lengths(session, set()) == {}


# ---- what is asked ----


NO_FREE_SEAT = {"asks": 95, "free": 0, "players": (BOB, CHARLIE)}


@pytest.mark.parametrize(
    ("decisions", "missed", "joins"),
    [(0, 0, False), (49, 0, False), (50, 2, True), (200, 10, True), (200, 11, False)],
)
def test_a_table_asks_how_reliably_players_answer(
    now: datetime, decisions: int, missed: int, joins: bool
) -> None:
    game_id = open_table("Asks", now, asks=95)
    eve = known(DAPHNE, now)
    set_reliability(eve, decisions, missed)
    if joins:
        assert invitations.take_free_seat(game_id, eve, "Daphne", "cut", now) == 2
        return
    with pytest.raises(Closed) as refused:
        invitations.take_free_seat(game_id, eve, "Daphne", "cut", now)
    assert str(refused.value) == (
        "This table asks for players who have answered at least 95% of their decisions in time."
    )


def test_a_table_that_asks_for_nothing_lets_newcomers_in(now: datetime) -> None:
    assert invitations.take_free_seat(open_table("Open", now), known(DAPHNE, now), "Daphne", "cut", now) == 2


def test_invited_people_are_not_asked(now: datetime) -> None:
    game_id = open_table("Asks", now, asks=98)
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "cut", now)
    with engine.reading() as session:
        assert session.get_one(Seat, (game_id, 1)).status == "seated"


@pytest.mark.parametrize("more", [{"asks": 91}, {"asks": 100}, {"asks": -1}, NO_FREE_SEAT])
def test_only_the_percentages_on_offer_for_free_seats(now: datetime, more: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_table("Asks", now, **more)
    assert refused.value.field == "asks"


# ---- how long it waits ----


def test_each_change_of_its_seats_lets_a_table_wait_three_weeks_more(now: datetime) -> None:
    later = [now + number * DAY for number in range(1, 10)]
    game_id, host = invited(now, players=(BOB,), free=2, listed=True)
    assert game_of(game_id).open_until == now + timedelta(days=21)
    assert game_of(game_id).listed_at == now
    invitations.accept(token("invite", BOB, game_id, now), "Bob", "cut", later[0])
    assert game_of(game_id).open_until == later[0] + timedelta(days=21)
    invitations.take_free_seat(game_id, known(DAPHNE, now), "Daphne", "cut", later[1])
    assert game_of(game_id).open_until == later[1] + timedelta(days=21)
    invitations.drop(host, 2, later[2])
    assert game_of(game_id).open_until == later[2] + timedelta(days=21)
    invitations.keep_open(host, later[3])
    assert game_of(game_id).open_until == later[3] + timedelta(days=21)
    invitations.set_listed(host, False, later[4])
    assert game_of(game_id).open_until is None
    invitations.set_listed(host, True, later[5])
    assert game_of(game_id).open_until == later[5] + timedelta(days=21)
    assert game_of(game_id).listed_at == now
    invitations.fill_all(host, "greedy", later[6])
    assert (game_of(game_id).status, game_of(game_id).open_until) == ("running", None)


@pytest.mark.parametrize(
    "more", [{"listed": listed, "free": 0, "players": (BOB, CHARLIE)} for listed in (False, True)]
)
def test_other_tables_do_not_end_by_themselves(now: datetime, more: dict[str, object]) -> None:
    assert game_of(open_table("Waits", now, **more)).open_until is None


def test_a_game_that_begins_or_is_called_off_no_longer_waits(now: datetime) -> None:
    ends, host = invited(now, players=(), free=2, listed=True)
    invitations.cancel(host, now)
    assert (game_of(ends).status, game_of(ends).open_until) == ("cancelled", None)
    begins, host = invited(now, players=(BOB,), bots=("greedy", "greedy"), free=1, listed=True)
    invitations.accept(token("invite", BOB, begins, now), "Bob", "cut", now)
    invitations.start(host, now)
    assert (game_of(begins).status, game_of(begins).open_until) == ("running", None)
