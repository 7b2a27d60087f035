"""Whose question has been open since when, and due when. A row is the open question of one seat."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from server import clock
from server.schema import Game, Outage, Seat, Turn

NOTICE_SECONDS = 3600
"""Time that a turn keeps at the least after an outage or a moderator's act, or its allowance if that is shorter."""


def open_turns(session: Session, game_id: str) -> list[Turn]:
    """The open turns of a game, by seat."""
    return list(session.scalars(select(Turn).where(Turn.game_id == game_id).order_by(Turn.seat)))


def replace(
    session: Session,
    game: Game,
    questions: Mapping[int, str],
    now: datetime,
    anew: frozenset[int] = frozenset(),
) -> list[Turn]:
    """Make the open turns agree with the questions that the position asks.

    Args:
        game: locked; its head is the seq at which a new turn opens.
        questions: the text of the question of each awaited seat (`bid 17`); empty when paused or over.
        anew: seats whose turn starts again though their question is the same (a resume, a new player).

    Returns:
        The turns that have just opened.
    """
    current = {turn.seat: turn for turn in open_turns(session, game.id)}
    opened = []
    for seat, turn in current.items():
        if questions.get(seat) != turn.question or seat in anew:
            session.delete(turn)
    session.flush()
    for seat, question in questions.items():
        if seat in current and current[seat].question == question and seat not in anew:
            continue
        turn = Turn(
            game_id=game.id,
            seat=seat,
            question=question,
            opened_seq=game.head,
            opened_at=now,
            bot=session.get_one(Seat, (game.id, seat)).bot is not None,
        )
        session.add(turn)
        opened.append(turn)
    session.flush()
    return opened


def start(session: Session, game: Game, turn: Turn, at: datetime, due: datetime | None = None) -> None:
    """Let the clock of a turn begin.

    Args:
        at: when the mail server accepted the turn mail, or the turn opened for a seat that wants no mail.
        due: the moment printed in that mail; computed when not given.
    """
    turn.started_at = at
    turn.refused = None
    turn.due_at = due or reckoned(session, game, turn)
    turn.remind_at = clock.reminder(at, turn.due_at) if turn.due_at else None


def allowance_end(game: Game, turn: Turn, start: datetime) -> datetime:
    """When a turn whose clock begins at `start` would be due, as a mail composed at that moment prints it."""
    return clock.rounded_up(start + timedelta(seconds=game.allowance + turn.extra))


def reckoned(session: Session, game: Game, turn: Turn) -> datetime | None:
    """When this turn is due by all that is known now; None while no clock runs.

    The printed moment counts the allowance; outages since then move it, and after an outage that reached into the
    turn's last hour at least NOTICE_SECONDS (or the allowance) are left.
    """
    if turn.started_at is None or turn.refused:
        return None
    plain = allowance_end(game, turn, turn.started_at)
    stops = outages(session, turn.started_at)
    end = clock.due(turn.started_at, (plain - turn.started_at).total_seconds(), stops)
    if end == plain:
        return plain
    notice = timedelta(seconds=min(NOTICE_SECONDS, game.allowance))
    last_stop = max(to_at for from_at, to_at in stops if from_at < end)
    return clock.rounded_up(max(end, last_stop + notice))


def outages(session: Session, since: datetime) -> list[clock.Span]:
    """The outages that reach beyond `since`."""
    rows = session.scalars(select(Outage).where(Outage.to_at > since))
    return [(row.from_at, row.to_at) for row in rows]


_IN_ORDER = exists().where(Game.id == Turn.game_id, Game.quarantine.is_(None))
"""Games set aside must not fill the first places of a hint for good: asked row by row, along the hint's own index."""


def due_games(session: Session, now: datetime, limit: int) -> list[str]:
    """Games with a turn that looks due, the longest overdue first: a hint, read without a lock."""
    query = select(Turn.game_id).where(Turn.due_at <= now, _IN_ORDER).order_by(Turn.due_at).limit(limit)
    return list(dict.fromkeys(session.scalars(query)))  # no DISTINCT: the index gives the first few at once


def to_remind(session: Session, now: datetime, limit: int) -> list[Turn]:
    """Turns whose reminder looks due: a hint, read without a lock."""
    query = select(Turn).where(Turn.remind_at <= now, _IN_ORDER).order_by(Turn.remind_at).limit(limit)
    return list(session.scalars(query))


def bots_awaited(session: Session, limit: int) -> list[Turn]:
    """Open turns of seats that a bot holds, oldest first."""
    query = select(Turn).where(Turn.bot, _IN_ORDER).order_by(Turn.opened_at).limit(limit)
    return list(session.scalars(query))


def close_all(session: Session, game_id: str) -> None:
    """Nobody is awaited: the game is paused or over."""
    session.execute(delete(Turn).where(Turn.game_id == game_id))
