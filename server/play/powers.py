"""The one door of moderators' powers: who may use one, and the deed that each use leaves, also at the shell.

Nobody decides about a table at which they sit or ever sat, or at which somebody is whom they block. Blocks against a
moderator do not count: a player could block all of them, and a refusal would reveal the block. Neither do invitations,
for anybody can send one.

The only moderator of a server may act at their own table after a warning, except for what would win it for them. The
log, and every email about the act, then say which seat they play.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, select, union, update
from sqlalchemy.orm import Session

from server.errors import Closed, InvalidInput
from server.store.facts import kept
from server.store.models import (
    Block,
    Game,
    GameStatus,
    ModeratorAction,
    Person,
    Seat,
    SeatStatus,
    Tenure,
)

ERASE_MODERATOR = "erase_mod"
"""The erasure of another moderator; a moderator who used it never counts as the only one."""
POWERS = frozenset(
    {
        *("!void", "!pause", "!resume", "!extend", "!credit", "!bank", "!autopilot", "!replace", "!link"),
        *("!look", "!abandon", "!note"),
        *("offer", "withdraw", "hide", "close", "open", "silence", "erase", ERASE_MODERATOR),
        *("clear", "mend"),
    }
)
"""Everything that moderators can do: acts of the log, then what stands beside it."""
OPERATORS = frozenset({"erase", "move", "stop_move"})
"""What the operator does about a person at the shell."""
ERASING = frozenset({"erase", ERASE_MODERATOR})
NEVER = frozenset({"!look", "!void", "!replace"}) | ERASING
"""What a moderator with a stake can never do, even if there is no other moderator."""
ABOUT_PEOPLE = frozenset({"silence"}) | ERASING
"""Powers over a person at all their tables."""
UNFINISHED = (GameStatus.INVITING, GameStatus.RUNNING)
LONGEST_REASON = 500

PLAYS = kept("%(reason)s (the moderator, who plays seat %(seat)s)")
PLAYED = kept("%(reason)s (the moderator, who played seat %(seat)s)")
_SIGNED = re.compile(r"themoderatorwhoplay(s|ed)(seat\d+|atthistable)$")
"""The letters and digits in which a signed reason ends, however it is spaced."""


class Conflict(Closed):
    """The moderator has a stake at this table."""

    code = "conflict"


class Unwarned(Conflict):
    """The only moderator has a stake at this table and has not confirmed that the table will read so."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A moderator who wants to use a power.

    Args:
        reason: as typed; `use` checks it.
        warned: they know that the table reads that they play there.
    """

    person_id: int
    reason: str
    warned: bool = False


@dataclass(frozen=True, slots=True)
class Stake:
    """What keeps a moderator from deciding about a table.

    Args:
        seat: that they hold or held; None: they only block somebody there, which nobody else is told.
        plays: they hold it now.
    """

    seat: int | None
    plays: bool = False

    @property
    def blocks(self) -> bool:
        """Whether they only block somebody there."""
        return self.seat is None

    def signed(self, reason: str) -> str:
        """Return a reason with who gives it, in English, as the log keeps it."""
        if self.seat is None:
            return reason
        return (PLAYS if self.plays else PLAYED) % {"reason": reason, "seat": self.seat + 1}


@dataclass(frozen=True, slots=True)
class Standing:
    """How a moderator stands to a table, for their pages.

    Args:
        stake: None if they are free.
        alone: there is no other moderator.
    """

    stake: Stake | None
    alone: bool

    @property
    def refused(self) -> bool:
        """Whether another moderator must decide."""
        return self.stake is not None and not self.alone

    @property
    def warned(self) -> bool:
        """Whether every act asks them to confirm that the table reads of it."""
        return self.stake is not None and self.alone


def standing(session: Session, game_id: str, moderator_id: int) -> Standing:
    """Return how a moderator stands to a table."""
    return Standing(_stake(session, game_id, moderator_id), _is_alone(session, moderator_id))


def admit(
    session: Session,
    power: str,
    moderator_id: int,
    *,
    game_id: str | None = None,
    about_id: int | None = None,
    gives_time: Collection[int] = (),
) -> Stake | None:
    """Check that a moderator may use a power, if need be after a warning; return the stake to be named.

    Args:
        game_id: the table that it concerns.
        about_id: the person whom it concerns.
        gives_time: the seats of this table that it gives time to.

    Raises:
        Conflict: another moderator must decide, or it is out of the question.
    """
    assert power in POWERS, power
    found = _stake(session, game_id, moderator_id) if game_id is not None else None
    if found is None and about_id is not None and power in ABOUT_PEOPLE:
        found = _stake_in(session, about_id, moderator_id)
    if found is None:
        return None
    if not _is_alone(session, moderator_id):
        if found.blocks:
            raise Conflict("You have blocked somebody whom this concerns. Another moderator must decide.")
        raise Conflict("You play or played at a table that this concerns. Another moderator must decide.")
    if power in NEVER:
        if found.blocks:
            raise Conflict("You have blocked somebody whom this concerns, so you cannot do this.")
        raise Conflict("You play or played at a table that this concerns, so you can never do this.")
    if found.plays and found.seat in gives_time:
        raise Conflict("This would give your own seat more time.")
    return found


def use(
    session: Session,
    power: str,
    by: Asker,
    now: datetime,
    *,
    game_id: str | None = None,
    about_id: int | None = None,
    gives_time: Collection[int] = (),
    longest: int | None = LONGEST_REASON,
) -> ModeratorAction:
    """Let a moderator use a power: check that they may, and leave a deed with the reason, signed if they have a stake.

    Args:
        longest: characters of the signed reason; None if the caller checks it.

    Returns:
        The deed; the caller does the rest in the same transaction, with the deed's reason.

    Raises:
        Conflict: as for `admit`. Unwarned: they have not confirmed the warning. InvalidInput: the reason.
    """
    stake = admit(session, power, by.person_id, game_id=game_id, about_id=about_id, gives_time=gives_time)
    if stake is not None and not by.warned:
        raise Unwarned("You are involved at this table yourself. Tick the box to act anyway.")
    if _SIGNED.search(re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", by.reason).lower())):
        raise InvalidInput("Give the reason without your seat; the server adds it.", field="reason")
    reason = by.reason if longest is None else _clean(by.reason, longest, stake)
    if about_id is not None and power in ERASING:
        _check_nameless(reason, session.get_one(Person, about_id))
    reason = stake.signed(reason) if stake is not None else reason
    deed = ModeratorAction(
        power=power, game_id=game_id, person_id=by.person_id, about_id=about_id, reason=reason, at=now
    )
    session.add(deed)
    return deed


def note_operator(session: Session, power: str, reason: str, now: datetime, *, about_id: int) -> None:
    """Leave the deed of what the operator does about a person; the caller does the rest in the same transaction.

    Raises:
        InvalidInput: there is no reason, or it contains a name or an address.
    """
    assert power in OPERATORS, power
    reason = _clean(reason, LONGEST_REASON)
    _check_nameless(reason, session.get_one(Person, about_id))
    session.add(ModeratorAction(power=power, person_id=None, about_id=about_id, reason=reason, at=now))


def forget(session: Session, person_id: int) -> None:
    """Delete the reasons that moderators gave about a person who is erased, but for that of the erasure."""
    about = (ModeratorAction.about_id == person_id, ModeratorAction.power.not_in(ERASING))
    session.execute(update(ModeratorAction).where(*about).values(reason=None))


def _check_nameless(reason: str, person: Person) -> None:
    """Refuse a reason with the name of the person whom it is about, or with any email address."""
    names = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in (person.name, person.handle) if name]
    if re.search("|".join([r"\S@\S", *names]), reason, re.IGNORECASE):
        raise InvalidInput("Give the reason without name and address: it is kept.", field="reason")


def _clean(text: str, longest: int, stake: Stake | None = None) -> str:
    """Return a reason as one line that has room for the signature."""
    reason = " ".join(unicodedata.normalize("NFC", text).split())
    most = longest - len(stake.signed("") if stake is not None else "")
    if not reason or len(reason) > most or not reason.isprintable():
        raise InvalidInput(
            "Give a reason of 1 to %(most)s characters, on one line.", field="reason", most=most
        )
    return reason


def _is_alone(session: Session, moderator_id: int) -> bool:
    """Whether nobody else is a moderator; one who is not free counts, or the answer might reveal their blocks."""
    others = select(Person.id).where(Person.moderator, Person.email.is_not(None), Person.id != moderator_id)
    if session.scalar(others.limit(1)) is not None:
        return False
    erased = (ModeratorAction.person_id == moderator_id, ModeratorAction.power == ERASE_MODERATOR)
    return session.scalar(select(ModeratorAction.id).where(*erased).limit(1)) is None


def _stake(session: Session, game_id: str, moderator_id: int) -> Stake | None:
    own = (Seat.game_id == game_id, Seat.person_id == moderator_id, Seat.status == SeatStatus.SEATED)
    seat = session.scalar(select(Seat.seat).where(*own))
    if seat is not None:
        return Stake(seat, plays=True)
    held = (Tenure.game_id == game_id, Tenure.person_id == moderator_id)
    seat = session.scalar(select(Tenure.seat).where(*held).order_by(Tenure.from_seq.desc()).limit(1))
    if seat is not None:
        return Stake(seat)
    blocked = (Block.person_id == moderator_id, Block.other_id.in_(_people_of(Game.id == game_id)))
    found = session.scalar(select(Block.other_id).where(*blocked).limit(1))
    return Stake(None) if found is not None else None


def _people_of(which: ColumnElement[bool]) -> Select[Any]:
    """Return the query of those who sit, sat or organise at some tables."""
    seated = (
        select(Seat.person_id)
        .join(Game, Game.id == Seat.game_id)
        .where(which, Seat.status == SeatStatus.SEATED)
    )
    held = select(Tenure.person_id).join(Game, Game.id == Tenure.game_id).where(which)
    everybody = union(seated, held, select(Game.organiser_id).where(which)).subquery()
    return select(everybody.c[0]).where(everybody.c[0].is_not(None))


def _stake_in(session: Session, person_id: int, moderator_id: int) -> Stake | None:
    """Return a moderator's stake in a person: an unfinished game that both have to do with, or an own block."""
    seated = select(Seat.game_id).where(Seat.person_id == person_id, Seat.status == SeatStatus.SEATED)
    held = select(Tenure.game_id).where(Tenure.person_id == person_id)
    organised = select(Game.id).where(Game.organiser_id == person_id)
    theirs = union(seated, held, organised).subquery()
    unfinished = select(Game.id).where(Game.id.in_(select(theirs.c[0])), Game.status.in_(UNFINISHED))
    for game_id in session.scalars(unfinished.order_by(Game.id)):
        found = _stake(session, game_id, moderator_id)
        if found is not None and not found.blocks:
            return found
    blocked = session.get(Block, (moderator_id, person_id))
    return Stake(None) if blocked is not None else None
