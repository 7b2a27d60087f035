"""Rare events in the recorded games: endings, moves, table acts; README.md says which game shows which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from byzanz.games import rules_of
from byzanz.record import Entry, Record, Result
from byzanz.rules import ALL, Rules
from tests.records.replay import positions


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry with the positions around it.

    Args:
        rules: the game.
        entry: as it was logged.
        before, after: states; equal for an act that changes nothing.
    """

    rules: Rules[Any, Any]
    entry: Entry
    before: Any
    after: Any

    @property
    def asked(self) -> str:
        """The kind of question that the seat of this entry had before it, empty if none."""
        question = self.rules.awaited(self.before).get(-1 if self.entry.seat is None else self.entry.seat)
        return question.kind if question else ""

    def seen(self) -> tuple[Any, Any]:
        """The positions before and after the entry with nothing hidden."""
        return self.rules.view(self.before, ALL), self.rules.view(self.after, ALL)


def moments(record: Record) -> list[Moment]:
    """A whole game."""
    rules = rules_of(record.header.game, record.header.rules)
    before, made = rules.setup(len(record.header.seats), record.header.options), []
    for entry, after in positions(rules, record):
        made.append(Moment(rules, entry, before, after))
        before = after
    return made


def of_move(begins: str | tuple[str, ...], by: str | None = None) -> Callable[[Moment], bool]:
    """Whether a move begins with this text and has this cause, if one is given."""
    return lambda moment: moment.entry.move.startswith(begins) and by in (None, moment.entry.by)


def made_by(by: str) -> Callable[[Moment], bool]:
    """Whether a seat's move has this cause."""
    return lambda moment: moment.entry.by == by and not moment.entry.move.startswith("!")


def _is_aside(moment: Moment) -> bool:
    entry = moment.entry
    if entry.seat is None or entry.move.startswith("!"):
        return False
    return moment.rules.is_out_of_turn(moment.before, entry.seat, moment.rules.parse(entry.move))


def _unsold(moment: Moment) -> bool:
    """Whether a pass lets the first seat that passed win the lot for nothing."""
    if moment.entry.move != "pass":
        return False
    before, after = moment.seen()
    return not before.highest and before.won != after.won


def _empty_market(moment: Moment) -> bool:
    """Whether the market is over although not every seat has taken a group."""
    if not moment.entry.move.startswith(("take", "sell", "discard")):
        return False
    before, after = moment.seen()
    taken = before.taken + moment.entry.move.startswith("take")
    return before.step in ("market", "limit") and after.step in ("bid", "end") and 0 < taken < before.seats


def _closed(moment: Moment) -> bool:
    return any(place.state == "closed" for place in moment.seen()[1].places)


def _both_ways(moment: Moment) -> bool:
    return {"rising", "falling"} <= {arm.direction for arm in moment.seen()[1].arms}


def _emptied(moment: Moment) -> bool:
    return moment.entry.move.startswith("put") and 0 in moment.seen()[1].hand_sizes


def _void_under_seal(moment: Moment) -> bool:
    seats = range(len(moment.rules.scores(moment.before)))
    out_of_turn_moves = [moment.rules.out_of_turn_moves(moment.before, seat) for seat in seats]
    return moment.entry.move.startswith("!void") and any(out_of_turn_moves)


def _full_territory(moment: Moment) -> bool:
    return bool(moment.seen()[1].territory == 20)


def _takes_back_shuffle(record: Record) -> bool:
    """Whether a shuffle was voided and came again."""
    shuffles = [entry.move for entry in record.entries if entry.by == "chance"]
    return len(set(shuffles)) < len(shuffles)


def _reaches_behind(record: Record) -> bool:
    """Whether a later void takes back more than an earlier one."""
    targets = [int(entry.move.split()[1]) for entry in record.entries if entry.move.startswith("!void")]
    return any(later < earlier for earlier, later in pairwise(targets))


def _rival_tied(record: Record) -> bool:
    """Whether the best score does not decide, because another seat has the same score and more cards."""
    result = _ended(record)
    return result.scores.count(max(result.scores)) > len(result.winners) > 0


