"""Verification reports step by step: each planted fault shows at its own step and no other."""

from __future__ import annotations

import pytest

from byzanz.chance import Stream, shuffled
from byzanz.games import rules_of
from byzanz.record import STEPS, Record, Report, ShuffleCheck, examine, redact_record, verify
from byzanz.rules import ALL, PUBLIC, Viewer
from tests.support.records import FAULTS, RecordedTable, broken_chain, entry, finished, swapped, wrong

BYZANZ = rules_of("byzanz")


def states(report: Report) -> dict[str, str]:
    return {step.name: step.state for step in report.steps}


def found(record: Record) -> Report:
    """What is found in a record that is not true; `verify` says the same."""
    report = examine(record)
    assert report.wrong is not None
    refusal = wrong(record)
    assert (refusal.seq, refusal.reason) == (report.wrong.seq, report.wrong.reason)
    return report


def test_all_steps_of_a_true_record_are_right() -> None:
    record = finished("byzanz")
    report = examine(record)
    assert report == verify(record)
    assert tuple(step.name for step in report.steps) == STEPS
    assert set(states(report).values()) == {"right"}
    assert all(step.done == step.of > 0 for step in report.steps)
    assert report.commitment == record.header.commitment
    assert report.worked_out == record.result
    assert report.wrong is None
    assert report.key is not None
    (dealt,) = report.shuffles
    assert dealt.order == dealt.logged == shuffled(dealt.cards, Stream(report.key, "deal").below)
    assert dealt.differs is None
    counts = {step.name: step.of for step in report.steps}
    assert counts["shuffles"] + counts["moves"] == counts["chain"] == len(record.entries)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_at_its_step(fault: str) -> None:
    step, seq, plant = FAULTS[fault]
    record = plant(finished("byzanz"))
    report = found(record)
    assert report.wrong is not None
    assert report.wrong.step == step
    assert report.wrong.seq == (seq if seq >= 0 else len(record.entries))
    assert [each.name for each in report.steps if each.state == "wrong"] == [step]
    before = STEPS.index(report.wrong.step) if seq == 0 else 3
    assert all(each.state in ("right", "hidden", "wrong") for each in report.steps[:before])
    if seq >= 0:
        assert {each.state for each in report.steps[before:] if each.name != step} == {"unreached"}


def test_a_false_shuffle_is_shown_with_the_first_place_that_differs() -> None:
    (dealt,) = found(swapped(finished("byzanz"))).shuffles
    assert dealt.order is not None
    assert dealt.differs == len(dealt.cards) - 2  # the last card but one
    assert dealt.order[:-2] == dealt.logged[:-2]
    assert dealt.order[-2] != dealt.logged[-2]
    (dealt,) = found(entry(1, move="shuffle deal " + " ".join(dealt.order[:9]))(finished("byzanz"))).shuffles
    assert dealt.differs == 9


def test_without_a_seed_no_order_differs() -> None:
    assert ShuffleCheck(1, "deal", ("a", "b"), ("b", "a"), None).differs is None


def test_how_far_it_came_is_counted() -> None:
    record = finished("byzanz")
    counts = {step.name: (step.done, step.of) for step in found(broken_chain(record)).steps}
    of = len(record.entries)
    assert counts["chain"] == (6, of)
    assert counts["shuffles"] == (1, 1)
    assert counts["moves"] == (5, of - 1)
    assert counts["result"] == (0, 1)


@pytest.mark.parametrize("viewer", [0, PUBLIC, ALL])
def test_of_a_running_game_the_hidden_steps_are_said_to_be_hidden(viewer: Viewer) -> None:
    table = RecordedTable(BYZANZ, 3)
    table.choose(3)
    record = redact_record(table.running(), viewer)
    report = verify(record)
    whole = viewer == ALL
    some = "right" if whole else "hidden"
    assert states(report) == {
        "table": "right",
        "commitment": "hidden",
        "cuts": "hidden",
        "shuffles": "hidden",
        "chain": some,
        "moves": some,
        "result": "hidden",
    }
    assert report.unchecked == sum(entry.salt is None for entry in record.entries) or whole
    assert (report.key, report.commitment) == (None, None)
    assert len(report.shuffles) == whole
    counts = {step.name: (step.done, step.of) for step in report.steps}
    assert counts["shuffles"] == (0, 1)
    assert counts["chain"] == (len(record.entries) - (0 if whole else report.unchecked), len(record.entries))


def test_a_void_of_what_was_voided_is_found_however_often() -> None:
    table = RecordedTable(BYZANZ, 3)
    for _ in range(3):
        seq = table.choose()
        table.void(seq)
        table.resume()
    assert verify(table.running()).replayed
    table.act(f"!void {seq}")
    assert "is not a seat's move that still counts" in found(table.running()).wrong.reason  # type: ignore[union-attr]
