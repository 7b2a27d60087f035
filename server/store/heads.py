"""Heads of logs that emails carry, in their Message-IDs and in links, so that a restored backup shows what it lacks.

A mark is `GAME.SEQ.HASH.MAC`: an entry's number, the start of its hash, and a code that only this server can make.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.config import settings
from server.store import alerts, log
from server.store.engine import reading, transaction
from server.store.facts import Fact
from server.store.models import Alert, Game
from server.store.rows import AnyGame

LENGTH = 16
"""How many digits of a hash a mark has."""
_MARK = re.compile(r"\b([a-z0-9-]{1,16})\.([0-9]{1,9})\.([0-9a-f]{16})\.([0-9a-f]{16})\b")
_ALERT = "log-behind"


@dataclass(frozen=True, slots=True)
class Head:
    """Where a log stood when an email was queued.

    Args:
        hash: its first digits.
    """

    game_id: str
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.game_id}.{self.seq}.{self.hash}"


def marked(head: str) -> str:
    """Return a head with the code that shows that it is ours."""
    key = settings().key("heads")
    return f"{head}.{hmac.digest(key, head.encode(), 'sha256').hex()[:LENGTH]}"


def mark_at(session: Session, game: AnyGame, seq: int) -> str:
    """Return the mark of an entry, or "" if there is none; the newest one's hash stands in the game's row."""
    if seq == game.head:
        return marked(str(Head(game.id, seq, game.head_hash[:LENGTH])))
    found = log.entries(session, game.id, after=seq - 1, upto=seq)
    return marked(str(Head(game.id, seq, found[0].hash[:LENGTH]))) if found else ""


def marks_in(text: str) -> Iterator[Head]:
    """Yield the heads of all genuine marks in a text: a link, a Message-ID, a whole email, a mail server's log."""
    for found in dict.fromkeys(_MARK.findall(text)):
        head = Head(found[0], int(found[1]), found[2])
        if hmac.compare_digest(marked(str(head)), ".".join(found)):
            yield head


def is_missing(session: Session, head: Head) -> bool:
    """Whether the log of a game lacks this entry, or has another one in its place."""
    found = log.entries(session, head.game_id, after=head.seq - 1, upto=head.seq)
    return not found or not found[0].hash.startswith(head.hash)


def report_missing(text: str, now: datetime) -> list[Head]:
    """Report each head in a text that the log of its game lacks, and return them; one transaction if there are any."""
    heads = list(marks_in(text))
    if not heads:
        return []
    with reading() as session:
        missing = [head for head in heads if is_missing(session, head)]
    if missing:
        with transaction() as session:
            for head in missing:
                report(session, head, now)
    return missing


def report(session: Session, head: Head, now: datetime) -> None:
    """Tell the moderators that an email quotes an entry which the log lacks: of each game the latest one."""
    game = session.get(Game, head.game_id)
    fact = Fact("log_behind", {"game": head.game_id, "seq": head.seq, "hash": head.hash})
    key = f"{_ALERT}:{head.game_id}"
    known = alerts.find_open(session, key, lock=True)
    if known is not None and int(str(known.text.values["seq"])) < head.seq:
        known.text = fact
    alerts.raise_alert(session, key, fact, now, head.game_id if game else None)


def reported(session: Session) -> list[Head]:
    """Return the heads that were reported, also those whose alerts were cleared, and are still missing."""
    facts = session.scalars(select(Alert.text).where(Alert.key.like(f"{_ALERT}:%")).order_by(Alert.key))
    heads = [Head(*(fact.values[name] for name in ("game", "seq", "hash"))) for fact in facts]  # type: ignore[arg-type]
    return [head for head in heads if is_missing(session, head)]
