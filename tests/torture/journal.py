"""The requests of a torture run and their answers, on disk before anything else happens, as JSON lines.

`what` is the kind of line: `game` (started), `ask` and `answer` (of a move), `order` and `ordered`, `withdraw` and
`withdrawn` (a standing order), `letter` and `taken` (an incoming email), `left` and `back` (a player), `mail`
(accepted by our mail server), `kill`, `end` (when the last tick was, and how many seconds a clock may be slow).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock
from typing import Any


class Journal:
    """A journal that several threads and processes may write at once.

    Args:
        path: of the file; lines are appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, what: str, **fields: Any) -> None:
        """Append a line and wait until it is on disk."""
        line = json.dumps({"what": what, **fields}) + "\n"
        with self._lock:
            os.write(self._file, line.encode())
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read(path: Path) -> list[dict[str, Any]]:
    """Return all lines, without a last one that was cut off when its writer was killed."""
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines[:-1]]
