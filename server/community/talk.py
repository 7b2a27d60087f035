"""Table talk: saying something at a table, reading it, muting people, the emails about it, and notes to oneself.

A block or a mute hides words from the person who made it and from nobody else: words that vanished from another page
would reveal it. What others read shows no email address, no matter whose, and no link that would open something for
them.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.orm import Session

from byzanz.rules import PUBLIC
from server import play
from server.config import settings
from server.errors import BadRequest, Closed, InvalidInput, NoSuchLink, TooMany
from server.i18n.characters import is_drawn
from server.play import events, names
from server.play.game import Table
from server.store import facts, links
from server.store.engine import connection_of, transaction
from server.store.models import (
    Block,
    Game,
    GameStatus,
    LinkPurpose,
    Mute,
    Notes,
    Person,
    Seat,
    SeatStatus,
    Word,
)
from server.store.prepared import Prepared
from server.store.statements import GameRow, LinkRow, PersonRow, SeatRow

# ---- the text, as a person typed it: made safe for pages and emails, never interpreted ----

_SPACES = re.compile(r"\s")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
ADDRESS, LINK = "[address]", "[link]"
"""What others read instead of an email address, and of a link that carries a token."""
_DELIMITERS = r"\s<>()\[\]{},;:\"“”„«»、。，；：（）【】"
_AT = r"@|＠|﹫|%40"
_LOCAL = rf"(?:\"[^\"\n]{{1,64}}\"|[^{_DELIMITERS}/@＠﹫]{{1,200}})"
_DOMAIN = rf"(?:\[[0-9a-fA-F:.]{{2,40}}\]|[^{_DELIMITERS}/@＠﹫]{{1,255}})"
_CHAR, _LETTER = rf"[^{_DELIMITERS}/@＠﹫]", r"[^\W\d_]"
_BREAK = r"[ \t]{0,40}(?:\n[ \t>|]{0,40}){1,3}"
"""Between two lines, of which the second may be quoted."""
_GAP = rf"(?:{_BREAK}| )?"
_SPACED = rf"(?:{_GAP}(?:{_AT}){_GAP}|{_GAP}[(\[{{] ?(?:at|@) ?[)\]}}]{_GAP})"
_DOT = r"(?:\.| ?[(\[{] ?(?:dot|\.) ?[)\]}] ?)"
"""As people write it who hide an address from machines; then its domain has to look like one."""
_END = rf"{_DOT}{_LETTER}{{2}}{_CHAR}{{0,60}}"
_REST = rf"(?:{_BREAK}{_CHAR}{{0,200}}?{_END}|\.{_BREAK}(?-i:[a-z]{{2,24}}\b))"
_BROKEN = rf"(?=\d*{_LETTER})(?:(?!\.){_CHAR}){{1,200}}{_REST}"
"""A domain whose first part ends with its line."""
_EMAIL = re.compile(
    rf"{_LOCAL}(?:{_AT}){_BROKEN}|{_LOCAL}(?:(?:{_AT}){_DOMAIN})+|{_LOCAL}{_SPACED}{_CHAR}{{1,200}}{_END}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))[A-Za-z2-7]{26}(?![A-Za-z0-9])")
_PIECES = re.compile(r"([\s<>()\[\]{}\"“”„«»]+)")


def cleaned(
    text: str, *, longest: int, most_lines: int, field: str = "text", for_others: bool = False
) -> str:
    """Return a text without control, invisible and direction characters; line breaks stay, outer blanks go.

    Args:
        longest: in characters, counted after cleaning.
        for_others: other people read it, so it is `masked`.
        field: the form field, for the error.

    Raises:
        InvalidInput: it is too long or has too many lines.
    """
    lines = (_cleaned_line(line) for line in _BREAKS.sub("\n", text[: 4 * longest + 1000]).split("\n"))
    found = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    found = unicodedata.normalize("NFC", found)
    found = masked(found) if for_others else found
    if not any(unicodedata.category(char)[0] in "LNPS" for char in found):
        return ""
    if len(found) > longest or found.count("\n") >= most_lines:
        raise InvalidInput(
            "Write at most %(longest)s characters and %(lines)s lines; this text has %(length)s characters.",
            field=field,
            longest=longest,
            lines=most_lines,
            length=len(found),
        )
    return found


def masked(text: str) -> str:
    """Return a text with `ADDRESS` in place of each email address, and `LINK` in place of whatever carries a token."""
    return "".join(map(_without_tokens, _PIECES.split(_EMAIL.sub(_without_address, text))))


def is_masked(text: str) -> bool:
    """Whether something in a text has been replaced, so that its writer can be told."""
    return ADDRESS in text or LINK in text


def _without_address(found: re.Match[str]) -> str:
    """Replace an email address; what only has its form, as `3@5`, stays, and so does a final full stop."""
    domain = re.split(_AT, found[0])[-1]
    if not re.search(r"[^\W\d_]|[0-9.:]{7}", domain):
        return found[0]
    return ADDRESS + found[0][len(found[0].rstrip(".!?…'’*_")) :]


def _without_tokens(piece: str) -> str:
    if "/" in piece and _TOKEN.search(piece):
        return LINK
    return _TOKEN.sub(LINK, piece)


def _cleaned_line(text: str) -> str:
    return "".join(
        _SPACES.sub(" ", char) for at, char in enumerate(text) if char == "\t" or is_drawn(text, at)
    ).rstrip()


# ---- at the table ----

ALL_OF_THEM = 1_000_000
_word, _mute, _block, _notes = Word.__mapper__.c, Mute.__mapper__.c, Block.__mapper__.c, Notes.__mapper__.c
_held, _own = Seat.__table__.alias("held").c, Seat.__table__.alias("own").c
_reader: Any = bindparam("reader")
_game: Any = bindparam("game")
_SEATED = exists().where(
    _own.game_id == _game, _own.person_id == _reader, _own.status == literal_column(f"'{SeatStatus.SEATED}'")
)
_MUTED = exists().where(_mute.person_id == _reader, _mute.other_id == _word.person_id)
_BLOCKED = exists().where(_block.person_id == _reader, _block.other_id == _word.person_id)
_said = (
    select(
        _word.number,
        _word.request_id,
        _word.seat,
        _word.person_id,
        _word.text,
        _word.at,
        _word.seq,
        _word.hidden_at,
        _word.hidden_why,
        names.column(_held),
        _held.person_id.label("holder_id"),
    )
    .join(_held.seat.table, and_(_held.game_id == _word.game_id, _held.seat == _word.seat))
    .where(_word.game_id == _game, _word.seq >= bindparam("seq"))
    .where(_SEATED, ~_MUTED, ~_BLOCKED)
    .order_by(_word.number.desc())
    .limit(bindparam("most"))
    .subquery()
)
_zero: Any = literal_column("0")
_noted = select(
    _zero, null(), _zero, _notes.person_id, _notes.text, _notes.changed_at, _zero, *[null()] * 4
).where(_notes.game_id == _game, _notes.person_id == _reader)
WORDS = Prepared(union_all(select(_said), _noted))
"""The newest words that a person seated may read, the newest first, and as number 0 what they noted for themselves."""


@dataclass(slots=True)
class WordRow:
    """A word with the seat at which it was said; the first columns are explained in `models.Word`.

    Args:
        stored_name: of the seat now, for `names.of`.
        holder_id: who holds it now.
    """

    game_id: str
    number: int
    request_id: str
    seat: int
    person_id: int
    text: str
    at: datetime
    seq: int
    hidden_at: datetime | None
    hidden_why: str | None
    stored_name: str
    holder_id: int | None

    @property
    def id(self) -> str:
        """The id that its readers know, as of `public_id`."""
        return public_id(self.game_id, self.person_id, self.request_id)


def public_id(game_id: str, person_id: int, request_id: str) -> str:
    """Return the id of a word for those who read it: the same for all of them, and without meaning at another table.

    It is made from who said it with which request, for the number of a word would tell how many are hidden. Without the
    server's key nobody can guess one, read a person's number out of it, or recognise them elsewhere.
    """
    return hmac.digest(
        settings().key("words"), f"{game_id}\n{person_id}\n{request_id}".encode(), "sha256"
    ).hex()[:16]


def read_words(
    session: Session, game_id: str, reader_id: int, *, seq: int = 0, most: int = ALL_OF_THEM
) -> tuple[list[WordRow], str]:
    """Return the newest words that a person may read, oldest first, and their own notes at this game.

    Args:
        seq: only words said after this entry.
    """
    values = {"game": game_id, "reader": reader_id, "seq": seq, "most": most}
    rows = [WordRow(game_id, *found) for found in WORDS.all(connection_of(session), values)]
    said = sorted((row for row in rows if row.number), key=lambda row: row.number)
    return said, next((row.text for row in rows if not row.number), "")


# ---- saying and deleting ----
# Everybody at the table reads everything, except the words of people whom they have muted or blocked themselves.
# Nobody else reads any of it.

LONGEST = 500
"""Characters of what is said at once."""
MOST_LINES = 20
A_DAY = 20
"""How often a person may say something at one table within a day."""
OPEN_AFTER_END = timedelta(days=30)


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
        text: as typed; it is cleaned, and shows no email address and no link with a token (`masked`).
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

    def work(table: Table) -> Word:
        session, game, seat = table.session, table.game, _seat(table, person_id, link_id)
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
        table.tell(events.WordSaid(at=now, seat=seat.seat, person_id=person_id))
        return word

    return play.change(game_id, now, work)


def _seat(table: Table, person_id: int, link_id: int | None) -> SeatRow:
    """Return the seat that a person holds now."""
    seat = table.seat_of(person_id)
    link = links.get(table.session, link_id) if link_id is not None else None
    if seat is None or (link_id is not None and not _is_theirs(link, table.game.id, person_id)):
        raise NoSuchLink("This link no longer opens a seat.")
    return seat


def _is_theirs(link: LinkRow | None, game_id: str, person_id: int) -> bool:
    theirs = link is not None and (link.game_id, link.person_id) == (game_id, person_id)
    return (
        theirs
        and link is not None
        and link.purpose in (LinkPurpose.SEAT, LinkPurpose.REPLY, LinkPurpose.TALK)
        and link.revoked_at is None
    )


def _earlier(session: Session, game_id: str, person_id: int, request_id: str) -> Word | None:
    of_request = (Word.game_id == game_id, Word.person_id == person_id, Word.request_id == request_id)
    return session.scalar(select(Word).where(*of_request))


def _same(word: Word, text: str) -> Word:
    if word.text != text and word.hidden_at is None:
        raise BadRequest("This request_id was used for other words.")
    return word


def check_open(game: GameRow, now: datetime) -> None:
    """Refuse a table at which nobody can talk now.

    Raises:
        Closed: the game has not begun or ended long ago, or its talk is closed.
    """
    if game.status not in (GameStatus.RUNNING, GameStatus.OVER):
        raise Closed("You can talk at this table once the game has begun.")
    if game.ended_at is not None and now >= game.ended_at + OPEN_AFTER_END:
        raise Closed("This game ended more than 30 days ago; its table talk is closed.")
    if game.trial:
        raise Closed("Only bots play here, and they do not talk.")
    if not game.talk:
        raise Closed("Table talk is closed in this game.")


def _check_speaker(session: Session, seat: SeatRow, now: datetime) -> None:
    """Refuse a person who has left, from whom talk was taken, or who has said enough for a day."""
    check_present(seat)
    person = seat.person
    assert person is not None
    check_silenced(person, now)
    recent = (Word.person_id == person.id, Word.game_id == seat.game_id, Word.at > now - timedelta(days=1))
    if (session.scalar(select(func.count()).select_from(Word).where(*recent)) or 0) >= A_DAY:
        raise TooMany(
            "You can say something %(most)s times a day at one table. Continue tomorrow.", most=A_DAY
        )


def check_present(seat: SeatRow) -> None:
    """Refuse a player who has left.

    Raises:
        Closed: they have.
    """
    if seat.left:
        raise Closed("You have left this game. Come back to talk at its table.")


def check_silenced(person: PersonRow, now: datetime) -> None:
    """Refuse a person from whom a moderator has taken table talk.

    Raises:
        Closed: until when, and why.
    """
    if person.silenced_until is not None and now < person.silenced_until:
        raise Closed(
            "A moderator has taken table talk from you until %(until)s: %(why)s",
            until=f"{person.silenced_until:%Y-%m-%d %H:%M} UTC",
            why=facts.translated(person.silenced_why or "–"),
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
            (word for word in own if public_id(game_id, person_id, word.request_id) == word_id), None
        )
        if found is not None:
            session.delete(found)
        return found is not None


def words(session: Session, game: GameRow, reader_id: int) -> list[Said]:
    """Return what a reader may read, oldest first; nothing unless they hold a seat now."""
    rows, _notes = read_words(session, game.id, reader_id)
    return _for(game, reader_id, rows)


def said_since(session: Session, game: GameRow, reader_id: int, seq: int) -> list[Said]:
    """Return what others have said after an entry, oldest first, without what is hidden."""
    rows, _notes = read_words(session, game.id, reader_id, seq=seq)
    return [said for said in _for(game, reader_id, rows) if not said.own and not said.hidden]


def at_table(session: Session, game: GameRow, reader_id: int, seq: int, most: int) -> tuple[list[Said], str]:
    """Return what was said after an entry, the newest `most` at most, and the reader's notes: one statement."""
    rows, notes = read_words(session, game.id, reader_id, seq=seq, most=most)
    return _for(game, reader_id, rows), notes


