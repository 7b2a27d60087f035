"""The log as one reader may see it, and the table at any entry from that reader's point of view."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from flask_babel import format_datetime
from sqlalchemy.orm import Session

from byzanz import record
from byzanz.charts import Heading
from byzanz.moves import Message
from byzanz.record import Cause
from byzanz.rules import ALL, PUBLIC, Viewer
from server import i18n
from server.community import talk
from server.community.talk import Said
from server.errors import BadRequest
from server.play import history, names, positions, standing_orders
from server.play.game import Table
from server.play.history import Timeline, Told
from server.store import log
from server.store.engine import parse_stamp
from server.store.models import GameStatus
from server.store.statements import GameRow, OrderRow
from server.validation import whole_number

PAGE_SIZE = 100
"""Entries on one page of a history: half a game, and light enough for a phone."""


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One entry for one reader.

    Args:
        entry: as the reader may see it (docs/formats.md §4).
        at: its time.
        when: the same, short and in the reader's time zone.
        voided: the seq of the act that voided it, or None.
        followed: what followed from it, in the game's sentences.
        former: the seats that somebody else has taken over since.
    """

    entry: record.Entry
    at: datetime
    when: str
    voided: int | None
    followed: tuple[Message, ...] = ()
    former: frozenset[int] = frozenset()
    said: ClassVar[None] = None
    """Templates tell lines from words by it."""

    @property
    def act(self) -> tuple[str, ...] | None:
        """The words of a table act, None for a move."""
        return record.table_act(self.entry)


def lines(
    table: Table, viewer: Viewer, zone: str, *, after: int = 0, upto: int | None = None
) -> list[HistoryLine]:
    """Return the entries with `after` < seq ≤ `upto`, as this viewer may see them.

    Args:
        zone: the IANA name of the reader's time zone.
    """
    seen = history.entries_for(table, viewer, after=after, upto=upto)
    return lines_of(seen, log.voids(table.session, table.game.id), zone)


def lines_of(
    entries: Sequence[record.Entry],
    voids: Sequence[tuple[int, int]],
    zone: str,
    told: Told = (),
) -> list[HistoryLine]:
    """Return the newest entries of a log, which their reader may see, as lines.

    Args:
        voids: those after the first of these entries, as `log.voids` returns them.
        zone: the IANA name of the reader's time zone.
        told: what followed from some of the entries.
    """
    followed, former = {entry.seq: messages for entry, messages in told}, history.taken_over(entries)
    return [_line(entry, voids, zone, followed.get(entry.seq, ()), former) for entry in entries]


def lines_before(
    position: positions.Position,
    earlier: Sequence[record.Entry],
    since: Sequence[record.Entry],
    zone: str,
) -> list[HistoryLine]:
    """Return the lines of the entries before the newest ones of a running game.

    Args:
        since: the newest entries.
    """
    if position.outcome or not earlier:
        return []
    entries = [*earlier, *since]
    lines = lines_of(entries, log.voids_in(entries), zone, history.told(position, entries))
    return lines[: len(earlier)]


def _line(
    entry: record.Entry,
    voids: Sequence[tuple[int, int]],
    zone: str,
    followed: Sequence[Message],
    former: Mapping[int, frozenset[int]],
) -> HistoryLine:
    at = parse_stamp(entry.at)
    voided = next((seq for seq, first in voids if first <= entry.seq < seq), None)
    whose = former.get(entry.seq, frozenset())
    return HistoryLine(
        entry, at, short(at, zone), None if record.table_act(entry) else voided, tuple(followed), whose
    )


def short(at: datetime, zone: str) -> str:
    """Return a moment as lines of the log give it: without a year unless it is far, in a time zone."""
    return _short(at, zone, i18n.current_language(), i18n.present().date())


@lru_cache(8192)
def _short(at: datetime, zone: str, _language: str, _today: date) -> str:
    local = at.astimezone(i18n.zone(zone))
    text: str = format_datetime(local, f"{i18n.day_format(local)}, HH:mm", rebase=False)
    return text


def names_of(table: Table) -> tuple[str, ...]:
    """Return the names at the table as anybody may read them, by seat."""
    return names.at_table(table.game, table.seats, PUBLIC)


