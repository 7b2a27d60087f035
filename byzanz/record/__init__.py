"""The record of a game: entries and their chain, its text, what a reader may see of it, and whether it is so.

The parts are modules of this package; everything is called by its name here (`record.verify`).
"""

from byzanz.record.check import Report, Wrong, verify
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
from byzanz.record.redaction import opened, redacted, shown
from byzanz.record.text import FORMAT, BadRecord, Header, Record, Result, read, write

__all__ = [
    "FORMAT",
    "GENESIS",
    "BadRecord",
    "Entry",
    "Header",
    "Record",
    "Report",
    "Result",
    "Wrong",
    "abandoned",
    "act",
    "counting",
    "entry_hash",
    "is_shuffle",
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
