"""Players' turn emails and their replies, delivered by LMTP like a mail server does."""

from __future__ import annotations

import hashlib
import re
import secrets
import smtplib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message

from tests.torture.journal import Journal
from tests.torture.processes import LOOPBACK
from tests.torture.tables import Table

LINK = re.compile(rb"/t/([a-z2-7]{26})")
PATIENCE = 20.0
"""Seconds that a mail server waits for the answer to an email."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn email: the seat it is about, and its reply address.

    Args:
        token: of its link; reply: its Reply-To; reader: its recipient.
    """

    game: str
    seat: int
    token: str
    reply: str
    reader: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A reply that is delivered until it is accepted; `digest` identifies it in the server's database."""

    asked: Asked
    digest: str
    raw: bytes


class Correspondence:
    """The emails of all players, handled in threads of the torture run.

    Args:
        journal: records each reply before it is sent, and every answer to it.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._places: dict[str, tuple[str, int]] = {}
        self._came: deque[Message] = deque(maxlen=200)
        self._port = 0

    def open(self, tables: Sequence[Table], port: int) -> None:
        """Start, once it is known which links open which seats.

        Args:
            port: where the server accepts email.
        """
        self._places = {token: (table.id, seat) for table in tables for seat, token in table.tokens.items()}
        self._port = port

    def heard(self, message: Message) -> None:
        """Handle an email from the server."""
        if message["Reply-To"]:
            self._came.append(message)

    def newest(self) -> Asked | None:
        """Return the newest turn email that nobody has read, or None."""
        try:
            message = self._came.pop()
        except IndexError:
            return None
        text = message.get_payload(0)
        body = text.get_payload(decode=True) if isinstance(text, Message) else b""
        found = LINK.search(body) if isinstance(body, bytes) else None
        place = self._places.get(found[1].decode()) if found else None
        if found is None or place is None:
            return None
        return Asked(
            *place, found[1].decode(), str(message["Reply-To"]), str(message["To"]).partition("<")[2][:-1]
        )

    def write(self, asked: Asked, move: str) -> Letter:
        """Reply with a move, and record it under the identifier that the server will use."""
        name = f"<{secrets.token_hex(12)}@torture.example>"
        head = f"From: {asked.reader}\nTo: {asked.reply}\nMessage-ID: {name}\nSubject: Re: Byzanz\n"
        digest = hashlib.sha256(f"{asked.reply.lower()}\n{name}".encode()).hexdigest()
        request = f"mail-{digest[:40]}-1"
        place = {"game": asked.game, "seat": asked.seat, "request": request, "move": move}
        self._journal.write("letter", digest=digest, **place)
        self._journal.write("ask", **place, seen=None)
        return Letter(asked, digest, f"{head}\n{move}\n\n> what is quoted\n".encode())

    def send(self, letter: Letter) -> bool:
        """Deliver a reply once and record the answer; return False if it must be delivered again."""
        try:
            with smtplib.LMTP(
                LOOPBACK, self._port, local_hostname="mail.torture.example", timeout=PATIENCE
            ) as door:
                door.ehlo_or_helo_if_needed()
                door.mail(letter.asked.reader)
                code, said = door.rcpt(letter.asked.reply)
                if code == 250:
                    code, said = door.data(letter.raw)
        except (OSError, smtplib.SMTPException):
            return False
        self._journal.write("taken", digest=letter.digest, status=code, text=said.decode(errors="replace"))
        return not 400 <= code < 500
