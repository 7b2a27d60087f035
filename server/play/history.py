"""The one reader: what a viewer may read of a game's log, for pages, emails, the API, feeds and records alike."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.games import rules_of
from byzanz.moves import RulesError
from byzanz.rules import ALL, Viewer
from server.play import positions
from server.play.positions import Broken
from server.store import log
from server.store.models import Game


def viewer_of(game: Game, viewer: Viewer) -> Viewer:
    """The viewer whose rights apply: ALL once the game is over, because nothing is hidden then."""
    return ALL if game.status == "over" else viewer


def entries_for(
    session: Session, game: Game, viewer: Viewer, *, after: int = 0, upto: int | None = None
) -> Sequence[record.Entry]:
    """The entries with `after` < seq ≤ `upto`, as a viewer may read them (docs/formats.md §4).

    Args:
        viewer: a seat, PUBLIC or ALL.
    """
    entries = log.entries(session, game.id, after=after, upto=upto)
    whole = log.entries(session, game.id) if rules_of(game.slug, game.rules).sealed else entries
    return redacted(session, game, viewer, entries, whole)


def redacted(
    session: Session,
    game: Game,
    viewer: Viewer,
    entries: Sequence[record.Entry],
    whole: Sequence[record.Entry],
) -> Sequence[record.Entry]:
    """Some entries as a viewer may read them.

    Args:
        viewer: a seat, PUBLIC or ALL.
        whole: the log from its first entry on, from which follows which sealed choices have been revealed.
    """
    rules, open_seqs = rules_of(game.slug, game.rules), frozenset[int]()
    if rules.sealed:
        count = len(positions.seats_of(session, game.id))
        open_seqs = record.open_choices(rules, count, json.loads(game.options), whole)
    return record.redact_entries(rules, entries, viewer, game.status == "over", open_seqs)


def record_for(session: Session, game: Game, viewer: Viewer) -> record.Record:
    """The record of a game that has begun: complete once it is over, until then as much as a viewer may know.

    Args:
        viewer: a seat, PUBLIC or ALL; ALL hides no entry, but the seed of a running game is hidden from everybody.

    Raises:
        Broken: an entry is not a move of this game; the game must be quarantined.
    """
    seats = positions.seats_of(session, game.id)
    header = record.Header(
        id=game.id,
        game=game.slug,
        rules=game.rules,
        options=json.loads(game.options),
        seats=tuple(seat.name for seat in seats),
        commitment=game.commitment,
        seed=bytes.fromhex(game.seed) if game.result else None,
        cuts=tuple(seat.cut for seat in seats),
        uncut=tuple(seat.seat for seat in seats if seat.uncut),
    )
    entries = tuple(log.entries(session, game.id, upto=game.head))
    result, head = (_result(game.result), entries[-1].hash) if game.result else (None, None)
    try:
        return record.redact_record(record.Record(header, entries, result, head), viewer)
    except RulesError as error:
        raise Broken(f"game {game.id}: {error}") from error


def _result(text: str) -> record.Result:
    found = json.loads(text)
    return record.Result(tuple(found["scores"]), tuple(found["winners"]), found["reason"])
