"""Which decisions count for a person, and which do not: each exclusion by an example."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from server import play
from server.community import results
from server.mail import deliverability
from server.play.moderation import Newcomer
from server.store import engine, outbox, people
from server.store.facts import Fact
from server.store.models import Absence, Conduct, Game, Mail, Outage, Person, Turn
from tests.conftest import NOW, Table
from tests.support.games import answer, finish, last, start_clock, to_move

pytestmark = pytest.mark.usefixtures("app")
Begin = Callable[..., Table]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def game(table: Begin) -> Table:
    """Start a game of Byzantium for three."""
    return table(3, slug="byzantium")


def mia() -> int:
    with engine.transaction() as session:
        return people.get_or_create(session, "mia@example.org", "Mia", NOW).id


def moderate_as_mia(game: Table, act: str, now: datetime = NOW, who: Newcomer | None = None) -> None:
    play.moderate(game.id, act, reason="so", person_id=mia(), now=now, newcomer=who)


def counted(game: Table, person: int, now: datetime = NOW + 9 * DAY) -> dict[int, int]:
    """Play a game to its end and count it; return the seconds of a person's decisions by seq."""
    finish(game.id, now)
    assert results.count(game.id, now)
    return dict(json.loads(conduct(game, person).answers))


def conduct(game: Table, person: int) -> Conduct:
    with engine.reading() as session:
        return session.get_one(Conduct, (game.id, person))


def first(game: Table) -> tuple[int, int]:
    """Return the seat to move and its person."""
    seat = to_move(game.id)
    assert seat is not None
    return seat, game.people[seat]


def miss(game: Table, seat: int, now: datetime) -> int:
    """Let the clock play for a seat; return the seq."""
    with engine.reading() as session:
        question = session.get_one(Turn, (game.id, seat)).question
    play.time_out(game.id, seat, question, now)
    found = last(game.id)
    assert (found.seat, found.by) == (seat, "clock")
    return found.seq


def away(person: int, since: datetime, until: datetime) -> None:
    with engine.transaction() as session:
        session.add(Absence(person_id=person, from_at=since, to_at=until, created_at=NOW))


def down(since: datetime, until: datetime) -> None:
    with engine.transaction() as session:
        session.add(Outage(part="web", from_at=since, to_at=until))


def fail_email(game: Table, seat: int, now: datetime, *, bounced: bool) -> None:
    with engine.transaction() as session:
        about = (Mail.game_id == game.id, Mail.seat == seat, Mail.kind == "turn")
        turn = deliverability.turn_of(outbox.find(session, *about)[-1])
        assert turn is not None
        assert play.mail_failed(session, turn, Fact("no_address"), now, bounced=bounced)


def test_an_answer_takes_the_time_since_its_email_was_accepted(game: Table) -> None:
    seat, person = first(game)
    start_clock(game.id, seat, NOW + HOUR)
    seq = answer(game.id, seat, NOW + 4 * HOUR)
    assert counted(game, person)[seq] == 3 * 3600


def test_an_answer_before_the_email_takes_no_time(game: Table) -> None:
    seat, person = first(game)
    seq = answer(game.id, seat, NOW + 4 * HOUR)
    assert counted(game, person)[seq] == 0


def test_quiet_hours_days_off_and_absences_take_no_time(table: Begin) -> None:
    game = table(3, slug="byzantium", days_off="2")  # Tuesday; the game begins on a Monday at ten
    seat, person = first(game)
    with engine.transaction() as session:
        row = session.get_one(Person, person)
        row.quiet_from, row.quiet_to, row.time_zone = 22 * 60, 6 * 60, "UTC"
    away(person, NOW + 2 * DAY, NOW + 3 * DAY)
    moderate_as_mia(game, "!pause")
    moderate_as_mia(game, "!resume")  # the turn opens again, with these hours
    start_clock(game.id, seat, NOW)
    seq = answer(game.id, seat, NOW + 3 * DAY + HOUR)
    kept = counted(game, person)
    # Monday 12 hours, Wednesday 4 hours, Thursday one hour after the absence.
    assert kept[seq] == (12 + 4 + 1) * 3600
    with engine.transaction() as session:
        row = session.get_one(Person, person)
        row.quiet_from = row.quiet_to = None


