"""Rejected, bounced and unwanted emails: the reason is stored, shown, and told to those in charge of the game."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from flask.testing import FlaskClient
from sqlalchemy import select

from server import play
from server.errors import Refused
from server.mail import deliverability
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.mail.text import quoted
from server.play import turns
from server.play.powers import Conflict
from server.store import engine, facts, links, log, outbox, people
from server.store.facts import Fact
from server.store.models import Alert, LinkPurpose, Mail, Person, Seat, Turn
from tests.conftest import NOW, Table
from tests.support.games import appoint, change, outsider, row, submit
from tests.support.lobby import everything
from tests.support.mail_servers import FakeMailer
from tests.support.mails import awaited, bold_move, one_database, queue, send_waiting, text_of, the_mail
from tests.support.pages import sign_in

Begin = Callable[..., Table]
pytestmark = one_database
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
GONE = quoted("550 gone")


def alerts() -> list[tuple[str, str, str | None]]:
    """Return the key, the text and the game of each open alert."""
    with engine.reading() as session:
        found = session.scalars(select(Alert).where(Alert.cleared_at.is_(None)).order_by(Alert.id))
        return [(alert.key, str(alert.text), alert.game_id) for alert in found]


def notices(game: Table) -> list[tuple[int, dict[str, Any]]]:
    """Return to whom the failures in a game were told, and what."""
    with engine.reading() as session:
        own = (Mail.kind == "refused", Mail.game_id == game.id)
        found = session.scalars(select(Mail).where(*own).order_by(Mail.person_id))
        return [(mail.person_id, json.loads(mail.details)) for mail in found]


def refuse(game: Table, seat: int, why: str = "550 5.1.1 no such user") -> Mail:
    """Queue an email to a player, which the mail server rejects."""
    queue("act", game.people[seat], f"refused-{seat}", game_id=game.id, seat=seat, seq=1)
    deliver.deliver(NOW, FakeMailer(*[PermanentFailure(why)] * 9))
    with engine.reading() as session:
        return session.query(Mail).filter_by(key=f"refused-{seat}").one()


def test_the_reason_of_a_rejection_is_kept_and_told(table: Begin) -> None:
    game = table(3)
    send_waiting()
    mail = refuse(game, 1)
    said = quoted("550 5.1.1 no such user")
    assert (mail.status, mail.error) == ("failed", said)
    assert row(Person, game.people[1]).unreachable == said
    rejected = f"The mail server rejects a player’s address: {said}"
    assert alerts() == [(f"refused:{game.id}:{game.people[1]}", rejected, game.id)]
    expected = {"name": "Bob", "error": facts.stored(said), "stopped": False}
    assert notices(game) == [(game.people[0], expected)]
    (message,) = send_waiting(NOW + MINUTE)
    assert "The server said: 550 5.1.1 no such user" in text_of(message)
    assert "The clock is stopped" not in text_of(message)


def test_a_rejected_player_is_told_by_the_name_at_the_table(table: Begin) -> None:
    game = table(3)
    send_waiting()
    change(Person, game.people[1], name="nobody")
    refuse(game, 1)
    assert [details["name"] for _reader, details in notices(game)] == ["Bob"]


def test_a_reason_of_ours_is_told_in_the_readers_language(table: Begin) -> None:
    game = table(3)
    send_waiting()
    change(Person, game.people[0], language="de")
    queue("act", game.people[1], game_id=game.id, seat=1, seq=1)
    deliver.deliver(NOW, FakeMailer(PermanentFailure(Fact("bad_address"))))
    (message,) = send_waiting(NOW + MINUTE)
    assert "die Adresse ist ungültig" in text_of(message)


def test_those_in_charge_are_not_told_of_their_own_address(table: Begin) -> None:
    game = table(3)
    refuse(game, 0)
    assert notices(game) == []
    assert len(alerts()) == 1


def test_a_rejected_mail_about_no_game_is_told_to_nobody(table: Begin) -> None:
    game = table(3)
    send_waiting()
    queue("signin", game.people[1], "signin")
    with engine.transaction() as session:
        (mail,) = outbox.find(session, Mail.key == "signin")
        deliverability.delivery_failed(session, (), mail, GONE, NOW)
    assert row(Person, game.people[1]).unreachable == GONE
    assert (alerts(), notices(game)) == ([], [])


def test_a_withheld_turn_stops_and_is_told_once_a_game(table: Begin) -> None:
    game = table(3)
    change(Person, game.people[0], suppressed=GONE)
    with engine.transaction() as session:
        session.get_one(Person, game.people[2]).moderator = True
    deliver.deliver(NOW, FakeMailer())
    assert row(Turn, (game.id, 0)).refused == GONE
    key = f"refused:{game.id}:{game.people[0]}"
    before = "A player gets no emails because an earlier one was rejected: 550 gone"
    assert alerts() == [(key, before, game.id)]
    told = [(game.people[2], {"name": "Alice", "error": facts.stored(GONE), "stopped": True})]
    assert notices(game) == told
    queue("act", game.people[0], "news", game_id=game.id, seat=0, seq=1)
    queue("remind", game.people[0], "remind", game_id=game.id, seat=0, seq=1)
    change(Turn, (game.id, 0), due_at=NOW + DAY)
    send_waiting(NOW + MINUTE)
    sent: list[tuple[int, dict[str, Any]]] = [
        (person, {}) for person, _details in told
    ]  # what only the template needed is emptied
    assert (notices(game), len(alerts())) == (sent, 1)


def test_news_that_is_withheld_is_told_to_nobody(table: Begin) -> None:
    game = table(3)
    send_waiting()
    change(Person, game.people[1], suppressed=GONE)
    queue("act", game.people[1], game_id=game.id, seat=1, seq=1)
    assert send_waiting(NOW + MINUTE) == []
    assert (alerts(), notices(game)) == ([], [])


# Bounces and complaints


def test_a_bounce_counts_once_and_only_of_a_mail_of_ours(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    send_waiting()
    assert deliverability.handle_bounce(10**6, GONE, NOW) is None
    found = deliverability.handle_bounce(mail.id, GONE, NOW + MINUTE)
    assert found is not None
    assert found.id == mail.id
    assert (row(Mail, mail.id).status, row(Mail, mail.id).error) == ("failed", GONE)
    assert row(Person, game.people[0]).suppressed == row(Person, game.people[0]).unreachable == GONE
    assert deliverability.handle_bounce(mail.id, quoted("551 other"), NOW + DAY) is not None
    assert row(Person, game.people[0]).suppressed == GONE
    assert [row(Person, person).suppressed for person in game.people[1:]] == [None, None]


def test_reports_count_for_a_week_after_the_mail_was_sent(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    send_waiting()
    late = NOW + deliverability.REPORT_WINDOW
    deliverability.handle_bounce(mail.id, GONE, late)
    deliverability.handle_complaint(mail.id, quoted("abuse"), late)
    assert row(Person, game.people[0]).suppressed is None
    deliverability.handle_bounce(mail.id, GONE, late - timedelta(seconds=1))
    assert row(Person, game.people[0]).suppressed == GONE


def test_a_complaint_suppresses_mail_and_alerts_but_stops_no_clock(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    send_waiting()
    assert deliverability.handle_complaint(10**6, GONE, NOW) is None
    assert deliverability.handle_complaint(mail.id, quoted("abuse"), NOW) is not None
    person = row(Person, game.people[0])
    assert (str(person.suppressed), person.unreachable) == ("complaint: abuse", None)
    unwanted = "Someone marked one of our emails as spam and gets no more of them: abuse"
    assert alerts() == [(f"complaint:{game.people[0]}", unwanted, game.id)]
    assert row(Turn, (game.id, 0)).refused is None
    assert row(Mail, mail.id).status == "sent"


def test_a_report_about_a_dropped_mail_counts_for_nothing(table: Begin) -> None:
    game = table(3)
    mail = the_mail(game)
    change(Mail, mail.id, status="dropped", finished_at=NOW)
    deliverability.handle_bounce(mail.id, GONE, NOW)
    deliverability.handle_complaint(mail.id, GONE, NOW)
    assert (row(Mail, mail.id).status, row(Person, game.people[0]).suppressed) == ("dropped", None)


def test_a_newer_copy_excuses_the_older_one_of_the_same_turn_alone(table: Begin) -> None:
    game = table(3)
    first = the_mail(game)
    send_waiting()
    about: dict[str, Any] = {"game_id": game.id, "seat": 0}
    queue("turn", game.people[0], "another turn", **about, seq=9)
    queue("act", game.people[0], "another kind", **about, seq=1)
    queue("turn", game.people[1], "another seat", game_id=game.id, seat=1, seq=1)
    queue("turn", game.people[0], "dropped", **about, seq=1)
    with engine.transaction() as session:
        session.query(Mail).filter_by(key="dropped").one().status = "dropped"
        news = session.query(Mail).filter_by(key="another kind").one().id
    queue("turn", game.people[0], "copy", **about, seq=1)
    deliverability.handle_bounce(first.id, GONE, NOW)
    assert row(Mail, first.id).status == "sent"
    with engine.transaction() as session:
        session.delete(session.query(Mail).filter_by(key="copy").one())
    deliverability.handle_bounce(first.id, GONE, NOW)
    assert row(Mail, first.id).status == "failed"
    deliverability.handle_bounce(news, GONE, NOW)
    assert row(Mail, news).status == "failed"


def test_a_reminder_is_excused_by_a_newer_copy_of_its_turns_mail(table: Begin) -> None:
    game = table(3)
    send_waiting()
    about: dict[str, Any] = {"game_id": game.id, "seat": 0, "seq": 1}
    queue("remind", game.people[0], "reminder", **about)
    queue("turn", game.people[0], "copy", **about)
    with engine.reading() as session:
        reminder = session.query(Mail).filter_by(key="reminder").one().id
    deliverability.handle_bounce(reminder, GONE, NOW)
    assert row(Person, game.people[0]).suppressed is None
    assert row(Turn, (game.id, 0)).refused is None


# Addresses that work again


def test_an_address_that_works_again_clears_what_was_said_of_it_in_all_its_games(table: Begin) -> None:
    games = [table(3, game_id="one"), table(3, game_id="two")]
    alice, bob = games[0].people[:2]
    for game in games:
        for seat in (0, 1):
            queue("act", game.people[seat], f"{game.id}-{seat}", game_id=game.id, seat=seat, seq=1)
    deliver.deliver(NOW, FakeMailer(*[PermanentFailure("550 gone")] * 9))
    with engine.reading() as session:
        failed = session.query(Mail).filter_by(key="one-1").one()
    change(Mail, failed.id, status="sent")
    deliverability.handle_complaint(failed.id, quoted("abuse"), NOW)
    assert len(alerts()) == 5
    assert deliverability.mark_reachable(bob, NOW + MINUTE)
    assert (row(Person, bob).unreachable, row(Person, bob).suppressed) == (None, None)
    assert {key for key, _text, _game in alerts()} == {f"refused:{game.id}:{alice}" for game in games}
    assert row(Person, alice).unreachable == GONE
    assert not deliverability.mark_reachable(bob, NOW + MINUTE)


def test_an_address_that_works_again_is_mailed_its_stopped_turn(table: Begin) -> None:
    game = table(3)
    deliver.deliver(NOW, FakeMailer(PermanentFailure("550 gone")))
    assert row(Turn, (game.id, 0)).refused == GONE
    assert deliverability.mark_reachable(game.people[0], NOW + MINUTE)
    assert row(Turn, (game.id, 0)).refused is None
    texts = [text_of(message) for message in send_waiting(NOW + MINUTE) if "Alice" in message["To"]]
    assert any("Bid for the lot, or pass." in text for text in texts)
    assert row(Turn, (game.id, 0)).started_at == NOW + MINUTE


def test_an_address_is_mended_whichever_way_it_failed(table: Begin) -> None:
    game = table(3)
    for fault in ("unreachable", "suppressed"):
        change(Person, game.people[0], **{fault: GONE})
        assert deliverability.mark_reachable(game.people[0], NOW)
        assert getattr(row(Person, game.people[0]), fault) is None


# Bounces that anybody who has the mail can write


def bounce(game: Table, seat: int, now: datetime) -> None:
    """Report that the newest email of a seat's turn came back, if it has not yet been reported."""
    with engine.reading() as session:
        own = (Mail.kind == "turn", Mail.game_id == game.id, Mail.seat == seat, Mail.status == "sent")
        mail = session.scalars(select(Mail).where(*own).order_by(Mail.id.desc())).first()
    if mail is not None:
        deliverability.handle_bounce(mail.id, GONE, now)


