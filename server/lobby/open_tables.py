"""Open tables: finding them, what people want to hear of, and seats of running games that need another player."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, exists, func, or_, select
from sqlalchemy.orm import Session

from byzanz.games import latest
from byzanz.record import Cause
from byzanz.rules import PUBLIC
from server import i18n, play, validation
from server.community import blocks, results
from server.community.results import Kind, Span
from server.errors import Closed, InvalidInput, NoSuchLink, TooMany
from server.lobby import notify
from server.lobby.create import check_asked, check_name_free, learn_name, lock_organised_game
from server.play import names, positions, powers
from server.play.game import Table
from server.play.moderation import has_looked
from server.play.powers import Asker
from server.store import links, log, outbox
from server.store.engine import reading, transaction
from server.store.mail_kinds import MailKind
from server.store.models import (
    NOT_NUMEROUS,
    Game,
    GameStatus,
    Link,
    LinkPurpose,
    Mail,
    Person,
    Seat,
    SeatStatus,
    Tenure,
    Wish,
)
from server.store.statements import SeatRow

A_PAGE = 20
"""Tables on one page."""
MOST_OFFERED = 10
"""Seats of running games that are listed, those waiting longest first."""
LAST_PAGE = 500
PACES = (3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400)
"""Seconds for a decision, at least, as the filter offers them."""
FREE = Seat.status == SeatStatus.FREE


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter of tables; whatever is None may be anything.

    Args:
        slug: of the game.
        size: seats of the table.
        pace: seconds for a decision, at least.
        language: of the organiser.
        free: seats that nobody has taken, at least.
    """

    slug: str | None = None
    size: int | None = None
    pace: int | None = None
    language: str | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table that waits for players.

    Args:
        size: all its seats; free: those that anybody may take.
        seats: in order.
        language: its organiser's, if they have chosen one.
        took: how long games like this took, if that is known.
    """

    game: Game
    size: int
    free: int
    seats: Sequence[Seat]
    language: str | None
    took: Span | None


@dataclass(frozen=True, slots=True)
class OfferedSeat:
    """A seat of a running game that needs a player.

    Args:
        others: the other seats.
        took: how long games like this took, if that is known.
    """

    game: Game
    seat: Seat
    others: Sequence[Seat]
    took: Span | None


def wanted(query: Mapping[str, str]) -> Wanted:
    """Read the filter of an address: `game`, `size`, `pace`, `language` and `free`, each may be missing or empty.

    Raises:
        InvalidInput: a value is not one that a table can have.
    """
    game, language = query.get("game", ""), query.get("language", "")
    if language and language not in i18n.NAMES:
        raise _invalid("language", language)
    return Wanted(
        slug=validation.game_rules(game, latest()).slug if game else None,
        size=_number(query, "size", 99),
        pace=_number(query, "pace", validation.LONGEST_ALLOWANCE),
        language=language or None,
        free=_number(query, "free", 99),
    )


def _number(query: Mapping[str, str], name: str, most: int) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    number = validation.whole_number(text, most, 1)
    if number is None:
        raise _invalid(name, text)
    return number


def _invalid(field: str, text: str) -> InvalidInput:
    return InvalidInput(
        "“%(text)s” is not a value to filter tables by.", field=field, text=validation.excerpt(text)
    )


def open_tables(
    session: Session, which: Wanted, reader_id: int | None, page: int = 1, most: int = A_PAGE
) -> tuple[list[OpenTable], bool]:
    """Return a page of the open tables, those with the fewest free seats first, and whether there are more.

    Args:
        reader_id: who asks, if signed in: tables of people with whom a block stands, and their own, are left out.
        page: from 1.
        most: tables on a page.
    """
    query = _open(which, _hidden(session, reader_id))
    if reader_id is not None:
        own = select(Seat.game_id).where(Seat.person_id == reader_id, Seat.status != SeatStatus.DECLINED)
        query = query.where(
            Game.id.not_in(own), or_(Game.organiser_id.is_(None), Game.organiser_id != reader_id)
        )
    found = session.execute(query.offset((page - 1) * most).limit(most + 1)).all()
    seats = seats_of(session, [game.id for game, *_ in found])
    took = results.lengths(session, {_kind(game, size) for game, size, *_ in found})
    tables = [
        OpenTable(game, size, free, seats[game.id], language, took.get(_kind(game, size)))
        for game, size, free, language in found[:most]
    ]
    return tables, len(found) > most


def matching(session: Session, which: Wanted, reader_id: int, *more: ColumnElement[bool]) -> list[Game]:
    """Return the open tables that a person may be told about, in the order of `open_tables`; not their own.

    Args:
        more: further conditions.
    """
    own = select(Seat.game_id).where(Seat.person_id == reader_id)
    others = (Game.organiser_id != reader_id, Game.id.not_in(own), *more)
    query = _open(which, _hidden(session, reader_id)).where(*others).limit(A_PAGE)
    return [game for game, *_ in session.execute(query)]


def _open(which: Wanted, hidden: Collection[int]) -> Select[Any]:
    """Return the query of open tables, each with its size, its free seats and its language."""
    counted = (
        select(Seat.game_id, func.count().label("size"), func.count().filter(FREE).label("free"))
        .where(Seat.game_id.in_(select(Game.id).where(Game.open_until.is_not(None))))
        .group_by(Seat.game_id)
        .subquery()
    )
    query = (
        select(Game, counted.c.size, counted.c.free, Person.language)
        .join(counted, counted.c.game_id == Game.id)
        .outerjoin(Person, Person.id == Game.organiser_id)
        .where(Game.open_until.is_not(None), Game.listed, Game.quarantine.is_(None))
        .where(counted.c.free >= (which.free or 1), *_like(which), *_without(hidden))
    )
    if which.size is not None:
        query = query.where(counted.c.size == which.size)
    if which.language is not None:
        query = query.where(Person.language == which.language)
    return query.order_by(counted.c.free, Game.listed_at, Game.id)


def _like(which: Wanted) -> Iterator[ColumnElement[bool]]:
    if which.slug is not None:
        yield Game.slug == which.slug
    if which.pace is not None:
        yield Game.allowance >= which.pace


def _without(hidden: Collection[int]) -> Iterator[ColumnElement[bool]]:
    if hidden:
        yield Game.id.not_in(
            select(Seat.game_id).where(Seat.status == SeatStatus.SEATED, Seat.person_id.in_(hidden))
        )
        yield or_(Game.organiser_id.is_(None), Game.organiser_id.not_in(hidden))


def _hidden(session: Session, reader_id: int | None) -> set[int]:
    """Return the people at listed tables and tables with offered seats with whom a block of the reader stands."""
    if reader_id is None:
        return set()
    waiting = select(Game.id).where(Game.open_until.is_not(None))
    games = waiting.union(select(Seat.game_id).where(Seat.offered_at.is_not(None)))
    seated = select(Seat.person_id).where(Seat.game_id.in_(games), Seat.status == SeatStatus.SEATED)
    everybody = session.scalars(seated.union(select(Game.organiser_id).where(Game.id.in_(games))))
    return blocks.between(session, reader_id, {each for each in everybody if each is not None})


def offered_seats(session: Session, which: Wanted, reader_id: int | None) -> list[OfferedSeat]:
    """Return the seats of running games that need a player, those waiting longest first.

    Args:
        which: its `language` and `free` do not matter here.
        reader_id: who asks, if signed in: tables of people with whom a block stands, and their own, are left out.
    """
    query = (
        select(Game, Seat)
        .join(Seat, Seat.game_id == Game.id)
        .where(Seat.offered_at.is_not(None), Game.status == GameStatus.RUNNING, Game.quarantine.is_(None))
        .where(*_like(which), *_without(_hidden(session, reader_id)))
    )
    if which.size is not None:
        size = select(func.count()).where(Seat.game_id == Game.id).correlate(Game).scalar_subquery()
        query = query.where(size == which.size)
    if reader_id is not None:
        query = query.where(Game.id.not_in(select(Seat.game_id).where(Seat.person_id == reader_id)))
    found = session.execute(query.order_by(Seat.offered_at, Seat.game_id).limit(MOST_OFFERED)).all()
    return described(session, [(game, seat) for game, seat in found])


def described(session: Session, found: Sequence[tuple[Game, Seat]]) -> list[OfferedSeat]:
    """Return offered seats with what is said about them."""
    seats = seats_of(session, [game.id for game, _ in found])
    took = results.lengths(session, {_kind(game, len(seats[game.id])) for game, _ in found})
    return [
        OfferedSeat(
            game,
            seat,
            [other for other in seats[game.id] if other.seat != seat.seat],
            took.get(_kind(game, len(seats[game.id]))),
        )
        for game, seat in found
    ]


def seats_of(session: Session, game_ids: Collection[str]) -> Mapping[str, list[Seat]]:
    """Return the seats of several games, in order."""
    found: dict[str, list[Seat]] = defaultdict(list)
    for seat in session.scalars(select(Seat).where(Seat.game_id.in_(game_ids)).order_by(Seat.seat)):
        found[seat.game_id].append(seat)
    return found


def _kind(game: Game, size: int) -> Kind:
    return Kind(game.slug, size, game.allowance, game.bank, game.days_off)


# ---- people who want to hear of them ----

MOST = 3
"""Searches that a person can keep."""
A_DAY = timedelta(days=1)
LATELY = timedelta(days=7)
"""Tables that opened earlier are not told any more; emails about them may have been deleted since."""
READERS_AT_ONCE = 200


def add(person_id: int, which: Wanted, now: datetime) -> None:
    """Keep a search; the same one twice is one.

    Args:
        which: its `language` and `free` are not kept.

    Raises:
        TooMany: the person keeps as many as they can.
    """
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update={"key_share": True})
        kept = of_person(session, person_id)
        if any((wish.slug, wish.size, wish.pace) == (which.slug, which.size, which.pace) for wish in kept):
            return
        if len(kept) >= MOST:
            raise TooMany("You can keep %(most)s searches. Delete one of them first.", most=MOST)
        session.add(
            Wish(
                person_id=person_id,
                slug=which.slug,
                size=which.size,
                pace=which.pace,
                created_at=now,
            )
        )


def remove(person_id: int, wish_id: int | None = None) -> None:
    """Delete one search of a person, or all of them if none is named."""
    with transaction() as session:
        gone = delete(Wish).where(Wish.person_id == person_id)
        session.execute(gone if wish_id is None else gone.where(Wish.id == wish_id))


def of_person(session: Session, person_id: int) -> Sequence[Wish]:
    """Return the searches of a person, the oldest first."""
    return session.scalars(select(Wish).where(Wish.person_id == person_id).order_by(Wish.id)).all()


def tell(now: datetime) -> int:
    """Queue one email to each person for whom a table has opened since the last one; return how many.

    A person gets at most one within a day, with all tables of all their searches.
    """
    with reading() as session:
        if session.scalar(select(Game.id).where(*_lately(now)).limit(1)) is None:
            return 0
    told, after = 0, 0
    while True:
        with reading() as session:
            readers = session.scalars(_readers(now, after).limit(READERS_AT_ONCE)).all()
        told += sum(_tell(person_id, now) for person_id in readers)
        if len(readers) < READERS_AT_ONCE:
            return told
        after = readers[-1]


_KIND = MailKind.WISH


def _lately(now: datetime) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The condition of a query for the open tables that people may be told about."""
    return Game.open_until.is_not(None), Game.listed_at > now - LATELY


