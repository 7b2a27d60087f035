"""Handles: the names under which people who want it are found. Without one, a person has no profile.

Two handles that look alike have the same skeleton, and no two people have the same skeleton. A handle that somebody
gave up stays theirs for a year, so that nobody takes their place.
"""

from __future__ import annotations

import hmac
import re
from datetime import datetime, timedelta

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from byzanz.bots import BOTS
from byzanz.games import latest
from server.config import settings
from server.errors import InvalidInput, TooMany
from server.i18n.characters import skeleton
from server.store.engine import insert, transaction
from server.store.models import FormerHandle, Game, Person, Seat
from server.validation import SPEAKERS

SHOWN = ("nobody", "met", "all")
"""Who may see a profile: nobody, people who have played with its owner, or everybody."""
KEPT_FOR = timedelta(days=365)
"""How long a handle that somebody gave up is kept for them."""
CHANGES_A_YEAR = 3
"""Handles that one person can give up within that time."""
_UNTIL_2026 = str.maketrans("oli_s", "011-5")
"""How skeletons were made when `rn` and `m` still differed; digests of handles given up then can only be compared."""
HANDLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,19}")
# fmt: off
BOT_NAMES = (
    "Leontios", "Kassia", "Bardas", "Euphemia", "Philaretos", "Theodora", "Narses", "Prokopios", "Sophia", "Nikephoros",
    "Psellos", "Komnene", "Anthemios", "Photios", "Tribonian",
)
"""The bots of `server/lobby/names.py`, which this layer cannot import."""
RESERVED = (
    "about", "account", "admin", "administrator", "anonymous", "api", "bot", "byzanz", "computer", "everybody",
    "former", "former player", "game master", "guest", "help", "host", "me", "mod", "moderator", "moderators",
    "nobody", "null", "official", "operator", "organiser", "organizer", "owner", "player", "postmaster", "root",
    "security", "server", "someone", "staff", "support", "system", "team", "webmaster", "you",
)
"""Words that sound as if the server, its staff or nobody in particular were speaking; games are reserved, too."""
# fmt: on


def _cores(handle: str) -> set[str]:
    """Return the skeleton without separators, as it is and without a number at its end, which makes no other name."""
    plain = re.sub("[-_ ]", "", handle)
    return {skeleton(plain), skeleton(plain.rstrip("0123456789"))}


def _reserved() -> set[str]:
    """Return the skeletons that no handle may have, those of all games that can be played among them."""
    games = [name for rules in latest() for name in (rules.slug, rules.title)]
    return set().union(*map(_cores, (*RESERVED, *SPEAKERS, *BOTS, *BOT_NAMES, *games)))


def clean_handle(text: str, field: str = "handle") -> str:
    """Check a handle: 3 to 20 ASCII letters, digits, `-` or `_`, beginning with a letter, and none that is reserved.

    Raises:
        InvalidInput: the message says what is valid.
    """
    handle = text.strip()
    if not HANDLE.fullmatch(handle):
        raise InvalidInput(
            "A handle has 3 to 20 letters from A to Z, digits, hyphens or underscores, and begins with a letter.",
            field=field,
        )
    if _cores(handle) & _reserved():
        raise InvalidInput("“%(handle)s” is reserved. Choose another handle.", field=field, handle=handle)
    return handle


def choose(person_id: int, text: str, shown: str, now: datetime) -> None:
    """Take, change or (with an empty text) give up a handle, and say who may see the profile.

    Raises:
        InvalidInput: the handle is not valid or taken, or there is no such choice. TooMany: changed too often.
    """
    if shown not in SHOWN:
        raise InvalidInput("Choose who can see your profile.", field="shown")
    handle = clean_handle(text) if text.strip() else None
    try:
        with transaction() as session:
            person = session.get_one(Person, person_id, with_for_update=True)
            person.shown = shown if handle else "nobody"
            if handle is None or skeleton(handle) != person.skeleton:
                _give_up(session, person, now)
                _take(session, person, handle, now)
            person.handle = handle
    except IntegrityError:  # somebody else took it at the same moment
        raise _taken(text.strip()) from None


def _taken(handle: str) -> InvalidInput:
    return InvalidInput(
        "“%(handle)s” or a handle that looks like it is taken. Choose another.", field="handle", handle=handle
    )


