"""Moderators' actions: each is an entry with a reason and an email to the table, with no other effect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import select

from server import play
from server.errors import Refused
from server.mail.text import quoted
from server.play import positions, turns
from server.play.moderation import Newcomer
from server.store import engine, links, models, people
from server.store.models import LinkPurpose
from tests.conftest import NOW, Table
from tests.support.games import (
    append,
    entries,
    loaded,
    mails_of,
    outsider,
    play_on,
    position,
    row,
    start_clock,
    submit,
    turn_of,
)

Begin = Callable[..., Table]


@pytest.fixture
def moderator(app: Flask) -> int:  # noqa: ARG001 - requested for its context
    """Return the id of a moderator who has no seat."""
    with engine.transaction() as session:
        person = people.get_or_create(session, "mia@example.org", "Mia", NOW)
        person.moderator = True
        return person.id


def act(
    game: Table,
    moderator: int,
    text: str,
    reason: str = "because",
    newcomer: Newcomer | None = None,
    seen: int | None = None,
) -> int:
    return play.moderate(
        game.id, text, reason=reason, person_id=moderator, now=NOW, newcomer=newcomer, seen=seen
    )


def test_an_act_is_refused_when_the_table_has_moved_on_since_it_was_decided(
    table: Begin, moderator: int
) -> None:
    game = table(3)
    submit(game.id, 0, "pass")
    with pytest.raises(Refused, match="moved on"):
        act(game, moderator, "!note", seen=1)
    act(game, moderator, "!note", seen=2)


def test_a_void_takes_the_game_back_and_pauses_it(table: Begin, moderator: int) -> None:
    game = table(4)
    submit(game.id, 0, "pass", request_id="a")
    before = position(game.id)
    submit(game.id, 1, "pass", request_id="b")
    submit(game.id, 2, "pass", request_id="c")
    seq = act(game, moderator, "!void 3")
    after = position(game.id)
    assert after.state == before.state
    assert after.paused
    assert [entry.move for entry in entries(game.id)[-2:]] == ["!void 3", "!pause"]
    assert entries(game.id)[seq - 1].note == "because"
    assert turn_of(game.id, 1) is None
    with pytest.raises(Refused):
        submit(game.id, 1, "pass", request_id="d")
    act(game, moderator, "!resume")
    assert set(position(game.id).awaited) == {1}
    turn = turn_of(game.id, 1)
    assert turn is not None
    assert turn.opened_seq == seq + 2


def test_a_void_of_the_last_deal_never_rolls_again(table: Begin, moderator: int) -> None:
    game = table(3)
    play_on(game.id, 12)
    first_move = next(entry.seq for entry in entries(game.id) if entry.seat is not None)
    before = entries(game.id)[0].move
    act(game, moderator, f"!void {first_move}")
    act(game, moderator, "!resume")
    shuffles = [entry.move for entry in entries(game.id) if entry.by == "chance"]
    assert shuffles == [before]
    assert position(game.id).state == _replayed(game.id)


def _replayed(game_id: str) -> object:
    with engine.reading() as session:
        hand = loaded(session, game_id)
        return positions.replay(hand.game, len(hand.seats), position(game_id).rules, entries(game_id))


@pytest.mark.parametrize("target", ["1", "99", "0", "x", "-1", "²"])
def test_only_a_move_that_counts_can_be_voided(table: Begin, moderator: int, target: str) -> None:
    game = table(3)
    with pytest.raises(Refused):
        act(game, moderator, f"!void {target}")
    assert len(entries(game.id)) == 1


def test_a_voided_move_cannot_be_voided_again(table: Begin, moderator: int) -> None:
    game = table(3)
    submit(game.id, 0, "pass")
    act(game, moderator, "!void 2")
    with pytest.raises(Refused):
        act(game, moderator, "!void 2")


def test_time_that_was_given_outlives_a_pause(table: Begin, moderator: int) -> None:
    game = table(3)
    bank = row(models.Seat, (game.id, 0)).bank
    act(game, moderator, "!extend 0 7200")
    act(game, moderator, "!pause")
    act(game, moderator, "!resume")
    assert row(models.Seat, (game.id, 0)).bank == bank + 7200


def test_a_pause_stops_everything_and_a_resume_opens_turns_anew(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!pause")
    assert turn_of(game.id, 0) is None
    with pytest.raises(Refused):
        act(game, moderator, "!pause")
    with pytest.raises(Refused, match="paused"):
        submit(game.id, 0, "pass", seen=2)
    seq = act(game, moderator, "!resume")
    with pytest.raises(Refused):
        act(game, moderator, "!resume")
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert (turn.question, turn.opened_seq) == ("bid 1", seq)
    with pytest.raises(Refused, match="moved on"):
        submit(game.id, 0, "pass", seen=1)
    assert [mail.key for mail in mails_of("turn")] == ["turn:g1:0:1", f"turn:g1:0:{seq}"]


def test_an_extension_moves_one_deadline(table: Begin, moderator: int) -> None:
    game = table(3)
    start_clock(game.id, 0, NOW)
    act(game, moderator, "!extend 0 3600")
    turn_after = turn_of(game.id, 0)
    assert turn_after is not None
    assert turn_after.due_at == NOW + timedelta(hours=25)
    assert entries(game.id)[-1].seat == 0
    for bad in ("!extend 1 3600", "!extend 7 3600", "!extend 0 0", "!extend 0 99999999", "!extend 0"):
        with pytest.raises(Refused):
            act(game, moderator, bad)


def test_an_extension_or_a_gift_to_the_bank_is_one_second_to_thirty_days(
    table: Begin, moderator: int
) -> None:
    game = table(3)
    most = 30 * 86400
    for verb in ("!extend", "!bank"):
        for seconds in (0, -1, most + 1):
            with pytest.raises(Refused):
                act(game, moderator, f"{verb} 0 {seconds}")
        for seconds in (1, most):
            act(game, moderator, f"{verb} 0 {seconds}")
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert turn.extra == most + 1
    with engine.reading() as session:
        banks = [session.get_one(models.Seat, (game.id, seat)).bank for seat in range(3)]
    assert banks == [most + 1, 0, 0]


def test_a_credit_moves_every_deadline(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!credit 600")
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert turn.extra == 600
    assert turn.due_at is None


def test_a_new_player_takes_the_seat_and_the_old_link_opens_it_no_more(table: Begin, moderator: int) -> None:
    game = table(3)
    seq = act(game, moderator, "!replace 0", newcomer=Newcomer("Zoe", "zoe@example.org"))
    with engine.reading() as session:
        assert links.seat_access(session, game.tokens[0], NOW) is None
        seat = session.get_one(models.Seat, (game.id, 0))
        assert (seat.stored_name, seat.cut) == ("Zoe", "Alice")
        zoe = seat.person_id
        assert session.get_one(models.Entry, (game.id, seq)).move == "!replace 0"
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert turn.opened_seq == seq
    assert [mail.person_id for mail in mails_of("replaced")] == [zoe]
    assert zoe in {mail.person_id for mail in mails_of("turn")}
    with pytest.raises(Refused, match="already"):
        act(game, moderator, "!replace 1", newcomer=Newcomer("Zoe", "ZOE@example.org"))


def test_a_bot_can_take_over(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!replace 0", newcomer=Newcomer("Basil", bot="greedy"))
    with engine.reading() as session:
        assert [turn.seat for turn in turns.bots_to_move(session, 9)] == [0]


def test_who_has_looked_can_never_take_a_seat(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!look all")
    with pytest.raises(Refused, match="viewed hidden hands"):
        act(game, moderator, "!replace 0", newcomer=Newcomer("Mia", "mia@example.org"))


def test_no_other_act_game_or_moderator_keeps_somebody_from_a_seat(table: Begin, moderator: int) -> None:
    game, other = table(3), table(3, game_id="other")
    with engine.transaction() as session:
        ned = people.get_or_create(session, "ned@example.org", "Ned", NOW).id
    act(game, ned, "!look all")
    act(other, moderator, "!look all")
    act(game, moderator, "!note")
    act(game, moderator, "!replace 0", newcomer=Newcomer("Mia", "mia@example.org"))
    with pytest.raises(Refused, match="viewed hidden hands"):
        act(game, outsider(), "!replace 1", newcomer=Newcomer("Ned", "ned@example.org"))


def test_a_fresh_link_ends_the_old_one(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!link 1")
    with engine.reading() as session:
        assert links.seat_access(session, game.tokens[1], NOW) is None
        assert links.seat_access(session, game.tokens[0], NOW) is not None
    assert [mail.seat for mail in mails_of("fresh")] == [1]


def test_an_abandoned_game_is_over_with_the_scores_as_they_stand(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!abandon")
    at = position(game.id)
    assert at.outcome is not None
    assert (at.outcome.reason, at.outcome.winners, at.outcome.scores) == ("abandoned", (), (0, 0, 0))
    act(game, moderator, "!note")
    act(game, moderator, "!look all")
    for late in ("!void 2", "!pause", "!abandon", "!extend 0 60"):
        with pytest.raises(Refused, match="over"):
            act(game, moderator, late)


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501, "two\nlines", "a\u2028b", "nul\x00"])
def test_a_reason_is_one_line_and_required(table: Begin, moderator: int, reason: str) -> None:
    game = table(3)
    with pytest.raises(Refused):
        act(game, moderator, "!pause", reason=reason)
    assert not position(game.id).paused


@pytest.mark.parametrize("text", ["", "!dance", "void 2", "!void", "!void 1 2", "!bank 0", "pass"])
def test_an_unknown_act_is_refused(table: Begin, moderator: int, text: str) -> None:
    game = table(3)
    with pytest.raises(Refused):
        act(game, moderator, text)
    assert len(entries(game.id)) == 1


def test_every_act_is_told_to_the_table_and_kept_with_its_moderator(table: Begin, moderator: int) -> None:
    game = table(3)
    seq = act(game, moderator, "!note", reason="Welcome")
    assert [mail.person_id for mail in mails_of("act")] == game.people
    with engine.reading() as session:
        deed = session.scalars(
            select(models.ModeratorAction).where(models.ModeratorAction.game_id == game.id)
        ).one()
        assert (deed.game_id, deed.seq, deed.person_id) == (game.id, seq, moderator)


def test_more_time_does_not_start_the_clock_of_somebody_who_cannot_be_reached(
    table: Begin, moderator: int
) -> None:
    game = table(3)
    start_clock(game.id, 0, NOW)
    with engine.transaction() as session:
        turn = session.get_one(models.Turn, (game.id, 0))
        turn.refused, turn.due_at, turn.remind_at = quoted("550 unknown"), None, None
    act(game, moderator, "!extend 0 3600")
    after = turn_of(game.id, 0)
    assert after is not None
    assert (after.refused, after.due_at) == (quoted("550 unknown"), None)


def poison(game_id: str) -> int:
    """Write an illegal move into the log; return its seq."""
    return append(game_id, seat=2, by="player", move="bid wood4 wood4 wood4", now=NOW).seq


def set_aside(game: Table) -> None:
    with pytest.raises(Refused, match="on hold"):
        submit(game.id, 0, "pass", seen=1)
    assert turn_of(game.id, 0) is None


def test_a_game_set_aside_is_mended_by_taking_back_what_is_at_fault(table: Begin, moderator: int) -> None:
    game = table(3)
    seq = poison(game.id)
    set_aside(game)
    for useless in ("!pause", "!extend 0 60", "!link 0", "!look 0"):
        with pytest.raises(Refused, match="on hold"):
            act(game, moderator, useless)
    with pytest.raises(Refused, match="on hold"):
        act(game, moderator, "!resume")
    act(game, moderator, "!note")
    act(game, moderator, f"!void {seq}")
    act(game, moderator, "!resume")
    with engine.reading() as session:
        assert session.get_one(models.Game, game.id).quarantine is None
        assert session.scalars(select(models.Alert.cleared_at)).one() is not None
    submit(game.id, 0, "pass", request_id="after")


def test_a_game_set_aside_that_replays_is_taken_up_again(table: Begin, moderator: int) -> None:
    game = table(3)
    play.quarantine(game.id, quoted("a fault that is mended"), NOW)
    seq = act(game, moderator, "!resume")
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert turn.opened_seq == seq
    submit(game.id, 0, "pass", request_id="after")


def test_a_game_set_aside_is_met_by_no_tick(table: Begin) -> None:
    game = table(3)
    start_clock(game.id, 0, NOW)
    play.quarantine(game.id, quoted("a fault"), NOW)
    with engine.reading() as session:
        assert turns.due_games(session, NOW + timedelta(days=9), 9) == []


@pytest.mark.parametrize("viewer", ["foo", "3", "-1", "ALL", "00"])
def test_only_eyes_of_this_table_can_be_lent_even_after_the_end(
    table: Begin, moderator: int, viewer: str
) -> None:
    game = table(3)
    act(game, moderator, "!abandon")
    head = len(entries(game.id))
    with pytest.raises(Refused, match="is not a player of this game"):
        act(game, moderator, f"!look {viewer}")
    assert len(entries(game.id)) == head


def test_a_replaced_player_is_told_and_the_newcomer_only_once(table: Begin, moderator: int) -> None:
    game = table(3)
    act(game, moderator, "!replace 1", newcomer=Newcomer("Zoe", "zoe@example.org"))
    assert [mail.person_id for mail in mails_of("former")] == [game.people[1]]
    assert [mail.person_id for mail in mails_of("act")] == [game.people[0], game.people[2]]


def test_a_revoked_link_still_stops_mails(table: Begin, moderator: int) -> None:
    game = table(3)
    with engine.transaction() as session:
        stop = links.token(links.link_for(session, LinkPurpose.STOP, game.people[1], game.id, NOW))
    act(game, moderator, "!link 1")
    with engine.reading() as session:
        assert links.find(session, LinkPurpose.STOP, stop, NOW) is not None


def test_a_link_revoked_in_mid_request_plays_nothing(table: Begin, moderator: int) -> None:
    game = table(3)
    with engine.reading() as session:
        place = links.seat_access(session, game.tokens[0], NOW)
        assert place is not None
    act(game, moderator, "!link 0")
    with pytest.raises(Refused) as refused:
        play.submit(game.id, 0, "pass", seen=2, request_id="r", now=NOW, link_id=place.link.id)
    assert refused.value.status == 404


def test_a_request_whose_move_was_taken_back_gets_no_receipt(table: Begin, moderator: int) -> None:
    game = table(3)
    receipt = submit(game.id, 0, "pass", request_id="mine")
    act(game, moderator, f"!void {receipt.seq}")
    act(game, moderator, "!resume")
    with pytest.raises(Refused, match="since been undone"):
        submit(game.id, 0, "pass", request_id="mine")
    assert not submit(game.id, 0, "pass", request_id="another").repeated


def test_a_link_can_be_mailed_again_without_ending_it(table: Begin, moderator: int) -> None:
    game = table(3)
    play.moderate(game.id, "!link 1", reason="lost it", person_id=moderator, now=NOW, keep_link=True)
    with engine.reading() as session:
        assert links.seat_access(session, game.tokens[1], NOW) is not None
    assert [mail.seat for mail in mails_of("fresh")] == [1]
