"""Whose question has been open since when, and due when. A row is the open question of one seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from server.play import clock
from server.store.models import Absence, Game, Heartbeat, Outage, Seat, Turn

NOTICE_SECONDS = 3600
"""Time that a turn keeps at the least after an outage, or its allowance if that is shorter."""
UNREACHED_SECONDS = 72 * 3600
"""How long a clock stands for a mail that was refused before the seat goes on autopilot (promises.md 5)."""


@dataclass(frozen=True, slots=True)
class Times:
    """Until when a turn has time.

    Args:
        start: when its clock began.
        allowance_end: when the allowance is used up, and the bank begins.
        due: when the bank is used up, too, and the fallback is played.
        bank: seconds of the bank that this turn may use.
        hours: what its clock leaves out.
    """

    start: datetime
    allowance_end: datetime
    due: datetime
    bank: int
    hours: clock.Hours

    @property
    def absences(self) -> list[clock.Span]:
        """The absences that move this turn."""
        return [(gone, back) for gone, back in self.hours.absences if self.start < back and gone < self.due]


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

    A turn that was answered takes from the seat's bank what it used of it; one that a pause, a void or a new holder
    ends takes nothing.

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
            if seat not in anew and not game.paused:
                _charge(session, game, turn, now)
            session.delete(turn)
    session.flush()
    for seat, question in questions.items():
        if seat in current and current[seat].question == question and seat not in anew:
            continue
        turn = _opened(session, game, session.get_one(Seat, (game.id, seat)), question, now)
        session.add(turn)
        opened.append(turn)
    session.flush()
    return opened


def _opened(session: Session, game: Game, seat: Seat, question: str, now: datetime) -> Turn:
    """A new turn; what its clock leaves out is fixed here, so that no mail is made untrue by what is set later."""
    return Turn(
        game_id=game.id,
        seat=seat.seat,
        question=question,
        opened_seq=game.head,
        opened_at=now,
        bot=seat.bot is not None,
        hours=hours_of(session, game, seat, now).write(),
        bank=seat.bank,
    )


def hours_of(session: Session, game: Game, seat: Seat, now: datetime) -> clock.Hours:
    """What a turn of this seat that opens now leaves out: the table's days off, its person's hours and absences."""
    person = seat.person
    if person is None:
        return clock.ALWAYS
    away = (
        select(Absence).where(Absence.person_id == person.id, Absence.to_at > now).order_by(Absence.from_at)
    )
    quiet = None
    if person.quiet_from is not None and person.quiet_to is not None:
        quiet = (person.quiet_from, person.quiet_to)
    return clock.Hours(
        zone=person.time_zone or game.time_zone,
        quiet=quiet,
        table_zone=game.time_zone,
        days_off=game.days_off,
        absences=tuple((row.from_at, row.to_at) for row in session.scalars(away)),
    )


def _charge(session: Session, game: Game, turn: Turn, now: datetime) -> None:
    """Take from the seat's bank what a turn used beyond its allowance."""
    known = times(session, game, turn)
    if known is None or now <= known.allowance_end:
        return
    stops = outages(session, known.allowance_end)
    used = clock.counted(known.allowance_end, now, stops, known.hours)
    seat = session.get_one(Seat, (game.id, turn.seat))
    seat.bank -= min(seat.bank, turn.bank, int(used))


def start(session: Session, game: Game, turn: Turn, at: datetime, due: datetime | None = None) -> None:
    """Let the clock of a turn begin, or go on after it stood.

    Args:
        at: when the mail server accepted the turn mail, or the turn opened for a seat that wants no mail.
        due: the moment printed in that mail; computed when not given.
    """
    wait(session, game, turn)
    turn.started_at = at
    turn.due_at = due or reckoned(session, game, turn)
    turn.remind_at = reminder(session, game, turn)


def wait(session: Session, game: Game, turn: Turn) -> None:
    """Let a turn whose clock stands wait for the mail with which it goes on; it keeps the time that is left."""
    allowance, bank = _left(session, game, turn)
    turn.anew = turn.anew or _stood(turn)
    if bank < turn.bank:
        seat = session.get_one(Seat, (game.id, turn.seat))
        seat.bank -= min(seat.bank, turn.bank - bank)
    turn.extra, turn.bank = allowance - game.allowance, bank
    turn.started_at = turn.refused = turn.refused_at = None


def _left(session: Session, game: Game, turn: Turn) -> tuple[int, int]:
    """Seconds of allowance and bank that a turn has when its clock begins or goes on.

    Who never got a mail has used no time, so the clock begins anew when it came back. It does so once: after that it
    goes on where it stopped, or whoever sends mails back to us could make a turn as long as he likes; but as much is
    left as after an outage. What a part of the server has been silent for becomes an outage when it is back, and is
    none of the player's time now.
    """
    allowance, began, stood = game.allowance + turn.extra, turn.started_at, turn.refused_at
    if began is None or stood is None or not turn.anew:
        return allowance, turn.bank
    silent = session.scalars(select(Heartbeat.at).where(Heartbeat.at < stood))
    stops = [*outages(session, began), *((at, stood) for at in silent)]
    used = max(0, int(clock.counted(began, stood, stops, clock.Hours.read(turn.hours))))
    bank = turn.bank - min(turn.bank, max(0, used - allowance))
    return max(0, allowance - used, min(NOTICE_SECONDS, game.allowance) - bank), bank


