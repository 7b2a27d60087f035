"""Profiles: a person's handle, and what their page tells to whom.

Two handles that look alike have the same skeleton, and no two people have the same skeleton. A handle that somebody
gave up stays theirs for a year, so that nobody takes their place.
"""

from __future__ import annotations

import hmac
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from byzanz.bots import BOTS
from byzanz.games import latest
from byzanz.rules import PUBLIC
from server.community import blocks, results
from server.community.results import Ended
from server.config import settings
from server.errors import InvalidInput, TooMany
from server.i18n.characters import skeleton
from server.play import names
from server.store.engine import insert, transaction
from server.store.models import FormerHandle, Game, Person, Seat, SeatStatus, Standing
from server.store.statements import GameRow
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
"""The bots of `server/lobby/create.py`, which this layer cannot import."""
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
    theirs = select(Seat.game_id).where(Seat.person_id == other_id, Seat.status == SeatStatus.SEATED)
    query = select(Seat.game_id).where(Seat.person_id == one_id, Seat.status == SeatStatus.SEATED)
    met = query.where(Seat.game_id.in_(theirs), Seat.game_id.in_(began)).limit(1)
    return session.scalar(met) is not None


# ---- the page ----

MOST_COUNTED = 500
"""The latest games of a person that are counted."""
LATEST = 20
"""The latest games that a profile lists."""
UNLIKELY = 0.025
"""The share of players by chance who win less than the lower bound, and of those who win more than the upper one."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a person did in one game with one number of players.

    Args:
        won: wins, shared ones included.
        even: the wins to be expected if each seat were as likely to win as any other.
        low, high: 95 of 100 players whose wins are chance alone win from `low` to `high` of these games.
        place: the average one.
    """

    slug: str
    title: str
    size: int
    played: int
    won: int
    even: float
    low: int
    high: int
    place: float


@dataclass(frozen=True, slots=True)
class Company:
    """How two people did in the finished games that they played together.

    Args:
        met: how many there were.
        before: in how many the first one was placed before the other.
    """

    met: int
    before: int


@dataclass(frozen=True, slots=True)
class Opponent:
    """Somebody with whom a person sat at a table; the handle if there is a profile to see."""

    seat: int
    name: str
    handle: str | None
    is_blocked: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile shows to everybody who may see it."""

    person: Person
    tallies: Sequence[Tally]
    latest: Sequence[Ended]


def by_chance(odds: Iterable[float]) -> tuple[float, int, int]:
    """Return the expected number of wins in games with these odds, and the bounds within which 95 of 100 stay."""
    ways, even = [1.0], 0.0
    for chance in odds:
        even += chance
        lost, won = [*ways, 0.0], [0.0, *ways]
        ways = [less * (1 - chance) + more * chance for less, more in zip(lost, won, strict=True)]
    upto = [*accumulate(ways)]
    low = next(wins for wins, share in enumerate(upto) if share > UNLIKELY)
    high = next((wins for wins, share in enumerate(upto) if share >= 1 - UNLIKELY), len(ways) - 1)
    return even, low, high


def tallies(games: Iterable[Ended], person_id: int) -> list[Tally]:
    """Return what a person did, by game and number of players, the most played first."""
    grouped: dict[tuple[str, int], list[Ended]] = defaultdict(list)
    for game in games:
        grouped[game.slug, game.size].append(game)
    found = [_tally(group, person_id) for group in grouped.values()]
    return sorted(found, key=lambda tally: (-tally.played, tally.slug, tally.size))


def _tally(games: Sequence[Ended], person_id: int) -> Tally:
    places = [game.of(person_id).place for game in games]
    winners = [sum(seat.place == 1 for seat in game.seats) for game in games]
    even, low, high = by_chance(count / game.size for count, game in zip(winners, games, strict=True))
    return Tally(
        slug=games[0].slug,
        title=games[0].title,
        size=games[0].size,
        played=len(games),
        won=places.count(1),
        even=even,
        low=low,
        high=high,
        place=sum(places) / len(places),
    )


def visible(session: Session, handle: str, viewer_id: int | None) -> Person | None:
    """Return the person with this handle if a viewer, or with None a visitor, may see their profile.

    A block changes nothing: a profile that closed for one person alone would tell them of it.
    """
    person = find(session, handle)
    return person if person is not None and may_see(session, person, viewer_id) else None


def profile(session: Session, person: Person) -> Profile:
    """Return what a profile shows: listed games with other people, never private ones."""
    games = results.of_person(session, person.id, MOST_COUNTED, public=True)
    return Profile(person, tallies(games, person.id), games[:LATEST])


def company(session: Session, person_id: int, other_id: int) -> Company:
    """Return how two people did together in all their latest games, private ones included: for the two alone."""
    mine, theirs = aliased(Standing), aliased(Standing)
    both = select(mine.game_id).join(theirs, theirs.game_id == mine.game_id)
    shared = both.where(mine.person_id == person_id, theirs.person_id == other_id)
    games = results.load(session, Game.id.in_(shared), MOST_COUNTED)
    before = sum(game.of(person_id).place < game.of(other_id).place for game in games)
    return Company(len(games), before)


def opponents(session: Session, game_id: str, person_id: int) -> list[Opponent]:
    """Return the people at a table but for one of them; none if that one does not hold a seat there.

    Erased people are left out.
    """
    held = select(Seat).join(Person, Person.id == Seat.person_id).order_by(Seat.seat)
    held = held.where(Seat.game_id == game_id, Person.email.is_not(None))
    seats = {seat.person_id: seat for seat in session.scalars(held) if seat.person_id is not None}
    if seats.pop(person_id, None) is None:
        return []
    shown, blocked = handles_for(session, seats), blocks.blocked_by(session, person_id)
    game = session.get_one(Game, game_id)
    return [
        Opponent(seat.seat, names.of(GameRow.of(game), seat, PUBLIC), shown.get(other), other in blocked)
        for other, seat in seats.items()
    ]


def handles_for(session: Session, people: Iterable[int]) -> dict[int, str]:
    """Return the handles of people with whom a viewer has played, as far as these may see their profiles."""
    query = select(Person.id, Person.handle).where(Person.id.in_(people), Person.shown != "nobody")
    return {person: handle for person, handle in session.execute(query) if handle is not None}
