"""Checks of states: setting up, writing and reading, the same moves again, questions, shuffles and the end."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite

from byzanz import record
from byzanz.bots.simulate import simulate_game
from byzanz.conformance.game import Fault, Game, expect, listed
from byzanz.conformance.messages import refusal
from byzanz.conformance.moves import check_accepted
from byzanz.moves import REASONS, BadSetup, RulesError
from byzanz.rules import ALL
from byzanz.umpire import play, replay


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
