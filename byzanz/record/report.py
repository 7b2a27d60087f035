"""What checking a record finds: a few steps, what was worked out in each, and the first thing wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from byzanz.record.jsonl import Result

StepName = Literal["table", "commitment", "cuts", "shuffles", "chain", "moves", "result"]
"""The steps of checking: the header's game and seats, its commitment, its cuts; of the entries the shuffles, the
chain of hashes (numbers and times with it) and the moves; and how it ended."""
STEPS: tuple[StepName, ...] = ("table", "commitment", "cuts", "shuffles", "chain", "moves", "result")
"""All of them, in the order in which they are told."""
StepState = Literal["right", "wrong", "hidden", "unreached"]
"""`hidden`: the record does not tell all yet, because the game runs; `unreached`: something before is wrong."""


class Wrong(ValueError):
    """The record is not true.

    Args:
        seq: the entry where it shows first, present or missing; 0 for the header, the last one for the result.
        reason: what is wrong, in one line.
        step: the step of checking that found it.
    """

    def __init__(self, seq: int, reason: str, step: StepName = "moves") -> None:
        reason = _one_line(reason)
        super().__init__(f"entry {seq}: {reason}" if seq else f"header: {reason}")
        self.seq = seq
        self.reason = reason
        self.step = step


def _one_line(text: str) -> str:
    """The text without the line breaks and control characters that a record may bring into it."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@dataclass(frozen=True, slots=True)
class Dealt:
    """A shuffle of the log and what seed and cuts make of it.

    Args:
        seq: its entry.
        label: of the shuffle.
        cards: that are shuffled, in canonical order.
        logged: the order that the entry tells.
        order: the order that was worked out; None while the seed is not revealed.
    """

    seq: int
    label: str
    cards: tuple[str, ...]
    logged: tuple[str, ...]
    order: tuple[str, ...] | None

    @property
    def differs(self) -> int | None:
        """The first place, from 0, at which the log has another card than was worked out; None if there is none."""
        if self.order is None or self.order == self.logged:
            return None
        pairs = enumerate(zip(self.order, self.logged, strict=False))
        shorter = min(len(self.order), len(self.logged))
        return next((place for place, (card, told) in pairs if card != told), shorter)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of checking.

    Args:
        name: which.
        state: how it went.
        done: how many entries it found right; of a step about the whole record, 1 or 0.
        of: how many it is about.
    """

    name: StepName
    state: StepState
    done: int
    of: int


@dataclass(frozen=True, slots=True)
class Report:
    """What checking a record found.

    Args:
        entries: how many it has.
        unchecked: how many of them could not be checked, because the game runs: redacted ones, and shuffles
            whose seed is not yet revealed.
        replayed: whether its moves can be played over again; those of a redacted record cannot.
        result: how the game ended, as the record tells; None while it runs.
        steps: one of each of STEPS.
        commitment: worked out from id and seed, None where there is no seed.
        key: worked out from id, seed and cuts, None where there is no seed.
        shuffles: those whose cards are told, in order, up to the first thing wrong.
        worked_out: how the game ended as its moves say; None if they were not all played over again.
        wrong: the first thing that is not true, None if all is.
    """

    entries: int
    unchecked: int
    replayed: bool
    result: Result | None
    steps: tuple[Step, ...]
    commitment: str | None
    key: bytes | None
    shuffles: tuple[Dealt, ...]
    worked_out: Result | None
    wrong: Wrong | None
