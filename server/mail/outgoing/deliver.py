"""Delivering the outbox: lease mails, check that they are still relevant, compose, send, mark.

No transaction is open while talking to a mail server. Each outcome is marked in a short transaction of its own; a
turn's clock starts in the one that marks its mail as sent, with the deadline that the mail printed.

An outcome that the database does not take is kept in memory and stored before anything else is sent, so that a locked
or lost database makes no further copy: only a mailer that dies forgets it.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from server import play
from server.mail import deliverability
from server.mail.outgoing import digest, relevance, view
from server.mail.outgoing.compose import ComposedMail, compose
from server.mail.outgoing.relevance import AddressSuppressed, Outdated, Postponed
from server.mail.outgoing.smtp import Message, PermanentFailure, TemporaryFailure
from server.mail.text import quoted
from server.play.positions import NO_RULES
from server.store import links, mail_kinds, operations, outbox
from server.store.engine import UNAVAILABLE, reading, transaction
from server.store.facts import Fact
from server.store.statements import MailRow

LOGGER = logging.getLogger(__name__)
BATCH = 20
"""Mails leased at once."""
WITHOUT_RULES = timedelta(minutes=10)
"""How long a mail waits until it is looked at again if the rules of its game are not installed."""
LONGEST_BATCH = outbox.LEASE / 2
"""After this time no further mail of a batch is started, so that none is sent under an expired lease."""

OUR_TROUBLE = (*UNAVAILABLE, MemoryError, OSError)
"""Why an outcome could not be marked, although nothing is wrong with it."""

WORDS = {
    "sent": "was sent",
    "dropped": "was dropped",
    "retried": "will be retried",
    "rejected": "was rejected",
}
"""What the log says about a mail, by its outcome."""


class Sender(Protocol):
    """Anything that hands a mail to a mail server, such as `smtp.Transport`."""

    def send(self, message: Message) -> None:
        """Send it; raises `PermanentFailure` or `TemporaryFailure`."""


Outcome = Callable[[MailRow], None]
"""Marks the outcome of a mail under the lease that it has then."""
_unmarked: list[tuple[MailRow, Outcome]] = []


def deliver(
    now: datetime, sender: Sender, n: int = BATCH, steady: Callable[[], float] = time.monotonic
) -> int:
    """Deliver up to `n` due mails and return how many were leased.

    Args:
        now: when the batch begins; later mails of a slow batch count whole seconds on from it.
        sender: one connection for all of them.
        steady: a monotonic clock.
    """
    store_outcomes(now)
    mails = outbox.lease(now, n)
    began = steady()
    for index, mail in enumerate(mails):
        spent = timedelta(seconds=int(steady() - began))
        if spent > LONGEST_BATCH:
            _release(mails[index:])
            break
        try:
            goes_on = _deliver_one(mail, now + spent, sender)
        except Exception:  # the outcome of this one could not be marked; the others are untouched
            _release(mails[index + 1 :])
            raise
        if not goes_on:
            _release(mails[index + 1 :])
            break
    return len(mails)


def store_outcomes(now: datetime) -> None:
    """Mark the outcomes that the database has not taken before, and renew the leases of those that it still does not.

    Raises:
        SQLAlchemyError: the database does not answer at all.
    """
    for mail, outcome in _unmarked.copy():
        held = outbox.renew(mail, now)
        _unmarked.remove((mail, outcome))
        if held is not None:
            try:
                outcome(held)
            except OUR_TROUBLE:  # such as one locked game, for which the others need not wait
                LOGGER.exception("the outcome of mail %s (%s) is still not stored", mail.id, mail.kind)
                _unmarked.append((held, outcome))


def forget() -> None:
    """Forget the outcomes that are not stored, as a mailer does that dies."""
    _unmarked.clear()


def _release(mails: list[MailRow]) -> None:
    """Return leased mails unsent, now or as soon as the database takes it."""
    try:
        outbox.release(mails)
    except OUR_TROUBLE:
        _unmarked.extend((mail, _release_one) for mail in mails)


def _release_one(mail: MailRow) -> None:
    outbox.release([mail])


def _deliver_one(mail: MailRow, now: datetime, sender: Sender) -> bool:
    """Send one mail and mark the outcome; False when the connection is lost."""
    goes_on = True
    try:
        composed = _write(mail, now)
        sender.send(composed.message)
    except UNAVAILABLE:  # while it was written: nothing was sent, and nothing is wrong with it
        _release([mail])
        raise
    except AddressSuppressed as old:
        outcome = partial(_withhold, reason=old.why, now=now)
    except Outdated as old:
        outcome = partial(_drop, reason=old.why, now=now)
    except Postponed as later:
        outcome = partial(_postpone, until=later.until)
    except PermanentFailure as refused:
        outcome = partial(_fail, refused=refused, now=now)
    except TemporaryFailure as reason:
        outcome = partial(_retry_later, reason=reason, now=now)
        goes_on = not reason.connection_lost
    except Exception as fault:  # one broken game or mail must not stop the others
        LOGGER.exception("mail %s (%s) cannot be composed", mail.id, mail.kind)
        outcome = partial(_retry_later, reason=fault, now=now)
    else:
        outcome = partial(_sent, composed=composed, now=now)
    _mark(mail, outcome)
    return goes_on


def _mark(mail: MailRow, outcome: Outcome) -> None:
    """Mark the outcome of a mail; what the database does not take at the second attempt either is kept for later."""
    try:
        outcome(mail)
    except OUR_TROUBLE:
        try:
            outcome(mail)
        except OUR_TROUBLE:
            _unmarked.append((mail, outcome))
            raise


def _write(mail: MailRow, now: datetime) -> ComposedMail:
    """Compose a mail that may be sent now, and store the links that it is the first to carry."""
    with reading() as session:
        beside = outbox.waiting_beside(session, mail)
        if beside is None:
            raise Outdated(Fact("told_by_another"))
        rows = relevance.load_rows(session, mail, now, beside)
        relevance.check_sendable(rows, now)
        held = rows.game.quarantine if rows.game is not None else None
        if held and held.code != NO_RULES:
            raise TemporaryFailure(Fact("quarantined"))
        if held and not mail_kinds.of(mail.kind).answers_email:  # an answer needs no rules to say so
            raise Postponed(now + WITHOUT_RULES)
        mail_links, made = view.links_of(session, rows, now)
        composed = compose(session, rows, mail_links, now)
    if made:
        with transaction() as session:
            links.add_all(session, made)
    return composed


def _sent(mail: MailRow, composed: ComposedMail, now: datetime) -> None:
    with transaction() as session:
        play.lock_games(session, {named.game_id for named in composed.turns} | {mail.game_id or ""})
        first = outbox.mark_sent(session, mail, now)
        if first:
            outbox.mark_merged(session, composed.merged, now)
            if (link_id := outbox.details(mail).get("link")) is not None:
                links.begin_lifetime(session, link_id, now)
            turn = deliverability.turn_of(mail)
            kind = mail_kinds.of(mail.kind)
            if kind.starts_clocks and kind.lists:
                digest.start_clocks(session, mail, composed.turns, now)
            elif kind.starts_clocks and turn is not None and composed.times is not None:
                play.mail_accepted(session, turn, composed.times, now)
            operations.clear_alerts(session, (_late_key(mail), "mail-settings"), now)
    if first:
        operations.count_figure("mail_out:dropped", len(composed.merged))
        _log(mail, "sent")
    if composed.mends_address:
        deliverability.mark_reachable(mail.person_id, now)


def _postpone(mail: MailRow, until: datetime) -> None:
    with transaction() as session:
        outbox.postpone(session, mail, until)


def _drop(mail: MailRow, reason: Fact, now: datetime) -> None:
    with transaction() as session:
        play.lock_games(session, {mail.game_id or ""})
        outbox.mark_dropped(session, mail, now, reason)
        turn = deliverability.turn_of(mail)
        if mail_kinds.of(mail.kind).starts_clocks and turn is not None:
            play.mail_dropped(session, turn, now)
    _log(mail, "dropped", reason)


def _withhold(mail: MailRow, reason: Fact, now: datetime) -> None:
    with transaction() as session:
        games = deliverability.lock_games(session, mail)
        outbox.mark_dropped(session, mail, now, reason)
        deliverability.delivery_withheld(session, games, mail, reason, now)
    _log(mail, "dropped", reason)


def _retry_later(mail: MailRow, reason: Exception, now: datetime) -> None:
    reply = (
        reason.said if isinstance(reason, TemporaryFailure) else quoted(str(reason) or type(reason).__name__)
    )
    with transaction() as session:
        outbox.retry_later(session, mail, now, reply, secrets.randbelow(1 << 20) / (1 << 20))
        if isinstance(reason, TemporaryFailure) and reason.our_fault:
            operations.raise_alert(session, "mail-settings", Fact("mail_settings", {"said": reply}), now)
        elif isinstance(reason, TemporaryFailure) and reason.cause == "ours":
            deliverability.report_refusal(session, reply, now)
        if now - mail.created_at > outbox.STUCK_AFTER or not isinstance(reason, TemporaryFailure):
            since = f"{mail.created_at:%Y-%m-%d %H:%M}"
            fact = Fact("mail_late", {"kind": mail.kind, "at": since, "said": reply})
            operations.raise_alert(session, _late_key(mail), fact, now, mail.game_id)
    _log(mail, "retried", reply)


def _log(mail: MailRow, outcome: str, why: Fact | None = None) -> None:
    """Log and count the outcome of a mail."""
    operations.count_figure(f"mail_out:{outcome}")
    game = ", game %(game)s" if mail.game_id else ""
    line = f"mail %(mail)s (%(kind)s{game}) to person %(person)s {WORDS[outcome]}"
    values = {"mail": mail.id, "kind": mail.kind, "game": mail.game_id, "person": mail.person_id}
    level = logging.INFO if outcome in ("sent", "dropped") else logging.WARNING
    more = {"outage": True} if outcome == "retried" else None
    LOGGER.log(level, f"{line}: %(why)s" if why else line, values | ({"why": why} if why else {}), extra=more)


def _late_key(mail: MailRow) -> str:
    return f"mail-late:{mail.id}"


def _fail(mail: MailRow, refused: PermanentFailure, now: datetime) -> None:
    """Give the mail up, stop the clock of its turn and tell those who can help."""
    reply = refused.said
    with transaction() as session:
        games = deliverability.lock_games(session, mail)
        first = outbox.mark_failed(session, mail, now, reply)
        if first:
            deliverability.delivery_failed(session, games, mail, reply, now, cause=refused.cause)
    if first:
        _log(mail, "rejected", reply)
