"""Whether a record is true: all is worked out again, and the first thing wrong named (formats.md §2–4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from byzanz.chance import clean_cut, commitment, deal, key
from byzanz.games import rules_of
from byzanz.record.entry import GENESIS, Entry, abandoned, act, act_fault, true_hash
from byzanz.record.text import Header, Record, Result
from byzanz.rules import Move, Rules, RulesError, Shuffle
from byzanz.umpire import forced

CHOOSERS = ("player", "order", "clock", "autopilot", "bot")
"""Who can make a move of a seat that has a choice; a forced one is made by `rules`."""
TABLE = ("moderator", "clock", "player")
"""Who can do something at the table that is no move."""
AFTER_THE_END = ("!note", "!look")

_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


class Wrong(ValueError):
    """The record is not true.

    Args:
        seq: the entry where it shows first, present or missing; 0 for the header, the last one for the result.
        reason: what is wrong, in one line.
    """

    def __init__(self, seq: int, reason: str) -> None:
        reason = _one_line(reason)
        super().__init__(f"entry {seq}: {reason}" if seq else f"header: {reason}")
        self.seq = seq
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Report:
    """A record in which nothing is wrong.

    Args:
        entries: how many it has.
        unchecked: how many of them could not be checked, because the game runs: redacted ones, and shuffles
            whose seed is not yet revealed.
        replayed: whether every move was played over again; a redacted record cannot be.
        result: how the game ended, None while it runs.
    """

    entries: int
    unchecked: int
    replayed: bool
    result: Result | None


def _one_line(text: str) -> str:
    """The text without the line breaks and control characters that a record may bring into it."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def verify(record: Record, find: Callable[[str, int | None], Rules[Any, Any]] = rules_of) -> Report:
    """Work a record out again from its first entry to its result.

    Checked are the chain of hashes, numbers, times, commitment, cuts and shuffles; that each move is legal,
    canonical and made by somebody entitled; that forced moves come when they are due and nothing else does;
    pauses and voids; and the result. Of a redacted record everything is checked that it still tells.

    Args:
        record: as `read` gives it.
        find: gives the rules of a slug and a version.

    Raises:
        Wrong: the first thing that is not true.
    """
    rules = _check_header(record.header, find)
    withheld = [entry.seq for entry in record.entries if entry.salt is None]
    replay = _Replay(rules, record.header, told=record.result is not None or not withheld)
    previous, last = GENESIS, ""
    for expected, entry in enumerate(record.entries, start=1):
        _check_link(entry, expected, previous, last)
        if entry.salt is None and record.result is not None:
            raise Wrong(entry.seq, "the salt is withheld, though the game is over")
        replay.check(entry)
        previous, last = entry.hash, entry.at
    _check_ending(record, replay)
    shuffles = 0 if record.header.seed is not None else replay.shuffles
    return Report(len(record.entries), len(withheld) or shuffles, not withheld, record.result)


def _check_header(header: Header, find: Callable[[str, int | None], Rules[Any, Any]]) -> Rules[Any, Any]:
    try:
        header.id.encode()
        rules = find(header.game, header.rules)
        rules.setup(len(header.seats), header.options)
        for cut in header.cuts:
            clean_cut(cut)
    except UnicodeEncodeError as error:
        raise Wrong(0, "the id is not a text of Unicode") from error
    except RulesError as error:
        raise Wrong(0, str(error)) from error
    seats = range(len(header.seats))
    if len(header.cuts) != len(seats):
        raise Wrong(0, f"{len(header.cuts)} cuts for {len(seats)} seats")
    if list(header.uncut) != sorted(set(header.uncut) & set(seats)):
        raise Wrong(0, "uncut must name seats, each once, ascending")
    if not re.fullmatch("[0-9a-f]{64}", header.commitment):
        raise Wrong(0, "the commitment is not 64 lower-case hex digits")
    if header.seed is not None and commitment(header.id, header.seed) != header.commitment:
        raise Wrong(0, "the seed is not the one that was committed to")
    return rules