def next_turn(game: Table, now: datetime) -> None:
    """Let both players move until it is the first one's turn again, and send the emails."""
    submit(game.id, 0, bold_move(game.id, 0), now)
    while awaited(game.id) != 0:
        submit(game.id, 1, bold_move(game.id, 1), now)
    send_waiting(now)


def test_bounces_stop_a_seats_clock_twice_a_game_and_once_a_turn(table: Begin) -> None:
    """A player who writes such reports about every turn is soon played for like anybody who does not answer."""
    game = table(2, slug="byzantium")
    send_waiting()
    now, stopped = NOW, []
    for _ in range(4):
        bounce(game, 0, now + MINUTE)
        stopped.append(row(Turn, (game.id, 0)).refused is not None)
        deliverability.mark_reachable(game.people[0], now + 2 * MINUTE)
        send_waiting(now + 2 * MINUTE)
        bounce(game, 0, now + 3 * MINUTE)
        stopped.append(row(Turn, (game.id, 0)).refused is not None)
        deliverability.mark_reachable(game.people[0], now + 4 * MINUTE)
        now += timedelta(hours=1)
        next_turn(game, now)
    assert stopped == [True, False, True, False, False, False, False, False]
    assert row(Turn, (game.id, 0)).due_at == now + DAY
    with engine.reading() as session:
        notes = [entry for entry in log.entries(session, game.id) if entry.move == "!note"]
    assert [(entry.seat, entry.by) for entry in notes] == [(0, "clock")]
    assert (
        notes[0].note == "Mail to this player keeps coming back. From now on their clock runs nevertheless."
    )


