"""Table talk in emails: what others have said, as one reader may read it. No clock ever depends on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from byzanz.record import Cause
from server.community import talk
from server.community.talk import Said
from server.mail.text import one_line
from server.store import links, log, mail_kinds, people
from server.store.mail_kinds import Content, Stop
from server.store.statements import GameRow, MailRow, PersonRow, SeatRow

LINES = 3
"""Lines of one person's words that an email shows."""
WORDS = 20
"""Words that one email shows at most, the newest; the page has all of them."""
_HASH = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b", re.IGNORECASE)
"""A whole hash: with it, words could look like the lines from which an email's reader checks the log."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What an email tells of the talk at a table.

    Args:
        words: the name of the speaker and the lines shown of each, oldest first.
        left_out: how many older ones are only on the page.
    """

    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.words)

    def __len__(self) -> int:
        return len(self.words) + self.left_out


def is_talk(mail: MailRow) -> bool:
    """Whether a mail is about nothing but table talk."""
    return mail_kinds.of(mail.kind).stop is Stop.TALK


def in_mail(
    session: Session,
    mail: MailRow,
    game: GameRow | None,
    seat: SeatRow | None,
    reader: PersonRow,
    context: Mapping[str, Any],
) -> Talk:
    """Return the table talk that a mail tells.

    Args:
        context: the rest of what its template gets.
    """
    merged = context["merged_mails"]
    if game is None or seat is None or not is_wanted(game, reader):
        return Talk()
    if is_talk(mail):
        return news(session, game, mail, merged)
    after = _told_before(session, game, seat.seat, context)
    return Talk() if after is None else since(session, game, reader, after, merged)


def _told_before(session: Session, game: GameRow, seat: int, context: Mapping[str, Any]) -> int | None:
    """Return the entry from which on a mail tells the table talk; None if it tells none.

    That is the reader's own last move; in an answer, the head when the turn opened to which they replied.
    """
    kind = mail_kinds.of(context["kind"])
    if kind.about_turn:
        return int(context["last_own"])
    if kind.content is Content.ENDING:
        return log.last_move(session, game.id, seat, (Cause.PLAYER, Cause.BOT))
    address = context["details"].get("reply") if kind.answers_email else None
    used = links.get(session, address) if address is not None else None
    return used.seq if used is not None else None


def is_wanted(game: GameRow, person: PersonRow) -> bool:
    """Whether emails tell this person what is said at a table, and anything ever was: this asks no database."""
    return game.said > 0 and person.talk != "never"


def since(
    session: Session, game: GameRow, person: PersonRow, seq: int, merged: Sequence[MailRow] = ()
) -> Talk:
    """Return what others have said after an entry, and all that emails merged into this one would have told.

    Args:
        merged: other emails; those about anything but talk do not count.
    """
    if not is_wanted(game, person):
        return Talk()
    found = talk.said_since(session, game, person.id, seq)
    if any(is_talk(mail) for mail in merged):
        known = {said.id for said in found}
        found = [each for each in unread(session, game, person.id, merged) if each.id not in known] + found
    return _shown(found)


def news(session: Session, game: GameRow, mail: MailRow, merged: Sequence[MailRow] = ()) -> Talk:
    """Return what an email about nothing but talk tells, with those merged into it; nothing if all has been read."""
    return _shown(unread(session, game, mail.person_id, [mail, *merged]))


def unread(session: Session, game: GameRow, person_id: int, mails: Sequence[MailRow]) -> list[Said]:
    """Return what emails about talk were queued to tell, and what was said since, unless its reader was at the table.

    Args:
        mails: queued; those about anything else do not count.
    """
    first = min(mail.created_at for mail in mails if is_talk(mail))
    read_at = people.last(session, person_id, [game.id])
    found = talk.words(session, game, person_id)
    heard = (said for said in found if said.at >= first and not said.own and not said.hidden)
    return [said for said in heard if read_at is None or said.at > read_at]


def _shown(words: Iterable[Said]) -> Talk:
    found = list(words)
    rows = tuple((one_line(said.name), _lines(said.text)) for said in found[-WORDS:])
    return Talk(rows, len(found) - len(rows))


def _lines(text: str) -> tuple[str, ...]:
    lines = [_HASH.sub(r"\1…", one_line(line)) for line in text.split("\n") if line.strip()]
    return tuple(lines[:LINES] + ["…"] * (len(lines) > LINES))
