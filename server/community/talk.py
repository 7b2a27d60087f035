"""Table talk: what those seated say to each other, beside the log and never in it.

Everybody at the table reads everything, except the words of people whom they have muted or blocked themselves.
Nobody else reads any of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import play
from server.community import talk_mail
from server.community.plain_text import cleaned
from server.errors import BadRequest, Closed, InvalidInput, NoSuchLink, TooMany
from server.play import notes
from server.store import words as stored
from server.store.engine import transaction
from server.store.models import Link, Person, Seat, Word
from server.store.statements import AnyGame, AnyPerson, AnySeat

LONGEST = 500
"""Characters of what is said at once."""
MOST_LINES = 20
A_DAY = 20
"""How often a person may say something at one table within a day."""
OPEN_AFTER_END = timedelta(days=30)
FORMER = "Former player"
"""The name under which the words of somebody stand who no longer holds the seat."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something said at a table, for one reader.

    Args:
        id: the same for all readers; it does not tell how much else was said.
        seat: at which it was said, and the name of its player.
        text: plain text with newlines; empty if it is hidden.
        seq: the newest entry of the log when it was said.
        own: whether the reader said it.
        hidden: whether a moderator has hidden it, and why.
    """

    id: str
    seat: int
    name: str
    text: str
    at: datetime
    seq: int
    own: bool
    hidden: bool
    why: str = ""


def say(
    game_id: str, person_id: int, text: str, *, request_id: str, now: datetime, link_id: int | None = None
) -> Word:
    """Say something to the table; one transaction, which locks the game. Repeating a request says nothing twice.

    Args:
        text: as typed; it is cleaned, and shows no email address and no link with a token (`plain_text.masked`).
        request_id: the client's id of this request.
        link_id: the link with which the person came; it must still be theirs. None: no link is checked.

    Raises:
        InvalidInput: the text is empty or too long.
        Closed: nobody, or not this person, can talk at this table now.
        TooMany: they have said enough for today.
        NoSuchLink: the link was revoked, or they hold no seat.
        BadRequest: the request id is malformed, or was used for other words.
    """
    if not play.REQUEST_ID.fullmatch(request_id):
        raise BadRequest("request_id must be 1 to 64 visible ASCII characters.")
    text = cleaned(text, longest=LONGEST, most_lines=MOST_LINES, for_others=True)
    if not text:
        raise InvalidInput("Write something first.", field="text")
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        seat = _seat(session, game_id, person_id, link_id)
        earlier = _earlier(session, game_id, person_id, request_id)
        if earlier is not None:
            return _same(earlier, text)
        check_open(game, now)
        _check_speaker(session, seat, now)
        game.said += 1
        word = Word(
            game_id=game_id,
            number=game.said,
            person_id=person_id,
            seat=seat.seat,
            text=text,
            at=now,
            seq=game.head,
            request_id=request_id,
        )
        session.add(word)
        session.flush()
        talk_mail.announce(session, game, word, now)
        return word


def _seat(session: Session, game_id: str, person_id: int, link_id: int | None) -> Seat:
    """Return the seat that a person holds now."""
    query = select(Seat).where(Seat.game_id == game_id, Seat.person_id == person_id, Seat.status == "seated")
    seat = session.scalar(query)
    link = session.get(Link, link_id) if link_id is not None else None
    if seat is None or (link_id is not None and not _is_theirs(link, game_id, person_id)):
        raise NoSuchLink("This link no longer opens a seat.")
    return seat


def _is_theirs(link: Link | None, game_id: str, person_id: int) -> bool:
    theirs = link is not None and (link.game_id, link.person_id) == (game_id, person_id)
    return (
        theirs and link is not None and link.purpose in ("seat", "reply", "talk") and link.revoked_at is None
    )


def _earlier(session: Session, game_id: str, person_id: int, request_id: str) -> Word | None:
    of_request = (Word.game_id == game_id, Word.person_id == person_id, Word.request_id == request_id)
    return session.scalar(select(Word).where(*of_request))


def _same(word: Word, text: str) -> Word:
    if word.text != text and word.hidden_at is None:
        raise BadRequest("This request_id was used for other words.")
    return word


def check_open(game: AnyGame, now: datetime) -> None:
    """Refuse a table at which nobody can talk now.

    Raises:
        Closed: the game has not begun or ended long ago, or its talk is closed.
    """
    if game.status not in ("running", "over"):
        raise Closed("You can talk at this table once the game has begun.")
    if game.ended_at is not None and now >= game.ended_at + OPEN_AFTER_END:
        raise Closed("This game ended more than 30 days ago; its table talk is closed.")
    if game.trial:
        raise Closed("Only bots play here, and they do not talk.")
    if not game.talk:
        raise Closed("Table talk is closed in this game.")


def _check_speaker(session: Session, seat: Seat, now: datetime) -> None:
    """Refuse a person who has left, from whom talk was taken, or who has said enough for a day."""
    check_present(seat)
    person = session.get_one(Person, seat.person_id)
    check_silenced(person, now)
    recent = (Word.person_id == person.id, Word.game_id == seat.game_id, Word.at > now - timedelta(days=1))
    if (session.scalar(select(func.count()).select_from(Word).where(*recent)) or 0) >= A_DAY:
        raise TooMany(
            "You can say something %(most)s times a day at one table. Continue tomorrow.", most=A_DAY
        )


def check_present(seat: AnySeat) -> None:
    """Refuse a player who has left.

    Raises:
        Closed: they have.
    """
    if seat.left:
        raise Closed("You have left this game. Come back to talk at its table.")


def check_silenced(person: AnyPerson, now: datetime) -> None:
    """Refuse a person from whom a moderator has taken table talk.

    Raises:
        Closed: until when, and why.
    """
    if person.silenced_until is not None and now < person.silenced_until:
        raise Closed(
            "A moderator has taken table talk from you until %(until)s: %(why)s",
            until=f"{person.silenced_until:%Y-%m-%d %H:%M} UTC",
            why=notes.translated(person.silenced_why or "–"),
        )


def take_back(game_id: str, person_id: int, word_id: str) -> bool:
    """Delete what a person said, by that person; nothing of it stays.

    Returns:
        False if they have said no such word.
    """
    with transaction(game_id) as session:
        play.lock_game(session, game_id)
        own = session.scalars(select(Word).where(Word.game_id == game_id, Word.person_id == person_id))
        found = next(
            (word for word in own if stored.public_id(game_id, person_id, word.request_id) == word_id), None
        )
        if found is not None:
            session.delete(found)
        return found is not None


def words(session: Session, game_id: str, reader_id: int) -> list[Said]:
    """Return what a reader may read, oldest first; nothing unless they hold a seat now."""
    rows, _notes = stored.read(session, game_id, reader_id)
    return _for(reader_id, rows)


def said_since(session: Session, game_id: str, reader_id: int, seq: int) -> list[Said]:
    """Return what others have said after an entry, oldest first, without what is hidden."""
    rows, _notes = stored.read(session, game_id, reader_id, seq=seq)
    return [said for said in _for(reader_id, rows) if not said.own and not said.hidden]


def at_table(session: Session, game_id: str, reader_id: int, seq: int, most: int) -> tuple[list[Said], str]:
    """Return what was said after an entry, the newest `most` at most, and the reader's notes: one statement."""
    rows, notes = stored.read(session, game_id, reader_id, seq=seq, most=most)
    return _for(reader_id, rows), notes


def _for(reader_id: int, rows: Iterable[stored.WordRow]) -> list[Said]:
    return [
        Said(
            id=row.id,
            seat=row.seat,
            name=row.name if row.person_id == row.holder_id else FORMER,
            text="" if row.hidden_at else row.text,
            at=row.at,
            seq=row.seq,
            own=row.person_id == reader_id,
            hidden=row.hidden_at is not None,
            why=row.hidden_why or "",
        )
        for row in rows
    ]
