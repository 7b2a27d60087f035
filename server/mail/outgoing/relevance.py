"""Whether a mail is still relevant when it is to be sent, whether it waits, and which mails are sent as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play
from server.community import blocks
from server.i18n import zone_of
from server.mail.outgoing import letters
from server.play import clock
from server.play.game import Table, load
from server.store import links, mail_kinds, outbox, people
from server.store.facts import Fact
from server.store.mail_kinds import Declaration, MailKind, Reader, Requires, Stop, TurnOf
from server.store.models import (
    HELD_INVITATION,
    NOT_NUMEROUS,
    WAITING,
    Game,
    GameStatus,
    Mail,
    Seat,
    SeatStatus,
)
from server.store.statements import GameRow, MailRow, PersonRow, SeatRow, TurnRow

LATEST = timedelta(days=1)
"""How late an email may be whose reader can ask for another; later it has no link and says just that."""


@dataclass(frozen=True, slots=True)
class MailRows:
    """The rows that a mail is about, as they are now."""

    mail: MailRow
    person: PersonRow
    table: Table | None
    """The game, without its orders."""
    seat: SeatRow | None
    """The reader's own seat in that game."""
    turn: TurnRow | None
    """The turn that the mail was queued for, if still open; for an answer, the reader's own open turn."""
    beside: Sequence[MailRow] = ()
    """The other mails that wait for the same reader about the same game, oldest first."""
    late: bool = False
    """It was requested so long ago that it only says so, without its link."""

    @property
    def kind(self) -> Declaration:
        """What holds for its kind."""
        return mail_kinds.of(self.mail.kind)

    @property
    def game(self) -> GameRow | None:
        """The game that it is about, if any."""
        return self.table.game if self.table is not None else None


class Outdated(Exception):
    """The mail is not to be sent; the text says why."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why)
        self.why = why


class AddressSuppressed(Outdated):
    """The mail is relevant, but the reader's address bounced or complained; the text is the diagnostic."""


def load_rows(session: Session, mail: MailRow, now: datetime, beside: Sequence[MailRow] = ()) -> MailRows:
    """Load the rows of a mail that is still to be sent.

    Args:
        beside: the other mails that wait, as `outbox.waiting_beside` returns them.

    Raises:
        Outdated: it is no longer true or wanted. AddressSuppressed: the address is suppressed.
    """
    kind = mail_kinds.of(mail.kind)
    table = load(session, mail.game_id, now) if mail.game_id else None
    seat = _seat(table, mail)
    person = seat.person if seat is not None else people.get(session, mail.person_id)
    if person is None or not person.email:
        raise Outdated(Fact("no_address"))
    _check_wanted(session, kind, person, table)
    _check_seat(kind, seat)
    late = kind.ask_again and now - mail.created_at > LATEST
    rows = MailRows(mail, person, table, seat, _turn(table, mail, seat), beside, late)
    reason = CHECKS[kind.requires](session, rows, now) if kind.requires is not None else None
    if reason:
        raise Outdated(reason)
    if person.suppressed and not kind.requested:
        raise AddressSuppressed(person.suppressed)
    return rows


def _check_wanted(session: Session, kind: Declaration, person: PersonRow, table: Table | None) -> None:
    """Check that a reader has not refused all emails of this kind."""
    if person.silent and not kind.requested:
        raise Outdated(Fact("silent"))
    if kind.invites and (person.no_invitations or _is_blocked(session, person.id, table)):
        raise Outdated(Fact("no_invitations"))  # one reason for both, so that none reveals a block
    if person.no_player_news and kind.stop is Stop.PLAYERS:
        raise Outdated(Fact("no_player_news"))


def _check_seat(kind: Declaration, seat: SeatRow | None) -> None:
    """Check that the reader holds the seat that the kind asks for, and wants emails about that game."""
    if seat is not None and seat.silent and not kind.requested and kind.to is not Reader.IN_CHARGE:
        raise Outdated(Fact("silent_here"))
    if kind.to is not Reader.PLAYER:
        return
    if seat is None or seat.status != SeatStatus.SEATED:
        raise Outdated(Fact("not_seated"))
    if seat.left:
        raise Outdated(Fact("has_left"))


