"""What Ann and Bob do in their email programs and browsers."""

from __future__ import annotations

import json
import random
import re
import smtplib
import ssl
import time
from collections.abc import Mapping
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPSHandler, OpenerDirector, Request, build_opener

from tests.deploy.programs import PATIENCE, Failed, wait

LONGEST_GAME = 900.0
"""Seconds in which a game must be over."""
SILENCE = 5.0
"""Seconds without an email after which people reply again."""


class Mailbox:
    """A Maildir, and its owner's email program."""

    def __init__(self, folder: Path, name: str, port: int) -> None:
        self.address = f"{name}@example.org"
        self._new = folder / "mailboxes" / name / "new"
        self._port = port
        self._read: set[str] = set()

    def unread(self) -> list[EmailMessage]:
        """Return the emails that have come since the last call, oldest first."""
        paths = sorted(self._new.glob("*"), key=lambda path: path.stat().st_mtime_ns)
        fresh = [path for path in paths if path.name not in self._read]
        self._read |= {path.name for path in fresh}
        return [message_from_bytes(path.read_bytes(), _class=EmailMessage, policy=default) for path in fresh]

    def reply(self, to: EmailMessage, line: str) -> None:
        """Send a reply above the quoted email, as people do."""
        answer = EmailMessage()
        answer["From"], answer["To"], answer["Subject"] = self.address, to["Reply-To"], f"Re: {to['Subject']}"
        answer["Message-ID"] = f"<{random.getrandbits(64):x}@example.org>"
        answer["In-Reply-To"] = to["Message-ID"]
        quote = "\n".join(f"> {each}" for each in text_of(to).splitlines())
        answer.set_content(f"{line}\n\nOn Monday, Byzanz wrote:\n{quote}\n")
        with smtplib.SMTP("127.0.0.1", self._port) as client:
            client.send_message(answer)


def text_of(message: EmailMessage) -> str:
    """Return the text part of an email."""
    part = message.get_body(("plain",))
    return part.get_content() if part is not None else ""


class Web:
    """A browser that trusts the certificate."""

    def __init__(self, folder: Path, port: int) -> None:
        self._base = f"https://localhost:{port}"
        trusting = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        self._opener: OpenerDirector = build_opener(
            HTTPSHandler(context=trusting), HTTPCookieProcessor(CookieJar())
        )

    def ask(self, path: str, fields: Mapping[str, str] | None = None) -> str:
        """Return a page, after redirections; `fields` are sent as its form."""
        body = urlencode(fields).encode() if fields is not None else None
        call = Request(self._base + path, data=body, headers={"Referer": self._base + path})
        with self._opener.open(call, timeout=PATIENCE) as answer:
            text: str = answer.read().decode()
        return text

    def submit(self, path: str, **fields: str) -> str:
        """Fill in the form of a page and send it, with its token if it has one."""
        tokens = re.findall(r'name="(csrf_token)" value="([^"]+)"', self.ask(path))
        return self.ask(path, dict(tokens[:1]) | fields)


def sign_in(web: Web, box: Mailbox) -> None:
    """Request a link on the sign-in page, wait for it, and open the account with it."""
    web.submit("/sign-in", address=box.address)
    (mail, *_) = wait(box.unread, "the sign-in link")
    link = re.search(r"https://localhost:\d+(/s/\S+)", text_of(mail))
    if link is None:
        raise Failed(f"no link in the email {mail['Subject']!r}")
    web.submit(link[1])
    if box.address not in web.ask("/account"):
        raise Failed("the account page does not know who has signed in")
    try:
        web.ask("/metrics")
    except OSError:
        return
    raise Failed("everybody can read /metrics")


def whole_game(web: Web, boxes: Mapping[str, Mailbox]) -> int:
    """Reply to emails until the game is over; return the number of replies.

    A turn may go on after a reply to which no answer comes, because a person gets 40 answers a day. After a silence,
    people therefore reply once more to the same email.
    """
    last, replies, answered = time.monotonic() + LONGEST_GAME, 0, set()
    choose = random.Random(1)
    replied: dict[str, tuple[EmailMessage, float]] = {}
    while time.monotonic() < last:
        for name, box in boxes.items():
            latest, at = replied.get(name, (None, 0.0))
            waited = [latest] if latest is not None and time.monotonic() > at + SILENCE else []
            for mail in box.unread() or waited:  # an answer may name a turn that is over by now
                link = re.search(r"https://localhost:\d+/t/([a-z2-7]{26})", text_of(mail))
                if link is None:
                    continue
                seat = json.loads(web.ask(f"/api/v1/seats/{link[1]}"))
                if seat["result"] is not None:
                    return replies
                question = (mail["Reply-To"], seat["seq"])
                if mail["Reply-To"] is None or seat["seat"] not in seat["awaited"] or question in answered:
                    continue
                answered.add(question)
                verb = seat["moves"][0].split()[0]
                same = [move for move in seat["moves"] if move.split()[0] in (verb, "pass")]
                box.reply(mail, choose.choice(same))
                replied[name] = (mail, time.monotonic())
                replies += 1
        time.sleep(0.5)
    raise Failed(f"the game is not over after {replies} replies")
