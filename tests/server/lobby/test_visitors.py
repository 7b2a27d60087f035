"""Visitors' games: no address, no clock, no email, a limit, an end after a week, and a person who keeps one."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from byzanz.games import latest
from server import play
from server.errors import Closed, InvalidInput, NoSuchLink, TooMany
from server.lobby import visitors
from server.mail import subscriptions
from server.mail.outgoing import digest
from server.mail.outgoing.deliver import deliver
from server.play.moderation import has_looked
from server.scheduler import jobs
from server.store import engine, links, log, operations
from server.store.links import SeatAccess
from server.store.models import Alert, Game, Link, Mail, Person, Turn
from server.validation import Guest
from server.web.moderation import desk
from tests.support.games import outsider
from tests.support.lobby import game_of, mails, seats_of
from tests.support.mail_servers import FakeMailer
from tests.support.neighbour_game import elsewhere

pytestmark = pytest.mark.usefixtures("app")
ANN = "ann@example.org"


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs trust the clock although no heartbeats are written."""
    monkeypatch.setattr(operations, "enforced_until", lambda _session, now, _tick: now)


def access_by(token: str, now: datetime) -> SeatAccess | None:
    with engine.reading() as session:
        return links.seat_access(session, token, now)


def started(now: datetime, slug: str = "byzantium") -> tuple[str, str]:
    """Start a visitor's game; return its id and the token of its seat."""
    token = visitors.start(slug, "Guest", now, "de")
    access = access_by(token, now)
    assert access is not None
    return access.game.id, token


def keep_token(game_id: str, now: datetime, address: str = ANN) -> str:
    """Ask to keep a game; return the token that the email carries."""
    visitors.mail_keep_link(game_id, address, now)
    with engine.reading() as session:
        mail = session.scalars(select(Mail).where(Mail.kind == "keep").order_by(Mail.id.desc())).first()
        assert mail is not None
        return links.token(links.select_rows(session, Link.id == json.loads(mail.details)["link"])[0])


def open_turn(game_id: str, seat: int = 0) -> Turn:
    with engine.reading() as session:
        return session.get_one(Turn, (game_id, seat))


def person(address: str) -> Person:
    with engine.reading() as session:
        return session.scalars(select(Person).where(Person.email == address)).one()


def queued() -> list[str]:
    with engine.reading() as session:
        return [mail.kind for mail in session.scalars(select(Mail).where(elsewhere(Mail)))]


@pytest.mark.parametrize("slug", [rules.slug for rules in latest()])
def test_a_visitor_sits_first_among_the_fewest_bots_and_is_to_move(slug: str, now: datetime) -> None:
    game_id, _token = started(now, slug)
    game, seats = game_of(game_id), seats_of(game_id)
    assert (game.status, game.trial, game.listed, game.organiser_id) == ("running", True, False, None)
    assert [seat.bot for seat in seats] == [None] + ["greedy"] * (len(seats) - 1)
    assert len(seats) == min(next(rules.seats for rules in latest() if rules.slug == slug))
    assert seats[0].uncut  # nobody asked for a cut, and the record says so
    assert open_turn(game_id).seat == 0


def test_a_visitor_is_a_person_without_an_address(now: datetime) -> None:
    game_id, _token = started(now)
    with engine.reading() as session:
        visitor = session.get_one(Person, seats_of(game_id)[0].person_id)
        assert (visitor.email, visitor.name, visitor.language) == (None, "Guest", "de")


def test_no_clock_runs_and_nobody_is_emailed(now: datetime) -> None:
    game_id, token = started(now)
    access = access_by(token, now)
    assert access is not None
    for day in range(1, 6):
        later = now + timedelta(days=day)
        jobs.tick_reminders(later)
        jobs.tick_digests(later, 5)
        jobs.tick_unreached(later, 5)
        jobs.tick_turns(later, 5)
    turn = open_turn(game_id)
    assert (turn.started_at, turn.due_at, turn.remind_at) == (None, None, None)
    play.leave(game_id, 0, now=now, link_id=access.link.id)
    play.reclaim(game_id, 0, now=now, link_id=access.link.id)
    play.moderate(game_id, "!note", reason="x", person_id=outsider(), now=now)
    play.moderate(game_id, "!abandon", reason="x", person_id=outsider(), now=now)
    assert queued() == []


def test_it_troubles_no_moderator(now: datetime) -> None:
    game_id, token = started(now)
    access = access_by(token, now)
    assert access is not None
    later = now + timedelta(days=6)
    with engine.reading() as session:
        listed = desk.unsent(session, later).rows
        assert game_id not in [row[0].id for row in listed]
    play.leave(game_id, 0, now=now, link_id=access.link.id)  # it is paused: nobody is there
    with engine.reading() as session:
        assert session.scalars(select(Alert).where(Alert.game_id == game_id)).all() == []
        troubled = session.scalars(
            select(Game.id).where(desk.games_with("trouble", later + timedelta(days=9)))
        )
        assert game_id not in troubled.all()