def _ended(record: Record) -> Result:
    assert record.result is not None
    return record.result


MOMENTS: dict[tuple[str, str], Callable[[Moment], bool]] = {
    ("byzanz", "discards at the hand limit"): of_move("discard"),
    ("byzanz", "a sale at the hand limit"): lambda of: of_move("sell")(of) and of.asked == "limit",
    ("byzanz", "a sale out of turn"): lambda of: of_move("sell")(of) and not of.asked,
    ("byzanz", "a sale at the end"): lambda of: of_move("sell")(of) and of.asked == "end",
    ("byzanz", "three merchants sold"): of_move("sell merchant merchant merchant"),
    ("byzanz", "all pass, the first wins for nothing"): _unsold,
    ("byzanz", "a pass by itself, for want of a higher bid"): of_move("pass", "rules"),
    ("byzanz", "no group left for the last at the market"): _empty_market,
    ("empire", "a sealed choice replaced"): _is_aside,
    ("empire", "a void while a choice is sealed"): _void_under_seal,
    ("empire", "a defence"): of_move("defend"),
    ("empire", "a negotiation"): of_move("negotiate"),
    ("empire", "a negotiation, and another card in its place"): of_move("replace"),
    ("empire", "an army bought off"): of_move("buy-off"),
    ("empire", "discards of the Foes shuffled again"): of_move("shuffle foes:4"),
    ("empire", "discards of the Byzantines shuffled again"): of_move("shuffle byzantines:4"),
    ("empire", "a last card passed by itself"): of_move("keep", "rules"),
    ("empire", "territory at its highest"): _full_territory,
    ("byzantium", "a seat that must pass"): of_move("pass", "rules"),
    ("byzantium", "a hand emptied"): _emptied,
    ("byzantium", "a slot closed by its neighbour"): _closed,
    ("byzantium", "arms rising and falling"): _both_ways,
    ("any", "a fallback, for a seat that did not answer"): made_by("clock"),
    ("any", "a seat on autopilot"): made_by("autopilot"),
    ("any", "a standing order"): made_by("order"),
    ("any", "a seat replaced"): of_move("!replace"),
    ("any", "time added: !extend, !bank, !credit"): of_move(("!extend", "!bank", "!credit")),
    ("any", "a note"): of_move("!note"),
    ("any", "a look at hidden hands"): of_move("!look"),
    ("any", "an act that nobody knows yet"): of_move("!dance"),
}
"""Events of an entry, by the slug of the game; `any` for all games."""
GAMES: dict[tuple[str, str], Callable[[Record], bool]] = {
    ("byzanz", "a win shared"): lambda game: len(_ended(game).winners) > 1,
    ("byzanz", "a tie, won by the cards in hand"): _rival_tied,
    ("empire", "all twelve years played"): lambda game: _ended(game).reason == "finished",
    ("empire", "the Empire falls"): lambda game: _ended(game).reason == "fallen",
    ("empire", "a draw"): lambda game: len(_ended(game).winners) == 2,
    ("byzantium", "a win shared"): lambda game: len(_ended(game).winners) > 1,
    ("any", "abandoned"): lambda game: _ended(game).reason == "abandoned",
    ("any", "seats that were not asked to cut"): lambda game: bool(game.header.uncut),
    ("any", "a void"): lambda game: any(entry.move.startswith("!void") for entry in game.entries),
    ("any", "a void of a shuffle, which comes again"): _takes_back_shuffle,
    ("any", "a void that reaches behind an earlier one"): _reaches_behind,
}
"""Events of a whole game."""


def sights(record: Record) -> set[tuple[str, str]]:
    """Return the events of this game among all in MOMENTS and GAMES."""
    mine = (record.header.game, "any")
    all_moments = moments(record)
    found = {what for what, shows in GAMES.items() if what[0] in mine and shows(record)}
    return found | {
        what for what, shows in MOMENTS.items() if what[0] in mine and any(map(shows, all_moments))
    }
