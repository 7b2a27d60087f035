"""What the page says of a checked record, property by property; nothing here is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byzanz.record import Record, ShuffleCheck, examine
from server.web.game.verify import CheckedRecord
from tests.support.records import FAULTS, finished

ORDER = ("a", "b")


def checked(record: Record) -> CheckedRecord:
    return CheckedRecord(record, examine(record))


@pytest.fixture(scope="module")
def good() -> CheckedRecord:
    """Return a true record of a finished game."""
    return checked(finished("byzanz", 1))


def faulty(fault: str) -> CheckedRecord:
    return checked(FAULTS[fault][2](finished("byzanz", 1)))


def test_the_verdict(good: CheckedRecord) -> None:
    assert good.verdict == "right"
    assert faulty("another order").verdict == "wrong"
    assert replace(good, report=replace(good.report, unchecked=1)).verdict == "unfinished"
    assert replace(good, report=replace(good.report, result=None)).verdict == "unfinished"


def test_the_commitment_proves_less_before_the_seed_is_revealed(good: CheckedRecord) -> None:
    assert good.commitment_matches
    assert "can be computed again. That" in good.about_commitment
    assert not faulty("another seed").commitment_matches
    assert "The seed is revealed when" in faulty("no seed").about_commitment


def test_each_cut_stands_by_its_seat(good: CheckedRecord) -> None:
    header = good.record.header
    assert [name for name, _cut, _suggested in good.cuts] == list(header.seats)
    odd = replace(good.record, header=replace(header, seats=header.seats[:1], uncut=(1,)))
    assert [(name, suggested) for name, _cut, suggested in CheckedRecord(odd, good.report).cuts[:2]] == [
        (header.seats[0], False),
        ("–", True),
    ]


def test_what_was_settled_after_a_cut_is_told_where_the_record_can_be_trusted(good: CheckedRecord) -> None:
    header = good.record.header
    ordered = replace(good.record, header=replace(header, cut_order=tuple(range(len(header.seats)))))
    told = CheckedRecord(ordered, good.report).settled
    assert told[0] == (header.seats[0], list(header.seats[1:]))
    assert told[-1] == (header.seats[-1], [])
    unordered = replace(good.record, header=replace(header, cut_order=None))
    assert CheckedRecord(unordered, good.report).settled == []
    assert CheckedRecord(ordered, faulty("a cut too few").report).settled == []


def test_the_head_is_the_last_hash_where_the_record_does_not_say_it(good: CheckedRecord) -> None:
    record = good.record
    assert good.head == record.head
    assert CheckedRecord(replace(record, head=None), good.report).head == record.entries[-1].hash
    assert CheckedRecord(replace(record, head=None, entries=()), good.report).head == "–"


def test_scores_stand_beside_those_that_follow(good: CheckedRecord) -> None:
    assert good.report.result is not None
    assert [line.score for line in good.scores] == list(good.report.result.scores)
    assert not any(line.differs for line in good.scores)
    assert [line.won for line in good.scores] == [line.worked_out_won for line in good.scores]
    assert any(line.differs for line in faulty("other points").scores)
    stopped = CheckedRecord(good.record, replace(good.report, worked_out=None))
    assert [(line.worked_out, line.differs) for line in stopped.scores[:1]] == [(None, False)]
    assert CheckedRecord(good.record, replace(good.report, result=None)).scores == []


@pytest.mark.parametrize(
    ("logged", "order", "is_wrong"),
    [
        (ORDER, ORDER, False),
        (ORDER, ("b", "a"), True),
        (("b", "a"), None, False),
        (("b", "c"), None, True),
    ],
)
def test_a_shuffle_is_wrong_by_its_order_or_by_its_cards(
    logged: tuple[str, ...], order: tuple[str, ...] | None, is_wrong: bool
) -> None:
    assert ShuffleCheck(1, "deal", ORDER, logged, order).is_wrong is is_wrong
