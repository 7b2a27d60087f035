"""The contract of every game (byzanz/rules.py), as checks that take a game and fail where it is broken."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import isfinite
from typing import Any

import pytest

from byzanz.chance import Draw, Stream, deal
from byzanz.moves import (
    AmbiguousMove,
    BadSetup,
    IllegalMove,
    Move,
    NotAwaited,
    RulesError,
    UnreadableMove,
    ranked,
)
from byzanz.rules import ALL, PUBLIC, Rules, Viewer
from byzanz.umpire import play, replay

LONGEST_GAME = 5000
NONSENSE = (
    "",
    " ",
    "?",
    "!void 3",
    "shuffle deal",
    "fly",
    "\n",
    "ß",
    "a" * 5000,
    "sell sell sell",
    "0",
    "pass 7 7",
)


@dataclass(frozen=True)
class Case:
    """A game at a table of a size, and what the checks must be told about it.

    `census` gives all cards from the view of ALL; moves with a verb of `unlisted` may be legal without being
    listed; the cards of those in `unordered` may be written in any order.
    """

    rules: Rules[Any, Any]
    seats: int
    census: Callable[[Any], Counter[str]]
    unlisted: frozenset[str] = frozenset()
    unordered: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.rules.slug}-{self.seats}"


@dataclass(frozen=True)
class Moment:
    """A state, and what was made of it next."""

    state: Any
    seat: int | None
    move: Move
    after: Any


def choice(draw: Draw, items: Sequence[Any]) -> Any:
    """Any of these."""
    return items[draw(len(items))]


@cache
def game(case: Case, number: int) -> tuple[Moment, ...]:
    """A whole game of random moves, out_of_turn_moves out of turn among them; forced moves are made like all others."""
    rules, draw = case.rules, Stream(b"conformance", f"{case}:{number}").below
    dealer = deal(f"{case}:{number}".encode())
    state = rules.setup(case.seats, {})
    moments: list[Moment] = []
    while rules.outcome(state) is None:
        assert len(moments) < LONGEST_GAME, "the game does not end"
        shuffle = rules.chance(state)
        if shuffle is not None:
            seat, move = None, dealer(shuffle)
        else:
            seat = draw(case.seats)
            moves: Sequence[Move] = rules.out_of_turn_moves(state, seat) if draw(3) == 0 else ()
            if not moves:
                seat = choice(draw, tuple(rules.awaited(state)))
                moves = rules.moves(state, seat)
            move = choice(draw, moves)
        try:
            after = rules.apply(state, seat, move)
        except RulesError as refusal:
            raise AssertionError(f"{move} of seat {seat} is listed, but: {refusal}") from refusal
        moments.append(Moment(state, seat, move, after))
        state = after
    return tuple(moments)


def settled(case: Case, number: int, every: int = 1) -> Iterator[tuple[Moment, Draw]]:
    """Moments in which seats may move, with a source of chance each; of a long game one in so many."""
    moments = game(case, number)
    every = every if len(moments) > 60 else 1
    for at, moment in enumerate(moments):
        if at % every == 0 and case.rules.chance(moment.state) is None:
            yield moment, Stream(b"moment", f"{case}:{number}:{at}").below


def listed(rules: Rules[Any, Any], state: Any, seat: int) -> tuple[Move, ...]:
    """All that a seat may do."""
    return (*rules.moves(state, seat), *rules.out_of_turn_moves(state, seat))


def all_moves(case: Case, number: int) -> tuple[Move, ...]:
    """Every move that was ever listed in a game, once, in a fixed order."""
    found = {
        str(move): move
        for moment, _ in settled(case, number, every=3)
        for seat in range(case.seats)
        for move in listed(case.rules, moment.state, seat)
    }
    return tuple(found[text] for text in sorted(found))


def seats_and_public(case: Case) -> tuple[Viewer, ...]:
    """Everybody from whom something is hidden."""
    return (*range(case.seats), PUBLIC)


def check_setup(case: Case, _number: int) -> None:
    """A table too small or too large and unknown options are refused."""
    rules = case.rules
    for seats in (-1, 0, min(rules.seats) - 1, max(rules.seats) + 1):
        with pytest.raises(BadSetup):
            rules.setup(seats, {})
    with pytest.raises(BadSetup):
        rules.setup(case.seats, {"no-such-option": True})
    assert isinstance(rules.setup(case.seats, {}), rules.state_type)


def check_codecs(case: Case, number: int) -> None:
    """States survive being written; views become JSON."""
    rules = case.rules
    for moment in game(case, number):
        text = rules.encode(moment.after)
        assert "\n" not in text
        assert rules.decode(text) == moment.after
        assert rules.encode(rules.decode(text)) == text
    for moment, _ in settled(case, number, every=10):
        for viewer in (*seats_and_public(case), ALL):
            view = rules.view(moment.state, viewer)
            assert view.viewer == viewer
            json.dumps(asdict(view))


def check_texts(case: Case, number: int) -> None:
    """Moves are read back from their text, in any case, spacing and order; short forms never mean another."""
    parse = case.rules.parse
    moves = all_moves(case, number)
    verbs = {move.verb for move in moves}
    cards = set(case.census(case.rules.view(case.rules.setup(case.seats, {}), ALL)))
    for at, move in enumerate(moves):
        text = str(move)
        assert parse(text) == move
        assert parse(text.upper()) == move
        assert parse("  " + text.replace(" ", "   ") + " ") == move
        if move.verb in case.unordered:
            assert parse(" ".join((move.verb, *reversed(move.args)))) == move
        if at % 7 == 0:
            check_short_forms(parse, move, verbs, cards)


def check_short_forms(parse: Callable[[str], Move], move: Move, verbs: set[str], cards: set[str]) -> None:
    """Every beginning of a word means the word or is refused as such; an exact word beats a beginning.

    A beginning that is a word itself makes another move in its canonical form.
    """
    words = (move.verb, *move.args)
    for at, word in enumerate(words):
        for length in range(1, len(word)):
            short = word[:length]
            if short in (cards if at else verbs):
                continue
            text = " ".join((*words[:at], short, *words[at + 1 :]))
            try:
                read = parse(text)
                assert read == move or str(read) == text
            except AmbiguousMove:
                continue
            except UnreadableMove:
                # Half a card may be no card (`cloth`), but half a verb always begins one.
                assert at


def check_determinism(case: Case, number: int) -> None:
    """The same moves give the same states, and no state is changed by what comes after it."""
    rules = case.rules
    moments = game(case, number)
    made = [(moment.seat, moment.move) for moment in moments]
    before = [rules.encode(moment.state) for moment in moments]
    assert rules.encode(replay(rules, case.seats, {}, made)) == rules.encode(moments[-1].after)
    for moment, text in zip(moments, before, strict=True):
        assert rules.encode(moment.state) == text
        assert rules.encode(rules.apply(moment.state, moment.seat, moment.move)) == rules.encode(moment.after)


def check_listed_is_accepted(case: Case, number: int) -> None:
    """Exactly the listed moves are accepted, each is listed once, and out-of-turn moves are told from answers."""
    rules = case.rules
    known = all_moves(case, number)
    for moment, draw in settled(case, number, every=4):
        state = moment.state
        for seat in range(case.seats):
            moves, out_of_turn_moves = (*rules.moves(state, seat),), rules.out_of_turn_moves(state, seat)
            check_reading(rules.moves(state, seat), moves)
            assert bool(moves) == (seat in rules.awaited(state))
            assert len({*moves, *out_of_turn_moves}) == len(moves + out_of_turn_moves)
            assert all(rules.is_out_of_turn(state, seat, move) for move in out_of_turn_moves)
            assert not any(rules.is_out_of_turn(state, seat, move) for move in moves)
            some = {choice(draw, moves + out_of_turn_moves) for _ in range(12) if moves + out_of_turn_moves}
            for move in some | {choice(draw, known) for _ in range(25)}:
                check_accepted(case, state, seat, move, move in moves + out_of_turn_moves)


def check_reading(listing: Sequence[Move], moves: tuple[Move, ...]) -> None:
    """However a list of moves is read, it is the same."""
    assert listing == moves
    assert (len(listing), bool(listing)) == (len(moves), bool(moves))
    assert [listing[at] for at in range(len(moves))] == [*listing] == [*listing[:]]
    assert [listing[at - len(moves)] for at in range(len(moves))] == [*listing]
    with pytest.raises(IndexError):
        listing[len(moves)]


def check_accepted(case: Case, state: Any, seat: int, move: Move, expected: bool) -> None:
    """A listed move is accepted; another is refused with a reason, unless its verb has unlisted forms."""
    refusal: RulesError | None = None
    try:
        case.rules.apply(state, seat, move)
    except RulesError as error:
        refusal = error
    if refusal is None:
        assert expected or move.verb in case.unlisted, f"{move} of seat {seat} is accepted, but not listed"
        return
    assert not expected, f"{move} is listed for seat {seat}, but: {refusal}"
    assert len(str(refusal)) > 10, "a refusal says why"
    assert "%(" not in str(refusal), "every place is filled"
    assert isinstance(refusal, IllegalMove)


def check_refusals(case: Case, number: int) -> None:
    """Moves and texts that are none are refused, and never end in another exception."""
    rules = case.rules
    for text in NONSENSE:
        with pytest.raises(UnreadableMove):
            rules.parse(text)
    verbs = sorted({move.verb for move in all_moves(case, number)})
    cards = sorted(case.census(rules.view(rules.setup(case.seats, {}), ALL)))[:3]
    words = [
        (),
        ("unicorn",),
        ("?",),
        ("",),
        *((card,) for card in cards),
        (cards[0],) * 9,
        ("unicorn", cards[0]),
    ]
    for moment, _ in settled(case, number, every=15):
        state = moment.state
        for seat in range(case.seats):
            for verb in (*verbs, "fly", "shuffle", ""):
                for args in words:
                    move = Move(verb, args)
                    if move not in listed(rules, state, seat) and verb not in case.unlisted:
                        check_accepted(case, state, seat, move, expected=False)
        for nobody in (-1, case.seats, 99):
            assert not listed(rules, state, nobody)
            with pytest.raises(NotAwaited):
                rules.apply(state, nobody, moment.move)
        with pytest.raises(IllegalMove):
            rules.apply(state, None, Move("shuffle", ("no-such-label", *cards)))


def check_questions(case: Case, number: int) -> None:
    """Somebody is asked while the game runs and no shuffle is due; questions rise; out_of_turn_moves change none."""
    rules = case.rules
    last = 0
    for moment in game(case, number):
        awaited = rules.awaited(moment.state)
        assert bool(awaited) == (rules.chance(moment.state) is None)
        assert list(awaited) == sorted(awaited)
        assert set(awaited) <= set(range(case.seats))
        assert len(set(awaited.values())) <= 1, "seats that are asked at once share a question"
        for question in awaited.values():
            assert question.number >= last, "numbers of questions never fall"
            last = question.number
        after = rules.awaited(moment.after)
        if moment.seat is not None and rules.is_out_of_turn(moment.state, moment.seat, moment.move):
            assert after == awaited, "an aside changes nobody's question"
        for seat in set(awaited) & set(after):
            assert after[seat] == awaited[seat] or after[seat].number > awaited[seat].number


def check_worlds(case: Case, number: int) -> None:
    """A world drawn from a view gives the same view, the same public one, the same choices to its viewer."""
    rules = case.rules
    differ = Counter[Viewer]()
    for moment, draw in settled(case, number, every=3):
        state = moment.state
        for viewer in (*seats_and_public(case), ALL):
            view = rules.view(state, viewer)
            world = rules.sample_state(view, draw)
            assert rules.view(world, viewer) == view
            assert rules.view(world, PUBLIC) == rules.view(state, PUBLIC)
            assert rules.awaited(world) == rules.awaited(state)
            assert rules.scores(world) == rules.scores(state)
            assert rules.outcome(world) == rules.outcome(state)
            assert case.census(rules.view(world, ALL)) == case.census(rules.view(state, ALL))
            if isinstance(viewer, int):
                assert listed(rules, world, viewer) == listed(rules, state, viewer)
            differ[viewer] += rules.view(world, ALL) != rules.view(state, ALL)
    assert all(differ[viewer] for viewer in seats_and_public(case)), "nothing is hidden from somebody"
    assert not differ[ALL]


def check_sealed(case: Case, number: int) -> None:
    """While answers are sealed, nobody else sees any difference between one and another."""
    rules = case.rules
    for moment, _ in settled(case, number):
        seat, asked = moment.seat, set(rules.awaited(moment.state).values())
        if seat is None or moment.move.verb not in rules.sealed:
            continue
        if not asked & set(rules.awaited(moment.after).values()):
            continue
        moves = listed(rules, moment.state, seat)
        for move in moves[:: 1 + len(moves) // 20]:
            other = rules.apply(moment.state, seat, move)
            for viewer in seats_and_public(case):
                if viewer != seat and move.verb == moment.move.verb:
                    assert rules.view(other, viewer) == rules.view(moment.after, viewer)


def check_fallback(case: Case, number: int) -> None:
    """What is played for a silent seat is legal, and answers its question after some moves at most."""
    rules = case.rules
    for moment, _ in settled(case, number, every=3):
        for seat, question in rules.awaited(moment.state).items():
            state = moment.state
            for _ in range(50):
                moves = rules.moves(state, seat)
                move = rules.fallback(rules.view(state, seat), moves)
                assert move in moves
                state = rules.apply(state, seat, move)
                if rules.awaited(state).get(seat) != question:
                    break
            assert rules.awaited(state).get(seat) != question


def check_likely(case: Case, number: int) -> None:
    """What a player might answer in an imagined world is legal there, and the same for the same draws."""
    rules = case.rules
    for moment, _ in settled(case, number, every=3):
        for seat in rules.awaited(moment.state):
            made = [
                rules.rollout_move(moment.state, seat, Stream(b"likely", str(number)).below) for _ in range(2)
            ]
            assert made[0] == made[1]
            assert made[0] in rules.moves(moment.state, seat)


def check_told(case: Case, number: int) -> None:
    """Shuffles are told without cards, sealed choices of others not at all, everything to ALL and its maker."""
    rules = case.rules
    for moment in game(case, number):
        seat, move = moment.seat, moment.move
        for settled_now in (False, True):
            assert rules.redact_move(move, seat, ALL, settled_now) == str(move)
            if seat is not None:
                assert rules.redact_move(move, seat, seat, settled_now) == str(move)
        for viewer in seats_and_public(case):
            told = rules.redact_move(move, seat, viewer, False)
            if seat is None:
                assert told == f"shuffle {move.args[0]}"
            elif move.verb in rules.sealed and viewer != seat:
                assert told == f"{move.verb} ?"


def check_news(case: Case, number: int) -> None:
    """What moves did is public and hashable, one item a move, and a longer look back never tells another thing."""
    rules = case.rules
    made: list[str] = []
    for moment in game(case, number):
        made.append(rules.redact_move(moment.move, moment.seat, PUBLIC, False))
        view = rules.view(moment.after, PUBLIC)
        told = rules.news(view, made)
        assert len(told) == len(made)
        assert hash(tuple(told)) is not None
        assert rules.news(view, made[-1:]) == told[-1:]
        assert rules.news(view, ()) == []
        for viewer in (*range(case.seats), ALL):
            assert rules.news(rules.view(moment.after, viewer), made) == told


def check_shuffles(case: Case, number: int) -> None:
    """Labels are unique, and a shuffle is of cards that do not tell how they lay before."""
    shuffles = [case.rules.chance(moment.state) for moment in game(case, number) if moment.seat is None]
    assert shuffles
    labels = [shuffle.label for shuffle in shuffles if shuffle is not None]
    assert len(set(labels)) == len(shuffles)
    assert all(" " not in label for label in labels)


def check_ending(case: Case, number: int) -> None:
    """The game is over once, with the scores as they stand, and then nobody may do anything."""
    rules = case.rules
    moments = game(case, number)
    last = moments[-1].after
    outcome = rules.outcome(last)
    assert outcome is not None
    assert all(rules.outcome(moment.state) is None for moment in moments)
    assert outcome.scores == rules.scores(last)
    assert len(outcome.scores) == case.seats
    assert outcome.winners
    assert list(outcome.winners) == sorted(set(outcome.winners) & set(range(case.seats)))
    places = rules.places(last)
    assert outcome.winners == tuple(seat for seat, place in enumerate(places) if place == 1)
    assert places == tuple(1 + sum(other < place for other in places) for place in places)
    best_first = [outcome.scores[seat] for _, seat in ranked(rules.places(last))]
    assert best_first == sorted(best_first, reverse=not rules.fewest_win)
    assert not rules.awaited(last)
    assert rules.chance(last) is None
    for seat in range(case.seats):
        assert not listed(rules, last, seat)
        assert isfinite(rules.evaluate(rules.view(last, seat)))
        for move in all_moves(case, number)[::5]:
            check_accepted(case, last, seat, move, expected=False)
            with pytest.raises(RulesError):
                play(rules, last, seat, move)


def check_census(case: Case, number: int) -> None:
    """No card is made or lost, whatever is played."""
    rules = case.rules
    cards = case.census(rules.view(rules.setup(case.seats, {}), ALL))
    assert cards
    for moment in game(case, number):
        assert case.census(rules.view(moment.after, ALL)) == cards


CHECKS = (
    check_setup,
    check_codecs,
    check_texts,
    check_determinism,
    check_listed_is_accepted,
    check_refusals,
    check_questions,
    check_worlds,
    check_sealed,
    check_fallback,
    check_likely,
    check_told,
    check_news,
    check_shuffles,
    check_ending,
    check_census,
)
