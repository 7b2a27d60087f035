"""Delivering what waits in the outbox: lease, look whether it is still news, write, hand over, mark.

No transaction is open while a mail server is spoken to. Every outcome is marked in a short transaction of its own; a
turn's clock starts in the one that marks its mail as sent, with the moment that was printed in it.
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
from server.mail.outgoing.batching import Later
from server.mail.outgoing.compose import Letter, compose
from server.mail.outgoing.relevance import OldNews, Suppressed
from server.mail.outgoing.smtp import Refused, TryLater
from server.mail.text import quoted
from server.store import alerts, log, outbox
from server.store.engine import reading, transaction
from server.store.facts import Fact
from server.store.models import Mail, Person

LOGGER = logging.getLogger(__name__)
BATCH = 20
"""Mails leased at once."""
LONGEST_BATCH = outbox.LEASE / 2
"""After this long no further mail of a batch is begun, so that none is sent under a lease that has run out."""


class Sender(Protocol):
    """Whatever hands a mail to a mail server, as `transport.Transport` does."""

    def send(self, message: EmailMessage) -> None:
        """Hand it over; raises `Refused` or `TryLater`."""


def deliver(
    now: datetime, sender: Sender, n: int = BATCH, steady: Callable[[], float] = time.monotonic
) -> int:
    """Deliver up to `n` mails that are due; how many were leased.

    Args:
        now: when the batch begins; later mails of a slow batch count whole seconds on from it.
        sender: one connection for all of them.
        steady: a clock that never jumps.
    """
    mails = outbox.lease(now, n)
    began = steady()
    for place, mail in enumerate(mails):
        spent = timedelta(seconds=int(steady() - began))
        if spent > LONGEST_BATCH:
            outbox.release(mails[place:])
            break
        try:
            goes_on = _deliver_one(mail, now + spent, sender)
        except Exception:  # what became of this one could not be marked; the others are as before
            outbox.release(mails[place + 1 :])
            raise
        if not goes_on:
            outbox.release(mails[place + 1 :])
            break
    return len(mails)


def _deliver_one(mail: Mail, now: datetime, sender: Sender) -> bool:
    """Send one mail and mark what became of it; False when the connection is lost."""
    try:
        letter = _write(mail, now)
        sender.send(letter.message)
    except Suppressed as old:
        _withhold(mail, old.why, now)
    except OldNews as old:
        _drop(mail, old.why, now)
    except Later as later:
        with transaction() as session:
            outbox.hold(session, mail, later.until)
    except Refused as refused:
        _give_up(mail, refused.said, now)
    except TryLater as why:
        _put_off(mail, why, now)
        return not why.lost
    except Exception as fault:  # one broken game or mail must not stop the others
        LOGGER.exception("mail %s (%s) cannot be written", mail.id, mail.kind)
        _put_off(mail, fault, now)
    else:
        try:
            _sent(mail, letter, now)
        except OperationalError:  # a lock that lasted: the mail is out, and is not to go out again for that
            _sent(mail, letter, now)
    return True


def _write(mail: Mail, now: datetime) -> Letter:
    with transaction() as session:  # a link that is missing is made
        found = relevance.facts(session, mail, now)
        batching.check(session, found, now)
        if found.game is not None and found.game.quarantine:
            raise TryLater(Fact("quarantined"))
        doors = context.doors(session, found, now)
    with reading() as session:
        return compose(session, relevance.facts(session, mail, now), doors, now)


def _sent(mail: Mail, letter: Letter, now: datetime) -> None:
    with transaction() as session:
        game = log.lock_game(session, mail.game_id) if mail.game_id else None
        for game_id in sorted({named.game_id for named in letter.named}):
            log.lock_game(session, game_id)
        if not outbox.mark_sent(session, mail, now):
            return
        outbox.mark_told(session, letter.along, now)
        person = session.get_one(Person, mail.person_id)
        # A server that accepts and then sends back says nothing about the address by accepting once more.
        mended = person.unreachable is not None and person.suppressed is None
        play.mail_accepted(session, game, mail, letter.due, now)
        if mail.kind == "digest":
            digest.accepted(session, mail, letter.named, now)
        for key in (_late_key(mail), "mail-settings"):
            alerts.clear(session, key, now)
    if mended:
        deliverability.again(mail.person_id, now)


def _drop(mail: Mail, why: Fact, now: datetime) -> None:
    with transaction() as session:
        game = log.lock_game(session, mail.game_id) if mail.game_id else None
        outbox.mark_dropped(session, mail, now, why)
        play.mail_dropped(session, game, mail, now)


def _withhold(mail: Mail, why: Fact, now: datetime) -> None:
    with transaction() as session:
        games = deliverability.locked(session, mail)
        outbox.mark_dropped(session, mail, now, why)
        deliverability.withheld(session, games, mail, why, now)


def _put_off(mail: Mail, why: Exception, now: datetime) -> None:
    said = why.said if isinstance(why, TryLater) else quoted(str(why) or type(why).__name__)
    LOGGER.warning("mail %s (%s) is put off: %s", mail.id, mail.kind, said)
    with transaction() as session:
        outbox.put_off(session, mail, now, said, secrets.randbelow(1 << 20) / (1 << 20))
        if isinstance(why, TryLater) and why.ours:
            alerts.raise_alert(session, "mail-settings", Fact("mail_settings", {"said": said}), now)
        if now - mail.created_at > outbox.STUCK or not isinstance(why, TryLater):
            since = f"{mail.created_at:%Y-%m-%d %H:%M}"
            fact = Fact("mail_late", {"kind": mail.kind, "at": since, "said": said})
            alerts.raise_alert(session, _late_key(mail), fact, now, mail.game_id)


def _late_key(mail: Mail) -> str:
    return f"mail-late:{mail.id}"


def _give_up(mail: Mail, said: Fact, now: datetime) -> None:
    """Stop sending this mail, stop the clock of its turn, and tell those who can do something about it."""
    LOGGER.warning("mail %s (%s) is refused: %s", mail.id, mail.kind, said)
    with transaction() as session:
        games = deliverability.locked(session, mail)
        if not outbox.mark_failed(session, mail, now, said):
            return
        deliverability.lost(session, games, mail, said, now)