def test_a_turn_whose_mail_is_withheld_for_the_third_time_runs_at_once(table: Begin) -> None:
    """A reported address gets no turn emails, so the clock cannot wait for one for ever."""
    game = table(2, slug="byzantium")
    send_waiting()
    bounce(game, 0, NOW + MINUTE)
    now, states = NOW, []
    for _ in range(3):
        now += timedelta(hours=1)
        next_turn(game, now)
        turn = row(Turn, (game.id, 0))
        states.append((turn.refused is not None, turn.due_at))
    assert states == [(True, None), (False, NOW + timedelta(hours=26)), (False, NOW + timedelta(hours=27))]


def test_what_a_mail_server_refuses_counts_only_once_the_clock_runs(table: Begin) -> None:
    """The first email of a turn was never accepted, so nobody had it; a reminder follows one that was."""
    game = table(3)
    for hour in range(5):
        deliver.deliver(NOW + timedelta(hours=hour), FakeMailer(*[PermanentFailure("550 gone")] * 9))
        assert row(Turn, (game.id, 0)).refused is not None
        assert deliverability.mark_reachable(game.people[0], NOW + timedelta(hours=hour))
    assert row(Seat, (game.id, 0)).bounces == 0
    send_waiting(NOW + timedelta(hours=6))
    for number in (1, 2):
        queue("remind", game.people[0], f"reminder {number}", game_id=game.id, seat=0, seq=1)
        deliver.deliver(NOW + timedelta(hours=7), FakeMailer(*[PermanentFailure("550 gone")] * 9))
        assert (row(Turn, (game.id, 0)).refused is not None) is (number == 1)
        deliverability.mark_reachable(game.people[0], NOW + timedelta(hours=7))
        send_waiting(NOW + timedelta(hours=7))
    assert row(Seat, (game.id, 0)).bounces == 1