class Part(NamedTuple):
    """Consecutive lines in one large part of the game, such as a round.

    Args:
        word: names it; empty before the first begins.
        sections: its smaller parts, each with the lowest words of its heading and at least one line.
        open: whether the lines are shown; else they are folded away.
    """

    word: str
    sections: list[tuple[Heading, list[HistoryLine]]]
    open: bool


def page_context(
    table: Table,
    viewer: Viewer,
    zone: str,
    query: Mapping[str, str],
    here: str,
    last: int | None = None,
    reader: names.Reader = PUBLIC,
) -> dict[str, Any]:
    """Return what templates/game/log.html shows: the log, filtered, and the table at one of its entries.

    Args:
        viewer: the reader's point of view; everything once the game is over.
        zone: the reader's time zone.
        query: of the URL: `at`, `as`, `seat`, `cause`, `part`, `before`; `here`: its path, for links.
        last: the entry at which the log stops, the newest if None.
        reader: who reads the names at the table.

    Raises:
        BadRequest: `at` or `before` is not an entry of this game.
    """
    game = table.game
    at = _seq(query, "at", game.head)
    before = _seq(query, "before", game.head + 1)
    moments = history.load(table, viewer, last)
    openings = moments.openings()
    stages = list(dict.fromkeys(part[0] for part in openings if part))
    others = _other_viewers(moments.viewer, len(table.seats))
    seats = map(str, range(len(table.seats)))
    known = {"as": map(str, others), "seat": seats, "cause": [*Cause], "part": stages}
    chosen = {name: _choice(query.get(name, ""), values) for name, values in known.items()}
    filtered = _filtered(moments, chosen)
    first, end = _page(filtered, at, before)
    voids = log.voids(table.session, game.id)
    lines = _lines(moments, filtered[first:end], voids, zone)
    around = _lines(moments, moments.entries[max(0, at - 2) : at + 1], voids, zone) if at is not None else []
    whole = len(filtered) == len(moments.entries)
    return {
        "game": game,
        "names": names.at_table(game, table.seats, reader),
        "zone": zone,
        "here": here,
        "at": at,
        "last": len(moments.entries),
        "around": {line.entry.seq: line for line in around},
        "view": _view(moments, at, others, chosen["as"]) if at is not None else None,
        "others": others,
        "orders_then": _orders_at(table, at) if at is not None and not chosen["as"] else [],
        "until": parse_stamp(filtered[end].at) if end < len(filtered) else None,
        "earlier": filtered[first].seq if first else None,
        "later": filtered[min(end + PAGE_SIZE, len(filtered)) - 1].seq + 1 if end < len(filtered) else None,
        "chosen": chosen,
        "whole": whole,
        "more": "".join(f"&{urlencode({name: value})}" for name, value in chosen.items() if value),
        "stages": stages,
        "causes": [*Cause],
        "jumps": jumps(openings),
        "lines": lines,
        "parts": _parts(lines, moments, at, folded=whole),
    }


def _lines(
    moments: Timeline, entries: Iterable[record.Entry], voids: Sequence[tuple[int, int]], zone: str
) -> list[HistoryLine]:
    former = history.taken_over(moments.entries)
    return [_line(entry, voids, zone, moments.followed(entry.seq), former) for entry in entries]


def _other_viewers(viewer: Viewer, seats: int) -> tuple[Viewer, ...]:
    """Return through whose eyes this reader may see the table besides their own."""
    if viewer == ALL:
        return (*range(seats), PUBLIC)
    return () if viewer == PUBLIC else (PUBLIC,)


def _view(moments: Timeline, at: int, others: Sequence[Viewer], chosen: str) -> Any:
    """Return the table after an entry, as the chosen one of `others` saw it or as the reader may know it."""
    return moments.view(at, next((other for other in others if str(other) == chosen), None))


def _filtered(moments: Timeline, chosen: Mapping[str, str]) -> list[record.Entry]:
    """Return the entries that pass the filters."""
    seat, cause, part = chosen["seat"], chosen["cause"], chosen["part"]
    return [
        entry
        for entry in moments.entries
        if (not seat or entry.seat == int(seat))
        and (not cause or entry.by == cause)
        and (not part or moments.made_in(entry.seq)[:1] == (part,))
    ]


