"""Every kind of email that the server sends, in one game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import delete

from server.mail.outgoing import relevance
from server.mail.outgoing.deliver import deliver
from server.store import engine, links, outbox
from server.store.models import Game, LinkPurpose, Mail, Person, Presence, Word
from tests.support.mail_servers import Pigeons
from tests.support.scene import Scene

KINDS = (
    "turn",
    "remind",
    "timeout",
    "autopilot",
    "left",
    "vacant",
    "act",
    "fresh",
    "replaced",
    "answered",
    "cancelled",
    "invite",
    "nudge",
    "held",
    "refused",
    "seated",
    "open_table",
    "wish",
    "talk",
    "move",
    "moving",
    "moved",
)
ABOUT_NO_GAME = ("wish", "move", "moving", "moved")

SAID = "<b>2 > 1</b> & 😀 https://evil.example/"
"""What is said at the table, so that each email has to escape it."""


@dataclass(frozen=True)
class Shown:
    """A page or an email as a browser would get it."""

    what: str
    status: int
    headers: dict[str, str]
    html: str

    @property
    def is_mail(self) -> bool:
        """An email has no HTTP headers to protect it."""
        return not self.headers


def queue(session: Any, made: Scene) -> None:
    """Queue an email of each kind to a suitable recipient; something was said at the table that most are about."""
    speak(session, made)
    for kind in KINDS:
        game_id, name, seat = (
            ("open", "Ida", 1) if kind in ("invite", "nudge", "held") else ("here", "Daphne", 3)
        )
        if kind == "open_table":
            game_id, name, seat = "open", "Hugo", 0
        if kind in ("answered", "refused"):
            name, seat = "Alice", 0
        outbox.enqueue(
            session,
            key=f"every:{kind}",
            kind=kind,
            person_id=made.person(name),
            now=made.now,
            game_id=None if kind in ABOUT_NO_GAME else game_id,
            seat=seat,
            seq=4 if kind in ("turn", "remind") else 1,
            details={
                "last": 9,
                "until": made.until,
                "games": ["open"],
                "answer": "accepted",
                "why": "withdrawn",
                "commitment": "0" * 64,
                "cut": "1" * 64,
                "before": ["2" * 64, "3" * 64],
            }
            | _link_of_a_change(session, made, kind),
        )


def _link_of_a_change(session: Any, made: Scene, kind: str) -> dict[str, Any]:
    """Return what an email about a change of address has besides: its link, or that the change is done."""
    purposes: dict[str, LinkPurpose] = {"move": LinkPurpose.MOVE, "moving": LinkPurpose.OBJECT}
    if kind not in purposes:
        return {"done": True}
    return {"link": links.issue(session, purposes[kind], made.person("Daphne"), made.now).id}


def speak(session: Any, made: Scene) -> None:
    """Let players say something at the table, as nobody would; one of them wants to hear of it at once."""
    game = session.get_one(Game, "here")
    for number, name in enumerate(("Alice", "Daphne", "Alice"), game.said + 1):
        session.add(
            Word(
                game_id=game.id,
                number=number,
                person_id=made.person(name),
                seat=0 if name == "Alice" else 3,
                text=f"{SAID}\n{'w' * 480 if number == 1 else 'two'}\nthree\nfour",
                at=made.now,
                seq=game.head,
                request_id=f"every-{number}",
            )
        )
        game.said = number
    session.get_one(Person, made.person("Daphne")).talk = "once"
    session.execute(delete(Presence).where(Presence.person_id == made.person("Daphne")))


def mails() -> Iterator[Shown]:
    """Return the HTML of every email that is sent."""
    birds = Pigeons()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relevance, "MERGED_INTO", {})  # each by itself, told along with no other
        while deliver(engine.utc_now(), birds):
            pass
    with engine.reading() as session:
        sent = {mail.kind for mail in session.query(Mail).where(Mail.status == "sent")}
    assert sent >= set(KINDS), set(KINDS) - sent
    for number, message in enumerate(birds.sent):
        body = message.get_body(("html",))
        assert body is not None
        yield Shown(f"mail {number}", 200, {}, body.get_content())
