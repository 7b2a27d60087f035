"""The record of a game: entries and their chain, its text, what a reader may see of it, and whether it is so.

The parts are modules of this package; everything is called by its name here (`record.verify`).
"""

from byzanz.record.entry import (
    GENESIS,
    Entry,
    abandoned,
    act,
    counting,
    entry_hash,
    is_shuffle,
    paused,
    sealed_entry,
    true_hash,
)
from byzanz.record.jsonl import FORMAT, BadRecord, Header, Record, Result, lines, read, write
from byzanz.record.redaction import opened, redacted, shown
from byzanz.record.report import STEPS, Dealt, Report, Step, Wrong
from byzanz.record.verify import examine, verify

__all__ = [
    "FORMAT",
    "GENESIS",
    "STEPS",
    "BadRecord",
    "Dealt",
    "Entry",
    "Header",
    "Record",
    "Report",
    "Result",
    "Step",
    "Wrong",
    "abandoned",
    "act",
    "counting",
    "entry_hash",
    "examine",
    "is_shuffle",
    "lines",
    "opened",
    "paused",
    "read",
    "redacted",
    "sealed_entry",
    "shown",
    "true_hash",
    "verify",
    "write",
]
