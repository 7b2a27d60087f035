"""What to do when mail to a person fails: bounces, complaints, and the envelope senders that tell which mail it was."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from server import play
from server.config import settings
from server.mail import causes
from server.mail.causes import Cause
from server.play import names, powers
from server.play.game import load
from server.play.powers import Asker
from server.store import facts, mail_kinds, operations, outbox, people
from server.store.engine import reading, transaction
from server.store.facts import Fact
from server.store.mail_kinds import Lists, MailKind
from server.store.models import Game, GameStatus, Mail, MailStatus, Person, Seat
from server.store.statements import MailRow

# ---- envelope senders ----

MOST_SIGNATURES = 10
"""Addresses in a text whose signature is checked: each check costs work, and strangers may list any number."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ENVELOPE = re.compile(r"bounce\+([0-9a-z]{1,14})-([a-z2-7]{10})@")


TRIAL = 0
"""The id of no email: that of the test email of `byzanz doctor --mail`."""


def envelope_sender(mail_id: int) -> str | None:
    """Return the address to which reports about a mail are sent; None while BYZANZ_MAIL_DOMAIN is not set.

    It is `bounce+<number>-<signature>@domain`: the signature is an HMAC of the mail's id; the number is the id in base
    36, masked with the signature, so that two addresses do not reveal how many mails were sent in between.
    """
    domain = settings().mail_domain
    if not domain:
        return None
    proof = _signature(mail_id)
    return f"bounce+{_base36(mail_id ^ _mask(proof))}-{proof}@{domain}"


def mail_id_in(text: str) -> int | None:
    """Return the id of our mail whose envelope sender occurs in a text, or None; forged addresses are ignored."""
    for found in islice(_ENVELOPE.finditer(text.lower()), MOST_SIGNATURES):
        number, proof = found.groups()
        mail_id = int(number, 36) ^ _mask(proof)
        if mail_id < 1 << 62 and hmac.compare_digest(_signature(mail_id), proof):
            return mail_id
    return None


def _signature(mail_id: int) -> str:
    key = hashlib.sha256(b"byzanz envelopes" + settings().secret_key.get_secret_value().encode()).digest()
    return base64.b32encode(hmac.digest(key, str(mail_id).encode(), "sha256")).decode().lower()[:10]


def _mask(proof: str) -> int:
    key = hashlib.sha256(b"byzanz masks" + settings().secret_key.get_secret_value().encode()).digest()
    return int.from_bytes(hmac.digest(key, proof.encode(), "sha256")[:8], "big") >> 2


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


# ---- failures ----
# Only a bad address is held against its owner (`causes`). What may pass is tried again some hours later, and what a
# mail server has against us is an alert for the operator.

REPORT_WINDOW = timedelta(days=7)
"""How long after sending a report about a mail counts: mail servers give up after five days."""
RETRY_AFTER = timedelta(hours=12)
"""How long after a report of failures that may pass the address counts as working again."""
PASSING = {"expired": "tried_again", "ours": "refuses_us"}
"""The codes of the reasons why an address is unreachable until then, by the cause of its failure."""
BLOCKED = "mail-blocked"
"""The key of the alert that mail servers refuse emails because of us."""
COMPLAINT = "complaint"
"""The code of the reason why an address is suppressed that reported an email as spam."""
_LOST = or_(Person.unreachable.is_not(None), Person.suppressed.is_not(None))


def turn_of(mail: MailRow) -> play.TurnKey | None:
    """Return the turn whose clock depends on a mail; None if the mail is not about one alone."""
    about_turn = mail_kinds.of(mail.kind).about_turn
    if not about_turn or mail.game_id is None or mail.seat is None or mail.seq is None:
        return None
    return mail.game_id, mail.seat, mail.seq


def turns_in_digest(session: Session, mail: MailRow) -> list[play.TurnKey]:
    """Return the turns that a digest listed when it was accepted or, if it was not, would list now."""
    kept = outbox.details(mail).get("named")
    if kept is not None:
        return [(str(game_id), int(seat), int(opened)) for game_id, seat, opened in kept]
    listed = play.turns_for_digest(session, mail.person_id)
    return [(game.id, turn.seat, turn.opened_seq) for game, _, turn in listed]


