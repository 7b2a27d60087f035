"""Two accounts of one person become one: everything that refers to the one moves to the other.

The tables themselves say what refers to a person, so a new table is handled without being named here. `RULES` names
only those whose rows do not simply move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Index,
    PrimaryKeyConstraint,
    Select,
    Table,
    UniqueConstraint,
    delete,
    exists,
    select,
    true,
    update,
)
from sqlalchemy.orm import Session

from server import play
from server.accounts import personal_data
from server.community import profiles, reliability, reports
from server.errors import Refused
from server.lobby import notify
from server.lobby.create import wait_for_players
from server.mail import deliverability
from server.play.moderation import looked_at
from server.store.models import (
    NOT_NUMEROUS,
    Absence,
    AddressChange,
    Alert,
    BrowserSession,
    Game,
    GameStatus,
    Link,
    LinkPurpose,
    Mail,
    Person,
    Reliability,
    Seat,
    SeatStatus,
    Tenure,
    Wish,
)


class NotOne(Refused):
    """The two accounts cannot become one."""

    code = "not_one"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two accounts, in one transaction that has locked both and the games of both.

    Args:
        kept: the account that stays.
        other: the account that ends.
    """

    session: Session
    kept: Person
    other: Person
    now: datetime


def check(session: Session, one_id: int, other_id: int) -> None:
    """Check that two accounts may become one: they never met, and neither has seen hidden hands of the other's games.

    Raises:
        NotOne: they may not; it does not say which of the reasons holds.
    """
    one, other = played(session, one_id), played(session, other_id)
    if one & other or looked_at(session, one_id) & other or looked_at(session, other_id) & one:
        raise NotOne(
            "These two accounts cannot be joined: both had a seat in the same game, or one of them has viewed hidden "
            "hands in a game of the other."
        )


def played(session: Session, person_id: int) -> set[str]:
    """Return the games in which a person has or ever had a seat, but not those that were called off."""
    seats = (
        select(Seat.game_id).join(Game, Game.id == Seat.game_id).where(Game.status != GameStatus.CANCELLED)
    )
    sits = seats.where(Seat.person_id == person_id, Seat.status == SeatStatus.SEATED)
    sat = select(Tenure.game_id).where(Tenure.person_id == person_id)
    return set(session.scalars(sits.union(sat)))


def games_of(session: Session, *person_ids: int) -> list[str]:
    """Return the games whose rows name one of some people, to be locked before the people are."""
    named = [
        select(column.table.c.game_id).where(column.in_(person_ids))
        for column in personal_data.references()
        if "game_id" in column.table.c and column.table.name not in personal_data.EMAILED
    ]
    organised = select(Game.id).where(Game.organiser_id.in_(person_ids))
    return sorted({game_id for game_id in session.scalars(organised.union(*named)) if game_id is not None})


def merge(pair: Pair, address: str, *, other_handle: bool) -> None:
    """Let one account have everything of the other, and its address; the other one's row stays, empty.

    Args:
        address: of `other`.
        other_handle: of two handles, that of `other` stays.
    """
    session, kept, other = pair.session, pair.kept, pair.other
    undigested = _running_seats(session, other.id) if other.cadence == "digest" != kept.cadence else []
    profiles.unite(session, kept, other, pair.now, take=other_handle)
    _move_alerts(pair)
    for rule in RULES.values():
        rule(pair)
    session.flush()
    games = games_of(session, other.id)
    for column in personal_data.references():
        _move(session, column, kept.id, other.id, games)
    values = {name: rule(kept, other) for name, rule in FIELDS.items()}
    personal_data.clear(other)
    session.flush()  # no two people have the same address at any moment
    values |= {"email": address, "digest_at": pair.now}
    _run(session, update(Person).where(Person.id == kept.id).values(values))
    session.expire_all()
    reliability.refresh(session, [kept.id])
    _start_clocks(pair, undigested)


def _start_clocks(pair: Pair, undigested: list[tuple[str, int]]) -> None:
    """Let the clocks of open turns start for which no email will come, and send the emails that can come only now."""
    session, kept, now = pair.session, pair.kept, pair.now
    if kept.silent:
        for game_id, seat in _running_seats(session, kept.id):
            play.mail_switched_off(session, game_id, seat, now)
        return
    if kept.unreachable is None and kept.suppressed is None:
        play.address_works(session, kept.id, now)
    for game_id, seat in undigested:
        play.digest_switched_off(session, game_id, seat, now)


