"""A finished game cannot be rewritten without contradicting what emails quoted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from byzanz.bots.simulate import simulate_game
from byzanz.chance import commitment, deal, fingerprint, key
from byzanz.games import latest
from byzanz.moves import Move
from byzanz.record import (
    Entry,
    InvalidRecord,
    Mailed,
    Record,
    Result,
    effective,
    mailed_in,
    settled_after,
    verify,
)
from byzanz.rules import Rules
from byzanz.umpire import Step, play, read_logged, replay, settle
from tests.support.records import chained, falsified, finished

GAMES, FORGERIES = 40, 2
"""Of each kind of game: how many are played at most, until so many could be rewritten."""


def ended_otherwise(record: Record, rules: Rules[Any, Any]) -> Record | None:
    """Return the game rewritten from its last decision on, with another result, as its operator could; or None."""
    header = record.header
    assert header.seed is not None
    dealer = deal(key(header.id, header.seed, header.cuts))
    last = max(at for at, entry in enumerate(record.entries) if entry.by == "bot")
    kept, decision = list(record.entries[:last]), record.entries[last]
    assert decision.seat is not None
    made: list[tuple[int | None, Move]] = [
        (each.seat, read_logged(rules, each.move)) for each in effective(kept)
    ]
    state = replay(rules, len(header.seats), {}, made)
    for move in rules.moves(state, decision.seat):
        after, steps = settle(rules, play(rules, state, decision.seat, move), dealer)
        outcome = rules.outcome(after)
        if outcome is None:
            continue
        result = Result(outcome.scores, outcome.winners, outcome.reason)
        tail = [rewritten(decision, step) for step in (Step(decision.seat, "bot", move), *steps)]
        entries = chained(header, [*kept, *tail])
        if result != record.result:
            return Record(header, entries, result, entries[-1].hash)
    return None


def rewritten(entry: Entry, step: Step) -> Entry:
    return replace(entry, seat=step.seat, by=step.by, move=str(step.move))


@pytest.mark.parametrize("rules", latest(), ids=lambda rules: rules.slug)
def test_another_result_contradicts_the_head_in_the_email_about_the_end(rules: Rules[Any, Any]) -> None:
    forgeries = 0
    for number in range(GAMES):
        played = simulate_game(rules, min(rules.seats), b"rewritten", number, ["random"])
        forged = ended_otherwise(played, rules)
        if forged is None:
            continue
        if (forgeries := forgeries + 1) > FORGERIES:
            break
        last = max(entry.seq for entry in played.entries if entry.by == "bot")
        asked = [(entry.seq, entry.hash) for entry in played.entries[: last - 1]]
        verify(forged, mailed=Mailed(tuple(asked)))  # no email about a turn contradicts it
        end = (len(played.entries), played.head or "")
        verify(played, mailed=Mailed((*asked, end)))
        with pytest.raises(InvalidRecord) as found:
            verify(forged, mailed=Mailed((end,)))
        assert found.value.step == "chain"
        assert (
            "which an email quotes" in found.value.reason or "an email quotes its hash" in found.value.reason
        )
    assert forgeries >= FORGERIES


@pytest.mark.parametrize("change", ["seed", "cuts", "uncut", "cut_order", "format"])
def test_another_header_contradicts_every_head(change: str) -> None:
    """After the last cut an operator draws another seed, and overwrites the commitment and everything after it."""
    played = finished("byzanz")
    header, seed = played.header, bytes(32)
    forged = falsified(
        replace(
            played,
            header={
                "seed": replace(header, seed=seed, commitment=commitment(header.id, seed)),
                "cuts": replace(header, cuts=("other", *header.cuts[1:])),
                "uncut": replace(header, uncut=(0,)),
                "cut_order": replace(header, cut_order=header.cut_order and header.cut_order[::-1]),
                "format": replace(header, cut_order=None),
            }[change],
        ),
        lambda _entries: None,
    )
    for entry in played.entries[::20]:
        with pytest.raises(InvalidRecord):
            verify(forged, mailed=Mailed(((entry.seq, entry.hash),)))
    assert forged.entries[0].hash != played.entries[0].hash


def test_what_emails_quote_is_in_the_record() -> None:
    played = finished("byzanz")
    header = played.header
    cuts = tuple(fingerprint(header.id, cut) for cut in header.cuts)
    every = tuple((entry.seq, entry.hash) for entry in played.entries)
    verify(played, mailed=Mailed(((0, header.first_hash), *every), (header.commitment,), cuts))
    other = "ab" * 32
    for mailed, seq, step in (
        (Mailed(((len(every) + 1, other),)), len(every) + 1, "chain"),
        (Mailed(((3, other),)), 3, "chain"),
        (Mailed(((3, every[1][1]),)), 3, "chain"),
        (Mailed(((0, other),)), 0, "chain"),
        (Mailed((), (header.commitment, other)), 0, "commitment"),
        (Mailed((), (), (cuts[0], other)), 0, "cuts"),
    ):
        with pytest.raises(InvalidRecord) as found:
            verify(played, mailed=mailed)
        assert (found.value.seq, found.value.step) == (seq, step)


A, B, C, D = ("0123456789abcdef" * 4, "ab" * 32, "cd" * 32, "ef" * 32)


@pytest.mark.parametrize(
    "text",
    [
        f"head 12:{A}\ncommitment {B}\ncut {C}\ncut {D}",
        f"> head 12:{A.upper()}\n> commitment\n> {B}\n> - cut {C}\n>> cut: {D}\n",
        f"The log stands at entry 12 with the hash {A}. commitment={B}; Cut “{C}” CUT {D}",
        f"Das Protokoll steht bei Eintrag 12 mit dem\n> Hash {A}.\n\n commitment {B} cut {C} cut {D}",
        f"https://example.org/t/abc?at=7 then 12:{A}, {C}0 commitment {B} cut {C} cut {D} no word: {A}",
    ],
)
def test_lines_of_emails_are_read(text: str) -> None:
    assert mailed_in(text) == Mailed(((12, A),), (B,), (C, D))


def test_other_text_quotes_nothing() -> None:
    assert not mailed_in("head 12, commitment soon; cut 3 cards. 0123 " + "f" * 65)
    assert len(mailed_in(f"head 1:{A} head 2:{B} cut {C}")) == 3


def test_what_was_settled_after_a_seat() -> None:
    header = replace(finished("byzanz").header, cut_order=(2, 0, 1), uncut=(1,))
    assert [settled_after(header, seat) for seat in range(3)] == [(1,), (0, 2), (0, 1)]
    first = replace(header, cut_order=None)
    assert [settled_after(first, seat) for seat in range(3)] == [None, (0, 2), None]
