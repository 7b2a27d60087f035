"""The log as one reader may read it, and the table as it stood at any entry, with that reader's eyes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask_babel import format_datetime
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.games import rules_of
from byzanz.rules import ALL, Viewer
from server import log, positions
from server.schema import Entry, Game
from server.table import BadRequest

PAGE = 400
"""Entries on one page of a history; a whole game of Byzanz has fewer."""
CAUSES = ("player", "order", "clock", "autopilot", "bot", "rules", "chance", "moderator")


@dataclass(frozen=True, slots=True)
class Line:
    """One entry for one reader.

    Args:
        entry: as the reader may see it (formats.md §4).
        at: when.
        when: the same, short and in the reader's time zone.
        voided: the seq of the act that took it back, or None.
    """

    entry: record.Entry
    at: datetime
    when: str
    voided: int | None

    @property
    def act(self) -> tuple[str, ...] | None:
        """The words of a table act, None for a move."""
        return record.act(self.entry)


def eyes(game: Game, viewer: Viewer) -> Viewer:
    """The viewer that a reader counts as: once a game is over, nothing is hidden from anybody."""
    return ALL if game.status == "over" else viewer


def lines(
    session: Session, game: Game, viewer: Viewer, zone: str, *, after: int = 0, upto: int | None = None
) -> list[Line]:
    """The entries with `after` < seq ≤ `upto`, as this viewer may read them.

    Args:
        zone: the IANA name of the reader's time zone.
    """
    rules = rules_of(game.slug, game.rules)
    entries = log.entries(session, game.id, after=after, upto=upto)
    seen = record.redacted(rules, entries, viewer, game.status == "over", _open_seqs(session, game))
    voids = _voids(session, game)
    return [_line(entry, voids, zone) for entry in seen]


def _open_seqs(session: Session, game: Game) -> frozenset[int]:
    rules = rules_of(game.slug, game.rules)
    if not rules.sealed:  # then the whole log need not be read
        return frozenset()
    seats = len(positions.seats_of(session, game.id))
    return record.opened(rules, seats, json.loads(game.options), log.entries(session, game.id))


def _voids(session: Session, game: Game) -> list[tuple[int, int]]:
    """Each void of the game: its own seq and the first entry that it took back."""
    query = select(Entry.seq, Entry.move).where(Entry.game_id == game.id, Entry.move.like("!void %"))
    return [(seq, int(move.split(" ")[1])) for seq, move in session.execute(query.order_by(Entry.seq))]


def _line(entry: record.Entry, voids: Sequence[tuple[int, int]], zone: str) -> Line:
    at = log.moment(entry.at)
    voided = next((seq for seq, first in voids if first <= entry.seq < seq), None)
    when = format_datetime(at.astimezone(ZoneInfo(zone)), "d MMM, HH:mm", rebase=False)
    return Line(entry, at, when, None if record.act(entry) else voided)


def last_own(session: Session, game: Game, seat: int) -> int:
    """The seq of the seat's last move of its own hand, 0 before the first."""
    own = (Entry.game_id == game.id, Entry.seat == seat, Entry.by.in_(("player", "bot")))
    query = select(func.max(Entry.seq)).where(*own, Entry.move.not_like("!%"))
    return session.scalar(query) or 0


def names_of(session: Session, game: Game) -> list[str]:
    """The names at the table, by seat."""
    return [seat.name for seat in positions.seats_of(session, game.id)]


def chapter(
    session: Session, game: Game, viewer: Viewer, zone: str, asked: Mapping[str, str], here: str
) -> dict[str, Any]:
    """All that templates/pages/story.html draws: the log, filtered, and the table at one of its entries.

    Args:
        viewer: whose eyes; everything once the game is over.
        zone: the reader's time zone.
        asked: the query of the address: `at`, `seat`, `cause`, `before`.
        here: the path of this page, to which its links lead back.

    Raises:
        BadRequest: `at` or `before` is no entry of this game.
    """
    at = _seq(asked, "at", game.head)
    before = _seq(asked, "before", game.head + 1) or game.head + 1
    if at is not None and at < before - PAGE:
        before = at + PAGE  # the page on which the entry stands
    told = lines(session, game, eyes(game, viewer), zone, after=max(0, before - PAGE - 1), upto=before - 1)
    names = names_of(session, game)
    seat = _choice(asked.get("seat", ""), [str(number) for number in range(len(names))])
    cause = _choice(asked.get("cause", ""), CAUSES)
    return {
        "game": game,
        "names": names,
        "zone": zone,
        "here": here,
        "at": at,
        "view": _view_at(session, game, viewer, at) if at is not None else None,
        "until": log.moment(session.get_one(Entry, (game.id, before)).at) if before <= game.head else None,
        "earlier": before - PAGE if before - PAGE > 1 else None,
        "seat_chosen": seat,
        "cause_chosen": cause,
        "causes": CAUSES,
        "lines": [
            line
            for line in told
            if (not seat or line.entry.seat == int(seat)) and (not cause or line.entry.by == cause)
        ],
    }


def _view_at(session: Session, game: Game, viewer: Viewer, at: int) -> Any:
    position = positions.load(session, game, upto=at)
    return position.rules.view(position.state, eyes(game, viewer))


def _seq(asked: Mapping[str, str], name: str, most: int) -> int | None:
    text = asked.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise BadRequest("There is no entry “%(text)s” in this game.", text=text[:20])
    return int(text)


def _choice(text: str, known: Sequence[str]) -> str:
    return text if text in known else ""
