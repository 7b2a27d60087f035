"""One move and its consequences: stale turns, retries, out-of-turn moves, timeouts."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select

from byzanz import record
from byzanz.games import rules_of
from byzanz.moves import IllegalMove, UnreadableMove
from byzanz.record import Cause
from byzanz.rules import PUBLIC
from server import errors, play
from server.play import history, positions, turns
from server.store import engine, log, models
from server.store.models import Turn
from tests.conftest import NOW, Table
from tests.support.games import (
    append,
    deal_with_a_set_to_sell,
    entries,
    loaded,
    mails_of,
    play_on,
    position,
    sale_now,
    start_clock,
    submit,
    turn_of,
)
from tests.support.neighbour_game import elsewhere

Begin = Callable[..., Table]


def test_it_deals_asks_the_first_seat_and_mails_it(table: Begin) -> None:
    game = table(4)
    first = entries(game.id)[0]
    assert (first.seq, first.by, first.seat) == (1, "chance", None)
    assert first.move.startswith("shuffle deal ")
    assert set(position(game.id).awaited) == {0}
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert (turn.question, turn.opened_seq, turn.started_at, turn.due_at) == ("bid 1", 1, None, None)
    assert [(mail.key, mail.person_id) for mail in mails_of("turn")] == [("turn:g1:0:1", game.people[0])]


def test_it_plays_a_move_and_asks_the_next(table: Begin) -> None:
    game = table(4)
    receipt = submit(game.id, 0, "PASS")
    assert receipt == play.Receipt(game.id, 0, 2, repeated=False)
    assert entries(game.id)[1].move == "pass"
    assert set(position(game.id).awaited) == {1}
    assert turn_of(game.id, 0) is None
    assert [(mail.seat, mail.not_before) for mail in mails_of("turn")] == [(0, NOW), (1, NOW)]


def test_the_same_request_plays_once(table: Begin) -> None:
    game = table(4)
    first = submit(game.id, 0, "pass", request_id="same")
    again = submit(game.id, 0, " Pass ", request_id="same", seen=1)
    assert (again.seq, again.repeated) == (first.seq, True)
    with pytest.raises(errors.BadRequest):
        submit(game.id, 0, "bid cloth1", request_id="same", seen=1)
    assert len(entries(game.id)) == 2


def test_two_seats_may_use_the_same_request_id(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass", request_id="1")
    submit(game.id, 1, "pass", request_id="1")
    assert [entry.seat for entry in entries(game.id)] == [None, 0, 1]


def test_a_turn_that_opened_after_what_was_seen_is_stale(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass")
    with pytest.raises(errors.Stale):
        submit(game.id, 1, "pass", seen=1)
    assert len(entries(game.id)) == 2


def test_a_seat_that_is_not_awaited_is_told_so(table: Begin) -> None:
    game = table(4)
    with pytest.raises(errors.NotYourTurn, match="It is not your turn now"):
        submit(game.id, 2, "pass")


def test_a_second_answer_is_told_what_the_first_one_was(table: Begin) -> None:
    game = table(4)
    submit(game.id, 0, "pass", request_id="first", seen=1)
    with pytest.raises(errors.NotYourTurn, match=r"already answered: pass\. This second"):
        submit(game.id, 0, "bid cloth1", request_id="second", seen=1)
    with pytest.raises(errors.NotYourTurn, match="It is not your turn now"):
        submit(game.id, 0, "bid cloth1", request_id="third", seen=2)


@pytest.mark.parametrize(
    ("text", "kind"), [("dance", UnreadableMove), ("bid", UnreadableMove), ("tax cloth1", IllegalMove)]
)
def test_a_refused_move_changes_nothing(table: Begin, text: str, kind: type[Exception]) -> None:
    game = table(4)
    with pytest.raises(kind):
        submit(game.id, 0, text)
    assert len(entries(game.id)) == 1
    assert turn_of(game.id, 0) is not None


@pytest.mark.parametrize("request_id", ["", "x" * 65, "with space", "ünï", "new\nline"])
def test_a_malformed_request_id_is_refused(table: Begin, request_id: str) -> None:
    game = table(3)
    with pytest.raises(errors.BadRequest):
        submit(game.id, 0, "pass", request_id=request_id)


@pytest.mark.parametrize("seen", [-1, 2, 10**12])
def test_a_seen_that_cannot_be_is_refused(table: Begin, seen: int) -> None:
    game = table(3)
    with pytest.raises(errors.BadRequest):
        submit(game.id, 0, "pass", seen=seen)


def test_a_sale_out_of_turn_spoils_nobodys_page(table: Begin) -> None:
    game = table(4, game_id=deal_with_a_set_to_sell())
    seat, sale = sale_now(game.id)
    before = turn_of(game.id, 0)
    submit(game.id, seat, sale, request_id="sale", seen=0)
    after = turn_of(game.id, 0)
    assert before is not None
    assert after is not None
    assert (after.question, after.opened_seq) == (before.question, before.opened_seq)
    submit(game.id, 0, "pass", request_id="later", seen=before.opened_seq)


def test_a_sealed_choice_is_changed_from_any_page_of_its_question_and_from_no_older_one(table: Begin) -> None:
    game = table(2, slug="empire")
    last_year = position(game.id).head
    while position(game.id).state.year == 1 or position(game.id).state.step != "redraw":
        answer_plainly(game.id, min(position(game.id).awaited))
    opened = turn_of(game.id, 1)
    assert opened is not None
    first, second = (f"redraw {card}" for card in position(game.id).view(0).hand[:2])
    submit(game.id, 0, first, request_id="first", seen=opened.opened_seq)
    sealed = position(game.id)
    with pytest.raises(errors.Stale):
        submit(game.id, 0, second, request_id="old", seen=last_year)
    with pytest.raises(errors.Stale):
        submit(game.id, 0, second, request_id="older", seen=opened.opened_seq - 1)
    assert position(game.id) == sealed
    submit(game.id, 0, second, request_id="second", seen=opened.opened_seq)
    assert [entry.move for entry in entries(game.id)[-2:]] == [first, second]
    still = turn_of(game.id, 1)
    assert still is not None
    assert (still.question, still.opened_seq) == (opened.question, opened.opened_seq)


def answer_plainly(game_id: str, seat: int) -> None:
    """Play the default move for a seat."""
    at = position(game_id)
    move = at.rules.fallback(at.view(seat), at.rules.moves(at.state, seat))
    submit(game_id, seat, str(move), request_id=f"plain.{at.head}")


def test_a_turn_that_the_own_move_opens_is_mailed_two_minutes_later(table: Begin) -> None:
    game = table(3)
    at = position(game.id)
    bid = next(str(move) for move in at.rules.moves(at.state, 0) if move.verb == "bid")
    submit(game.id, 0, bid, request_id="a")
    seat = 1
    while (turn := turn_of(game.id, 0)) is None:
        submit(game.id, seat, "pass", request_id="p")
        seat += 1
    assert turn.question.startswith("tax ")
    waits = {mail.seat: mail.not_before for mail in mails_of("turn") if mail.seq == turn.opened_seq}
    assert waits == {0: NOW}  # another's pass opened it
    tax = next(str(move) for move in position(game.id).rules.moves(position(game.id).state, 0))
    submit(game.id, 0, tax, request_id="b")
    assert turn_of(game.id, 0) is None or turn_of(game.id, 0).question.startswith("limit")  # type: ignore[union-attr]


def own_turns(game_id: str) -> dict[str, timedelta]:
    """Return how long the email about each turn of the first seat waits, by the kind of question."""
    return {
        mail.key: mail.not_before - mail.created_at
        for mail in mails_of("turn")
        if (mail.game_id, mail.seat) == (game_id, 0)
    }


def let_others_pass(game: Table) -> None:
    """Place orders of the other seats, so that a bid of the first seat opens its own next turn."""
    for seat in range(1, len(game.people)):
        play.place_order(game.id, seat, "pass every lot", now=NOW)


def test_the_next_turn_that_ones_own_move_opens_is_mailed_two_minutes_later(table: Begin) -> None:
    delays = {}
    for by in (Cause.PLAYER, Cause.BOT):
        game = table(3, game_id=by)
        let_others_pass(game)
        at = position(game.id)
        bid = next(str(move) for move in at.rules.moves(at.state, 0) if move.verb == "bid")
        play.submit(game.id, 0, bid, seen=1, request_id="bid", now=NOW, by=by)
        turn = turn_of(game.id, 0)
        assert turn is not None
        assert turn.question.startswith("tax ")
        delays[by] = own_turns(game.id)[f"turn:{by}:0:{turn.opened_seq}"]
    assert delays == {"player": timedelta(minutes=2), "bot": timedelta(0)}


def test_the_next_turn_that_ones_own_order_opens_is_mailed_two_minutes_later(table: Begin) -> None:
    game = table(3)
    let_others_pass(game)
    play.place_order(game.id, 0, "raise upto 9", now=NOW)
    turn = turn_of(game.id, 0)
    assert turn is not None
    assert own_turns(game.id)[f"turn:g1:0:{turn.opened_seq}"] == timedelta(minutes=2)


def test_the_clock_starts_at_once_for_a_seat_that_wants_no_mail(table: Begin) -> None:
    game = table(3)
    with engine.transaction() as session:
        session.get_one(models.Seat, (game.id, 1)).silent = True
    submit(game.id, 0, "pass")
    turn = turn_of(game.id, 1)
    assert turn is not None
    assert turn.started_at == NOW
    assert turn.due_at == NOW + timedelta(seconds=86400)
    assert [mail.seat for mail in mails_of("turn")] == [0]


def test_a_time_out_plays_the_fallback_once_and_never_early(table: Begin) -> None:
    game = table(4)
    assert play.time_out(game.id, 0, "bid 1", NOW + timedelta(days=9)) is None  # no mail, no clock
    due = start_clock(game.id, 0, NOW).due_at
    assert due == NOW + timedelta(days=1)
    assert play.time_out(game.id, 0, "bid 1", due - timedelta(seconds=1)) is None
    assert play.time_out(game.id, 0, "bid 7", due) is None
    assert play.time_out(game.id, 0, "bid 1", due) == 2
    assert play.time_out(game.id, 0, "bid 1", due) is None
    made = entries(game.id)[1]
    assert (made.by, made.seat, made.move) == ("clock", 0, "pass")
    assert [mail.details for mail in mails_of("timeout")] == [json.dumps({"last": 2})]


def test_an_outage_moves_the_deadline_and_is_told_in_the_log(table: Begin) -> None:
    game = table(4)
    due = start_clock(game.id, 0, NOW).due_at
    assert due is not None
    with engine.transaction() as session:
        session.add(
            models.Outage(part="web", from_at=due - timedelta(hours=2), to_at=due + timedelta(hours=10))
        )
    assert play.time_out(game.id, 0, "bid 1", due + timedelta(hours=10)) is None
    credit = entries(game.id)[-1]
    assert (credit.move, credit.by, credit.seat) == ("!credit 43200", "clock", 0)
    assert play.time_out(game.id, 0, "bid 1", due + timedelta(hours=11)) is None
    assert entries(game.id)[-1].seq == credit.seq
    assert play.time_out(game.id, 0, "bid 1", due + timedelta(hours=12)) == credit.seq + 1
    assert position(game.id).state == replayed(game.id)


def replayed(game_id: str) -> object:
    with engine.reading() as session:
        table = loaded(session, game_id)
        rules, entries = rules_of(table.game.slug), log.entries(session, game_id)
        return positions.replay(table.game, len(table.seats), rules, entries)


def test_at_least_an_hour_is_left_after_an_outage(table: Begin) -> None:
    game = table(4)
    due = start_clock(game.id, 0, NOW).due_at
    assert due is not None
    with engine.transaction() as session:
        back = due + timedelta(hours=5)
        session.add(models.Outage(part="web", from_at=due - timedelta(minutes=1), to_at=back))
        hand = loaded(session, game.id)
        assert turns.deadline(session, hand.game, hand.turns[0]) == back + timedelta(hours=1)


def test_a_time_out_at_the_end_sells_by_the_clock_and_is_done_by_the_rules(table: Begin) -> None:
    game = table(3, game_id="g3")
    while (at := position(game.id)).state.step != "end":
        seat = min(at.awaited)
        answers = [move for move in at.rules.moves(at.state, seat) if move.verb != "sell"]
        submit(game.id, seat, str(answers[at.head % min(2, len(answers))]), request_id=f"r{at.head}")
    seat = next(seat for seat in at.awaited if len(at.rules.moves(at.state, seat)) > 1)
    due = start_clock(game.id, seat, NOW).due_at
    assert due is not None
    first = play.time_out(game.id, seat, str(at.awaited[seat]), due)
    assert first is not None
    made = [(entry.by, entry.move.split()[0]) for entry in entries(game.id)[first - 1 :]]
    assert set(made[:-1]) == {("clock", "sell")}
    assert made[-1] == ("rules", "done")  # record.verify asks for it: one legal move is forced


def test_a_time_out_passes_for_a_seat_that_can_only_pass_or_bid_one_card(table: Begin) -> None:
    game = table(3, game_id="two30")
    at = position(game.id)
    assert [str(move) for move in at.rules.moves(at.state, 0)] == ["pass", "bid olive1"]
    due = start_clock(game.id, 0, NOW).due_at
    assert due is not None
    assert play.time_out(game.id, 0, "bid 1", due) == 2
    assert [(entry.seat, entry.by, entry.move) for entry in entries(game.id)[1:]] == [(0, "clock", "pass")]
    assert set(position(game.id).awaited) == {1}


@pytest.mark.parametrize("n", [3, 6])
def test_a_whole_game_ends_with_a_record_that_verifies(table: Begin, n: int) -> None:
    game = table(n)
    play_on(game.id, 1000)
    with engine.reading() as session:
        row = session.get_one(models.Game, game.id)
        assert row.status == "over"
        assert row.result is not None
        result = json.loads(row.result)
        assert result["reason"] == "finished"
        assert session.scalars(select(Turn).where(elsewhere(Turn))).all() == []
    assert len(mails_of("over")) == n
    with pytest.raises(errors.NotRunning):
        submit(game.id, 0, "pass", request_id="after")
    log_entries = entries(game.id)
    with engine.reading() as session:
        header = history.header_of(loaded(session, game.id))
    assert header.format == "byzanz-record/2"
    previous = header.first_hash
    for entry in log_entries:
        assert entry.hash == record.expected_hash(previous, entry)
        previous = entry.hash


def test_a_snapshot_that_cannot_be_read_is_computed_again(table: Begin) -> None:
    game = table(4)
    play_on(game.id, 9)
    before = position(game.id)
    own = select(models.Snapshot).where(models.Snapshot.game_id == game.id)
    for nonsense in ('{"nonsense": 1}', "[]", "7", "not JSON"):
        with engine.transaction() as session:
            session.scalars(own).one().state = nonsense
        assert position(game.id) == before
    with engine.transaction() as session:
        session.scalars(own).one().format = "byzanz/0/0"
    assert position(game.id) == before


def test_the_newest_position_is_remembered_by_the_text_of_its_snapshot(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(4)
    play_on(game.id, 9)
    before, kind = position(game.id), type(rules_of("byzanz"))
    monkeypatch.setattr(kind, "decode", lambda *_given: pytest.fail("it is decoded again"))
    assert position(game.id).state is before.state
    monkeypatch.undo()
    monkeypatch.setattr(positions, "_remembered", OrderedDict())  # as in another process
    assert position(game.id) == before
    assert position(game.id).state is not before.state


def test_few_positions_are_remembered(table: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    game = table(4)
    monkeypatch.setattr(positions, "MOST_REMEMBERED", 3)
    monkeypatch.setattr(positions, "_remembered", OrderedDict())
    play_on(game.id, 5)
    assert len(positions._remembered) == 3
    last = position(game.id)
    assert last.view(PUBLIC) == last.public


def test_a_poisoned_log_sets_one_game_aside_and_harms_no_other(table: Begin) -> None:
    poisoned, healthy = table(3, game_id="sick"), table(3, game_id="well")
    append("sick", seat=2, by="player", move="bid wood4 wood4 wood4", now=NOW)
    with pytest.raises(errors.NotRunning, match="on hold"):
        submit(poisoned.id, 0, "pass", seen=1)
    with engine.reading() as session:
        assert session.get_one(models.Game, "sick").quarantine
        assert session.scalars(select(models.Alert)).one().game_id == "sick"
    submit(healthy.id, 0, "pass")


def test_the_public_view_is_the_same_whoever_asks(table: Begin) -> None:
    game = table(4)
    assert position(game.id).view(PUBLIC).hands == (None,) * 4
