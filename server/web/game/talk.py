"""What was said at a table between the entries of its log, each word after the entry at which it was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from server.community import talk
from server.community.talk import Said
from server.store.statements import AnyGame
from server.web.game.history import HistoryLine, short

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


def lines(session: Session, game: AnyGame, reader_id: int, zone: str) -> list[WordLine]:
    """Return what the reader of a seat's history may read, oldest first; nothing in a game without talk."""
    return [] if game.trial else dated(talk.words(session, game.id, reader_id), zone)


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