def lock_games(session: Session, mail: MailRow) -> list[str]:
    """Lock the games that a mail is about, and return their ids: its own, or for a digest all that it lists.

    Games are locked by id and before anything is written about mail or person, as everywhere else: otherwise two
    transactions could wait for each other.
    """
    daily = mail_kinds.of(mail.kind).lists is Lists.DIGEST_TURNS
    games = {game_id for game_id, _, _ in turns_in_digest(session, mail)} if daily else set()
    return play.lock_games(session, games | {mail.game_id or ""})


def delivery_failed(
    session: Session,
    games: Collection[str],
    mail: MailRow,
    diagnostic: Fact,
    now: datetime,
    *,
    bounced: bool = False,
    cause: Cause = "failed",
) -> None:
    """Handle a mail that will never arrive: stop the clock of its turn and tell those who can help.

    Args:
        games: the games it is about, locked.
        diagnostic: the mail server's reply, masked.
        bounced: a report says so; otherwise the mail server refused it.
        cause: unless the address is bad, it counts as working again after `RETRY_AFTER`.
    """
    person = session.get_one(Person, mail.person_id)
    lasting = cause == "failed"
    why = diagnostic if lasting else _passing(cause, diagnostic, now)
    if cause == "ours":
        report_refusal(session, diagnostic, now)
    if lasting or person.unreachable is None or person.retry_at is not None:
        person.unreachable, person.retry_at = why, None if lasting else now + RETRY_AFTER
        person.lost_at = person.lost_at or now
    if mail_kinds.of(mail.kind).lists is Lists.DIGEST_TURNS:
        _stop_digest_turns(session, games, mail, person, why, now, bounced)
    turn = turn_of(mail)
    stopped = turn is not None and play.mail_failed(session, turn, why, now, bounced=bounced)
    game_id = mail.game_id
    if game_id is None or game_id not in games:
        return
    if cause != "ours" and not causes.is_full(str(diagnostic)):
        fact = Fact("address_refused" if lasting else "address_silent", {"said": why})
        operations.raise_alert(session, _alert_key(game_id, person.id), fact, now, game_id)
    status = session.scalar(select(Game.status).where(Game.id == game_id))
    if mail_kinds.of(mail.kind).failure_reported and status != GameStatus.CANCELLED:
        _notify(session, game_id, mail, person, why, stopped, now)


def report_refusal(session: Session, diagnostic: Fact, now: datetime) -> None:
    """Alert the operator that a mail server refuses an email because of our host, our domain or its content."""
    operations.raise_alert(session, BLOCKED, Fact("mail_blocked", {"said": diagnostic}), now)


def _passing(cause: Cause, diagnostic: Fact, now: datetime) -> Fact:
    """Return why an address is unreachable for a time."""
    return Fact(PASSING[cause], {"at": f"{now + RETRY_AFTER:%Y-%m-%d %H:%M}", "said": diagnostic})


def delivery_withheld(
    session: Session, games: Collection[str], mail: MailRow, reason: Fact, now: datetime
) -> None:
    """Handle a mail that is not sent because the address bounced or complained before: its turn stops nevertheless.

    The organiser and the moderators get one email per game until the address works again.
    """
    person = session.get_one(Person, mail.person_id)
    if mail_kinds.of(mail.kind).lists is Lists.DIGEST_TURNS:
        _stop_digest_turns(session, games, mail, person, reason, now, bounced=True)
    turn = turn_of(mail)
    stopped = turn is not None and play.mail_failed(session, turn, reason, now, bounced=True)
    if mail.game_id is not None and mail.game_id in games and stopped:
        _notify_once(session, mail.game_id, mail, person, reason, now)


