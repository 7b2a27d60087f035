"""Emails of a game: sent without a mail server, and read as text or as HTML."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from email.message import EmailMessage
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import html5lib
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from server import play
from server.mail.outgoing import compose, deliver, relevance, view
from server.mail.outgoing.compose import ComposedMail
from server.mail.text import wrapped
from server.play import positions, turns
from server.store import engine, log, outbox
from server.store.models import Game, Mail
from tests.conftest import NOW, Table
from tests.support.busy_table import elsewhere
from tests.support.mail_servers import Pigeons

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
    body = html5lib.parse(html, namespaceHTMLElements=False).find("body")
    assert body is not None
    return body


def post(now: datetime = NOW) -> list[EmailMessage]:
    pigeons = Pigeons()
    while deliver.deliver(now, pigeons, steady=lambda: 0.0):
        pass
    return pigeons.sent


def submit(game_id: str, seat: int, text: str, now: datetime = NOW) -> None:
    with engine.reading() as session:
        head = session.get_one(Game, game_id).head
    play.submit(game_id, seat, text, seen=head, request_id=f"{seat}-{head}", now=now)


def bold_move(game_id: str, seat: int) -> str:
    """Return the lowest bid, or else the default move."""
    with engine.reading() as session:
        position = positions.load(session, session.get_one(Game, game_id))
    moves = position.rules.moves(position.state, seat)
    bids = [move for move in moves if move.verb == "bid"]
    return str(bids[0] if bids else position.rules.fallback(position.rules.view(position.state, seat), moves))


def awaited(game_id: str) -> int:
    with engine.reading() as session:
        return min(turn.seat for turn in turns.open_turns(session, game_id))


def change(kind: type[Any], key: Any, **values: object) -> None:
    with engine.transaction() as session:
        row = session.get_one(kind, key)
        for name, value in values.items():
            setattr(row, name, value)


def row(kind: type[Any], key: Any) -> Any:
    with engine.reading() as session:
        return session.get(kind, key)


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
        game = session.get_one(Game, mail.game_id)
        return compose.message_id(mail.key, log.mark_at(session, game, mail.seq or 0))


def statuses() -> dict[str, str]:
    with engine.reading() as session:
        return {mail.key: mail.status for mail in session.scalars(select(Mail).where(elsewhere(Mail)))}


def compose_again(session: Session, mail: Mail, now: datetime) -> ComposedMail:
    """Compose an email as it would be sent now, whether it was sent before or not."""
    rows = relevance.load_rows(session, mail, now)
    view.issue_links(session, rows, now)
    found = view.existing_links(session, rows)
    assert found is not None
    return compose.compose(session, rows, found, now)
