"""Checks of moves and standing orders: what is listed is accepted and nothing else, any text is read or refused, silent
seats move, and orders know no more than their owner.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from byzanz import orders, umpire
from byzanz.chance import Draw, Stream, deal
from byzanz.kit.played import (
    LONGEST_GAME,
    Fault,
    Game,
    check_template,
    choice,
    expect,
    listed,
    refusal,
    texts_of,
)
from byzanz.moves import (
    AmbiguousMove,
    IllegalMove,
    Move,
    NotAwaited,
    OrderAnswer,
    Question,
    RulesError,
    UnreadableMove,
)
from byzanz.orders import PlacedOrder
from byzanz.rules import PUBLIC, Rules
from byzanz.umpire import followed, read_followed

_NONSENSE = (
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
_SIGNS = "abc 019?!%()-ÄΩ\t\x00'\"<&"


def check_texts(game: Game) -> None:
    """A move is read back from its text in any case and spacing; a short form never means another move."""
    parse, moves = game.rules.parse, game.all_moves
    verbs = {move.verb for move in moves}
    for at, move in enumerate(moves):
        text = str(move)
        for written in (text, text.upper(), f"  {text.replace(' ', '   ')} "):
            read = parse(written)
            expect(read == move, "“%s” is read as “%s”.", written, read)
        if at % 7 == 0:
            _check_other_order(parse, move)
            _check_short_forms(parse, move, verbs, set(game.cards))


def _check_other_order(parse: Callable[[str], Move], move: Move) -> None:
    """Words in another order are the same move, or another one as it is written, or refused."""
    text = " ".join((move.verb, *reversed(move.args)))
    try:
        read = parse(text)
    except RulesError:
        return
    expect(
        read == move or str(read) == text, "“%s” is read as “%s”, and “%s” is another move.", text, read, move
    )


def _check_short_forms(parse: Callable[[str], Move], move: Move, verbs: set[str], cards: set[str]) -> None:
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
            except AmbiguousMove:
                continue
            except UnreadableMove:
                # Half a card may be no card (`cloth`), but half a verb always begins one.
                expect(at, "“%s” is refused as unknown, though “%s” begins the verb “%s”.", text, short, word)
            else:
                expect(read == move or str(read) == text, "“%s” is read as “%s”.", text, read)


def check_any_text(game: Game) -> None:
    """Any text is a move or refused with a reason."""
    parse, draw = game.rules.parse, Stream(b"texts", str(game)).below
    for text in _NONSENSE:
        refused = refusal(parse, text)
        unread = isinstance(refused, UnreadableMove | AmbiguousMove)
        expect(unread, "“%s” is not refused as unreadable.", text[:40])
    words = sorted({word for move in game.all_moves for word in (move.verb, *move.args)})
    for _ in range(100):
        some = [
            choice(draw, words)[: 1 + draw(6)] if draw(2) else choice(draw, words) for _ in range(draw(5))
        ]
        signs = "".join(choice(draw, _SIGNS) for _ in range(draw(8)))
        for text in (" ".join(some), " ".join((*some, signs)), signs):
            if refusal(parse, text) is None:
                read = parse(text)
                expect(parse(str(read)) == read, "“%s” is read as “%s”, which is another move.", text, read)


def check_listed_is_accepted(game: Game) -> None:
    """Exactly the listed moves are accepted, each is listed once, and moves out of turn are told from answers."""
    rules, known = game.rules, game.all_moves
    for moment, draw in game.settled(every=4):
        state, asked = moment.state, rules.awaited(moment.state)
        for seat in range(game.seats):
            moves, others = (*rules.moves(state, seat),), rules.out_of_turn_moves(state, seat)
            check_reading(rules.moves(state, seat), moves)
            expect(bool(moves) == (seat in asked), "Seat %s has moves, but is not to move; or neither.", seat)
            both = moves + others
            expect(len({*both}) == len(both), "A move of seat %s is listed twice.", seat)
            for move in both:
                is_aside = rules.is_out_of_turn(state, seat, move)
                expect(
                    is_aside == (move in others), "is_out_of_turn is wrong about “%s” of seat %s.", move, seat
                )
            some = {choice(draw, both) for _ in range(12) if both}
            for move in sorted(some | {choice(draw, known) for _ in range(25)}):
                check_accepted(game, state, seat, move, move in both)


def check_reading(listing: Sequence[Move], moves: tuple[Move, ...]) -> None:
    """Check that a list of moves is the same however it is read.

    Args:
        listing: the list, which may make its items on demand.
        moves: all its items.

    Raises:
        Fault: it is not.
    """
    forwards = [listing[at] for at in range(len(moves))]
    backwards = [listing[at - len(moves)] for at in range(len(moves))]
    same = forwards == backwards == [*listing] == [*listing[:]] == [*moves] and listing == moves
    expect(same and len(listing) == len(moves), "The list of moves is not the same by number and in a row.")
    try:
        listing[len(moves)]
    except IndexError:
        return
    raise Fault("The list of moves has an item after its last.")


def check_accepted(game: Game, state: Any, seat: int, move: Move, expected: bool) -> None:
    """Check that a listed move is accepted, and another one refused with a reason.

    Args:
        game: that is played.
        state: a position of it.
        seat: that would move.
        move: any.
        expected: whether the move is listed; others whose verb is in `Rules.unlisted` may be accepted, too.

    Raises:
        Fault: it is not.
    """
    refused = refusal(game.rules.apply, state, seat, move)
    if refused is None:
        accepted = expected or move.verb in game.rules.unlisted
        expect(accepted, "“%s” of seat %s is accepted, but not listed.", move, seat)
        return
    expect(not expected, "“%s” is listed for seat %s, but refused: %s", move, seat, refused)
    expect(
        isinstance(refused, IllegalMove),
        "“%s” is refused with %s instead of IllegalMove.",
        move,
        type(refused).__name__,
    )


def check_refusals(game: Game) -> None:
    """Moves that are none, of any seat, are refused, and never end in another exception."""
    rules = game.rules
    verbs = sorted({move.verb for move in game.all_moves})
    cards = game.cards[:3] or ("ash1",)
    words = [
        (),
        ("unicorn",),
        ("?",),
        ("",),
        *((card,) for card in cards),
        cards[:1] * 9,
        ("unicorn", cards[0]),
    ]
    moves = [Move(verb, args) for verb in (*verbs, "fly", "shuffle", "") for args in words]
    for moment, _ in game.settled(every=15):
        state = moment.state
        for seat in range(game.seats):
            legal = set(listed(rules, state, seat))
            for move in moves:
                if move not in legal and move.verb not in rules.unlisted:
                    check_accepted(game, state, seat, move, expected=False)
        for nobody in (-1, game.seats, 99):
            expect(not listed(rules, state, nobody), "Seat %s, which there is not, has legal moves.", nobody)
            refused = refusal(rules.apply, state, nobody, move)
            expect(
                isinstance(refused, NotAwaited),
                "A move of seat %s, which there is not, is not refused with NotAwaited.",
                nobody,
            )
        odd = Move("shuffle", ("no-such-label", *cards))
        refused = refusal(rules.apply, state, None, odd)
        expect(isinstance(refused, IllegalMove), "A shuffle that is not due is not refused with IllegalMove.")


def check_fallback(game: Game) -> None:
    """What is played for a silent seat is legal, and answers its question after some moves at most."""
    rules = game.rules
    for moment, _ in game.settled(every=3):
        for seat, question in rules.awaited(moment.state).items():
            state = moment.state
            for _ in range(50):
                moves = rules.moves(state, seat)
                move = rules.fallback(rules.view(state, seat), moves)
                expect(move in moves, "fallback returns “%s”, which is not legal for seat %s.", move, seat)
                state = rules.apply(state, seat, move)
                if rules.awaited(state).get(seat) != question:
                    break
            else:
                raise Fault(f"50 fallbacks do not answer the question “{question}” of seat {seat}.")


def check_rollout(game: Game) -> None:
    """What a player might answer in an imagined world is legal there, and the same for the same draws."""
    rules = game.rules
    for moment, _ in game.settled(every=3):
        for seat in rules.awaited(moment.state):
            draws = [Stream(b"likely", str(game.seed)).below for _ in range(2)]
            one, other = (rules.rollout_move(moment.state, seat, draw) for draw in draws)
            expect(one == other, "rollout_move returns “%s” and “%s” for the same draws.", one, other)
            legal = rules.moves(moment.state, seat)
            expect(one in legal, "rollout_move returns “%s”, which is not legal for seat %s.", one, seat)


# ---- standing orders ----

_MOST_ANSWERS = 50
"""Answers of orders to one question before they count as endless."""
_LINES = 600
"""Lines that are tried, in search of orders."""


def check_orders(game: Game) -> None:
    """Standing orders answer with legal moves from what their owner sees, say why in words, and stop."""
    rules = game.rules
    if type(rules).parse_order is Rules.parse_order:
        return
    draw = Stream(b"orders", str(game)).below
    texts = list(orders_of(game))
    expect(
        texts,
        "No order was found among %s lines of the words of the game's code. Name some in example_orders.",
        _LINES,
    )
    dealer = deal(f"orders {game}".encode())
    state, _ = umpire.settle(rules, rules.setup(game.seats, {}), dealer)
    standing: list[list[PlacedOrder]] = [[] for _ in range(game.seats)]
    answers = Counter[tuple[int, Question]]()
    for game.at in range(LONGEST_GAME):
        if rules.outcome(state) is not None:
            return
        seat = choice(draw, tuple(rules.awaited(state)))
        asked = (seat, rules.awaited(state)[seat])
        if not answers[asked] and draw(2):
            standing[seat] = _place(rules, rules.view(state, seat), [choice(draw, texts) for _ in range(3)])
        gone = orders.expired(rules, state, seat, standing[seat])
        standing[seat] = [each for each in standing[seat] if each not in gone]
        move = _answer(game, state, seat, standing[seat], draw)
        answers[asked] += move is not None
        stops = answers[asked] < _MOST_ANSWERS
        expect(stops, "Orders answer the question “%s” of seat %s again and again.", asked[1], seat)
        move = move or choice(draw, rules.moves(state, seat))
        state, _ = umpire.settle(rules, umpire.play(rules, state, seat, move), dealer)
    expect(False, "A game of standing orders has not ended after %s moves.", LONGEST_GAME)


def _answer(game: Game, state: Any, seat: int, standing: list[PlacedOrder], draw: Draw) -> Any:
    """Let the first order that applies answer; return its move, and keep what remains of it in `standing`."""
    rules, view, moves = game.rules, game.rules.view(state, seat), game.rules.moves(state, seat)
    world = rules.sample_state(view, draw)
    for placed in standing:
        answer = rules.answer_order(placed.order, view, moves)
        again = rules.answer_order(placed.order, rules.view(world, seat), rules.moves(world, seat))
        expect(answer == again, "The order “%s” answers by what its owner cannot see.", placed.order)
        if answer is None:
            continue
        _check_answer(rules, placed, answer, moves)
        standing.remove(placed)
        if answer.remaining is not None:
            standing.append(PlacedOrder(placed.key, answer.remaining, placed.scope))
        return answer.move
    return None


def _check_answer(rules: Rules[Any, Any], placed: PlacedOrder, answer: OrderAnswer, moves: Any) -> None:
    order = placed.order
    expect(
        answer.move is None or answer.move in moves,
        "The order “%s” answers “%s”, which is not legal.",
        order,
        answer.move,
    )
    expect(str(answer), "The order “%s” answers without saying why.", order)
    is_literal = answer.message in _written(type(rules))
    check_template(f"The answer of the order “{order}”", answer.message, answer.places, is_literal)
    left = answer.remaining
    expect(left is None or answer.move is not None, "The order “%s” stops and remains.", order)
    if left is not None:
        expect(
            rules.parse_order(left.text) == left,
            "What is left of “%s”, “%s”, is not read again.",
            order,
            left,
        )
        expect(left.kind == order.kind, "What is left of “%s” is for another question, %s.", order, left.kind)


def _place(rules: Rules[Any, Any], view: Any, texts: list[str]) -> list[PlacedOrder]:
    """Place those of these orders that a seat can place now."""
    placed = []
    for key, text in enumerate(texts):
        order = rules.parse_order(text)
        rules.foresee_order(order, view)
        if refusal(rules.order_scope, order, view) is None:
            placed.append(PlacedOrder(key, order, rules.order_scope(order, view)))
    return placed


def orders_of(game: Game) -> Iterator[str]:
    """Yield orders that a game reads: its maker's, and those made of its moves, questions and the words of its code."""
    rules, draw = game.rules, Stream(b"lines", str(game)).below
    for example in rules.example_orders:
        refused = refusal(rules.parse_order, example)
        expect(refused is None, "The example of an order “%s” is not read: %s", example, refused)
    kinds = {question.kind for state in game.states for question in rules.awaited(state).values()}
    moves = [move for move in game.all_moves if move.args]
    first = sorted(kinds | {move.verb for move in game.all_moves})
    words = sorted({word for word in _written(type(rules)) if _is_word(word)} - {*game.cards})
    lines = [
        *rules.example_orders,
        "",
        *first,
        *(f"{one} {word}" for one in first for word in words),
        *map(str, moves[: _LINES // 5]),
    ]
    for _ in range(_LINES):
        more = [
            choice(draw, words) if draw(3) else choice(draw, game.cards or words) for _ in range(1 + draw(4))
        ]
        lines.append(" ".join((choice(draw, first), *more)))
    for line in lines:
        if refusal(rules.parse_order, line) is None:
            order = rules.parse_order(line)
            expect(
                rules.parse_order(order.text) == order,
                "The order “%s” is not read back from “%s”.",
                line,
                order,
            )
            yield order.text


def _is_word(text: str) -> bool:
    return text.isascii() and text.islower() and text.isalnum()


@cache
def _written(kind: type) -> frozenset[str]:
    """Return the texts in a game's modules."""
    own = kind.__module__.rpartition(".")[0] or kind.__module__
    return frozenset().union(*(texts_of(name) for name in sys.modules if f"{name}.".startswith(f"{own}.")))


def check_followed(game: Game) -> None:
    """What followed from a move is said in whole sentences about the seats of the table, the same each time."""
    rules = game.rules
    for moment in game.moments():
        views = rules.view(moment.state, PUBLIC), rules.view(moment.after, PUBLIC)
        line = followed(rules, *views)
        expect(followed(rules, *views) == line, "followed says something else the second time.")
        for message in read_followed(line):
            for place, named in message.seats.items():
                several = named if isinstance(named, tuple) else (named,)
                seats = [each[0] if isinstance(each, tuple) else each for each in several]
                strangers = set(seats) - set(range(game.seats))
                expect(
                    not strangers, "followed names %s in the place %s, which is no seat.", strangers, place
                )
