"""The one reader: what a viewer may read of a game's log, for pages, emails, the API, feeds and records alike."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from byzanz import chance, record
from byzanz.charts import Chart, Heading, Highlight
from byzanz.moves import Message, RulesError, ranked
from byzanz.rules import ALL, PUBLIC, Rules, Viewer
from byzanz.umpire import read_followed
from server.play import names, positions
from server.play.game import Table
from server.play.positions import Broken, Position
from server.store import log
from server.store.models import GameStatus, SeatStatus
from server.store.statements import GameRow, SeatRow


def viewer_of(game: GameRow, viewer: Viewer) -> Viewer:
    """The viewer whose rights apply: ALL once the game is over, because nothing is hidden then."""
    return ALL if game.status == GameStatus.OVER else viewer


def entries_for(
    table: Table, viewer: Viewer, *, after: int = 0, upto: int | None = None
) -> Sequence[record.Entry]:
    """The entries with `after` < seq ≤ `upto`, as a viewer may read them (docs/formats.md §4).

    Args:
        viewer: a seat, PUBLIC or ALL.
    """
    return redacted(table, viewer, log.entries(table.session, table.game.id, after=after, upto=upto))


def undone_by(table: Table, viewer: Viewer, entry: record.Entry) -> record.Entry | None:
    """Return the first move that this entry takes back, as a viewer may read it; None if it is no undo."""
    verb, *words = entry.move.split()
    if verb != "!void":
        return None
    (move,) = entries_for(table, viewer, after=int(words[0]) - 1, upto=int(words[0]))
    return move


class SinceOwn(NamedTuple):
    """What has been logged since a seat's own last move, as its player may read it.

    Args:
        entries: since that move.
        last: the seq of that move, or 0.
        own: the move itself, unless it is further back.
        earlier: entries up to that move.
    """

    entries: Sequence[record.Entry]
    last: int
    own: record.Entry | None
    earlier: Sequence[record.Entry]


def since_own_move(table: Table, seat: int, most: int, least: int = 0) -> SinceOwn:
    """The entries since a seat's own last move.

    Args:
        most: so many at most, the newest.
        least: if there are fewer, the entries before them, too, until there are so many.
    """
    found, last = log.since_own_move(table.session, table.game.id, table.game.head, seat, most + 1, least)
    own = next((entry for entry in found if entry.seq == last), None)
    since = [entry for entry in found if entry.seq > last][-most:]
    earlier = found[: len(found) - len(since)] if least > len(since) else []
    seen = redacted(table, seat, [*earlier, *since])
    return SinceOwn(seen[len(earlier) :], last, own, seen[: len(earlier)])


def taken_over(entries: Sequence[record.Entry]) -> dict[int, frozenset[int]]:
    """The seats that somebody else has taken over since an entry, by its number; nothing for the others.

    Args:
        entries: of a log, the last of them the newest: what a seat did before belongs to its former player.
    """
    found, seats = dict[int, frozenset[int]](), frozenset[int]()
    for entry in reversed(entries):
        if seats:
            found[entry.seq] = seats
        if entry.move.startswith("!replace ") and entry.seat is not None:
            seats |= {entry.seat}
    return found


Told: TypeAlias = Sequence[tuple[record.Entry, Sequence[Message]]]
"""Moves, each with the sentences that say what followed from it."""


def told(position: Position, entries: Sequence[record.Entry]) -> Told:
    """The moves among the newest entries of a log that count, each with what followed from it.

    Args:
        position: after the last of the entries, the newest of the log.
    """
    lines = positions.by_seq(position.followed)
    return [(entry, read_followed(lines.get(entry.seq, ""))) for entry in record.effective(entries)]


def redacted(
    table: Table,
    viewer: Viewer,
    entries: Sequence[record.Entry],
    whole: Sequence[record.Entry] | None = None,
) -> Sequence[record.Entry]:
    """Some entries as a viewer may read them.

    Args:
        viewer: a seat, PUBLIC or ALL.
        whole: the log from its first entry on, from which follows which sealed choices have been revealed; loaded if
            None and needed.
    """
    game, open_seqs = table.game, frozenset[int]()
    rules = positions.rules_of(game)
    hidden = game.status != GameStatus.OVER and viewer != ALL
    if hidden and any(entry.move.partition(" ")[0] in rules.sealed for entry in entries):
        whole = log.entries(table.session, game.id) if whole is None else whole
        open_seqs = record.open_choices(rules, len(table.seats), json.loads(game.options), whole)
    return record.redact_entries(rules, entries, viewer, game.status == GameStatus.OVER, open_seqs)


def record_for(table: Table, viewer: Viewer) -> record.Record:
    """The record of a game that has begun: complete once it is over, until then as much as a viewer may know.

    Args:
        viewer: a seat, PUBLIC or ALL; ALL hides no entry, but the seed of a running game is hidden from everybody.

    Raises:
        Broken: an entry is not a move of this game; the game must be quarantined.
    """
    game, header = table.game, header_of(table)
    entries = tuple(log.entries(table.session, game.id, upto=game.head))
    result, head = (_result(game.result), entries[-1].hash) if game.result else (None, None)
    try:
        return record.redact_record(record.Record(header, entries, result, head), viewer)
    except RulesError as error:
        raise Broken(f"game {game.id}: {error}") from error


def header_of(table: Table) -> record.Header:
    """The header of a game's record; the seed is in it once the game is over."""
    game, seats = table.game, table.seats
    return record.Header(
        id=game.id,
        game=game.slug,
        rules=game.rules,
        options=json.loads(game.options),
        seats=names.at_table(game, seats, names.RECORD),
        commitment=game.commitment,
        seed=bytes.fromhex(game.seed) if game.result else None,
        cuts=tuple(names.cut_of(game, seat, names.RECORD) for seat in seats),
        uncut=tuple(seat.seat for seat in seats if seat.uncut),
        cut_order=tuple(json.loads(game.cut_order)) if game.record_format == 2 else None,
    )


