"""Replaying a record entry by entry, with all its checks (docs/formats.md §2, §3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from byzanz.chance import Stream, clean_cut, commitment, key, shuffled
from byzanz.games import rules_of
from byzanz.moves import Move, RulesError, Shuffle
from byzanz.record.entry import Cause, Entry, abandoned, expected_hash, is_shuffle, table_act, table_act_error
from byzanz.record.jsonl import Header, Record, Result
from byzanz.record.report import (
    STEPS,
    CheckStep,
    InvalidRecord,
    Mailed,
    Report,
    ShuffleCheck,
    StepName,
    StepState,
    check_mailed,
)
from byzanz.rules import Rules
from byzanz.umpire import forced_move

CHOOSERS = (Cause.PLAYER, Cause.ORDER, Cause.CLOCK, Cause.AUTOPILOT, Cause.BOT)
"""The `by` of a move that a seat had to choose; a forced one is by `rules`."""
TABLE = (Cause.MODERATOR, Cause.CLOCK, Cause.PLAYER)
"""The `by` of a table act."""
AFTER_THE_END = ("!note", "!look")


class Replay:
    """A game while its record is replayed.

    Args:
        rules: the game.
        header: of the record.
        key: of its shuffles; None while the seed is not revealed.
        readable: whether the moves can be read; in a redacted record only the table acts can be followed.
    """

    def __init__(self, rules: Rules[Any, Any], header: Header, key: bytes | None, readable: bool) -> None:
        self.rules = rules
        self.seats = range(len(header.seats))
        self.key = key
        self.readable = readable
        self.state: Any = rules.setup(len(header.seats), header.options)
        self.made: list[tuple[Entry, Any]] = []
        self.dealt: list[ShuffleCheck] = []
        self.paused = False
        self.voided = False
        self.over = False

    def check(self, entry: Entry) -> None:
        """Check and play the next entry.

        Raises:
            InvalidRecord: it cannot stand here.
        """
        words = table_act(entry)
        if self.over and (words is None or words[0] not in AFTER_THE_END):
            raise InvalidRecord(
                entry.seq, f"{entry.move!r} after the end: only !note and !look are logged there"
            )
        if self.voided and words != ("!pause",):
            raise InvalidRecord(
                entry.seq, f"{entry.move!r} where the !pause that follows a !void should stand"
            )
        if words is not None:
            self._act(entry, words)
        elif self.paused:
            raise InvalidRecord(entry.seq, f"{entry.move!r} while the game is paused")
        elif self.readable:
            self._move(entry)
        else:
            self._redacted_move(entry)

    def due(self) -> Shuffle | tuple[int, Move] | None:
        """Return the shuffle or forced move that must come next, or None, see `umpire.settle`."""
        if self.over or self.paused or self.voided or not self.readable:
            return None
        return self.rules.chance(self.state) or forced_move(self.rules, self.state)

    def _act(self, entry: Entry, words: tuple[str, ...]) -> None:
        if (due := self.due()) is not None:
            _refuse_before(entry, due)
        if entry.by not in TABLE:
            raise InvalidRecord(
                entry.seq, f"{words[0]} by {entry.by}; acts at the table are by {', '.join(TABLE)}"
            )
        if (fault := table_act_error(entry, len(self.seats))) is not None:
            raise InvalidRecord(entry.seq, fault)
        self.voided = words[0] == "!void"
        if words[0] == "!void":
            self._void(entry, int(words[1]))
        elif words[0] in ("!pause", "!resume"):
            self.paused = words[0] == "!pause"
        elif words[0] == "!abandon":
            self.over = True

    def _void(self, entry: Entry, target: int) -> None:
        # From the end, as everything after the target is taken back: no log can make this slow.
        places = reversed(range(len(self.made)))
        at = next((at for at in places if self.made[at][0].seq <= target), None)
        if at is None or self.made[at][0].seq != target or self.made[at][0].seat is None:
            raise InvalidRecord(entry.seq, f"entry {target} is not a seat's move that still counts")
        self.state = self.made[at][1]
        del self.made[at:]

    def _move(self, entry: Entry) -> None:
        due = self.due()
        if isinstance(due, Shuffle):
            move = self._shuffle(entry, due)
        elif due is not None:
            move = due[1]
            if (entry.seat, entry.by, entry.move) != (due[0], Cause.RULES, str(move)):
                _refuse_before(entry, due)
        else:
            move = self._choice(entry)
        before = self.state
        try:
            self.state = self.rules.apply(before, entry.seat, move)
        except RulesError as error:
            raise InvalidRecord(entry.seq, f"{entry.move!r}: {error}") from error
        self.made.append((entry, before))
        self.over = self.rules.outcome(self.state) is not None

    def _shuffle(self, entry: Entry, due: Shuffle) -> Move:
        if (entry.seat, entry.by) != (None, Cause.CHANCE) or not entry.move.startswith(
            f"shuffle {due.label} "
        ):
            _refuse_before(entry, due)
        logged = tuple(entry.move.split(" ")[2:])
        order = None if self.key is None else shuffled(due.cards, Stream(self.key, due.label).below)
        self.dealt.append(ShuffleCheck(entry.seq, due.label, due.cards, logged, order))
        if sorted(logged) != sorted(due.cards):
            raise InvalidRecord(entry.seq, f"these are not the cards of the shuffle {due.label}", "shuffles")
        if order is not None and logged != order:
            raise InvalidRecord(
                entry.seq, f"seed and cuts give a different order for shuffle {due.label}", "shuffles"
            )
        return Move("shuffle", (due.label, *logged))

    def _choice(self, entry: Entry) -> Move:
        if entry.by not in CHOOSERS:
            raise InvalidRecord(
                entry.seq, f"by {entry.by}, though nothing was due: a choice is by {', '.join(CHOOSERS)}"
            )
        if entry.seat is None or entry.seat not in self.seats:
            raise InvalidRecord(entry.seq, f"there is no seat {entry.seat}")
        try:
            move = self.rules.parse(entry.move)
        except RulesError as error:
            raise InvalidRecord(entry.seq, f"{entry.move!r}: {error}") from error
        if str(move) != entry.move:
            raise InvalidRecord(entry.seq, f"{entry.move!r} is not canonical; write {str(move)!r}")
        return move

    def _redacted_move(self, entry: Entry) -> None:
        if entry.seat is None and (entry.by != Cause.CHANCE or not entry.move.startswith("shuffle ")):
            raise InvalidRecord(entry.seq, f"{entry.move!r} without a seat")
        if entry.seat is not None and entry.seat not in self.seats:
            raise InvalidRecord(entry.seq, f"there is no seat {entry.seat}")
        if entry.seat is not None and entry.by not in (*CHOOSERS, Cause.RULES):
            raise InvalidRecord(entry.seq, f"a seat's move by {entry.by}")
        self.made.append((entry, None))


def _refuse_before(entry: Entry, due: Shuffle | tuple[int, Move]) -> NoReturn:
    if isinstance(due, Shuffle):
        reason = f"{entry.move!r} where the shuffle {due.label} is due, by chance"
        raise InvalidRecord(entry.seq, reason, "shuffles")
    seat, move = due
    raise InvalidRecord(
        entry.seq,
        f"{entry.move!r} by {entry.by} where seat {seat} has only one legal move: {str(move)!r} by rules",
    )


# ---- verification of a record ----

FindRules = Callable[[str, int | None], Rules[Any, Any]]
"""Returns the rules of a slug and a version."""

_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def verify(record: Record, find: FindRules = rules_of, mailed: Mailed | None = None) -> Report:
    """Verify a record from its header to its result, as `examine` does.

    Args:
        record: as `read` returns it.
        find: returns the rules of a slug and a version.
        mailed: what emails about this game quoted.

    Raises:
        InvalidRecord: the first error.
    """
    report = examine(record, find, mailed)
    if report.wrong is not None:
        raise report.wrong
    return report


def examine(record: Record, find: FindRules = rules_of, mailed: Mailed | None = None) -> Report:
    """Verify a record step by step, up to the first error.

    It checks the hash chain, numbers, times, commitment, cuts and shuffles; that each move is legal, canonical and
    made by someone entitled; that forced moves come when they are due and nothing else does; pauses and voids;
    the result; and that the record contains what emails quoted. Of a redacted record it checks what can still be read.

    Args:
        record: as `read` returns it.
        find: returns the rules of a slug and a version.
        mailed: what emails about this game quoted.
    """
    verification = _Verification(record)
    wrong = None
    try:
        verification.run(find)
        if mailed is not None:
            check_mailed(record, mailed)
    except InvalidRecord as found:
        wrong = found
    return verification.report(wrong)


@dataclass
class _Verification:
    """The state of a verification.

    Args:
        passed: the steps that are complete.
        linked: the number of entries whose hash was checked.
        played: the number of entries that passed all checks.
    """

    record: Record
    passed: set[StepName] = field(default_factory=set)
    commitment: str | None = None
    key: bytes | None = None
    replay: Replay | None = None
    linked: int = 0
    played: int = 0
    worked_out: Result | None = None

    def __post_init__(self) -> None:
        self.withheld = sum(entry.salt is None for entry in self.record.entries)

    def run(self, find: FindRules) -> None:
        """Run all steps.

        Raises:
            InvalidRecord: the first error.
        """
        header = self.record.header
        rules = _check_table(header, find)
        self.passed.add("table")
        self._commit(header)
        self.passed.add("commitment")
        _check_cuts(header)
        self.key = None if header.seed is None else key(header.id, header.seed, header.cuts)
        self.passed.add("cuts")
        readable = self.record.result is not None or not self.withheld
        self.replay = Replay(rules, header, self.key, readable)
        self._play(self.replay)
        _check_last(self.record, self.replay)
        self.passed |= {"shuffles", "chain", "moves"}
        self._end(self.replay)
        self.passed.add("result")
        _check_head(self.record)

    def _commit(self, header: Header) -> None:
        if not re.fullmatch("[0-9a-f]{64}", header.commitment):
            raise InvalidRecord(0, "the commitment is not 64 lower-case hex digits", "commitment")
        if header.seed is None:
            return
        self.commitment = commitment(header.id, header.seed)
        if self.commitment != header.commitment:
            raise InvalidRecord(0, "the seed is not the one that was committed to", "commitment")

    def _play(self, replay: Replay) -> None:
        previous, last = self.record.header.first_hash, ""
        for expected, entry in enumerate(self.record.entries, start=1):
            _check_link(entry, expected, previous, last)
            if entry.salt is None and self.record.result is not None:
                raise InvalidRecord(entry.seq, "the salt is withheld, though the game is over", "chain")
            self.linked += entry.salt is not None
            replay.check(entry)
            self.played += 1
            previous, last = entry.hash, entry.at

    def _end(self, replay: Replay) -> None:
        record, last = self.record, len(self.record.entries)
        if record.result is None:
            if replay.over:
                raise InvalidRecord(last, "the game is over, but the result is missing", "result")
            if record.header.seed is not None:
                raise InvalidRecord(
                    last + 1, "missing: the seed is shown, but the game is not over", "result"
                )
            return
        if not replay.over:
            raise InvalidRecord(last + 1, "missing: there is a result, but the game is not over", "result")
        if record.header.seed is None:
            raise InvalidRecord(last, "the game is over, but the seed is not shown", "commitment")
        self.worked_out = _result(record, replay)
        if record.result != self.worked_out:
            raise InvalidRecord(last, f"the result is {self.worked_out}, not {record.result}", "result")

    def report(self, wrong: InvalidRecord | None) -> Report:
        """Return the report."""
        record = self.record
        dealt = self.replay.dealt if self.replay else []
        shuffles = 0 if record.header.seed is not None else len(dealt)
        return Report(
            entries=len(record.entries),
            unchecked=self.withheld or shuffles,
            replayed=not self.withheld,
            result=record.result,
            steps=tuple(
                CheckStep(name, self._state(name, wrong), *self._count(name, wrong)) for name in STEPS
            ),
            commitment=self.commitment,
            key=self.key,
            shuffles=tuple(dealt),
            worked_out=self.worked_out,
            wrong=wrong,
        )

    def _state(self, name: StepName, wrong: InvalidRecord | None) -> StepState:
        if wrong is not None and wrong.step == name:
            return "wrong"
        if name not in self.passed:
            return "unreached"
        hidden = {
            "table": False,
            "chain": self.withheld > 0,
            "moves": self.withheld > 0,
            "result": self.record.result is None,
        }
        return "hidden" if hidden.get(name, self.key is None) else "right"

    def _count(self, name: StepName, wrong: InvalidRecord | None) -> tuple[int, int]:
        """Return how many entries passed a step, and how many it has to check."""
        entries = self.record.entries
        shuffles = sum(map(is_shuffle, entries))
        if name == "chain":
            return self.linked, len(entries)
        if name == "shuffles":
            dealt = self.replay.dealt if self.replay else ()
            return sum(deal.order == deal.logged for deal in dealt), shuffles
        if name == "moves":
            through = sum(not is_shuffle(entry) for entry in entries[: self.played])
            return through if self.replay and self.replay.readable else 0, len(entries) - shuffles
        return int(self._state(name, wrong) == "right"), 1


def _check_table(header: Header, find: FindRules) -> Rules[Any, Any]:
    try:
        header.id.encode()
        rules = find(header.game, header.rules)
        rules.setup(len(header.seats), header.options)
    except UnicodeEncodeError as error:
        raise InvalidRecord(0, "the ID is not valid Unicode text", "table") from error
    except RulesError as error:
        raise InvalidRecord(0, str(error), "table") from error
    return rules


def _check_cuts(header: Header) -> None:
    seats = range(len(header.seats))
    if len(header.cuts) != len(seats):
        raise InvalidRecord(0, f"{len(header.cuts)} cuts for {len(seats)} seats", "cuts")
    try:
        for cut in header.cuts:
            clean_cut(cut)
    except RulesError as error:
        raise InvalidRecord(0, str(error), "cuts") from error
    if list(header.uncut) != sorted(set(header.uncut) & set(seats)):
        raise InvalidRecord(0, "uncut must name seats, each once, ascending", "cuts")
    if header.cut_order is not None and sorted(header.cut_order) != list(seats):
        raise InvalidRecord(0, "cut_order must name all seats, each once", "cuts")


def _check_link(entry: Entry, expected: int, previous: str, last: str) -> None:
    if entry.seq != expected:
        raise InvalidRecord(expected, f"found entry {entry.seq} instead of entry {expected}", "chain")
    if not _is_when(entry.at):
        raise InvalidRecord(entry.seq, f"{entry.at!r} is not a time like 2026-11-21T10:00:00.000Z", "chain")
    if entry.at < last:
        raise InvalidRecord(
            entry.seq, f"its time {entry.at} is before that of the entry before it, {last}", "chain"
        )
    if entry.salt is not None and not re.fullmatch("[0-9a-f]{32}", entry.salt):
        raise InvalidRecord(entry.seq, "the salt is not 32 lower-case hex digits", "chain")
    if not re.fullmatch("[0-9a-f]{64}", entry.hash):
        raise InvalidRecord(entry.seq, "the hash is not 64 lower-case hex digits", "chain")
    if entry.salt is not None and expected_hash(previous, entry) != entry.hash:
        raise InvalidRecord(entry.seq, "the hash does not match this entry and the one before it", "chain")


def _is_when(text: str) -> bool:
    if not _WHEN.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _check_last(record: Record, replay: Replay) -> None:
    """Raise an error if the log ends where something must follow."""
    last = len(record.entries)
    if replay.voided:
        raise InvalidRecord(last + 1, "missing: the !pause that follows a !void")
    if (due := replay.due()) is None or not (record.entries or record.result):
        return
    if isinstance(due, Shuffle):
        raise InvalidRecord(last + 1, f"missing: the shuffle {due.label} is due", "shuffles")
    raise InvalidRecord(last + 1, f"missing: {str(due[1])!r} of seat {due[0]} is due")


def _check_head(record: Record) -> None:
    last = record.entries[-1].hash if record.entries else record.header.first_hash
    if record.result is not None and record.head != last:
        raise InvalidRecord(len(record.entries), "the head is not the hash of the last entry", "chain")


def _result(record: Record, replay: Replay) -> Result:
    outcome = replay.rules.outcome(replay.state)
    if outcome is not None and not abandoned(record.entries):
        return Result(outcome.scores, outcome.winners, outcome.reason)
    return Result(tuple(replay.rules.scores(replay.state)), (), "abandoned")
