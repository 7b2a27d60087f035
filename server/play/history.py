"""The record of a game as one reader may have it: of its log, its seats and its result (formats.md §4)."""

from __future__ import annotations

import json

from sqlalchemy.orm import Session

from byzanz import record
from byzanz.rules import RulesError, Viewer
from server.play import positions
from server.play.positions import Broken
from server.store import log
from server.store.models import Game


def record_for(session: Session, game: Game, viewer: Viewer) -> record.Record:
    """The record of a game that has begun: complete once it is over, before only what this reader may know.

    Args:
        viewer: a seat, PUBLIC or ALL; ALL hides no entry, yet the seed of a running game from everybody.

    Raises:
        Broken: an entry is no move of this game; it must be set aside.
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
        return record.shown(record.Record(header, entries, result, head), viewer)
    except RulesError as error:
        raise Broken(f"game {game.id}: {error}") from error


def _result(text: str) -> record.Result:
    told = json.loads(text)
    return record.Result(tuple(told["scores"]), tuple(told["winners"]), told["reason"])