def _readers(now: datetime, after: int) -> Select[int]:
    """Return the query of people for whom a table may have opened since their last email."""
    size = select(func.count()).where(Seat.game_id == Game.id).correlate(Game).scalar_subquery()
    recent = or_(Mail.created_at > now - A_DAY, Mail.created_at >= Game.listed_at)
    had = exists().where(NOT_NUMEROUS, Mail.person_id == Wish.person_id, Mail.kind == _KIND, recent)
    return (
        select(Wish.person_id)
        .distinct()
        .select_from(Game)
        .join(Wish, or_(Wish.slug.is_(None), Wish.slug == Game.slug))
        .where(*_lately(now))
        .where(Game.listed_at > Wish.created_at, or_(Wish.pace.is_(None), Game.allowance >= Wish.pace))
        .where(or_(Wish.size.is_(None), Wish.size == size), ~had)
        .where(Wish.person_id > after, Game.organiser_id.is_distinct_from(Wish.person_id))
        .order_by(Wish.person_id)
    )


def _tell(person_id: int, now: datetime) -> bool:
    with transaction() as session:
        session.get_one(Person, person_id, with_for_update={"key_share": True})
        theirs = (NOT_NUMEROUS, Mail.person_id == person_id, Mail.kind == _KIND)
        last = session.scalar(select(func.max(Mail.created_at)).where(*theirs))
        if last is not None and last > now - A_DAY:
            return False
        since = max(now - LATELY, last or now - LATELY)
        found: dict[str, Game] = {}
        for wish in of_person(session, person_id):
            opened = Game.listed_at > max(since, wish.created_at)
            which = Wanted(wish.slug, wish.size, wish.pace)
            found |= {game.id: game for game in matching(session, which, person_id, opened)}
        if not found:
            return False
        outbox.enqueue(
            session,
            key=f"wish:{person_id}:{int(now.timestamp())}",
            kind=_KIND,
            person_id=person_id,
            now=now,
            details={"games": [*found]},
        )
        return True


