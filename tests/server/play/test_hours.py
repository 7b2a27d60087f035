"""The clock of a running game: hours fixed when a turn opens, the time bank, and how emails and pages show them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from server import play
from server.accounts import absences
from server.errors import InvalidInput
from server.lobby import settings
from server.lobby.settings import TimeControl
from server.mail.outgoing import deliver
from server.play import running, turns
from server.play.moderation import Newcomer
from server.scheduler import jobs
from server.store import engine, log, people
from server.store.models import Absence, Outage, Person, Seat, Turn
from tests.conftest import NOW, Table
from tests.support.games import change, loaded, position, row
from tests.support.mail_servers import FakeMailer
from tests.support.pages import look

Begin = Callable[..., Table]
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86400))
FRIDAY = datetime(2026, 3, 27, 20, 0, tzinfo=UTC)
"""21:00 in Amsterdam, before the weekend in which clocks go forward."""
AMSTERDAM = {"time_zone": "Europe/Amsterdam", "days_off": "67", "bank": 12 * 3600}
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def post(now: datetime) -> FakeMailer:
    fake_mailer = FakeMailer()
    while deliver.deliver(now, fake_mailer, steady=lambda: 0.0):
        pass
    return fake_mailer


def at_night(person: int) -> None:
    """Quiet hours from 23:00 to 7:00 in Amsterdam."""
    change(Person, person, time_zone="Europe/Amsterdam", quiet_from=23 * 60, quiet_to=7 * 60)


@pytest.fixture
def alice(app: Any) -> int:  # noqa: ARG001 - requested for its context
    """Return Alice, who has quiet hours from 23:00 to 7:00 and is away on Monday 30 March."""
    with engine.transaction() as session:
        person = people.get_or_create(session, "alice@example.org", "Alice", NOW).id
    at_night(person)
    absences.add_absence(person, "2026-03-30", "2026-03-30", NOW)
    return person


@pytest.fixture
def moderator(app: Any) -> int:  # noqa: ARG001 - requested for its context
    with engine.transaction() as session:
        person = people.get_or_create(session, "mo@example.org", "Mo", NOW)
        person.moderator = True
        return person.id


def times(game: Table, seat: int = 0) -> turns.Times:
    with engine.reading() as session:
        hand = loaded(session, game.id)
        found = turns.times(session, hand.game, hand.turns[seat])
    assert found is not None
    return found


@pytest.mark.usefixtures("alice")
def test_a_deadline_is_right_to_the_second_over_a_change_of_clocks(table: Begin, moderator: int) -> None:
    game = table(3, now=FRIDAY, **AMSTERDAM)
    post(FRIDAY)
    # two hours on Friday; Saturday and Sunday are off; away on Monday; Tuesday's 16 hours, six of Wednesday's
    assert times(game).allowance_end == datetime(2026, 4, 1, 11, 0, tzinfo=UTC)
    assert row(Turn, (game.id, 0)).due_at == datetime(
        2026, 4, 2, 7, 0, tzinfo=UTC
    )  # ten hours, two on Thursday
    with engine.transaction() as session:
        tuesday = datetime(2026, 3, 31, tzinfo=UTC)
        session.add(Outage(part="web", from_at=tuesday + 8 * HOUR, to_at=tuesday + 9.5 * HOUR))
        session.add(Outage(part="web", from_at=tuesday + 22 * HOUR, to_at=tuesday + 23 * HOUR))  # at night
    play.moderate(game.id, "!extend 0 3600", reason="a cold", person_id=moderator, now=FRIDAY + DAY)
    play.moderate(game.id, "!credit 1800", reason="the mail", person_id=moderator, now=FRIDAY + DAY)
    known = times(game)
    assert known.allowance_end == datetime(2026, 4, 1, 14, 0, tzinfo=UTC)
    assert known.due == datetime(2026, 4, 2, 10, 0, tzinfo=UTC)
    assert play.time_out(game.id, 0, "bid 1", known.due - SECOND) is None
    assert play.time_out(game.id, 0, "bid 1", known.due) is not None
    assert row(Seat, (game.id, 0)).bank == 0


@pytest.mark.usefixtures("alice")
def test_what_a_move_takes_from_the_bank_is_counted_like_its_turn(table: Begin) -> None:
    game = table(3, now=FRIDAY, **AMSTERDAM)
    assert [row(Seat, (game.id, seat)).bank for seat in range(3)] == [12 * 3600] * 3
    post(FRIDAY)
    morning = times(game).due - 17 * MINUTE - SECOND
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=morning)
    assert row(Seat, (game.id, 0)).bank == 17 * 60 + 1
    assert row(Turn, (game.id, 1)).bank == 12 * 3600


@pytest.mark.usefixtures("alice")
def test_a_move_within_the_allowance_takes_nothing(table: Begin) -> None:
    game = table(3, now=FRIDAY, **AMSTERDAM)
    post(FRIDAY)
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=times(game).allowance_end)
    assert row(Seat, (game.id, 0)).bank == 12 * 3600


def test_the_next_turn_has_what_is_left_of_the_bank(table: Begin) -> None:
    game = table(3, allowance=3600, bank=7200)
    post(NOW)
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=NOW + 90 * MINUTE)
    while 0 not in (at := position(game.id)).awaited:
        seat = min(at.awaited)
        move = str(at.rules.moves(at.state, seat)[0])
        play.submit(game.id, seat, move, seen=at.head, request_id=str(at.head), now=NOW + 91 * MINUTE)
    assert row(Turn, (game.id, 0)).bank == 90 * 60


ENDS = ["!pause", "!void 2", "!replace 1"]


@pytest.mark.parametrize("act", ENDS)
def test_a_turn_that_nobody_answered_takes_nothing(table: Begin, moderator: int, act: str) -> None:
    game = table(3, allowance=3600, bank=7200)
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=NOW)
    post(NOW)
    late = NOW + 2 * HOUR
    newcomer = Newcomer("Zoe", "zoe@example.org") if act.startswith("!replace") else None
    if newcomer:  # who takes over has a whole bank, whatever is left of the former's
        change(Seat, (game.id, 1), bank=1)
    play.moderate(game.id, act, reason="so", person_id=moderator, now=late, newcomer=newcomer)
    assert row(Seat, (game.id, 1)).bank == 7200


def test_hours_set_later_are_for_later_turns(table: Begin) -> None:
    game = table(3, now=FRIDAY, time_zone="Europe/Amsterdam")
    post(FRIDAY)
    for person in game.people:
        at_night(person)
    with engine.transaction() as session:
        session.add(
            Absence(person_id=game.people[1], from_at=FRIDAY, to_at=FRIDAY + 9 * DAY, created_at=FRIDAY)
        )
    assert times(game).due == FRIDAY + DAY
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=FRIDAY)
    post(FRIDAY)
    assert times(game, 1).due == datetime(2026, 4, 7, 12, 0, tzinfo=UTC)
    change(Person, game.people[1], quiet_from=None, quiet_to=None)
    assert times(game, 1).due == datetime(2026, 4, 7, 12, 0, tzinfo=UTC)


def test_a_bot_s_turn_leaves_nothing_out(table: Begin) -> None:
    game = table(3, **AMSTERDAM)
    with engine.transaction() as session:
        seat = session.get_one(Seat, (game.id, 0))
        seat.person_id, seat.bot = None, "greedy"
        with running.in_hand(session, game.id, NOW) as hand:
            assert turns.hours_of(hand, hand.seats[0], NOW).write() == "{}"
            assert turns.hours_of(hand, hand.seats[1], NOW).write() != "{}"


def test_quiet_hours_are_those_of_the_players_own_zone_else_of_the_games(table: Begin) -> None:
    game = table(3, **AMSTERDAM)
    quiet = {"quiet_from": 23 * 60, "quiet_to": 7 * 60}
    change(Person, game.people[0], time_zone="America/New_York", **quiet)
    change(Person, game.people[1], time_zone=None, **quiet)
    with engine.transaction() as session, running.in_hand(session, game.id, NOW) as hand:
        zones = [turns.hours_of(hand, hand.seats[seat], NOW).zone for seat in (0, 1)]
    assert zones == ["America/New_York", "Europe/Amsterdam"]


@pytest.mark.usefixtures("alice")
def test_the_reminder_goes_out_at_four_fifths_of_what_counts(table: Begin) -> None:
    game = table(3, now=FRIDAY, **AMSTERDAM)
    post(FRIDAY)
    due = datetime(
        2026, 4, 1, 6, 12, tzinfo=UTC
    )  # 19.2 hours: two on Friday, 16 on Tuesday, 1.2 on Wednesday
    assert row(Turn, (game.id, 0)).remind_at == due
    assert jobs.tick_reminders(due - SECOND) == 0
    assert jobs.tick_reminders(due) == 1
    (reminder,) = post(due).to("alice")
    text = part_of(reminder)
    assert "Move by Wed 1 Apr, 13:00 (Amsterdam); your bank adds up to 12 hours." in text


def test_after_an_outage_an_hour_is_left_that_counts(table: Begin) -> None:
    game = table(3, now=FRIDAY - DAY, allowance=2 * 3600 - 300, time_zone="Europe/Amsterdam")
    change(Turn, (game.id, 0), hours='{"zone": "Europe/Amsterdam", "quiet": [1380, 420]}')
    post(FRIDAY - DAY)
    assert times(game).due == FRIDAY - DAY + 115 * MINUTE
    with engine.transaction() as session:
        away = FRIDAY - DAY + 110 * MINUTE, FRIDAY - DAY + 119 * MINUTE
        session.add(Outage(part="web", from_at=away[0], to_at=away[1]))
    assert times(game).due == datetime(
        2026, 3, 27, 6, 59, tzinfo=UTC
    )  # a minute before the night, 59 after it
    assert play.time_out(game.id, 0, "bid 1", FRIDAY - DAY + 120 * MINUTE) is None
    with engine.reading() as session:
        credit = log.entries(session, game.id)[-1]
    assert credit.move == f"!credit {5 * 60 + 59 * 60}"  # nights are no gain


# What is said


def part_of(message: Any, kind: str = "plain") -> str:
    return str(message.get_body((kind,)).get_content())


@pytest.mark.usefixtures("alice")
def test_the_mail_says_both_moments_and_what_does_not_count(table: Begin) -> None:
    game = table(3, now=FRIDAY, **AMSTERDAM)
    (mail,) = post(FRIDAY).to("alice")
    for text in (part_of(mail), part_of(mail, "html")):
        words = " ".join(text.split())
        assert "Move by Wed 1 Apr, 13:00 (Amsterdam); your bank adds up to 12 hours." in words
        assert (
            "Your quiet hours, 23:00 to 07:00, do not count towards your time. Days off at this table: Saturday and"
            " Sunday (Amsterdam). Your absence, 30 Mar, does not count."
        ) in words
        assert "the table’s time zone" not in words
    assert row(Turn, (game.id, 0)).due_at == datetime(2026, 4, 2, 7, 0, tzinfo=UTC)


@one_database
def test_who_has_set_no_time_zone_is_told_that_it_is_the_table_s(table: Begin, client: FlaskClient) -> None:
    game = table(3, now=FRIDAY, time_zone="Asia/Kathmandu")
    (mail,) = post(FRIDAY).to("alice")
    assert "Move by Sun 29 Mar, 01:45 (Kathmandu)." in part_of(mail)
    assert "Times are in the table’s time zone" in part_of(mail)
    assert "Times are in the table’s time zone" in look(client, f"/t/{game.tokens[0]}").text


@one_database
@pytest.mark.usefixtures("alice")
def test_pages_say_who_draws_on_a_bank_and_the_api_when_it_is_over(
    table: Begin, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(3, now=FRIDAY, **AMSTERDAM)
    post(FRIDAY)
    for now, own, others in (
        (
            FRIDAY,
            "h left (Wed 13:00) + 12 hours in the bank",
            ("h left (Wed 13:00)",) * 2,
        ),
        (
            times(game).allowance_end + SECOND,
            "h left in your time bank (Thu 09:00)",
            ("Alice is using their time bank, which lasts until Thu 2 Apr, 09:00",) * 2,
        ),
    ):
        for module in ("seat.turn", "game.pages"):
            monkeypatch.setattr(f"server.web.{module}.utc_now", lambda now=now: now)
        assert own in look(client, f"/t/{game.tokens[0]}").text
        assert others[0] in look(client, f"/t/{game.tokens[1]}").text
        assert others[1] in look(client, f"/g/{game.id}").text
    page = look(client, f"/t/{game.tokens[0]}").text
    assert "Your absence, 30 Mar, does not count." in page
    told = client.get(f"/api/v1/seats/{game.tokens[0]}").json
    assert told is not None
    assert told["deadline"] == "2026-04-02T07:00:00.000Z"


# Absences and paces


def test_an_absence_that_an_open_turn_counts_on_stays(table: Begin, alice: int) -> None:
    game = table(3, now=NOW, **AMSTERDAM)
    with engine.reading() as session:
        [absence] = absences.absences_of(session, alice, NOW)
    with pytest.raises(InvalidInput, match="counts on this absence"):
        absences.remove_absence(alice, absence.id, NOW)
    play.submit(game.id, 0, "pass", seen=1, request_id="r", now=NOW)
    with pytest.raises(InvalidInput, match="has begun"):
        absences.remove_absence(alice, absence.id, absence.from_at)
    absences.remove_absence(game.people[1], absence.id, NOW)  # not hers: nothing happens
    absences.remove_absence(alice, absence.id, NOW)
    with engine.reading() as session:
        assert absences.absences_of(session, alice, NOW) == []


@one_database
def test_thirty_five_days_in_any_year_and_not_one_more(alice: int) -> None:
    def enter(first: str, last: str) -> None:
        absences.add_absence(alice, first, last, NOW)  # one day of March is taken

    enter("2026-10-12", "2026-11-14")  # 34 days, over the day of 25 hours
    for day in ("2026-03-10", "2027-03-29"):
        with pytest.raises(InvalidInput, match="36 days"):
            enter(day, day)
    enter("2027-03-30", "2027-03-30")  # 365 days after the first
    with pytest.raises(InvalidInput, match="36 days"):
        enter("2027-10-11", "2027-10-11")
    enter("2027-10-12", "2027-11-13")  # of 2026 one day counts that year


@one_database
@pytest.mark.usefixtures("app")
def test_days_off_and_banks_by_name() -> None:
    assert settings.parse_weekdays(["sun", "sat", "sun"]) == "67"
    assert settings.default_bank(2 * 3600) == 4 * 3600
    assert (
        settings.clean_time_control(
            TimeControl(settings.LONGEST_BANK, settings.default_bank(settings.LONGEST_BANK))
        ).bank
        == settings.LONGEST_BANK
    )
    assert [settings.clean_time_control(preset) for preset in settings.PRESETS.values()] == list(
        settings.PRESETS.values()
    )
    assert settings.clean_time_control(TimeControl(3600, 0, "7667")).days_off == "67"
