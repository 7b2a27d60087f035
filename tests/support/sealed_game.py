"""A small game with sealed simultaneous choices and a response; the contract is tested on it first.

Two seats, four cards each, four rounds. Each seat lays a card, which stays sealed and may be changed until both have
laid one. The seat with the lower card may `respond` by adding a second card, or `decline`; the higher sum scores.
Before rounds 2 and 3 the remaining cards are shuffled and each seat draws one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from byzanz.chance import Draw
from byzanz.moves import (
    AmbiguousMove,
    BadSetup,
    IllegalMove,
    Move,
    NotAwaited,
    Outcome,
    Question,
    Shuffle,
    UnreadableMove,
)
from byzanz.rules import ALL, Rules, Viewer

CARDS = tuple(f"{suit}{value}" for suit in ("ash", "oak") for value in range(1, 7))
VERBS = ("decline", "lay", "respond")
Hands = tuple[tuple[str, ...], ...]


def worth(card: str) -> float:
    """Return the value of a card; oaks win ties, and the empty text has value 0."""
    return int(card[-1]) + 0.5 * (card[0] == "o") if card else 0.0


@dataclass(frozen=True, slots=True)
class Duel:
    """The state: `laid` and `added` hold one card per seat, or the empty text; `stock` is hidden."""

    step: str = "shuffle"
    number: int = 0
    round: int = 1
    hands: Hands = ((), ())
    stock: tuple[str, ...] = CARDS
    laid: tuple[str, ...] = ("", "")
    gone: tuple[str, ...] = ()
    points: tuple[int, ...] = (0, 0)


@dataclass(frozen=True, slots=True)
class DuelView:
    """The state as a viewer knows it: None for a hidden hand, `?` for a sealed card."""

    viewer: Viewer
    question: str
    awaited: tuple[int, ...]
    hand: tuple[str, ...]
    step: str
    number: int
    round: int
    hands: tuple[tuple[str, ...] | None, ...]
    sizes: tuple[int, ...]
    stock: tuple[str, ...] | None
    laid: tuple[str, ...]
    gone: tuple[str, ...]
    points: tuple[int, ...]


class Sealed(Rules[Duel, DuelView]):
    """The rules of the small game."""

    slug, version, title, seats = "sealed", 1, "Sealed", range(2, 3)
    state_type, state_format, sealed, by_seat = Duel, 1, frozenset({"lay"}), frozenset({"laid"})

    def setup(self, seats: int, options: Mapping[str, Any]) -> Duel:
        if seats != 2 or options:
            raise BadSetup("Sealed is for 2 and has no options.")
        return Duel()

    def chance(self, state: Duel) -> Shuffle | None:
        return Shuffle(f"deal:{state.round}", tuple(sorted(state.stock))) if state.step == "shuffle" else None

    def awaited(self, state: Duel) -> dict[int, Question]:
        question = Question(state.step, state.number)
        if state.step == "lay":
            return {seat: question for seat in (0, 1) if not state.laid[seat]}
        return {lower(state): question} if state.step == "answer" else {}

    def moves(self, state: Duel, seat: int) -> tuple[Move, ...]:
        if seat not in self.awaited(state):
            return ()
        if state.step == "lay":
            return tuple(Move("lay", (card,)) for card in state.hands[seat])
        return (Move("decline"), *(Move("respond", (card,)) for card in state.hands[seat]))

    def out_of_turn_moves(self, state: Duel, seat: int) -> tuple[Move, ...]:
        changes = state.step == "lay" and seat in (0, 1) and state.laid[seat]
        return tuple(Move("lay", (card,)) for card in state.hands[seat]) if changes else ()

    def is_out_of_turn(self, state: Duel, seat: int, move: Move) -> bool:
        return move.verb == "lay" and state.step == "lay" and seat not in self.awaited(state)

    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        if seat is None:
            return self._deal(state, move)
        if move not in self.moves(state, seat) + self.out_of_turn_moves(state, seat):
            asked = seat in self.awaited(state)
            raise (IllegalMove if asked else NotAwaited)("“%(move)s” is not possible now.", move=move)
        card = move.args[0] if move.args else ""
        if move.verb == "lay":
            back = [state.laid[seat]] if state.laid[seat] else []
            hands = put(state.hands, seat, sorted({*state.hands[seat], *back} - {card}))
            state = replace(state, hands=hands, laid=(*state.laid[:seat], card, *state.laid[seat + 1 :]))
            return replace(state, step="answer", number=state.number + 1) if all(state.laid) else state
        wins = worth(state.laid[seat]) + worth(card) > worth(state.laid[1 - seat])
        winner = seat if wins else 1 - seat
        return self._next_round(
            replace(
                state,
                hands=put(state.hands, seat, sorted(set(state.hands[seat]) - {card})),
                gone=tuple(sorted({*state.gone, *state.laid, card} - {""})),
                laid=("", ""),
                points=tuple(score + (at == winner) for at, score in enumerate(state.points)),
            )
        )

    def _next_round(self, state: Duel) -> Duel:
        if state.round == 4 or (not state.stock and not all(state.hands)):
            return replace(state, step="over")
        step = "shuffle" if state.stock else "lay"
        return replace(state, step=step, round=state.round + 1, number=state.number + (step == "lay"))

    def _deal(self, state: Duel, move: Move) -> Duel:
        due = self.chance(state)
        if due is None or move.verb != "shuffle" or sorted(move.args) != sorted((due.label, *due.cards)):
            raise IllegalMove("This is not the shuffle that is due.")
        each = 4 if state.round == 1 else 1
        deck = move.args[1:]
        dealt = (deck[:each], deck[each : 2 * each])
        hands = tuple(tuple(sorted(hand + cards)) for hand, cards in zip(state.hands, dealt, strict=True))
        stock = tuple(sorted(deck[2 * each :]))
        return replace(state, step="lay", number=state.number + 1, hands=hands, stock=stock)

    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        def seen(seat: int) -> bool:
            return viewer in (seat, ALL)

        own = viewer if isinstance(viewer, int) else None
        return DuelView(
            viewer,
            str(self.awaited(state).get(own, "")) if own is not None else "",
            tuple(self.awaited(state)),
            state.hands[own] if own is not None else (),
            state.step,
            state.number,
            state.round,
            tuple(hand if seen(seat) else None for seat, hand in enumerate(state.hands)),
            tuple(map(len, state.hands)),
            state.stock if viewer == ALL else None,
            tuple(
                card if seen(seat) or state.step != "lay" else "?" * bool(card)
                for seat, card in enumerate(state.laid)
            ),
            state.gone,
            state.points,
        )

    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        if viewer == ALL or (seat is not None and (move.verb != "lay" or settled or seat == viewer)):
            return str(move)
        return f"shuffle {move.args[0]}" if seat is None else "lay ?"

    def sample_state(self, view: DuelView, draw: Draw) -> Duel:
        seen = {*view.laid, *view.gone, *(view.stock or ())}.union(*(hand or () for hand in view.hands))
        pool = [card for card in CARDS if card not in seen]

        def unseen(count: int) -> tuple[str, ...]:
            return tuple(sorted(pool.pop(draw(len(pool))) for _ in range(count)))

        hands = tuple(
            hand if hand is not None else unseen(size)
            for hand, size in zip(view.hands, view.sizes, strict=True)
        )
        laid = tuple(unseen(1)[0] if card == "?" else card for card in view.laid)
        stock = view.stock if view.stock is not None else tuple(pool)
        return Duel(view.step, view.number, view.round, hands, stock, laid, view.gone, view.points)

    def fallback(self, view: DuelView, moves: Sequence[Move]) -> Move:
        return moves[0]

    def evaluate(self, view: DuelView) -> float:
        return float(view.points[view.viewer]) if isinstance(view.viewer, int) else 0.0

    def scores(self, state: Duel) -> tuple[int, ...]:
        return state.points

    def outcome(self, state: Duel) -> Outcome | None:
        if state.step != "over":
            return None
        best = max(state.points)
        winners = tuple(seat for seat in (0, 1) if state.points[seat] == best)
        return Outcome(state.points, winners, "finished")

    def parse(self, text: str) -> Move:
        words = text.lower().split()
        if not words or len(words) > 2 or not text.isascii():
            raise UnreadableMove("Write lay CARD, respond CARD or decline.")
        verb = full(words[0], VERBS)
        if len(words) != (1 if verb == "decline" else 2):
            raise UnreadableMove("%(verb)s has another number of cards.", verb=verb)
        return Move(verb, tuple(full(word, CARDS) for word in words[1:]))


def lower(state: Duel) -> int:
    """Return the seat with the lower card; among equals, seat 0."""
    return int(worth(state.laid[1]) < worth(state.laid[0]))


def put(hands: Hands, seat: int, hand: list[str]) -> Hands:
    """Return the hands with one of them replaced."""
    return (*hands[:seat], tuple(hand), *hands[seat + 1 :])


def full(word: str, among: tuple[str, ...]) -> str:
    """Return the word of `among` that this word is or begins."""
    fits = [word] if word in among else [whole for whole in among if whole.startswith(word)]
    if len(fits) > 1:
        raise AmbiguousMove("%(word)s is short for several.", word=word)
    if not fits:
        raise UnreadableMove("%(word)s is unknown.", word=word)
    return fits[0]
