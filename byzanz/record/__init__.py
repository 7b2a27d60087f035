"""The record of a game: its entries and their hash chain, its text, redaction for a reader, and verification.

Callers use the names of this package (`record.verify`), not its modules.
"""

from byzanz.record.entry import (
    GENESIS,
    Cause,
    Entry,
    abandoned,
    effective,
    entry_hash,
    expected_hash,
    is_shuffle,
    new_entry,
    paused,
    table_act,
)
from byzanz.record.jsonl import FORMATS, BadRecord, Header, Record, Result, lines, read, write
from byzanz.record.redaction import open_choices, redact_entries, redact_record
from byzanz.record.report import (
    STEPS,
    CheckStep,
    InvalidRecord,
    Mailed,
    Report,
    ShuffleCheck,
    mailed_in,
    settled_after,
)
from byzanz.record.verify import examine, verify

__all__ = [
    "FORMATS",
    "GENESIS",
    "STEPS",
    "BadRecord",
    "Cause",
    "CheckStep",
    "Entry",
    "Header",
    "InvalidRecord",
    "Mailed",
    "Record",
    "Report",
    "Result",
    "ShuffleCheck",
    "abandoned",
    "effective",
    "entry_hash",
    "examine",
    "expected_hash",
    "is_shuffle",
    "lines",
    "mailed_in",
    "new_entry",
    "open_choices",
    "paused",
    "read",
    "redact_entries",
    "redact_record",
    "settled_after",
    "table_act",
    "verify",
    "write",
]
