"""What is kept beside an answer for those who count it after the game: the time it took, and whether it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import BindParameter, ColumnElement, Select, bindparam, exists, func, select
from sqlalchemy.orm import Session

from server.i18n import zone_of
from server.play import clock, events
from server.play.game import Table
from server.store import operations, statements
from server.store.engine import connection_of
from server.store.facts import Fact
from server.store.models import EXCUSED, Game, GameStatus, Outage, Seat, SeatStatus, Turn
from server.store.prepared import Prepared
from server.store.statements import GameRow, SeatRow, TurnRow


def seconds_of_turn(turn: TurnRow, seat: SeatRow, now: datetime) -> int:
    """The seconds that the clock of an answered turn has run, outages included; EXCUSED if they say nothing.

    An absence that was entered after the turn had opened does not move its deadline, but it excuses a turn that lies in
    it from its beginning to its end.
    """
    if turn.mail_failed or _is_away(seat, turn.opened_at, now):
        return EXCUSED
    if turn.started_at is None:
        return 0
    return max(0, int(clock.counted(turn.started_at, now, hours=clock.Hours.read(turn.hours))))


def seconds_on_autopilot(seat: SeatRow, now: datetime) -> int:
    """EXCUSED if the player of a seat on autopilot could not answer now: they are away, or no email reaches them."""
    person = seat.person
    unreached = person is not None and bool(person.unreachable or person.suppressed)
    return EXCUSED if unreached or _is_away(seat, now, now) else 0


def _is_away(seat: SeatRow, since: datetime, until: datetime) -> bool:
    return any(gone <= since and until < back for gone, back in seat.absences)


NOTICE_SECONDS = 3600
"""The least time that is left of a turn after an outage moved its deadline, or its allowance if that is shorter."""
UNREACHED_SECONDS = 72 * 3600
"""How long a clock is stopped for undeliverable email before the seat goes on autopilot (docs/promises.md 5)."""


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a turn.

    Args:
        start: when its clock started.
        allowance_end: when the allowance is used up, and the time bank begins to run.
        due: the deadline: the bank is used up as well, and the fallback is played.
        bank: seconds of the time bank that this turn may use.
        remind: when most of the allowance is used up, not counting outages.
        hours: the hours, days and absences that its clock leaves out.
    """

    start: datetime
    allowance_end: datetime
    due: datetime
    bank: int
    remind: datetime
    hours: clock.Hours

    @property
    def absences(self) -> list[clock.Span]:
        """The absences that move this deadline."""
        return [(gone, back) for gone, back in self.hours.absences if self.start < back and gone < self.due]


def to_move(session: Session, game_id: str) -> dict[int, bool]:
    """The seats that are to move in a game, in order, and whether a bot sits there."""
    rows = statements.TO_MOVE.all(connection_of(session), {"game": game_id})
    return {row[0]: bool(row[1]) for row in rows}


def reconcile(
    table: Table,
    questions: Mapping[int, str],
    now: datetime,
    restart: frozenset[int] = frozenset(),
) -> list[TurnRow]:
    """Close and open turns so that they agree with the questions of a position.

    A turn that was answered takes what it used of the seat's time bank; one that a pause or a new player ends takes
    nothing.

    Args:
        table: its head is the seq at which a new turn opens.
        questions: the text of the question of each seat to move (`bid 17`); empty when paused or over.
        restart: seats whose turn starts again although their question is the same (a new player).

    Returns:
        The turns that have just opened.
    """
    current, opened = dict(table.turns), []
    for seat, turn in current.items():
        if questions.get(seat) != turn.question or seat in restart:
            if seat not in restart and not table.game.paused:
                _charge_bank(table, turn, now)
                _answered(table, turn, now)
            del table.turns[seat]
    for seat, question in questions.items():
        if seat not in table.turns:
            table.turns[seat] = _open(table, table.seats[seat], question, now)
            opened.append(table.turns[seat])
    return opened


