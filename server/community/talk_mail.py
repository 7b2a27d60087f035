"""Emails about nothing but table talk, to readers who want to hear of it at once: queued with the word.

Nothing of a word is stored in them. What they tell is read when they are sent, as their reader may read it then.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Select, exists, func, or_, select
from sqlalchemy.orm import Session

from server.store import outbox
from server.store.models import WAITING, Block, Game, Mail, Mute, Person, Seat, Word

PATIENCE = timedelta(minutes=2)
"""How long an email waits: people often say several things in a row, and their readers may be here."""
APART = timedelta(hours=1)
"""The least time between two of these emails about one game to one reader."""


def announce(session: Session, game: Game, word: Word, now: datetime) -> None:
    """Queue an email about a word to each reader who wants one, unless one waits already, which will tell it.

    Args:
        game: locked.
        word: just said.
    """
    for person_id, seat in session.execute(_readers(game.id, word.person_id)).all():
        at = _next_at(session, game.id, person_id, now)
        if at is not None:
            outbox.enqueue(
                session,
                # A restored server gives a word's number to another one, and mail programs drop ids that they know.
                key=f"talk:{game.id}:{person_id}:{int(now.timestamp() * 1e6)}",
                kind="talk",
                person_id=person_id,
                now=now,
                game_id=game.id,
                seat=seat,
                delay=(at - now).total_seconds(),
            )


def _readers(game_id: str, speaker_id: int) -> Select[int, int]:
    """Return the query for those at a table who want to hear at once what a person says there."""
    deaf = or_(
        exists().where(Mute.person_id == Person.id, Mute.other_id == speaker_id),
        exists().where(Block.person_id == Person.id, Block.other_id == speaker_id),
    )
    wants = (Person.talk == "once", ~Person.silent, Person.email.is_not(None), Person.id != speaker_id, ~deaf)
    here = (Seat.game_id == game_id, Seat.status == "seated", ~Seat.silent, ~Seat.left)
    query = select(Person.id, Seat.seat).join(Seat, Seat.person_id == Person.id)
    return query.where(*here, *wants).order_by(Seat.seat)


def _next_at(session: Session, game_id: str, person_id: int, now: datetime) -> datetime | None:
    """Return when the next email to a reader may go out; None if one waits that will tell what is said now.

    One that a mailer holds may be written already.
    """
    theirs = (Mail.game_id == game_id, Mail.person_id == person_id, Mail.kind == "talk")
    held = Mail.leased_until > now
    waiting = session.scalars(select(held).where(*theirs, WAITING)).all()
    if any(not each for each in waiting):
        return None
    sent = session.scalar(select(func.max(Mail.finished_at)).where(*theirs, Mail.status == "sent"))
    last = now if waiting else sent
    return max(now + PATIENCE, last + APART) if last is not None else now + PATIENCE
