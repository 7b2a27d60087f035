"""The one reader: what a viewer may read of a game's log, for pages, emails, the API, feeds and records alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from byzanz import chance, record
from byzanz.moves import RulesError
from byzanz.rules import ALL, Viewer
from server.play import followed, positions
from server.play.positions import Broken, Position
from server.store import log
from server.store.models import Game
from server.store.statements import AnyGame, AnySeat


def viewer_of(game: AnyGame, viewer: Viewer) -> Viewer:
    """The viewer whose rights apply: ALL once the game is over, because nothing is hidden then."""
    return ALL if game.status == "over" else viewer


def entries_for(
    session: Session, game: AnyGame, viewer: Viewer, *, after: int = 0, upto: int | None = None
) -> Sequence[record.Entry]:
    """The entries with `after` < seq ≤ `upto`, as a viewer may read them (docs/formats.md §4).

    Args:
        viewer: a seat, PUBLIC or ALL.
    """
    return redacted(session, game, viewer, log.entries(session, game.id, after=after, upto=upto))


def undone_by(session: Session, game: AnyGame, viewer: Viewer, entry: record.Entry) -> record.Entry | None:
    """Return the first move that this entry takes back, as a viewer may read it; None if it is no undo."""
    verb, *words = entry.move.split()
    if verb != "!void":
        return None
    (move,) = entries_for(session, game, viewer, after=int(words[0]) - 1, upto=int(words[0]))
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


def since_own_move(session: Session, game: AnyGame, seat: int, most: int, least: int = 0) -> SinceOwn:
    """The entries since a seat's own last move.

    Args:
        most: so many at most, the newest.
        least: if there are fewer, the entries before them, too, until there are so many.
    """
    found, last = log.since_own_move(session, game.id, game.head, seat, most + 1, least)
    own = next((entry for entry in found if entry.seq == last), None)
    since = [entry for entry in found if entry.seq > last][-most:]
    earlier = found[: len(found) - len(since)] if least > len(since) else []
    seen = redacted(session, game, seat, [*earlier, *since])
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


def told(position: Position, view: Any, entries: Sequence[record.Entry]) -> list[tuple[record.Entry, Any]]:
    """The moves among the newest entries of a log that count, each with what it did.

    That is what `Rules.followed` said, or what `Rules.news` says where the view still shows it.

    Args:
        position: after the last of the entries, the newest of the log.
        view: of it.
    """
    counting, rules = record.effective(entries), position.rules
    if followed.is_told(rules):
        return [(entry, position.followed.get(entry.seq)) for entry in counting]
    return list(zip(counting, rules.news(view, [entry.move for entry in counting]), strict=True))


def redacted(
    session: Session,
    game: AnyGame,
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
    rules, open_seqs = positions.rules_of(game), frozenset[int]()
    hidden = game.status != "over" and viewer != ALL
    if hidden and any(entry.move.partition(" ")[0] in rules.sealed for entry in entries):
        whole = log.entries(session, game.id) if whole is None else whole
        count = len(positions.seats_of(session, game.id))
        open_seqs = record.open_choices(rules, count, json.loads(game.options), whole)
    return record.redact_entries(rules, entries, viewer, game.status == "over", open_seqs)


def record_for(session: Session, game: AnyGame, viewer: Viewer) -> record.Record:
    """The record of a game that has begun: complete once it is over, until then as much as a viewer may know.

    Args:
        viewer: a seat, PUBLIC or ALL; ALL hides no entry, but the seed of a running game is hidden from everybody.

    Raises:
        Broken: an entry is not a move of this game; the game must be quarantined.
    """
    header = header_of(session, game.id)
    entries = tuple(log.entries(session, game.id, upto=game.head))
    result, head = (_result(game.result), entries[-1].hash) if game.result else (None, None)
    try:
        return record.redact_record(record.Record(header, entries, result, head), viewer)
    except RulesError as error:
        raise Broken(f"game {game.id}: {error}") from error


def header_of(session: Session, game_id: str) -> record.Header:
    """The header of a game's record; the seed is in it once the game is over."""
    game, seats = session.get_one(Game, game_id), positions.seats_of(session, game_id)
    return record.Header(
        id=game.id,
        game=game.slug,
        rules=game.rules,
        options=json.loads(game.options),
        seats=tuple(seat.name for seat in seats),
        commitment=game.commitment,
        seed=bytes.fromhex(game.seed) if game.result else None,
        cuts=tuple(seat.cut for seat in seats),
        uncut=tuple(seat.seat for seat in seats if seat.uncut),
        cut_order=tuple(json.loads(game.cut_order)) if game.record_format == 2 else None,
    )


def fixed_cuts(seats: Iterable[AnySeat]) -> dict[str, str]:
    """The fingerprints of the cuts that have been made so far, by name, in seat order (docs/formats.md §3)."""
    made = [seat for seat in seats if seat.status == "seated"]
    return {seat.name: chance.fingerprint(seat.game_id, seat.cut) for seat in made}


def _result(text: str) -> record.Result:
    found = json.loads(text)
    return record.Result(tuple(found["scores"]), tuple(found["winners"]), found["reason"])