def close_all(table: Table, now: datetime) -> None:
    """Close the turns of a game that ends, the one that its last move has answered among them."""
    for turn in table.turns.values():
        _answered(table, turn, now)
    table.turns.clear()


def _answered(table: Table, turn: TurnRow, now: datetime) -> None:
    table.answered(turn.seat, seconds_of_turn(turn, table.seats[turn.seat], now))
    if any(seat == turn.seat and not move.startswith("!") for _, seat, move in table.unsaved()):
        table.tell(events.TurnAnswered(at=now, seat=turn.seat, opened_seq=turn.opened_seq))


def _open(table: Table, seat: SeatRow, question: str, now: datetime) -> TurnRow:
    """A new turn; what its clock leaves out is fixed here, so that later settings cannot make an email untrue."""
    return TurnRow(
        game_id=seat.game_id,
        seat=seat.seat,
        question=question,
        opened_seq=table.game.head,
        opened_at=now,
        bot=seat.bot is not None,
        hours=hours_of(table, seat, now).write(),
        bank=seat.bank,
    )


def hours_of(table: Table, seat: SeatRow, now: datetime) -> clock.Hours:
    """The hours that a turn opening now leaves out: days off, and its player's quiet hours and absences."""
    person = seat.person
    if person is None:
        return clock.ALWAYS
    quiet = None
    if person.quiet_from is not None and person.quiet_to is not None:
        quiet = (person.quiet_from, person.quiet_to)
    return clock.Hours(
        zone=zone_of(person, table.game),
        quiet=quiet,
        table_zone=table.game.time_zone,
        days_off=table.game.days_off,
        absences=tuple((gone, back) for gone, back in seat.absences if back > now),
    )


def _charge_bank(table: Table, turn: TurnRow, now: datetime) -> None:
    """Take from the seat's bank what a turn used beyond its allowance."""
    if turn.started_at is None or not turn.bank:
        return
    if now <= times_if_started(table.game, turn, turn.started_at).allowance_end:
        return  # outages can only have moved it to a later time
    known = times(table.session, table.game, turn)
    if (
        known is None
        or now <= known.allowance_end
        or operations.open_alert(table.session, operations.CLOCK_JUMPED)
    ):
        return
    stops = outages(table.session, known.allowance_end)
    used = clock.counted(known.allowance_end, now, stops, known.hours)
    seat = table.seats[turn.seat]
    seat.bank -= min(seat.bank, turn.bank, int(used))


def start(table: Table, turn: TurnRow, at: datetime, due: datetime | None = None) -> None:
    """Start the clock of a turn, or let it go on after it was stopped; none runs in a visitor's game.

    Args:
        at: when a mail server accepted the email about the turn, or when the turn opened if its player wants none.
        due: the deadline printed in that email; computed if None.
    """
    if table.game.trial:
        return
    await_mail(turn)
    turn.started_at = at
    turn.due_at = due or deadline(table.session, table.game, turn)
    turn.remind_at = reminder_time(table.session, table.game, turn)


def stop(turn: TurnRow, why: Fact, now: datetime) -> None:
    """Stop the clock of a turn whose email cannot reach its player.

    Args:
        why: what the mail server said.
    """
    turn.refused_at = turn.refused_at or now
    turn.refused, turn.due_at, turn.remind_at = why, None, None
    turn.mail_failed = True


def extend(table: Table, turn: TurnRow, seconds: int) -> None:
    """Move the deadline of a turn by this much; a stopped clock stays stopped."""
    turn.extra += seconds
    turn.due_at = deadline(table.session, table.game, turn)
    if turn.started_at and turn.due_at and turn.remind_at:  # no second reminder for a turn that has had one
        turn.remind_at = reminder_time(table.session, table.game, turn)


