"""Hand-made positions of Empire, games played at random, and the check that no card is lost."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import byzanz.games
from byzanz.games.empire.rules import Empire
from byzanz.games.empire.state import CARDS, NUMBER, State
from byzanz.moves import Move
from byzanz.umpire import forced_move

EMPIRE = Empire()
SHEET_FILE = Path(byzanz.games.__file__).with_name("empire") / "empire-cards.csv"
SHEET = list(csv.DictReader(SHEET_FILE.read_text(encoding="utf-8").splitlines()))
"""Read the lines of the card list without code of the game."""
ALL_CARDS = Counter({(row["deck"], row["card"]): int(row["copies"]) for row in SHEET})
FOES, BYZANTINES = 0, 1
DECKS = ("foes", "byzantines")
Role = str
"""F for the Foe, E for the Emperor."""


def seat_of(role: Role, year: int) -> int:
    """Return the seat of a role in a year; seat 0 is the Emperor in odd years."""
    return (year + (role == "E")) % 2


def cards(deck: int, text: str) -> tuple[int, ...]:
    """Return cards of a deck by their names, as a state stores them."""
    return tuple(sorted(NUMBER[deck][name] for name in text.split()))


def words(numbers: tuple[int, ...]) -> str:
    """Return the names of a state's cards."""
    return " ".join(CARDS[number].card for number in numbers)


def by_seat(year: int, foe: Any, emperor: Any) -> tuple[Any, Any]:
    """Return the Foe's and the Emperor's values in the order of the seats."""
    return (emperor, foe) if seat_of("E", year) == 0 else (foe, emperor)


def at(year: int = 1, step: str = "meld", **given: Any) -> State:
    """Return a position of a year with an open question.

    Args:
        year: from 1 to 12.
        step: as in `State`.
        given: `foe`, `emperor`: hands; `foe_meld`, `emperor_meld`; `piles`, `discards`, `out`: texts for Foes and
            Byzantines, of the piles the top cards, the rest of both decks follows in canonical order (`dry`: in
            the discards); `shown`: texts for Foe and Emperor; any other field of the state as it is.
    """
    hands = by_seat(year, *_both(given, "foe", "emperor"))
    melds = by_seat(year, *_both(given, "foe_meld", "emperor_meld"))
    tops = given.pop("piles", ("", ""))
    dry = given.pop("dry", False)
    shown = given.pop("shown", ("", ""))
    piles = {name: _named(given.pop(name, ("", ""))) for name in ("discards", "out")}
    foes, byzantines = EMPIRE.setup(2, {}).aside
    state = replace(
        EMPIRE.setup(2, {}),
        step=step,
        number=1,
        year=year,
        aside=(_later(foes, year), _later(byzantines, year)),
        hands=hands,
        melds=melds,
        played=melds,
        shuffles=(1, 1),
        shown=by_seat(year, *_named(shown)),
        **(piles | given),
    )
    first, second = _unplaced(state, FOES, tops[0]), _unplaced(state, BYZANTINES, tops[1])
    if not dry:
        return replace(state, piles=(first, second))
    sizes = [len(top.split()) for top in tops]
    discards = tuple(sorted(first[sizes[0] :])), tuple(sorted(second[sizes[1] :]))
    return replace(state, piles=(first[: sizes[0]], second[: sizes[1]]), discards=discards)


