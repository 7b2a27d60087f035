"""Rules for turns that timed out under faults, in true time, which the server never sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.torture.book import Missed
from tests.torture.evidence import Evidence, Found, Game, moment, overlap

NOTICE = timedelta(hours=1)
"""Seconds left at least after an outage, or the allowance if it is shorter."""
UNREACHED = timedelta(hours=72)
MOST_STOPS = 2
"""How often emails that come back stop a seat's clocks in one game; those of one turn do it once."""
AT_ONCE = 5
"""Games that one tick times out, as the torture run sets it."""
Span = tuple[datetime, datetime]
Turn = tuple[str, int, int]
"""Game, seat, and the entry at which the turn opened."""


@dataclass(frozen=True)
class Truth:
    """What the journal says.

    Args:
        at: when each entry was written, by game and seq.
        accepted: when emails about a turn were accepted.
        stopped: when its clock had to stop because an email was refused or bounced.
    """

    at: dict[tuple[str, int], datetime]
    down: list[Span]
    doubt: list[Span]
    accepted: dict[Turn, list[datetime]]
    stopped: dict[Turn, list[datetime]]


def _truth(found: Evidence) -> Truth:
    spans = {
        what: sorted((moment(line["since"]), moment(line["to"])) for line in found.lines(what))
        for what in ("down", "doubt")
    }
    marks: dict[str, dict[Turn, list[datetime]]] = {"accepted": {}, "stopped": {}}
    for line in found.lines(*marks):
        turn = line["game"], line["seat"], line["opened"]
        marks[line["what"]].setdefault(turn, []).append(moment(line["true"]))
    at = {
        (game, seq): moment(line["true"]) for line in found.lines("entries") for game, seq in line["entries"]
    }
    stopped = _stops(marks["accepted"], marks["stopped"], _ends(found, at))
    return Truth(at, spans["down"], spans["doubt"], marks["accepted"], stopped)


def _ends(found: Evidence, at: dict[tuple[str, int], datetime]) -> dict[Turn, datetime]:
    """Return when each turn ended that was answered, by its player or by the clock."""
    ends: dict[Turn, datetime] = {}
    for game in found.games.values():
        known = game.known
        last = (
            [*known.closed.items(), *((missed.turn, missed.first) for missed in known.missed)]
            if known
            else []
        )
        for turn, seq in last:
            if (game.id, seq) in at:
                ends[game.id, turn.seat, turn.opened] = at[game.id, seq]
    return ends


def _stops(
    accepted: dict[Turn, list[datetime]], failed: dict[Turn, list[datetime]], ends: dict[Turn, datetime]
) -> dict[Turn, list[datetime]]:
    """Return the failures that stop a clock: the first of a turn whose clock runs, and `MOST_STOPS` of a seat."""
    marks = [(at, 0, turn) for turn, times in accepted.items() for at in times]
    marks += [(at, 1, turn) for turn, times in failed.items() for at in times]
    stopped: dict[Turn, list[datetime]] = {}
    tally: Counter[tuple[str, int]] = Counter()
    running: set[Turn] = set()
    spent: set[Turn] = set()
    for at, fails, turn in sorted(marks):
        if not fails:
            running.add(turn)
            continue
        if turn in ends and ends[turn] <= at:
            continue
        if turn in running:
            if turn in spent or tally[turn[:2]] >= MOST_STOPS:
                continue
            tally[turn[:2]] += 1
            spent.add(turn)
            running.remove(turn)
        stopped.setdefault(turn, []).append(at)
    return stopped


def _ran(truth: Truth, turn: Turn, until: datetime) -> list[Span]:
    """Return when the clock of a turn ran: from an accepted email until its bounce, or until the given time.

    The first email that bounced never arrived, so its time does not count.
    """
    marks = [(at, 0) for at in truth.accepted.get(turn, ())] + [(at, 1) for at in truth.stopped.get(turn, ())]
    spans: list[Span] = []
    began, lost = None, False
    for at, stops in sorted(mark for mark in marks if mark[0] <= until):
        if stops and began is not None:
            spans += [(began, at)] if lost else []
            lost = True
        began = None if stops else began or at
    return spans if began is None else [*spans, (began, until)]