# ---- seats of running games ----

FIRST_DECISIONS = 3
"""Who takes a seat and leaves before so many decisions may not take another for a while."""
NO_OTHER = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Vacancy:
    """A seat whose player is away.

    Args:
        name: what they are called.
        since: when they went away.
        offered_from: when the reader may offer the seat.
    """

    seat: SeatRow
    name: str
    since: datetime
    offered_from: datetime


def vacancies(table: Table, *, by_player: bool) -> list[Vacancy]:
    """Return the seats of a running game whose players are away, in order.

    Args:
        by_player: for anybody at the table; otherwise for the organiser or a moderator.
    """
    seats = [seat for seat in table.seats if seat.autopilot and seat.person_id is not None]
    if table.game.status != GameStatus.RUNNING or not seats:
        return []
    game, reader = table.game, PUBLIC if by_player else names.ORGANISER
    since = play.absent_since(table.session, game.id)
    return [
        Vacancy(
            seat,
            names.of(game, seat, reader),
            since[seat.seat],
            play.offered_from(seat, since[seat.seat], by_player=by_player),
        )
        for seat in seats
        if seat.seat in since
    ]


def offer_as_organiser(token: str, number: int, now: datetime, *, offered: bool = True) -> None:
    """Offer a seat of the game whose organiser's page this token opens, or end the offer.

    Raises:
        NoSuchLink, Closed (the player is present, or not away for long enough), NotRunning.
    """
    with transaction(token) as session:
        _offer(session, lock_organised_game(session, token, now).id, number, now, offered)


