"""Checks of what is hidden: views, sampled states, sealed choices, what is told of moves, and where the cards lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any

from byzanz.games.facts import BY_SEAT
from byzanz.kit.played import Fault, Game, choice, expect, listed, refusal, who
from byzanz.moves import Move
from byzanz.rules import ALL, PUBLIC, Viewer

# ---- where the cards lie ----

_UNDEALT = "(undealt)"
"""The path of cards that a shuffle is due to deal and that lie in no field before it."""
_Equation = tuple[tuple[str, int], ...]
"""How often a card came into each field with a move."""


def count(view: Any, piles: Container[str] | None, cards: Sequence[str]) -> Counter[str]:
    """Return how often each card lies in some fields of a view.

    Args:
        view: of any viewer.
        piles: the paths of the fields, such as `decks.discards`; None for all.
        cards: the names that are counted.
    """
    return Counter(name for path, name in _walk(view, "", frozenset(cards)) if piles is None or path in piles)


def _walk(value: Any, path: str, names: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield every name of a card in a value, with the path of fields that leads to it."""
    if isinstance(value, str):
        if value in names:
            yield path, value
    elif isinstance(value, tuple | list | frozenset | set):
        texts = [each for each in value if isinstance(each, str)]
        if len(texts) == len(value):
            yield from ((path, each) for each in texts if each in names)
            return
        # A pair such as ("wine", ("wine1", "wine3")) is a record: its first place is another field than its second.
        for at, each in enumerate(value):
            yield from _walk(each, f"{path}.{at}" if texts else path, names)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _walk(each, f"{path}.{key}", names)
    else:
        kind: Any = type(value)
        for name in fields_of(kind):
            yield from _walk(getattr(value, name), f"{path}.{name}" if path else name, names)


@cache
def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass; none of any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def piles_of(game: Game) -> frozenset[str]:
    """Return the paths of the fields that hold every card once; none if the game uses cards up.

    They are found out: the changes of their contents add up to nothing with every move, and a shuffle is of cards that
    lie in them. A deck that no field shows before the first deal counts as one more field.

    Raises:
        Fault: there are none, because a move makes or loses a card.
    """
    if game.rules.uses_up or not game.cards:
        return frozenset()
    if game.piles is None:
        game.piles = _found(game)
    return game.piles


def _found(game: Game) -> frozenset[str]:
    names = frozenset(game.cards)
    contents = [_contents(game, state, names) for state in game.states]
    changes = [_changes(one, other) for one, other in pairwise(contents)]
    paths = sorted({path for each in contents for path, _ in each})
    for piles in _solutions(paths, set().union(*changes)):
        if _holds_shuffles(game, contents, piles):
            return piles
    made = set[_Equation]()
    for at, change in enumerate(changes):
        made |= change
        if next(_solutions(paths, made), None) is None:
            game.at = at
            raise Fault(
                f"A card is made or lost by “{game.made[at][1]}”: no fields of the view of ALL hold every card once "
                "before and after it. Only if cards leave the game for good, set `uses_up`."
            )
    raise Fault(
        "A shuffle has cards that lay in no field of the view of ALL before it. Show them there until they are "
        "shuffled. Only if cards leave the game for good, set `uses_up`."
    )


def _contents(game: Game, state: Any, names: Container[str]) -> Counter[tuple[str, str]]:
    """Return how often each card lies in each field of the view of ALL, and which cards are still to be dealt."""
    found = Counter(_walk(game.rules.view(state, ALL), "", names))
    shuffle = game.rules.chance(state)
    if shuffle is not None:
        seen = Counter(name for _, name in found.elements())
        for name, number in (Counter(shuffle.cards) - seen).items():
            found[_UNDEALT, name] = number
    return found


def _changes(one: Counter[tuple[str, str]], other: Counter[tuple[str, str]]) -> set[_Equation]:
    """Return how each card that a move touched changed its place."""
    by_card: dict[str, list[tuple[str, int]]] = {}
    for path, name in sorted(one.keys() | other.keys()):
        if change := other[path, name] - one[path, name]:
            by_card.setdefault(name, []).append((path, change))
    return {tuple(each) for each in by_card.values()}


def _solutions(paths: Sequence[str], equations: set[_Equation]) -> Iterator[frozenset[str]]:
    """Yield the sets of paths in which every equation adds up to nothing, the largest ones early."""
    last = {equation: max(paths.index(path) for path, _ in equation) for equation in equations}
    due = [[equation for equation in equations if last[equation] == at] for at in range(len(paths))]

    def extended(chosen: frozenset[str], at: int) -> Iterator[frozenset[str]]:
        if at == len(paths):
            yield chosen
            return
        for more in (chosen | {paths[at]}, chosen):
            if all(sum(change for path, change in each if path in more) == 0 for each in due[at]):
                yield from extended(more, at + 1)

    return extended(frozenset(), 0)