def handle_bounce(
    mail_id: int, diagnostic: Fact, now: datetime, *, cause: Cause = "failed"
) -> MailRow | None:
    """Treat an accepted mail that bounced as rejected, and suppress further mail to the address.

    Ignore reports about an old mail, about one that already bounced, about one that a newer copy has replaced, or
    about one after which the player has been at its table: anybody who has the mail can write such a report.

    Args:
        cause: unless the address is bad, nothing is suppressed.

    Returns:
        The mail, or None if there is no such mail.
    """
    with transaction() as session:
        mail = _find(session, mail_id)
        games = lock_games(session, mail) if mail is not None else ()
        mail = _find(session, mail_id)
        if mail is None:
            return None
        person = session.get_one(Person, mail.person_id)
        if (
            not _is_fresh(mail, now)
            or _has_newer_copy(session, mail)
            or _was_there_since(session, games, mail)
        ):
            return mail
        outbox.mark_bounced(session, mail, now, diagnostic)
        if cause == "failed":
            person.suppressed = diagnostic
        delivery_failed(session, games, mail, diagnostic, now, bounced=True, cause=cause)
        return mail


def handle_complaint(mail_id: int, diagnostic: Fact, now: datetime) -> MailRow | None:
    """Suppress all mail that was not requested to a person who reported ours as spam, and alert the moderators.

    Ignore reports about an old mail or one that never arrived.

    Returns:
        The mail, or None if there is no such mail.
    """
    with transaction() as session:
        mail = _find(session, mail_id)
        if mail is None or not _is_fresh(mail, now):
            return mail
        session.get_one(Person, mail.person_id).suppressed = Fact(COMPLAINT, {"said": diagnostic})
        fact = Fact("mail_unwanted", {"said": diagnostic})
        operations.raise_alert(session, f"complaint:{mail.person_id}", fact, now, mail.game_id)
        return mail


def _find(session: Session, mail_id: int) -> MailRow | None:
    return next(iter(outbox.find(session, Mail.id == mail_id)), None)


def _is_fresh(mail: MailRow, now: datetime) -> bool:
    """Whether a report about the mail counts: it may have been accepted, and not long ago."""
    sent_at = mail.finished_at or now
    return mail.status in (MailStatus.WAITING, MailStatus.SENT) and sent_at > now - REPORT_WINDOW


def _was_there_since(session: Session, games: Collection[str], mail: MailRow) -> bool:
    """Whether the recipient was at a table of the mail, or at any if it has none, after a mail server accepted it."""
    last = people.last(session, mail.person_id, games)
    return last is not None and mail.finished_at is not None and last > mail.finished_at


def _has_newer_copy(session: Session, mail: MailRow) -> bool:
    """Whether a newer copy of a turn's mail was sent or waits: then the address has been confirmed since."""
    first = Mail.kind.in_(mail_kinds.FIRST_ABOUT_A_TURN)
    copies = (Mail.game_id == mail.game_id, Mail.seat == mail.seat, Mail.seq == mail.seq, first)
    newer = select(Mail.id).where(*copies, Mail.id > mail.id, Mail.status != MailStatus.DROPPED)
    return mail_kinds.of(mail.kind).about_turn and session.scalar(newer.limit(1)) is not None


def mark_reachable(person_id: int, now: datetime, *, proven: bool = True) -> bool:
    """Resume mail to an address: mail the stopped turns again and clear the alerts about them.

    This is one transaction, since nothing else mails a turn whose address is believed to be good.

    Args:
        proven: there is a sign of the person; otherwise this is an attempt some hours after a failure.

    Returns:
        False if nothing was wrong with the address.
    """
    with reading() as session:  # usually there is nothing to do, and nothing is locked
        person = session.get_one(Person, person_id)
        well = person.suppressed is None and person.unreachable is None
        if well and not play.has_stopped_turns(session, person_id):
            return False
    with transaction() as session:
        play.address_works(
            session, person_id, now, proven=proven
        )  # locks games before the person, as all who lock both do
        person = session.get_one(Person, person_id)
        person.suppressed = person.unreachable = person.lost_at = person.retry_at = None
        for game_id in session.scalars(select(Seat.game_id).where(Seat.person_id == person_id)).all():
            operations.clear_alerts(session, _alert_key(game_id, person_id), now)
        operations.clear_alerts(session, f"complaint:{person_id}", now)
    return True


