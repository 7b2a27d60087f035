"""Check the result of a torture run: `python -m tests.torture.checker DATABASE_URL JOURNAL [games|mails|clocks]`.

The checker reads the database and the journal, may use the rules in `byzanz`, and imports nothing of `server`. It
exits with status 1 if any promise is broken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture import journal
from tests.torture.clock_rules import doubted, drained, given_up, noticed, spared
from tests.torture.evidence import Evidence, Found, Row, connect, gather
from tests.torture.log_rules import acknowledged, answered, begun, chained, gapless, legal, once, verified
from tests.torture.mail_rules import delivered, single
from tests.torture.order_rules import answer, idle, kept, own, withdrawn
from tests.torture.side_rules import accepted, banked, clocked, heard, posted, projected, punctual, sound


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken promise: the rule that found it, the game, and what it found."""

    rule: str
    game: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {f'game {self.game}, ' if self.game else ''}{self.text}"


def check(connection: Any, lines: Sequence[Row], of: str = "games") -> list[Fault]:
    """Return every broken promise.

    Args:
        connection: to the database, see `evidence.connect`.
        lines: the lines of the journal.
        of: which rules to apply, see `SETS`.
    """
    found = gather(connection, lines)
    return [Fault(rule.__name__, *fault) for rule in SETS[of] for fault in rule(found)]


Rules = tuple[Callable[[Evidence], Found], ...]
RULES: Rules = (
    begun,
    acknowledged,
    once,
    answered,
    gapless,
    chained,
    legal,
    verified,
    kept,
    withdrawn,
    answer,
    idle,
    own,
    posted,
    accepted,
    heard,
    projected,
    clocked,
    punctual,
    banked,
    sound,
)


MAIL_RULES: Rules = (delivered, single, sound)
CLOCK_RULES: Rules = (
    *(begun, gapless, chained, legal, verified, projected, banked),
    *(spared, noticed, doubted, drained, given_up, sound),
)
SETS = {"games": RULES, "mails": MAIL_RULES, "clocks": CLOCK_RULES}
"""The sets of rules: for played games, for sent emails, or for turns that timed out under faults."""


def main(words: Sequence[str]) -> int:
    """Check one database against one journal and print what is broken."""
    url, path, *of = words
    faults = check(connect(url), journal.read(Path(path)), *of)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