def _check_link(entry: Entry, expected: int, previous: str, last: str) -> None:
    if entry.seq != expected:
        raise Wrong(expected, f"entry {entry.seq} stands where entry {expected} should")
    if not _is_when(entry.at):
        raise Wrong(entry.seq, f"{entry.at!r} is not a time like 2026-11-21T10:00:00.000Z")
    if entry.at < last:
        raise Wrong(entry.seq, f"its time {entry.at} is before that of the entry before it, {last}")
    if entry.salt is not None and not re.fullmatch("[0-9a-f]{32}", entry.salt):
        raise Wrong(entry.seq, "the salt is not 32 lower-case hex digits")
    if not re.fullmatch("[0-9a-f]{64}", entry.hash):
        raise Wrong(entry.seq, "the hash is not 64 lower-case hex digits")
    if entry.salt is not None and true_hash(previous, entry) != entry.hash:
        raise Wrong(entry.seq, "the hash does not fit this entry after the one before it")


def _is_when(text: str) -> bool:
    if not _WHEN.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class _Replay:
    """The table while a record is played over again, entry by entry.

    Args:
        rules: the game.
        header: of the record.
        told: whether all moves can be read; of a redacted record only the table acts can be followed.
    """

    def __init__(self, rules: Rules[Any, Any], header: Header, told: bool) -> None:
        self.rules = rules
        self.seats = range(len(header.seats))
        self.told = told
        self.deal = None if header.seed is None else deal(key(header.id, header.seed, header.cuts))
        self.state: Any = rules.setup(len(header.seats), header.options)
        self.made: list[tuple[Entry, Any]] = []
        self.shuffles = 0
        self.paused = False
        self.voided = False
        self.over = False

    def check(self, entry: Entry) -> None:
        """Play one entry.

        Raises:
            Wrong: it cannot have been played now.
        """
        words = act(entry)
        if self.over and (words is None or words[0] not in AFTER_THE_END):
            raise Wrong(entry.seq, f"{entry.move!r} after the end: only !note and !look are logged there")
        if self.voided and words != ("!pause",):
            raise Wrong(entry.seq, f"{entry.move!r} where the !pause that follows a !void should stand")
        if words is not None:
            self._act(entry, words)
        elif self.paused:
            raise Wrong(entry.seq, f"{entry.move!r} while the game is paused")
        elif self.told:
            self._move(entry)
        else:
            self._unread_move(entry)

    def due(self) -> Shuffle | tuple[int, Move] | None:
        """What must happen next before anything else: a shuffle or a forced move, see `umpire.settle`."""
        if self.over or self.paused or self.voided or not self.told:
            return None
        return self.rules.chance(self.state) or forced(self.rules, self.state)

    def _act(self, entry: Entry, words: tuple[str, ...]) -> None:
        if (due := self.due()) is not None:
            _refuse_before(entry, due)
        if entry.by not in TABLE:
            raise Wrong(entry.seq, f"{words[0]} by {entry.by}; acts at the table are by {', '.join(TABLE)}")
        if (fault := act_fault(entry, len(self.seats))) is not None:
            raise Wrong(entry.seq, fault)
        self.voided = words[0] == "!void"
        if words[0] == "!void":
            self._void(entry, int(words[1]))
        elif words[0] in ("!pause", "!resume"):
            self.paused = words[0] == "!pause"
        elif words[0] == "!abandon":
            self.over = True

    def _void(self, entry: Entry, target: int) -> None:
        at = next((at for at, (made, _) in enumerate(self.made) if made.seq == target), None)
        if at is None or self.made[at][0].seat is None:
            raise Wrong(entry.seq, f"entry {target} is not a seat's move that still counts")
        self.state = self.made[at][1]
        del self.made[at:]

    def _move(self, entry: Entry) -> None:
        due = self.due()
        if isinstance(due, Shuffle):
            move = self._shuffle(entry, due)
        elif due is not None:
            move = due[1]
            if (entry.seat, entry.by, entry.move) != (due[0], "rules", str(move)):
                _refuse_before(entry, due)
        else:
            move = self._choice(entry)
        before = self.state
        try:
            self.state = self.rules.apply(before, entry.seat, move)
        except RulesError as error:
            raise Wrong(entry.seq, f"{entry.move!r}: {error}") from error
        self.made.append((entry, before))
        self.over = self.rules.outcome(self.state) is not None

    def _shuffle(self, entry: Entry, due: Shuffle) -> Move:
        if (entry.seat, entry.by) != (None, "chance") or not entry.move.startswith(f"shuffle {due.label} "):
            _refuse_before(entry, due)
        self.shuffles += 1
        move = Move("shuffle", tuple(entry.move.split(" ")[1:]))
        if sorted(move.args[1:]) != sorted(due.cards):
            raise Wrong(entry.seq, f"these are not the cards of the shuffle {due.label}")
        if self.deal is not None and move != self.deal(due):
            raise Wrong(entry.seq, f"seed and cuts give another order of the shuffle {due.label}")
        return move

    def _choice(self, entry: Entry) -> Move:
        if entry.by not in CHOOSERS:
            raise Wrong(
                entry.seq, f"by {entry.by}, though nothing was due: a choice is by {', '.join(CHOOSERS)}"
            )
        if entry.seat is None or entry.seat not in self.seats:
            raise Wrong(entry.seq, f"there is no seat {entry.seat}")
        try:
            move = self.rules.parse(entry.move)
        except RulesError as error:
            raise Wrong(entry.seq, f"{entry.move!r}: {error}") from error
        if str(move) != entry.move:
            raise Wrong(entry.seq, f"{entry.move!r} is not canonical, {str(move)!r} is")
        return move

    def _unread_move(self, entry: Entry) -> None:
        if entry.seat is None and (entry.by != "chance" or not entry.move.startswith("shuffle ")):
            raise Wrong(entry.seq, f"{entry.move!r} without a seat")
        if entry.seat is not None and entry.seat not in self.seats:
            raise Wrong(entry.seq, f"there is no seat {entry.seat}")
        if entry.seat is not None and entry.by not in (*CHOOSERS, "rules"):
            raise Wrong(entry.seq, f"a seat's move by {entry.by}")
        self.made.append((entry, None))


