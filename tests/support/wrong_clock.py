"""A clock that can be set while a server process runs, by libfaketime (Debian's package faketime)."""

from __future__ import annotations

from pathlib import Path

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
"""The library that stands between a program and the machine's clock; None where it is not installed."""


class Clock:
    """The clock of one process.

    Args:
        file: read by the process before each look at the clock.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set("+0")

    def set(self, offset: str) -> None:
        """Set the clock wrong, as in `-4d` or `+1h`, or right again with `+0`."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(offset)
        fresh.replace(self._file)  # at once: the process may be reading

    @property
    def environment(self) -> dict[str, str]:
        """What the process needs in its environment."""
        return {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # a clock that is set leaves the monotonic one alone
        }