def _later(pack: tuple[int, ...], year: int) -> tuple[int, ...]:
    """Return the cards whose age has not begun."""
    return tuple(card for card in pack if "EML".index(CARDS[card].ages[0]) > (year - 1) // 4)


def _unplaced(state: State, deck: int, top: str) -> tuple[int, ...]:
    """Return the cards that are nowhere yet, with some of them on top."""
    first = tuple(NUMBER[deck][name] for name in top.split())
    placed = Counter(first) + Counter(everything(state, deck))
    rest = Counter({card: CARDS[card].copies - placed[card] for card in NUMBER[deck].values()})
    assert min(rest.values()) >= 0, "more cards than there are"
    return (*first, *sorted(rest.elements()))


def _both(given: dict[str, Any], foe: str, emperor: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return _named((given.pop(foe, ""), given.pop(emperor, "")))


def _named(texts: tuple[str, str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return cards of the Foes and of the Byzantines by their names."""
    return cards(FOES, texts[0]), cards(BYZANTINES, texts[1])


def everything(state: State, deck: int) -> list[int]:
    """Return all cards of a deck in a position, wherever they are."""
    seat = seat_of("FE"[deck], state.year)
    places = [getattr(state, name)[deck] for name in ("aside", "piles", "discards", "out")]
    places += [state.hands[seat], state.melds[seat]]
    places += [batch for year, whose, batch, _ in state.buried if whose == seat_of("FE"[deck], year)]
    return [card for place in places for card in place]


def astray(state: State) -> Counter[tuple[str, str]]:
    """Return the cards lost (-) and duplicated (+) since the start; there must be none."""
    there = Counter(
        (CARDS[card].deck, CARDS[card].card) for deck in (0, 1) for card in everything(state, deck)
    )
    strangers = [
        card for deck in (0, 1) for card in everything(state, deck) if CARDS[card].deck != DECKS[deck]
    ]
    assert not strangers, "a card lies with the other deck"
    there.subtract(ALL_CARDS)
    return Counter({card: count for card, count in there.items() if count})


def move(line: str) -> Move:
    """Return a move in canonical form."""
    verb, *args = line.split()
    return Move(verb, tuple(args))


def after(state: State, *lines: str) -> State:
    """Return the position after moves `F VERB CARD…` or `E VERB CARD…`, cards in any order, and forced moves."""
    state = settled(state)
    for line in lines:
        role, text = line.split(" ", 1)
        state = settled(EMPIRE.apply(state, seat_of(role, state.year), EMPIRE.parse(text)))
    return state


def settled(state: State) -> State:
    """The moment after all forced moves, up to a shuffle or a choice."""
    while EMPIRE.chance(state) is None and (due := forced_move(EMPIRE, state)):
        state = EMPIRE.apply(state, *due)
    return state


def dealt(state: State, *orders: str) -> State:
    """Return the position after the due shuffles; each puts the named cards on top and keeps the rest in order."""
    for top in orders:
        due = EMPIRE.chance(state)
        assert due is not None
        rest = list(due.cards)
        for name in top.split():
            rest.remove(name)
        state = EMPIRE.apply(state, None, Move("shuffle", (due.label, *top.split(), *rest)))
    return state


def answers(state: State, role: Role) -> list[str]:
    """Return the legal moves of a role as text."""
    return list(map(str, EMPIRE.moves(state, seat_of(role, state.year))))


def asked(state: State) -> str:
    """Return the open questions: `E keep`, `FE meld`, or nothing."""
    awaited = EMPIRE.awaited(state)
    roles = "".join(role for role in "FE" if seat_of(role, state.year) in awaited)
    return " ".join([roles, *{question.kind for question in awaited.values()}])


def hand(state: State, role: Role) -> str:
    """Return the cards a role holds."""
    return words(state.hands[seat_of(role, state.year)])


def remembered():
    """Return the start of year 2: siege was passed to seat 0, the Foe, and taxes to seat 1; both drew named cards."""
    state = at(1, "keep", foe="siege siege plague", emperor="taxes trade",
               piles=("avars huns riots crisis disease", "reforms reforms marriage treaty campaigns"))  # fmt: skip
    return after(state, "F keep siege", "E keep taxes")


def shuffled(state: State, rng: random.Random) -> Move:
    """Return the due shuffle in random order."""
    due = EMPIRE.chance(state)
    assert due is not None
    return Move("shuffle", (due.label, *rng.sample(due.cards, len(due.cards))))


def choice(state: State, rng: random.Random) -> tuple[int, Move]:
    """Choose any seat to move and any answer; mostly strong melds, now and then a replaced choice."""
    changing = [seat for seat in (0, 1) if EMPIRE.out_of_turn_moves(state, seat)]
    if changing and rng.random() < 0.1:
        return changing[0], rng.choice(EMPIRE.out_of_turn_moves(state, changing[0]))
    seat = rng.choice(list(EMPIRE.awaited(state)))
    moves = EMPIRE.moves(state, seat)
    if state.step == "meld" and rng.random() < 0.7:
        moves = moves[:5]
    return seat, rng.choice(moves)


def game(seed: int) -> Iterator[tuple[State, int | None, Move]]:
    """Play a whole game at random; return each position with its move, then the last position."""
    rng, state = random.Random(seed), EMPIRE.setup(2, {})
    while EMPIRE.outcome(state) is None:
        seat: int | None = None
        if EMPIRE.chance(state) is not None:
            made = shuffled(state, rng)
        else:
            seat, made = choice(state, rng)
        yield state, seat, made
        state = EMPIRE.apply(state, seat, made)
    yield state, None, Move("over")


def differing(one: Any, other: Any) -> set[str]:
    """Return the names of the fields in which two states or views differ."""
    return {field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)}
