"""What each viewer of Empire and Foes sees, and the headings and charts of its history.

A view has cards by their names; what lies by deck is in `decks`, and what belongs to a player has one item a seat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from byzanz.charts import Chart, Heading, Highlight, chart, seats, turning_point
from byzanz.games.empire.state import (
    BYZANTINES,
    CARDS,
    DECKS,
    FOES,
    HIGHEST,
    NUMBER,
    YEARS,
    Card,
    Cards,
    Names,
    State,
    age_of,
    awaited,
    bonus,
    deck_of,
    emperor_of,
    force,
    known_of,
    names,
    numbers,
    seat_of,
)
from byzanz.moves import Message
from byzanz.rules import ALL, PUBLIC, Viewer

HIDDEN = "?"
"""Stands for a card that the viewer may not know."""


@dataclass(frozen=True, slots=True)
class Melded:
    """A card in a meld and what it counts there.

    Args:
        card: its name in moves.
        force: printed on it.
        bonus: what the troops of its meld add.
        legacy: what it adds to the Emperor's legacy.
    """

    card: str
    force: int
    bonus: int
    legacy: int


@dataclass(frozen=True, slots=True)
class Meld:
    """A meld as it counts.

    Args:
        cards: in canonical order.
        force: of all its cards, bonuses included.
    """

    cards: tuple[Melded, ...]
    force: int


@dataclass(frozen=True, slots=True)
class Battle:
    """A battle that was fought.

    Args:
        year: when.
        emperor: the seat that was Emperor.
        melds: of each seat, as they counted in the end.
        before, after: territory.
        legacy: the change of the Emperor's legacy.
    """

    year: int
    emperor: int
    melds: tuple[Meld, Meld]
    before: int
    after: int
    legacy: int

    @property
    def followed(self) -> tuple[Message, ...]:
        """Return who won, who gained the territory and how the Emperor's legacy changed, with what is drawn of them."""
        forces = self.melds[self.emperor].force, self.melds[1 - self.emperor].force
        winner = self.emperor if forces[0] > forces[1] else 1 - self.emperor
        drawn = {"emperor": self.emperor, "melds": tuple(map(_drawn, self.melds))}
        cards = sum([card.legacy for card in self.melds[self.emperor].cards]) if self.after > 0 else 0
        return (
            _won({"year": self.year, "force": max(forces), "other": min(forces)} | drawn, winner),
            _moved(self.before, self.after),
            *([_gained(self.emperor, self.legacy, cards)] if cards or self.legacy else ()),
        )


def _drawn(meld: Meld) -> dict[str, Any]:
    return {"force": meld.force, "cards": tuple([asdict(card) for card in meld.cards])}


def _won(places: Mapping[str, Any], winner: int) -> Message:
    if places["force"] == places["other"]:
        return Message("Year %(year)s was a draw, %(force)s each", places)
    return Message(
        "%(name)s won year %(year)s, %(force)s to %(other)s",
        places,
        {"name": winner},
        "You won year %(year)s, %(force)s to %(other)s",
    )


def _moved(before: int, after: int) -> Message:
    places = {"before": before, "after": after}
    if after <= 0:
        return Message("territory fell from %(before)s to 0, and the Empire was lost", places)
    if after > before:
        return Message("territory rose from %(before)s to %(after)s", places)
    if after < before:
        return Message("territory fell from %(before)s to %(after)s", places)
    return Message("territory stayed at %(before)s", places)


def _gained(emperor: int, points: int, cards: int) -> Message:
    places = {"points": _signed(points), "cards": _signed(cards), "battle": _signed(points - cards)}
    if cards in (0, points):
        return Message("%(name)s: %(points)s legacy", places, {"name": emperor}, "You: %(points)s legacy")
    return Message(
        "%(name)s: %(points)s legacy (cards %(cards)s, battle %(battle)s)",
        places,
        {"name": emperor},
        "You: %(points)s legacy (cards %(cards)s, battle %(battle)s)",
    )


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−") if number else "±0"


@dataclass(frozen=True, slots=True)
class Buried:
    """Cards thrown away in a redraw, face down among the discards.

    Args:
        year: when.
        seat: whose they were.
        size: how many.
        cards: to that seat alone; None for others.
        known: those of them that both players know to lie here, since they were drawn in the open and never seen
            again; not to others. Of the running year see `View.known`.
    """

    year: int
    seat: int
    size: int
    cards: Names | None
    known: Names


@dataclass(frozen=True, slots=True)
class Deck:
    """One of the decks.

    Args:
        name: `foes` or `byzantines`.
        seat: that draws from it this year.
        size: how many cards the draw pile has; pile: which, top first, None unless the viewer is ALL.
        discards: face up; buried: face down.
        out: cards that left the game.
        aside: cards whose age has not begun.
        shuffles: how often it was shuffled.
    """

    name: str
    seat: int
    size: int
    pile: Names | None
    discards: Names
    buried: tuple[Buried, ...]
    out: Names
    aside: Names
    shuffles: int

    def facts(self, card: str) -> Card:
        """Return all that is printed on a card of this deck."""
        return CARDS[NUMBER[DECKS.index(self.name)][card]]


