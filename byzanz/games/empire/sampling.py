"""Random states of Empire that give exactly a certain view: hidden cards are dealt anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

from byzanz.chance import Draw, shuffled
from byzanz.games.empire.cards import (
    BYZANTINES,
    FOES,
    MOST_REDRAWN,
    NUMBER,
    PACK,
    Cards,
    broken_limit,
    minus,
    numbers,
    plus,
    usable,
)
from byzanz.games.empire.state import AFTERWARDS, Batch, Pair, State, deck_of, put
from byzanz.games.empire.view import HIDDEN, Deck, View


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