def test_a_missed_decision_counts_and_is_not_the_newcomers(game: Table) -> None:
    seat, person = first(game)
    start_clock(game.id, seat, NOW)
    seq = miss(game, seat, NOW + 2 * DAY)
    moderate_as_mia(game, f"!replace {seat}", NOW + 2 * DAY, Newcomer("Georgios", "georgios@example.org"))
    assert counted(game, person) == {seq: -1}
    with engine.reading() as session:
        newcomer = people.find(session, "georgios@example.org")
        assert newcomer is not None
    own = conduct(game, newcomer.id)
    assert -1 not in dict(json.loads(own.answers)).values()
    assert json.loads(own.answers)
    assert (own.substitute, own.abandoned) == (True, False)
    former = conduct(game, person)
    assert (former.substitute, former.abandoned) == (False, True)


def test_a_standing_order_answers(table: Begin) -> None:
    game = table(3, slug="byzantium")
    seat, person = first(game)
    play.place_order(game.id, seat, "put any always", now=NOW)
    found = last(game.id)
    assert found.by == "order"
    assert counted(game, person)[found.seq] == 0


@pytest.mark.parametrize("left", [False, True], ids=["autopilot", "left"])
def test_the_autopilot_misses_for_its_player_unless_they_have_left(game: Table, left: bool) -> None:
    seat, person = first(game)
    if left:
        play.leave(game.id, seat, now=NOW)
    else:
        moderate_as_mia(game, f"!autopilot {seat} on")
    seqs = []
    for _ in range(4):
        found = last(game.id)
        seqs += [found.seq] if found.by == "autopilot" else []
        answer(game.id, first(game)[0], NOW)
    play.reclaim(game.id, seat, now=NOW)
    missed = [seq for seq, seconds in counted(game, person).items() if seconds == -1]
    assert seqs
    assert set(seqs).isdisjoint(missed) if left else set(seqs) <= set(missed)
    assert not conduct(game, person).abandoned


def test_who_left_and_did_not_return_has_abandoned(game: Table) -> None:
    seat, person = first(game)
    play.leave(game.id, seat, now=NOW)
    assert counted(game, person) == {}
    assert conduct(game, person).abandoned


@pytest.mark.parametrize("bounced", [False, True], ids=["refused", "bounced"])
@pytest.mark.parametrize("misses", [False, True], ids=["answered", "missed"])
def test_a_turn_whose_email_failed_does_not_count(game: Table, bounced: bool, misses: bool) -> None:
    seat, person = first(game)
    if bounced:
        start_clock(game.id, seat, NOW)
    fail_email(game, seat, NOW + HOUR, bounced=bounced)
    with engine.transaction() as session:
        play.address_works(session, person, NOW + 2 * HOUR)
    start_clock(game.id, seat, NOW + 2 * HOUR)
    late = NOW + 3 * DAY
    seq = miss(game, seat, late) if misses else answer(game.id, seat, late)
    assert seq not in counted(game, person)


def test_the_autopilot_of_a_player_whom_no_email_reaches_does_not_count(game: Table) -> None:
    seat, person = first(game)
    fail_email(game, seat, NOW, bounced=False)
    with engine.transaction() as session:
        session.get_one(Person, person).unreachable = Fact("no_address")
        question = session.get_one(Turn, (game.id, seat)).question
    assert play.give_up(game.id, seat, question, NOW + 4 * DAY)
    while to_move(game.id) is not None:
        answer(game.id, first(game)[0], NOW + 4 * DAY)
    assert counted(game, person) == {}
    assert not conduct(game, person).abandoned


