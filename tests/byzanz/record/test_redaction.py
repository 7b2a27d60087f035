"""The record of a running game contains only what its reader may know (docs/formats.md §4)."""

from typing import Any

import pytest

from byzanz.games import rules_of
from byzanz.moves import Move
from byzanz.record import Entry, open_choices, redact_entries, redact_record, verify
from byzanz.rules import ALL, PUBLIC, Viewer
from tests.support.records import RecordedTable, find
from tests.support.sealed_game import Sealed

BYZANZ = rules_of("byzanz")


class Counted(Sealed):
    """As the small game, but how much was laid is public once both are in, like Empire's redraw."""

    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        told = super().redact_move(move, seat, viewer, False)
        return f"{told} 1" if settled and told.endswith("?") else told


def lay(table: RecordedTable, seat: int, which: int = 0, by: str = "player") -> str:
    """Lay a card, or change it; the move."""
    moves = table.rules.moves(table.state, seat) or table.rules.out_of_turn_moves(table.state, seat)
    move = str(moves[which])
    table.move(seat, move, by)
    return move


def moves_seen(table: RecordedTable, viewer: Viewer, rules: Any = None) -> list[str]:
    """The moves as the viewer reads them after the first shuffle."""
    rules = rules or table.rules
    open_seqs = open_choices(table.rules, 2, {}, table.entries)
    return [entry.move for entry in redact_entries(rules, table.entries, viewer, False, open_seqs)][1:]


def test_a_byzanz_game_hides_the_deal_and_how_others_came_to_their_moves() -> None:
    table = RecordedTable(BYZANZ, 4)
    table.choose(3)
    table.write(1, "order", "pass", note="the price passed your limit")
    table.write(2, "rules", "pass")
    table.write(3, "clock", "pass", note="late")
    table.write(0, "bot", "pass")
    table.write(0, "autopilot", "pass")
    table.act("!note", note="be kind")
    table.act("!leave 1", seat=1, by="player", note="farewell")
    whole = table.entries
    seen = redact_entries(BYZANZ, whole, 1, False)
    assert [entry.hash for entry in seen] == [entry.hash for entry in whole]
    assert [entry.move for entry in seen] == ["shuffle deal", *(entry.move for entry in whole[1:])]
    assert [entry.by for entry in seen[1:]] == [
        "player", "order", "player", "clock", "bot", "autopilot", "moderator", "player"
    ]  # fmt: skip
    assert [entry.salt is None for entry in seen] == [True, True, False, True, *[False] * 5]
    assert [entry.note for entry in seen[2:5]] == ["the price passed your limit", None, "late"]
    public = redact_entries(BYZANZ, whole, PUBLIC, False)
    assert [(entry.by, entry.note, entry.salt) for entry in public[1:4]] == [("player", None, None)] * 3
    assert (public[8].by, public[8].note, public[8].salt) == ("player", None, None)
    assert public[7] == whole[7]


def test_nothing_is_hidden_from_all_and_when_the_game_is_over() -> None:
    table = RecordedTable(BYZANZ, 3).finish()
    assert list(redact_entries(BYZANZ, table.entries, ALL, False)) == table.entries
    assert list(redact_entries(BYZANZ, table.entries, 2, True)) == table.entries
    assert redact_record(table.record(), PUBLIC) == table.record()


def test_a_running_record_shows_no_seed_not_even_to_all() -> None:
    table = RecordedTable(BYZANZ, 3)
    table.choose(3)
    for viewer in (0, PUBLIC, ALL):
        record = redact_record(table.running(), viewer)
        assert (record.header.seed, record.result, record.head) == (None, None, None)
        assert verify(record).replayed == (viewer == ALL)
    assert redact_record(table.running(), ALL).entries == tuple(table.entries)


def test_a_sealed_choice_opens_when_all_are_in() -> None:
    table = RecordedTable(Sealed(), 2)
    first = lay(table, 1)
    assert moves_seen(table, 0) == moves_seen(table, PUBLIC) == ["lay ?"]
    assert moves_seen(table, 1) == moves_seen(table, ALL) == [first]
    second = lay(table, 0)
    for viewer in (0, 1, PUBLIC, ALL):
        assert moves_seen(table, viewer) == [first, second]