@dataclass(frozen=True, slots=True)
class Square:
    """A place of the track of the territory, as it can be drawn.

    Args:
        held: whether it belongs to the Empire.
        last: whether the territory ends here; without any, this is the first place.
        label: the territory, a landmark, or empty.
        change: `won` or `lost` in the last battle, or empty.
    """

    held: bool
    last: bool
    label: str
    change: str


@dataclass(frozen=True, slots=True)
class View:
    """A position as one viewer knows it: as `State` where the names agree.

    One thing that can be remembered is in no state and so in no view: the open discards that a shuffle within the year
    took back. A player who counted them knows that a hand drew none of those unseen before that shuffle; a sampled
    state may deal them there until the year ends and the hand is laid open.

    Args:
        viewer: a seat, `public` or `all`.
        age: the letter of the age, E, M or L.
        emperor, foe: the seats in these roles this year.
        awaited: the seats to move; question: the viewer's, as text.
        sealed: which seats have laid a choice under seal in this step; chosen: those the viewer may know.
        hands: None where hidden from the viewer.
        shown: the first four cards that each seat drew this year, as they came, expired ones included.
        received: the card each seat was passed at the start of this year, `?` where hidden, None for none.
        redrawn: how many cards each seat has redrawn this year.
        played: the cards that each seat has laid open this year, wherever they are now.
        known: the cards that the viewer has seen come to each hand this year and not seen leave it; as many of them
            as the seat has redrawn may lie face down, or in the draw pile if that was shuffled since.
        decks: Foes, Byzantines.
        melds: of each seat, as they lie on the table; added: the card that came to the Foe's by `defend`.
        battle: the last one.
    """

    viewer: Viewer
    step: str
    number: int
    year: int
    years: int
    age: str
    emperor: int
    foe: int
    territory: int
    legacy: tuple[int, int]
    awaited: tuple[int, ...]
    question: str | None
    sealed: tuple[bool, bool]
    chosen: tuple[Names | None, Names | None]
    hands: tuple[Names | None, Names | None]
    hand_sizes: tuple[int, int]
    shown: tuple[Names, Names]
    received: tuple[str | None, str | None]
    redrawn: tuple[int, int]
    played: tuple[Names, Names]
    known: tuple[Names, Names]
    decks: tuple[Deck, Deck]
    melds: tuple[Meld, Meld]
    added: Names
    battle: Battle | None

    @property
    def hand(self) -> Names | None:
        """The viewer's own hand; None for one who holds none."""
        return self.hands[self.viewer] if isinstance(self.viewer, int) else None

    @property
    def track(self) -> tuple[Square, ...]:
        """The places of the track, from the first."""
        return tuple([self._square(place) for place in range(1, HIGHEST + 1)])

    def _square(self, place: int) -> Square:
        before, after = (self.battle.before, self.battle.after) if self.battle else (0, 0)
        last, landmark = place == max(self.territory, 1), place % 5 == 0 and abs(place - self.territory) > 1
        return Square(
            held=place <= self.territory,
            last=last,
            label=str(max(self.territory, 0)) if last else str(place) if landmark else "",
            change="won" if before < place <= after else "lost" if after < place <= before else "",
        )

    def deck(self, seat: int) -> Deck:
        """Return the deck that a seat draws from this year."""
        return self.decks[deck_of(seat, self.year)]

    def as_meld(self, seat: int, cards: Names) -> Meld:
        """Return these cards of a seat's deck as they would count in a meld.

        Args:
            seat: whose deck of this year.
            cards: their names, in any order.
        """
        return melded(tuple(sorted(numbers(deck_of(seat, self.year), cards))))


@lru_cache(maxsize=1 << 12)
def melded(meld: Cards) -> Meld:
    """Return a meld as it counts."""
    cards = [
        Melded(CARDS[card].card, CARDS[card].force, bonus(card, meld), CARDS[card].legacy) for card in meld
    ]
    return Meld(tuple(cards), force(meld))


