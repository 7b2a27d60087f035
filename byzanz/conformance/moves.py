"""Checks of moves: what is listed is accepted and nothing else, any text is read or refused, and silent seats move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byzanz.chance import Stream
from byzanz.conformance.game import Fault, Game, choice, expect, listed
from byzanz.conformance.messages import refusal
from byzanz.moves import AmbiguousMove, IllegalMove, Move, NotAwaited, RulesError, UnreadableMove

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
