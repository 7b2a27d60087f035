"""A game's states read in one pass over its log: the table, the part of the game and the charts at each entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.charts import Chart, Part
from byzanz.games import rules_of
from byzanz.rules import PUBLIC, Rules, Viewer
from server.play import positions
from server.store import log
from server.store.models import Game


@dataclass(frozen=True, slots=True)
class Timeline:
    """A log and the states it leads to; lists have one item per entry.

    Args:
        rules: of the game.
        entries: from the first on.
        states: after each; to be shown through `view` only.
        views: of the public after each.
        parts: of the game, as they are after each.
    """

    rules: Rules[Any, Any]
    entries: Sequence[record.Entry]
    states: Sequence[Any]
    views: Sequence[Any]
    parts: Sequence[Part]

    def view(self, seq: int, viewer: Viewer) -> Any:
        """Return the table after an entry, as this viewer may see it."""
        return self.rules.view(self.states[seq - 1], viewer)

    def made_in(self, seq: int) -> Part:
        """Return the part of the game in which an entry was made: a shuffle opens a part, a move may be its last."""
        opening = seq == 1 or record.is_shuffle(self.entries[seq - 1])
        return self.parts[seq - 1] if opening else self.parts[seq - 2]

    def openings(self) -> dict[Part, int]:
        """Return the seq after which each part of the game begins, in order; the last one if a part began again."""
        found: dict[Part, int] = {}
        before: Part = ()
        for entry, part in zip(self.entries, self.parts, strict=True):
            if part != before and record.act(entry) is None:
                found[part] = entry.seq
            before = part
        return found

    def charts(self) -> list[tuple[Chart, tuple[int, ...]]]:
        """Return the non-empty charts of the game, each with the seq of each of its steps."""
        seqs = [entry.seq for entry in record.counting(self.entries)]
        if not seqs:
            return []
        charts = self.rules.charts([self.views[seq - 1] for seq in seqs])
        return [(chart, tuple(seqs[step.place] for step in chart.steps)) for chart in charts if chart.steps]


def load(session: Session, game: Game, upto: int | None = None) -> Timeline:
    """Load the timeline of a game that has begun, optionally up to an entry.

    Raises:
        Broken: the log does not replay.
    """
    rules = rules_of(game.slug, game.rules)
    entries = log.entries(session, game.id, upto=upto)
    states = positions.states(session, game, entries)
    views: list[Any] = []
    for at, state in enumerate(states):
        same = at and state is states[at - 1]  # table acts do not change the state
        views.append(views[-1] if same else rules.view(state, PUBLIC))
    return Timeline(rules, entries, states, views, [rules.heading(view) for view in views])
