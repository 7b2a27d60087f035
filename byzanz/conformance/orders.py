"""Checks of standing orders: what they answer is legal, they know no more than their owner, and they come to an end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from byzanz import orders, umpire
from byzanz.chance import Draw, Stream, deal
from byzanz.conformance.game import LONGEST_GAME, Game, choice, expect
from byzanz.conformance.messages import check_template, refusal, texts_of
from byzanz.moves import OrderAnswer, Question
from byzanz.orders import PlacedOrder
from byzanz.rules import Rules

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
