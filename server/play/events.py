"""What happens to running games: `play` says it once, in the transaction that makes it true, and others consume it.

A consumer gets what one transaction has told of one game, in order, when everything else of it is written. It may only
insert rows whose keys are UNIQUE: a move waits for it, and the whole transaction fails with it. Nobody is told
anything of a visitor's game.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from byzanz.record import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that has happened to a game.

    Args:
        at: when.
    """

    at: datetime


# ---- the game ----


@dataclass(frozen=True, slots=True, kw_only=True)
class GameBegun(Event):
    """The first turns open next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRests(Event):
    """Every player is on autopilot, so the game is paused; `seq` is the newest entry."""

    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GameOver(Event):
    """The game has ended, with its result; `seq` is the newest entry."""

    seq: int


# ---- turns ----


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvent(Event):
    """Something about one turn.

    Args:
        opened_seq: the head of the log when it opened; with game and seat it names the turn.
    """

    seat: int
    opened_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOpened(TurnEvent):
    """A seat is to move; `bot` says whether a bot sits there."""

    bot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswered(TurnEvent):
    """What was asked of a seat is answered, by its player or for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockWaits(TurnEvent):
    """The clock of an open turn starts, or goes on, when an email about it is accepted.

    Args:
        at_page: the player's own move has just opened the turn, so they will probably see it without an email.
        again: an earlier email about this turn has failed.
    """

    at_page: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineNears(TurnEvent):
    """Most of the allowance of an open turn is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMissed(Event):
    """A seat has missed its deadline, and its default move is played.

    Args:
        first: the first entry that was played for it, and `last` the last one.
        autopilot: the seat is on autopilot now.
    """

    seat: int
    first: int
    last: int
    autopilot: bool


# ---- seats ----


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatVacant(Event):
    """A seat needs another player.

    Args:
        person_id: who holds it until then, and `name` what they are called at this table.
        left: they have left; otherwise no email has reached them for long.
        erased: they have left because they are erased.
    """

    seat: int
    person_id: int | None
    name: str
    left: bool
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatEvent(Event):
    """An act on one seat, with the seq of its entry and the reason that was given."""

    seat: int
    seq: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatTaken(SeatEvent):
    """A new player or a bot has a seat.

    Args:
        former_id: the person who had it before.
        by: `moderator`, or `player` for one who has taken an offered seat.
    """

    former_id: int | None
    by: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class AutopilotSwitchedOn(SeatEvent):
    """A moderator has put a seat on autopilot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRequested(SeatEvent):
    """A moderator sends the link of a seat again, the same or a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted(Event):
    """A moderator's act, or a takeover, is carried out; an event about one seat that it also told has its `seq`."""

    seq: int


# ---- talk ----


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSaid(Event):
    """A player has said something to the table. `server.community.talk` tells it and decides who may read it."""

    seat: int
    person_id: int
