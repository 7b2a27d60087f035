"""Values that games and their callers exchange: moves, questions, shuffles, outcomes, orders, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

PUBLIC: Literal["public"] = "public"
"""A viewer without a seat, for whom everything hidden stays hidden."""
ALL: Literal["all"] = "all"
"""A viewer for whom nothing is hidden: a moderator who looks, or anyone once the game is over."""
Viewer: TypeAlias = int | Literal["public", "all"]
"""A seat, PUBLIC or ALL."""


class RulesError(ValueError):
    """A game refuses a move, a text or a setup.

    Args:
        message: an English sentence that says what is wrong and what to do, with named places (`"The bid must be
            above %(highest)s."`). As the first argument of this class or a subclass it is extracted for translation;
            the server translates it before filling the places.
        places: the value of each place.
    """

    def __init__(self, message: str, **places: object) -> None:
        super().__init__(message % places if places else message)
        self.message = message
        self.places = places


class UnreadableMove(RulesError):
    """The text is no move of this game: unknown verb, unknown card, wrong number of words."""


class AmbiguousMove(RulesError):
    """The text abbreviates more than one verb or card."""


class IllegalMove(RulesError):
    """The move is well formed, but the rules do not allow it now."""


class NotAwaited(IllegalMove):
    """This seat is not to move."""


class UnreadableOrder(RulesError):
    """The text is no standing order of this game (docs/orders.md)."""


class BadSetup(RulesError):
    """The game cannot be played with this number of seats or these options."""


class Move(NamedTuple):
    """One move in canonical form (docs/formats.md §1).

    Args:
        verb: lower-case ASCII, as in `rules/`.
        args: the words after it, lower-case, cards in canonical order.
    """

    verb: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.verb, *self.args))


@dataclass(frozen=True, slots=True)
class Question:
    """The decision that a seat faces, written `bid 17`.

    A turn lasts as long as its question stays the same, however many moves answer it.

    Args:
        kind: what the seat decides.
        number: rises with each new decision.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A shuffle that is due.

    Args:
        label: unique in the game (`deal`, `foes:2`).
        cards: in canonical order, before the shuffle.
    """

    label: str
    cards: tuple[str, ...]


REASONS = ("finished", "fallen", "abandoned")
"""Why games end: as usual; all players lost; a moderator ended it early, which no game says itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended.

    Args:
        scores: one number a seat.
        winners: all who share the win, ascending.
        reason: one of `REASONS`.
    """

    scores: tuple[int, ...]
    winners: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Order:
    """A standing order: how a seat wants a question answered (docs/orders.md).

    Args:
        text: canonical, in the game's own grammar: `ladder spice3 wine2 upto 9 then pass`.
        kind: the kind of question that it answers; a newer order replaces an older one of the same kind.
    """

    text: str
    kind: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """How a standing order answers a question.

    Args:
        move: one of the seat's legal moves; None if the order does not fit and stops.
        message: the reason, for the order's owner: an English sentence with named places. As the second argument of
            this class it is extracted for translation.
        places: the value of each place.
        remaining: the order that stands from now on; None if it is used up.
    """

    move: Move | None
    message: str
    places: Mapping[str, object] = field(default_factory=dict)
    remaining: Order | None = None

    def __str__(self) -> str:
        return self.message % self.places if self.places else self.message


@dataclass(frozen=True, slots=True)
class OrderCase:
    """What a standing order would answer if its question came now.

    Args:
        when: the case, in the game's words (`price 3`), to be put in words by its template.
        answer: of the order.
    """

    when: str
    answer: OrderAnswer


class Message(NamedTuple):
    """What followed from a move, as a sentence for the log.

    Args:
        text: an English sentence with named places: `"%(name)s wins %(prizes)s."`. As the first argument of this class
            it is extracted for translation.
        places: the value of each place: a number, a text, or several in a tuple, which becomes a list in words. Cards
            with blanks between them are named as the game names several. What no place names is for templates that
            draw it: anything that JSON can hold.
        seats: the seat for each place that names a player, or several in a tuple. The reader becomes “you”, in a form
            that fits a list: put such a place where a list could stand. Pairs of a seat and a text become “Ann +2”.
        you: the sentence for the player in the place `name`: `"You win %(prizes)s."`. As the fourth argument it is
            extracted for translation, too; if it is empty, this player reads `text` as well.
    """

    text: str
    places: Mapping[str, Any] = {}
    seats: Mapping[str, Any] = {}
    you: str = ""

    def __hash__(self) -> int:
        return hash(self.text)


def check_setup(game: str, possible: range, seats: int, options: Mapping[str, object]) -> None:
    """Refuse a table that a game without options does not have.

    Args:
        game: its name for people.
        possible: the numbers of players.
        seats: the number that is asked for.

    Raises:
        BadSetup: the number is not possible, or an option is given.
    """
    if seats not in possible:
        few, many = possible[0], possible[-1]
        numbers = str(few) if few == many else f"{few}–{many}"
        raise BadSetup(
            "%(game)s is for %(possible)s players, not %(seats)s.", game=game, possible=numbers, seats=seats
        )
    if options:
        option = min(map(str, options))[:40]
        raise BadSetup("%(game)s has no option “%(option)s”.", game=game, option=option)


def dealt(due: Shuffle | None, move: Move) -> tuple[str, ...]:
    """Return the cards of a shuffle, the top one first.

    Args:
        due: the shuffle that is due, if any.
        move: that makes it.

    Raises:
        IllegalMove: the move is not this shuffle.
    """
    if due is None or (move.verb, move.args[:1]) != ("shuffle", (due.label,)):
        raise IllegalMove("This is not the shuffle that is due.")
    if sorted(move.args[1:]) != sorted(due.cards):
        raise IllegalMove("These are not the cards that are shuffled, each once.")
    return move.args[1:]


def placed(ranks: Sequence[Any]) -> tuple[int, ...]:
    """Return the place of each rank: 1 plus the number of greater ones.

    Args:
        ranks: what the seats are compared by, one a seat; the greatest comes first.
    """
    return tuple([1 + sum(other > rank for other in ranks) for rank in ranks])


def ranked(places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the place of each seat and the seat, the best first.

    Args:
        places: one a seat, from 1.
    """
    return sorted((place, seat) for seat, place in enumerate(places))
