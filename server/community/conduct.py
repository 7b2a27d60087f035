"""How each person answered in a finished game: which decisions count, and how long they took.

Counted are the decisions that fell into the person's own tenures (`store.tenures`): answered by themselves or by their
standing order, or missed, when the clock or the autopilot answered for them. Not counted are

- decisions during which the web or the scheduler was silent, or a clock in doubt (the table of outages);
- those about which an email was refused or came back (`Turn.mail_failed`, kept as EXCUSED with the answer);
- those that lay from beginning to end in an absence of the person, and moves of the autopilot in one (EXCUSED);
- moves of the autopilot while no email reaches the person (EXCUSED), or after they have left (not their tenure).

The time is that of the clock that decides deadlines: from the accepted email on, without the quiet hours, days off and
absences that were fixed when the turn opened. The move that ends a turn keeps it, because none of this can be known
afterwards. Entries from before that was kept have no time: theirs is counted from the moment at which the question
opened, without days off and absences, and with quiet hours; when the email was accepted, and whether one failed, is not
known. What the autopilot played then does not count.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from byzanz.rules import ALL
from server.community import decisions
from server.community.decisions import Decision
from server.play import clock, history, positions
from server.store import log
from server.store.models import EXCUSED, Absence, Conduct, Game, Outage, Tenure

MISSED = -1
"""In place of the seconds of a decision that was missed."""


def of_game(session: Session, game: Game, held: Sequence[Tenure]) -> list[Conduct]:
    """Return how each person answered in a finished game, by person.

    Args:
        held: its tenures.

    Raises:
        Broken: its log does not replay.
    """
    assert game.started_at is not None
    seats = len(positions.seats_of(session, game.id))
    entries = history.entries_for(session, game, ALL)
    made = decisions.of_log(game, seats, entries, log.seconds(session, game.id))
    stops = _outages(session, game)
    counting = [each for each in made if _counts(each, stops)]
    people = sorted({tenure.person_id for tenure in held if tenure.person_id is not None})
    return [_of_person(session, game, person_id, held, counting) for person_id in people]


def _outages(session: Session, game: Game) -> list[clock.Span]:
    inside = select(Outage).where(Outage.to_at > game.started_at, Outage.from_at < game.ended_at)
    return [(row.from_at, row.to_at) for row in session.scalars(inside)]


def _counts(made: Decision, stops: Sequence[clock.Span]) -> bool:
    if made.seconds == EXCUSED or (made.seconds is None and made.by == "autopilot"):
        return False
    return not any(start < made.at and made.since < end for start, end in stops)


def _of_person(
    session: Session, game: Game, person_id: int, held: Sequence[Tenure], counting: Sequence[Decision]
) -> Conduct:
    own = [tenure for tenure in held if tenure.person_id == person_id]
    answered = [made for made in counting if any(_covers(tenure, made) for tenure in own)]
    hours = _hours(session, game, person_id) if any(made.seconds is None for made in answered) else None
    stayed = any(tenure.to_seq is None for tenure in own)
    assert game.ended_at is not None
    return Conduct(
        game_id=game.id,
        person_id=person_id,
        ended_at=game.ended_at,
        abandoned=not stayed,
        substitute=stayed and min(tenure.from_seq for tenure in own) > 0,
        answers=json.dumps([[made.seq, _seconds(made, hours)] for made in answered], separators=(",", ":")),
    )


def _covers(tenure: Tenure, made: Decision) -> bool:
    ended = tenure.to_seq is not None and made.seq >= tenure.to_seq
    return tenure.seat == made.seat and tenure.from_seq <= made.seq and not ended


def _hours(session: Session, game: Game, person_id: int) -> clock.Hours:
    """Return what is still known of the times that a person's clocks left out."""
    away = select(Absence).where(Absence.person_id == person_id).order_by(Absence.from_at)
    absences = tuple((row.from_at, row.to_at) for row in session.scalars(away))
    return clock.Hours(table_zone=game.time_zone, days_off=game.days_off, absences=absences)


def _seconds(made: Decision, hours: clock.Hours | None) -> int:
    if made.missed:
        return MISSED
    if made.seconds is not None:
        return made.seconds
    assert hours is not None
    return max(0, int(clock.counted(made.since, made.at, hours=hours)))
