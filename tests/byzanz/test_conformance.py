"""Every registered game keeps the contract, and each check detects a game that breaks it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byzanz.chance import Draw
from byzanz.games import latest, rules_of
from byzanz.moves import BadSetup, IllegalMove, Move, Outcome, Question, RulesError
from byzanz.rules import Viewer
from tests.support import contract
from tests.support.contract import Case
from tests.support.sealed_game import CARDS, Duel, DuelView, Sealed

GAMES = 6
FEWER = 2
"""Games of each kind and check on every commit; at night there are GAMES."""


def cards_of_byzanz(view: Any) -> Counter[str]:
    market = chain.from_iterable(cards for _, cards in view.market)
    piles = (view.deck, view.removed, view.lot, view.gone, *view.hands, *view.bids, *view.kept)
    return Counter(chain(market, *piles))


def cards_of_byzantium(view: Any) -> Counter[str]:
    cross = [place.card for place in view.places if place.card]
    return Counter(chain(view.aces, cross, view.kitty, *view.hands))


def cards_of_empire(view: Any) -> Counter[str]:
    piles = [(deck.pile, deck.discards, deck.out, deck.aside) for deck in view.decks]
    buried = [batch.cards for deck in view.decks for batch in deck.buried]
    melds = [[melded.card for melded in meld.cards] for meld in view.melds]
    return Counter(chain(*chain.from_iterable(piles), *buried, *melds, *view.hands))


def cards_of_sealed(view: DuelView) -> Counter[str]:
    laid = [card for card in view.laid if card]
    return Counter(chain(laid, view.stock or (), view.gone, *(hand or () for hand in view.hands)))


CENSUS: dict[str, Callable[[Any], Counter[str]]] = {
    "byzanz": cards_of_byzanz,
    "byzantium": cards_of_byzantium,
    "empire": cards_of_empire,
    "sealed": cards_of_sealed,
}
"""A game without an entry here fails: somebody must say where its cards are."""
UNLISTED = {"byzanz": frozenset({"discard"})}
UNORDERED = {"byzanz": frozenset({"bid", "sell", "discard"}), "empire": frozenset({"redraw", "meld"})}


def cases() -> Iterator[Case]:
    for rules in (Sealed(), *latest()):
        for seats in rules.seats:
            unlisted = UNLISTED.get(rules.slug, frozenset())
            yield Case(rules, seats, CENSUS[rules.slug], unlisted, UNORDERED.get(rules.slug, frozenset()))


CASES = tuple(cases())


def look_at_games(check: Callable[[Case, int], None], case: Case, games: int = GAMES) -> None:
    for number in range(games):
        check(case, number)


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_game_keeps_the_contract(
    case: Case, check: Callable[[Case, int], None], pytestconfig: pytest.Config
) -> None:
    look_at_games(check, case, GAMES if pytestconfig.getoption("nightly") else FEWER)


@pytest.mark.parametrize("case", [CASES[0], CASES[1]], ids=str)
@given(
    text=st.text(max_size=40)
    | st.lists(st.sampled_from(("b", "bid", "lay", "ash1", "m", "sp2", "?", "1"))).map(" ".join)
)
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_move_or_refused_with_a_reason(case: Case, text: str) -> None:
    try:
        move = case.rules.parse(text)
    except RulesError as error:
        reason = str(error)
    else:
        assert case.rules.parse(str(move)) == move
        return
    assert len(reason) > 10


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


class TellsTheHandAsNews(Sealed):
    def news(self, view: DuelView, moves: Sequence[str]) -> list[Any]:
        return [view.hands] * len(moves)


class ForgetsWhichMoveItWas(Sealed):
    def news(self, view: DuelView, moves: Sequence[str]) -> list[Any]:
        return [*moves[1:], *moves[:1]]


class LosesACard(Sealed):
    def apply(self, state: Duel, seat: int | None, move: Move) -> Duel:
        after = super().apply(state, seat, move)
        return replace(after, gone=after.gone[:-1]) if move.verb == "respond" else after


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


class ShufflesUnderOneLabel(Sealed):
    def chance(self, state: Duel) -> Any:
        shuffle = super().chance(state)
        return shuffle and replace(shuffle, label="deal")


class SeatsAnybody(Sealed):
    def setup(self, seats: int, options: Any) -> Duel:
        return super().setup(2, {})


PLANTED = [
    (LeaksAHand, contract.check_worlds),
    (LeaksASealedCard, contract.check_sealed),
    (CarelessWorlds, contract.check_worlds),
    (MissingFromTheList, contract.check_listed_is_accepted),
    (ListsTooMuch, contract.check_listed_is_accepted),
    (ReadsOtherwiseByNumber, contract.check_listed_is_accepted),
    (AsidesAreAnswers, contract.check_listed_is_accepted),
    (RefusesWithoutAWord, contract.check_listed_is_accepted),
    (CrashesOnUnknownCards, contract.check_refusals),
    (CountsDown, contract.check_questions),
    (AsidesAskAnew, contract.check_questions),
    (TwoQuestionsAtOnce, contract.check_questions),
    (AsksAfterTheEnd, contract.check_ending),
    (MiscountsThePoints, contract.check_ending),
    (PutsTheLoserFirst, contract.check_ending),
    (SharesNoPlace, contract.check_ending),
    (FallsBackOnAnything, contract.check_fallback),
    (DreamsOfWhatCannotBe, contract.check_likely),
    (TellsSealedChoices, contract.check_told),
    (TellsTheDeal, contract.check_told),
    (TellsTheHandAsNews, contract.check_news),
    (ForgetsWhichMoveItWas, contract.check_news),
    (LosesACard, contract.check_census),
    (Moody, contract.check_determinism),
    (Forgets, contract.check_codecs),
    (DeafToCapitals, contract.check_texts),
    (GuessesShortForms, contract.check_texts),
    (ShufflesUnderOneLabel, contract.check_shuffles),
    (SeatsAnybody, contract.check_setup),
]


@pytest.mark.parametrize(("faulty", "check"), PLANTED, ids=lambda item: item.__name__)
def test_a_planted_fault_is_found(faulty: type[Sealed], check: Callable[[Case, int], None]) -> None:
    case = Case(faulty(), 2, cards_of_sealed)
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
        look_at_games(check, case)


def test_every_check_has_a_planted_fault() -> None:
    assert {check for _, check in PLANTED} == set(contract.CHECKS)


def test_games_are_found_by_slug_and_version() -> None:
    byzanz = rules_of("byzanz")
    assert rules_of("byzanz", 1).version == 1
    assert byzanz in latest()
    with pytest.raises(BadSetup, match="the games are: byzanz"):
        rules_of("chess")
    with pytest.raises(BadSetup, match="There is no version 99 of the rules of byzanz"):
        rules_of("byzanz", 99)