def _refuse_before(entry: Entry, due: Shuffle | tuple[int, Move]) -> NoReturn:
    if isinstance(due, Shuffle):
        raise Wrong(entry.seq, f"{entry.move!r} where the shuffle {due.label} is due, by chance")
    seat, move = due
    raise Wrong(
        entry.seq, f"{entry.move!r} by {entry.by} where seat {seat} has but one move: {str(move)!r} by rules"
    )


def _check_ending(record: Record, replay: _Replay) -> None:
    last = len(record.entries)
    if replay.voided:
        raise Wrong(last + 1, "missing: the !pause that follows a !void")
    if (due := replay.due()) is not None and (record.entries or record.result):
        what = f"the shuffle {due.label}" if isinstance(due, Shuffle) else f"{str(due[1])!r} of seat {due[0]}"
        raise Wrong(last + 1, f"missing: {what} is due")
    if record.result is None:
        if replay.over:
            raise Wrong(last, "the game is over, but the result is missing")
        if record.header.seed is not None:
            raise Wrong(last + 1, "missing: the seed is shown, but the game is not over")
        return
    if not replay.over:
        raise Wrong(last + 1, "missing: there is a result, but the game is not over")
    if record.header.seed is None:
        raise Wrong(last, "the game is over, but the seed is not shown")
    if record.result != _result(record, replay):
        raise Wrong(last, f"the result is {_result(record, replay)}, not {record.result}")
    if record.head != (record.entries[-1].hash if record.entries else GENESIS):
        raise Wrong(last, "the head is not the hash of the last entry")


def _result(record: Record, replay: _Replay) -> Result:
    outcome = replay.rules.outcome(replay.state)
    if outcome is not None and not abandoned(record.entries):
        return Result(outcome.scores, outcome.winners, outcome.reason)
    return Result(tuple(replay.rules.scores(replay.state)), (), "abandoned")
