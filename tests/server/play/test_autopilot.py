"""Seats that do not answer: missed turns, autopilot, return, leaving, unreachable; and games without players."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from flask import Flask
from sqlalchemy import select

from byzanz import record
from byzanz.record import Cause
from server import play
from server.errors import NotRunning, Paused, TooMany
from server.mail import deliverability
from server.mail.incoming import commands
from server.mail.outgoing import deliver
from server.mail.outgoing.smtp import PermanentFailure as MailRefused
from server.mail.text import quoted
from server.play import history, positions, standing_orders, turns
from server.play.moderation import ActNotPossible, InvalidAct, Newcomer
from server.scheduler import jobs, loop
from server.store import engine, links, log, operations, people
from server.store.models import Alert, Game, IncomingMail, Mail, Outage, Seat
from tests.conftest import NOW, Table
from tests.support.games import (
    deal_with_a_set_to_sell,
    entries_by,
    loaded,
    outsider,
    position,
    sale_now,
    start_clock,
    submit,
    turn_of,
)
from tests.support.mail_servers import FakeMailer
from tests.support.mails import bold_move, text_of
from tests.support.neighbour_game import elsewhere

Begin = Callable[..., Table]
TICK = 5.0
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def mia(app: Flask) -> int:  # noqa: ARG001 - requested for its context
    """Return the id of a moderator who has no seat."""
    with engine.transaction() as session:
        person = people.get_or_create(session, "mia@example.org", "Mia", NOW)
        person.moderator = True
        return person.id


def seat_of(game_id: str, seat: int) -> Seat:
    with engine.reading() as session:
        return session.get_one(Seat, (game_id, seat))


def queued_mails(*kinds: str) -> list[tuple[str, int]]:
    with engine.reading() as session:
        found = session.scalars(select(Mail).where(Mail.kind.in_(kinds), elsewhere(Mail)).order_by(Mail.id))
        return [(mail.kind, mail.person_id) for mail in found]


def standing() -> set[str]:
    with engine.reading() as session:
        return set(session.scalars(select(Alert.key).where(Alert.cleared_at.is_(None))))


def moderate(person_id: int, game_id: str, text: str, newcomer: Newcomer | None = None) -> int:
    return play.moderate(game_id, text, reason="because", person_id=person_id, now=NOW, newcomer=newcomer)


def run_out(game_id: str, seat: int | None = None) -> int:
    """Let the time of a seat to move run out; return the seat."""
    at = position(game_id)
    late = min(at.awaited) if seat is None else seat
    turn = start_clock(game_id, late, NOW)
    assert turn.due_at is not None
    assert play.time_out(game_id, late, turn.question, turn.due_at) is not None
    return late


def run_out_until(game_id: str, seat: int, missed: int) -> None:
    """Let the seat miss this many decisions in a row; the others pass or get their default move."""
    for _ in range(200):
        if seat_of(game_id, seat).missed == missed:
            return
        at = position(game_id)
        who = min(at.awaited)
        if who == seat:
            run_out(game_id, seat)
        else:
            move = at.rules.fallback(at.view(who), at.rules.moves(at.state, who))
            submit(game_id, who, str(move))
    raise AssertionError("it never came to that")


def verified(game_id: str) -> None:
    """Check that the log replays and its record verifies."""
    with engine.reading() as session:
        game = session.get_one(Game, game_id)
        whole = history.record_for(loaded(session, game.id), "all")
        record.verify(whole)
        assert record.paused(whole.entries) == game.paused


# ---- missed in a row ----


def test_two_decisions_missed_in_a_row_put_a_seat_on_autopilot_at_once(table: Begin) -> None:
    game = table(4)
    run_out_until(game.id, 0, 1)
    assert not seat_of(game.id, 0).autopilot
    assert queued_mails("timeout", "autopilot") == [("timeout", game.people[0])]
    run_out_until(game.id, 0, 2)
    assert seat_of(game.id, 0).autopilot
    made = [step for step in entries_by(game.id) if step[0] == 0]
    assert made[0] == (0, "clock", "pass")
    at = made.index((0, "clock", "!autopilot 0 on"))
    assert made[at - 1][1] == "clock"
    assert all(by in ("autopilot", "rules") for _, by, _ in made[at + 1 :])
    assert queued_mails("timeout", "autopilot") == [
        ("timeout", game.people[0]),
        ("autopilot", game.people[0]),
    ]
    assert turn_of(game.id, 0) is None
    verified(game.id)


def test_the_others_go_on_without_waiting_for_a_seat_on_autopilot(table: Begin) -> None:
    game = table(3)
    run_out_until(game.id, 0, 2)
    before = len(queued_mails("turn"))
    for _ in range(30):
        at = position(game.id)
        if at.outcome:
            break
        seat = min(at.awaited)
        assert seat != 0
        submit(game.id, seat, str(at.rules.moves(at.state, seat)[-1]))
    assert (0, "autopilot") in {(seat, by) for seat, by, _ in entries_by(game.id)}
    assert ("turn", game.people[0]) not in queued_mails("turn")[before:]
    verified(game.id)


@pytest.mark.parametrize("sign", ["move", "order", "withdraw", "reclaim"])
def test_a_sign_of_the_player_begins_the_count_anew(table: Begin, sign: str) -> None:
    game = table(4)
    run_out_until(game.id, 0, 1)
    for seat in (1, 2):
        submit(game.id, seat)
    if sign == "move":
        for _ in range(50):
            at = position(game.id)
            seat = min(at.awaited)
            submit(game.id, seat, str(at.rules.fallback(at.view(seat), at.rules.moves(at.state, seat))))
            if seat == 0:
                break
    elif sign == "order":
        play.place_order(game.id, 0, "take wine", now=NOW)
    elif sign == "withdraw":
        play.withdraw_order(game.id, 0, None, now=NOW)
    else:
        assert not play.reclaim(game.id, 0, now=NOW)
    assert seat_of(game.id, 0).missed == 0
    run_out_until(game.id, 0, 1)
    assert not seat_of(game.id, 0).autopilot


def test_an_order_that_is_carried_out_is_no_sign_that_its_owner_is_there(table: Begin) -> None:
    game = table(4)
    play.place_order(game.id, 1, "pass every lot", now=NOW)
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, 1)).missed = 1
    submit(game.id, 0)
    assert entries_by(game.id)[:2] == [(0, "player", "pass"), (1, "order", "pass")]
    assert seat_of(game.id, 1).missed == 1


def test_what_a_bot_plays_in_a_seat_is_no_sign_of_a_person(table: Begin) -> None:
    game = table(4)
    run_out_until(game.id, 0, 1)
    submit(game.id, 1, by=Cause.BOT)
    assert seat_of(game.id, 0).missed == 1


# ---- back ----


@pytest.mark.parametrize("sign", ["button", "order", "confirm", "withdraw"])
def test_a_seat_is_reclaimed_at_once(table: Begin, sign: str) -> None:
    game = table(4)
    run_out_until(game.id, 0, 2)
    if sign == "button":
        assert play.reclaim(game.id, 0, now=NOW)
    elif sign == "order":
        play.place_order(game.id, 0, "take wine", now=NOW)
    elif sign == "confirm":
        play.confirm_orders(game.id, 0, now=NOW)
    else:
        play.withdraw_order(game.id, 0, None, now=NOW)
    seat = seat_of(game.id, 0)
    assert (seat.autopilot, seat.missed) == (False, 0)
    assert entries_by(game.id)[-1] == (0, "player", "!autopilot 0 off")
    with engine.reading() as session:
        assert positions.current(loaded(session, game.id)).head == len(entries_by(game.id)) + 1
    verified(game.id)


def test_a_sale_out_of_turn_takes_the_seat_back(table: Begin) -> None:
    game = table(4, game_id=deal_with_a_set_to_sell())
    seat, sale = sale_now(game.id)
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, seat)).autopilot = True
    submit(game.id, seat, sale)
    assert not seat_of(game.id, seat).autopilot
    assert entries_by(game.id)[:2] == [(seat, "player", f"!autopilot {seat} off"), (seat, "player", sale)]


def test_a_move_and_the_end_of_its_time_at_once_one_wins(table: Begin) -> None:
    game = table(4)
    run_out_until(game.id, 0, 1)
    for _ in range(60):
        if min(position(game.id).awaited) == 0:
            break
        at = position(game.id)
        seat = min(at.awaited)
        submit(game.id, seat, str(at.rules.fallback(at.view(seat), at.rules.moves(at.state, seat))))
    turn = turn_of(game.id, 0)
    assert turn is not None
    due = start_clock(game.id, 0, NOW).due_at
    at = position(game.id)
    submit(game.id, 0, str(at.rules.fallback(at.view(0), at.rules.moves(at.state, 0))))
    assert due is not None
    assert play.time_out(game.id, 0, turn.question, due) is None
    assert (seat_of(game.id, 0).missed, seat_of(game.id, 0).autopilot) == (0, False)


@pytest.mark.parametrize("on", [True, False])
def test_an_email_in_which_nothing_can_be_read_is_no_sign_of_its_writer(table: Begin, on: bool) -> None:
    game = table(4)
    with engine.transaction() as session:
        seat = session.get_one(Seat, (game.id, 2))
        seat.autopilot, seat.missed = on, 1
    with engine.reading() as session:
        place = links.seat_access(session, game.tokens[2], NOW)
    assert place is not None
    row = IncomingMail(digest="d" * 64, at=NOW, kind="reply", outcome=quoted(""))
    lines, _fault = commands._carry_out_moves(place, ("dance",), row, NOW)
    assert lines[0].fault
    assert (seat_of(game.id, 2).autopilot, seat_of(game.id, 2).missed) == (on, 1)


# ---- nobody left ----


def all_away(game: Table) -> None:
    """Let everyone miss decisions until no player is left."""
    for _ in range(300):
        if position(game.id).paused:
            return
        run_out(game.id)
    raise AssertionError("the game played itself")


@pytest.mark.parametrize(("slug", "n"), [("byzanz", 3), ("empire", 2), ("byzantium", 3)])
def test_a_game_that_nobody_plays_rests_instead_of_playing_itself(table: Begin, slug: str, n: int) -> None:
    game = table(n, slug=slug)
    all_away(game)
    assert entries_by(game.id)[-1] == (None, "clock", "!pause")
    assert standing() == {f"rests:{game.id}"}
    with engine.reading() as session:
        assert list(loaded(session, game.id).turns.values()) == []
        last = session.get_one(Game, game.id).head
        told = session.scalars(select(Mail).where(Mail.key.like(f"rest:{game.id}:%"))).all()
        assert {(mail.kind, mail.seq) for mail in told} == {("act", last)}
        assert len(told) == n
    at = position(game.id)
    seat = min(at.rules.awaited(at.state))
    with pytest.raises(Paused, match="nobody is responding"):
        submit(game.id, seat, str(at.rules.moves(at.state, seat)[0]))
    verified(game.id)


def test_the_first_who_is_back_wakes_the_game(table: Begin) -> None:
    game = table(3)
    all_away(game)
    assert play.reclaim(game.id, 1, now=NOW)
    assert [step for step in entries_by(game.id) if step[2] == "!resume"] == [(None, "clock", "!resume")]
    assert standing() == set()
    assert set(position(game.id).awaited) == {1}
    assert turn_of(game.id, 1) is not None
    verified(game.id)


def test_a_game_with_bots_rests_when_its_only_person_is_away(table: Begin, mia: int) -> None:
    game = table(3)
    for seat, name in ((1, "Basil"), (2, "Irene")):
        moderate(mia, game.id, f"!replace {seat}", Newcomer(name, bot="greedy"))
    moderate(mia, game.id, "!autopilot 0 on")
    assert position(game.id).paused
    assert entries_by(game.id)[-1] == (None, "clock", "!pause")


def test_a_moderator_cannot_resume_a_game_that_nobody_plays_but_wakes_it_with_a_substitute(
    table: Begin, mia: int
) -> None:
    game = table(3)
    all_away(game)
    with pytest.raises(ActNotPossible, match="Every player is on autopilot"):
        moderate(mia, game.id, "!resume")
    moderate(mia, game.id, "!replace 2", Newcomer("Zoe", "zoe@example.org"))
    assert not position(game.id).paused
    assert set(position(game.id).awaited) == {2}
    verified(game.id)


def test_a_pause_by_a_moderator_is_not_ended_by_who_comes_back(table: Begin, mia: int) -> None:
    game = table(3)
    moderate(mia, game.id, "!autopilot 0 on")
    moderate(mia, game.id, "!pause")
    assert play.reclaim(game.id, 0, now=NOW)
    assert position(game.id).paused
    moderate(mia, game.id, "!resume")
    assert not position(game.id).paused


def test_a_void_at_a_table_that_rests_leaves_it_to_the_moderator_to_go_on(table: Begin, mia: int) -> None:
    game = table(3)
    all_away(game)
    moderate(mia, game.id, "!void 2")
    assert play.reclaim(game.id, 0, now=NOW)
    assert position(game.id).paused
    moderate(mia, game.id, "!resume")
    assert set(position(game.id).awaited) == {0}
    verified(game.id)


def test_the_last_who_plays_ends_the_game_with_all_others_on_autopilot(table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        for seat in (1, 2):
            session.get_one(Seat, (game.id, seat)).autopilot = True
    for _ in range(300):
        at = position(game.id)
        if at.outcome:
            break
        assert not at.paused
        submit(game.id, 0, str(at.rules.fallback(at.view(0), at.rules.moves(at.state, 0))))
    assert position(game.id).outcome
    verified(game.id)


# ---- what begins the count anew ----


def test_a_resume_and_a_new_player_begin_the_count_anew(table: Begin, mia: int) -> None:
    game = table(4)
    run_out(game.id)
    moderate(mia, game.id, "!void 2")
    moderate(mia, game.id, "!resume")
    assert seat_of(game.id, 0).missed == 0
    run_out(game.id)
    moderate(mia, game.id, "!autopilot 0 on")
    moderate(mia, game.id, "!replace 0", Newcomer("Zoe", "zoe@example.org"))
    seat = seat_of(game.id, 0)
    assert (seat.missed, seat.autopilot, seat.bounces) == (0, False, 0)


# ---- acts ----


def test_a_moderator_switches_an_autopilot_on_and_off(table: Begin, mia: int) -> None:
    game = table(4)
    seq = moderate(mia, game.id, "!autopilot 0 on")
    assert entries_by(game.id)[:2] == [(0, "moderator", "!autopilot 0 on"), (0, "autopilot", "pass")]
    assert queued_mails("autopilot") == [("autopilot", game.people[0])]
    assert game.people[0] not in {person for _, person in queued_mails("act")}
    with pytest.raises(ActNotPossible, match="already on"):
        moderate(mia, game.id, "!autopilot 0 on")
    moderate(mia, game.id, "!autopilot 0 off")
    assert not seat_of(game.id, 0).autopilot
    with pytest.raises(ActNotPossible, match="already off"):
        moderate(mia, game.id, "!autopilot 0 off")
    with pytest.raises(InvalidAct):
        moderate(mia, game.id, "!autopilot 0 maybe")
    with pytest.raises(InvalidAct):
        moderate(mia, game.id, "!autopilot 9 on")
    assert seq == 2
    verified(game.id)


def test_a_bank_is_filled_for_decisions_to_come(table: Begin, mia: int) -> None:
    game = table(3)
    moderate(mia, game.id, "!bank 0 3600")
    assert seat_of(game.id, 0).bank == 3600
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert turn.bank == 0
    for bad in ("!bank 0 0", "!bank 0 -60", "!bank 7 60", "!bank 0 99999999"):
        with pytest.raises(InvalidAct):
            moderate(mia, game.id, bad)
    verified(game.id)


def test_a_bot_has_no_bank_and_no_autopilot(table: Begin, mia: int) -> None:
    game = table(3)
    moderate(mia, game.id, "!replace 1", Newcomer("Basil", bot="greedy"))
    for text in ("!bank 1 60", "!autopilot 1 on"):
        with pytest.raises(ActNotPossible, match="bot"):
            moderate(mia, game.id, text)


# ---- leaving ----


def test_who_leaves_is_played_for_until_somebody_else_sits_there(table: Begin, mia: int) -> None:
    game = table(4)
    play.place_order(game.id, 0, "take wine", now=NOW)
    assert play.leave(game.id, 0, now=NOW)
    assert entries_by(game.id)[:2] == [(0, "player", "!leave 0"), (0, "autopilot", "pass")]
    assert not play.leave(game.id, 0, now=NOW)
    with engine.reading() as session:
        assert [row.status for row in standing_orders.of_game(session, game.id)] == ["withdrawn"]
    assert standing() == {f"left:{game.id}:0"}
    assert queued_mails("left", "vacant") == [("vacant", mia), ("left", game.people[0])]
    moderate(mia, game.id, "!replace 0", Newcomer("Zoe", "zoe@example.org"))
    assert standing() == set()
    verified(game.id)


def test_who_has_left_gets_no_more_mails_about_the_game_until_he_is_back(table: Begin) -> None:
    game = table(4)
    play.leave(game.id, 0, now=NOW)
    play.moderate(game.id, "!note", reason="hello", person_id=outsider(), now=NOW)
    fake_mailer = FakeMailer()
    while deliver.deliver(NOW + HOUR, fake_mailer, steady=lambda: 0.0):
        pass
    texts = [text_of(mail) for mail in fake_mailer.to("alice")]
    assert len(texts) == 1
    assert "you have left" in texts[0]
    assert game.tokens[0] in texts[0]
    play.reclaim(game.id, 0, now=NOW)
    assert standing() == set()
    play.moderate(game.id, "!note", reason="again", person_id=outsider(), now=NOW)
    while deliver.deliver(NOW + 2 * HOUR, fake_mailer, steady=lambda: 0.0):
        pass
    assert "again" in text_of(fake_mailer.to("alice")[-1])


def test_who_leaves_and_comes_back_again_and_again_floods_nobody(table: Begin, mia: int) -> None:
    game = table(4)
    for number in range(play.LEAVES):
        assert play.leave(game.id, 0, now=NOW + number * timedelta(minutes=9))
        play.reclaim(game.id, 0, now=NOW + number * timedelta(minutes=9))
    assert queued_mails("left", "vacant") == [("vacant", mia), ("left", game.people[0])]
    head = position(game.id).head
    with pytest.raises(TooMany, match="You have left this game 6 times within an hour"):
        play.leave(game.id, 0, now=NOW + timedelta(minutes=59))
    assert position(game.id).head == head
    assert play.leave(game.id, 1, now=NOW + timedelta(minutes=59))
    assert play.leave(game.id, 0, now=NOW + timedelta(minutes=61))
    assert len(queued_mails("left", "vacant")) == 2 + 3  # Alice, who organises, is told of Bob, too
    play.reclaim(game.id, 0, now=NOW + 2 * HOUR)
    assert play.leave(game.id, 0, now=NOW + DAY)
    assert len(queued_mails("left", "vacant")) == 5 + 2


def test_nobody_leaves_a_game_that_has_ended(table: Begin, mia: int) -> None:
    game = table(3)
    moderate(mia, game.id, "!abandon")
    with pytest.raises(NotRunning):
        play.leave(game.id, 0, now=NOW)


@pytest.mark.usefixtures("mia")
def test_the_organiser_is_told_where_his_page_is_when_somebody_leaves(table: Begin) -> None:
    game = table(4)
    play.leave(game.id, 2, now=NOW)
    fake_mailer = FakeMailer()
    while deliver.deliver(NOW + HOUR, fake_mailer, steady=lambda: 0.0):
        pass
    told = {str(mail["To"]): text_of(mail) for mail in fake_mailer.sent}
    text = next(text for text in map(str, told.values()) if "Charlie has left" in text)
    assert "/o/" in text or "/m/g1" in text
    assert any("/m/g1" in text_of(mail) for mail in fake_mailer.to("mia"))
    assert any("/o/" in text_of(mail) for mail in fake_mailer.to("alice"))


# ---- unreached ----


def refuse(at: datetime = NOW) -> None:
    """Refuse every waiting email permanently."""
    while deliver.deliver(at, FakeMailer(*[MailRefused("550 no such user")] * 20), steady=lambda: 0.0):
        pass


def awake(now: datetime) -> None:
    """Write a heartbeat for both parts of the server now."""
    for part in operations.PARTS:
        recorder = operations.HeartbeatRecorder(part, TICK)
        loop.record_heartbeat(recorder, now, 0.0)


def test_a_seat_that_no_mail_reaches_for_72_hours_goes_on_autopilot(table: Begin, mia: int) -> None:
    game = table(4)
    refuse()
    awake(NOW + 71 * HOUR)
    with engine.transaction() as session:
        session.query(Outage).delete()
    assert jobs.tick_unreached(NOW + 71 * HOUR, TICK) == 0
    awake(NOW + 72 * HOUR)
    with engine.transaction() as session:
        session.query(Outage).delete()
    assert jobs.tick_unreached(NOW + 72 * HOUR, TICK) == 1
    assert jobs.tick_unreached(NOW + 72 * HOUR, TICK) == 0
    assert entries_by(game.id)[:2] == [(0, "clock", "!autopilot 0 on"), (0, "autopilot", "pass")]
    with engine.reading() as session:
        noted = log.entries(session, game.id, after=1)[0].note
    assert noted == "No mail has reached this player for 72 hours."
    assert f"lost:{game.id}:0" in standing()
    assert {person for _, person in queued_mails("vacant")} == {mia}
    assert seat_of(game.id, 0).autopilot
    verified(game.id)


def test_a_seat_taken_back_is_given_up_again_after_72_hours(table: Begin) -> None:
    """Once a bounce has closed an address, no turn of the seat is emailed: each must end nevertheless."""
    game = table(2, slug="byzantium")
    now = NOW
    for _ in range(3):
        refuse(now)
        turn = turn_of(game.id, 0)
        assert turn is not None
        now += 72 * HOUR
        with engine.reading() as session:
            hinted = [(turn.game_id, turn.seat) for turn in turns.unreachable(session, now, 5)]
        assert (game.id, 0) in hinted
        assert play.give_up(game.id, 0, turn.question, now) is not None
        assert play.give_up(game.id, 0, turn.question, now) is None
        now += HOUR
        assert play.reclaim(game.id, 0, now=now)
        while turn_of(game.id, 0) is None:
            submit(game.id, 1, bold_move(game.id, 1))
    verified(game.id)


def test_what_changed_before_the_lock_is_seen_under_it(table: Begin, mia: int) -> None:
    game = table(4)
    refuse()
    turn = turn_of(game.id, 0)
    assert turn is not None
    late = NOW + 80 * HOUR
    assert play.give_up(game.id, 0, "bid 99", late) is None
    assert play.give_up(game.id, 1, turn.question, late) is None
    assert play.give_up(game.id, 0, turn.question, NOW + 71 * HOUR) is None
    moderate(mia, game.id, "!pause")
    assert play.give_up(game.id, 0, turn.question, late) is None
    assert not seat_of(game.id, 0).autopilot


def test_an_address_that_mends_begins_the_72_hours_anew(table: Begin) -> None:
    game = table(4)
    refuse()
    assert deliverability.mark_reachable(game.people[0], NOW + 70 * HOUR)
    with engine.reading() as session:
        assert turns.unreachable(session, NOW + 80 * HOUR, 5) == []
    refuse(NOW + 75 * HOUR)
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert turn.refused_at is not None
    assert turn.refused_at >= NOW + 70 * HOUR
    assert play.give_up(game.id, 0, turn.question, NOW + 80 * HOUR) is None


def test_the_72_hours_do_not_count_our_outages(table: Begin) -> None:
    game = table(4)
    refuse()
    with engine.transaction() as session:
        session.add(Outage(part="web", from_at=NOW + HOUR, to_at=NOW + 11 * HOUR))
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert play.give_up(game.id, 0, turn.question, NOW + 81 * HOUR) is None
    assert play.give_up(game.id, 0, turn.question, NOW + 82 * HOUR) is not None


def test_nobody_is_given_up_while_a_part_of_the_server_is_away(table: Begin) -> None:
    table(4)
    refuse()
    assert jobs.tick_unreached(NOW + 80 * HOUR, TICK) == 0


def test_a_player_whom_no_mail_reaches_comes_back_with_his_link(table: Begin) -> None:
    game = table(4)
    refuse()
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert play.give_up(game.id, 0, turn.question, NOW + 80 * HOUR) is not None
    assert play.reclaim(game.id, 0, now=NOW + 81 * HOUR)
    assert f"lost:{game.id}:0" not in standing()
    assert not seat_of(game.id, 0).autopilot


# ---- mails ----


def test_the_mail_says_what_was_played_and_how_to_come_back(table: Begin) -> None:
    game = table(4)
    run_out_until(game.id, 0, 2)
    fake_mailer = FakeMailer()
    while deliver.deliver(NOW + DAY, fake_mailer, steady=lambda: 0.0):
        pass
    text = next(body for mail in fake_mailer.to("alice") if "autopilot" in (body := text_of(mail)))
    assert "two deadlines in a row" in text
    assert "\n- You " in text
    assert game.tokens[0] in text
    assert "!autopilot" not in text


def test_a_moderators_reason_is_in_the_mail(table: Begin, mia: int) -> None:
    game = table(4)
    moderate(mia, game.id, "!autopilot 0 on")
    fake_mailer = FakeMailer()
    while deliver.deliver(NOW, fake_mailer, steady=lambda: 0.0):
        pass
    (text,) = [body for mail in fake_mailer.to("alice") if "autopilot" in (body := text_of(mail))]
    assert "Reason: because" in text


def test_alarms_end_with_the_game(table: Begin, mia: int) -> None:
    game = table(3)
    play.leave(game.id, 0, now=NOW)
    assert standing()
    moderate(mia, game.id, "!abandon")
    assert standing() == set()