def view_of(state: State, viewer: Viewer) -> View:
    """Return all but hidden hands, piles, and sealed, redrawn or passed cards.

    Args:
        state: any moment.
        viewer: a seat, PUBLIC or ALL.
    """
    asked = awaited(state)
    question = asked.get(viewer) if isinstance(viewer, int) else None
    sits = viewer != PUBLIC

    def open_to(seat: int, cards: Cards | None) -> Names | None:
        return names(cards) if viewer in (seat, ALL) and cards is not None else None

    return View(
        viewer=viewer,
        step=state.step,
        number=state.number,
        year=state.year,
        years=YEARS,
        age=age_of(state.year),
        emperor=emperor_of(state.year),
        foe=1 - emperor_of(state.year),
        territory=state.territory,
        legacy=state.legacy,
        awaited=tuple(asked),
        question=str(question) if question else None,
        sealed=(state.chosen[0] is not None, state.chosen[1] is not None),
        chosen=(open_to(0, state.chosen[0]), open_to(1, state.chosen[1])),
        hands=(open_to(0, state.hands[0]), open_to(1, state.hands[1])),
        hand_sizes=(len(state.hands[0]), len(state.hands[1])),
        shown=(names(state.shown[0]), names(state.shown[1])),
        received=(_passed(state.received[0], sits), _passed(state.received[1], sits)),
        redrawn=state.redrawn,
        played=(names(state.played[0]), names(state.played[1])),
        known=(names(known_of(state, 0, sits)), names(known_of(state, 1, sits))),
        decks=(_deck(state, viewer, FOES), _deck(state, viewer, BYZANTINES)),
        melds=(melded(state.melds[0]), melded(state.melds[1])),
        added=names(state.added),
        battle=_battle(state),
    )


def _passed(card: int, sits: bool) -> str | None:
    if card < 0:
        return None
    return CARDS[card].card if sits else HIDDEN


def _deck(state: State, viewer: Viewer, deck: int) -> Deck:
    pile = state.piles[deck]
    return Deck(
        name=DECKS[deck],
        seat=seat_of(deck, state.year),
        size=len(pile),
        pile=names(pile) if viewer == ALL else None,
        discards=names(state.discards[deck]),
        buried=tuple(
            Buried(
                year=year,
                seat=seat,
                size=len(cards),
                cards=names(cards) if viewer in (seat, ALL) else None,
                known=names(known) if viewer != PUBLIC else (),
            )
            for year, seat, cards, known in state.buried
            if deck_of(seat, year) == deck
        ),
        out=names(state.out[deck]),
        aside=names(state.aside[deck]),
        shuffles=state.shuffles[deck],
    )


def _battle(state: State) -> Battle | None:
    if not state.battle:
        return None
    own, theirs, (year, before, after, change) = state.battle
    melds = [melded(own), melded(theirs)]
    emperor = emperor_of(year)
    return Battle(year, emperor, (melds[emperor], melds[1 - emperor]), before, after, change)


# ---- headings and charts ----


def heading(view: View) -> Heading:
    """Return the year."""
    return (f"year {view.year}",)


def charts(views: Sequence[View]) -> tuple[Chart, ...]:
    """Chart territory and legacy after the battle of each year.

    Args:
        views: of the public, after each move that counts, from the first shuffle on.
    """
    fought = list(_battles(views))
    territory = ((where, place, [max(0, views[place].territory)]) for where, place in fought)
    legacy = ((where, place, views[place].legacy) for where, place in fought)
    return (
        chart("territory", "lines", ("territory",), territory),
        chart("legacy", "lines", seats(2), legacy),
    )


def _battles(views: Sequence[View]) -> Iterator[tuple[Heading, int]]:
    """Yield the year of each battle, with the place of the view that shows its result."""
    for place, (before, after) in enumerate(pairwise(views), start=1):
        if after.battle and after.battle != before.battle:
            yield (f"year {after.battle.year}",), place


def highlights(views: Sequence[View], winners: Sequence[int]) -> list[Highlight]:
    """Return the fall of the Empire or its greatest victory, its heaviest defeat, and the turning point.

    The numbers of a battle are the year, the force of the side that gained by it and of the other, and the territory
    before and after. Each has what followed from its battle.

    Args:
        views: as for `charts`.
        winners: of the game.
    """
    found: dict[str, Highlight] = {}
    fought: dict[int, tuple[Message, ...]] = {}
    steps = []
    for _, place in _battles(views):
        battle, legacy = views[place].battle, views[place].legacy
        assert battle is not None
        steps.append((battle.year, place, legacy))
        fought[place] = battle.followed
        after = max(0, battle.after)
        change = after - battle.before
        victor = battle.emperor if change > 0 else 1 - battle.emperor
        forces = battle.melds[victor].force, battle.melds[1 - victor].force
        name = "greatest victory" if change > 0 else "heaviest defeat"
        most = found[name].numbers[4] - found[name].numbers[3] if name in found else 0
        if abs(change) > abs(most):
            numbers = (battle.year, *forces, battle.before, after)
            found[name] = Highlight(name, place, victor, numbers, (), fought[place])
        if after == 0:  # the last battle
            numbers = (battle.year, *forces, battle.before, after)
            fall = Highlight("fall", place, victor, numbers, (), fought[place])
            found = {"fall": fall} | {
                name: it for name, it in found.items() if name == "heaviest defeat" and it.place != place
            }
    turns = turning_point(steps, winners)
    return list(found.values()) + [replace(it, followed=fought[it.place]) for it in turns]
