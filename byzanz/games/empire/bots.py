"""What bots think about Empire and Foes: estimates of a view, and sampled states that fit it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import exp, tanh

from byzanz.chance import Draw, shuffled
from byzanz.games.empire.moves import DECLINE, FALLEN, RESPONSES, responses
from byzanz.games.empire.state import (
    AFTERWARDS,
    BONUS,
    BYZANTINES,
    FOES,
    FORCE,
    HIGHEST,
    KIND,
    LEGACY,
    LIMITS,
    MATCHING,
    MOST_REDRAWN,
    NUMBER,
    PACK,
    YEARS,
    Batch,
    Cards,
    Pair,
    State,
    bonus,
    broken_limit,
    deck_of,
    emperor_of,
    force,
    hand_size,
    kept_worth,
    legacy,
    minus,
    names,
    numbers,
    plus,
    put,
    usable,
)
from byzanz.games.empire.view import HIDDEN, Deck, View
from byzanz.moves import Move

_TYPICAL = {"E": (16, 20), "M": (18, 19), "L": (19, 16)}
"""The force of a good meld of the Foe and of the Emperor in each age, as simulated games show it."""
_REDRAWN = 1.5
"""The force that a card still to be drawn adds to a meld, on average."""
_GIFT = 0.05
"""The legacy that each point of worth in the card passed to the other seat costs."""
_WEAK = 3
"""A card that adds at most this force to a meld is redrawn; a point of legacy counts as four of force."""


# Melds


@lru_cache(maxsize=4096)
def strongest(hand: Cards) -> Cards:
    """The strongest meld of a hand, of equal ones one with the most legacy, found without trying them all.

    The troops that go with a northern and a southern card are those with the most force and bonus.
    """
    north, south, troops = _of(hand, "northern"), _of(hand, "southern"), _of(hand, "troop")
    melds = [_with_troops(pair, troops) for pair in product({*north, -1}, {*south, -1})]
    meld = max(melds, key=force) + _disasters(hand)
    for kind in ("leader", "recovery", "negotiation", "legacy"):
        meld += _of(hand, kind)[: LIMITS[kind]]
    return tuple(sorted(meld))


def _of(hand: Cards, *kinds: str) -> Cards:
    """The cards of these kinds, the best first."""
    found = [card for card in hand if KIND[card] in kinds]
    return tuple(sorted(found, key=lambda card: FORCE[card] + LEGACY[card], reverse=True))


def _with_troops(pair: Cards, troops: Cards) -> Cards:
    """The northern and southern card there are (-1 for none), with the troops that are best beside them."""
    peoples = tuple([card for card in pair if card >= 0])

    def adds(troop: int) -> int:
        return FORCE[troop] + sum([BONUS[card] for card in peoples if troop in MATCHING[card]])

    return peoples + tuple(sorted(troops, key=adds, reverse=True)[: LIMITS["troop"]])


def _disasters(hand: Cards) -> Cards:
    """The two worst disasters, one of them natural at most."""
    natural, other = _of(hand, "natural-disaster")[:1], _of(hand, "disaster")
    return tuple(sorted(natural + other, key=FORCE.__getitem__)[-LIMITS["disaster"] :])


# Plausible moves


def rollout_move(state: State, seat: int) -> Move:
    """Choose the answer of a player who wants force and legacy.

    Args:
        state: an imagined one.
        seat: one that is asked.
    """
    hand = state.hands[seat]
    if state.step == "redraw":
        return Move("redraw", names(_thrown(hand)))
    if state.step == "meld":
        return Move("meld", names(strongest(hand)))
    if state.step == "keep":
        return Move("keep", names((min(hand, key=kept_worth),)))
    emperor = emperor_of(state.year)
    own, theirs = state.melds[emperor], state.melds[1 - emperor]
    return max(responses(state), key=lambda move: swing(own, theirs, move))


def _thrown(hand: Cards) -> Cards:
    """Return the cards to redraw: the worst outside the strongest meld, then those that add little to it."""
    meld = strongest(hand)

    def adds(card: int) -> int:
        helped = sum([BONUS[other] for other in meld if card in MATCHING[other]])
        return FORCE[card] + 4 * LEGACY[card] + bonus(card, meld) + helped

    weak = sorted([card for card in meld if adds(card) <= _WEAK], key=adds)
    worst = sorted(minus(hand, meld), key=kept_worth) + weak
    return tuple(sorted(worst[:MOST_REDRAWN]))


def laid(view: View, seat: int) -> Cards:
    """Return the meld of a seat as it lies on the table."""
    deck = BYZANTINES if seat == view.emperor else FOES
    return numbers(deck, [melded.card for melded in view.melds[seat].cards])


def swing(own: Cards, theirs: Cards, move: Move) -> int:
    """Return how much a response improves the difference of the forces for the seat that makes it.

    Args:
        own: the Emperor's meld.
        theirs: the Foe's.
        move: a response.
    """
    if move.verb in ("defend", "replace"):
        return force(plus(theirs, numbers(FOES, move.args))) - force(theirs)
    if move == DECLINE:
        return 0
    gained = force(theirs) - force(minus(theirs, numbers(FOES, move.args[:1])))
    lost = force(own) - force(minus(own, numbers(BYZANTINES, move.args[2:])))
    return gained - lost


# Prospects


def evaluate(view: View, me: int) -> float:
    """Return the lead in legacy, with the prospects of this year's battle and the threat of a low territory."""
    lead = float(view.legacy[me] - view.legacy[1 - me])
    return lead if view.step == "over" else lead + _prospects(view, me) + _gifts(view, me)


