"""Positions: states of games after a prefix of the log, always computed; what followed from moves; and faults.

A locked or lost database, a full disk, too little memory, a time limit, a thread that is stopped or a bug in the
server's own code is the server's own trouble: what failed is tried again.
"""

from __future__ import annotations

import dataclasses
import decimal
import json
import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, TracebackType
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Text, select, text, tuple_, type_coerce
from sqlalchemy.orm import Session

from byzanz import games, record, umpire
from byzanz.moves import BadSetup, Outcome, Question
from byzanz.rules import ALL, PUBLIC, Rules, Viewer
from server.errors import NotRunning
from server.play.game import Table
from server.store import log
from server.store.engine import after_commit
from server.store.facts import Fact
from server.store.models import GOING_ON, Game, GameStatus, Seat
from server.store.statements import GameRow

COMPUTING = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError, NotImplementedError),
    *(RecursionError, StopIteration, TypeError, ValueError),
)
"""What code raises that computes from wrong data, or computes wrongly."""
_COMPUTERS = {module.__name__ for module in (dataclasses, decimal, json.decoder)} | {"builtins"}
"""Errors of these kinds count only if these modules define them: other libraries also raise subclasses of them when
something is wrong with the machine, such as a time zone that is not installed."""


def is_fault(error: BaseException) -> bool:
    """Whether an error shows that a game's rules are at fault: one of their own kinds, or raised while they ran."""
    kind = type(error)
    if _is_of_a_game(kind.__module__):
        return True
    return (kind is RuntimeError or is_of_computing(error)) and _passed_a_game(error.__traceback__)


def is_of_computing(error: BaseException) -> bool:
    """Whether an error shows that something was computed wrongly; while a log is read, it or its rules are to blame."""
    kind = type(error)
    return kind.__module__ in _COMPUTERS and issubclass(kind, COMPUTING)


def _is_of_a_game(module: str) -> bool:
    """Whether a module belongs to Byzanz' own games and what they are built on, or to a package with games."""
    owners = [games.__name__, *(type(rules).__module__ for rules in games.every())]
    return module.partition(".")[0] in {owner.partition(".")[0] for owner in owners}


def _passed_a_game(traceback: TracebackType | None) -> bool:
    """Whether the code of a game was running, or a method of its rules that they have from elsewhere."""
    methods = {code for rules in games.every() for code in _methods(type(rules))}
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code in methods or _is_of_a_game(str(frame.f_globals.get("__name__"))):
            return True
        traceback = traceback.tb_next
    return False


def _methods(kind: type) -> Iterator[CodeType]:
    for name in dir(kind):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if isinstance(code, CodeType):
            yield code


# ---- what followed from the newest moves ----

LOGGER = logging.getLogger(__name__)
NEWEST = 64
"""It is kept of the moves among this many newest entries, more than a turn page or an email shows."""

Followed: TypeAlias = tuple[str, ...]
"""A line for each move from which something followed: the seq of its entry, and what `umpire.followed` gives."""


def followed(rules: Rules[Any, Any], before: Any, after: Any) -> str:
    """What followed from one move; nothing if the game fails to say it, so that the game goes on.

    Args:
        before: PUBLIC's view before it.
        after: PUBLIC's view after it.
    """
    try:
        return umpire.followed(rules, before, after)
    except Exception:
        LOGGER.exception("%s does not say what followed from a move", rules.slug)
        return ""


def extended(
    rules: Rules[Any, Any],
    state: Any,
    kept: Followed,
    entries: Sequence[tuple[int, int | None, str]],
    last: Any,
    public: Any = None,
) -> tuple[Followed, Any]:
    """What followed from the newest moves after more entries, and PUBLIC's view after them if it was needed.

    Args:
        state: before these entries.
        kept: what followed from the moves by then.
        entries: seq, seat and move of each; no move comes after a void.
        last: the state after them.
        public: PUBLIC's view before them, if it is known.
    """
    if type(rules).followed is Rules.followed:  # it says nothing
        return (), None
    moves = [entry for entry in entries if not entry[2].startswith("!")]
    lines, before = list(kept), public
    if moves and before is None:
        before = rules.view(state, PUBLIC)
    for seq, seat, move in moves:
        is_last = seq == moves[-1][0]
        state = last if is_last else rules.apply(state, seat, umpire.read_logged(rules, move))
        after = rules.view(state, PUBLIC)
        if line := followed(rules, before, after):
            lines.append(f"{seq} {line}")
        before = after
    for _, _, move in entries:
        if move.startswith("!void "):
            lines = [line for line in lines if _seq(line) < int(move.split(" ")[1])]
    while entries and lines and _seq(lines[0]) <= entries[-1][0] - NEWEST:
        del lines[0]
    return tuple(lines), before if len(moves) == len(entries) else None