def _holds_shuffles(game: Game, contents: Sequence[Counter[tuple[str, str]]], piles: frozenset[str]) -> bool:
    for (seat, move), before in zip(game.made, contents, strict=False):
        if seat is None:
            held = Counter[str]()
            for (path, name), number in before.items():
                held[name] += number * (path in piles)
            if Counter(move.args[1:]) - held:
                return False
    return True


# ---- the checks ----

_SWAPS = 60
"""As many pairs of cards are swapped in the first shuffle."""


def check_views(game: Game) -> None:
    """A view says whose it is, what its viewer is asked, which cards its viewer holds, and which belong to seats."""
    rules = game.rules
    _check_by_seat(game)
    for moment, _ in game.settled(every=10):
        asked = rules.awaited(moment.state)
        for viewer in (*game.readers, ALL):
            view = rules.view(moment.state, viewer)
            expect(
                view.viewer == viewer, "The view of %s says that it is that of %s.", who(viewer), view.viewer
            )
            for name in ("question", "hand"):
                expect(hasattr(view, name), "The view has no field `%s`, which pages and emails show.", name)
            question = str(asked[viewer]) if isinstance(viewer, int) and viewer in asked else ""
            expect(
                (view.question or "") == question,
                "The view of %s says that its viewer is asked “%s”; awaited says “%s”.",
                who(viewer),
                view.question,
                question,
            )
            awaited = tuple(getattr(view, "awaited", asked))
            expect(
                awaited == tuple(asked),
                "The view of %s says that the seats %s are to move.",
                who(viewer),
                awaited,
            )
            hand = view.hand or ()
            expect(
                isinstance(hand, tuple) and all(isinstance(card, str) for card in hand),
                "The hand in the view of %s is no tuple of names of cards: %s.",
                who(viewer),
                hand,
            )


def _check_by_seat(game: Game) -> None:
    """A text for each seat is known as such: by an empty one, which no card has, or by its name."""
    found = dict[str, set[bool]]()
    for at, state in enumerate(game.states):
        game.at = at
        view: Any = game.rules.view(state, PUBLIC)
        kind: Any = type(view)
        named = [*view.shown.items()] if isinstance(getattr(view, "shown", None), Mapping) else []
        for name, value in (*named, *((name, getattr(view, name)) for name in fields_of(kind))):
            if isinstance(value, tuple) and len(value) == game.seats and all(type(it) is str for it in value):
                found.setdefault(name, set()).add("" in value)
            mixed = len(found.get(name, ())) > 1 and name not in {*game.rules.by_seat, *BY_SEAT}
            expect(
                not mixed,
                "The field `%s` of the view holds a text for each seat at times. If it always does, name it in "
                "`by_seat`, or the pages draw it as a row of cards once all seats have one.",
                name,
            )


def check_worlds(game: Game) -> None:
    """In a state sampled from a view its viewer sees, may do and is told the same as in the true one."""
    rules, piles = game.rules, piles_of(game)
    differ = Counter[Viewer]()
    for moment, draw in game.settled(every=3):
        state = moment.state
        everything = rules.view(state, ALL)
        for viewer in (*game.readers, ALL):
            world = rules.sample_state(rules.view(state, viewer), draw)
            _check_same(game, state, world, viewer)
            imagined = rules.view(world, ALL)
            if viewer == game.readers[game.at % len(game.readers)]:
                same = count(imagined, piles, game.cards) == count(everything, piles, game.cards)
                expect(same, "The state sampled from the view of %s has other cards.", who(viewer))
            differ[viewer] += imagined != everything
            if isinstance(viewer, int):
                _check_same_refusals(
                    game, state, world, viewer, [choice(draw, game.all_moves) for _ in range(3)]
                )
    expect(not differ[ALL], "The state sampled from the view of ALL is not the true one.")
    if any(told_hides(game, move) for seat, move in game.made if seat is None):
        for viewer in game.readers:
            expect(
                differ[viewer],
                "Every state sampled from the view of %s is the true one, so nothing is hidden "
                "from this viewer. If that is right, say in redact_move that shuffles are open.",
                who(viewer),
            )


def told_hides(game: Game, shuffle: Move) -> bool:
    """Return whether everybody is told less of a shuffle than its cards."""
    return game.rules.redact_move(shuffle, None, PUBLIC, False) != str(shuffle)


def _check_same(game: Game, state: Any, world: Any, viewer: Viewer) -> None:
    rules = game.rules
    seen = rules.view(world, viewer) == rules.view(state, viewer)
    expect(seen, "The state sampled from the view of %s gives its viewer another view.", who(viewer))
    public = rules.view(world, PUBLIC) == rules.view(state, PUBLIC)
    expect(public, "The state sampled from the view of %s gives PUBLIC another view.", who(viewer))
    for name in ("awaited", "scores", "outcome"):
        ask = getattr(rules, name)
        expect(ask(world) == ask(state), "%s depends on what %s cannot see.", name, who(viewer))
    if isinstance(viewer, int):
        same = listed(rules, world, viewer) == listed(rules, state, viewer)
        expect(same, "The legal moves of seat %s depend on what it cannot see.", viewer)