def _for(game: GameRow, reader_id: int, rows: Iterable[WordRow]) -> list[Said]:
    return [
        Said(
            id=row.id,
            seat=row.seat,
            name=names.of(game, row, PUBLIC) if row.person_id == row.holder_id else names.FORMER,
            text="" if row.hidden_at else row.text,
            at=row.at,
            seq=row.seq,
            own=row.person_id == reader_id,
            hidden=row.hidden_at is not None,
            why=row.hidden_why or "",
        )
        for row in rows
    ]


# ---- muting ----


def mute(person_id: int, game_id: str, word_id: str) -> bool:
    """Mute the person who said something at a table.

    Args:
        person_id: who does not want to read them.

    Returns:
        False if that person cannot read such a word of anybody else.
    """
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update=True)  # two requests at once would both insert
        rows, _notes = read_words(session, game_id, person_id)
        of_others = (row for row in rows if row.id == word_id and row.person_id != person_id)
        other = next((row.person_id for row in of_others), None)
        if other is not None:
            session.add(Mute(person_id=person_id, other_id=other))
        return other is not None


def unmute(person_id: int, other_id: int) -> None:
    """Read what another person says again."""
    with transaction() as session:
        session.execute(delete(Mute).where(Mute.person_id == person_id, Mute.other_id == other_id))