def by_seq(lines: Followed) -> dict[int, str]:
    """What followed from each of the moves, by the seq of its entry."""
    return {_seq(line): line.partition(" ")[2] for line in lines}


def _seq(line: str) -> int:
    return int(line.partition(" ")[0])


# ---- positions ----


class Broken(Exception):
    """The log of a game does not replay under its rules; the game must be quarantined."""


class NoRules(Broken):
    """The rules of a game are not installed; the game is on hold until they are."""


NO_RULES = "no_rules"
"""The code of the fact for which a game without its rules is in quarantine."""


def rules_of(game: GameRow) -> Rules[Any, Any]:
    """The rules of a game, of the version with which it began.

    Raises:
        NoRules: they are not installed.
    """
    try:
        return games.rules_of(game.slug, game.rules)
    except BadSetup as missing:
        raise NoRules(f"game {game.id}: {missing}") from missing


def installed(game: GameRow) -> bool:
    """Whether the rules of a game are installed."""
    return (game.slug, game.rules) in _installed()


def _installed() -> set[tuple[str, int]]:
    return {(rules.slug, rules.version) for rules in games.every()}


def has_rules() -> ColumnElement[bool]:
    """The condition of a query for games whose rules are installed."""
    return tuple_(Game.slug, Game.rules).in_(sorted(_installed()))


def without_or_back(session: Session, limit: int) -> list[str]:
    """Games whose rules are not installed, and games on hold whose rules are back: a hint without a lock."""
    gone: list[str] = []
    for slug, version in set(_in_use(session)) - _installed():
        of_it = select(Game.id).where(text(GOING_ON), Game.slug == slug, Game.rules == version)
        of_it = of_it.with_hint(
            Game, "INDEXED BY ix_game_rules", "sqlite"
        )  # it takes any kind for a frequent one
        gone += session.scalars(of_it.limit(limit - len(gone)))
    code = type_coerce(Game.quarantine, Text).startswith(f'{{"code":"{NO_RULES}"')
    back = select(Game.id).where(Game.quarantine.is_not(None), code, has_rules())
    return [*gone, *session.scalars(back.limit(limit))]


def _in_use(session: Session) -> Iterator[tuple[str, int]]:
    """Yield the games and versions of rules that are being played, by single steps in their index.

    A comparison of pairs would be one step on PostgreSQL only: SQLite reads all rows with the first pair.
    """
    first = select(Game.slug, Game.rules).where(text(GOING_ON)).order_by(Game.slug, Game.rules).limit(1)
    found = session.execute(first).first()
    while found is not None:
        slug, version = found
        yield slug, version
        found = session.execute(first.where(Game.slug == slug, Game.rules > version)).first()
        if found is None:
            found = session.execute(first.where(Game.slug > slug)).first()


def why_on_hold(why: Fact) -> Broken:
    """The error because of which a game is in quarantine, to be raised again."""
    return NoRules(str(why)) if why.code == NO_RULES else Broken(str(why))


def on_hold(error: Broken) -> NotRunning:
    """The refusal of any request that a game in quarantine cannot grant."""
    if isinstance(error, NoRules):
        return NotRunning(
            "This game is on hold: its rules are not installed on this server at the moment. "
            "Nothing has been lost, and no clock runs."
        )
    return NotRunning("This game is on hold while we look into an error. Nothing has been lost.")


def check_running(game: GameRow) -> None:
    """Refuse a game that cannot change now; a paused one can.

    Raises:
        NotRunning: the game has not begun, is over or is in quarantine.
    """
    if game.status == GameStatus.OVER:
        raise NotRunning("The game is over.")
    if game.status != GameStatus.RUNNING:
        raise NotRunning("The game has not begun.")
    if game.quarantine:
        raise on_hold(why_on_hold(game.quarantine))


@dataclass(frozen=True, slots=True)
class Position:
    """A game after the entry `head`.

    Args:
        rules: of the version the game is played with.
        state: what the rules made of the entries that still count.
        head: the seq of the last entry, 0 before the first.
        paused: whether the game must be resumed before anyone can move.
        outcome: how the game ended, or None.
        followed: what followed from the newest moves.
        public: PUBLIC's view of the state, if it is known already.
    """

    game_id: str
    rules: Rules[Any, Any]
    state: Any
    head: int
    paused: bool
    outcome: Outcome | None
    followed: Followed = ()
    public: Any = field(default=None, compare=False, repr=False)

    def view(self, viewer: Viewer) -> Any:
        """The view of this viewer, which shows everything once the game is over."""
        return self.rules.view(self.state, ALL if self.outcome else viewer)

    @property
    def awaited(self) -> Mapping[int, Question]:
        """The seats to move and their questions; empty while the game is paused and when it is over."""
        return {} if self.paused or self.outcome else self.rules.awaited(self.state)