def offer_as_moderator(game_id: str, number: int, by: Asker, now: datetime, *, offered: bool = True) -> None:
    """Offer a seat of any game, or end the offer.

    Raises:
        Conflict: the moderator has a stake at this table; if the only one goes on, the log gets a note.
        NoSuchGame, Closed (the player is present, or not away for long enough), NotRunning.
        InvalidInput: there is no reason.
    """
    with transaction(game_id) as session:
        play.lock_game(session, game_id)
        powers.use(session, "offer" if offered else "withdraw", by, now, game_id=game_id)
        _offer(session, game_id, number, now, offered)
        told = powers.standing(session, game_id, by.person_id).stake is not None
    if told:
        play.moderate(game_id, "!note", reason=by.reason, person_id=by.person_id, now=now, warned=by.warned)


def _offer(session: Session, game_id: str, number: int, now: datetime, offered: bool) -> None:
    if offered:
        play.offer_seat(session, game_id, number, now, by_player=False)
    else:
        play.withdraw_offer(session, game_id, number, now)


def offer_as_player(token: str, number: int, now: datetime) -> None:
    """Offer another seat of the game in which this token opens a seat.

    Raises:
        NoSuchLink, Closed (the player is present, or not away for long enough), NotRunning.
    """
    with transaction(token) as session:
        link = links.find(session, LinkPurpose.SEAT, token, now)
        game = play.lock_game(session, link.game_id) if link and link.game_id else None
        if link is None or game is None or links.seat_access(session, token, now) is None:
            raise NoSuchLink("This link is not valid.")
        play.offer_seat(session, game.id, number, now, by_player=True)


def offered_seat(
    session: Session, game_id: str, number: int, reader_id: int | None
) -> tuple[Game, Seat] | None:
    """Return an offered seat; None if it is not offered to this reader, whatever the reason."""
    game, seat = session.get(Game, game_id), session.get(Seat, (game_id, number))
    if (
        game is None
        or seat is None
        or seat.offered_at is None
        or game.status != GameStatus.RUNNING
        or game.quarantine
    ):
        return None
    return None if reader_id is not None and _is_blocked(session, game, reader_id) else (game, seat)


