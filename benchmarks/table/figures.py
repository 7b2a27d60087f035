"""What a run has measured so far: each figure once for each round, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure.

    Args:
        rounds: in which all contenders take turns.
        moves: of each client in each round, at most 110: every game is longer.
        postgres_moves: the same on PostgreSQL.
        pages: opened by each client in each round.
        commits: of the yardstick that only commits, in each round.
        lengths: entries of a log at which moves and pages are measured.
        repeats: of a move and of a page at each length in each round.
        mails: composed and sent in each round.
        games: running games, while the scheduler's jobs find nothing to do.
        front: games of a person whose front page is opened, besides one.
        whole_games: played to their end, to see what they leave in the database.
        kills: of a server while people play.
        memory_pages: opened before the memory is read.
    """

    rounds: int = 3
    moves: int = 100
    postgres_moves: int = 60
    pages: int = 60
    commits: int = 400
    lengths: tuple[int, ...] = (50, 100, 500, 2_000)
    repeats: int = 60
    mails: int = 40
    games: int = 1_000_000
    front: int = 200
    whole_games: int = 6
    kills: int = 100
    memory_pages: int = 10_000


QUICK = Size(
    rounds=1,
    moves=10,
    postgres_moves=10,
    pages=5,
    commits=50,
    repeats=5,
    mails=4,
    games=2_000,
    front=5,
    whole_games=1,
    kills=3,
    memory_pages=100,
)
"""As little as shows that everything works."""


@dataclass(slots=True)
class Figures:
    """What was measured.

    Args:
        rounds: the values of each figure, one for each round.
        missing: what could not be measured, with the reason.
    """

    rounds: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Add the value of one round."""
        self.rounds.setdefault(name, []).append(value)

    def median(self, name: str) -> float | None:
        """Return the median of a figure's rounds; None if it was not measured."""
        found = self.rounds.get(name)
        return median(found) if found else None

    def ratio(self, name: str, other: str) -> float | None:
        """Return the median of one figure divided by another of the same round, or by its median if it has others."""
        ours, theirs = self.rounds.get(name), self.rounds.get(other)
        if not ours or not theirs:
            return None
        if len(ours) != len(theirs):
            return median(ours) / median(theirs)
        return median(one / another for one, another in zip(ours, theirs, strict=True))
