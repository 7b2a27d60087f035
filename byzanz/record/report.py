"""The report of a verification: its steps, what each recomputed, and the first error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from byzanz.chance import fingerprint
from byzanz.record.jsonl import Header, Record, Result

StepName = Literal["table", "commitment", "cuts", "shuffles", "chain", "moves", "result"]
"""The steps of a verification: the header's game and seats, commitment and cuts; the entries' shuffles, hash chain
(with numbers and times) and moves; and the result."""
STEPS: tuple[StepName, ...] = ("table", "commitment", "cuts", "shuffles", "chain", "moves", "result")
"""All of them, in order."""
StepState = Literal["right", "wrong", "hidden", "unreached"]
"""`hidden`: not all can be checked while the game runs; `unreached`: an earlier step found an error."""


class InvalidRecord(ValueError):
    """The record fails its verification.

    Args:
        seq: the entry at fault, present or missing; 0 for the header, the last one for the result.
        reason: what is wrong, in one line.
        step: the step that found it.
    """

    def __init__(self, seq: int, reason: str, step: StepName = "moves") -> None:
        reason = _one_line(reason)
        super().__init__(f"entry {seq}: {reason}" if seq else f"header: {reason}")
        self.seq = seq
        self.reason = reason
        self.step = step


def _one_line(text: str) -> str:
    """Return the text without line breaks and control characters, which a record may contain."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@dataclass(frozen=True, slots=True)
class ShuffleCheck:
    """A shuffle in the log, compared with the one that follows from seed and cuts.

    Args:
        seq: of its entry.
        label: of the shuffle.
        cards: in canonical order, before the shuffle.
        logged: the order in the entry.
        order: the recomputed order; None while the seed is not revealed.
    """

    seq: int
    label: str
    cards: tuple[str, ...]
    logged: tuple[str, ...]
    order: tuple[str, ...] | None

    @property
    def differs(self) -> int | None:
        """The first place, from 0, where the two orders differ; None if they are equal or one is unknown."""
        if self.order is None or self.order == self.logged:
            return None
        pairs = enumerate(zip(self.order, self.logged, strict=False))
        shorter = min(len(self.order), len(self.logged))
        return next((place for place, (card, told) in pairs if card != told), shorter)

    @property
    def is_wrong(self) -> bool:
        """Whether the entry does not hold the recomputed order or, where there is none, not these cards."""
        return self.differs is not None or (self.order is None and sorted(self.cards) != sorted(self.logged))


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step of a verification.

    Args:
        name: of the step.
        state: its result.
        done: the number of entries that passed; 1 or 0 for a step about the whole record.
        of: the number of entries to check.
    """

    name: StepName
    state: StepState
    done: int
    of: int


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a verification.

    Args:
        entries: the number of entries in the record.
        unchecked: the number of entries that cannot be checked while the game runs: redacted ones, and shuffles
            whose seed is not yet revealed.
        replayed: whether the moves could be replayed; those of a redacted record cannot.
        result: as recorded; None while the game runs.
        steps: one for each of STEPS.
        commitment: recomputed from id and seed; None without a seed.
        key: recomputed from id, seed and cuts; None without a seed.
        shuffles: those that can be read, in order, up to the first error.
        worked_out: the result that follows from the moves; None if they were not all replayed.
        wrong: the first error; None if there is none.
    """

    entries: int
    unchecked: int
    replayed: bool
    result: Result | None
    steps: tuple[CheckStep, ...]
    commitment: str | None
    key: bytes | None
    shuffles: tuple[ShuffleCheck, ...]
    worked_out: Result | None
    wrong: InvalidRecord | None


# ---- what emails quote of a game, compared with its record (docs/formats.md §4) ----

_QUOTED = re.compile(
    r"(?:\b(commitment|cut)\W{1,3}|\b(\d{1,9})\b(?::|[^0-9]{1,60}?))\b([0-9a-f]{64})\b", re.IGNORECASE
)
"""A hash with the word before it, or with the entry's number: `head 12:…`, or a sentence of older emails.

A number within a word, such as the beginning of a game's id in an address, is none.
"""
_LINE_BREAK = re.compile(r"\s*\n[> ]*")


@dataclass(frozen=True, slots=True)
class Mailed:
    """What emails about one game quoted.

    Args:
        heads: the number of an entry with its hash.
        commitments: to the seed.
        cuts: fingerprints of cuts.
    """

    heads: tuple[tuple[int, str], ...] = ()
    commitments: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.heads) + len(self.commitments) + len(self.cuts)


def mailed_in(text: str) -> Mailed:
    """Find what lines of emails quote: heads of the log, commitments, and fingerprints of cuts.

    Args:
        text: as pasted from emails in any language, quoted and wrapped or not.
    """
    heads: list[tuple[int, str]] = []
    quoted: dict[str, list[str]] = {"commitment": [], "cut": []}
    for word, seq, digest in _QUOTED.findall(_LINE_BREAK.sub(" ", text)):
        if seq:
            heads.append((int(seq), digest.lower()))
        else:
            quoted[word.lower()].append(digest.lower())
    return Mailed(tuple(heads), tuple(quoted["commitment"]), tuple(quoted["cut"]))


def check_mailed(record: Record, mailed: Mailed) -> None:
    """Check that a record contains what emails quoted.

    Raises:
        InvalidRecord: the first thing that it does not contain.
    """
    header = record.header
    hashes = {0: header.first_hash, **{entry.seq: entry.hash for entry in record.entries}}
    for seq, digest in sorted(mailed.heads):
        if seq not in hashes:
            raise InvalidRecord(seq, "missing, though an email quotes its hash", "chain")
        if hashes[seq] != digest:
            raise InvalidRecord(seq, f"its hash is not {digest}, which an email quotes", "chain")
    for digest in mailed.commitments:
        if digest != header.commitment:
            raise InvalidRecord(0, f"the commitment is not {digest}, which an email quotes", "commitment")
    made = {fingerprint(header.id, cut) for cut in header.cuts}
    for digest in mailed.cuts:
        if digest not in made:
            reason = (
                f"no cut has the fingerprint {digest}, which an email quotes: it was withdrawn or changed"
            )
            raise InvalidRecord(0, reason, "cuts")


def settled_after(header: Header, seat: int) -> tuple[int, ...] | None:
    """Return the seats whose cuts were settled after that of a seat; None if the record does not say.

    Bots and seats that were not asked count as settled last. A seat that was not asked saw nothing fixed.
    """
    if seat in header.uncut:
        return tuple(other for other in range(len(header.seats)) if other != seat)
    if header.cut_order is None:
        return None
    return header.cut_order[header.cut_order.index(seat) + 1 :]