@pytest.mark.parametrize("cadence", ["each", "digest"])
def test_a_digest_that_comes_back_counts_like_any_email(table: Begin, cadence: str) -> None:
    game = table(3)
    send_waiting()
    change(Person, game.people[0], cadence=cadence)
    change(Seat, (game.id, 0), bounces=2)
    with engine.transaction() as session:
        failed = play.digest_failed(session, [(game.id, 0, 1)], GONE, NOW, bounced=True)
    assert failed == []
    assert row(Turn, (game.id, 0)).refused is None
    change(Seat, (game.id, 0), bounces=0)
    with engine.transaction() as session:
        assert play.digest_failed(session, [(game.id, 0, 1)], GONE, NOW, bounced=True) == [game.id]
    assert (row(Turn, (game.id, 0)).refused, row(Seat, (game.id, 0)).bounces) == (GONE, 1)


MOVE = {"move": "pass", "seen": 1, "request_id": "request-1"}
TOUCHED = {"X-Touched": "yes"}
SIGNS: dict[str, tuple[bool, str, str, dict[str, Any]]] = {
    "a move": (True, "POST", "/t/{seat}", {"data": MOVE}),
    "a program's move": (True, "POST", "/api/v1/seats/{seat}/moves", {"json": MOVE}),
    "words": (True, "POST", "/t/{seat}/say", {"data": {"text": "Hello", "request_id": "words-1"}}),
    "notes": (True, "POST", "/t/{seat}/notes", {"data": {"notes": "trust nobody"}}),
    "a page in use": (True, "GET", "/t/{seat}/head", {"headers": TOUCHED}),
    "a page": (False, "GET", "/t/{seat}", {}),
    "a page's script": (False, "GET", "/t/{seat}/head", {}),
    "the head of its answer": (False, "HEAD", "/t/{seat}/head", {"headers": TOUCHED}),
    "a header on a page": (False, "GET", "/t/{seat}", {"headers": TOUCHED}),
    "a header of a program": (False, "GET", "/api/v1/seats/{seat}", {"headers": TOUCHED}),
    "a program that reads": (False, "GET", "/api/v1/seats/{seat}", {}),
    "the head of a page": (False, "HEAD", "/t/{seat}", {}),
    "a feed": (False, "GET", "/feed/{feed}.ics", {}),
    "a mail program's unsubscribing": (False, "POST", "/u/{stop}", {}),
    "another seat": (False, "POST", "/t/{beside}/notes", {"data": {"notes": "x"}}),
    "another table": (False, "GET", "/t/{elsewhere}/head", {"headers": TOUCHED}),
}
"""Requests after an email was accepted, and whether they show that its reader is at the table."""