def fixed_cuts(game: GameRow, seats: Iterable[SeatRow], reader: names.Reader) -> dict[str, str]:
    """The fingerprints of the cuts that have been made so far, by name, in seat order (docs/formats.md §3)."""
    made = [seat for seat in seats if seat.status == SeatStatus.SEATED]
    return {
        names.of(game, seat, reader): chance.fingerprint(game.id, names.cut_of(game, seat, reader))
        for seat in made
    }


def _result(text: str) -> record.Result:
    found = json.loads(text)
    return record.Result(tuple(found["scores"]), tuple(found["winners"]), found["reason"])


# ---- the timeline of one viewer ----

MOST = 500
"""Logs whose parts a process remembers: they are public, follow from the log, and cost a replay and all its views."""
_parts: OrderedDict[str, tuple[tuple[Heading, ...], tuple[str, ...]]] = OrderedDict()
"""`Timeline.parts` and `Timeline.lines` of a log, by the hash of its last entry, the most recently used last."""
_lock = threading.Lock()


@dataclass(slots=True)
class Timeline:
    """The log of a game and the tables to which it leads.

    Args:
        rules: of the game.
        viewer: may see everything here except states.
        entries: from the first on, as the viewer may read them.
        parts: of the game after each entry.
        lines: what followed from each entry, as `umpire.followed` gives it.
        replay: returns the state after each of the first so many entries.
        states: those replayed so far; only `view`, `ranking`, `charts` and `highlights` read them.
        counted: the moves that count and their views, once `charts` or `highlights` has computed them.
    """

    rules: Rules[Any, Any]
    viewer: Viewer
    entries: Sequence[record.Entry]
    parts: Sequence[Heading]
    lines: Sequence[str]
    replay: Callable[[int], Sequence[Any]]
    states: Sequence[Any] = ()
    counted: tuple[list[int], list[Any]] | None = None

    def view(self, seq: int, viewer: Viewer | None = None) -> Any:
        """The table after an entry, as the viewer may know it, or as another `viewer` of whom they may know all."""
        return self.rules.view(self._states(seq)[seq - 1], self.viewer if viewer is None else viewer)

    def followed(self, seq: int) -> Sequence[Message]:
        """What followed from an entry."""
        return read_followed(self.lines[seq - 1])

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


def load(table: Table, viewer: Viewer, upto: int | None = None) -> Timeline:
    """Load the timeline of a game that has begun, or of its part up to an entry.

    The log is replayed at most once, and only as far as needed if its parts are known.

    Args:
        viewer: a seat, PUBLIC or ALL; once the game is over, nothing is hidden from anyone.

    Raises:
        Broken: the log does not replay.
    """
    rules = positions.rules_of(table.game)
    entries = log.entries(table.session, table.game.id, upto=upto)

    def replay(count: int) -> Sequence[Any]:
        return positions.states(table, entries[:count])

    viewer = viewer_of(table.game, viewer)
    seen = redacted(table, viewer, entries, entries)
    known = _known(entries[-1].hash) if entries else ((), ())
    if known is not None:
        return Timeline(rules, viewer, seen, *known, replay)
    states = replay(len(entries))
    views = public_views(rules, states)
    known = tuple(map(rules.heading, views)), _followed(table, entries, views)
    with _lock:
        _parts[entries[-1].hash] = known
        while len(_parts) > MOST:
            _parts.popitem(last=False)
    return Timeline(rules, viewer, seen, *known, replay, states)


def told_since(position: Position, entries: Sequence[record.Entry], own: record.Entry | None) -> Told:
    """The moves since a seat's own last move that count, each with what followed from it.

    Args:
        position: after the last of the entries, the newest of the log.
        own: the seat's own last move. A sealed choice comes first if something followed from it, as that depended on
            the choices of others.
    """
    if own is not None and own.move.partition(" ")[0] in position.rules.sealed:
        entries = [own, *entries]
    return [(entry, messages) for entry, messages in told(position, entries) if messages or entry is not own]


def _followed(table: Table, entries: Sequence[record.Entry], views: Sequence[Any]) -> tuple[str, ...]:
    """What followed from each entry; views are those of the public after them."""
    rules = positions.rules_of(table.game)
    start = positions.replay(table.game, len(table.seats), rules, [])
    befores = [rules.view(start, PUBLIC), *views[:-1]]
    return tuple(
        "" if record.table_act(entry) else positions.followed(rules, before, after)
        for entry, before, after in zip(entries, befores, views, strict=True)
    )


def _known(head_hash: str) -> tuple[tuple[Heading, ...], tuple[str, ...]] | None:
    """The parts of a log and what followed, if remembered. Its last hash vouches for every entry before."""
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
