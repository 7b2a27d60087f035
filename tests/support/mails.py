"""Emails of a game: sent without a mail server, and read as text or as HTML; and every kind of email there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from server.mail.outgoing import compose, deliver, relevance, view
from server.mail.outgoing.compose import ComposedMail
from server.mail.text import wrapped
from server.play import positions
from server.store import engine, links, log, outbox
from server.store.models import Game, LinkPurpose, Mail, Person, Presence, Word
from tests.conftest import NOW, Table
from tests.support.games import loaded
from tests.support.mail_servers import FakeMailer
from tests.support.neighbour_game import elsewhere
from tests.support.pages import parsed
from tests.support.visitors import Visitors

Begin = Callable[..., Table]
MINUTE = timedelta(minutes=1)
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""Marks tests of texts, which do not depend on the database."""


def text_of(message: EmailMessage) -> str:
    """Return the text of an email, its sentences on one line each."""
    part = message.get_body(("plain",))
    assert part is not None
    return unwrapped(part.get_content())


def unwrapped(text: str) -> str:
    """Undo what `server.mail.text.wrapped` did: a line goes on in the next one if its first word had no room."""
    lines = text.replace("\r", "").split("\n")
    whole = lines[:1]
    for before, line in pairwise(lines):
        longer = " ".join([before, *line.split()[:1]])
        if before and line.strip() and not line.startswith("- ") and wrapped(longer) != longer:
            whole[-1] += f" {line.lstrip()}"
        else:
            whole.append(line)
    return "\n".join(whole)


def html_of(message: EmailMessage) -> str:
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def words_of(html: str) -> str:
    """Return what a reader of the HTML sees, with whitespace collapsed."""
    return " ".join("".join(body_of(html).itertext()).split())


def body_of(html: str) -> ElementTree.Element:
    body = parsed(html).root.find("body")
    assert body is not None
    return body


def send_waiting(now: datetime = NOW) -> list[EmailMessage]:
    fake_mailer = FakeMailer()
    while deliver.deliver(now, fake_mailer, steady=lambda: 0.0):
        pass
    return fake_mailer.sent


def bold_move(game_id: str, seat: int) -> str:
    """Return the lowest bid, or else the default move."""
    with engine.reading() as session:
        position = positions.current(loaded(session, game_id))
    moves = position.rules.moves(position.state, seat)
    bids = [move for move in moves if move.verb == "bid"]
    return str(bids[0] if bids else position.rules.fallback(position.rules.view(position.state, seat), moves))


def awaited(game_id: str) -> int:
    with engine.reading() as session:
        return min(turn.seat for turn in list(loaded(session, game_id).turns.values()))


def queue(kind: str, person: int, key: str = "", **more: Any) -> None:
    with engine.transaction() as session:
        outbox.enqueue(session, key=key or f"{kind}:test", kind=kind, person_id=person, now=NOW, **more)


def the_mail(game: Table) -> Mail:
    """Return the only email about a game."""
    with engine.reading() as session:
        return session.scalars(select(Mail).where(Mail.game_id == game.id)).one()


def message_id(mail: Mail) -> str:
    """Return the Message-ID of an email about an entry of a game."""
    with engine.reading() as session:
        game = loaded(session, mail.game_id or "").game
        return compose.message_id(mail.key, log.mark_at(session, game, mail.seq or 0))


def statuses() -> dict[str, str]:
    with engine.reading() as session:
        return {mail.key: mail.status for mail in session.scalars(select(Mail).where(elsewhere(Mail)))}


def compose_again(session: Session, mail: Mail, now: datetime) -> ComposedMail:
    """Compose an email as it would be sent now, whether it was sent before or not."""
    (row,) = outbox.find(session, Mail.id == mail.id)
    rows = relevance.load_rows(session, row, now)
    found, made = view.links_of(session, rows, now)
    if made:
        links.add_all(session, made)
    return compose.compose(session, rows, found, now)


# ---- text and HTML say the same ----


def assert_same(text: str, shown: str) -> None:
    """Check that each sentence of the text is in the HTML; the text counts cards, the HTML shows each."""
    lines = [line.removeprefix("- ") for line in text.splitlines() if line and "https://" not in line]
    for line in lines:
        if line.endswith(":"):  # before a link; the label of its button
            assert line[:-1] in shown
        elif re.search(r"(Olives|Cloth|Grain|Spice|Wine|Wood|erchant)", line):
            for word in re.sub(r"[,:.;]| and |\d+ ?×", " ", line).split():
                assert word.lower().rstrip("s") in shown.lower(), (word, line)
        else:
            assert " ".join(line.split()) in shown


# ---- every kind of email, in one game ----

BY_THEMSELVES = ("confirm", "signin", "keep", "over", "answer", "games", "digest", "former")
"""Kinds of which an email comes by itself in a test that sends all, or is queued there."""
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


def queue_every_mail(session: Any, made: Visitors) -> None:
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


def _link_of_a_change(session: Any, made: Visitors, kind: str) -> dict[str, Any]:
    """Return what an email about a change of address has besides: its link, or that the change is done."""
    purposes: dict[str, LinkPurpose] = {"move": LinkPurpose.MOVE, "moving": LinkPurpose.OBJECT}
    if kind not in purposes:
        return {"done": True}
    return {"link": links.issue(session, purposes[kind], made.person("Daphne"), made.now).id}


def speak(session: Any, made: Visitors) -> None:
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


def every_mail() -> Iterator[Shown]:
    """Return the HTML of every email that is sent."""
    fake_mailer = FakeMailer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relevance, "MERGED_INTO", {})  # each by itself, told along with no other
        while deliver.deliver(engine.utc_now(), fake_mailer):
            pass
    with engine.reading() as session:
        sent = {mail.kind for mail in session.query(Mail).where(Mail.status == "sent")}
    assert sent >= set(KINDS), set(KINDS) - sent
    for number, message in enumerate(fake_mailer.sent):
        body = message.get_body(("html",))
        assert body is not None
        yield Shown(f"mail {number}", 200, {}, body.get_content())
