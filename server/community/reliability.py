"""How reliably a person answers: the decisions of finished games, what is kept of them, and what others are told.

A decision is one question, however many moves it takes to answer it. Forced moves (by the rules), moves out of turn
and moves that a moderator took back are none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median_low
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from byzanz import record, umpire
from byzanz.moves import Question
from byzanz.record import Cause
from byzanz.rules import ALL, Rules
from server.play import clock, history
from server.play.game import Table
from server.play.positions import Broken, rules_of
from server.store import log
from server.store.models import EXCUSED, Conduct, Game, Outage, Person, Reliability, Tenure
from server.store.statements import GameRow

OWN = (Cause.PLAYER, Cause.ORDER)
"""The causes of entries with which a player answers."""
SERVERS = (Cause.CLOCK, Cause.AUTOPILOT)
"""The causes of entries with which the server answers for a player."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A question to a seat that was answered.

    Args:
        seat: from 0.
        seq: of the entry that completed the answer; of the first one that the server made, if it made any.
        since: when the question opened, or opened again after a pause or for a new player.
        at: the time of that entry.
        by: its cause.
        seconds: of the clock, as the answer's entries keep them, or EXCUSED.
    """

    seat: int
    seq: int
    since: datetime
    at: datetime
    by: str
    seconds: int

    @property
    def missed(self) -> bool:
        """Whether the server answered, or a part of it."""
        return self.by in SERVERS


@dataclass(slots=True)
class _Asked:
    """An open question.

    Args:
        parts: the moves made so far in answer to it.
        seconds: those kept with these moves and with moves out of turn in between.
    """

    question: Question
    since: datetime
    parts: list[record.Entry] = field(default_factory=list)
    seconds: list[int] = field(default_factory=list)

    def answered(self, seat: int) -> Decision:
        told = next((part for part in self.parts if part.by in SERVERS), self.parts[-1])
        seconds = EXCUSED if EXCUSED in self.seconds else sum(self.seconds)
        return Decision(seat, told.seq, self.since, _time(told), told.by, seconds)


def of_log(
    game: GameRow, seats: int, entries: Sequence[record.Entry], seconds: Mapping[int, int]
) -> list[Decision]:
    """Return the decisions of a game, in the order in which they were completed.

    Args:
        seats: how many there are.
        entries: of its log, from the first on.
        seconds: by seq, what is kept beside each entry.

    Raises:
        Broken: the log does not replay.
    """
    rules = rules_of(game)
    try:
        return list(_read(rules, rules.setup(seats, json.loads(game.options)), entries, seconds))
    except Exception as error:  # an error in one game must not affect the others
        raise Broken(f"game {game.id}: {type(error).__name__}: {error}") from error


def _read(
    rules: Rules[Any, Any], state: Any, entries: Sequence[record.Entry], seconds: Mapping[int, int]
) -> Iterator[Decision]:
    counting = {entry.seq for entry in record.effective(entries)}
    asked: dict[int, _Asked] = {}
    for entry in entries:
        act = record.table_act(entry)
        if act is not None:
            _reopen(asked, act[0], entry)
        if entry.seq not in counting:
            continue
        move = umpire.read_logged(rules, entry.move)
        if entry.seat in asked and entry.by in OWN + SERVERS:
            asked[entry.seat].seconds.append(seconds[entry.seq])
            if not rules.is_out_of_turn(state, entry.seat, move):
                asked[entry.seat].parts.append(entry)
        state = rules.apply(state, entry.seat, move)
        yield from _turn_over(asked, rules.awaited(state), _time(entry))


def _reopen(asked: Mapping[int, _Asked], verb: str, entry: record.Entry) -> None:
    """Date the questions anew whose turns open again with an act: all after a pause, one for a new player."""
    for seat, each in asked.items():
        if verb == "!resume" or (verb == "!replace" and seat == entry.seat):
            each.since = _time(entry)


def _turn_over(asked: dict[int, _Asked], now: Mapping[int, Question], at: datetime) -> Iterator[Decision]:
    """Close the questions that are asked no more, and open those that are new."""
    for seat, each in [*asked.items()]:
        if now.get(seat) != each.question:
            del asked[seat]
            if each.parts:
                yield each.answered(seat)
    for seat, question in now.items():
        if seat not in asked:
            asked[seat] = _Asked(question, at)


def _time(entry: record.Entry) -> datetime:
    return datetime.fromisoformat(entry.at)


# ---- what is kept of a finished game ----
# Counted are the decisions that fell into the person's own tenures (`play.game`): answered by themselves or by their
# standing order, or missed, when the clock or the autopilot answered for them. Not counted are
#
# - decisions during which the web or the scheduler was silent, or a clock in doubt (the table of outages);
# - those about which an email was refused or came back (`Turn.mail_failed`, kept as EXCUSED with the answer);
# - those that lay from beginning to end in an absence of the person, and moves of the autopilot in one (EXCUSED);
# - moves of the autopilot while no email reaches the person (EXCUSED), or after they have left (not their tenure).
#
# The time is that of the clock that decides deadlines: from the accepted email on, without the quiet hours, days off
# and absences that were fixed when the turn opened. The move that ends a turn keeps it, because none of this can be
# known afterwards.

MISSED = -1
"""In place of the seconds of a decision that was missed."""


def of_game(table: Table, held: Sequence[Tenure]) -> list[Conduct]:
    """Return how each person answered in a finished game, by person.

    Args:
        held: its tenures.

    Raises:
        Broken: its log does not replay.
    """
    session, game = table.session, table.game
    assert game.started_at is not None
    entries = history.entries_for(table, ALL)
    made = of_log(game, len(table.seats), entries, log.seconds(session, game.id))
    stops = _outages(session, game)
    counting = [each for each in made if _counts(each, stops)]
    people = sorted({tenure.person_id for tenure in held if tenure.person_id is not None})
    return [_of_person(game, person_id, held, counting) for person_id in people]


def _outages(session: Session, game: GameRow) -> list[clock.Span]:
    inside = select(Outage).where(Outage.to_at > game.started_at, Outage.from_at < game.ended_at)
    return [(row.from_at, row.to_at) for row in session.scalars(inside)]


def _counts(made: Decision, stops: Sequence[clock.Span]) -> bool:
    return made.seconds != EXCUSED and not any(start < made.at and made.since < end for start, end in stops)


def _of_person(
    game: GameRow, person_id: int, held: Sequence[Tenure], counting: Sequence[Decision]
) -> Conduct:
    own = [tenure for tenure in held if tenure.person_id == person_id]
    answered = [made for made in counting if any(_covers(tenure, made) for tenure in own)]
    stayed = any(tenure.to_seq is None for tenure in own)
    assert game.ended_at is not None
    return Conduct(
        game_id=game.id,
        person_id=person_id,
        ended_at=game.ended_at,
        abandoned=not stayed,
        substitute=stayed and min(tenure.from_seq for tenure in own) > 0,
        answers=json.dumps(
            [[made.seq, MISSED if made.missed else made.seconds] for made in answered], separators=(",", ":")
        ),
    )


def _covers(tenure: Tenure, made: Decision) -> bool:
    ended = tenure.to_seq is not None and made.seq >= tenure.to_seq
    return tenure.seat == made.seat and tenure.from_seq <= made.seq and not ended


# ---- what others are told ----
# Others see the last WINDOW decisions that count (see above) in listed games that came to their end, at most two years
# before the end of the last of these games: the share that was answered, rounded down, the median of the time, and how
# many of the last games the person left. Private games count for the person's own page only. There is no grade.

WINDOW = 200
"""Decisions."""
GAMES = 20
ENOUGH = 50
"""Decisions before which a person is new here."""
TWO_YEARS = timedelta(days=730)
MOST_LISTED = 100
"""Missed decisions that a person's own page lists."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How a person answers, as others may see it.

    Args:
        decisions: that count, the last WINDOW at most.
        missed: of these.
        median: seconds of counted time for an answer; 0 without one.
        games: the last GAMES at most.
        abandoned: how many of these they left, less those that they took over and finished.
    """

    decisions: int
    missed: int
    median: int
    games: int
    abandoned: int

    @property
    def new(self) -> bool:
        """Whether too little is known to say anything."""
        return self.decisions < ENOUGH

    @property
    def percent(self) -> int:
        """The percentage of the decisions that was answered, rounded down."""
        return 100 * (self.decisions - self.missed) // self.decisions if self.decisions else 100


NOTHING = Shown(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Missed:
    """A decision that a person missed.

    Args:
        name: of the game.
        seq: of the entry that the server made for them.
        at: its time.
    """

    game_id: str
    name: str
    seq: int
    at: datetime


def shown(session: Session, person_ids: Collection[int]) -> dict[int, Shown]:
    """Return what others may see of each of these people; of somebody new, nothing but that."""
    rows = session.scalars(select(Reliability).where(Reliability.person_id.in_(person_ids)))
    found = {
        row.person_id: Shown(row.decisions, row.missed, row.median, row.games, row.abandoned) for row in rows
    }
    return {person_id: found.get(person_id, NOTHING) for person_id in person_ids}


def of_all_games(session: Session, person_id: int) -> Shown:
    """Return how a person answers in all their games, private ones included: for themselves alone."""
    return figures(_conduct(session, person_id, listed=False))


def misses(session: Session, person_id: int) -> list[Missed]:
    """Return the counted decisions that a person missed within two years, the latest first, for themselves alone."""
    rows = _recent(_conduct(session, person_id, listed=False))
    places = [(row.game_id, seq) for row in rows for seq, seconds in _answers(row)[::-1] if seconds == MISSED]
    places = places[:MOST_LISTED]
    games = {game_id for game_id, _ in places}
    named = session.scalars(select(Game).where(Game.id.in_(games))).unique()
    names, times = {game.id: game.name for game in named}, log.times(session, places)
    return [Missed(game_id, names[game_id], seq, times[game_id, seq]) for game_id, seq in places]


def refresh(session: Session, person_ids: Collection[int]) -> None:
    """Count again what others may see of these people, whose rows are locked (`lock`)."""
    for person_id in sorted(person_ids):
        rows = _conduct(session, person_id, listed=True)
        if not rows:
            session.execute(delete(Reliability).where(Reliability.person_id == person_id))
            continue
        now = figures(rows)
        session.merge(
            Reliability(
                person_id=person_id,
                decisions=now.decisions,
                missed=now.missed,
                median=now.median,
                games=now.games,
                abandoned=now.abandoned,
            )
        )


def lock(session: Session, person_ids: Collection[int]) -> None:
    """Lock people until the transaction ends, so that two games that end at once are both counted for them."""
    theirs = select(Person.id).where(Person.id.in_(person_ids)).order_by(Person.id)
    session.execute(theirs.with_for_update(key_share=True)).all()


def figures(rows: Sequence[Conduct]) -> Shown:
    """Count a person's conduct.

    Args:
        rows: of the games that count, the latest first.
    """
    recent = _recent(rows)
    answers = [seconds for row in recent for _, seconds in _answers(row)[::-1]][:WINDOW]
    times = [seconds for seconds in answers if seconds != MISSED]
    games = recent[:GAMES]
    left = sum(row.abandoned for row in games) - sum(row.substitute for row in games)
    return Shown(
        decisions=len(answers),
        missed=len(answers) - len(times),
        median=median_low(times) if times else 0,
        games=len(games),
        abandoned=max(0, left),
    )


def _recent(rows: Sequence[Conduct]) -> list[Conduct]:
    return [row for row in rows if row.ended_at > rows[0].ended_at - TWO_YEARS]


def _answers(row: Conduct) -> list[tuple[int, int]]:
    return [(seq, seconds) for seq, seconds in json.loads(row.answers)]


def _conduct(session: Session, person_id: int, *, listed: bool) -> Sequence[Conduct]:
    """Return a person's conduct, the latest game first, in listed games only or in all."""
    query = select(Conduct).where(Conduct.person_id == person_id)
    if listed:
        query = query.join(Game, Game.id == Conduct.game_id).where(Game.listed)
    return session.scalars(query.order_by(Conduct.ended_at.desc(), Conduct.game_id.desc())).all()
