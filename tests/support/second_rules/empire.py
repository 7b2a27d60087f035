"""A second, slow and plain implementation of docs/rules/empire.md without code of the game; both must agree."""

from __future__ import annotations

import csv
from collections.abc import Generator
from itertools import combinations
from pathlib import Path
from typing import Any

import byzanz.games

SHEET = Path(byzanz.games.__file__).with_name("empire") / "empire-cards.csv"
ROWS = list(csv.DictReader(SHEET.read_text(encoding="utf-8").splitlines()))
DECKS = ("foes", "byzantines")
ROW = {(row["deck"], row["card"]): row for row in ROWS}
Course = Generator[Any, Any, Any]


def in_order(deck: str, cards: list[str] | tuple[str, ...]) -> list[str]:
    names = [row["card"] for row in ROWS if row["deck"] == deck]
    return sorted(cards, key=names.index)


def line(verb: str, deck: str, cards: list[str] | tuple[str, ...]) -> str:
    return " ".join([verb, *in_order(deck, cards)])


def kinds(deck: str, meld: list[str]) -> list[str]:
    return [ROW[deck, card]["kind"] for card in meld]


def fits(deck: str, meld: list[str]) -> bool:
    """The limits of a meld, as in the printed rules."""
    of = kinds(deck, meld)
    if deck == "byzantines":
        return (
            of.count("leader") <= 1
            and of.count("recovery") <= 2
            and of.count("troop") <= 4
            and of.count("negotiation") <= 1
            and of.count("legacy") <= 2
        )
    return (
        of.count("northern") <= 1
        and of.count("southern") <= 1
        and of.count("disaster") + of.count("natural-disaster") <= 2
        and of.count("natural-disaster") <= 1
        and of.count("troop") <= 4
    )


def force(deck: str, meld: list[str]) -> int:
    """Printed force, plus the bonus of each card for each troop of the meld that matches it."""
    total = 0
    for card in meld:
        total += int(ROW[deck, card]["force"])
        for other in meld:
            wanted = ROW[deck, card]["bonus_troop"]
            if wanted and (other == wanted or (wanted == "any-cavalry" and other.endswith("-cavalry"))):
                total += int(ROW[deck, card]["bonus"])
    return total


def legacy(meld: list[str]) -> int:
    return sum(int(ROW["byzantines", card]["legacy"] or 0) for card in meld)


