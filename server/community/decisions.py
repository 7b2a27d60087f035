"""The decisions of a finished game, read from its log: who was asked, from when, and what the answer was.

A decision is one question, however many moves it takes to answer it. Forced moves (by the rules), moves out of turn and
moves that a moderator took back are none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from byzanz import record, umpire
from byzanz.moves import Question
from byzanz.rules import Rules
from server.play.positions import Broken, rules_of
from server.store.models import EXCUSED
from server.store.statements import AnyGame

OWN = ("player", "order")
"""The causes of entries with which a player answers."""
SERVERS = ("clock", "autopilot")
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
        seconds: of the clock, as the answer's entries keep them, or EXCUSED; None if they are too old to keep any.
    """

    seat: int
    seq: int
    since: datetime
    at: datetime
    by: str
    seconds: int | None

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
    seconds: list[int | None] = field(default_factory=list)

    def answered(self, seat: int) -> Decision:
        told = next((part for part in self.parts if part.by in SERVERS), self.parts[-1])
        kept = [seconds for seconds in self.seconds if seconds is not None]
        seconds = None if len(kept) < len(self.seconds) else EXCUSED if EXCUSED in kept else sum(kept)
        return Decision(seat, told.seq, self.since, _time(told), told.by, seconds)


def of_log(
    game: AnyGame, seats: int, entries: Sequence[record.Entry], seconds: Mapping[int, int | None]
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
    rules: Rules[Any, Any], state: Any, entries: Sequence[record.Entry], seconds: Mapping[int, int | None]
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