@pytest.mark.parametrize("sign", SIGNS)
def test_who_was_at_the_table_after_the_email_was_accepted_has_an_address_that_works(
    table: Begin, client: FlaskClient, sign: str
) -> None:
    game = table(3)
    other = table(3, "other")
    tokens = {"seat": game.tokens[0], "beside": game.tokens[1], "elsewhere": other.tokens[0]}
    tokens |= {"feed": token_of("feed", game.people[0]), "stop": token_of("stop", game.people[0], game.id)}
    people.note(game.people[0], NOW - MINUTE, game.id)
    people.store()
    mail = the_mail(game)
    send_waiting()
    there, method, path, how = SIGNS[sign]
    with time_machine.travel(NOW + MINUTE, tick=False):
        answer = client.open(path.format(**tokens), method=method, **how)
    assert answer.status_code < 400
    people.store()
    deliverability.handle_bounce(mail.id, GONE, NOW + 2 * MINUTE)
    assert (row(Person, game.people[0]).suppressed is None) is there
    assert (row(Mail, mail.id).status == "sent") is there


@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_only_what_comes_after_the_email_shows_anything(table: Begin, seconds: int) -> None:
    game = table(3)
    mail = the_mail(game)
    send_waiting()
    people.note(game.people[0], NOW + timedelta(seconds=seconds), game.id)
    people.store()
    deliverability.handle_bounce(mail.id, GONE, NOW + MINUTE)
    assert (row(Person, game.people[0]).suppressed is None) is (seconds > 0)