def _time(truth: Truth, spans: list[Span]) -> timedelta:
    """Return how long that was, without our downtime."""
    return sum((to - since - overlap(truth.down, since, to) for since, to in spans), timedelta(0))


def _missed(found: Evidence, truth: Truth) -> Iterator[tuple[Game, Missed, datetime, datetime | None]]:
    """Yield each turn that the clock played, when it was played, and when its clock had started, if it had."""
    for game in found.games.values():
        for missed in game.known.missed if game.known else ():
            played = truth.at[game.id, missed.first]
            turn = game.id, missed.turn.seat, missed.turn.opened
            before = [at for at in truth.accepted.get(turn, ()) if at <= played]
            yield game, missed, played, max(before, default=None)


def spared(found: Evidence) -> Found:
    """The server plays for nobody whose clock ran for less than the allowance, without our downtime."""
    truth = _truth(found)
    for game, missed, played, start in _missed(found, truth):
        name = f"entry {missed.first}: seat {missed.turn.seat}"
        if start is None:
            yield game.id, f"{name} lost a turn that no mail told of"
            continue
        turn = game.id, missed.turn.seat, missed.turn.opened
        if any(start < at < played for at in truth.stopped.get(turn, ())):
            yield game.id, f"{name} lost a turn whose mail had come back"
        ran, allowance = _ran(truth, turn, played), timedelta(seconds=game.row["allowance"])
        had = _time(truth, ran)
        if had < allowance or _time(truth, ran[-1:]) < min(NOTICE, allowance):
            yield game.id, f"{name} had but {had} for its turn, mailed at {start}, played at {played}"


def noticed(found: Evidence) -> Found:
    """After an outage during a turn, its player has at least an hour or the allowance."""
    truth = _truth(found)
    for game, missed, played, start in _missed(found, truth):
        allowance = timedelta(seconds=game.row["allowance"])
        turn = game.id, missed.turn.seat, missed.turn.opened
        for since, to in truth.down if start else ():
            had = _time(truth, _ran(truth, turn, since))
            if start and start < to <= played and had < allowance:
                left = played - to - overlap(truth.down, to, played)
                if left < min(NOTICE, allowance):
                    yield game.id, f"entry {missed.first}: {left} after the outage that ended at {to}"


def doubted(found: Evidence) -> Found:
    """The server plays for nobody while the clock is in doubt."""
    truth = _truth(found)
    for game, missed, played, _start in _missed(found, truth):
        for since, to in truth.doubt:
            if since < played < to:
                yield game.id, f"entry {missed.first} was played while the clock was in doubt since {since}"


def drained(found: Evidence) -> Found:
    """Turns that fell due during an outage are timed out a few games at a time."""
    truth = _truth(found)
    ticks = Counter(played for _, _, played, _ in _missed(found, truth))
    for at, games in ticks.items():
        if games > AT_ONCE:
            yield None, f"{games} turns ran out at once at {at}"


def given_up(found: Evidence) -> Found:
    """A seat goes on autopilot as unreachable only when no email has reached it for 72 hours, without our downtime."""
    truth = _truth(found)
    for game in found.games.values():
        known = game.known
        for seat, seq in known.given_up if known else ():
            turns = (
                [turn.opened for turn in known.turns if turn.seat == seat and turn.opened < seq]
                if known
                else []
            )
            turn, at = (game.id, seat, max(turns)), truth.at[game.id, seq]
            stops = [mark for mark in truth.stopped.get(turn, ()) if mark <= at]
            since = max([truth.at[game.id, turn[2]], *stops])
            told = [mark for mark in truth.accepted.get(turn, ()) if since < mark <= at]
            if told or at - since - overlap(truth.down, since, at) < UNREACHED:
                yield game.id, f"entry {seq}: seat {seat} is given up {at - since} after {since}"
