"""Faults planted in a small game, and the check of `byzanz.kit.conformance` that must find each."""

from collections.abc import Sequence
from dataclasses import fields, make_dataclass, replace
from itertools import count
from typing import Any

from byzanz.chance import Draw
from byzanz.moves import IllegalMove, Message, Move, Order, OrderAnswer, Outcome, Question, UnreadableOrder
from byzanz.rules import Viewer
from tests.support.sealed_game import CARDS, Duel, DuelView, Sealed


class LeaksAHand(Sealed):
    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        return replace(super().view(state, viewer), hands=state.hands)


class LeaksASealedCard(Sealed):
    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        return replace(super().view(state, viewer), laid=state.laid)


class CarelessWorlds(Sealed):
    def sample_state(self, view: DuelView, draw: Draw) -> Duel:
        return super().sample_state(replace(view, hands=(None, None)), draw)


class MissingFromTheList(Sealed):
    def moves(self, state: Duel, seat: int) -> tuple[Move, ...]:
        return super().moves(state, seat)[:1]

    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        return Sealed().apply(state, seat, move)


class ListsTooMuch(Sealed):
    def moves(self, state: Duel, seat: int) -> tuple[Move, ...]:
        moves = super().moves(state, seat)
        return (
            (*moves, Move("lay", (state.hands[1 - seat][0],))) if moves and state.hands[1 - seat] else moves
        )

    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        return Sealed().apply(state, seat, move)


class Backwards(tuple[Move, ...]):
    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(at if isinstance(at, slice) else -1 - at)


class ReadsOtherwiseByNumber(Sealed):
    def moves(self, state: Duel, seat: int) -> Backwards:
        return Backwards(super().moves(state, seat))

    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        return Sealed().apply(state, seat, move)


class AsidesAreAnswers(Sealed):
    def is_out_of_turn(self, state: Duel, seat: int, move: Move) -> bool:
        return False


