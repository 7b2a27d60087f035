"""The emails of the corpus, each with its expected outcome, and a first player to send them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import Flask
from sqlalchemy import select

from server.mail.incoming import receive
from server.mail.outgoing import deliver
from server.store import engine, links
from server.store.models import Entry, IncomingMail, LinkPurpose, Mail
from tests.conftest import NOW
from tests.support.folders import CORPUS
from tests.support.mail_servers import FakeMailer

ALICE = "alice@example.org"
DOMAIN = "byzanz.test"


@dataclass(frozen=True)
class SampleMail:
    """An email of the corpus; manifest.toml describes the fields."""

    name: str
    kind: str
    moves: list[str]
    to: str = "reply"
    sender: str = ALICE
    lines: list[str] | None = None
    count: int | None = None
    report: str | None = None
    quiet: bool = False
    nobody: bool = False
    words: str = ""
    answered: bool = True

    def raw(self, reply: str, bounce: str) -> bytes:
        """Return the email, addressed to the reply and bounce addresses of a turn email."""
        raw = (CORPUS / f"{self.name}.eml").read_bytes()
        return raw.replace(b"@@REPLY@@", reply.encode()).replace(b"@@BOUNCE@@", bounce.encode())


def sample_mails() -> list[SampleMail]:
    """Return all of them."""
    found = tomllib.loads((CORPUS / "manifest.toml").read_text())
    return [SampleMail(name, **fields) for name, fields in found.items()]


@dataclass
class Mailbox:
    """A game whose first player has been emailed.

    Args:
        reply: the reply address.
        bounce: the envelope sender of that email.
        talk: the address of table talk.
    """

    reply: str
    bounce: str
    talk: str = ""

    def address(self, to: str) -> str:
        """Return a recipient as the manifest names it."""
        own = {"reply": self.reply, "talk": self.talk, "bounce": self.bounce}
        return (own | {"complaints": f"complaints@{DOMAIN}"})[to]

    def send(self, letter: SampleMail, now: datetime = NOW) -> str:
        """Receive an email of the corpus."""
        raw = letter.raw(self.reply, self.bounce)
        return receive.receive(raw, letter.sender, self.address(letter.to), now)

    def write(self, *lines: str, number: int = 1, sender: str = ALICE, now: datetime = NOW) -> str:
        """Receive a plain reply."""
        return receive.receive(written(*lines, number=number, sender=sender), sender, self.reply, now)


def written(*lines: str, number: int = 1, sender: str = ALICE) -> bytes:
    """Return a plain reply."""
    head = f"From: {sender}\nMessage-ID: <r{number}@example.org>\nSubject: Re: Byzanz\n\n"
    return (head + "\n".join(lines) + "\n\n> a quote\n").encode()


def with_replies(app: Flask) -> None:
    """Set the domain of the reply addresses."""
    app.config["BYZANZ"] = app.config["BYZANZ"].model_copy(update={"mail_domain": DOMAIN})


def mailbox(now: datetime = NOW) -> Mailbox:
    """Send the emails of open turns; return the addresses of the first one."""
    (message, *_others) = send_and_return(now)
    reply = message["Reply-To"]
    return Mailbox(reply, message["Return-Path"].strip("<>"), talk_address(reply, now))


def talk_address(reply: str, now: datetime = NOW) -> str:
    """Return the address of table talk of the seat that a reply address opens."""
    with engine.transaction() as session:
        link = links.find_any(session, LinkPurpose.REPLY, reply.partition("+")[2].partition("@")[0])
        assert link is not None
        address = links.reply_address(
            links.link_for(session, LinkPurpose.TALK, link.person_id, link.game_id, now)
        )
    assert address is not None
    return address


def send_and_return(now: datetime = NOW) -> list[Any]:
    """Send and return all waiting emails."""
    fake_mailer = FakeMailer()
    while deliver.deliver(now, fake_mailer, steady=lambda: 0.0):
        pass
    return fake_mailer.sent


def moves_of(game_id: str, seat: int) -> list[str]:
    """Return the moves of a seat's player."""
    with engine.reading() as session:
        own = (Entry.game_id == game_id, Entry.seat == seat, Entry.by == "player")
        return list(session.scalars(select(Entry.move).where(*own).order_by(Entry.seq)))


def remembered() -> list[IncomingMail]:
    """Return the incoming emails."""
    with engine.reading() as session:
        return list(session.scalars(select(IncomingMail).order_by(IncomingMail.id)))


def count_answers(game_id: str) -> int:
    """Return how many answers were queued."""
    with engine.reading() as session:
        return len(session.scalars(select(Mail).where(Mail.kind == "answer", Mail.game_id == game_id)).all())
