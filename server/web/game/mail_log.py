"""What is kept beside a log and is no part of it: mails about a game, what became of them, and mails that came in.

A player is shown his own, moderators everything; nobody else learns of any.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask_babel import format_datetime
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from server import i18n
from server.store.models import Game, Mail, Person, Received, Seat
from server.web.game.history import HistoryLine


@dataclass(frozen=True, slots=True)
class MailLogItem:
    """A mail that was queued, or one that came in.

    Args:
        at: when it was queued, or came in; when: the same, short and in the reader's time zone.
        kind: of the mail.
        seat: whom it concerns; name: of its reader or writer, empty where the page is his own.
        status: as in the outbox; `received` of one that came in.
        finished: when a mail server accepted it for good or refused it, short; empty before.
        said: why it was not sent or did not get through, or what was done about one that came in.
        tries: how often it was tried in vain.
    """

    at: datetime
    when: str
    kind: str
    seat: int | None
    name: str
    status: str
    finished: str
    said: str
    tries: int = 0


def of_seat(session: Session, seat: Seat, zone: str) -> list[MailLogItem]:
    """What concerns whoever sits there now, by time."""
    if seat.person_id is None:
        return []
    mails = select(Mail).where(Mail.game_id == seat.game_id, Mail.person_id == seat.person_id)
    came = select(Received).where(Received.game_id == seat.game_id, Received.person_id == seat.person_id)
    found = [_of_mail(mail, seat.seat, "", zone) for mail in session.scalars(mails)]
    found += [_of_received(row, "", zone, show_outcome=False) for row in session.scalars(came)]
    return sorted(found, key=lambda item: item.at)


def of_game(session: Session, game: Game, zone: str, sitter: int | None = None) -> list[MailLogItem]:
    """All there is about a game, for moderators, by time.

    Args:
        sitter: the person who reads, if he sits at this table. He is not told what others wrote or were answered: a
            mail that was carried out and made no entry left a standing order, and those are sealed.
    """
    mails = select(Mail, Person.name).join(Person, Person.id == Mail.person_id)
    came = select(Received, Person.name).outerjoin(Person, Person.id == Received.person_id)
    if sitter is not None:
        mails = mails.where(or_(Mail.kind != "answer", Mail.person_id == sitter))
        came = came.where(or_(Received.kind.in_(("bounce", "complaint")), Received.person_id == sitter))
    found = [
        _of_mail(mail, mail.seat, name, zone)
        for mail, name in session.execute(mails.where(Mail.game_id == game.id))
    ]
    found += [
        _of_received(row, name or "", zone, show_outcome=True)
        for row, name in session.execute(came.where(Received.game_id == game.id))
    ]
    return sorted(found, key=lambda item: item.at)


def by_entry(chapter: Mapping[str, Any], items: Sequence[MailLogItem]) -> dict[int, list[MailLogItem]]:
    """Which evidence stands after which of the entries of a chapter, by seq; none with a filter by cause or part.

    Args:
        chapter: of a history, as `story.chapter` gives it.
        items: by time.
    """
    lines: list[HistoryLine] = chapter["lines"]
    chosen, until = chapter["chosen"], chapter["until"]
    times = [line.at for line in lines]
    found: dict[int, list[MailLogItem]] = {}
    for item in items:
        others = chosen["seat"] and item.seat != int(chosen["seat"])
        hidden = chosen["cause"] or chosen["part"] or others or (until and item.at >= until)
        place = 0 if hidden else bisect_right(times, item.at)
        if place:
            found.setdefault(lines[place - 1].entry.seq, []).append(item)
    return found


def _of_mail(mail: Mail, seat: int | None, name: str, zone: str) -> MailLogItem:
    finished = _short(mail.finished_at, zone) if mail.finished_at else ""
    when = _short(mail.created_at, zone)
    said, tries = mail.error or "", mail.attempts
    return MailLogItem(mail.created_at, when, mail.kind, seat, name, mail.status, finished, said, tries)


def _of_received(row: Received, name: str, zone: str, *, show_outcome: bool) -> MailLogItem:
    said = row.outcome if show_outcome else ""
    return MailLogItem(row.at, _short(row.at, zone), row.kind, row.seat, name, "received", "", said)


def _short(at: datetime, zone: str) -> str:
    text: str = format_datetime(at.astimezone(ZoneInfo(zone)), f"{i18n.day_format()}, HH:mm", rebase=False)
    return text
