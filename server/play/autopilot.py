"""Seats whose player does not answer: the fallback is played for them at once, until he gives a sign.

Two decisions in a row that the clock had to make put a seat here, 72 hours without mail that arrives, a moderator, or
its own player who leaves. When nobody is left at a table who plays himself, the game rests instead of playing itself.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.i18n import kept
from server.store import alerts, log, outbox, people
from server.store.models import Entry, Game, Seat

MOST_MISSED = 2
"""Decisions in a row that the clock makes for a seat before it goes on autopilot."""
MISSED = kept("Two decisions in a row were not answered in time.")
UNREACHED = kept("No mail has reached this player for 72 hours.")
NOBODY = kept("Nobody at this table answers any more.")


def back(session: Session, game: Game, number: int, now: datetime) -> bool:
    """A sign of the player himself: no question has been missed in a row, and an autopilot ends."""
    seat = session.get_one(Seat, (game.id, number))
    if not seat.autopilot:
        seat.missed = 0
        return False
    freed(session, seat, now)
    log.append(session, game, seat=number, by="player", move=f"!autopilot {number} off", now=now)
    return True


def freed(session: Session, seat: Seat, now: datetime) -> None:
    """A seat is played by hand again; nobody need look for a substitute any more."""
    seat.autopilot, seat.missed = False, 0
    _clear(session, seat, now)


def _clear(session: Session, seat: Seat, now: datetime) -> None:
    for why in ("left", "lost"):
        alerts.clear(session, f"{why}:{seat.game_id}:{seat.seat}", now)


def switched_on(session: Session, game: Game, seat: Seat, now: datetime, note: str) -> int:
    """The server itself puts a seat on autopilot; the seq of the entry."""
    seat.autopilot = True
    move = f"!autopilot {seat.seat} on"
    return log.append(session, game, seat=seat.seat, by="clock", move=move, now=now, note=note).seq


def missed(session: Session, game: Game, number: int) -> None:
    """The clock has made a decision for this seat."""
    session.get_one(Seat, (game.id, number)).missed += 1


def take_over(session: Session, game: Game, now: datetime) -> None:
    """Put the seats on autopilot that have missed too many decisions in a row."""
    late = (Seat.game_id == game.id, Seat.missed >= MOST_MISSED, Seat.autopilot.is_(False))
    for seat in session.scalars(select(Seat).where(*late).order_by(Seat.seat)).all():
        switched_on(session, game, seat, now, MISSED)


def anybody(session: Session, game_id: str) -> bool:
    """Whether a person at this table plays himself."""
    awake = (Seat.game_id == game_id, Seat.person_id.is_not(None), Seat.autopilot.is_(False))
    return session.scalar(select(Seat.seat).where(*awake).limit(1)) is not None


def rest(session: Session, game: Game, now: datetime) -> None:
    """Nobody plays himself any more: the game waits for the first to come back, and moderators are alerted."""
    game.paused = True
    log.append(session, game, seat=None, by="clock", move="!pause", now=now, note=NOBODY)
    text = kept("A game rests, for nobody in it answers.")
    alerts.raise_alarm(session, f"rests:{game.id}", text, now, game.id)


def rests(session: Session, game: Game) -> bool:
    """Whether the game is paused because nobody answered, and not by a moderator."""
    if not game.paused:
        return False
    pauses = select(Entry.by).where(Entry.game_id == game.id, Entry.move == "!pause")
    return session.scalar(pauses.order_by(Entry.seq.desc()).limit(1)) == "clock"


def wake(session: Session, game: Game, now: datetime) -> None:
    """A game that rests goes on if somebody is back."""
    if rests(session, game) and anybody(session, game.id):
        game.paused = False
        log.append(session, game, seat=None, by="clock", move="!resume", now=now)
        alerts.clear(session, f"rests:{game.id}", now)


def has_left(session: Session, game_id: str, number: int) -> bool:
    """Whether the player of this seat has left the game and has not come back; the log knows."""
    last = select(Entry.move).where(
        Entry.game_id == game_id,
        Entry.move.in_((f"!leave {number}", f"!autopilot {number} off", f"!replace {number}")),
    )
    return session.scalar(last.order_by(Entry.seq.desc()).limit(1)) == f"!leave {number}"


def tell_in_charge(session: Session, game: Game, seat: Seat, why: str, now: datetime) -> None:
    """A substitute is wanted: an alarm for moderators, and a mail a day to them and to the organiser.

    Args:
        why: `left` or `lost` (no mail reaches the player).
    """
    texts = {
        "left": kept("A player has left his game: give his seat to somebody else."),
        "lost": kept("No mail has reached a player for 72 hours; the server plays for him."),
    }
    alerts.raise_alarm(session, f"{why}:{game.id}:{seat.seat}", texts[why], now, game.id)
    for reader in people.organiser_and_moderators(session, game) - {seat.person_id}:
        outbox.enqueue(
            session,
            key=f"vacant:{game.id}:{seat.person_id}:{why}:{now:%Y-%m-%d}:{reader}",
            kind="vacant",
            person_id=reader,
            now=now,
            game_id=game.id,
            details={"name": seat.name, "why": why},
        )


def end(session: Session, game: Game, now: datetime) -> None:
    """The game is over: nobody need be woken or replaced."""
    alerts.clear(session, f"rests:{game.id}", now)
    for seat in session.scalars(select(Seat).where(Seat.game_id == game.id, Seat.autopilot)).all():
        _clear(session, seat, now)