def _give_up(session: Session, person: Person, now: datetime) -> None:
    if person.skeleton is None:
        return
    mine = select(func.count()).where(FormerHandle.person_id == person.id, FormerHandle.until > now)
    if (session.scalar(mine) or 0) >= CHANGES_A_YEAR:
        raise TooMany(
            "You can change or give up your handle %(most)s times a year. You can still hide your profile.",
            most=CHANGES_A_YEAR,
        )
    kept = {"handle": person.handle, "person_id": person.id, "until": now + KEPT_FOR}
    insert(session, FormerHandle, {"digest": _digest(person.skeleton)} | kept, key="digest", again=kept)
    person.skeleton = None
    session.flush()


def _take(session: Session, person: Person, handle: str | None, now: datetime) -> None:
    person.skeleton = skeleton(handle) if handle else None
    session.flush()  # it waits for somebody who is just giving this handle up
    if handle is None:
        return
    for digest in (_digest(skeleton(handle)), _digest(handle.casefold().translate(_UNTIL_2026))):
        former = session.get(FormerHandle, digest)
        if former is not None and former.person_id != person.id and former.until > now:
            raise _taken(handle)
        if former is not None:
            session.delete(former)


def _digest(of: str) -> str:
    return hmac.digest(settings().key("handles"), of.encode(), "sha256").hex()


def unite(session: Session, person: Person, other: Person, now: datetime, *, take: bool) -> None:
    """Leave a person whose two accounts become one a single handle, and keep the other one for them for a year.

    Args:
        person: whose account stays.
        other: whose account ends.
        take: of two handles, that of `other` stays.
    """
    if other.skeleton is None:
        return
    mine, theirs = (person.handle, person.skeleton, person.shown), (other.handle, other.skeleton, other.shown)
    stays, spare = (theirs, mine) if take or person.skeleton is None else (mine, theirs)
    other.handle = other.skeleton = person.skeleton = None
    session.flush()  # no two people have the same skeleton at any moment
    person.handle, person.skeleton, person.shown = stays
    other.shown = "nobody"
    if spare[1] is not None:
        kept = {"handle": spare[0], "person_id": person.id, "until": now + KEPT_FOR}
        insert(session, FormerHandle, {"digest": _digest(spare[1])} | kept, key="digest", again=kept)


def forget(session: Session, person: Person, now: datetime) -> None:
    """Take the handle from a person who is being erased; for a year it can be checked, but no longer read."""
    if person.skeleton is not None:
        kept = {"handle": None, "person_id": None, "until": now + KEPT_FOR}
        insert(session, FormerHandle, {"digest": _digest(person.skeleton)} | kept, key="digest", again=kept)
    theirs = update(FormerHandle).where(FormerHandle.person_id == person.id)
    session.execute(theirs.values(handle=None, person_id=None))
    person.handle = person.skeleton = None
    person.shown = "nobody"


def purge(now: datetime) -> int:
    """Delete the handles that have been kept for a year; return how many."""
    with transaction() as session:
        result = session.execute(delete(FormerHandle).where(FormerHandle.until <= now))
        assert isinstance(result, CursorResult)
        return result.rowcount


def find(session: Session, text: str) -> Person | None:
    """Return the person with this handle, in any letter case, or None."""
    if not HANDLE.fullmatch(text):
        return None
    handles = select(Person).where(Person.skeleton.is_not(None))
    return session.scalar(handles.where(func.lower(Person.handle) == text.lower()))


def may_see(session: Session, person: Person, viewer_id: int | None) -> bool:
    """Whether somebody, or with None a visitor, may see a person's profile; blocks are not considered."""
    if person.handle is None:
        return False
    if person.id == viewer_id or person.shown == "all":
        return True
    return person.shown == "met" and viewer_id is not None and have_met(session, person.id, viewer_id)


def have_met(session: Session, one_id: int, other_id: int) -> bool:
    """Whether two people sit or sat at one table in a game that has begun."""
    began = select(Game.id).where(Game.started_at.is_not(None))
    theirs = select(Seat.game_id).where(Seat.person_id == other_id, Seat.status == "seated")
    query = select(Seat.game_id).where(Seat.person_id == one_id, Seat.status == "seated")
    met = query.where(Seat.game_id.in_(theirs), Seat.game_id.in_(began)).limit(1)
    return session.scalar(met) is not None
