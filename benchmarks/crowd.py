"""Databases with many running games in which nothing is due, made by a few statements."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, FromClause, String, cast, insert, literal, select
from sqlalchemy.orm import Session

from server.store import engine
from server.store.models import Entry, Game, Heartbeat, Mail, Person, Seat, Turn

SEATS = 4
GAMES_OF_A_PERSON = 20
"""Running games in which each person sits."""
READERS = 100
"""One person of so many gets a daily digest."""
INVITATIONS = 100
"""There is one game with a new invitation for so many that run."""
AT_ONCE = 100_000
"""Games inserted in one transaction."""
DAY = timedelta(days=1)


def prepare(now: datetime) -> None:
    """Store the heartbeats without which no deadline is enforced."""
    with engine.transaction() as session:
        session.add_all(Heartbeat(part=part, at=now) for part in ("web", "scheduler"))


def add_games(first: int, last: int, now: datetime) -> None:
    """Insert running games, each with its seats, an entry, a turn that is due tomorrow and its sent email.

    Args:
        first: how many games there are already.
        last: how many there are to be.
    """
    for begin in range(first, last, AT_ONCE):
        end = min(begin + AT_ONCE, last)
        with engine.transaction() as session:
            _add_people(session, _people(begin), _people(end), now)
            numbers = _numbers(begin, end)
            _add_games(session, numbers, now)
            invitations = select(numbers.c.n).where(numbers.c.n % INVITATIONS == 0).subquery()
            _add_invitations(session, invitations, now)


def count_rows() -> None:
    """Have the database count its rows for its query planner."""
    with engine.db.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def _people(games: int) -> int:
    return -(-games * SEATS // GAMES_OF_A_PERSON)


def _numbers(first: int, last: int) -> FromClause:
    """Return a table `n` of the numbers from `first` up to but not including `last`."""
    numbers = select(literal(first).label("n")).cte("numbers", recursive=True)
    return numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < last - 1))


def _insert(session: Session, table: Any, rows: FromClause, **values: Any) -> None:
    """Insert a row for each of `rows`; a value is an expression over these, or the same in all."""
    columns = table.__table__.c
    given = {
        name: value if isinstance(value, ColumnElement) else literal(value, columns[name].type)
        for name, value in values.items()
    }
    session.execute(insert(table).from_select(list(given), select(*given.values()).select_from(rows)))


def _named(prefix: str, number: ColumnElement[int]) -> ColumnElement[str]:
    return literal(prefix) + cast(number, String)


def _add_people(session: Session, first: int, last: int, now: datetime) -> None:
    if first == last:
        return
    numbers = _numbers(first, last)
    reads = numbers.c.n % READERS == 0
    for cadence, which in (("each", ~reads), ("digest", reads)):
        rows = select(numbers.c.n).where(which).subquery()
        name = _named("player", rows.c.n)
        _insert(
            session,
            Person,
            rows,
            id=rows.c.n + 1,
            email=name + "@example.org",
            name=name,
            created_at=now,
            cadence=cadence,
            time_zone="Europe/Berlin",
            digest_at=now + DAY / 4,
        )


def _add_games(session: Session, rows: FromClause, now: datetime) -> None:
    game_id = _named("g", rows.c.n)
    _add_game(session, rows, game_id, now, status="running", started_at=now, head=1)
    for seat in range(SEATS):
        person = _sitting(rows.c.n, seat)
        _add_seat(session, rows, game_id, seat=seat, status="seated", person_id=person)
    _insert(
        session,
        Entry,
        rows,
        game_id=game_id,
        seq=1,
        at=engine.stamp(now),
        by="chance",
        move="shuffle deal",
        salt="00" * 16,
        hash="00" * 32,
    )
    _add_turns(session, rows, game_id, now)


def _add_invitations(session: Session, rows: FromClause, now: datetime) -> None:
    game_id = _named("i", rows.c.n)
    _add_game(session, rows, game_id, now, status="inviting")
    _add_seat(session, rows, game_id, seat=0, status="invited", person_id=1, invited_at=now)
    _add_mail(session, rows, game_id, now, kind="invite", person_id=1)


def _add_game(
    session: Session, rows: FromClause, game_id: ColumnElement[str], now: datetime, **more: Any
) -> None:
    _insert(
        session,
        Game,
        rows,
        id=game_id,
        slug="byzanz",
        rules=1,
        name="A game",
        organiser_id=1,
        allowance=86400,
        seed="00" * 32,
        commitment="00" * 32,
        created_at=now,
        **more,
    )


def _add_seat(session: Session, rows: FromClause, game_id: ColumnElement[str], **more: Any) -> None:
    _insert(session, Seat, rows, game_id=game_id, name="Anna", **more)


def _sitting(number: ColumnElement[int], seat: int) -> ColumnElement[int]:
    """Return the person in a seat: each sits in twenty games that follow each other."""
    return (number * SEATS + seat) // GAMES_OF_A_PERSON + 1


def _add_turns(session: Session, rows: FromClause, game_id: ColumnElement[str], now: datetime) -> None:
    _insert(
        session,
        Turn,
        rows,
        game_id=game_id,
        seat=0,
        question="bid 1",
        opened_seq=1,
        opened_at=now,
        started_at=now,
        due_at=now + DAY,
        remind_at=now + DAY * 0.8,
    )
    _add_mail(session, rows, game_id, now, kind="turn", person_id=_sitting(rows.c.n, 0), seq=1)


def _add_mail(
    session: Session, rows: FromClause, game_id: ColumnElement[str], now: datetime, kind: str, **more: Any
) -> None:
    _insert(
        session,
        Mail,
        rows,
        key=literal(f"{kind}:") + game_id + ":0:1",
        kind=kind,
        created_at=now,
        not_before=now,
        game_id=game_id,
        seat=0,
        status="sent",
        finished_at=now,
        **more,
    )