def _running_seats(session: Session, person_id: int) -> list[tuple[str, int]]:
    """Return the seats of a person in running games."""
    seats = select(Seat.game_id, Seat.seat).join(Game, Game.id == Seat.game_id)
    held = seats.where(
        Seat.person_id == person_id, Seat.status == SeatStatus.SEATED, Game.status == GameStatus.RUNNING
    )
    return [(game_id, seat) for game_id, seat in session.execute(held.order_by(Seat.game_id))]


# ---- rows ----


def _move(session: Session, column: Column[int], kept: int, other: int, games: Sequence[str]) -> None:
    """Let the rows of a table that refer to one person refer to another; of two that would be the same, one stays.

    Args:
        games: of the other one, by which the emails about turns are found: they have no index by their recipients.
    """
    table = column.table
    assert isinstance(table, Table)
    for key in _keys(table):
        if column not in key:
            continue
        same = table.alias()
        beside = (same.c[each.name] == each for each in key if each is not column)
        taken = exists().where(same.c[column.name] == kept, *beside)
        _run(session, delete(table).where(column == other, taken))
    for which in (NOT_NUMEROUS, Mail.game_id.in_(games)) if table is Mail.__table__ else (true(),):
        _run(session, update(table).where(column == other, which).values({column.name: kept}))
    people = [each for each in table.columns if each in personal_data.references()]
    if len(people) > 1:  # nobody blocks or mutes themselves
        _run(session, delete(table).where(*(each == kept for each in people)))


def _keys(table: Table) -> Iterator[list[Column[Any]]]:
    """Return the columns of each key of a table that no two rows share."""
    for constraint in table.constraints:
        if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint):
            yield list(constraint.columns)
    for index in table.indexes:
        if isinstance(index, Index) and index.unique:
            yield list(index.columns)


def _run(session: Session, statement: Any) -> None:
    session.execute(statement, execution_options={"synchronize_session": False})


def _sign_out(pair: Pair) -> None:
    """Sign out every browser of both: none of them has shown that it may read this mailbox."""
    both = (pair.kept.id, pair.other.id)
    _run(pair.session, delete(BrowserSession).where(BrowserSession.person_id.in_(both)))


def _end_requests(pair: Pair) -> None:
    """End what was asked for with an older address: links to sign in, and other changes of address."""
    both = (pair.kept.id, pair.other.id)
    theirs = update(Link).where(Link.person_id.in_(both), Link.revoked_at.is_(None))
    _run(
        pair.session,
        theirs.where(Link.purpose.in_((LinkPurpose.SIGNIN, LinkPurpose.MOVE, LinkPurpose.OBJECT))).values(
            revoked_at=pair.now
        ),
    )
    _run(pair.session, delete(AddressChange).where(AddressChange.person_id.in_(both)))


def _count_again(pair: Pair) -> None:
    _run(pair.session, delete(Reliability).where(Reliability.person_id.in_((pair.kept.id, pair.other.id))))


def _absences_once(pair: Pair) -> None:
    """Drop the absences of the account that ends that overlap with those of the one that stays."""
    own = Absence.__table__.alias()
    meets = (own.c.from_at < Absence.to_at) & (Absence.from_at < own.c.to_at)
    twice = exists().where(own.c.person_id == pair.kept.id, meets)
    _run(pair.session, delete(Absence).where(Absence.person_id == pair.other.id, twice))


def _wishes_once(pair: Pair) -> None:
    own = Wish.__table__.alias()
    names = ("slug", "size", "pace")
    same = (own.c[name].is_not_distinct_from(Wish.__table__.c[name]) for name in names)
    twice = exists().where(own.c.person_id == pair.kept.id, *same)
    _run(pair.session, delete(Wish).where(Wish.person_id == pair.other.id, twice))