def test_signing_in_alone_shows_nothing(table: Begin, client: FlaskClient) -> None:
    game = table(3)
    mail = the_mail(game)
    send_waiting()
    with time_machine.travel(NOW + MINUTE, tick=False):
        sign_in(client, "alice@example.org")
        assert client.get("/account").status_code == 200
    people.store()
    deliverability.handle_bounce(mail.id, GONE, NOW + 2 * MINUTE)
    assert row(Person, game.people[0]).suppressed is not None


def token_of(purpose: str, person_id: int, game_id: str | None = None) -> str:
    with engine.transaction() as session:
        return links.token(links.link_for(session, LinkPurpose(purpose), person_id, game_id, NOW))


# Failures that may pass


SILENT = quoted("4.4.1 connect to mx.example.org: connection refused")
LATER = NOW + MINUTE + deliverability.RETRY_AFTER


def give_up(game: Table, seat: int, now: datetime) -> None:
    """Report that the newest email of a seat's turn was not taken in time."""
    with engine.reading() as session:
        own = (Mail.kind == "turn", Mail.game_id == game.id, Mail.seat == seat, Mail.status == "sent")
        mail = session.scalars(select(Mail).where(*own).order_by(Mail.id.desc())).first()
    assert mail is not None
    deliverability.handle_bounce(mail.id, SILENT, now, cause="expired")


def test_a_mail_that_was_not_taken_in_time_is_sent_again_hours_later(table: Begin) -> None:
    game = table(3)
    send_waiting()
    give_up(game, 0, NOW + MINUTE)
    alice = row(Person, game.people[0])
    assert (alice.suppressed, alice.lost_at, alice.retry_at) == (None, NOW + MINUTE, LATER)
    why = f"not delivered in time, next attempt 2026-03-02 22:01 UTC: {SILENT}"
    assert str(alice.unreachable) == str(row(Turn, (game.id, 0)).refused) == why
    silent = f"A player’s mail server did not take an email in time: {why}"
    assert alerts() == [(f"refused:{game.id}:{alice.id}", silent, game.id)]
    assert deliverability.retry_due(LATER - timedelta(seconds=1)) == 0
    assert send_waiting(LATER - MINUTE) == []
    assert deliverability.retry_due(LATER) == 1
    alice = row(Person, game.people[0])
    assert (alice.unreachable, alice.lost_at, alice.retry_at) == (None, None, None)
    assert alerts() == []
    assert len(send_waiting(LATER)) == 1
    turn = row(Turn, (game.id, 0))
    assert (turn.refused, turn.started_at, turn.due_at) == (None, LATER, LATER + DAY)
    assert deliverability.retry_due(LATER) == 0


def test_the_organiser_is_told_that_it_may_pass_and_when_it_is_tried_again(table: Begin) -> None:
    game = table(2, slug="byzantium")
    send_waiting()
    change(Person, game.people[0], language="de")
    submit(game.id, 0, bold_move(game.id, 0), NOW)
    while awaited(game.id) != 1:
        submit(game.id, 0, bold_move(game.id, 0), NOW)
    send_waiting(NOW)
    give_up(game, 1, NOW + MINUTE)
    (message,) = send_waiting(NOW + 2 * MINUTE)
    text = text_of(message)
    assert "4.4.1 connect to mx.example.org" in text
    assert "dauerhaft" not in text
    assert "2. März, 22:01 (UTC)" in text
    change(Person, game.people[0], language="en")
    deliverability.retry_due(LATER)
    send_waiting(LATER)
    give_up(game, 1, LATER + MINUTE)  # a clock is stopped once a turn
    (message,) = send_waiting(LATER + 2 * MINUTE)
    assert "Later emails are sent as usual." in text_of(message)
    assert "clock is stopped" not in text_of(message)


def test_another_mail_that_is_accepted_meanwhile_proves_nothing(table: Begin) -> None:
    game = table(3)
    send_waiting()
    give_up(game, 0, NOW + MINUTE)
    queue("act", game.people[0], "news", game_id=game.id, seat=0, seq=1)
    assert len(send_waiting(NOW + 2 * MINUTE)) == 1
    assert row(Person, game.people[0]).retry_at == LATER
    assert row(Turn, (game.id, 0)).refused is not None