def _stood(turn: Turn) -> bool:
    return turn.started_at is not None and turn.refused_at is not None


def printed(session: Session, game: Game, turn: Turn, start: datetime) -> Times:
    """Until when a turn has time whose clock begins at `start`, as a mail composed at that moment prints it."""
    hours = clock.Hours.read(turn.hours)
    allowance, bank = _left(session, game, turn)
    allowance_end = clock.rounded_up(clock.due(start, allowance, hours=hours))
    due = clock.rounded_up(clock.due(start, allowance + bank, hours=hours))
    return Times(start, allowance_end, due, bank, hours)


def times(session: Session, game: Game, turn: Turn) -> Times | None:
    """Until when this turn has time by all that is known now; None while no clock runs.

    The printed moments count; outages since then move them, and after an outage that moved the end at least
    NOTICE_SECONDS (or the allowance) that count are left.
    """
    if turn.started_at is None or turn.refused:
        return None
    plain = printed(session, game, turn, turn.started_at)
    stops = outages(session, turn.started_at)
    end = _moved(plain, plain.due, stops)
    if end == plain.due:
        return plain
    last_stop = max(to_at for from_at, to_at in stops if from_at < end)
    noticed = clock.due(last_stop, min(NOTICE_SECONDS, game.allowance), stops, plain.hours)
    due = clock.rounded_up(max(end, noticed))
    allowance_end = clock.rounded_up(_moved(plain, plain.allowance_end, stops)) if plain.bank else due
    return Times(plain.start, allowance_end, due, plain.bank, plain.hours)


def _moved(plain: Times, end: datetime, stops: Sequence[clock.Span]) -> datetime:
    """A printed moment, later by the outages that clocks would have counted."""
    seconds = clock.counted(plain.start, end, hours=plain.hours)
    return max(end, clock.due(plain.start, seconds, stops, plain.hours))


def reckoned(session: Session, game: Game, turn: Turn) -> datetime | None:
    """When this turn is due by all that is known now, and the fallback is played; None while no clock runs."""
    known = times(session, game, turn)
    return known.due if known else None


def reminder(session: Session, game: Game, turn: Turn) -> datetime | None:
    """When most of this turn's allowance has been counted, by the outages known now; None while no clock runs."""
    if turn.started_at is None or turn.refused:
        return None
    seconds = (game.allowance + turn.extra) * clock.REMINDER_SHARE
    stops = outages(session, turn.started_at)
    return clock.due(turn.started_at, seconds, stops, clock.Hours.read(turn.hours))


def gained(turn: Turn, old: datetime, new: datetime) -> int:
    """The seconds that a turn has won by a later end: its nights and days off are no gain."""
    return round(clock.counted(old, new, hours=clock.Hours.read(turn.hours)))


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


def given_up_at(session: Session, turn: Turn) -> datetime | None:
    """When a seat is given up that no mail about this turn reaches, outages left out; None while its clock runs."""
    if turn.refused_at is None:
        return None
    return clock.due(turn.refused_at, UNREACHED_SECONDS, outages(session, turn.refused_at))


def unreached(session: Session, now: datetime, limit: int) -> list[Turn]:
    """Turns that no mail has reached for long, in seats not given up before: a hint, read without a lock."""
    query = select(Turn).join(Seat, (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat))
    long = Turn.refused_at <= now - timedelta(seconds=UNREACHED_SECONDS)
    query = query.where(long, Seat.lost.is_(False), _IN_ORDER)
    return list(session.scalars(query.order_by(Turn.refused_at).limit(limit)))


def of_person(session: Session, person_id: int) -> list[tuple[Game, Seat, Turn]]:
    """The open turns of a person in all games that go on, the most urgent first, those without a clock last."""
    query = (
        select(Game, Seat, Turn)
        .join(Seat, Seat.game_id == Game.id)
        .join(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
        .where(Seat.person_id == person_id, Seat.status == "seated")
        .where(Game.status == "running", Game.paused.is_(False), Game.quarantine.is_(None))
        .order_by(Turn.due_at.is_(None), Turn.due_at, Turn.opened_at, Turn.game_id)
    )
    return list(session.execute(query).unique().tuples())


def bots_awaited(session: Session, limit: int) -> list[Turn]:
    """Open turns of seats that a bot holds, oldest first."""
    query = select(Turn).where(Turn.bot, _IN_ORDER).order_by(Turn.opened_at).limit(limit)
    return list(session.scalars(query))


def close_all(session: Session, game_id: str) -> None:
    """Nobody is awaited: the game is paused or over."""
    session.execute(delete(Turn).where(Turn.game_id == game_id))
