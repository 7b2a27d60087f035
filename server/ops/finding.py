"""What a check of `byzanz doctor` has found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Args:
        ok: nothing is wrong.
        what: what was found.
        remedy: what to do, if something is wrong.
    """

    ok: bool
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"ok     {self.what}" if self.ok else f"WRONG  {self.what}: {self.remedy}"


def minute(at: datetime) -> str:
    """Return a time as findings tell it."""
    return f"{at:%Y-%m-%d %H:%M} UTC"