def muted(session: Session, person_id: int) -> list[tuple[int, str]]:
    """Return the people whom a person has muted: their ids, and a name that they have or had at a table with them."""
    own = select(Seat.game_id).where(Seat.person_id == person_id)
    query = select(Mute.other_id, Game, Seat).where(Mute.person_id == person_id)
    query = query.outerjoin(Seat, (Seat.person_id == Mute.other_id) & Seat.game_id.in_(own))
    found: dict[int, str] = {}
    for other, game, seat in session.execute(query.outerjoin(Game, Game.id == Seat.game_id)).unique():
        name = names.of(GameRow.of(game), seat, PUBLIC) if seat is not None else "?"
        found[other] = min(found.get(other, name), name)
    return sorted(found.items(), key=lambda each: (each[1], each[0]))


# ---- notes to oneself ----
# `read_words` reads them, with what was said at the table.

LONGEST_NOTES = 5000
MOST_LINES_OF_NOTES = 500


def read_notes(session: Session, game_id: str, person_id: int) -> str:
    """Return a person's notes at a game."""
    found = session.get(Notes, (game_id, person_id))
    return found.text if found else ""


def write_notes(game_id: str, person_id: int, text: str, now: datetime) -> None:
    """Replace a person's notes at a game; an empty text deletes them.

    Raises:
        InvalidInput: the text is too long.
    """
    text = cleaned(text, longest=LONGEST_NOTES, most_lines=MOST_LINES_OF_NOTES, field="notes")
    with transaction(game_id) as session, play.in_hand(session, game_id, now) as table:
        found = session.get(Notes, (game_id, person_id))
        if found is not None and not text:
            session.delete(found)
        elif found is not None:
            found.text, found.changed_at = text, now
        elif text:
            table.game.noted = True
            session.add(Notes(game_id=game_id, person_id=person_id, text=text, changed_at=now))