def _page(filtered: Sequence[record.Entry], at: int | None, before: int | None) -> tuple[int, int]:
    """Return the range of entries on the page: those around `at`, those up to `before`, or the newest."""
    if before is None and at is not None:
        end = sum(entry.seq <= at for entry in filtered) + PAGE_SIZE // 2
    else:
        end = sum(before is None or entry.seq < before for entry in filtered)
    end = min(max(end, PAGE_SIZE), len(filtered)) if before is None else end
    return max(0, end - PAGE_SIZE), end


def _parts(lines: Sequence[HistoryLine], moments: Timeline, at: int | None, *, folded: bool) -> list[Part]:
    """Group the lines by the parts of the game.

    Args:
        folded: only the part of the entry `at` is open, or of the newest line if that entry is not among them.
    """
    focus = {line.entry.seq for line in lines}
    if folded:
        focus = focus & {at} or set(sorted(focus)[-1:])
    found: list[Part] = []
    for heading, same in groupby(lines, key=lambda line: moments.made_in(line.entry.seq)):
        section, word = (heading[1:], list(same)), heading[0] if heading else ""
        is_open = any(line.entry.seq in focus for line in section[1])
        if found and found[-1].word == word:
            found[-1] = Part(word, [*found[-1].sections, section], found[-1].open or is_open)
        else:
            found.append(Part(word, [section], is_open))
    return found


def newest_first(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a log, their sections and their lines with the newest first."""
    return [
        part._replace(sections=[(heading, lines[::-1]) for heading, lines in reversed(part.sections)])
        for part in reversed(parts)
    ]


def jumps(openings: Mapping[Heading, int]) -> dict[str, list[tuple[str, int]]]:
    """Return for each large part of the game its smaller ones, or itself, and the entry after which each begins."""
    found: dict[str, list[tuple[str, int]]] = {}
    for part, seq in openings.items():
        if part:
            found.setdefault(part[0], []).append((part[-1], seq))
    return found


def _orders_at(table: Table, at: int) -> Collection[OrderRow]:
    """Return the sealed orders that were active after an entry; they are hidden until the game is over."""
    if table.game.status != GameStatus.OVER:
        return []
    left = standing_orders.of_game(table.session, table.game.id)
    return [row for row in left if row.left_seq <= at and (row.ended_seq is None or at < row.ended_seq)]


def _seq(query: Mapping[str, str], name: str, most: int) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    seq = whole_number(text, most, 1)
    if seq is None:
        raise BadRequest("There is no entry “%(text)s” in this game.", text=text[:20])
    return seq


def _choice(text: str, known: Iterable[str]) -> str:
    return text if text in known else ""


# ---- table talk between the entries ----
# Each word stands after the entry at which it was said.

MOST = 60
"""The most words on one page."""


@dataclass(frozen=True, slots=True)
class WordLine:
    """Something said, for one reader.

    Args:
        when: it was said, short and in the reader's time zone.
    """

    said: Said
    when: str


def talk_lines(session: Session, game: GameRow, reader_id: int, zone: str) -> list[WordLine]:
    """Return what the reader of a seat's history may read, oldest first; nothing in a game without talk."""
    return [] if game.trial else dated(talk.words(session, game, reader_id), zone)


def dated(said: Iterable[Said], zone: str) -> list[WordLine]:
    """Return what was said with its times in a time zone."""
    return [WordLine(each, short(each.at, zone)) for each in said]


def woven(entries: Sequence[HistoryLine], words: Sequence[WordLine]) -> list[HistoryLine | WordLine]:
    """Return both in one order: each word after the entry at which it was said.

    Args:
        entries, words: the oldest first.
    """
    placed: list[tuple[int, HistoryLine | WordLine]] = [(line.entry.seq, line) for line in entries]
    placed += [(word.said.seq, word) for word in words]
    return [line for _seq, line in sorted(placed, key=lambda each: each[0])]


def weave(context: dict[str, Any], words: Sequence[WordLine]) -> None:
    """Put the newest words into a page of the whole history, which `history.page_context` gives; filters hide them."""
    shown = {line.entry.seq for line in context["lines"]}
    fitting = [word for word in words if context["whole"] and word.said.seq in shown][-MOST:]
    context["talked"] = bool(fitting)
    for part in context["parts"] if fitting else ():
        for number, (heading, section) in enumerate(part.sections):
            seqs = {line.entry.seq for line in section}
            said = [word for word in fitting if word.said.seq in seqs]
            part.sections[number] = (heading, woven(section, said))
