"""Reports of what was said, and what moderators do about table talk: hide it, close it, take it from a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import play
from server.community import talk
from server.errors import BadRequest, Closed, InvalidInput, TooMany
from server.play import names, powers
from server.play.powers import Asker
from server.store import operations
from server.store.engine import transaction
from server.store.facts import Fact
from server.store.models import Alert, Game, Person, Seat, Word
from server.store.statements import GameRow
from server.validation import whole_number

A_DAY = 10
"""How often a person may report something within a day."""
LONGEST_REASON = 200
LONGEST_SILENCE = 365
"""Days for which talk can be taken from a person."""
KEPT_HIDDEN = timedelta(days=30)
"""How long moderators can still read what they have hidden."""


def report(game_id: str, person_id: int, word_id: str, now: datetime) -> None:
    """Raise an alert about something that was said; once for each reporter, whatever moderators do about it.

    Raises:
        BadRequest: the reporter cannot read it, or said it themselves.
        TooMany: they have reported much today.
    """
    with transaction() as session:
        reporter = session.get_one(Person, person_id, with_for_update=True)  # or two requests count as one
        rows, _notes = talk.read_words(session, game_id, reporter.id)
        said = next((row for row in rows if row.id == word_id and row.hidden_at is None), None)
        if said is None or said.person_id == reporter.id:
            raise BadRequest("Nobody else has said this here. Reload the page.")
        key = f"{alert_prefix(person_id)}{game_id}:{said.number}"
        if session.scalar(select(Alert.id).where(Alert.key == key)) is not None:
            return
        recent = (Alert.key.startswith(alert_prefix(person_id)), Alert.at > now - timedelta(days=1))
        if (session.scalar(select(func.count()).select_from(Alert).where(*recent)) or 0) >= A_DAY:
            raise TooMany("You can report %(most)s messages a day. Continue tomorrow.", most=A_DAY)
        operations.raise_alert(session, key, Fact("word_reported", {"number": said.number}), now, game_id)


def alert_prefix(person_id: int) -> str:
    """Return how the keys of all alerts begin that a person has raised."""
    return f"word:{person_id}:"


@dataclass(frozen=True, slots=True)
class Heard:
    """Something said at a table, for a moderator.

    Args:
        name: of the person, or of the seat if they hold it.
        text: empty if it was hidden long ago.
    """

    number: int
    name: str
    text: str
    at: datetime
    hidden_why: str | None


def heard(session: Session, game_id: str, upto: datetime, most: int) -> list[Heard]:
    """Return the newest words up to a moderator's look, oldest first, hidden ones included.

    Args:
        upto: the time of the look.
    """
    game = session.get_one(Game, game_id)
    query = select(Word, Seat, Person.name).join(Person, Person.id == Word.person_id)
    query = query.join(Seat, (Seat.game_id == Word.game_id) & (Seat.seat == Word.seat))
    query = query.where(Word.game_id == game_id, Word.at <= upto).order_by(Word.number.desc()).limit(most)
    return [
        Heard(
            number=word.number,
            name=names.of(GameRow.of(game), seat, names.MODERATOR)
            if seat.person_id == word.person_id
            else person_name,
            text=word.text,
            at=word.at,
            hidden_why=word.hidden_why if word.hidden_at else None,
        )
        for word, seat, person_name in reversed(session.execute(query).unique().all())
    ]


def hide(
    game_id: str, number: int, reason: str, moderator_id: int, now: datetime, *, warned: bool = False
) -> None:
    """Hide something that was said from the table, which reads the reason instead.

    Args:
        warned: as for `play.moderate`.

    Raises:
        Conflict: the moderator has a stake at this table.
        InvalidInput: there is no reason, or it is too long. BadRequest: there is no such word.
    """
    by = Asker(moderator_id, reason, warned)
    with transaction(game_id) as session:
        play.lock_game(session, game_id)
        word = session.scalar(select(Word).where(Word.game_id == game_id, Word.number == number))
        about_id = word.person_id if word is not None else None
        deed = powers.use(
            session, "hide", by, now, game_id=game_id, about_id=about_id, longest=LONGEST_REASON
        )
        if word is None:
            raise BadRequest("This message no longer exists. Its writer may have deleted it.")
        word.hidden_at, word.hidden_why = word.hidden_at or now, deed.reason


def set_talk(
    game_id: str, allowed: bool, reason: str, moderator_id: int, now: datetime, *, warned: bool = False
) -> None:
    """Close the talk of a table, or open it again; the log gets a note with the reason.

    Args:
        warned: as for `play.moderate`.

    Raises:
        Conflict: the moderator has a stake at this table.
        InvalidAct: there is no reason.
    """
    play.moderate(game_id, "!note", reason=reason, person_id=moderator_id, now=now, warned=warned)
    with transaction(game_id) as session:
        by = Asker(moderator_id, reason.strip(), warned)  # the note was taken with it
        with play.in_hand(session, game_id, now) as table:
            table.game.talk = allowed
        powers.use(session, "open" if allowed else "close", by, now, game_id=game_id, longest=None)


def silence(
    game_id: str,
    seat: str,
    days: str,
    reason: str,
    moderator_id: int,
    now: datetime,
    *,
    warned: bool = False,
) -> None:
    """Take table talk, at all tables, from the person who holds a seat; they read the reason, and nobody else is told.

    Args:
        seat: its number, as a form gives it; days: 1 to 365, or 0 to give talk back.
        warned: as for `play.moderate`.

    Raises:
        Conflict: the moderator has a stake at this table, or at another unfinished one of this person.
        Closed: nobody holds the seat.
        InvalidInput: the days or the reason are not valid.
    """
    by, number = Asker(moderator_id, reason, warned), whole_number(days, LONGEST_SILENCE)
    if number is None:
        raise InvalidInput("Give 0 to %(most)s days.", field="days", most=LONGEST_SILENCE)
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        held = session.get(Seat, (game.id, whole_number(seat, 99)))
        about_id = held.person_id if held is not None else None
        deed = powers.use(
            session, "silence", by, now, game_id=game_id, about_id=about_id, longest=LONGEST_REASON
        )
        if about_id is None:
            raise Closed("Nobody holds this seat.")
        person = session.get_one(Person, about_id)
        person.silenced_until = now + timedelta(days=number) if number else None
        person.silenced_why = deed.reason if number else None


def resolve(alert_id: int, reason: str, moderator_id: int, now: datetime) -> None:
    """Clear an alert that a moderator has dealt with; a report of what was said needs a reason.

    Raises:
        Conflict: the moderator has a stake at the table that it is about.
        InvalidInput: a report is to be cleared without a reason.
    """
    with transaction() as session:
        found = session.get_one(Alert, alert_id)
        given = reason if found.key.startswith("word:") or reason.strip() else "–"
        # Nothing changes at the table, so there is nothing to be warned of.
        by = Asker(moderator_id, given, warned=True)
        powers.use(session, "clear", by, now, game_id=found.game_id)
        operations.clear_alerts(session, found.key, now)


def purge(now: datetime) -> int:
    """Delete the text of what was hidden a month ago, and return how many words."""
    old = (Word.hidden_at <= now - KEPT_HIDDEN, Word.text != "")
    with transaction() as session:
        ids = set(session.scalars(select(Word.game_id).where(*old)))
        for game_id in sorted(ids):
            play.lock_game(session, game_id)
        found = session.scalars(select(Word).where(*old, Word.game_id.in_(ids))).all() if ids else ()
        for word in found:
            word.text = ""
    return len(found)


def count(session: Session, game_id: str) -> int:
    """Return how much is said at a table, without reading it."""
    return session.scalar(select(func.count()).select_from(Word).where(Word.game_id == game_id)) or 0
