"""Replaying a record entry by entry, with all its checks (docs/formats.md §2, §3)."""

from __future__ import annotations

from typing import Any, NoReturn

from byzanz.chance import Stream, shuffled
from byzanz.moves import Move, RulesError, Shuffle
from byzanz.record.entry import Entry, table_act, table_act_error
from byzanz.record.jsonl import Header
from byzanz.record.report import InvalidRecord, ShuffleCheck
from byzanz.rules import Rules
from byzanz.umpire import forced_move

CHOOSERS = ("player", "order", "clock", "autopilot", "bot")
"""The `by` of a move that a seat had to choose; a forced one is by `rules`."""
TABLE = ("moderator", "clock", "player")
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
            if (entry.seat, entry.by, entry.move) != (due[0], "rules", str(move)):
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
        if (entry.seat, entry.by) != (None, "chance") or not entry.move.startswith(f"shuffle {due.label} "):
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
        if entry.seat is None and (entry.by != "chance" or not entry.move.startswith("shuffle ")):
            raise InvalidRecord(entry.seq, f"{entry.move!r} without a seat")
        if entry.seat is not None and entry.seat not in self.seats:
            raise InvalidRecord(entry.seq, f"there is no seat {entry.seat}")
        if entry.seat is not None and entry.by not in (*CHOOSERS, "rules"):
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