def _is_blocked(session: Session, person_id: int, table: Table | None) -> bool:
    """Whether a block stands between a person and the organiser who invites them."""
    host = table.game.organiser_id if table is not None else None
    return host is not None and bool(blocks.between(session, person_id, [host]))


def held_games(session: Session, person_id: int) -> list[str]:
    """Return the games with invitations to a person that are held and still open, the oldest invitation first."""
    held = (NOT_NUMEROUS, Mail.person_id == person_id, HELD_INVITATION, WAITING)
    query = (
        select(Game.id, Game.organiser_id)
        .join(Mail, Mail.game_id == Game.id)
        .join(Seat, Seat.game_id == Game.id)
    )
    invited = (
        Game.status == GameStatus.INVITING,
        Seat.person_id == person_id,
        Seat.status == SeatStatus.INVITED,
    )
    found = session.execute(query.where(*held, *invited).order_by(Mail.id)).all()
    hidden = blocks.around(session, person_id)
    return list(dict.fromkeys(game_id for game_id, host_id in found if host_id not in hidden))


def _seat(table: Table | None, mail: MailRow) -> SeatRow | None:
    seats = table.seats if table is not None else ()
    return next((seat for seat in seats if seat.person_id == mail.person_id), None)


def _turn(table: Table | None, mail: MailRow, seat: SeatRow | None) -> TurnRow | None:
    which = mail_kinds.of(mail.kind).turn
    if table is None or which is None:
        return None
    if which is TurnOf.READER:
        seated = seat is not None and seat.status == SeatStatus.SEATED and not table.game.quarantine
        return table.turns.get(seat.seat) if seat is not None and seated else None
    if mail.seat is None:
        return None
    turn = table.turns.get(mail.seat)
    return turn if turn is not None and turn.opened_seq == mail.seq else None