def await_mail(turn: TurnRow, *, proven: bool = True) -> None:
    """Let a turn whose clock is stopped wait for the email with which it starts again, in full.

    Args:
        proven: the address works; otherwise a turn that no email has ever reached stays so since the first refusal, or
            one that is refused again and again would stand for ever.
    """
    turn.anew = turn.anew or (turn.started_at is not None and turn.refused_at is not None)
    if proven or turn.started_at is not None:
        turn.refused_at = None
    turn.started_at = turn.refused = None


def times_if_started(game: GameRow, turn: TurnRow, start: datetime) -> Times:
    """The times of a turn if its clock started at `start`, as an email composed at that moment prints them."""
    hours, allowance = clock.Hours.read(turn.hours), game.allowance + turn.extra
    allowance_end = clock.rounded_up(clock.due(start, allowance, hours=hours))
    due = clock.rounded_up(clock.due(start, allowance + turn.bank, hours=hours))
    remind = clock.due(start, allowance * clock.REMINDER_SHARE, hours=hours)
    return Times(start, allowance_end, due, turn.bank, remind, hours)


def times(
    session: Session, game: GameRow, turn: TurnRow, stops: Sequence[clock.Span] | None = None
) -> Times | None:
    """The times of a turn by all that is known now; None while its clock does not run.

    These are the times that were printed, moved by the outages since. After an outage that moved the deadline, at least
    NOTICE_SECONDS (or the allowance) are left.

    Args:
        stops: all outages since the clock started, if they are known.
    """
    if turn.started_at is None or turn.refused:
        return None
    plain = times_if_started(game, turn, turn.started_at)
    stops = outages(session, turn.started_at) if stops is None else stops
    end = _shifted(plain, plain.due, stops)
    if end == plain.due:
        return plain
    last_stop = max(to_at for from_at, to_at in stops if from_at < end)
    noticed = clock.due(last_stop, min(NOTICE_SECONDS, game.allowance), stops, plain.hours)
    due = clock.rounded_up(max(end, noticed))
    allowance_end = clock.rounded_up(_shifted(plain, plain.allowance_end, stops)) if plain.bank else due
    return Times(plain.start, allowance_end, due, plain.bank, plain.remind, plain.hours)


def times_of_table(table: Table) -> dict[int, Times | None]:
    """The times of all open turns of a game by all that is known now, by seat."""
    started = [turn.started_at for turn in table.turns.values() if turn.started_at is not None]
    stops = outages(table.session, min(started)) if started else []
    return {seat: times(table.session, table.game, turn, stops) for seat, turn in table.turns.items()}


def _shifted(plain: Times, end: datetime, stops: Sequence[clock.Span]) -> datetime:
    """A printed time, later by those parts of outages that the clock would have counted."""
    seconds = clock.counted(plain.start, end, hours=plain.hours)
    return max(end, clock.due(plain.start, seconds, stops, plain.hours))


def deadline(session: Session, game: GameRow, turn: TurnRow) -> datetime | None:
    """The deadline of a turn by all that is known now; None while its clock does not run."""
    known = times(session, game, turn)
    return known.due if known else None


def reminder_time(session: Session, game: GameRow, turn: TurnRow) -> datetime | None:
    """When most of a turn's allowance is gone, by all that is known now; None while its clock does not run."""
    if turn.started_at is None or turn.refused:
        return None
    seconds = (game.allowance + turn.extra) * clock.REMINDER_SHARE
    stops = outages(session, turn.started_at)
    return clock.due(turn.started_at, seconds, stops, clock.Hours.read(turn.hours))


def seconds_gained(turn: TurnRow, old: datetime, new: datetime) -> int:
    """The seconds that a turn gains by a later deadline, not counting its quiet hours and days off."""
    return round(clock.counted(old, new, hours=clock.Hours.read(turn.hours)))


def outages(session: Session, since: datetime) -> list[clock.Span]:
    """The outages that reach beyond `since`."""
    rows = session.scalars(select(Outage).where(Outage.to_at > since))
    return [(row.from_at, row.to_at) for row in rows]


