"""Whether a queued mail is still true when it is about to be sent, and whether its reader wants it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play
from server.play import autopilot
from server.store import outbox
from server.store.facts import Fact
from server.store.models import Game, Link, Mail, Person, Seat, Turn

REQUESTED = frozenset({"signin", "fresh", "confirm", "answer", "games"})
"""Mails that a person has just requested: unsubscribing does not stop them."""
FOR_SEATED = frozenset({"turn", "remind", "timeout", "autopilot", "over", "act", "replaced"})
"""Mails to people who hold a seat and have not left it."""
ABOUT_OTHERS = frozenset({"refused", "vacant"})
"""Mails to the people in charge of a game about another player's seat."""


@dataclass(frozen=True, slots=True)
class MailRows:
    """The rows that a mail is about, as they are now."""

    mail: Mail
    person: Person
    game: Game | None
    seat: Seat | None
    """The reader's own seat in that game."""
    turn: Turn | None
    """The turn that the mail was queued for, if still open; for an answer, the reader's own open turn."""


class Outdated(Exception):
    """The mail is not to be sent; the text says why."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why)
        self.why = why


class AddressSuppressed(Outdated):
    """The mail is relevant, but the reader's address bounced or complained; the text is the diagnostic."""


def load_rows(session: Session, mail: Mail, now: datetime) -> MailRows:
    """Load the rows of a mail that is still to be sent.

    Raises:
        Outdated: it is no longer true or wanted. AddressSuppressed: the address is suppressed.
    """
    person = session.get(Person, mail.person_id)
    if person is None or not person.email:
        raise Outdated(Fact("no_address"))
    if person.silent and mail.kind not in REQUESTED:
        raise Outdated(Fact("silent"))
    game = session.get(Game, mail.game_id) if mail.game_id else None
    seat = _seat(session, mail)
    if seat is not None and seat.silent and mail.kind not in REQUESTED | ABOUT_OTHERS:
        raise Outdated(Fact("silent_here"))
    if mail.kind in FOR_SEATED and (seat is None or seat.status != "seated"):
        raise Outdated(Fact("not_seated"))
    if mail.kind in FOR_SEATED and seat is not None and autopilot.has_left(session, seat.game_id, seat.seat):
        raise Outdated(Fact("has_left"))
    rows = MailRows(mail, person, game, seat, _turn(session, mail, game, seat))
    check = CHECKS.get(mail.kind)
    reason = check(session, rows, now) if check else None
    if reason:
        raise Outdated(reason)
    if person.suppressed and mail.kind not in REQUESTED:
        raise AddressSuppressed(person.suppressed)
    return rows


def _seat(session: Session, mail: Mail) -> Seat | None:
    if mail.game_id is None:
        return None
    return session.scalar(select(Seat).where(Seat.game_id == mail.game_id, Seat.person_id == mail.person_id))


def _turn(session: Session, mail: Mail, game: Game | None, seat: Seat | None) -> Turn | None:
    if mail.kind == "answer" and game is not None and seat is not None and not game.quarantine:
        return session.get(Turn, (game.id, seat.seat)) if seat.status == "seated" else None
    if mail.kind not in ("turn", "remind") or mail.seat is None:
        return None
    turn = session.get(Turn, (mail.game_id, mail.seat))
    return turn if turn is not None and turn.opened_seq == mail.seq else None


def _turn_open(_session: Session, rows: MailRows, now: datetime) -> Fact | None:
    if rows.turn is None or rows.game is None or rows.game.paused or rows.game.status != "running":
        return Fact("turn_over")
    if rows.mail.kind == "remind" and (rows.turn.due_at is None or rows.turn.due_at <= now):
        return Fact("no_time_left")
    return None


def _is_over(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    return None if rows.game and rows.game.status == "over" else Fact("not_over")


def _is_invited(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    waits = rows.game and rows.game.status == "inviting" and rows.seat and rows.seat.status == "invited"
    return None if waits else Fact("invitation_closed")


def _is_unconfirmed(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    return None if rows.game and rows.game.status == "asked" else Fact("confirmation_closed")


def _link_is_live(session: Session, rows: MailRows, now: datetime) -> Fact | None:
    link = session.get(Link, outbox.details(rows.mail).get("link", 0))
    dead = link is None or link.revoked_at or link.used_at or (link.expires_at and link.expires_at <= now)
    return Fact("link_dead") if dead else None


def _digest_is_due(session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    if rows.person.cadence != "digest":
        return Fact("no_digest")
    same_person = (Mail.person_id == rows.person.id, Mail.kind == "digest", Mail.status == "waiting")
    if session.scalar(select(Mail.id).where(*same_person, Mail.id > rows.mail.id)) is not None:
        return Fact("newer_digest")
    return None if play.turns_for_digest(session, rows.person.id) else Fact("nothing_to_tell")


CHECKS: dict[str, Callable[[Session, MailRows, datetime], Fact | None]] = {
    "turn": _turn_open,
    "remind": _turn_open,
    "over": _is_over,
    "invite": _is_invited,
    "nudge": _is_invited,
    "confirm": _is_unconfirmed,
    "signin": _link_is_live,
    "digest": _digest_is_due,
}
"""For each kind of mail, why it is outdated, or None; mails of other kinds report the past and stay true."""