class Plain:
    """One game, played in place: `wants` is a shuffle (deck, cards) or the legal answers of each seat to move."""

    def __init__(self) -> None:
        self.piles: dict[str, list[str]] = {deck: [] for deck in DECKS}
        self.discards: dict[str, list[str]] = {deck: [] for deck in DECKS}
        self.out: dict[str, list[str]] = {deck: [] for deck in DECKS}
        self.hands: list[list[str]] = [[], []]
        self.melds: list[list[str]] = [[], []]
        self.shown: list[list[str]] = [[], []]
        self.territory, self.legacy, self.year, self.over = 10, [10, 10], 0, ""
        self.labels = dict.fromkeys(DECKS, 0)
        self.course = self.play()
        self.wants: Any = next(self.course)

    @classmethod
    def at(cls, year: int, foe: list[str], emperor: list[str]) -> Plain:
        """Start the melds of a year with these hands."""
        plain = cls()
        plain.begin_year(year)
        plain.hands[plain.emperor], plain.hands[1 - plain.emperor] = emperor, foe
        plain.course = plain.meld()
        plain.wants = next(plain.course)
        return plain

    def go(self, answer: Any) -> None:
        """Answer what is wanted: an order of cards, or (seat, line)."""
        try:
            self.wants = self.course.send(answer)
        except StopIteration:
            self.wants = None

    # The course of the game

    def play(self) -> Course:
        for year in range(1, 13):
            self.begin_year(year)
            yield from self.begin_age()
            yield from self.draw_and_age()
            yield from self.redraw()
            yield from self.meld()
            if self.battle():
                return
            yield from self.pass_on()
        raise AssertionError("a thirteenth year")

    def begin_year(self, year: int) -> None:
        self.year, self.age = year, "EML"[(year - 1) // 4]
        self.emperor = 0 if year % 2 else 1
        self.deck = ["byzantines" if seat == self.emperor else "foes" for seat in (0, 1)]
        self.order = [1 - self.emperor, self.emperor]

    def begin_age(self) -> Course:
        if self.year in (1, 5, 9):
            for deck in DECKS:
                for row in ROWS:
                    if row["deck"] == deck and row["ages"][0] == self.age:
                        self.piles[deck] += [row["card"]] * int(row["copies"])
                yield from self.shuffle(deck)

    def shuffle(self, deck: str) -> Course:
        self.labels[deck] += 1
        self.piles[deck] = list((yield (deck, in_order(deck, self.piles[deck]))))

    def card(self, deck: str) -> Course:
        """Draw one card, if there is one."""
        if not self.piles[deck] and self.discards[deck]:
            self.piles[deck], self.discards[deck] = self.discards[deck], []
            yield from self.shuffle(deck)
        return self.piles[deck].pop(0) if self.piles[deck] else None

    def draw_and_age(self) -> Course:
        self.shown = [[], []]
        for seat in self.order:
            full = 8 if seat != self.emperor else {"E": 9, "M": 8, "L": 7}[self.age]
            while len(self.hands[seat]) < full:
                card = yield from self.card(self.deck[seat])
                if card is None:
                    break
                self.hands[seat].append(card)
                if len(self.shown[seat]) < 4:
                    self.shown[seat].append(card)
        for seat in self.order:
            while old := [card for card in self.hands[seat] if self.expired(seat, card)]:
                for card in old:
                    self.hands[seat].remove(card)
                    self.out[self.deck[seat]].append(card)
                for _ in old:
                    fresh = yield from self.card(self.deck[seat])
                    self.hands[seat] += [fresh] if fresh else []

    def expired(self, seat: int, card: str) -> bool:
        return self.age not in ROW[self.deck[seat], card]["ages"]

    def both(self, verb: str) -> Course:
        """Collect sealed choices; the last of each seat counts until both are in. A seat with one choice makes it."""
        chosen: dict[int, str] = {}
        able = [seat for seat in (0, 1) if verb != "keep" or self.hands[seat]]
        while set(chosen) != set(able):
            choices = {seat: self.choices(verb, seat) for seat in able}
            seat, text = yield {"asked": [s for s in able if s not in chosen], "choices": choices}
            chosen[seat] = text
        return {seat: text.split()[1:] for seat, text in chosen.items()}

    def choices(self, verb: str, seat: int) -> set[str]:
        hand, deck = self.hands[seat], self.deck[seat]
        sizes = {"redraw": range(5), "meld": range(10), "keep": range(1, 2)}[verb]
        found = [cards for size in sizes for cards in combinations(hand, size)]
        return {line(verb, deck, each) for each in found if verb != "meld" or fits(deck, list(each))}

    def redraw(self) -> Course:
        thrown = yield from self.both("redraw")
        for seat, cards in thrown.items():
            for card in cards:
                self.hands[seat].remove(card)
                self.discards[self.deck[seat]].append(card)
        for seat in self.order:
            for _ in thrown[seat]:
                card = yield from self.card(self.deck[seat])
                while card is not None and self.expired(seat, card):
                    self.out[self.deck[seat]].append(card)
                    card = yield from self.card(self.deck[seat])
                self.hands[seat] += [card] if card else []

    # Melds and responses

    def meld(self) -> Course:
        laid = yield from self.both("meld")
        for seat, cards in laid.items():
            for card in cards:
                self.hands[seat].remove(card)
        self.melds = [laid[0], laid[1]]
        foe, emperor = self.order
        extra = ""
        if "leader" in kinds("byzantines", self.melds[emperor]):
            able = [card for card in self.hands[foe] if ROW["foes", card]["trait"] == "defence"]
            extra = yield from self.may(foe, "defend", able)
            self.lay(foe, extra)
        if "negotiation" in kinds("byzantines", self.melds[emperor]):
            gone = yield from self.may(emperor, "negotiate", self.peoples(self.melds[foe]))
            if gone:
                self.throw(foe, gone)
                counted = [card for card in self.melds[foe] if card != extra]
                able = [card for card in self.peoples(self.hands[foe]) if fits("foes", [*counted, card])]
                self.lay(foe, (yield from self.may(foe, "replace", able)))
        bought = [card for card in self.melds[foe] if ROW["foes", card]["trait"] == "bought-off"]
        if bought:
            pairs = [f"{card} with {paid}" for card in bought for paid in self.melds[emperor]]
            deal = yield from self.may(emperor, "buy-off", pairs)
            if deal:
                card, paid = deal.split(" with ")
                self.throw(foe, card)
                self.throw(emperor, paid)

    def peoples(self, cards: list[str]) -> list[str]:
        return [card for card in cards if ROW["foes", card]["kind"] in ("northern", "southern")]

    def may(self, seat: int, verb: str, able: list[str]) -> Course:
        choices = {"decline"} | {f"{verb} {card}" for card in able}
        _, text = yield {"asked": [seat], "choices": {seat: choices}}
        return "" if text == "decline" else text.split(" ", 1)[1]

    def lay(self, seat: int, card: str) -> None:
        if card:
            self.hands[seat].remove(card)
            self.melds[seat].append(card)

    def throw(self, seat: int, card: str) -> None:
        """Discard a melded card; a unique one leaves the game."""
        self.melds[seat].remove(card)
        row = ROW[self.deck[seat], card]
        (self.out if row["unique"] else self.discards)[self.deck[seat]].append(card)

    # The end of a year

    def battle(self) -> bool:
        own, theirs = self.melds[self.emperor], self.melds[1 - self.emperor]
        before, gained = self.territory, legacy(own)
        self.territory = min(20, before + force("byzantines", own) - force("foes", theirs))
        for seat in (0, 1):
            for card in list(self.melds[seat]):
                self.throw(seat, card)
        if self.territory <= 0:
            self.legacy[self.emperor] -= 3
            self.over = "fallen"
            return True
        if self.territory > before:
            gained += 1
        if self.territory < before:
            gained -= 1
        self.legacy[self.emperor] += gained
        self.over = "finished" if self.year == 12 else ""
        return bool(self.over)

    def pass_on(self) -> Course:
        kept = yield from self.both("keep")
        for seat in (0, 1):
            rest = list(self.hands[seat])
            for card in kept.get(seat, []):
                rest.remove(card)
            self.discards[self.deck[seat]] += rest
        self.hands = [kept.get(1, []), kept.get(0, [])]