def _prospects(view: View, me: int) -> float:
    """Return the legacy that a seat may expect of this year's battle and of the threat to the next Emperor."""
    side = 1 if me == view.emperor else -1
    if view.step == "keep":
        return side * _threat(view.territory)
    is_open = view.step in (*RESPONSES, "replace")
    own, theirs, cards = _forces(view, me, is_open)
    room = HIGHEST - view.territory
    after = view.territory + min(room, own - theirs)
    fall = _chance(-after / (0.3 if is_open else 2.5))
    gain = min(room, tanh((own - theirs) / (0.5 if is_open else 4.0))) + cards
    next_year = _threat(after) if view.year < YEARS else 0.0
    return side * ((1 - fall) * (gain + next_year) - fall * FALLEN)


def _forces(view: View, me: int, is_open: bool) -> tuple[float, float, int]:
    """Return the forces of the Emperor and of the Foe, and the legacy of the Emperor's cards."""
    if is_open:
        return view.melds[view.emperor].force, view.melds[view.foe].force, legacy(laid(view, view.emperor))
    foe, emperor = _TYPICAL[view.age]
    strength, cards = _planned(view, me)
    return (strength, foe, cards) if me == view.emperor else (emperor, strength, 0)


def _planned(view: View, me: int) -> tuple[float, int]:
    """Return force and legacy of the meld that a seat has sealed, or of the best it can hope for."""
    deck = BYZANTINES if me == view.emperor else FOES
    hand, chosen = numbers(deck, view.hands[me] or ()), numbers(deck, view.chosen[me] or ())
    if view.step == "meld" and view.sealed[me]:
        return force(chosen), legacy(chosen)
    rest = minus(hand, chosen)
    best = strongest(rest)
    return force(best) + _REDRAWN * (hand_size(deck, view.year) - len(rest)), legacy(best)


def _threat(territory: float) -> float:
    """Return the legacy that the next Emperor is likely to lose because the Empire falls."""
    return FALLEN * _chance(-(territory + 1) / 3)


def _chance(odds: float) -> float:
    return 1 / (1 + exp(-max(-50.0, min(50.0, odds))))


def _gifts(view: View, me: int) -> float:
    """Return the cost of the card that the other seat was passed, or will be."""
    if view.step == "keep":
        return -_GIFT * sum(
            [kept_worth(NUMBER[deck_of(me, view.year)][card]) for card in view.chosen[me] or ()]
        )
    passed = view.received[1 - me]
    return (
        -_GIFT * kept_worth(NUMBER[deck_of(1 - me, view.year)][passed])
        if passed not in (None, HIDDEN)
        else 0.0
    )


