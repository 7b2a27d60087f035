"""Table talk in tests: words, and emails about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.message import EmailMessage
from itertools import count

from sqlalchemy import select

from server.community import talk
from server.community.talk import public_id
from server.mail.incoming import receive
from server.store import engine
from server.store.models import Mail, Word
from tests.conftest import NOW, Table

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
_numbers = count()


def say(game: Table, seat: int, text: str, now: datetime = NOW) -> Word:
    """Say something to the table."""
    return talk.say(game.id, game.people[seat], text, request_id=f"w{next(_numbers)}", now=now)


def said(game: Table) -> list[tuple[int, str]]:
    """Return what was said at a table: seats and texts, in order."""
    with engine.reading() as session:
        found = session.scalars(select(Word).where(Word.game_id == game.id).order_by(Word.number))
        return [(word.seat, word.text) for word in found]


def word_id(game_id: str, number: int) -> str:
    """Return the id by which readers know a word, from its number at its table; one of no word if there is none."""
    with engine.reading() as session:
        word = session.scalar(select(Word).where(Word.game_id == game_id, Word.number == number))
    return public_id(game_id, word.person_id, word.request_id) if word is not None else f"{number:016}"


def talk_mails(game: Table) -> list[Mail]:
    """Return the emails about nothing but talk at a table."""
    with engine.reading() as session:
        of_talk = (Mail.game_id == game.id, Mail.kind == "talk")
        return list(session.scalars(select(Mail).where(*of_talk).order_by(Mail.id)))


def letter(text: str, *, sender: str, head: str = "") -> bytes:
    """Return an email with this text above a quote."""
    number = next(_numbers)
    return (
        f"From: {sender}\nMessage-ID: <w{number}@example.org>\nSubject: Re: Byzanz\n{head}"
        f"Content-Type: text/plain; charset=utf-8\n\n{text}\n\n"
        "On Mon, 2 Mar 2026 at 11:00, Byzanz wrote:\n\n> a quote\n"
    ).encode()


def answer(message: EmailMessage, text: str, *, sender: str, now: datetime = NOW) -> str:
    """Reply to an email, and return what was done."""
    return receive.receive(letter(text, sender=sender), sender, str(message["Reply-To"]), now)
