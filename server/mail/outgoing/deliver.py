"""Delivering the outbox: lease mails, check that they are still relevant, compose, send, mark.

No transaction is open while talking to a mail server. Each outcome is marked in a short transaction of its own; a
turn's clock starts in the one that marks its mail as sent, with the deadline that the mail printed.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import Protocol

from sqlalchemy.exc import OperationalError

from server import play
from server.mail import deliverability
from server.mail.outgoing import batching, context, digest, relevance
from server.mail.outgoing.batching import Postponed
from server.mail.outgoing.compose import ComposedMail, compose
from server.mail.outgoing.relevance import AddressSuppressed, Outdated
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.mail.text import quoted
from server.store import alerts, log, outbox
from server.store.engine import reading, transaction
from server.store.facts import Fact
from server.store.models import Mail, Person

LOGGER = logging.getLogger(__name__)
BATCH = 20
"""Mails leased at once."""
LONGEST_BATCH = outbox.LEASE / 2
"""After this time no further mail of a batch is started, so that none is sent under an expired lease."""


class Sender(Protocol):
    """Anything that hands a mail to a mail server, such as `smtp.Transport`."""

    def send(self, message: EmailMessage) -> None:
        """Send it; raises `PermanentFailure` or `TemporaryFailure`."""


def deliver(
    now: datetime, sender: Sender, n: int = BATCH, steady: Callable[[], float] = time.monotonic
) -> int:
    """Deliver up to `n` due mails and return how many were leased.

    Args:
        now: when the batch begins; later mails of a slow batch count whole seconds on from it.
        sender: one connection for all of them.
        steady: a monotonic clock.
    """
    mails = outbox.lease(now, n)
    began = steady()
    for index, mail in enumerate(mails):
        spent = timedelta(seconds=int(steady() - began))
        if spent > LONGEST_BATCH:
            outbox.release(mails[index:])
            break
        try:
            goes_on = _deliver_one(mail, now + spent, sender)
        except Exception:  # the outcome of this one could not be marked; the others are untouched
            outbox.release(mails[index + 1 :])
            raise
        if not goes_on:
            outbox.release(mails[index + 1 :])
            break
    return len(mails)


def _deliver_one(mail: Mail, now: datetime, sender: Sender) -> bool:
    """Send one mail and mark the outcome; False when the connection is lost."""
    try:
        composed = _write(mail, now)
        sender.send(composed.message)
    except AddressSuppressed as old:
        _withhold(mail, old.why, now)
    except Outdated as old:
        _drop(mail, old.why, now)
    except Postponed as later:
        with transaction() as session:
            outbox.postpone(session, mail, later.until)
    except PermanentFailure as refused:
        _fail(mail, refused.said, now)
    except TemporaryFailure as reason:
        _retry_later(mail, reason, now)
        return not reason.connection_lost
    except Exception as fault:  # one broken game or mail must not stop the others
        LOGGER.exception("mail %s (%s) cannot be composed", mail.id, mail.kind)
        _retry_later(mail, fault, now)
    else:
        try:
            _sent(mail, composed, now)
        except OperationalError:  # a lock timed out: the mail was sent and must not be sent again
            _sent(mail, composed, now)
    return True


def _write(mail: Mail, now: datetime) -> ComposedMail:
    with transaction() as session:  # creates missing links
        rows = relevance.load_rows(session, mail, now)
        batching.check_sendable(session, rows, now)
        if rows.game is not None and rows.game.quarantine:
            raise TemporaryFailure(Fact("quarantined"))
        mail_links = context.issue_links(session, rows, now)
    with reading() as session:
        return compose(session, relevance.load_rows(session, mail, now), mail_links, now)


def _sent(mail: Mail, composed: ComposedMail, now: datetime) -> None:
    with transaction() as session:
        game = log.lock_game(session, mail.game_id) if mail.game_id else None
        for game_id in sorted({named.game_id for named in composed.turns}):
            log.lock_game(session, game_id)
        if not outbox.mark_sent(session, mail, now):
            return
        outbox.mark_merged(session, composed.merged, now)
        person = session.get_one(Person, mail.person_id)
        # If a server accepts mail and bounces it later, accepting once more proves nothing about the address.
        mended = person.unreachable is not None and person.suppressed is None
        play.mail_accepted(session, game, mail, composed.due, now)
        if mail.kind == "digest":
            digest.start_clocks(session, mail, composed.turns, now)
        for key in (_late_key(mail), "mail-settings"):
            alerts.clear(session, key, now)
    if mended:
        deliverability.mark_reachable(mail.person_id, now)


def _drop(mail: Mail, reason: Fact, now: datetime) -> None:
    with transaction() as session:
        game = log.lock_game(session, mail.game_id) if mail.game_id else None
        outbox.mark_dropped(session, mail, now, reason)
        play.mail_dropped(session, game, mail, now)


def _withhold(mail: Mail, reason: Fact, now: datetime) -> None:
    with transaction() as session:
        games = deliverability.lock_games(session, mail)
        outbox.mark_dropped(session, mail, now, reason)
        deliverability.delivery_withheld(session, games, mail, reason, now)


def _retry_later(mail: Mail, reason: Exception, now: datetime) -> None:
    reply = (
        reason.said if isinstance(reason, TemporaryFailure) else quoted(str(reason) or type(reason).__name__)
    )
    LOGGER.warning("mail %s (%s) will be retried: %s", mail.id, mail.kind, reply)
    with transaction() as session:
        outbox.retry_later(session, mail, now, reply, secrets.randbelow(1 << 20) / (1 << 20))
        if isinstance(reason, TemporaryFailure) and reason.our_fault:
            alerts.raise_alert(session, "mail-settings", Fact("mail_settings", {"said": reply}), now)
        if now - mail.created_at > outbox.STUCK_AFTER or not isinstance(reason, TemporaryFailure):
            since = f"{mail.created_at:%Y-%m-%d %H:%M}"
            fact = Fact("mail_late", {"kind": mail.kind, "at": since, "said": reply})
            alerts.raise_alert(session, _late_key(mail), fact, now, mail.game_id)


def _late_key(mail: Mail) -> str:
    return f"mail-late:{mail.id}"


def _fail(mail: Mail, reply: Fact, now: datetime) -> None:
    """Give the mail up, stop the clock of its turn and tell those who can help."""
    LOGGER.warning("mail %s (%s) was rejected: %s", mail.id, mail.kind, reply)
    with transaction() as session:
        games = deliverability.lock_games(session, mail)
        if not outbox.mark_failed(session, mail, now, reply):
            return
        deliverability.delivery_failed(session, games, mail, reply, now)