def retry_due(now: datetime) -> int:
    """Resume mail to the addresses that failed for a time some hours ago, and return to how many."""
    with reading() as session:
        due = session.scalars(
            select(Person.id).where(_LOST, Person.retry_at <= now).order_by(Person.id)
        ).all()
    return sum(mark_reachable(person_id, now, proven=False) for person_id in due)


def mend_all(since: datetime, moderator_id: int, reason: str, now: datetime) -> int:
    """Resume mail to all addresses that have failed since a moment, as after an outage of our own mail server.

    Complaints stay. Each game in which a clock is stopped for it gets a moderator's note.

    Args:
        moderator_id: who decides so.
        reason: one line, public for good.

    Returns:
        How many addresses count as working again.

    Raises:
        Conflict: the moderator has a stake at a table whose clock is stopped, and another could press.
        Refused: the reason is missing or malformed.
    """
    with transaction() as session:
        lost = session.scalars(select(Person).where(_LOST, Person.lost_at >= since).order_by(Person.id)).all()
        ids = [person.id for person in lost if not person.suppressed or person.suppressed.code != COMPLAINT]
        games = play.games_with_stopped_turns(session, ids)
        for game_id in games:
            powers.admit(session, "mend", moderator_id, game_id=game_id)
        reason = powers.use(session, "mend", Asker(moderator_id, reason), now).reason or reason
    for game_id in games:
        play.moderate(game_id, "!note", reason=reason, person_id=moderator_id, now=now, warned=True)
    return sum(mark_reachable(person_id, now) for person_id in ids)


def alert_keys(person_id: int, game_ids: Iterable[str]) -> list[str]:
    """Return the keys of the alerts that quote what a mail server said about a person."""
    return [BLOCKED, f"complaint:{person_id}", *(_alert_key(game_id, person_id) for game_id in game_ids)]


def _alert_key(game_id: str, person_id: int) -> str:
    return f"refused:{game_id}:{person_id}"


def _stop_digest_turns(
    session: Session,
    games: Collection[str],
    mail: MailRow,
    person: Person,
    reason: Fact,
    now: datetime,
    bounced: bool,
) -> None:
    """Stop the clocks of the turns that a failed digest listed, and tell those in charge of each game."""
    listed = [place for place in turns_in_digest(session, mail) if place[0] in games]
    for game_id in play.digest_failed(session, listed, reason, now, bounced=bounced):
        _notify_once(session, game_id, mail, person, reason, now)


def _notify_once(
    session: Session, game_id: str, mail: MailRow, person: Person, reason: Fact, now: datetime
) -> None:
    """Tell moderators and organiser that a clock has stopped, unless they already know of this player and game."""
    if operations.open_alert(session, _alert_key(game_id, person.id)) is None:
        fact = Fact("address_failed_before", {"said": reason})
        operations.raise_alert(session, _alert_key(game_id, person.id), fact, now, game_id)
        _notify(session, game_id, mail, person, reason, True, now)


def _notify(
    session: Session,
    game_id: str,
    mail: MailRow,
    person: Person,
    why: Fact,
    stopped: bool,
    now: datetime,
) -> None:
    table = load(session, game_id, now)
    own = next((seat for seat in table.seats if seat.person_id == person.id), None)
    name = names.of(table.game, own, names.ORGANISER) if own is not None else person.name
    details: dict[str, object] = {"name": name, "error": facts.stored(why), "stopped": stopped}
    if why.code in PASSING.values():
        said = why.values["said"]
        assert isinstance(said, Fact)
        again = (now + RETRY_AFTER).isoformat()
        details |= {"error": facts.stored(said), "again": again, "ours": why.code == PASSING["ours"]}
    organiser_id = session.scalar(select(Game.organiser_id).where(Game.id == game_id))
    for reader in sorted(people.organiser_and_moderators(session, organiser_id) - {person.id}):
        outbox.enqueue(
            session,
            key=f"refused:{mail.id}:{int(mail.created_at.timestamp())}:{game_id}:{reader}",
            kind=MailKind.REFUSED,
            person_id=reader,
            now=now,
            game_id=game_id,
            details=details,
        )