def test_a_replaced_sealed_choice_stays_sealed() -> None:
    table = RecordedTable(Sealed(), 2)
    laid = [lay(table, 0), lay(table, 0, 1), lay(table, 1)]
    assert moves_seen(table, 0) == laid
    assert moves_seen(table, 1) == moves_seen(table, PUBLIC) == ["lay ?", *laid[1:]]


def test_what_becomes_public_of_a_sealed_choice_is_told_once_all_are_in() -> None:
    table = RecordedTable(Sealed(), 2)
    lay(table, 0)
    lay(table, 0, 1)
    assert moves_seen(table, 1, Counted()) == ["lay ?", "lay ?"]
    lay(table, 1)
    assert moves_seen(table, 1, Counted()) == ["lay ?", "lay ? 1", table.entries[-1].move]


def test_of_sealed_and_chance_entries_the_salt_is_withheld_even_from_their_maker() -> None:
    table = RecordedTable(Sealed(), 2)
    lay(table, 0, by="bot")
    lay(table, 1)
    table.choose()
    for viewer in (0, 1, PUBLIC):
        for whole, seen in zip(
            table.entries, redact_entries(Sealed(), table.entries, viewer, False), strict=True
        ):
            if whole.by == "chance" or whole.move.startswith("lay"):
                assert seen.salt is None
    answer = next(entry for entry in table.entries if entry.move.startswith(("decline", "respond")))
    assert answer.seat is not None
    assert redact_entries(Sealed(), [answer], answer.seat, False) == (answer,)
    assert redact_entries(Sealed(), [answer], 1 - answer.seat, False)[0].salt is None


@pytest.mark.parametrize("viewer", [0, 1, PUBLIC])
def test_a_void_leaves_open_what_was_open_and_sealed_what_was_sealed(viewer: Viewer) -> None:
    table = RecordedTable(Sealed(), 2)
    lay(table, 0)
    lay(table, 1)
    before = moves_seen(table, viewer)
    assert "lay ?" not in before
    table.void(3)
    table.resume()
    assert moves_seen(table, viewer)[:2] == before
    lay(table, 0, 1)
    sealed = moves_seen(table, viewer)[-1]
    assert sealed == (table.entries[-1].move if viewer == 0 else "lay ?")
    table.void(table.entries[-1].seq)
    table.resume()
    lay(table, 1)
    assert moves_seen(table, viewer).count("lay ?") == (viewer != 0)


def test_the_sealed_choice_of_a_voided_round_does_not_open_with_the_next() -> None:
    table = RecordedTable(Sealed(), 2)
    lay(table, 0)
    table.void(2)
    table.resume()
    laid = [lay(table, 1), lay(table, 0, 1)]
    assert [move for move in moves_seen(table, PUBLIC) if not move.startswith("!")] == ["lay ?", *laid]


def test_worlds_that_a_reader_cannot_tell_apart_give_the_same_record() -> None:
    def played(card: int) -> list[Entry]:
        table = RecordedTable(Sealed(), 2)
        lay(table, 1, card, by=("player", "order")[card])
        lay(table, 1, 0)
        return table.entries

    one, other = played(0), played(1)
    assert one != other
    for viewer in (0, PUBLIC):
        seen = [
            [(entry.seq, entry.at, entry.seat, entry.by, entry.move, entry.note, entry.salt) for entry in log]
            for log in (
                redact_entries(Sealed(), one, viewer, False),
                redact_entries(Sealed(), other, viewer, False),
            )
        ]
        assert seen[0] == seen[1]


def test_games_without_sealed_choices_are_not_replayed_for_it() -> None:
    assert (
        open_choices(BYZANZ, 3, {}, [Entry(1, "", 0, "player", "no such move", None, None, "")])
        == frozenset()
    )


def test_a_redacted_record_of_sealed_choices_verifies_as_far_as_it_goes() -> None:
    table = RecordedTable(Sealed(), 2)
    lay(table, 0)
    lay(table, 1)
    lay(table, min(Sealed().awaited(table.state)), 0, by="bot")
    record = redact_record(table.running(), 0, find)
    report = verify(record, find)
    withheld = sum(entry.salt is None for entry in record.entries)
    assert (report.unchecked, report.replayed) == (withheld, False)
    assert withheld >= 3