def test_all_visitors_together_play_only_so_many_an_hour(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitors, "MOST_AN_HOUR", 2)
    started(now)
    started(now + timedelta(minutes=30))
    with pytest.raises(TooMany):
        started(now + timedelta(minutes=59))
    started(now + timedelta(minutes=61))


@pytest.mark.parametrize("how", ["left", "over", "kept", "ended"])
def test_a_game_that_is_no_longer_played_gives_its_place_back(
    now: datetime, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(visitors, "MOST_AN_HOUR", 1)
    game_id, token = started(now)
    with pytest.raises(TooMany):
        started(now)
    if how == "left":
        access = access_by(token, now)
        assert access is not None
        play.leave(game_id, 0, now=now, link_id=access.link.id)
    elif how == "over":
        play.moderate(game_id, "!abandon", reason="x", person_id=1, now=now)
    elif how == "kept":
        visitors.keep(keep_token(game_id, now), "Ann", now)
    else:
        assert play.end_trial(game_id, now)
    started(now)


def test_a_game_that_nobody_keeps_ends_after_a_week(now: datetime) -> None:
    game_id, token = started(now)
    jobs.tick_purge(now + timedelta(days=7, seconds=-1), 5)
    assert access_by(token, now) is not None
    before = game_of(game_id).head
    jobs.tick_purge(now + timedelta(days=7), 5)
    assert access_by(token, now) is None
    game = game_of(game_id)
    assert (game.status, game.trial) == ("over", False)
    with engine.reading() as session:
        entries = log.entries(session, game_id)
        assert session.get(Turn, (game_id, 0)) is None
    assert len(entries) == before + 1  # the log is only appended to
    assert (entries[-1].by, entries[-1].move) == ("clock", "!abandon")
    assert visitors.end_old(now + timedelta(days=8)) == 0
    assert queued() == []


def test_a_finished_game_keeps_its_result_when_its_link_ends(now: datetime) -> None:
    game_id, token = started(now)
    play.moderate(game_id, "!abandon", reason="x", person_id=outsider(), now=now)
    head = game_of(game_id).head
    assert visitors.end_old(now + timedelta(days=7)) == 1
    assert game_of(game_id).head == head
    assert access_by(token, now) is None


def test_keeping_it_makes_a_normal_seat(now: datetime) -> None:
    game_id, old = started(now)
    visitor, token = seats_of(game_id)[0].person_id, keep_token(game_id, now)
    head = game_of(game_id).head
    url = visitors.keep(token, "Ann", now, "nl")
    new = url.rpartition("/")[2]
    access = access_by(new, now)
    assert access is not None
    assert access.seat.person is not None
    assert (access.game.id, access.seat.seat, access.seat.stored_name) == (game_id, 0, "Ann")
    assert (access.seat.person.email, access.seat.person.name) == (ANN, "Ann")
    assert person(ANN).language == "nl"
    with engine.reading() as session:
        left = session.scalars(
            select(Link.purpose).where(Link.person_id == visitor, Link.revoked_at.is_(None))
        )
        assert left.all() == ["stop"]
    assert access_by(old, now) is None  # somebody else may have played until now
    assert not game_of(game_id).trial
    assert game_of(game_id).head == head
    [mail] = mails("turn", Guest("Ann", ANN))
    assert mail.game_id == game_id
    deliver(now + timedelta(minutes=3), FakeMailer())
    assert open_turn(game_id).started_at is not None
    assert visitors.keep(token, "Ann", now) == url  # pressed twice
    assert visitors.end_old(now + timedelta(days=8)) == 0


def test_a_known_person_keeps_their_name(now: datetime) -> None:
    with engine.transaction() as session:
        session.add(Person(email=ANN, name="Annie", created_at=now))
    game_id, _old = started(now)
    visitors.keep(keep_token(game_id, now), "Ann", now)
    assert (person(ANN).name, seats_of(game_id)[0].stored_name) == ("Annie", "Ann")


def test_only_the_first_who_confirms_keeps_it(now: datetime) -> None:
    game_id, _old = started(now)
    first, second = keep_token(game_id, now), keep_token(game_id, now, "bob@example.net")
    visitors.keep(first, "Ann", now)
    with pytest.raises(Closed):
        visitors.keep(second, "Bob", now)
    with pytest.raises(Closed):
        visitors.mail_keep_link(game_id, "carl@example.net", now)
    assert person("bob@example.net").accepted is False


def test_a_person_who_has_seen_the_hands_cannot_keep_it(now: datetime) -> None:
    game_id, _old = started(now)
    token = keep_token(game_id, now)
    looker = person(ANN).id
    play.moderate(game_id, "!look all", reason="x", person_id=looker, now=now)
    with engine.reading() as session:
        assert has_looked(session, game_id, looker)
    with pytest.raises(Closed):
        visitors.keep(token, "Ann", now)


def test_one_address_gets_three_of_these_emails_a_day(now: datetime) -> None:
    game_id, _old = started(now)
    for _ in range(5):
        visitors.mail_keep_link(game_id, ANN, now)
    assert queued() == ["keep"] * 3
    visitors.mail_keep_link(game_id, ANN, now + timedelta(days=1, seconds=1))
    assert len(queued()) == 4


def test_the_button_works_for_a_day_after_its_email(now: datetime) -> None:
    game_id, _old = started(now)
    token = keep_token(game_id, now)
    sent, late = FakeMailer(), now + timedelta(hours=3)
    deliver(late, sent)
    assert len(sent.sent) == 1
    with pytest.raises(NoSuchLink):
        visitors.keep(token, "Ann", late + timedelta(days=1))
    assert visitors.keep(token, "Ann", late + timedelta(days=1, seconds=-1))


def test_an_email_that_is_a_day_late_says_that_its_button_is_gone(now: datetime) -> None:
    game_id, _old = started(now)
    keep_token(game_id, now)
    sent = FakeMailer()
    deliver(now + timedelta(days=1, seconds=1), sent)
    [mail] = sent.sent
    assert "ask for it again" in str(mail)
    assert "/k/" not in str(mail)


def test_no_email_offers_to_keep_what_was_kept_meanwhile(now: datetime) -> None:
    game_id, _old = started(now)
    token = keep_token(game_id, now)
    keep_token(game_id, now + timedelta(minutes=1), "bob@example.org")
    visitors.keep(token, "Ann", now + timedelta(minutes=2))
    sent = FakeMailer()
    deliver(now + timedelta(hours=2), sent)
    assert not sent.to("bob@example.org")


# ---- a visitor who is signed in ----


def member(now: datetime, **more: Any) -> int:
    """Create a person with an address who has played before."""
    with engine.transaction() as session:
        found = Person(email=ANN, name="Ann", created_at=now, accepted=True, **more)
        session.add(found)
        session.flush()
        return found.id


def test_a_signed_in_visitor_sits_as_themselves(now: datetime) -> None:
    ann = member(now)
    token = visitors.start("byzantium", "Guest", now, "de", ann)
    access = access_by(token, now)
    assert access is not None
    assert (access.seat.person_id, access.seat.stored_name, access.game.trial) == (ann, "Ann", True)
    assert person(ANN).language is None  # the page's language is only a visitor's
    assert game_of(access.game.id).organiser_id is None


@pytest.mark.parametrize("cadence", ["each", "digest"])
def test_no_clock_runs_and_nobody_is_emailed_although_there_is_an_address(
    cadence: str, now: datetime
) -> None:
    ann = member(now, cadence=cadence, time_zone="UTC")
    with engine.transaction() as session:
        session.get_one(Person, ann).digest_at = now
    access = access_by(visitors.start("byzantium", "Guest", now, None, ann), now)
    assert access is not None
    game_id = access.game.id
    for day in range(1, 6):
        later = now + timedelta(days=day)
        jobs.tick_reminders(later)
        jobs.tick_digests(later, 5)
        jobs.tick_unreached(later, 5)
        jobs.tick_turns(later, 5)
    subscriptions.mute_all(ann, True, now)
    subscriptions.mute_all(ann, False, now)
    subscriptions.set_cadence(ann, "digest", now)
    subscriptions.set_cadence(ann, "each", now)
    turn = open_turn(game_id)
    assert (turn.started_at, turn.due_at, turn.remind_at) == (None, None, None)
    assert queued() == []
    assert visitors.end_old(now + timedelta(days=7)) == 1
    assert queued() == []
    assert game_of(game_id).status == "over"


def test_no_digest_looks_again_at_a_visitors_game(now: datetime) -> None:
    ann = member(now, cadence="digest")
    visitors.start("byzantium", "Guest", now, None, ann)
    with engine.reading() as session:
        assert play.turns_for_digest(session, ann) == []
    assert digest.start_overdue_clocks(now + timedelta(days=2)) == 0


def test_one_press_keeps_it_with_the_same_link(now: datetime) -> None:
    ann = member(now)
    token = visitors.start("byzantium", "Guest", now, None, ann)
    access = access_by(token, now)
    assert access is not None
    game_id, head = access.game.id, access.game.head
    visitors.keep_own(game_id, now)
    visitors.keep_own(game_id, now)  # pressed twice
    assert access_by(token, now) is not None
    assert (game_of(game_id).trial, game_of(game_id).head) == (False, head)
    [mail] = mails("turn", Guest("Ann", ANN))
    assert mail.game_id == game_id
    deliver(now + timedelta(minutes=3), FakeMailer())
    assert open_turn(game_id).started_at is not None
    assert visitors.end_old(now + timedelta(days=8)) == 0


def test_a_visitor_without_an_address_cannot_keep_it_so(now: datetime) -> None:
    game_id, _token = started(now)
    with pytest.raises(Closed):
        visitors.keep_own(game_id, now)
    assert game_of(game_id).trial


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda now: visitors.start("chess", "Guest", now), InvalidInput),
        (lambda now: visitors.mail_keep_link(started(now)[0], "nobody", now), InvalidInput),
        (lambda now: visitors.keep("nothing", "Ann", now), NoSuchLink),
        (lambda now: visitors.keep(keep_token(started(now)[0], now), "", now), InvalidInput),
    ],
)
def test_it_refuses_what_it_cannot_read(
    call: Callable[[datetime], object], error: type[Exception], now: datetime
) -> None:
    with pytest.raises(error):
        call(now)