class CrashesOnUnknownCards(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        for word in move.args[:1] if seat is not None else ():
            CARDS.index(word)
        return super().apply(state, seat, move)


class RefusesWithoutAWord(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        try:
            return super().apply(state, seat, move)
        except IllegalMove:
            raise IllegalMove("") from None


class CountsDown(Sealed):
    def awaited(self, state: Duel) -> dict[int, Question]:
        return {
            seat: Question(asked.kind, 99 - asked.number) for seat, asked in super().awaited(state).items()
        }


class AsidesAskAnew(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        aside = seat is not None and self.is_out_of_turn(state, seat, move)
        after = super().apply(state, seat, move)
        return replace(after, number=after.number + 1) if aside and after.step == "lay" else after


class AsksAfterTheEnd(Sealed):
    def awaited(self, state: Duel) -> dict[int, Question]:
        return {0: Question("lay", 99)} if state.step == "over" else super().awaited(state)


class TwoQuestionsAtOnce(Sealed):
    def awaited(self, state: Duel) -> dict[int, Question]:
        return {
            seat: Question(asked.kind, 2 * asked.number + seat)
            for seat, asked in super().awaited(state).items()
        }


class FallsBackOnAnything(Sealed):
    def fallback(self, view: DuelView, moves: Sequence[Move]) -> Move:
        return Move("decline")


class DreamsOfWhatCannotBe(Sealed):
    def rollout_move(self, state: Duel, seat: int, draw: Draw) -> Move:
        return Move("decline")


class TellsSealedChoices(Sealed):
    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        return super().redact_move(move, seat, viewer, True)


class TellsTheDeal(Sealed):
    def redact_move(self, move: Move, seat: int | None, viewer: Viewer, settled: bool) -> str:
        return str(move) if seat is None else super().redact_move(move, seat, viewer, settled)


class MiscountsThePoints(Sealed):
    def outcome(self, state: Duel) -> Outcome | None:
        outcome = super().outcome(state)
        return outcome and replace(outcome, scores=(9, 9))


class PutsTheLoserFirst(Sealed):
    def places(self, state: Duel) -> tuple[int, ...]:
        return super().places(state)[::-1] if state.step == "over" else super().places(state)


class SharesNoPlace(Sealed):
    def places(self, state: Duel) -> tuple[int, ...]:
        return tuple(2 * place - 1 for place in super().places(state))


class LeavesAPlaceOpen(Sealed):
    def followed(self, before: DuelView, after: DuelView) -> list[Message]:
        return [Message("%(name)s wins %(prize)s.", {}, {"name": 0})]


class NamesAStranger(Sealed):
    def followed(self, before: DuelView, after: DuelView) -> list[Message]:
        return [Message("%(name)s wins.", {}, {"name": 7})]


class LosesACard(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        after = super().apply(state, seat, move)
        return replace(after, gone=after.gone[:-1]) if move.verb == "respond" else after


class DealsAThirteenthCard(Sealed):
    def chance(self, state: Duel) -> Any:
        shuffle = super().chance(state)
        return shuffle and replace(shuffle, cards=(*shuffle.cards, *("oak7",) * (state.round == 2)))


class ShowsNoDeck(Sealed):
    """Without a fault: before the first deal no field of any view holds its cards."""

    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        view = super().view(state, viewer)
        return replace(view, stock=()) if not view.number and view.stock else view

    def sample_state(self, view: DuelView, draw: Draw) -> Duel:
        return Duel() if not view.number else super().sample_state(view, draw)


class Moody(Sealed):
    moods = count()

    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        after = super().apply(state, seat, move)
        return replace(after, points=(next(self.moods), 0))


class Forgets(Sealed):
    def encode(self, state: Duel) -> str:
        return super().encode(replace(state, gone=()))


class DeafToCapitals(Sealed):
    def parse(self, text: str) -> Move:
        return super().parse("decline" if text.isupper() else text)


class GuessesShortForms(Sealed):
    def parse(self, text: str) -> Move:
        return Move("lay", ("ash1",)) if text.endswith(" a") else super().parse(text)


class StumblesOverSigns(Sealed):
    def parse(self, text: str) -> Move:
        return super().parse(text.encode("ascii").decode())


class ShufflesUnderOneLabel(Sealed):
    def chance(self, state: Duel) -> Any:
        shuffle = super().chance(state)
        return shuffle and replace(shuffle, label="deal")


class SeatsAnybody(Sealed):
    def setup(self, seats: int, options: Any) -> Duel:
        return super().setup(2, {})


class AsksNothing(Sealed):
    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        return replace(super().view(state, viewer), question="")


class SaysThatAllAreToMove(Sealed):
    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        return replace(super().view(state, viewer), awaited=(0, 1))


class ForgetsWhoLaidACard(Sealed):
    """The last cards are public at times, and nothing says that they belong to seats."""

    def view(self, state: Duel, viewer: Viewer) -> Any:
        view = super().view(state, viewer)
        shown = {field.name: getattr(view, field.name) for field in fields(view)}
        last = ("", "") if state.round == 1 else ("ash1", "oak1")
        return make_dataclass("Shown", [*shown, "last_cards"], frozen=True)(**shown, last_cards=last)


class SealsNothing(Sealed):
    sealed = frozenset()


class PutsItsWordsTogether(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        try:
            return super().apply(state, seat, move)
        except IllegalMove:
            raise IllegalMove(f"“{move}” is not possible now, seat {seat}.") from None


class NamesNoPlace(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        try:
            return super().apply(state, seat, move)
        except IllegalMove:
            raise IllegalMove("This move is not possible now.", move=move) from None


class EndsForNoReason(Sealed):
    def outcome(self, state: Duel) -> Outcome | None:
        outcome = super().outcome(state)
        return outcome and replace(outcome, reason="bored")


class AlwaysTies(Sealed):
    def scores(self, state: Duel) -> tuple[int, ...]:
        return (0, 0)

    def outcome(self, state: Duel) -> Outcome | None:
        return super().outcome(state) and Outcome((0, 0), (0, 1), "finished")


class PaysToLose(Sealed):
    def evaluate(self, view: DuelView) -> float:
        return -super().evaluate(view)


class PeeksWithAnAlibi(Sealed):
    """Tells the other's best card by the number of the round; sampled states keep that card, so they look right."""

    def view(self, state: Duel, viewer: Viewer) -> DuelView:
        view = super().view(state, viewer)
        others = state.hands[1 - viewer] if isinstance(viewer, int) else ()
        return replace(view, round=view.round + 10 * sum(map(CARDS.index, others[:1])))

    def sample_state(self, view: DuelView, draw: Draw) -> Duel:
        while True:
            world = super().sample_state(replace(view, round=view.round % 10), draw)
            if self.view(world, view.viewer) == view:
                return world


class TellsWhyByTheStock(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        if seat is not None and move.args and move.args[0] in state.stock:
            raise IllegalMove("%(card)s lies in the stock.", card=move.args[0])
        return super().apply(state, seat, move)


class NeverEnds(Sealed):
    def _next_round(self, state: Duel) -> Duel:
        return replace(super()._next_round(replace(state, round=1, stock=CARDS)), step="shuffle", round=1)


class Obeys(Sealed):
    """Standing orders without a fault: `lay` lays the lowest card, again and again, and `respond` declines once."""

    def parse_order(self, text: str) -> Order:
        if text not in ("lay", "respond"):
            raise UnreadableOrder("Write lay or respond.")
        return Order(text, "lay" if text == "lay" else "answer")

    def answer_order(self, order: Order, view: DuelView, moves: Sequence[Move]) -> OrderAnswer | None:
        if not view.question.startswith(order.kind):
            return None
        return OrderAnswer(moves[0], "Played for you.", remaining=order if order.kind == "lay" else None)


class ObeysTooMuch(Obeys):
    def answer_order(self, order: Order, view: DuelView, moves: Sequence[Move]) -> OrderAnswer | None:
        return OrderAnswer(Move("decline"), "Played for you.", remaining=order)


class ObeysNoEmptyLine(Obeys):
    def parse_order(self, text: str) -> Order:
        return super().parse_order(text.split()[0])


class ObeysInItsOwnWords(Obeys):
    def answer_order(self, order: Order, view: DuelView, moves: Sequence[Move]) -> OrderAnswer | None:
        answer = super().answer_order(order, view, moves)
        return answer and replace(answer, message=f"Played {order} for you.")


class ObeysForEver(Obeys):
    """The order for `lay` declines, which changes nothing."""

    def moves(self, state: Duel, seat: int) -> tuple[Move, ...]:
        moves = super().moves(state, seat)
        return (Move("decline"), *moves) if moves and state.step == "lay" else moves

    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        if state.step == "lay" and seat in self.awaited(state) and move == Move("decline"):
            return state
        return super().apply(state, seat, move)


PLANTED = [
    (LeaksAHand, "worlds"),
    (LeaksASealedCard, "sealed"),
    (CarelessWorlds, "worlds"),
    (MissingFromTheList, "listed is accepted"),
    (ListsTooMuch, "play"),
    (ReadsOtherwiseByNumber, "listed is accepted"),
    (AsidesAreAnswers, "listed is accepted"),
    (RefusesWithoutAWord, "listed is accepted"),
    (CrashesOnUnknownCards, "refusals"),
    (CountsDown, "questions"),
    (AsidesAskAnew, "questions"),
    (TwoQuestionsAtOnce, "questions"),
    (AsksAfterTheEnd, "ending"),
    (MiscountsThePoints, "ending"),
    (PutsTheLoserFirst, "ending"),
    (SharesNoPlace, "ending"),
    (FallsBackOnAnything, "fallback"),
    (DreamsOfWhatCannotBe, "rollout"),
    (TellsSealedChoices, "told"),
    (TellsTheDeal, "told"),
    (LeavesAPlaceOpen, "followed"),
    (NamesAStranger, "followed"),
    (LosesACard, "census"),
    (DealsAThirteenthCard, "census"),
    (Moody, "determinism"),
    (Forgets, "codecs"),
    (DeafToCapitals, "texts"),
    (GuessesShortForms, "texts"),
    (ShufflesUnderOneLabel, "shuffles"),
    (SeatsAnybody, "setup"),
    (AsksNothing, "views"),
    (SaysThatAllAreToMove, "views"),
    (ForgetsWhoLaidACard, "views"),
    (SealsNothing, "sealed"),
    (PutsItsWordsTogether, "refusals"),
    (NamesNoPlace, "refusals"),
    (TellsWhyByTheStock, "worlds"),
    (PeeksWithAnAlibi, "deal"),
    (EndsForNoReason, "ending"),
    (AlwaysTies, "bots"),
    (PaysToLose, "bots"),
    (StumblesOverSigns, "any text"),
    (Moody, "records"),
    (ObeysTooMuch, "orders"),
    (ObeysNoEmptyLine, "orders"),
    (ObeysInItsOwnWords, "orders"),
    (ObeysForEver, "orders"),
    (ObeysForEver, "bots"),
    (NeverEnds, "play"),
]
"""Each fault and the name of its check; `play` is the game itself, which does not come to its end."""
