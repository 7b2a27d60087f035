"""Email frequency and the daily digest: which turns it names, when it is sent, which clocks it starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from server import play
from server.accounts import login
from server.mail import deliverability, subscriptions
from server.mail.outgoing import compose, deliver, digest
from server.mail.outgoing.smtp import PermanentFailure
from server.mail.text import quoted
from server.scheduler import jobs, loop
from server.store import engine, log, operations
from server.store.models import Alert, Game, Mail, Person, Seat, Turn
from tests.conftest import NOW, Table
from tests.support.games import change, outsider, row, submit
from tests.support.mail_servers import FakeMailer
from tests.support.mails import assert_same, html_of, one_database, send_waiting, statuses, text_of, words_of
from tests.support.pages import log_in

Begin = Callable[..., Table]
HOUR = timedelta(hours=1)
TICK = 86400.0 * 99
SEVEN = NOW.replace(hour=7) + timedelta(days=1)
"""The first digest hour after the games start, which is at ten."""


def wants_digest(game: Table, person: int = 0, **more: object) -> int:
    """Give a player a daily digest; return their id."""
    change(Person, game.people[person], cadence="digest", **more)
    return game.people[person]


def late_joiner(table: Begin, **more: object) -> Table:
    """Return a game in which Bob gets a digest and is to move since NOW."""
    game = table(4)
    wants_digest(game, 1, **more)
    submit(game.id, 0, "pass")
    return game


def test_who_wants_a_digest_gets_no_mail_for_a_turn_and_no_clock_runs_until_it_came(table: Begin) -> None:
    game = late_joiner(table)
    assert send_waiting(NOW + 5 * HOUR) == []
    assert row(Turn, (game.id, 1)).started_at is None
    assert jobs.tick_digests(SEVEN - timedelta(seconds=1), TICK) == 0
    assert jobs.tick_digests(SEVEN, TICK) == 1
    (message,) = send_waiting(SEVEN)
    turn = row(Turn, (game.id, 1))
    assert (turn.started_at, turn.due_at) == (SEVEN, SEVEN + timedelta(days=1))
    assert "Bob, it is your turn in a game." in text_of(message)
    assert "Bid for the lot, or pass. Move by Wed 4 Mar, 07:00 (UTC)." in text_of(message)
    assert f"\nhttps://byzanz.test/t/{game.tokens[1]}\n" in text_of(message)


def test_a_digest_comes_once_a_day_while_a_game_waits_and_not_otherwise(table: Begin) -> None:
    game = late_joiner(table)
    change(Game, game.id, allowance=5 * 86400)
    sent = []
    for hour in range(1, 24 * 4):
        now = NOW + hour * HOUR
        jobs.tick_digests(now, TICK)
        sent += [message["Date"].datetime for message in send_waiting(now)]
        if hour == 50:
            submit(game.id, 1, "pass", now)
            change(Person, game.people[2], silent=True)
    assert sent == [SEVEN, SEVEN + timedelta(days=1)]


@one_database
def test_a_digest_names_all_games_the_least_time_first(table: Begin) -> None:
    games = [table(3, game_id=name) for name in ("one", "two", "three")]
    for game, name, allowance in zip(games, ("First", "Second", "Third"), (9, 3, 5), strict=True):
        change(Game, game.id, name=name, allowance=allowance * 86400)
        change(Mail, _turn_mail(game.id), status="dropped")
    alice = wants_digest(games[0])
    change(Seat, ("three", 0), silent=True)
    jobs.tick_digests(SEVEN, TICK)
    (message,) = send_waiting(SEVEN)
    text = text_of(message)
    assert "Alice, it is your turn in 2 games, listed by urgency." in text
    assert re.findall(r"^(\w+) \(Byzanz\)$", text, re.MULTILINE) == ["Second", "First"]
    assert_same(text, words_of(html_of(message)))
    assert set(re.findall(r"https://\S+", text)) == set(re.findall(r'href="([^"]+)"', html_of(message)))
    assert message["Subject"] == "Byzanz: your games"
    assert "References" not in message
    assert message["Message-ID"] == compose.message_id(f"digest:{alice}:2026-03-03:{SEVEN.isoformat()}")
    assert [row(Turn, (name, 0)).started_at for name in ("one", "two", "three")] == [SEVEN, SEVEN, None]


def _turn_mail(game_id: str) -> int:
    with engine.reading() as session:
        return session.scalars(select(Mail.id).where(Mail.game_id == game_id)).one()


def test_the_clock_starts_a_day_after_the_turn_opened_if_no_digest_came(table: Begin) -> None:
    game = late_joiner(table)
    assert digest.start_overdue_clocks(NOW + 24 * HOUR - timedelta(seconds=1)) == 0
    jobs.tick_digests(NOW + 24 * HOUR, TICK)
    assert row(Turn, (game.id, 1)).started_at is None  # nothing here has beaten yet: the server rests
    for part in operations.PARTS:
        loop.record_heartbeat(operations.HeartbeatRecorder(part, TICK), NOW + 24 * HOUR, 0.0)
    jobs.tick_digests(NOW + 24 * HOUR + timedelta(minutes=3), TICK)
    turn = row(Turn, (game.id, 1))
    assert (turn.started_at, turn.due_at) == (NOW + 24 * HOUR, NOW + 48 * HOUR)


def test_a_clock_that_runs_or_is_not_late_is_not_started_for_want_of_a_digest(table: Begin) -> None:
    game = late_joiner(table)
    late = NOW + play.LATEST_DIGEST
    assert not play.digest_overdue(game.id, 0, late)  # it is not to move
    assert not play.digest_overdue("nowhere", 1, late)
    assert not play.digest_overdue(game.id, 1, late - timedelta(seconds=1))
    assert row(Turn, (game.id, 1)).started_at is None
    assert play.digest_overdue(game.id, 1, late)
    assert not play.digest_overdue(game.id, 1, late + HOUR)
    assert row(Turn, (game.id, 1)).started_at == late


def test_a_digest_that_has_become_pointless_is_not_sent(table: Begin) -> None:
    game = late_joiner(table)
    jobs.tick_digests(SEVEN, TICK)
    submit(game.id, 1, "pass", SEVEN)
    change(Person, game.people[2], silent=True)
    assert send_waiting(SEVEN) == []
    assert statuses()[f"digest:{game.people[1]}:2026-03-03"] == "dropped"


def test_of_two_digests_that_wait_the_newer_goes(table: Begin) -> None:
    game = late_joiner(table)
    change(Game, game.id, allowance=9 * 86400)
    jobs.tick_digests(SEVEN, TICK)
    jobs.tick_digests(SEVEN + timedelta(days=1), TICK)
    assert len(send_waiting(SEVEN + timedelta(days=1))) == 1


def test_a_refused_digest_stops_the_clocks_of_all_that_it_named(table: Begin) -> None:
    games = [table(3, game_id=name) for name in ("one", "two")]
    bob = wants_digest(games[0], 1)
    for game in games:
        submit(game.id, 0, "pass")
    jobs.tick_digests(SEVEN, TICK)
    deliver.deliver(SEVEN, FakeMailer(PermanentFailure("550 no such user")))
    turns = [row(Turn, (game.id, 1)) for game in games]
    assert [(turn.refused, turn.refused_at, turn.due_at) for turn in turns] == [
        (quoted("550 no such user"), SEVEN, None)
    ] * 2
    with engine.reading() as session:
        assert {alarm.game_id for alarm in session.scalars(select(Alert))} == {"one", "two"}
    told = send_waiting(SEVEN)
    assert [str(message["To"]) for message in told] == ["Alice <alice@example.org>"] * 2
    assert jobs.tick_digests(SEVEN + 24 * HOUR, TICK) == 1
    (message,) = send_waiting(SEVEN + 24 * HOUR)
    assert str(message["To"]) == "Bob <bob@example.org>"
    assert [row(Turn, (game.id, 1)).due_at for game in games] == [SEVEN + 48 * HOUR] * 2
    assert row(Person, bob).unreachable is None


def sent_digest() -> int:
    """Return the id of the digest that was sent."""
    with engine.reading() as session:
        return session.scalars(select(Mail.id).where(Mail.kind == "digest", Mail.status == "sent")).one()


def bounced_digest(table: Begin) -> tuple[list[Table], Table]:
    """Return games that a digest named, and one in which a turn opened later; then the digest bounces."""
    games = [table(3, game_id=name) for name in ("one", "two")]
    later = table(3, game_id="later")
    wants_digest(games[0], 1)
    for game in games:
        submit(game.id, 0, "pass")
    jobs.tick_digests(SEVEN, TICK)
    send_waiting(SEVEN)
    submit(later.id, 0, "pass", SEVEN + HOUR)
    deliverability.handle_bounce(sent_digest(), quoted("550 gone"), SEVEN + 2 * HOUR)
    return games, later


def assert_stopped(games: list[Table], later: Table) -> None:
    """Check that the clocks of the named turns are stopped, each game has an alert, and nothing else changed."""
    turns = [row(Turn, (game.id, 1)) for game in games]
    assert [(turn.started_at, turn.refused, turn.refused_at, turn.due_at) for turn in turns] == [
        (SEVEN, quoted("550 gone"), SEVEN + 2 * HOUR, None)
    ] * 2
    assert row(Turn, (later.id, 1)).refused is None
    assert row(Person, games[0].people[1]).suppressed == quoted("550 gone")
    with engine.reading() as session:
        assert {alarm.game_id for alarm in session.scalars(select(Alert))} == {"one", "two"}


def test_a_bounced_digest_stops_the_clocks_that_it_started(table: Begin) -> None:
    games, later = bounced_digest(table)
    assert_stopped(games, later)
    told = send_waiting(SEVEN + 3 * HOUR)
    assert [str(message["To"]) for message in told] == ["Alice <alice@example.org>"] * 2
    jobs.tick_digests(SEVEN + 24 * HOUR, TICK)
    assert [str(mail["To"]) for mail in send_waiting(SEVEN + 24 * HOUR) if "Bob" in str(mail["To"])] == []
    assert row(Turn, (later.id, 1)).refused == quoted(
        "550 gone"
    )  # the digest that was to name it is withheld
    assert deliverability.mark_reachable(games[0].people[1], SEVEN + 25 * HOUR)
    assert [row(Turn, (game.id, 1)).refused for game in (*games, later)] == [None] * 3


def test_the_next_digest_starts_the_clocks_again_that_one_not_taken_in_time_had_started(table: Begin) -> None:
    game = table(3, game_id="one")
    wants_digest(game, 1)
    submit(game.id, 0, "pass")
    jobs.tick_digests(SEVEN, TICK)
    send_waiting(SEVEN)
    deliverability.handle_bounce(sent_digest(), quoted("4.4.1 refused"), SEVEN + 2 * HOUR, cause="expired")
    assert row(Turn, (game.id, 1)).refused is not None
    (told,) = send_waiting(SEVEN + 3 * HOUR)
    assert "Alice" in told["To"]
    assert "was not delivered in time" in text_of(told)
    jobs.tick_digests(SEVEN + 24 * HOUR, TICK)
    assert any("Bob" in mail["To"] for mail in send_waiting(SEVEN + 24 * HOUR))
    turn = row(Turn, (game.id, 1))
    assert (turn.refused, turn.started_at) == (None, SEVEN + 24 * HOUR)


def test_clocks_that_run_on_after_a_bounced_digest_are_noticed(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverability, "_stop_digest_turns", lambda *_mail: None)
    with pytest.raises(AssertionError):
        assert_stopped(*bounced_digest(table))


def test_a_bounced_digest_stops_no_turn_that_opened_after_it(table: Begin) -> None:
    game = late_joiner(table)
    jobs.tick_digests(SEVEN, TICK)
    send_waiting(SEVEN)
    play.moderate(game.id, "!pause", reason="a break", person_id=outsider(), now=SEVEN)
    play.moderate(game.id, "!resume", reason="over", person_id=outsider(), now=SEVEN + HOUR)
    deliverability.handle_bounce(sent_digest(), quoted("550 gone"), SEVEN + 2 * HOUR)
    assert row(Turn, (game.id, 1)).refused is None


@pytest.mark.parametrize("how", ["refused", "bounced", "withheld"])
def test_games_are_locked_before_anything_is_written_about_a_digest(
    table: Begin, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    games = [table(3, game_id=name) for name in ("two", "one")]
    wants_digest(games[0], 1)
    for game in games:
        submit(game.id, 0, "pass")
    jobs.tick_digests(SEVEN, TICK)
    if how == "bounced":
        send_waiting(SEVEN)
    written: list[str] = []
    locked: list[str] = []
    most: set[tuple[str, ...]] = set()

    def note_lock(session: Session, game_id: str, skip_locked: bool = False) -> bool:
        if game_id not in locked:
            assert written == []
            locked.append(game_id)
            most.add(tuple(locked))
        return lock(session, game_id, skip_locked)

    def begin(*_connection: Any) -> None:
        written.clear()
        locked.clear()

    def execute(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        written.extend([statement] if statement.startswith(("UPDATE", "INSERT")) else [])

    lock = log.lock
    monkeypatch.setattr(log, "lock", note_lock)
    ears = (("begin", begin), ("before_cursor_execute", execute))
    for heard, ear in ears:
        event.listen(engine.db.engine, heard, ear)
    try:
        if how == "bounced":
            deliverability.handle_bounce(sent_digest(), quoted("550 gone"), SEVEN)
        else:
            change(Person, games[0].people[1], suppressed=quoted("gone") if how == "withheld" else None)
            deliver.deliver(SEVEN, FakeMailer(PermanentFailure("550 gone")))
    finally:
        for heard, ear in ears:
            event.remove(engine.db.engine, heard, ear)
    assert [row(Turn, (game.id, 1)).refused is None for game in games] == [False, False]
    assert ("one", "two") in most


def test_only_who_wants_it_is_reminded(table: Begin) -> None:
    games = [table(3, game_id=name, allowance=3600) for name in ("each", "once")]
    send_waiting(NOW)
    later = NOW + timedelta(minutes=48)
    change(Person, games[0].people[0], cadence="once")
    assert jobs.tick_reminders(later) == 0
    change(Person, games[0].people[0], cadence="each")
    change(Turn, ("each", 0), remind_at=later)
    assert jobs.tick_reminders(later) == 1


def test_who_gives_up_the_digest_is_mailed_the_turns_that_none_has_named(table: Begin) -> None:
    game = late_joiner(table)
    subscriptions.set_cadence(game.people[1], "once", NOW + HOUR)
    (message,) = send_waiting(NOW + HOUR)
    assert str(message["To"]) == "Bob <bob@example.org>"
    assert row(Turn, (game.id, 1)).started_at == NOW + HOUR
    subscriptions.set_cadence(game.people[1], "digest", NOW + HOUR)
    subscriptions.set_cadence(game.people[1], "each", NOW + HOUR)
    assert send_waiting(NOW + 2 * HOUR) == []


def test_the_link_in_a_digest_stops_all_mail_with_one_click_and_offers_less(table: Begin, client) -> None:
    game = late_joiner(table)
    jobs.tick_digests(SEVEN, TICK)
    (message,) = send_waiting(SEVEN)
    address = message["List-Unsubscribe"].strip("<>").removeprefix("https://byzanz.test")
    bob = game.people[1]
    assert "One email a day" in client.get(address).text
    assert client.post(address, data={"do": "cadence", "cadence": "once"}).status_code == 200
    assert row(Person, bob).cadence == "once"
    for wrong in ({"cadence": "hourly"}, {"cadence": "each", "talk": "loud"}):
        assert client.post(address, data={"do": "cadence", **wrong}).status_code == 400
    assert (row(Person, bob).cadence, row(Person, bob).talk) == ("once", "turns")
    assert client.post(address, data={"do": "game"}).status_code == 400
    assert client.post(address, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert (row(Person, bob).silent, row(Person, bob).cadence) == (True, "once")
    login.mail_sign_in("bob@example.org", SEVEN)
    assert [message["Subject"] for message in send_waiting(SEVEN)] == ["Your Byzanz sign-in link"]


def test_the_digest_comes_at_the_end_of_quiet_hours(table: Begin) -> None:
    late_joiner(table, quiet_from=23 * 60 + 30, quiet_to=9 * 60 + 30, time_zone="Europe/Amsterdam")
    half_past_eight = SEVEN.replace(hour=8, minute=30)
    assert jobs.tick_digests(half_past_eight - timedelta(seconds=1), TICK) == 0
    assert jobs.tick_digests(half_past_eight, TICK) == 1


def test_a_paused_game_is_named_in_no_digest_and_its_clocks_do_not_start(table: Begin) -> None:
    game = late_joiner(table)
    play.moderate(game.id, "!pause", reason="a break", person_id=outsider(), now=NOW)
    assert jobs.tick_digests(SEVEN, TICK) == 0
    assert digest.start_overdue_clocks(SEVEN + 24 * HOUR) == 0


@limits(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(
        ["UTC", "Europe/Amsterdam", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
    ),
    minute=st.integers(0, 1439),
    now=st.integers(0, 366 * 86400).map(
        lambda second: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    ),
)
def test_the_last_hour_is_within_a_day_and_its_days_follow_each_other(
    zone: str, minute: int, now: datetime
) -> None:
    day, at = digest.last_occurrence(zone, minute, now)
    assert now - timedelta(hours=25, minutes=30) < at <= now
    before, earlier = digest.last_occurrence(zone, minute, at - timedelta(microseconds=1))
    assert (day - before, earlier < at) == (timedelta(days=1), True)
    assert isinstance(day, date)


def test_a_digest_that_cannot_read_one_game_names_the_others(table: Begin) -> None:
    games = [table(3, game_id=name) for name in ("one", "two")]
    wants_digest(games[0], 1)
    for game in games:
        submit(game.id, 0, "pass")
    change(Game, "one", rules=99)
    jobs.tick_digests(SEVEN, TICK)
    (message,) = send_waiting(SEVEN)
    assert games[1].tokens[1] in text_of(message)
    assert games[0].tokens[1] not in text_of(message)


@pytest.mark.parametrize("cadence", ["each", "once", "digest"])
def test_the_account_page_shows_and_keeps_the_choice(table: Begin, client, cadence: str) -> None:
    game = table(3)
    log_in(client, game.people[0], "https://byzanz.test")
    page = client.get("/account", base_url="https://byzanz.test").text
    token = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert token is not None
    fields = {"csrf_token": token[1], "do": "save", "name": "Alice", "cadence": cadence, "talk": "never"}
    headers = {"Referer": "https://byzanz.test/account"}
    answer = client.post("/account", data=fields, base_url="https://byzanz.test", headers=headers)
    assert answer.status_code == 303
    page = client.get("/account", base_url="https://byzanz.test").text
    assert f'value="{cadence}" checked' in page
    assert 'name="talk" value="never" checked' in page
    assert "no later than 24 hours after the turn began" in page