_NOT_QUARANTINED = exists().where(Game.id == Turn.game_id, Game.quarantine.is_(None))
"""Quarantined games must not fill the first places of a hint for good: tested row by row along the hint's own index."""


def due_games(session: Session, now: datetime, limit: int) -> list[str]:
    """Games with a turn that looks due, the longest overdue first: a hint, read without a lock."""
    query = (
        select(Turn.game_id).where(Turn.due_at <= now, _NOT_QUARANTINED).order_by(Turn.due_at).limit(limit)
    )
    return list(dict.fromkeys(session.scalars(query)))  # no DISTINCT: the index gives the first few at once


def due_reminders(session: Session, now: datetime, limit: int) -> list[Turn]:
    """Turns whose reminder looks due, the longest overdue first: a hint, read without a lock."""
    query = select(Turn).where(Turn.remind_at <= now, _NOT_QUARANTINED).order_by(Turn.remind_at).limit(limit)
    return list(session.scalars(query))


def give_up_time(session: Session, turn: TurnRow) -> datetime | None:
    """When a seat goes on autopilot because no email about this turn arrives; None while its clock runs."""
    if turn.refused_at is None:
        return None
    return clock.due(turn.refused_at, UNREACHED_SECONDS, outages(session, turn.refused_at))


def unreachable(session: Session, now: datetime, limit: int) -> list[Turn]:
    """Turns whose email has failed for long, in seats not on autopilot: a hint, read without a lock."""
    query = select(Turn).join(Seat, (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat))
    long = Turn.refused_at <= now - timedelta(seconds=UNREACHED_SECONDS)
    query = query.where(long, Seat.autopilot.is_(False), _NOT_QUARANTINED)
    return list(session.scalars(query.order_by(Turn.refused_at).limit(limit)))


def of_person(session: Session, person_id: int) -> list[tuple[GameRow, SeatRow, TurnRow]]:
    """The open turns of a person in all active games, the most urgent first, those without a running clock last."""
    query = (
        select(*statements.GAME, *statements.SEAT, *statements.TURN)
        .join_from(Game, Seat, Seat.game_id == Game.id)
        .join(Turn, (Turn.game_id == Seat.game_id) & (Turn.seat == Seat.seat))
        .where(Seat.person_id == person_id, Seat.status == SeatStatus.SEATED)
        .where(Game.status == GameStatus.RUNNING, Game.paused.is_(False), Game.quarantine.is_(None))
        .order_by(Turn.due_at.is_(None), Turn.due_at, Turn.opened_at, Turn.game_id)
    )
    return [statements.split(found, GameRow, SeatRow, TurnRow) for found in session.execute(query)]


def open_of(person_id: ColumnElement[int] | BindParameter[int]) -> Select[int]:
    """A query for the number of games in which a person is to move."""
    query = select(func.count()).select_from(Turn)
    query = query.join(Seat, (Seat.game_id == Turn.game_id) & (Seat.seat == Turn.seat))
    query = query.join(Game, Game.id == Turn.game_id).where(Seat.person_id == person_id)
    running = (Game.status == GameStatus.RUNNING, Game.paused.is_(False), Game.quarantine.is_(None))
    return query.where(Seat.status == SeatStatus.SEATED, *running)


_OPEN_ELSEWHERE = Prepared(open_of(bindparam("person")).where(Game.id != bindparam("game")))


def open_elsewhere(session: Session, person_id: int, game_id: str) -> int:
    """The number of other games in which a person is to move."""
    found = _OPEN_ELSEWHERE.first(connection_of(session), {"person": person_id, "game": game_id})
    return found[0] if found is not None else 0


def bots_to_move(session: Session, limit: int) -> list[Turn]:
    """Open turns of bots, oldest first: a hint, read without a lock."""
    query = select(Turn).where(Turn.bot, _NOT_QUARANTINED).order_by(Turn.opened_at).limit(limit)
    return list(session.scalars(query))
