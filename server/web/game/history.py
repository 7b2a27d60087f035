"""The log in words for one viewer, and the table as it stood at any entry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask_babel import format_datetime
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.charts import Heading
from byzanz.rules import Viewer
from server import i18n
from server.errors import BadRequest
from server.play import history, positions, timeline
from server.play.timeline import Moments
from server.store import log, standing_orders
from server.store.models import Game, StandingOrder
from server.validation import whole_number

PAGE = 100
"""Entries on one page of a history: half a game, and light on a phone."""
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
        return record.table_act(self.entry)


def lines(
    session: Session, game: Game, viewer: Viewer, zone: str, *, after: int = 0, upto: int | None = None
) -> list[Line]:
    """The entries with `after` < seq ≤ `upto`, as this viewer may read them.

    Args:
        zone: the IANA name of the reader's time zone.
    """
    seen = history.entries_for(session, game, viewer, after=after, upto=upto)
    voids = log.voids(session, game.id)
    return [_line(entry, voids, zone) for entry in seen]


def _line(entry: record.Entry, voids: Sequence[tuple[int, int]], zone: str) -> Line:
    at = log.moment(entry.at)
    voided = next((seq for seq, first in voids if first <= entry.seq < seq), None)
    when = format_datetime(at.astimezone(ZoneInfo(zone)), f"{i18n.day()}, HH:mm", rebase=False)
    return Line(entry, at, when, None if record.table_act(entry) else voided)


def names_of(session: Session, game: Game) -> list[str]:
    """The names at the table, by seat."""
    return [seat.name for seat in positions.seats_of(session, game.id)]


class Section(NamedTuple):
    """Lines that follow each other in one part of the game.

    Args:
        heading: empty before the first begins.
        heads: those of its words that the section before did not have, each with its place in the heading.
        lines: at least one.
    """

    heading: Heading
    heads: list[tuple[int, str]]
    lines: list[Line]


def chapter(
    session: Session,
    game: Game,
    viewer: Viewer,
    zone: str,
    asked: Mapping[str, str],
    here: str,
    last: int | None = None,
) -> dict[str, Any]:
    """All that templates/game/log.html draws: the log, filtered, and the table at one of its entries.

    Args:
        viewer: a seat, PUBLIC or ALL.
        zone: the reader's time zone.
        asked: the query of the address: `at`, `seat`, `cause`, `part`, `before`.
        here: the path of this page, to which its links lead back.
        last: the entry at which it stops, the newest if None.

    Raises:
        BadRequest: `at` or `before` is no entry of this game.
    """
    at = _seq(asked, "at", game.head)
    before = _seq(asked, "before", game.head + 1)
    told = timeline.read(session, game, viewer, last)
    openings = told.openings()
    names = names_of(session, game)
    stages = list(dict.fromkeys(part[0] for part in openings if part))
    chosen = {
        "seat": _choice(asked.get("seat", ""), [str(number) for number in range(len(names))]),
        "cause": _choice(asked.get("cause", ""), CAUSES),
        "part": _choice(asked.get("part", ""), stages),
    }
    kept = _kept(told, chosen)
    first, end = _page(kept, at, before)
    voids = log.voids(session, game.id)
    lines = [_line(entry, voids, zone) for entry in kept[first:end]]
    return {
        "game": game,
        "names": names,
        "zone": zone,
        "here": here,
        "at": at,
        "last": len(told.entries),
        "view": told.view(at) if at is not None else None,
        "orders_then": _orders_at(session, game, at) if at is not None else [],
        "until": log.moment(kept[end].at) if end < len(kept) else None,
        "earlier": kept[first].seq if first else None,
        "later": kept[min(end + PAGE, len(kept)) - 1].seq + 1 if end < len(kept) else None,
        "chosen": chosen,
        "more": "".join(f"&{urlencode({name: value})}" for name, value in chosen.items() if value),
        "stages": stages,
        "causes": CAUSES,
        "jumps": jumps(openings),
        "lines": lines,
        "sections": _sections(lines, told),
    }


def _kept(told: Moments, chosen: Mapping[str, str]) -> list[record.Entry]:
    """The entries that the filters leave."""
    seat, cause, part = chosen["seat"], chosen["cause"], chosen["part"]
    return [
        entry
        for entry in told.entries
        if (not seat or entry.seat == int(seat))
        and (not cause or entry.by == cause)
        and (not part or told.made_in(entry.seq)[:1] == (part,))
    ]


def _page(kept: Sequence[record.Entry], at: int | None, before: int | None) -> tuple[int, int]:
    """Which of the entries stand on the page: those around `at`, those up to `before`, or the newest."""
    if before is None and at is not None:
        end = sum(entry.seq <= at for entry in kept) + PAGE // 2
    else:
        end = sum(before is None or entry.seq < before for entry in kept)
    end = min(max(end, PAGE), len(kept)) if before is None else end
    return max(0, end - PAGE), end


def _sections(lines: Sequence[Line], told: Moments) -> list[Section]:
    """The lines under the headings of the parts of the game."""
    found: list[Section] = []
    previous: Heading = ()
    for part, same in groupby(lines, key=lambda line: told.made_in(line.entry.seq)):
        heads = [(at, word) for at, word in enumerate(part) if part[: at + 1] != previous[: at + 1]]
        found.append(Section(part, heads, list(same)))
        previous = part
    return found


def jumps(openings: Mapping[Heading, int]) -> dict[str, list[tuple[str, int]]]:
    """For each large part of the game its smaller ones, or itself, and the entry after which each begins."""
    found: dict[str, list[tuple[str, int]]] = {}
    for part, seq in openings.items():
        if part:
            found.setdefault(part[0], []).append((part[-1], seq))
    return found


def _orders_at(session: Session, game: Game, at: int) -> Collection[StandingOrder]:
    """The sealed orders that stood after an entry; nobody learns of them before the end."""
    if game.status != "over":
        return []
    left = standing_orders.of_game(session, game.id)
    return [row for row in left if row.left_seq <= at and (row.ended_seq is None or at < row.ended_seq)]


def _seq(asked: Mapping[str, str], name: str, most: int) -> int | None:
    text = asked.get(name, "")
    if not text:
        return None
    seq = whole_number(text, most, 1)
    if seq is None:
        raise BadRequest("There is no entry “%(text)s” in this game.", text=text[:20])
    return seq


def _choice(text: str, known: Sequence[str]) -> str:
    return text if text in known else ""
