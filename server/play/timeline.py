"""The timeline of a game for one viewer, read in one pass over its log: tables, parts of the game, and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.charts import Chart, Heading
from byzanz.games import rules_of
from byzanz.rules import PUBLIC, Rules, Viewer
from server.play import history, positions
from server.store import log
from server.store.models import Game


@dataclass(frozen=True, slots=True)
class Timeline:
    """The log of a game and the tables to which it leads; each sequence has one item for every entry.

    Args:
        rules: of the game.
        viewer: may see everything here except `states`.
        entries: from the first on, as the viewer may read them.
        states: after each entry; only `view` reads them.
        views: of the public after each entry.
        parts: of the game after each entry.
    """

    rules: Rules[Any, Any]
    viewer: Viewer
    entries: Sequence[record.Entry]
    states: Sequence[Any]
    views: Sequence[Any]
    parts: Sequence[Heading]

    def view(self, seq: int) -> Any:
        """The table after an entry, as the viewer may know it."""
        return self.rules.view(self.states[seq - 1], self.viewer)

    def made_in(self, seq: int) -> Heading:
        """The part of the game in which an entry was made: a shuffle opens a part, a move may end one."""
        opening = seq == 1 or record.is_shuffle(self.entries[seq - 1])
        return self.parts[seq - 1] if opening else self.parts[seq - 2]

    def openings(self) -> dict[Heading, int]:
        """The seq after which each part of the game begins, in order; the last seq if it began again after a void."""
        found: dict[Heading, int] = {}
        before: Heading = ()
        for entry, part in zip(self.entries, self.parts, strict=True):
            if part != before and record.table_act(entry) is None:
                found[part] = entry.seq
            before = part
        return found

    def charts(self) -> list[tuple[Chart, tuple[int, ...]]]:
        """The charts of the game that are not empty, each with the seq of each of its steps."""
        seqs = [entry.seq for entry in record.effective(self.entries)]
        if not seqs:
            return []
        charts = self.rules.charts([self.views[seq - 1] for seq in seqs])
        return [(chart, tuple(seqs[step.place] for step in chart.steps)) for chart in charts if chart.steps]


def load(session: Session, game: Game, viewer: Viewer, upto: int | None = None) -> Timeline:
    """Load the timeline of a game that has begun, or of its part up to an entry.

    Args:
        viewer: a seat, PUBLIC or ALL; once the game is over, nothing is hidden from anyone.

    Raises:
        Broken: the log does not replay.
    """
    rules = rules_of(game.slug, game.rules)
    entries = log.entries(session, game.id, upto=upto)
    states = positions.states(session, game, entries)
    views: list[Any] = []
    for at, state in enumerate(states):
        same = at and state is states[at - 1]  # most acts of moderators change nothing on the table
        views.append(views[-1] if same else rules.view(state, PUBLIC))
    viewer = history.viewer_of(game, viewer)
    seen = history.redacted(session, game, viewer, entries, entries)
    return Timeline(rules, viewer, seen, states, views, [rules.heading(view) for view in views])
