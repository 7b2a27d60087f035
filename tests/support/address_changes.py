"""Changes of an address: asking, the links in both mailboxes, and a scheduler that trusts the clock."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from server.accounts import addresses
from server.mail.outgoing.deliver import deliver
from server.scheduler import jobs
from server.store import engine, links, operations
from server.store.models import AddressChange, Link, Mail, Person
from server.validation import Guest
from tests.support.mail_servers import FakeMailer

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
TICK = 5.0
ANN = Guest("Ann", "ann.old@athens.example")
NEW = "ann.new@smyrna.example"


def trust_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs trust the clock although no heartbeats are written."""
    monkeypatch.setattr(operations, "enforced_until", lambda _session, now, _tick: now)


def mailed(kind: str) -> list[Mail]:
    """Return the queued emails of a kind, the oldest first."""
    with engine.reading() as session:
        return list(session.scalars(select(Mail).where(Mail.kind == kind).order_by(Mail.id)))


def token(kind: str) -> str:
    """Return the token of the link in the newest email of a kind: `move` or `moving`, sent or not."""
    with engine.reading() as session:
        return links.token(
            links.select_rows(session, Link.id == int(mailed(kind)[-1].key.partition(":")[2]))[0]
        )


def send_waiting(now: datetime) -> FakeMailer:
    """Send all emails that are due, and return them."""
    fake_mailer = FakeMailer()
    while deliver(now, fake_mailer):
        pass
    return fake_mailer


def row(person_id: int) -> Person:
    """Return a person as they are now."""
    with engine.reading() as session:
        return session.get_one(Person, person_id)


def id_at(address: str) -> int | None:
    """Return the id of the person with an address, or None."""
    with engine.reading() as session:
        return session.scalar(select(Person.id).where(Person.email == address))


def change_of(person_id: int) -> AddressChange | None:
    """Return the change of a person's address that waits, or None."""
    with engine.reading() as session:
        return session.get(AddressChange, person_id)


def ask_and_confirm(person_id: int, address: str, now: datetime) -> None:
    """Ask for another address, and confirm it with the link in the email; all emails are sent."""
    addresses.ask(person_id, address, now)
    send_waiting(now)
    addresses.confirm(token("move"), now, signed_in=person_id, join=True)
    send_waiting(now)


def tick(now: datetime) -> int:
    """Let the scheduler look at the changes."""
    return jobs.tick_addresses(now, TICK)