def _turn_open(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    if rows.turn is None or rows.game is None or rows.game.paused or rows.game.status != GameStatus.RUNNING:
        return Fact("turn_over")
    return None


def _time_left(session: Session, rows: MailRows, now: datetime) -> Fact | None:
    if (over := _turn_open(session, rows, now)) is not None:
        return over
    due = rows.turn.due_at if rows.turn is not None else None
    return None if due is not None and due > now else Fact("no_time_left")


def _is_over(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    return None if rows.game and rows.game.status == GameStatus.OVER else Fact("not_over")


def _is_invited(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    waits = (
        rows.game
        and rows.game.status == GameStatus.INVITING
        and rows.seat
        and rows.seat.status == SeatStatus.INVITED
    )
    return None if waits else Fact("invitation_closed")


def _is_unconfirmed(_session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    return None if rows.game and rows.game.status == GameStatus.ASKED else Fact("confirmation_closed")


def wished_games(session: Session, mail: MailRow) -> list[str]:
    """Return the tables of a mail about open tables that still wait for players, in the mail's order.

    A block may have been made, or somebody blocked may have sat down, since the mail was queued.
    """
    ids = outbox.details(mail).get("games", [])
    open_ones = select(Game.id).where(Game.id.in_(ids), Game.open_until.is_not(None), Game.listed)
    open_ones = open_ones.where(~blocks.keeps_apart(session, mail.person_id))
    found = set(session.scalars(open_ones))
    return [game_id for game_id in ids if game_id in found]


def _any_table_waits(session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    return None if wished_games(session, rows.mail) else Fact("table_closed")


def _still_waits(session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    until = session.scalar(select(Game.open_until).where(Game.id == rows.mail.game_id))
    told = outbox.details(rows.mail)["until"]
    return None if until is not None and until.isoformat() == told else Fact("table_closed")


def _link_is_wanted(session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    """An email that was late begins the lifetime of its link anew, unless its reader has asked once more."""
    given = outbox.details(rows.mail).get("link")
    link = links.get(session, given) if given is not None else None
    if link is None or link.revoked_at or link.used_at or (rows.game is not None and not rows.game.trial):
        return Fact("link_dead")
    same = (
        NOT_NUMEROUS,
        Mail.person_id == rows.person.id,
        Mail.kind == rows.mail.kind,
        Mail.id > rows.mail.id,
    )
    newer = rows.late and session.scalar(
        select(Mail.id).where(*same, Mail.game_id == rows.mail.game_id).limit(1)
    )
    return Fact("link_dead") if newer else None


def _digest_is_due(session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    if rows.person.cadence != "digest":
        return Fact("no_digest")
    same_person = (NOT_NUMEROUS, Mail.person_id == rows.person.id, Mail.kind == rows.mail.kind, WAITING)
    if session.scalar(select(Mail.id).where(*same_person, Mail.id > rows.mail.id)) is not None:
        return Fact("newer_digest")
    return None if play.turns_for_digest(session, rows.person.id) else Fact("nothing_to_tell")


def _is_talk_news(session: Session, rows: MailRows, _now: datetime) -> Fact | None:
    if rows.person.talk != "once":
        return Fact("no_talk")
    assert rows.game is not None
    return None if letters.talk_news(session, rows.game, rows.mail) else Fact("words_read")


CHECKS: dict[Requires, Callable[[Session, MailRows, datetime], Fact | None]] = {
    Requires.TURN_OPEN: _turn_open,
    Requires.TIME_LEFT: _time_left,
    Requires.GAME_OVER: _is_over,
    Requires.INVITED: _is_invited,
    Requires.UNCONFIRMED: _is_unconfirmed,
    Requires.LINK_LIVE: _link_is_wanted,
    Requires.DIGEST_DUE: _digest_is_due,
    Requires.TABLE_WAITS: _still_waits,
    Requires.TABLES_WAIT: _any_table_waits,
    Requires.TALK_UNREAD: _is_talk_news,
}
"""For whatever a kind of mail may require, why the mail is outdated, or None."""


# ---- mails that are sent as one ----
# Several waiting mails to one reader about one game are merged by one rule: a mail waits while another one waits that
# can tell its news (`merges_into`). That one collects the news when it is written, and the transaction that marks it
# as sent drops the merged mails. If it is never sent, the first goes out alone: nothing is lost, and each keeps its
# Message-ID.

MERGED_INTO: dict[str, tuple[str, ...]] = {
    kind: kind.declared.merges_into for kind in MailKind if kind.declared.merges_into
}
"""For each kind of mail, the kinds of mail about the same game to the same reader that can include its news; held
invitations to all games are told in one."""


class Postponed(Exception):
    """The mail is to be sent, but not before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


def check_sendable(rows: MailRows, now: datetime) -> None:
    """Check that a relevant mail may be sent now.

    Raises:
        Postponed: it is the reader's quiet hours, or another mail with the same news waits.
    """
    immediate = rows.kind.requested or rows.kind.immediate
    if not immediate and (end := _quiet_until(rows, now)) is not None:
        raise Postponed(end)
    kinds = MERGED_INTO.get(rows.mail.kind, ())
    for other in rows.beside:
        if other.kind in kinds and _covers(rows, other, rows.mail):
            raise Postponed(max(other.not_before, now + timedelta(seconds=outbox.FIRST_RETRY)))


def _quiet_until(rows: MailRows, now: datetime) -> datetime | None:
    """Return the end of the reader's quiet hours, or None outside them."""
    person = rows.person
    if person.quiet_from is None or person.quiet_to is None:
        return None
    zone = zone_of(person, rows.game)
    return clock.night_end(now, clock.Hours(zone, (person.quiet_from, person.quiet_to)))


def mergeable(rows: MailRows) -> list[MailRow]:
    """Return those of the mails waiting beside a mail that it can include."""
    kinds = [kind for kind, including in MERGED_INTO.items() if rows.mail.kind in including]
    return [other for other in rows.beside if other.kind in kinds and _covers(rows, rows.mail, other)]


def _covers(rows: MailRows, mail: MailRow, other: MailRow) -> bool:
    """Whether a mail can include another: the younger of one kind, or a turn's while it is open."""
    if mail_kinds.of(mail.kind).about_turn:
        turn = rows.table.turns.get(mail.seat) if rows.table is not None and mail.seat is not None else None
        return turn is not None and turn.opened_seq == mail.seq
    return mail.kind != other.kind or mail.id > other.id
