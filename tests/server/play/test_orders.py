"""Hidden standing orders: carried out with the move that makes them due, shown to their owner only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from byzanz import record
from byzanz.games import rules_of
from byzanz.games.byzanz.rules import Byzanz
from byzanz.moves import IllegalMove, UnreadableOrder
from server import play
from server.errors import NoSuchOrder, TooMany
from server.play import standing_orders
from server.play.moderation import Newcomer
from server.store import engine
from server.store.models import Mail, Seat, StandingOrder
from server.store.statements import OrderRow
from tests.conftest import NOW, Table
from tests.support.games import entries, loaded, outsider, position, submit

Begin = Callable[..., Table]


def leave(game_id: str, seat: int, text: str) -> play.OrderResult:
    return play.place_order(game_id, seat, text, now=NOW)


def orders_of(game_id: str) -> list[OrderRow]:
    with engine.reading() as session:
        return standing_orders.of_game(session, game_id)


def moderate_as_outsider(game_id: str, act: str) -> int:
    return play.moderate(game_id, act, reason="to test", person_id=outsider(), now=NOW)


def test_an_order_answers_in_the_transaction_that_makes_it_due_and_nobody_is_mailed_for_it(
    table: Begin,
) -> None:
    game = table(4)
    for seat in (1, 2, 3):
        left = leave(game.id, seat, "pass every lot")
        assert not left.moved
    head = position(game.id).head
    submit(game.id, 0, "pass")
    made = [(entry.seat, entry.by, entry.move) for entry in entries(game.id, head)]
    assert made[:4] == [
        (0, "player", "pass"),
        (1, "order", "pass"),
        (2, "order", "pass"),
        (3, "order", "pass"),
    ]
    with engine.reading() as session:
        mailed = session.scalars(select(Mail.seat).where(Mail.kind == "turn", Mail.game_id == game.id)).all()
        assert set(mailed) <= {0}
        assert {turn.seat for turn in list(loaded(session, game.id).turns.values())} == set(
            position(game.id).awaited
        )


def test_an_order_about_the_open_question_is_carried_out_at_once(table: Begin) -> None:
    game = table(4)
    left = leave(game.id, 0, "raise upto 9 then pass")
    assert left.moved
    entry = entries(game.id)[1]
    assert (entry.seat, entry.by) == (0, "order")
    assert entry.move.startswith("bid ")
    assert entry.note is not None
    assert entry.note.startswith("Raised to ")
    assert [row.status for row in orders_of(game.id)] == ["standing"]


def test_why_an_order_did_it_is_told_to_its_owner_alone_and_to_all_after_the_end(table: Begin) -> None:
    game = table(4)
    leave(game.id, 0, "raise upto 9 then pass")
    log_ = entries(game.id)
    rules = rules_of("byzanz")
    mine = record.redact_entries(rules, log_, 0, False, frozenset())[1]
    theirs = record.redact_entries(rules, log_, 1, False, frozenset())[1]
    assert (mine.by, mine.note) == ("order", log_[1].note)
    assert (theirs.by, theirs.note, theirs.salt) == ("player", None, None)
    assert record.redact_entries(rules, log_, 1, True, frozenset())[1].by == "order"


def test_two_ladders_bid_against_each_other_in_one_transaction(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "raise upto 4 then pass every lot")
    leave(game.id, 2, "raise upto 3 then pass every lot")
    leave(game.id, 3, "pass every lot")
    head = position(game.id).head
    submit(game.id, 0, "pass")
    bids = [entry for entry in entries(game.id, head) if entry.move.startswith("bid ")]
    assert len(bids) >= 2
    assert {entry.by for entry in bids} == {"order"}


def test_an_order_that_does_not_fit_stops_with_a_reason_and_its_owner_is_asked(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "raise upto 1 then ask")
    submit(game.id, 0, str(position(game.id).rules.moves(position(game.id).state, 0)[-1]))
    (row,) = orders_of(game.id)
    assert row.status == "stopped"
    assert row.reason is not None
    assert "your limit was 1" in str(row.reason)
    assert set(position(game.id).awaited) == {1}


def test_an_order_that_fails_is_stopped_and_the_movers_move_stands(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(4)
    leave(game.id, 1, "pass this lot")

    def fault(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Byzanz, "answer_order", fault)
    submit(game.id, 0, "pass")
    (row,) = orders_of(game.id)
    assert (row.status, str(row.reason)) == (
        "stopped",
        "It could not be carried out as the table stands now.",
    )
    assert entries(game.id)[1].move == "pass"
    assert set(position(game.id).awaited) == {1}


def test_a_newer_order_about_the_same_takes_the_place_of_the_older(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "pass this lot")
    leave(game.id, 1, "take wine")
    leave(game.id, 1, "raise upto 4")
    assert [row.status for row in orders_of(game.id)] == ["withdrawn", "standing", "standing"]


def test_an_order_for_one_lot_ends_with_it(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "pass this lot")
    submit(game.id, 0, "pass")
    assert [row.status for row in orders_of(game.id)] == ["done"]


def test_bad_orders_are_refused_and_nothing_is_kept(table: Begin) -> None:
    game = table(4)
    with pytest.raises(UnreadableOrder):
        leave(game.id, 0, "sing")
    with pytest.raises(IllegalMove):
        leave(game.id, 0, "ladder " + " ".join(["wood4"] * 3) + " upto 12")
    assert orders_of(game.id) == []


def test_an_order_is_withdrawn_by_its_owner_alone(table: Begin) -> None:
    game = table(4)
    left = leave(game.id, 1, "pass this lot")
    with pytest.raises(NoSuchOrder):
        play.withdraw_order(game.id, 2, left.number, now=NOW)
    assert play.withdraw_order(game.id, 1, left.number, now=NOW) == 1
    with pytest.raises(NoSuchOrder):
        play.withdraw_order(game.id, 1, left.number, now=NOW)
    assert play.withdraw_order(game.id, 1, None, now=NOW) == 0


def test_after_a_void_orders_rest_until_their_owner_confirms_them(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "pass every lot")
    submit(game.id, 0, "pass")
    moderate_as_outsider(game.id, "!void 2")
    assert [row.status for row in orders_of(game.id)] == ["resting"]
    moderate_as_outsider(game.id, "!resume")
    submit(game.id, 0, "pass")
    assert set(position(game.id).awaited) == {1}
    assert play.confirm_orders(game.id, 1, now=NOW) == 1
    assert set(position(game.id).awaited) == {2}


def test_orders_go_with_their_player_and_with_the_game(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "pass every lot")
    leave(game.id, 2, "pass every lot")
    play.moderate(
        game.id,
        "!replace 1",
        reason="gone",
        person_id=outsider(),
        now=NOW,
        newcomer=Newcomer("Zoe", "zoe@example.org"),
    )
    assert [row.status for row in orders_of(game.id)] == ["withdrawn", "standing"]
    moderate_as_outsider(game.id, "!abandon")
    assert [row.status for row in orders_of(game.id)] == ["withdrawn", "withdrawn"]


def test_an_autopilot_plays_the_fallback_at_once_until_its_player_is_back(table: Begin) -> None:
    game = table(4)
    with engine.transaction() as session:
        session.get_one(Seat, (game.id, 1)).autopilot = True
    submit(game.id, 0, "pass")
    made = [(entry.seat, entry.by, entry.move) for entry in entries(game.id, 2)]
    assert made[0] == (1, "autopilot", "pass")
    assert set(position(game.id).awaited) == {2}
    assert play.reclaim(game.id, 1, now=NOW)
    assert not play.reclaim(game.id, 1, now=NOW)
    last = entries(game.id)[-1]
    assert (last.seat, last.by, last.move) == (1, "player", "!autopilot 1 off")


def test_an_order_left_while_paused_waits(table: Begin) -> None:
    game = table(4)
    moderate_as_outsider(game.id, "!pause")
    assert not leave(game.id, 0, "pass this lot").moved
    moderate_as_outsider(game.id, "!resume")
    assert set(position(game.id).awaited) == {1}


def test_a_seat_has_one_order_about_each_question_and_so_never_more_than_there_are_questions(
    table: Begin,
) -> None:
    game = table(4)
    for text in (
        "take wine",
        "pass every lot",
        "finish",
        "tax lowest",
        "limit sell",
        "take cloth",
        "raise upto 2",
    ):
        leave(game.id, 1, text)
    assert len([row for row in orders_of(game.id) if row.status == "standing"]) == 5


def test_a_seat_leaves_no_more_orders_than_a_game_keeps(
    table: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = table(4)
    monkeypatch.setattr("server.play.orders.MOST_ORDERS", 3)
    for price in (2, 3, 4):
        leave(game.id, 1, f"raise upto {price}")
    for again in range(2):
        with pytest.raises(TooMany, match="has placed 3 orders"):
            leave(game.id, 1, f"raise upto {again + 5}")
    with engine.reading() as session, pytest.raises(TooMany):
        play.preview_order(loaded(session, game.id), 1, "take wine")
    assert [row.status for row in orders_of(game.id)] == ["withdrawn", "withdrawn", "standing"]
    assert play.withdraw_order(game.id, 1, None, now=NOW) == 1
    leave(game.id, 2, "raise upto 2")
    assert len(orders_of(game.id)) == 4


def test_what_becomes_of_one_game_leaves_the_orders_of_another_alone(table: Begin) -> None:
    game, other = table(4), table(4, game_id="other")
    for each in (game, other):
        leave(each.id, 1, "pass every lot")
        leave(each.id, 2, "take wine")
        submit(each.id, 0, "pass")
    before = [(row.number, row.seat, row.text, row.status, row.left_seq) for row in orders_of(other.id)]
    assert [row.number for row in orders_of(other.id)] == [1, 1]
    assert play.withdraw_order(game.id, 2, None, now=NOW) == 1
    play.leave(game.id, 3, now=NOW)
    moderate_as_outsider(game.id, "!void 2")
    moderate_as_outsider(game.id, "!resume")
    play.confirm_orders(game.id, 1, now=NOW)
    moderate_as_outsider(game.id, "!abandon")
    assert {row.status for row in orders_of(game.id)} == {"withdrawn"}
    assert [
        (row.number, row.seat, row.text, row.status, row.left_seq) for row in orders_of(other.id)
    ] == before


def test_an_order_of_one_game_answers_in_no_other(table: Begin) -> None:
    game, other = table(4), table(4, game_id="other")
    leave(other.id, 1, "pass every lot")
    submit(game.id, 0, "pass")
    assert set(position(game.id).awaited) == {1}


def test_only_the_seat_that_leaves_loses_its_orders(table: Begin) -> None:
    game = table(4)
    leave(game.id, 1, "pass every lot")
    leave(game.id, 2, "pass every lot")
    play.leave(game.id, 1, now=NOW)
    assert [row.status for row in orders_of(game.id)] == ["withdrawn", "standing"]


def test_only_its_own_suspended_orders_are_confirmed_by_a_seat(table: Begin) -> None:
    game = table(4)
    for seat in (1, 2):
        leave(game.id, seat, "take wine")
    submit(game.id, 0, "pass")
    moderate_as_outsider(game.id, "!void 2")
    moderate_as_outsider(game.id, "!resume")
    assert play.confirm_orders(game.id, 1, now=NOW) == 1
    assert [row.status for row in orders_of(game.id)] == ["standing", "resting"]


def unreadable(game: Table, seat: int) -> None:
    """Change the text of a seat's orders to what these rules cannot read, as an upgrade might."""
    with engine.transaction() as session:
        theirs = (StandingOrder.game_id == game.id, StandingOrder.seat == seat)
        session.execute(update(StandingOrder).where(*theirs).values(text="sing every lot"))


def test_an_order_that_can_be_read_no_more_stops_and_the_others_are_carried_out(table: Begin) -> None:
    game = table(4)
    for seat in (1, 2):
        leave(game.id, seat, "pass every lot")
    unreadable(game, 2)
    submit(game.id, 0, "pass")
    first, second = orders_of(game.id)
    assert (first.status, second.status) == ("standing", "stopped")
    assert second.ended_seq is not None
    assert (second.ended_at, "order" in str(second.reason)) == (NOW, True), second.reason
    assert set(position(game.id).awaited) == {2}


def test_an_order_that_can_be_read_no_more_is_in_the_way_of_no_other(table: Begin) -> None:
    game = table(4)
    leave(game.id, 2, "take wine")
    unreadable(game, 2)
    leave(game.id, 2, "pass every lot")
    assert [row.status for row in orders_of(game.id)] == ["stopped", "standing"]
