"""The emails of a game for moderators, and what mail servers answered."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from flask_babel import format_datetime, gettext
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from server import i18n
from server.i18n import N_
from server.mail import causes
from server.store import facts, mail_kinds
from server.store.engine import utc_now
from server.store.facts import Fact
from server.store.models import IncomingMail, Mail, MailStatus, Person
from server.store.statements import GameRow, SeatRow
from server.web.game.history import HistoryLine

# ---- what mail servers answered ----

FULL, REFUSES = N_("the mailbox is full"), N_("it refuses our emails")
NO_ADDRESS, CLOSED, REJECTED = (
    N_("the address does not exist"),
    N_("the mailbox is closed"),
    N_("it rejects the address"),
)
OF_ADDRESSES = (FULL, NO_ADDRESS, CLOSED, REJECTED)
"""What some servers also say when they object to us."""
MEANINGS = (
    (r"5\.1\.(?:2|8)|[45]\.4\.4", N_("the domain of the address does not exist")),
    (r"5\.1\.\d+|551|553", NO_ADDRESS),
    (r"[45]\.2\.2|552", FULL),
    (r"5\.2\.1", CLOSED),
    (r"[45]\.(?:2\.3|3\.4)", N_("the email is too large for it")),
    (r"530|534|535|5\.7\.(?:8|9|11)", N_("it does not accept our user name and password")),
    (r"5\.7\.\d+", N_("it refuses our emails, perhaps as spam")),
    (r"4\.7\.\d+|421|450|451|454", N_("it asks us to try again later")),
    (r"452|4\.3\.1", N_("it has no room at the moment")),
    (r"550", REJECTED),
    (r"554", REFUSES),
)
"""Codes of an answer (RFC 5321, RFC 3463), as they begin it, with what they mean; the first that fits counts."""
_CODES = re.compile(r"\W*([245]\d\d)\b(?:[ -]+([245]\.\d{1,3}\.\d{1,3})\b)?")


class Explained(NamedTuple):
    """An answer for people.

    Args:
        sentence: what has happened, with the meaning of the answer if it is known.
        words: the answer as it came, if the sentence does not have it.
    """

    sentence: str
    words: str


def explained(fact: Fact | None) -> Explained:
    """Return a fact as a sentence in which the words of a mail server stand by what they mean."""
    if fact is None:
        return Explained("", "")
    for words in _words(fact):
        if meant := meaning(words):
            return Explained(_ended(facts.sentence(_with(fact, words, meant))), words)
    return Explained(_ended(facts.sentence(fact)), "")


def meaning(answer: str) -> str:
    """Return what an answer means, in the reader's language; "" if nobody knows."""
    codes = _CODES.match(answer)
    if codes is None or answer.startswith("2"):
        return ""
    # What says most stands in the second code; 530 to 535 are about signing in, whatever follows.
    found = [codes[1], codes[2]] if codes[1].startswith("53") else [codes[2], codes[1]]
    for code in filter(None, found):
        for pattern, meant in MEANINGS:
            if re.fullmatch(pattern, code):
                return str(gettext(_agreed(meant, answer)))
    return ""


def _agreed(meant: str, answer: str) -> str:
    """Return a meaning that does not contradict what the server has made of the answer."""
    if meant in OF_ADDRESSES and causes.is_full(answer):
        return FULL
    return REFUSES if meant in OF_ADDRESSES and causes.cause_of(answer) == "ours" else meant


def _words(fact: Fact) -> Iterator[str]:
    """Find the words of other programs in a fact."""
    for value in fact.values.values():
        if isinstance(value, Fact):
            yield from _words(value)
        elif isinstance(value, str):
            yield value


def _with(fact: Fact, words: str, meant: str) -> Fact:
    values = {
        name: _with(value, words, meant) if isinstance(value, Fact) else meant if value == words else value
        for name, value in fact.values.items()
    }
    return Fact(fact.code, values)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!", "…")) else f"{sentence}."


# ---- the emails ----
# Players see their own, moderators all of them, nobody else any.


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


def of_seat(session: Session, seat: SeatRow, zone: str) -> list[MailLogItem]:
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


def of_game(session: Session, game: GameRow, zone: str, player_id: int | None = None) -> list[MailLogItem]:
    """Return all mails about a game, for moderators, by time.

    Args:
        player_id: the reader, if they play in this game. They do not see the replies of others, because a reply that
            left no log entry has placed a standing order, which is sealed.
    """
    mails = select(Mail, Person.name).join(Person, Person.id == Mail.person_id)
    came = select(IncomingMail, Person.name).outerjoin(Person, Person.id == IncomingMail.person_id)
    if player_id is not None:
        mails = mails.where(or_(Mail.kind.not_in(mail_kinds.ANSWERS_TO_EMAILS), Mail.person_id == player_id))
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
    due = (
        _short(mail.not_before, zone)
        if mail.status == MailStatus.WAITING and mail.not_before > utc_now()
        else ""
    )
    return MailLogItem(mail.created_at, when, mail.kind, seat, name, mail.status, finished, said, tries, due)


def _of_received(row: IncomingMail, name: str, zone: str, *, show_outcome: bool) -> MailLogItem:
    said = facts.sentence(row.outcome) if show_outcome else ""
    return MailLogItem(row.at, _short(row.at, zone), row.kind, row.seat, name, "received", "", said)


def _short(at: datetime, zone: str) -> str:
    local = at.astimezone(i18n.zone(zone))
    text: str = format_datetime(local, f"{i18n.day_format(local)}, HH:mm", rebase=False)
    return text
