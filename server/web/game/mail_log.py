"""Mails about a game, outgoing with their outcome and incoming: stored beside the log, not part of it.

Players see their own, moderators all of them, nobody else any.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask_babel import format_datetime
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from server import i18n
from server.config import zones
from server.store import facts
from server.store.engine import utc_now
from server.store.models import Game, IncomingMail, Mail, Person
from server.store.statements import AnySeat
from server.web.game.history import HistoryLine


@dataclass(frozen=True, slots=True)
class MailLogItem:
    """A queued or an incoming mail.

    Args:
        at: when it was queued or came in; when: the same, short and in the reader's time zone.
        kind: of the mail.
        seat: whom it concerns; name: of its reader or writer, empty on their own page.
        status: as in the outbox; `received` for an incoming mail.
        finished: when a mail server accepted or rejected it, short; empty before.
        said: why it was not sent or delivered, or what was done about an incoming mail.
        tries: the number of failed attempts.
        due: until when a waiting mail waits, short: quiet hours, a batch or the next attempt; empty if it is due.
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
    due: str = ""


def of_seat(session: Session, seat: AnySeat, zone: str) -> list[MailLogItem]:
    """Return the mails that concern the current player of a seat, by time."""
    if seat.person_id is None:
        return []
    mails = select(Mail).where(Mail.game_id == seat.game_id, Mail.person_id == seat.person_id)
    came = select(IncomingMail).where(
        IncomingMail.game_id == seat.game_id, IncomingMail.person_id == seat.person_id
    )
    found = [_of_mail(mail, seat.seat, "", zone) for mail in session.scalars(mails)]
    found += [_of_received(row, "", zone, show_outcome=False) for row in session.scalars(came)]
    return sorted(found, key=lambda item: item.at)


def of_game(session: Session, game: Game, zone: str, player_id: int | None = None) -> list[MailLogItem]:
    """Return all mails about a game, for moderators, by time.

    Args:
        player_id: the reader, if they play in this game. They do not see the replies of others, because a reply that
            left no log entry has placed a standing order, which is sealed.
    """
    mails = select(Mail, Person.name).join(Person, Person.id == Mail.person_id)
    came = select(IncomingMail, Person.name).outerjoin(Person, Person.id == IncomingMail.person_id)
    if player_id is not None:
        mails = mails.where(or_(Mail.kind != "answer", Mail.person_id == player_id))
        came = came.where(
            or_(IncomingMail.kind.in_(("bounce", "complaint")), IncomingMail.person_id == player_id)
        )
    found = [
        _of_mail(mail, mail.seat, name, zone)
        for mail, name in session.execute(mails.where(Mail.game_id == game.id))
    ]
    found += [
        _of_received(row, name or "", zone, show_outcome=True)
        for row, name in session.execute(came.where(IncomingMail.game_id == game.id))
    ]
    return sorted(found, key=lambda item: item.at)


def by_entry(chapter: Mapping[str, Any], items: Sequence[MailLogItem]) -> dict[int, list[MailLogItem]]:
    """Return the mails by the seq of the entry after which they stand; none with a filter by cause or part.

    Args:
        chapter: of a history, from `history.page_context`.
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
    said, tries = facts.sentence(mail.error), mail.attempts
    due = _short(mail.not_before, zone) if mail.status == "waiting" and mail.not_before > utc_now() else ""
    return MailLogItem(mail.created_at, when, mail.kind, seat, name, mail.status, finished, said, tries, due)


def _of_received(row: IncomingMail, name: str, zone: str, *, show_outcome: bool) -> MailLogItem:
    said = facts.sentence(row.outcome) if show_outcome else ""
    return MailLogItem(row.at, _short(row.at, zone), row.kind, row.seat, name, "received", "", said)


def _short(at: datetime, zone: str) -> str:
    local = at.astimezone(zones.get(zone))
    text: str = format_datetime(local, f"{i18n.day_format(local)}, HH:mm", rebase=False)
    return text
