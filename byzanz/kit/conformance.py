"""Checks that any game can be judged by: its class of rules, played at random, and nothing else.

`byzanz check` runs them, and those of its templates, on a game that is shipped, installed or in the making. A check is
a function of a `Game`; its docstring says what must be true, and it raises a `Fault` where it is not.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from pathlib import PurePath
from statistics import fmean
from typing import Any, TypeAlias

from byzanz import bots, record
from byzanz.bots.simulate import simulate_game
from byzanz.chance import Stream, deal
from byzanz.kit import hidden, moves
from byzanz.kit.moves import check_accepted, check_orders
from byzanz.kit.played import LONGEST_GAME, Fault, Game, choice, expect, listed, refusal
from byzanz.moves import REASONS, BadSetup, Outcome, RulesError
from byzanz.rules import ALL, Rules
from byzanz.umpire import play, replay, settle

__all__ = ["CHECKS", "TABLE_CHECKS", "Check", "Fault", "Found", "Game", "choice", "faults"]


# ---- states ----


def check_setup(game: Game) -> None:
    """Tables of other sizes and unknown options are refused."""
    rules = game.rules
    for seats in (-1, 0, min(rules.seats) - 1, max(rules.seats) + 1):
        refused = refusal(rules.setup, seats, {})
        expect(isinstance(refused, BadSetup), "setup does not refuse %s players with BadSetup.", seats)
    refused = refusal(rules.setup, game.seats, {"no-such-option": True})
    expect(isinstance(refused, BadSetup), "setup does not refuse an unknown option with BadSetup.")
    state = rules.setup(game.seats, {})
    expect(isinstance(state, rules.state_type), "setup returns no %s.", rules.state_type.__name__)


def check_codecs(game: Game) -> None:
    """A state that is written and read again is the same, and views can be written as JSON."""
    rules = game.rules
    for moment in game.moments():
        text = rules.encode(moment.after)
        read = rules.decode(text)
        expect("\n" not in text, "encode writes more than one line.")
        expect(read == moment.after, "decode does not return the state that encode wrote after this move.")
        expect(rules.encode(read) == text, "encode writes the same state in two ways.")
    for moment, _ in game.settled(every=10):
        for viewer in (*game.readers, ALL):
            json.dumps(asdict(rules.view(moment.state, viewer)))


def check_determinism(game: Game) -> None:
    """The same moves give the same states, and no state is changed by what comes after it."""
    rules = game.rules
    before = [rules.encode(state) for state in game.states]
    end = rules.encode(replay(rules, game.seats, {}, game.made))
    expect(end == before[-1], "A replay of the same moves ends in another state.")
    for moment in game.moments():
        again = rules.encode(rules.apply(moment.state, moment.seat, moment.move))
        expect(again == before[game.at + 1], "“%s” gives another state the second time.", moment.move)
        expect(
            rules.encode(moment.state) == before[game.at],
            "“%s” changes the state it is applied to.",
            moment.move,
        )


def check_questions(game: Game) -> None:
    """Seats are asked while the game runs and no shuffle is due; questions rise, and moves out of turn change none."""
    rules = game.rules
    last = 0
    for moment in game.moments():
        asked = rules.awaited(moment.state)
        expect(
            bool(asked) == (rules.chance(moment.state) is None),
            "Seats are asked while a shuffle is due, or neither is the case.",
        )
        expect(list(asked) == sorted(asked), "awaited names the seats %s, not ascending.", list(asked))
        expect(
            set(asked) <= set(range(game.seats)), "awaited names a seat that there is not: %s.", list(asked)
        )
        expect(len(set(asked.values())) <= 1, "Seats that are asked at once do not share one question.")
        for question in asked.values():
            expect(
                question.number >= last,
                "The number of a question falls from %s to %s.",
                last,
                question.number,
            )
            last = question.number
        after = rules.awaited(moment.after)
        if moment.seat is not None and rules.is_out_of_turn(moment.state, moment.seat, moment.move):
            expect(after == asked, "“%s” is out of turn, but changes who is asked what.", moment.move)
        for seat in set(asked) & set(after):
            same = after[seat] == asked[seat] or after[seat].number > asked[seat].number
            expect(same, "Two questions have the number %s.", asked[seat].number)


def check_shuffles(game: Game) -> None:
    """Each shuffle has a label of its own."""
    labels: set[str] = set()
    for moment in game.moments():
        shuffle = game.rules.chance(moment.state)
        if shuffle is None:
            continue
        expect(shuffle.label not in labels, "Two shuffles have the label “%s”; number them.", shuffle.label)
        expect(shuffle.label.split() == [shuffle.label], "The label “%s” has spaces.", shuffle.label)
        labels.add(shuffle.label)


def check_ending(game: Game) -> None:
    """The game ends once, the winners are placed first for a known reason, and then nobody may move."""
    rules = game.rules
    last = game.states[-1]
    game.at = len(game.made)
    outcome = rules.outcome(last)
    if outcome is None:
        raise Fault("The game ends without an outcome.")
    places, seats = rules.places(last), range(game.seats)
    expect(outcome.scores == rules.scores(last), "The scores of the outcome are not those of scores.")
    expect(len(outcome.scores) == game.seats, "There are %s scores.", len(outcome.scores))
    expect(outcome.winners, "Nobody wins.")
    winners = tuple([seat for seat in seats if places[seat] == 1])
    expect(
        outcome.winners == winners, "The winners are %s, but those placed 1 are %s.", outcome.winners, winners
    )
    shared = tuple([1 + sum(other < place for other in places) for place in places])
    expect(places == shared, "The places are %s; with equal seats sharing one they are %s.", places, shared)
    by_place = [score for _, score in sorted(zip(places, outcome.scores, strict=True), key=lambda it: it[0])]
    expect(
        by_place == sorted(by_place, reverse=not rules.fewest_win), "By place, the scores are %s.", by_place
    )
    expect(
        outcome.reason in REASONS,
        "“%s” is no reason why a game ends; the reasons are: %s.",
        outcome.reason,
        ", ".join(REASONS),
    )
    expect(not rules.awaited(last) and rules.chance(last) is None, "Something is still due after the end.")
    for seat in seats:
        expect(not listed(rules, last, seat), "Seat %s has legal moves after the end.", seat)
        expect(
            isfinite(rules.evaluate(rules.view(last, seat))), "evaluate returns no finite number at the end."
        )
        for move in game.all_moves[::5]:
            check_accepted(game, last, seat, move, expected=False)
            refused = refusal(play, rules, last, seat, move)
            expect(refused is not None, "“%s” is accepted after the end.", move)


def check_records(game: Game) -> None:
    """The record of a game can be written, read and verified."""
    played = simulate_game(game.rules, game.seats, b"conformance", game.seed, ["random"])
    [kept] = record.read(record.write(played))
    try:
        report = record.verify(kept, find=lambda _slug, _version: game.rules)
    except (record.InvalidRecord, RulesError) as error:
        raise Fault(f"The record of a game does not verify: {error}") from error
    expect(report.replayed, "The record of a game cannot be replayed to its end.")


# ---- bots ----

_MOST = 300
"""Games between greedy and random bots before their difference is not clear."""
_LEAST = 8
_CLEAR = 3.0
"""Standard errors by which the greedy bots must be ahead."""
_TIES = 100
"""Games among equal bots of which one must not end in a tie; of Byzantium for two, nearly all do."""


def check_bots(game: Game) -> None:
    """A greedy bot comes before random ones by a clear margin, and games among equal bots do not all end in a tie.

    The margin is that of the smallest table, because chance decides more among many players; at the others the greedy
    bot must not come after random ones by one.
    """
    _check_ties(game)
    ahead, behind = _compared(game)
    margin, clear = ahead - behind, _CLEAR * sqrt(ahead + behind)
    expect(
        clear > 0 and (margin >= clear if game.seats == min(game.rules.seats) else margin > -clear),
        "The greedy bot comes before random ones in %s games and after them in %s, which is no clear margin. "
        "evaluate tells bots how good a view is for its seat: more is better, also where the fewest points win.",
        ahead,
        behind,
    )


def _check_ties(game: Game) -> None:
    for name in ("random", "greedy"):
        decided = (len(_result(game, number, [name])[0].winners) < game.seats for number in range(_TIES))
        expect(any(decided), "%s games among %s bots all end in a tie.", _TIES, name)


def _compared(game: Game) -> tuple[int, int]:
    """Return how often a greedy bot came before random ones, and after them, once the difference is clear.

    It is also clear that there is none if time runs out, or most games are lost.
    """
    ahead = behind = 0
    for number in range(_MOST):
        greedy = number % game.seats  # alone, as several of them may stand in each other's way
        players = ["greedy" if seat == greedy else "random" for seat in range(game.seats)]
        _, places = _result(game, number, players)
        margin = fmean(place for seat, place in enumerate(places) if seat != greedy) - places[greedy]
        ahead, behind = ahead + (margin > 0), behind + (margin < 0)
        is_clear = abs(ahead - behind) >= _CLEAR * sqrt(ahead + behind) > 0
        if number >= _LEAST and (is_clear or not game.has_time()):
            break
    return ahead, behind


def _result(game: Game, number: int, players: Sequence[str]) -> tuple[Outcome, Sequence[int]]:
    """Let bots play a whole game; return its outcome and the place of each seat.

    Args:
        game: whose rules and seats are played.
        number: of the game that the bots play.
        players: names of bots by seat, repeated as needed.
    """
    rules, name = game.rules, f"{game}:bots:{number}".encode()
    draws = [Stream(name, f"bot:{seat}").below for seat in range(game.seats)]
    dealer = deal(name)
    state, _ = settle(rules, rules.setup(game.seats, {}), dealer)
    turns = 0
    while (outcome := rules.outcome(state)) is None:
        turns += 1
        expect(turns < LONGEST_GAME, "A game of the bots %s has not ended after %s turns.", players, turns)
        seat = min(rules.awaited(state))
        moves = (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))
        move = bots.decide(players[seat % len(players)], rules, rules.view(state, seat), moves, draws[seat])
        state, _ = settle(rules, play(rules, state, seat, move), dealer)
    return outcome, rules.places(state)


# ---- all checks ----

Check: TypeAlias = Callable[[Game], None]
"""Raises a `Fault`, or whatever the game raises, where the game is wrong; `Game.at` is the position then."""
CHECKS: tuple[Check, ...] = (
    check_codecs,
    check_determinism,
    check_questions,
    check_shuffles,
    check_ending,
    moves.check_texts,
    moves.check_any_text,
    moves.check_listed_is_accepted,
    moves.check_refusals,
    moves.check_fallback,
    moves.check_rollout,
    hidden.check_views,
    hidden.check_census,
    hidden.check_worlds,
    hidden.check_deal,
    hidden.check_sealed,
    hidden.check_told,
    moves.check_followed,
    check_records,
    check_orders,
)
"""Checks of each game that is played."""
TABLE_CHECKS: tuple[Check, ...] = (check_setup, check_bots)
"""Checks that one game of each number of players is enough for."""


@dataclass(frozen=True, slots=True)
class Found:
    """A fault that a check found.

    Args:
        check: its name, such as `worlds`.
        says: what must be true.
        seats: the number of players.
        seed: of the game.
        at: the position in it.
        wrong: what is wrong there.
        error: what was raised.
    """

    check: str
    says: str
    seats: int
    seed: int
    at: int
    wrong: str
    error: Exception


def faults(game: Game, checks: Sequence[Check]) -> Iterator[Found]:
    """Play a game if that is still to be done, and yield the fault that each check finds.

    A game that cannot be played to its end is not checked further.

    Args:
        game: new, or played.
        checks: to be run, in this order.
    """
    if not game.states:
        failed = _fault(game, check_play)
        if failed is not None:
            yield failed
            return
    for check in checks:
        game.at = 0
        found = _fault(game, check)
        if found is not None:
            yield found


def check_play(game: Game) -> None:
    """A game of any legal moves comes to its end."""
    game.play()


def _fault(game: Game, check: Check) -> Found | None:
    try:
        check(game)
    except Exception as error:  # a game in the making may fail in any way
        wrong = str(error) if isinstance(error, Fault) else raised(game.rules, error)
        return Found(name_of(check), said_by(check), game.seats, game.seed, game.at, wrong, error)
    return None


def name_of(check: Callable[..., None]) -> str:
    """Return the name of a check for people."""
    return check.__name__.removeprefix("check_").replace("_", " ")


def said_by(check: Callable[..., None]) -> str:
    """Return what a check says: the first paragraph of its docstring, in one line."""
    return " ".join((check.__doc__ or "").split("\n\n")[0].split())


def raised(rules: Rules[Any, Any], error: Exception) -> str:
    """Return in a sentence what an exception is and which line of the game's code raised it."""
    module = type(rules).__module__
    own = module if module.count(".") < 2 else module.rpartition(".")[0]
    frames = list(traceback.walk_tb(error.__traceback__))
    names = [str(frame.f_globals.get("__name__", "")) for frame, _ in frames]
    ours = [at for at, name in enumerate(names) if f"{name}.".startswith(f"{own}.")]
    frame, line = frames[ours[-1] if ours else -1]
    where = f"{PurePath(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
    return f"{type(error).__name__}: {error} ({where})"