def test_a_lasting_failure_outweighs_one_that_may_pass(table: Begin) -> None:
    game, other = table(3), table(3, game_id="two")
    send_waiting()
    give_up(game, 0, NOW + MINUTE)
    bounce(other, 0, NOW + 2 * MINUTE)
    for _ in range(2):
        alice = row(Person, game.people[0])
        assert (alice.unreachable, alice.suppressed, alice.retry_at) == (GONE, GONE, None)
        assert alice.lost_at == NOW + MINUTE
        queue("act", game.people[0], "late", game_id=game.id, seat=0, seq=1)
        change(Mail, mail_of("late"), status="sent", finished_at=NOW)
        deliverability.handle_bounce(mail_of("late"), SILENT, NOW + 3 * MINUTE, cause="expired")


def mail_of(key: str) -> int:
    """Return the id of the email with this key."""
    with engine.reading() as session:
        return session.query(Mail).filter_by(key=key).one().id


def test_after_an_outage_of_our_mail_server_all_addresses_are_mended_at_once(table: Begin) -> None:
    game, other = table(3), table(3, game_id="two")
    old, moderator = other.people[2], outsider()
    change(Person, old, unreachable=GONE, lost_at=NOW - DAY)
    change(Person, game.people[1], suppressed=Fact("complaint", {"said": GONE}), lost_at=NOW)
    send_waiting()
    bounce(game, 0, NOW + MINUTE)
    give_up(other, 0, NOW + MINUTE)
    assert deliverability.mend_all(NOW, moderator, "Our relay was down.", NOW + 2 * MINUTE) == 1
    assert row(Person, game.people[0]).suppressed is row(Person, game.people[0]).unreachable is None
    assert row(Person, old).unreachable == GONE
    assert row(Person, game.people[1]).suppressed is not None
    for each in (game, other):
        with engine.reading() as session:
            (note,) = [entry for entry in log.entries(session, each.id) if entry.move == "!note"]
        assert (note.by, note.note) == ("moderator", "Our relay was down.")
        assert row(Turn, (each.id, 0)).refused is None
    turns = [mail for mail in send_waiting(NOW + 3 * MINUTE) if "Alice" in mail["To"]]
    assert len(turns) == 2
    assert deliverability.mend_all(NOW, moderator, "Our relay was down.", NOW + 3 * MINUTE) == 0


def test_nothing_is_mended_without_a_reason(table: Begin) -> None:
    game = table(3)
    send_waiting()
    bounce(game, 0, NOW + MINUTE)
    with pytest.raises(Refused):
        deliverability.mend_all(NOW, game.people[1], "", NOW + 2 * MINUTE)
    assert row(Person, game.people[0]).suppressed == GONE


def test_nothing_is_mended_by_a_moderator_who_plays_where_a_clock_stands(table: Begin) -> None:
    game = table(3)
    appoint(game.people[1], outsider())
    send_waiting()
    bounce(game, 0, NOW + MINUTE)
    before = everything()
    with pytest.raises(Conflict):
        deliverability.mend_all(NOW, game.people[1], "Our relay was down.", NOW + 2 * MINUTE)
    assert everything() == before


# What servers have against us


BLOCKED = quoted("554 5.7.1 Client host blocked using zen.spamhaus.org")
SENTENCE = "A mail server refuses our emails because of this server, not of their reader: "


def object_to_us(game: Table, seat: int, now: datetime) -> None:
    """Report that a filter refused the newest email of a seat's turn."""
    with engine.reading() as session:
        own = (Mail.kind == "turn", Mail.game_id == game.id, Mail.seat == seat, Mail.status == "sent")
        mail = session.scalars(select(Mail).where(*own).order_by(Mail.id.desc())).first()
    if mail is not None:
        deliverability.handle_bounce(mail.id, BLOCKED, now, cause="ours")


def test_what_is_our_fault_suppresses_nobody_and_alerts_the_operator_once(table: Begin) -> None:
    game, other = table(3), table(3, game_id="two")
    send_waiting()
    for each in (game, other):
        object_to_us(each, 0, NOW + MINUTE)
    alice = row(Person, game.people[0])
    assert (alice.suppressed, alice.retry_at) == (None, LATER)
    assert alerts() == [("mail-blocked", f"{SENTENCE}{BLOCKED}", None)]
    assert row(Turn, (game.id, 0)).refused is not None
    assert notices(game) == []  # the organiser is Alice
    assert deliverability.retry_due(LATER) == 1
    assert len(send_waiting(LATER)) == 2
    assert row(Turn, (game.id, 0)).due_at == LATER + DAY