@pytest.mark.parametrize("misses", [False, True], ids=["answered", "missed"])
def test_a_turn_with_an_outage_does_not_count(game: Table, misses: bool) -> None:
    seat, person = first(game)
    start_clock(game.id, seat, NOW)
    down(NOW + HOUR, NOW + 2 * HOUR)
    late = NOW + 3 * DAY
    seq = miss(game, seat, late) if misses else answer(game.id, seat, late)
    after = answer(game.id, first(game)[0], late)
    assert after > seq
    assert seq not in counted(game, person)


def test_an_outage_before_the_question_or_after_the_answer_changes_nothing(game: Table) -> None:
    seat, person = first(game)
    down(NOW - HOUR, NOW)
    seq = answer(game.id, seat, NOW + HOUR)
    down(NOW + HOUR, NOW + 2 * HOUR)
    assert seq in counted(game, person)


def test_a_turn_that_opens_again_has_nothing_to_do_with_an_outage_before(game: Table) -> None:
    seat, person = first(game)
    moderate_as_mia(game, "!pause", NOW)
    down(NOW + HOUR, NOW + 2 * HOUR)
    moderate_as_mia(game, "!resume", NOW + 3 * HOUR)
    seq = answer(game.id, seat, NOW + 4 * HOUR)
    assert seq in counted(game, person)


def test_a_newcomers_turn_has_nothing_to_do_with_an_outage_before_they_came(game: Table) -> None:
    seat, _ = first(game)
    down(NOW + HOUR, NOW + 2 * HOUR)
    moderate_as_mia(game, f"!replace {seat}", NOW + 3 * HOUR, Newcomer("Georgios", "georgios@example.org"))
    seq = answer(game.id, seat, NOW + 4 * HOUR)
    with engine.reading() as session:
        newcomer = people.find(session, "georgios@example.org")
        assert newcomer is not None
    assert seq in counted(game, newcomer.id)


def test_a_turn_within_an_absence_entered_later_does_not_count(game: Table) -> None:
    seat, person = first(game)
    start_clock(game.id, seat, NOW)
    away(person, NOW - HOUR, NOW + 5 * DAY)
    assert miss(game, seat, NOW + 2 * DAY) not in counted(game, person)


def test_a_turn_of_which_a_part_was_at_home_counts(game: Table) -> None:
    seat, person = first(game)
    start_clock(game.id, seat, NOW)
    away(person, NOW + HOUR, NOW + 5 * DAY)
    seq = miss(game, seat, NOW + 2 * DAY)
    assert counted(game, person)[seq] == -1


def test_the_autopilot_in_an_absence_does_not_count(game: Table) -> None:
    seat, person = first(game)
    away(person, NOW - HOUR, NOW + 5 * DAY)
    moderate_as_mia(game, f"!autopilot {seat} on")
    while to_move(game.id) is not None:
        answer(game.id, first(game)[0], NOW + HOUR)
    assert counted(game, person) == {}


def test_a_move_that_was_taken_back_does_not_count(game: Table) -> None:
    seat, person = first(game)
    start_clock(game.id, seat, NOW)
    seq = miss(game, seat, NOW + 2 * DAY)
    moderate_as_mia(game, f"!void {seq}", NOW + 2 * DAY)
    moderate_as_mia(game, "!resume", NOW + 2 * DAY)
    assert -1 not in counted(game, person).values()


@pytest.mark.parametrize("why", ["abandoned", "broken"])
def test_a_game_that_says_nothing_is_marked_without_rows(game: Table, why: str) -> None:
    if why == "abandoned":
        moderate_as_mia(game, "!abandon")
    finish(game.id, NOW)
    with engine.transaction() as session:
        row = session.get_one(Game, game.id)
        row.options = '{"no such": "option"}' if why == "broken" else row.options
    assert results.count(game.id, NOW + DAY)
    with engine.reading() as session:
        assert session.get_one(Game, game.id).counted_at == NOW + DAY
        for table_name in ("standing", "conduct", "reliability"):
            assert not session.scalar(text(f"SELECT count(*) FROM {table_name}"))