def _one_seat_each(pair: Pair) -> None:
    """Free one of two seats in a game that has not begun; the one where they have agreed to play stays."""
    session = pair.session
    both = {
        person.id: {seat.game_id: seat for seat in session.scalars(_seats(person.id)).unique()}
        for person in (pair.kept, pair.other)
    }
    for game_id, spare in both[pair.other.id].items():
        own = both[pair.kept.id].get(game_id)
        if own is not None:
            _free(
                pair,
                session.get_one(Game, game_id),
                min(spare, own, key=lambda seat: WORTH.index(seat.status)),
            )


def _free(pair: Pair, game: Game, seat: Seat) -> None:
    """Free a seat that nobody needs any more; its organiser is told as if an invitation had been declined."""
    told = game.status != GameStatus.INVITING or game.organiser_id in (pair.kept.id, pair.other.id)
    if seat.status == SeatStatus.INVITED and not told:
        notify.notify_organiser(pair.session, game, seat, "declined", pair.now)
    seat.status, seat.stored_name, seat.cut, seat.person_id = SeatStatus.FREE, "", "", None
    seat.invited_at = seat.answered_at = None
    seat.silent = seat.uncut = False
    pair.session.flush()
    wait_for_players(pair.session, game, pair.now)


def _seats(person_id: int) -> Select[Seat]:
    return select(Seat).where(Seat.person_id == person_id)


WORTH = (SeatStatus.FREE, SeatStatus.DECLINED, SeatStatus.INVITED, SeatStatus.SEATED)
"""What a seat means to its person, the least first."""


RULES: Mapping[str, Callable[[Pair], None]] = {
    "browser_session": _sign_out,
    "link": _end_requests,
    "reliability": _count_again,
    "absence": _absences_once,
    "wish": _wishes_once,
    "seat": _one_seat_each,
}
"""What is done before the rows of a table move, where it is more than leaving out doubles of their keys."""


def _move_alerts(pair: Pair) -> None:
    """Move the alerts about one account to the other; what is known about its old address goes."""
    session, kept, other = pair.session, pair.kept, pair.other
    of_old = deliverability.alert_keys(kept.id, games_of(session, kept.id))
    session.execute(delete(Alert).where(Alert.key.in_(of_old)))
    games = games_of(session, other.id)
    keys = (deliverability.alert_keys(person.id, games) for person in (other, kept))
    moves = dict(zip(*keys, strict=True))
    before, after = reports.alert_prefix(other.id), reports.alert_prefix(kept.id)
    about = Alert.key.in_(moves) | Alert.key.startswith(before, autoescape=True)
    for alert in session.scalars(select(Alert).where(about)).all():
        alert.key = moves.get(alert.key) or after + alert.key.removeprefix(before)


# ---- the person ----


def _mine(name: str) -> Callable[[Person, Person], object]:
    return lambda kept, _other: getattr(kept, name)


def _of_the_address(name: str) -> Callable[[Person, Person], object]:
    return lambda _kept, other: getattr(other, name)


def _either(name: str) -> Callable[[Person, Person], object]:
    return lambda kept, other: getattr(kept, name) or getattr(other, name)


def _clock(name: str) -> Callable[[Person, Person], object]:
    """Quiet hours belong to a time zone: they come from the account that has one."""
    return lambda kept, other: getattr(other if kept.time_zone is None else kept, name)


def _silence(name: str) -> Callable[[Person, Person], object]:
    """What a moderator decided about one holds for the other: the longer silence stays."""

    def longer(kept: Person, other: Person) -> object:
        until = other.silenced_until
        theirs = until is not None and (kept.silenced_until is None or until > kept.silenced_until)
        return getattr(other if theirs else kept, name)

    return longer


FIELDS: Mapping[str, Callable[[Person, Person], object]] = {
    **{name: _mine(name) for name in ("name", "cadence", "talk", "handle", "skeleton", "shown")},
    **{name: _of_the_address(name) for name in ("unreachable", "suppressed", "lost_at", "retry_at")},
    **{
        name: _either(name)
        for name in ("moderator", "silent", "no_invitations", "no_player_news", "language")
    },
    **{name: _clock(name) for name in ("time_zone", "quiet_from", "quiet_to")},
    **{name: _silence(name) for name in ("silenced_until", "silenced_why")},
    "created_at": lambda kept, other: min(kept.created_at, other.created_at),
    "accepted": lambda _kept, _other: True,
}
"""What becomes of each column of a person, besides the id, the address and the hint for digests."""