def seats_of(session: Session, game_id: str) -> Sequence[Seat]:
    """The seats of a game, in order."""
    return session.scalars(select(Seat).where(Seat.game_id == game_id).order_by(Seat.seat)).all()


def current(table: Table) -> Position:
    """The position of a game in hand that has begun, after its newest entry.

    Raises:
        Broken: the log does not replay; the game must be quarantined. NoRules: its rules are not installed.
    """
    game = table.game
    rules = rules_of(game)
    kept = _decoded(rules, *table.snapshot) if table.snapshot else None
    if kept is None:  # its snapshot is of an older version; a finished game gets no new one
        key = _format(rules), f"{game.id} {game.head_hash}"
        kept = _remembered.get(key) or _replayed(
            game, len(table.seats), rules, log.entries(table.session, game.id)
        )
        _remember(key, kept)
    return _position(game, rules, kept, game.head, game.paused, game.result)


Kept: TypeAlias = tuple[Any, Followed, Any]
"""What a snapshot holds, a state and what followed from the newest moves before it, and PUBLIC's view if known."""
MOST_REMEMBERED = 256
_remembered: OrderedDict[tuple[str, str], Kept] = OrderedDict()
"""Newest positions by the format and text of their snapshot, or the head of their log: nothing can be out of date."""


def _decoded(rules: Rules[Any, Any], form: str, text: str) -> Kept | None:
    if form != _format(rules):
        return None
    if (known := _remembered.get((form, text))) is not None:
        return known
    state, *lines = text.split("\n")
    try:
        by_seq(tuple(lines))  # raises if one names no entry
        return rules.decode(state), tuple(lines), None
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def _remember(key: tuple[str, str], kept: Kept) -> None:
    _remembered[key] = kept
    if len(_remembered) > MOST_REMEMBERED:
        with suppress(KeyError):  # another thread has emptied it
            _remembered.popitem(last=False)


def _replayed(game: GameRow, seats: int, rules: Rules[Any, Any], entries: Sequence[record.Entry]) -> Kept:
    counting = record.effective(entries)
    state, older = replay(game, seats, rules, counting), replay(game, seats, rules, counting[:-NEWEST])
    newest = [(each.seq, each.seat, each.move) for each in counting[-NEWEST:]]
    return state, *extended(rules, older, (), newest, state)


def replay(game: GameRow, seats: int, rules: Rules[Any, Any], entries: Sequence[record.Entry]) -> Any:
    """The state to which these entries lead, voids applied.

    Args:
        seats: how many there are.

    Raises:
        Broken: the rules refuse one of them, or fail on it.
    """
    try:
        moves = ((entry.seat, umpire.read_logged(rules, entry.move)) for entry in record.effective(entries))
        return umpire.replay(rules, seats, json.loads(game.options), moves)
    except Exception as error:  # an error in one game must not affect the others
        if not (is_fault(error) or is_of_computing(error)):
            raise
        raise Broken(f"game {game.id}: {type(error).__name__}: {error}") from error


def states(table: Table, entries: Sequence[record.Entry]) -> list[Any]:
    """The state after each of these entries; after a void it is the one before the move that the void names.

    Args:
        entries: a log from its first entry on.

    Raises:
        Broken: the rules refuse one of them, or fail on it.
    """
    game = table.game
    rules = rules_of(game)
    try:
        state = rules.setup(len(table.seats), json.loads(game.options))
        made: list[tuple[int, Any]] = []
        found = []
        for entry in entries:
            words = record.table_act(entry)
            if words is None:
                made.append((entry.seq, state))
                state = rules.apply(state, entry.seat, umpire.read_logged(rules, entry.move))
            elif words[0] == "!void":
                while made and made[-1][0] >= int(words[1]):
                    state = made.pop()[1]
            found.append(state)
        return found
    except Exception as error:  # an error in one game must not affect the others
        if not (is_fault(error) or is_of_computing(error)):
            raise
        raise Broken(f"game {game.id}: {type(error).__name__}: {error}") from error


def _position(
    game: GameRow, rules: Rules[Any, Any], kept: Kept, head: int, paused: bool, result: str | None
) -> Position:
    state, told, public = kept
    outcome = rules.outcome(state)
    if result is not None:
        found = json.loads(result)
        outcome = Outcome(tuple(found["scores"]), tuple(found["winners"]), found["reason"])
    return Position(game.id, rules, state, head, paused, outcome, told, public)


def save(table: Table, position: Position) -> None:
    """Keep the state after the newest entry, in place of the one kept before."""
    rules = position.rules
    kept = _format(rules), "\n".join([rules.encode(position.state), *position.followed])
    table.snapshot = kept
    after_commit(
        table.session, partial(_remember, kept, (position.state, position.followed, position.public))
    )


def _format(rules: Rules[Any, Any]) -> str:
    # The sign says that what followed stands below the state, a line for each move.
    return f"{rules.slug}/{rules.version}/{rules.state_format}+"