def _check_same_refusals(game: Game, state: Any, world: Any, seat: int, moves: list[Move]) -> None:
    rules = game.rules
    for move in moves:
        said = [refusal(rules.apply, one, seat, move) for one in (state, world)]
        expect(
            str(said[0]) == str(said[1]),
            "Whether and why “%s” of seat %s is refused depends on what it cannot see: “%s” or “%s”.",
            move,
            seat,
            *said,
        )


def check_deal(game: Game) -> None:
    """A seat sees its own part of the first shuffle: swapping two cards of others changes nothing for it."""
    rules = game.rules
    first = next((moment for moment in game.moments() if moment.seat is None), None)
    if first is None or not told_hides(game, first.move):
        return
    at, (label, *cards) = game.at, first.move.args
    pairs = list(combinations(range(len(cards)), 2))
    told = dict[int, str]()
    views = [rules.view(first.after, viewer) for viewer in game.readers]
    for one, other in pairs[:: 1 + len(pairs) // _SWAPS]:
        swapped = list(cards)
        swapped[one], swapped[other] = cards[other], cards[one]
        world = rules.apply(first.state, None, Move("shuffle", (label, *swapped)))
        if rules.view(world, PUBLIC) != views[-1]:
            continue
        for seat in range(game.seats):
            view = rules.view(world, seat)
            if view.hand and view.hand == views[seat].hand and view != views[seat]:
                told[seat] = f"{cards[one]} and {cards[other]}"
    game.at = at + 1
    # A single seat may have looked at something; what every seat sees of the others' cards was not meant.
    expect(
        len(told) < game.seats,
        "Each seat can see where other seats hold cards: seat 0 can tell %s apart.",
        told.get(0),
    )


def check_sealed(game: Game) -> None:
    """What several seats choose at once is sealed, and nobody else can tell one sealed choice from another."""
    rules = game.rules
    for moment, _ in game.settled():
        asked = rules.awaited(moment.state)
        choosing = [seat for seat in asked if len(rules.moves(moment.state, seat)) > 1]
        if len(choosing) > 1:
            verbs = {move.verb for seat in choosing for move in rules.moves(moment.state, seat)[:20]}
            open_ones = verbs - rules.sealed - rules.unsealed
            expect(
                not open_ones,
                "The seats %s choose at once, but `sealed` does not name: %s. If all may see such a "
                "choice before they choose, name it in `unsealed`.",
                ", ".join(map(str, choosing)),
                ", ".join(sorted(open_ones)),
            )
        if moment.move.verb in rules.sealed and set(asked.values()) & set(
            rules.awaited(moment.after).values()
        ):
            _check_one_choice(game, moment.state, moment.seat, moment.move, moment.after)


def _check_one_choice(game: Game, state: Any, seat: int | None, made: Move, after: Any) -> None:
    rules = game.rules
    assert seat is not None
    moves = listed(rules, state, seat)
    for move in moves[:: 1 + len(moves) // 20]:
        if move.verb != made.verb:
            continue
        other = rules.apply(state, seat, move)
        for viewer in game.readers:
            same = viewer == seat or rules.view(other, viewer) == rules.view(after, viewer)
            expect(
                same,
                "%s can tell the sealed choices “%s” and “%s” of seat %s apart.",
                who(viewer),
                move,
                made,
                seat,
            )


def check_told(game: Game) -> None:
    """Shuffles are told without cards and sealed choices not at all, but everything to ALL and to its maker."""
    rules = game.rules
    for moment in game.moments():
        seat, move = moment.seat, moment.move
        for viewer in (*game.readers, ALL):
            for settled in (False, True):
                told = rules.redact_move(move, seat, viewer, settled)
                if viewer == ALL or (seat is not None and seat == viewer):
                    expect(told == str(move), "Of “%s”, %s is told “%s”.", move, who(viewer), told)
                elif seat is None:
                    whole = (f"shuffle {move.args[0]}", str(move))
                    expect(
                        told in whole, "Of the shuffle %s, %s is told “%s”.", move.args[0], who(viewer), told
                    )
                elif move.verb in rules.sealed and not settled:
                    expect(
                        told == f"{move.verb} ?",
                        "Of the sealed choice “%s”, %s is told “%s”.",
                        move,
                        who(viewer),
                        told,
                    )
        _check_told_shuffle(game, seat, move, moment.after)


def _check_told_shuffle(game: Game, seat: int | None, move: Move, after: Any) -> None:
    """A shuffle is told in full only where nothing of it is hidden afterwards."""
    if seat is None and not told_hides(game, move):
        shown = game.rules.view(after, PUBLIC)
        seen = count(shown, None, game.cards)
        expect(
            all(seen[card] for card in move.args[1:]),
            "The shuffle %s is told in full, though the public view hides some of its cards.",
            move.args[0],
        )


def check_census(game: Game) -> None:
    """No card is made or lost, whatever is played."""
    rules = game.rules
    piles = piles_of(game)
    if game.cards and not rules.uses_up and not piles:
        raise Fault("No fields of the view of ALL hold every card all the time.")
