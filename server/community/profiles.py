"""Profiles: what a person who has a handle shows of their finished games, and what chance alone would have given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from server.community import blocks, ended, handles
from server.community.ended import Ended
from server.store.models import Game, Person, Seat, Standing

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
    person = handles.find(session, handle)
    return person if person is not None and handles.may_see(session, person, viewer_id) else None


def profile(session: Session, person: Person) -> Profile:
    """Return what a profile shows: listed games with other people, never private ones."""
    games = ended.of_person(session, person.id, MOST_COUNTED, public=True)
    return Profile(person, tallies(games, person.id), games[:LATEST])


def company(session: Session, person_id: int, other_id: int) -> Company:
    """Return how two people did together in all their latest games, private ones included: for the two alone."""
    mine, theirs = aliased(Standing), aliased(Standing)
    both = select(mine.game_id).join(theirs, theirs.game_id == mine.game_id)
    shared = both.where(mine.person_id == person_id, theirs.person_id == other_id)
    games = ended.load(session, Game.id.in_(shared), MOST_COUNTED)
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
    return [
        Opponent(seat.seat, seat.name, shown.get(other), other in blocked) for other, seat in seats.items()
    ]


def handles_for(session: Session, people: Iterable[int]) -> dict[int, str]:
    """Return the handles of people with whom a viewer has played, as far as these may see their profiles."""
    query = select(Person.id, Person.handle).where(Person.id.in_(people), Person.shown != "nobody")
    return {person: handle for person, handle in session.execute(query) if handle is not None}