# ---- sampled states ----


@dataclass(slots=True)
class Place:
    """A pile or hand that is being filled.

    Args:
        cards: those in it, at first the ones that the viewer knows.
        free: how many more are to be dealt to it.
        year: in which the dealt ones must be usable; 0 for any card.
    """

    cards: Cards
    free: int
    year: int


def sample_state(view: View, draw: Draw) -> State:
    """Return a random state of this view.

    Args:
        view: of any viewer; what it shows beyond a seat's knowledge, such as a draw pile for ALL, stays as it is.
        draw: the source of chance.
    """
    hands, piles, batches = _all_dealt(view, draw)
    state = State(
        step=view.step,
        number=view.number,
        year=view.year,
        territory=view.territory,
        legacy=view.legacy,
        aside=_by_deck(view, "aside"),
        piles=piles,
        discards=_by_deck(view, "discards"),
        buried=batches,
        out=_by_deck(view, "out"),
        shuffles=(view.decks[FOES].shuffles, view.decks[BYZANTINES].shuffles),
        hands=hands,
        shown=_by_seat(view, view.shown),
        received=(-1, -1),
        redrawn=view.redrawn,
        played=_by_seat(view, view.played),
        chosen=(None, None),
        melds=(_meld(view, 0), _meld(view, 1)),
        added=numbers(FOES, view.added),
        battle=_battle(view),
    )
    received = (_received(view, state, 0, draw), _received(view, state, 1, draw))
    return replace(
        state, received=received, chosen=(_chosen(view, state, 0, draw), _chosen(view, state, 1, draw))
    )


# What the view shows


def _by_deck(view: View, pile: str) -> Pair:
    foes, byzantines = view.decks
    return numbers(FOES, getattr(foes, pile)), numbers(BYZANTINES, getattr(byzantines, pile))


def _by_seat(view: View, cards: tuple[tuple[str, ...], tuple[str, ...]]) -> Pair:
    first, second = cards
    return numbers(deck_of(0, view.year), first), numbers(deck_of(1, view.year), second)


def _meld(view: View, seat: int) -> Cards:
    return numbers(deck_of(seat, view.year), [melded.card for melded in view.melds[seat].cards])


def _battle(view: View) -> tuple[Cards, ...]:
    fought = view.battle
    if fought is None:
        return ()
    own, theirs = fought.melds[fought.emperor], fought.melds[1 - fought.emperor]
    return (
        numbers(BYZANTINES, [melded.card for melded in own.cards]),
        numbers(FOES, [melded.card for melded in theirs.cards]),
        (fought.year, fought.before, fought.after, fought.legacy),
    )


# What is dealt anew


def _all_dealt(view: View, draw: Draw) -> tuple[Pair, Pair, tuple[Batch, ...]]:
    """Return hands, draw piles and what lies face down."""
    hands: Pair = ((), ())
    piles: Pair = ((), ())
    batches: list[Batch] = []
    for index, deck in enumerate(view.decks):
        hand, *buried = _places(view, index, deck, draw)
        told = numbers(index, deck.pile or ())
        sight = sum([numbers(index, pile) for pile in (deck.discards, deck.out, deck.aside)], told)
        sight += _meld(view, deck.seat) + sum([place.cards for place in (hand, *buried)], ())
        rest = _deal([hand, *buried], shuffled(minus(PACK[index], sight), draw))
        hands = put(hands, deck.seat, hand.cards)
        piles = put(piles, index, told + rest)
        for batch, place in zip(deck.buried, buried, strict=True):
            batches.append((batch.year, batch.seat, place.cards, numbers(index, batch.known)))
    return hands, piles, tuple(sorted(batches, key=lambda batch: batch[:2]))


