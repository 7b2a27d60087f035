"""Empire and Foes, version 1: two players, the Empire against its foes, exactly as rules/empire.md.

This is the game as the contract wants it: who is asked, what may be answered, who may see what, and what is
played for a seat that does not answer. The cards are in `empire_cards`, the table in `empire_table`, what a move
does in `empire_play`, what a seat orders beforehand in `empire_orders`, who sees what in `empire_view` and
`empire_worlds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, tanh
from typing import Any, ClassVar

from byzanz.games import empire_orders
from byzanz.games.empire_cards import (
    BYZANTINES,
    FOES,
    NUMBER,
    PACK,
    YEARS,
    Cards,
    force,
    hand_size,
    kept_worth,
    legacy,
    melds_from,
    minus,
    names,
    numbers,
    plus,
    read_move,
    redraws_from,
    strongest,
)
from byzanz.games.empire_play import (
    DECLINE,
    FALLEN,
    HIGHEST,
    LEGACY_AT_START,
    RESPONSES,
    START,
    asked,
    check_asked,
    make,
    responses,
)
from byzanz.games.empire_table import SEALED, State, deck_of, due_shuffle, shuffle
from byzanz.games.empire_view import HIDDEN, View, view_of
from byzanz.games.empire_worlds import world_of
from byzanz.rules import (
    ALL,
    PUBLIC,
    BadSetup,
    Draw,
    Move,
    Obeyed,
    Order,
    Outcome,
    Question,
    Rules,
    Shuffle,
    Viewer,
)

__all__ = ["Empire", "State", "View"]


class Empire(Rules[State, View]):
    """The rules of Empire."""

    slug: ClassVar[str] = "empire"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Empire and Foes"
    seats: ClassVar[range] = range(2, 3)
    state_type: ClassVar[type] = State
    state_format: ClassVar[int] = 1
    sealed: ClassVar[frozenset[str]] = frozenset(SEALED)

    def setup(self, seats: int, options: Mapping[str, Any]) -> State:
        """Year 1 before the first shuffles, all cards aside; Empire has no options."""
        if seats not in self.seats:
            raise BadSetup("Empire is for 2 players, not %(seats)s.", seats=seats)
        if options:
            raise BadSetup("Empire has no option “%(option)s”.", option=min(map(str, options))[:40])
        nothing: tuple[Cards, Cards] = ((), ())
        return State(
            step="begin",
            number=0,
            year=1,
            territory=START,
            legacy=(LEGACY_AT_START, LEGACY_AT_START),
            aside=(PACK[FOES], PACK[BYZANTINES]),
            piles=nothing,
            discards=nothing,
            buried=(),
            out=nothing,
            shuffles=(0, 0),
            hands=nothing,
            shown=nothing,
            received=(-1, -1),
            redrawn=(0, 0),
            played=nothing,
            chosen=(None, None),
            melds=nothing,
            added=(),
            battle=(),
        )

    def chance(self, state: State) -> Shuffle | None:
        """The new cards of an age at its start; later a deck's discards when a card is to be drawn and none is left."""
        return due_shuffle(state)

    def awaited(self, state: State) -> dict[int, Question]:
        """Who owes a choice under seal, or the response that is asked."""
        question = Question(state.step, state.number)
        return dict.fromkeys(asked(state), question)

    def moves(self, state: State, seat: int) -> tuple[Move, ...]:
        """The answers: redraws small first, melds strong first, cards to keep, or `decline` and responses."""
        if seat not in asked(state):
            return ()
        return _choices(state, seat) if state.step in SEALED else responses(state)

    def asides(self, state: State, seat: int) -> tuple[Move, ...]:
        """The same choices again while the other seat's is not in: the last one counts (formats.md §1)."""
        return _choices(state, seat) if _has_sealed(state, seat) else ()

    def is_aside(self, state: State, seat: int, move: Move) -> bool:
        """A further choice in place of one that is sealed."""
        return move.verb == state.step and _has_sealed(state, seat)

    def apply(self, state: State, seat: int | None, move: Move) -> State:
        """The state after a move in canonical form; refuses whatever rules/empire.md does not allow."""
        if seat is None:
            return shuffle(state, move)
        check_asked(state, seat, move.verb)
        return make(state, seat, move)

    def view(self, state: State, viewer: Viewer) -> View:
        """As rules/empire.md "Public and hidden"."""
        return view_of(state, viewer, self.awaited(state))

    def told(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        """Of a shuffle its label, of others' choices nothing while sealed, of a redraw then the count alone."""
        if viewer == ALL or (seat is not None and (seat == viewer or move.verb not in SEALED)):
            return str(move)
        if seat is None:
            return f"shuffle {move.args[0]}"
        if not settled:
            return f"{move.verb} ?"
        if move.verb == "redraw":
            return f"redraw ? {len(move.args)}"
        return "keep ?" if move.verb == "keep" and viewer == PUBLIC else str(move)

    def worlds(self, view: View, draw: Draw) -> State:
        """A state of this view: hidden hands, draw piles, cards face down and sealed choices are dealt anew."""
        return world_of(view, draw)

    def fallback(self, view: View, moves: tuple[Move, ...]) -> Move:
        """As rules/empire.md "Fallback"; of equal ones the first listed."""
        deck = FOES if view.viewer == view.foe else BYZANTINES
        if view.step == "redraw":
            return Move("redraw")
        if view.step == "meld":
            melds = [numbers(deck, move.args) for move in moves]
            return moves[max(range(len(moves)), key=lambda at: (force(melds[at]), legacy(melds[at])))]
        if view.step == "keep":
            return max(moves, key=lambda move: kept_worth(NUMBER[deck][move.args[0]]))
        best = max(moves, key=lambda move: _swing(view, move))
        return best if _swing(view, best) > 0 else DECLINE

    def appraise(self, view: View) -> float:
        """The lead in legacy, what the battle of this year may bring, and what a low territory threatens."""
        if not isinstance(view.viewer, int):
            return 0.0
        me = view.viewer
        lead = float(view.legacy[me] - view.legacy[1 - me])
        if view.step == "over":
            return lead
        return lead + _prospects(view, me) + _gifts(view, me)

    def scores(self, state: State) -> tuple[int, ...]:
        """The legacy of each seat."""
        return state.legacy

    def outcome(self, state: State) -> Outcome | None:
        """Most legacy wins, equal legacy is a draw; `fallen` when territory is gone (rules/empire.md)."""
        if state.step != "over":
            return None
        winners = tuple([seat for seat in (0, 1) if state.legacy[seat] == max(state.legacy)])
        return Outcome(state.legacy, winners, "finished" if state.territory > 0 else "fallen")

    def parse(self, text: str) -> Move:
        """Read a line as a player writes it (formats.md §1)."""
        return read_move(text)

    def parse_order(self, text: str) -> Order:
        """Read a standing order: `defend vandals then ask`, `meld most always` (docs/orders.md)."""
        return empire_orders.read_order(text)

    def occasion(self, order: Order, view: View) -> str:
        """The year that an order is for, such as `year 3`, unless it is for always."""
        return empire_orders.occasion(order, view)

    def lapsed(self, occasion: str, view: View) -> bool:
        """Whether the year is over."""
        return empire_orders.lapsed(occasion, view)

    def obey(self, order: Order, view: View, moves: tuple[Move, ...]) -> Obeyed | None:
        """What an order answers to the question that its seat is asked (docs/orders.md)."""
        return empire_orders.obey(order, view, moves, self.fallback)


def _has_sealed(state: State, seat: int) -> bool:
    return state.step in SEALED and seat in (0, 1) and state.chosen[seat] is not None


def _choices(state: State, seat: int) -> tuple[Move, ...]:
    """All that a seat may choose under seal."""
    hand = state.hands[seat]
    if state.step == "redraw":
        return redraws_from(hand)
    if state.step == "meld":
        return melds_from(hand)
    return tuple([Move("keep", names((card,))) for card in sorted(set(hand))])


def _laid(view: View, seat: int) -> Cards:
    """The meld of a seat as it lies on the table."""
    deck = BYZANTINES if seat == view.emperor else FOES
    return numbers(deck, [melded.card for melded in view.melds[seat].cards])


def _swing(view: View, move: Move) -> int:
    """By how much a response changes the difference of the forces in favour of who makes it."""
    own, theirs = _laid(view, view.emperor), _laid(view, view.foe)
    if move.verb in ("defend", "replace"):
        return force(plus(theirs, numbers(FOES, move.args))) - force(theirs)
    if move.verb == "decline":
        return 0
    gained = force(theirs) - force(minus(theirs, numbers(FOES, move.args[:1])))
    lost = force(own) - force(minus(own, numbers(BYZANTINES, move.args[2:])))
    return gained - lost


# A guess at the prospects

_TYPICAL = {"E": (16, 20), "M": (18, 19), "L": (19, 16)}
"""The force of a good meld of the Foe and of the Emperor in each age, as simulated games show it."""
_REDRAWN = 1.5
"""What a card to be drawn adds to the force of a meld."""
_GIFT = 0.05
"""What a point of force in the card that the other seat is passed costs in legacy."""


def _prospects(view: View, me: int) -> float:
    """The legacy that battles may bring to a seat: that of this year, and the threat to the next Emperor."""
    side = 1 if me == view.emperor else -1
    if view.step == "keep":
        return side * _threat(view.territory)
    is_open = view.step in (*RESPONSES, "replace")
    own, theirs, cards = _forces(view, me, is_open)
    room = HIGHEST - view.territory
    after = view.territory + min(room, own - theirs)
    fall = _chance(-after / (0.3 if is_open else 2.5))
    gain = min(room, tanh((own - theirs) / (0.5 if is_open else 4.0))) + cards
    next_year = _threat(after) if view.year < YEARS else 0.0
    return side * ((1 - fall) * (gain + next_year) - fall * FALLEN)


def _forces(view: View, me: int, is_open: bool) -> tuple[float, float, int]:
    """What the Emperor and the Foe bring to the battle, and the legacy of the Emperor's cards."""
    if is_open:
        return view.melds[view.emperor].force, view.melds[view.foe].force, legacy(_laid(view, view.emperor))
    foe, emperor = _TYPICAL[view.age]
    strength, cards = _planned(view, me)
    return (strength, foe, cards) if me == view.emperor else (emperor, strength, 0)


def _planned(view: View, me: int) -> tuple[float, int]:
    """Force and legacy of the meld that a seat has sealed, or of the best it can hope for."""
    deck = BYZANTINES if me == view.emperor else FOES
    hand, chosen = numbers(deck, view.hands[me] or ()), numbers(deck, view.chosen[me] or ())
    if view.step == "meld" and view.sealed[me]:
        return force(chosen), legacy(chosen)
    rest = minus(hand, chosen)
    strength, cards = strongest(rest)
    return strength + _REDRAWN * (hand_size(deck, view.year) - len(rest)), cards


def _threat(territory: float) -> float:
    """The legacy that the next Emperor is likely to lose because the Empire falls."""
    return FALLEN * _chance(-(territory + 1) / 3)


def _chance(odds: float) -> float:
    return 1 / (1 + exp(-max(-50.0, min(50.0, odds))))


def _gifts(view: View, me: int) -> float:
    """What the card costs that the other seat was passed, or will be."""
    if view.step == "keep":
        return -_GIFT * sum(
            [kept_worth(NUMBER[deck_of(me, view.year)][card]) for card in view.chosen[me] or ()]
        )
    passed = view.received[1 - me]
    return (
        -_GIFT * kept_worth(NUMBER[deck_of(1 - me, view.year)][passed])
        if passed not in (None, HIDDEN)
        else 0.0
    )