def _is_blocked(session: Session, game: Game, person_id: int) -> bool:
    """Whether a block stands between a person and anybody at a table."""
    people = {seat.person_id for seat in positions.seats_of(session, game.id)} | {game.organiser_id}
    return bool(blocks.between(session, person_id, {each for each in people if each is not None}))


def take(game_id: str, number: int, person_id: int, name: str, now: datetime) -> str:
    """Let a signed-in person take an offered seat; return the address of the seat. Repeating it changes nothing.

    Raises:
        NoSuchGame, Closed (not offered, or not to them), TooMany (they have given one up lately), InvalidInput (name),
        NotRunning, Broken.
    """
    name = validation.clean_name(name)
    with transaction(game_id) as session:
        game = play.lock_game(session, game_id)
        person = session.get_one(Person, person_id, with_for_update={"key_share": True})
        found = offered_seat(session, game_id, number, person_id)
        if found is None:
            if (own := _url_of_own(session, game, number, person_id)) is not None:
                return own
            raise play.not_offered()
        _check_taker(session, game, person_id, now)
        check_asked(session, game, person_id)
        check_name_free(session, found[1], name)
        learn_name(person, name)
        play.take_seat(session, game_id, number, person, name, now)
        made = [links.link_for(session, purpose, person_id, game_id, now) for purpose in notify.EVERY_MAIL]
        person.accepted = True
        return links.url(made[0])


def _url_of_own(session: Session, game: Game, number: int, person_id: int) -> str | None:
    """Return the address of a seat that this person holds: they have pressed the button that took it twice."""
    seat = session.get(Seat, (game.id, number))
    own = (
        seat is not None
        and seat.person_id == person_id
        and seat.status == SeatStatus.SEATED
        and not seat.left
    )
    link = links.existing(session, LinkPurpose.SEAT, person_id, game.id) if own else None
    return links.url(link) if link else None


def _check_taker(session: Session, game: Game, person_id: int, now: datetime) -> None:
    """Check that a person has not seen hidden cards of this game, and keeps the seats that they take.

    Raises:
        Closed, TooMany.
    """
    sat = select(Seat.seat).where(Seat.game_id == game.id, Seat.person_id == person_id)
    opened = select(Link.id).where(
        Link.person_id == person_id, Link.game_id == game.id, Link.purpose == LinkPurpose.SEAT
    )
    if session.scalar(sat.limit(1)) is not None or session.scalar(opened.limit(1)) is not None:
        raise Closed("You have or had a seat at this table, so you cannot take another.")
    if has_looked(session, game.id, person_id):
        raise Closed("You have viewed hidden hands in this game, so you cannot take a seat.")
    if _gave_up_lately(session, person_id, now):
        raise TooMany("You left a game right after you took a seat in it. Take another one 30 days later.")


def _gave_up_lately(session: Session, person_id: int, now: datetime) -> bool:
    """Whether a person has taken an offered seat and left it again within their first decisions, a short time ago."""
    left = _left_lately(session, person_id, now)
    return any(log.count_decisions(session, *held) < FIRST_DECISIONS for held in left)


def _left_lately(session: Session, person_id: int, now: datetime) -> list[tuple[str, int, int, int]]:
    """Return the seats that a person took when they were offered and left a short time ago.

    Returns:
        For each: the game, the seat, and the seqs of the `!replace` and the `!leave`.
    """
    query = select(Tenure.game_id, Tenure.seat, Tenure.from_seq, Tenure.to_seq)
    rows = session.execute(query.where(Tenure.person_id == person_id))
    ended = [(game_id, seat, first, end) for game_id, seat, first, end in rows if end is not None]
    times = log.times(session, [(game_id, end) for game_id, _, _, end in ended])
    late = [held for held in ended if times[held[0], held[3]] > now - NO_OTHER]
    games = {held[0] for held in late}
    taken = {(act.game_id, act.seq) for act in log.acts(session, games, "!replace") if act.by == Cause.PLAYER}
    left = {(act.game_id, act.seq) for act in log.acts(session, games, "!leave")}
    return [held for held in late if (held[0], held[2]) in taken and (held[0], held[3]) in left]
