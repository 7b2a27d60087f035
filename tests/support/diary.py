"""What the diary of a game says of its decisions: written from outside, to be compared with what the server counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from byzanz import record, umpire
from server.play import positions
from server.store import engine, log
from server.store.models import Game, Turn

Span = tuple[datetime, datetime]
DAY = timedelta(days=1)
SERVERS = ("clock", "autopilot")


@dataclass
class Told:
    """What the diary says of an entry: who held its seat, the turn that was open before, and the time."""

    holder: int | None
    turn: Turn | None
    now: datetime
    unreached: bool


@dataclass(kw_only=True)
class Diary:
    """What really happened in a game.

    Args:
        game_id: which game.
        size: its seats.
        told: what is known of each entry, by seq.
        failed: the turns about which an email failed, as seat and seq of their opening.
        absences: of each person.
        quiet: hours of each person, as minutes of the day in UTC.
        days_off: of the game, as ISO numbers.
    """

    game_id: str
    size: int
    told: dict[int, Told] = field(default_factory=dict)
    failed: set[tuple[int, int]] = field(default_factory=set)
    outages: list[Span] = field(default_factory=list)
    absences: dict[int, list[Span]] = field(default_factory=dict)
    quiet: dict[int, tuple[int, int]] = field(default_factory=dict)
    days_off: str = ""

    def entries(self) -> list[record.Entry]:
        """Return the log."""
        with engine.reading() as session:
            return log.entries(session, self.game_id)

    def tell(
        self,
        entries: Iterable[record.Entry],
        before: dict[int, Turn],
        holders: dict[int, int | None],
        unreached: set[int],
        now: datetime,
    ) -> None:
        """Note who held the seats of new entries, and which turns were open before."""
        for entry in entries:
            if entry.seat is not None:
                turn = before.pop(entry.seat, None) if not entry.move.startswith("!") else None
                who = holders[entry.seat]
                self.told[entry.seq] = Told(who, turn, now, who in unreached)

    def expected(self, person: int) -> list[list[int]]:
        """Return the decisions of a person that count, as seq and seconds, -1 if missed."""
        with engine.reading() as session:
            game = session.get_one(Game, self.game_id)
            rules = positions.load(session, game).rules
        answers: dict[tuple[int, str], list[record.Entry]] = {}
        state = rules.setup(self.size, {})
        for entry in record.effective(self.entries()):
            move = umpire.read_logged(rules, entry.move)
            seat, own = entry.seat, entry.by in ("player", "order", *SERVERS)
            if seat is not None and own and not rules.is_out_of_turn(state, seat, move):
                assert len(rules.moves(state, seat)) >= 2, "a forced move is nobody's decision"
                answers.setdefault((seat, str(rules.awaited(state)[seat])), []).append(entry)
            state = rules.apply(state, entry.seat, move)
        found = [self._decision(parts, person) for parts in answers.values()]
        return sorted(each for each in found if each is not None)

    def _decision(self, parts: list[record.Entry], person: int) -> list[int] | None:
        late = [part for part in parts if part.by in SERVERS]
        told = late[0] if late else parts[-1]
        diary = self.told[told.seq]
        if diary.holder != person:
            return None
        turn = diary.turn or next(
            (self.told[part.seq].turn for part in parts if self.told[part.seq].turn), None
        )
        opened = turn.opened_at if turn is not None else diary.now
        if any(begin < diary.now and opened < end for begin, end in self.outages):
            return None
        absences = self.absences.get(person, [])
        if any(begin <= opened and diary.now < end for begin, end in absences):
            return None if turn is not None or late else [told.seq, 0]
        if turn is not None and (turn.seat, turn.opened_seq) in self.failed:
            return None
        if turn is None and late and diary.unreached:
            return None
        if late:
            return [told.seq, -1]
        if turn is None or turn.started_at is None:
            return [told.seq, 0]
        return [told.seq, self._counted(turn, person, diary.now)]

    def _counted(self, turn: Turn, person: int, now: datetime) -> int:
        """Return the seconds since the clock of a turn started that no span covers which the clock leaves out."""
        assert turn.started_at is not None
        at, seconds = turn.started_at, 0.0
        for begin, end in sorted(self._left_out(turn, person, now)):
            seconds += max(0.0, (min(begin, now) - at).total_seconds())
            at = max(at, min(end, now))
        return int(seconds + (now - at).total_seconds())

    def _left_out(self, turn: Turn, person: int, now: datetime) -> Iterator[Span]:
        for begin, end in json.loads(turn.hours).get("absences", ()):
            yield datetime.fromisoformat(begin), datetime.fromisoformat(end)
        assert turn.started_at is not None
        day = turn.started_at.replace(hour=0, minute=0) - DAY
        while day < now:
            if str(day.isoweekday()) in self.days_off:
                yield day, day + DAY
            if person in self.quiet:
                begin, end = (timedelta(minutes=minutes) for minutes in self.quiet[person])
                yield day + begin, day + end + (DAY if end <= begin else timedelta())
            day += DAY