def _places(view: View, index: int, deck: Deck, draw: Draw) -> list[Place]:
    """Return the hand of a deck and each of its batches that lies face down, with what the viewer knows of them."""
    buried = [
        Place(numbers(index, batch.known), batch.size - len(batch.known), batch.year)
        if batch.cards is None
        else Place(numbers(index, batch.cards), 0, 0)
        for batch in deck.buried
    ]
    told = view.hands[deck.seat]
    if told is not None:
        return [Place(numbers(index, told), 0, 0), *buried]
    # While cards are still drawn and aged, a hand may hold cards of other ages.
    hand = Place((), view.hand_sizes[deck.seat], 0 if view.step in AFTERWARDS else view.year)
    current = [
        place
        for place, batch in zip(buried, deck.buried, strict=True)
        if (batch.year, batch.seat) == (view.year, deck.seat)
    ]
    _lay_known(view, deck.seat, hand, current, draw)
    return [hand, *buried]


def _lay_known(view: View, seat: int, hand: Place, current: list[Place], draw: Draw) -> None:
    """Lay the known cards into the hand or among those redrawn this year: face down, or since then in the pile."""
    deck, redrawn = deck_of(seat, view.year), view.redrawn[seat]
    received = [card for card in (view.received[seat],) if card not in (None, HIDDEN)]
    came = numbers(deck, [*view.shown[seat], *map(str, received)])
    surprises = len(minus(numbers(deck, view.played[seat]), came))
    # Of the cards drawn in the redraw, those not laid open since fill places in the hand.
    fresh = 0 if view.step in AFTERWARDS else max(0, redrawn - surprises)
    spots = shuffled((1,) * redrawn + (0,) * (hand.free - fresh), draw)
    for card, thrown in zip(numbers(deck, view.known[seat]), spots, strict=False):
        for place in current if thrown else [hand]:
            place.cards, place.free = plus(place.cards, (card,)), place.free - 1


def _deal(places: list[Place], pool: Cards) -> Cards:
    """Fill the places with cards of the pool that were usable there, and return the others in their order.

    If a place finds only cards that others took, those look for another card, so all are filled if that is possible.
    """
    wanted = [place for place in places for _ in range(place.free)]
    holder: dict[int, int] = {}

    def seek(which: int, tried: set[int]) -> bool:
        year = wanted[which].year
        fits = [at for at, card in enumerate(pool) if not year or usable(card, year)]
        free = next((at for at in fits if at not in holder), None)
        if free is not None:
            holder[free] = which
            return True
        for at in fits:
            if at not in tried:
                tried.add(at)
                if seek(holder[at], tried):
                    holder[at] = which
                    return True
        return False

    for which, place in enumerate(wanted):
        if not seek(which, set()):
            raise ValueError(f"no card of the pool was usable in year {place.year}")
    for at, which in holder.items():
        wanted[which].cards = plus(wanted[which].cards, (pool[at],))
    return tuple([card for at, card in enumerate(pool) if at not in holder])


def _received(view: View, state: State, seat: int, draw: Draw) -> int:
    """Return the card that a seat was passed or, if hidden, one that it holds, laid or redrew this year."""
    card, deck = view.received[seat], deck_of(seat, view.year)
    if card is None:
        return -1
    if card != HIDDEN:
        return NUMBER[deck][card]
    thrown = [cards for year, whose, cards, _ in state.buried if (year, whose) == (view.year, seat)]
    had = minus(sum(thrown, state.hands[seat] + state.played[seat]), state.shown[seat])
    had = had or state.out[deck] or PACK[deck]
    return had[draw(len(had))]


def _chosen(view: View, state: State, seat: int, draw: Draw) -> Cards | None:
    """Return what a seat has sealed or, if hidden, any choice that its hand allows."""
    told, hand = view.chosen[seat], state.hands[seat]
    if told is not None:
        return numbers(deck_of(seat, view.year), told)
    if not view.sealed[seat]:
        return None
    order = shuffled(hand, draw)
    if view.step == "redraw":
        return tuple(sorted(order[: draw(MOST_REDRAWN + 1)]))
    return _any_meld(order, draw) if view.step == "meld" else order[:1]


def _any_meld(order: Cards, draw: Draw) -> Cards:
    """Return a legal meld, mostly a large one: a card that fits is rarely left out."""
    meld: Cards = ()
    for card in order:
        if draw(8) and broken_limit((*meld, card)) is None:
            meld = plus(meld, (card,))
    return meld
