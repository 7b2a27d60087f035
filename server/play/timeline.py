"""The timeline of a game for one viewer: its log, the table at any entry, its parts, charts and highlights."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.charts import Chart, Heading, Highlight
from byzanz.moves import ranked
from byzanz.rules import PUBLIC, Rules, Viewer
from server.play import followed, history, positions
from server.play.positions import Position
from server.store import log
from server.store.statements import AnyGame

MOST = 500
"""Logs whose parts a process remembers: they are public, follow from the log, and cost a replay and all its views."""
_parts: OrderedDict[str, tuple[tuple[Heading, ...], tuple[Any, ...]]] = OrderedDict()
"""The parts and facts of `Timeline` of a log, by the hash of its last entry, the most recently used last."""
_lock = threading.Lock()


@dataclass(slots=True)
class Timeline:
    """The log of a game and the tables to which it leads.

    Args:
        rules: of the game.
        viewer: may see everything here except states.
        entries: from the first on, as the viewer may read them.
        parts: of the game after each entry.
        facts: what each entry did, see `Rules.followed` and `Rules.news`; None for an act.
        replay: returns the state after each of the first so many entries.
        states: those replayed so far; only `view`, `ranking`, `charts` and `highlights` read them.
        counted: the moves that count and their views, once `charts` or `highlights` has computed them.
    """

    rules: Rules[Any, Any]
    viewer: Viewer
    entries: Sequence[record.Entry]
    parts: Sequence[Heading]
    facts: Sequence[Any]
    replay: Callable[[int], Sequence[Any]]
    states: Sequence[Any] = ()
    counted: tuple[list[int], list[Any]] | None = None

    def view(self, seq: int, viewer: Viewer | None = None) -> Any:
        """The table after an entry, as the viewer may know it, or as another `viewer` of whom they may know all."""
        return self.rules.view(self._states(seq)[seq - 1], self.viewer if viewer is None else viewer)

    def ranking(self) -> list[tuple[int, int]]:
        """The place of each seat after the last entry, and the seat, the best first."""
        return ranked(self.rules.places(self._states(len(self.entries))[-1]))

    def _states(self, upto: int) -> Sequence[Any]:
        if len(self.states) < upto:
            self.states = self.replay(upto)
        return self.states

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
        seqs, views = self._counted()
        charts = self.rules.charts(views) if views else ()
        return [(chart, tuple(seqs[step.place] for step in chart.steps)) for chart in charts if chart.steps]

    def highlights(self, winners: Sequence[int]) -> list[tuple[Highlight, int]]:
        """The highlights of a finished game in the order of the game, each with the seq of the entry that shows it."""
        seqs, views = self._counted()
        found = self.rules.highlights(views, winners) if views else ()
        return [(each, seqs[each.place]) for each in sorted(found, key=lambda each: each.place)]

    def _counted(self) -> tuple[list[int], list[Any]]:
        """The seq of each move that counts, and the view of the public after it."""
        if self.counted is None:
            seqs = [entry.seq for entry in record.effective(self.entries)]
            views = public_views(self.rules, self._states(len(self.entries)))
            self.counted = seqs, [views[seq - 1] for seq in seqs]
        return self.counted


def load(session: Session, game: AnyGame, viewer: Viewer, upto: int | None = None) -> Timeline:
    """Load the timeline of a game that has begun, or of its part up to an entry.

    The log is replayed at most once, and only as far as needed if its parts are known.

    Args:
        viewer: a seat, PUBLIC or ALL; once the game is over, nothing is hidden from anyone.

    Raises:
        Broken: the log does not replay.
    """
    rules = positions.rules_of(game)
    entries = log.entries(session, game.id, upto=upto)

    def replay(count: int) -> Sequence[Any]:
        return positions.states(session, game, entries[:count])

    viewer = history.viewer_of(game, viewer)
    seen = history.redacted(session, game, viewer, entries, entries)
    known = _known(entries[-1].hash) if entries else ((), ())
    if known is not None:
        return Timeline(rules, viewer, seen, *known, replay)
    states = replay(len(entries))
    views = public_views(rules, states)
    known = tuple(map(rules.heading, views)), _facts(session, game, entries, views)
    with _lock:
        _parts[entries[-1].hash] = known
        while len(_parts) > MOST:
            _parts.popitem(last=False)
    return Timeline(rules, viewer, seen, *known, replay, states)


def told(
    session: Session,
    game: AnyGame,
    position: Position,
    entries: Sequence[record.Entry],
    seat: int,
    own: record.Entry | None = None,
) -> list[tuple[record.Entry, Any]]:
    """The moves since a seat's own last move that count, each with what it did.

    Usually the view shows all of that. If the game went on without the seat's player and the view has forgotten the
    beginning, the rest is read from the log, once per process and head.

    Args:
        position: after the last of the entries, the newest of the log.
        seat: its player reads this.
        own: their own last move, which comes first if the game says what followed from it.
    """
    rules = position.rules
    if own is not None and position.followed.get(own.seq):
        entries = [own, *entries]
    found = history.told(position, position.view(seat), entries)
    if not rules.forgets or not any(entry.seat == seat for entry, _fact in found):
        return found
    facts = load(session, game, seat).facts
    return [(entry, fact if fact is not None else facts[entry.seq - 1]) for entry, fact in found]


def _facts(
    session: Session, game: AnyGame, entries: Sequence[record.Entry], views: Sequence[Any]
) -> tuple[Any, ...]:
    """What each entry did; views are those of the public after them."""
    rules = positions.rules_of(game)
    acts = [record.table_act(entry) is not None for entry in entries]
    if not followed.is_told(rules):
        return tuple(
            None if is_act else rules.news(view, [entry.move])[0]
            for entry, view, is_act in zip(entries, views, acts, strict=True)
        )
    start = positions.replay(game, len(positions.seats_of(session, game.id)), rules, [])
    befores = [rules.view(start, PUBLIC), *views[:-1]]
    return tuple(
        None if is_act else followed.messages(rules, before, after)
        for before, after, is_act in zip(befores, views, acts, strict=True)
    )


def _known(head_hash: str) -> tuple[tuple[Heading, ...], tuple[Any, ...]] | None:
    """The parts and facts of a log, if they are remembered. Its last hash vouches for every entry before."""
    with _lock:
        if head_hash in _parts:
            _parts.move_to_end(head_hash)
        return _parts.get(head_hash)


def public_views(rules: Rules[Any, Any], states: Sequence[Any]) -> list[Any]:
    """The views of the public of these states."""
    views: list[Any] = []
    for at, state in enumerate(states):
        same = at and state is states[at - 1]  # most acts of moderators change nothing on the table
        views.append(views[-1] if same else rules.view(state, PUBLIC))
    return views
