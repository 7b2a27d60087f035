"""What emails quote of a game, compared with its record (docs/formats.md §4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from byzanz.chance import fingerprint
from byzanz.record.jsonl import Header, Record
from byzanz.record.report import InvalidRecord

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