def test_the_organiser_learns_that_the_player_did_nothing_wrong(table: Begin) -> None:
    game = table(3)
    send_waiting()
    mail = refuse(game, 1, "550 5.7.26 DMARC policy of reject")
    assert mail.status == "failed"
    assert [alert[0] for alert in alerts()] == ["mail-blocked"]
    (message,) = send_waiting(NOW + MINUTE)
    assert "Bob did nothing wrong" in text_of(message)
    assert "permanently rejected" not in text_of(message)


def test_forged_reports_about_us_stop_no_more_than_bounces_do(table: Begin) -> None:
    game = table(2, slug="byzantium")
    send_waiting()
    now, stopped = NOW, []
    for _ in range(4):
        object_to_us(game, 0, now + MINUTE)
        stopped.append(row(Turn, (game.id, 0)).refused is not None)
        deliverability.mark_reachable(game.people[0], now + 2 * MINUTE)
        send_waiting(now + 2 * MINUTE)
        object_to_us(game, 0, now + 3 * MINUTE)
        stopped.append(row(Turn, (game.id, 0)).refused is not None)
        deliverability.mark_reachable(game.people[0], now + 4 * MINUTE)
        now += timedelta(hours=1)
        next_turn(game, now)
    assert stopped == [True, False, True, False, False, False, False, False]


@pytest.mark.parametrize(
    ("said", "alerted"),
    [
        ("552 5.2.2 Mailbox full", False),
        ("550 4.4.7 Delivery expired", True),
        ("554 5.7.1 blocked using zen.spamhaus.org", True),
    ],
)
def test_a_refusal_at_once_that_may_pass_is_tried_again_and_ends_after_72_hours(
    table: Begin, said: str, alerted: bool
) -> None:
    game = table(3)
    now = NOW
    for _ in range(6):
        deliver.deliver(now, FakeMailer(PermanentFailure(said)))
        turn, alice = row(Turn, (game.id, 0)), row(Person, game.people[0])
        assert (turn.refused is not None, turn.refused_at) == (True, NOW)
        assert alice.suppressed is None
        assert bool(alerts()) is alerted
        now += deliverability.RETRY_AFTER
        assert deliverability.retry_due(now) == 1
    with engine.reading() as session:
        assert [turn.seat for turn in turns.unreachable(session, NOW + timedelta(hours=72), 9)] == [0]
    assert play.give_up(game.id, 0, turn.question, NOW + timedelta(hours=72)) is not None
    assert row(Seat, (game.id, 0)).autopilot


def test_a_server_that_makes_us_wait_because_of_us_alerts_too(table: Begin) -> None:
    game = table(3)
    busy, slow = "451 4.3.2 try again later", "421 4.7.28 unusual rate of unsolicited mail: rate limited"
    deliver.deliver(NOW, FakeMailer(TemporaryFailure(busy)))
    assert alerts() == []
    deliver.deliver(NOW + MINUTE, FakeMailer(TemporaryFailure(slow)))
    assert [alert[0] for alert in alerts()] == ["mail-blocked"]
    assert row(Person, game.people[0]).unreachable is None
    assert len(send_waiting(NOW + timedelta(hours=1))) == 1


def test_a_full_mailbox_raises_no_alert(table: Begin) -> None:
    game = table(3)
    send_waiting()
    with engine.reading() as session:
        own = (Mail.kind == "turn", Mail.seat == 0, Mail.game_id == game.id)
        mail = session.scalars(select(Mail).where(*own)).one()
    deliverability.handle_bounce(mail.id, quoted("552 5.2.2 over quota"), NOW + MINUTE, cause="expired")
    assert alerts() == []
    assert row(Turn, (game.id, 0)).refused is not None
    assert row(Person, game.people[0]).retry_at == LATER
