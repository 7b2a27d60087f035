"""Templates of games that bring none: what the default templates draw of a view, a hand and a sheet."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from math import comb
from types import SimpleNamespace
from typing import Any

import flask
from flask import Flask
from flask_babel import gettext, pgettext
from jinja2 import Environment, FileSystemLoader, TemplateNotFound
from jinja2.nodes import EvalContext
from jinja2.utils import pass_eval_context
from markupsafe import Markup, escape

from byzanz.games import AnyRules, folder_of, latest, rules_of, title_of
from byzanz.games.facts import Fact, facts
from byzanz.moves import Message, RulesError
from byzanz.parsing import example
from byzanz.rules import Rules, Seen
from server import config, i18n
from server.web.templating import listed

FEW = 60
"""So many moves of a verb are a button each; more are a list to choose from, or cards to tick."""
_WORD = re.compile(r"[a-z0-9-]{1,40}")
"""What the form posts as a card."""


@dataclass(frozen=True, slots=True)
class Held:
    """A card of the hand.

    Args:
        card: its name.
        value: of its box: the name, and its place in the hand.
        move: that tapping it makes; empty if cards are ticked, or if it cannot be played now.
        is_open: whether it can be played now.
    """

    card: str
    value: str
    move: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Pick:
    """A verb that takes ticked cards.

    Args:
        verb: of the move.
        least, most: how many cards.
    """

    verb: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Hand:
    """What a seat can do, sorted for the form.

    Args:
        cards: of the hand, each of them once.
        picks: verbs for which cards are ticked.
        taps: the verb whose moves the cards themselves make; empty if there is none.
        rest: the other moves by verb.
    """

    cards: tuple[Held, ...]
    picks: tuple[Pick, ...]
    taps: str
    rest: Mapping[str, Sequence[str]]


def hand(cards: Sequence[str], texts: Iterable[str]) -> Hand:
    """Return what can be done with a hand and besides.

    Args:
        cards: of the hand.
        texts: the legal moves in canonical form.
    """
    moves: dict[str, list[str]] = {}
    for text in texts:
        moves.setdefault(text.split(" ")[0], []).append(text)
    args = {verb: [tuple(text.split(" ")[1:]) for text in own] for verb, own in moves.items()}
    of_hand = {verb: each for verb, each in args.items() if _are_of_hand(each, cards)}
    single = [verb for verb, each in of_hand.items() if all(len(words) == 1 for words in each)]
    several = [verb for verb, each in of_hand.items() if verb not in single and _is_any_choice(each)]
    order = next((it for it in _orders(cards, of_hand.values()) if _fits(it, of_hand, several)), None)
    if order is None:
        several, order = [], cards
    taps = single[0] if len(single) == 1 and not several else ""
    ticked = [verb for verb in moves if verb in (*single, *several)] if not taps else []
    places = {card: [at for at, other in enumerate(cards) if other == card] for card in cards}
    open_cards = {card for verb in (taps, *ticked) for words in of_hand.get(verb, ()) for card in words}
    return Hand(
        tuple(
            [
                Held(
                    card,
                    f"{card}#{places[card].pop(0)}",
                    f"{taps} {card}" if taps and card in open_cards else "",
                    card in open_cards,
                )
                for card in order
            ]
        ),
        tuple([Pick(verb, min(map(len, args[verb])), max(map(len, args[verb]))) for verb in ticked]),
        taps,
        {verb: own for verb, own in moves.items() if verb != taps and verb not in ticked},
    )


def _are_of_hand(moves: Iterable[Sequence[str]], cards: Sequence[str]) -> bool:
    """Return whether all these moves name cards of the hand, and nothing else."""
    held = Counter(cards)
    return all(words and not Counter(words) - held and all(map(_WORD.fullmatch, words)) for words in moves)


def _is_any_choice(moves: Sequence[Sequence[str]]) -> bool:
    """Return whether any cards may be chosen, or so many that a button for each choice would not help."""
    used = {card for words in moves for card in words}
    every = sum(comb(len(used), number) for number in set(map(len, moves)))
    return len(moves) > FEW or len(moves) == every


def _orders(cards: Sequence[str], moves: Iterable[Sequence[Sequence[str]]]) -> list[Sequence[str]]:
    """Return the orders in which the hand could be drawn: as it is, and as the moves name its cards."""
    named = list(dict.fromkeys(card for each in moves for words in each for card in words))
    rank = {card: at for at, card in enumerate(named)}
    return [cards, sorted(cards, key=lambda card: rank.get(card, len(rank)))]


def _fits(order: Sequence[str], moves: Mapping[str, Sequence[Sequence[str]]], verbs: Iterable[str]) -> bool:
    """Return whether the moves of these verbs name their cards in this order, as a form with boxes does."""
    return all(_is_in(order, words) for verb in verbs for words in moves[verb])


def _is_in(order: Sequence[str], words: Iterable[str]) -> bool:
    left = iter(order)
    return all(word in left for word in words)


# ---- the sheet ----

_SHORT = 8
"""Lists of more words are told only once."""
_LINES = 3
"""Facts of one name, such as tricks, of which the table shows so many."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a view shows.

    Args:
        short: facts of the table in a word or a number.
        piles: those that are cards.
        laid: by name, the card that each seat has laid in the middle, or an empty text.
        lines: by name, facts of which there are several, the newest last.
        seats: the other facts of each seat.
    """

    short: tuple[Fact, ...]
    piles: tuple[Fact, ...]
    laid: Mapping[str, Sequence[str]]
    lines: Mapping[str, Sequence[str]]
    seats: tuple[tuple[Fact, ...], ...]


def sheet(slug: str, view: Seen, seats: int) -> Sheet:
    """Return what a view of a game shows.

    Args:
        seats: the number of players.
    """
    table, by_seat = facts(view, seats, rules_of(slug).by_seat)
    lines: dict[str, list[str]] = {}
    for fact in table:
        if fact.cards is None:
            lines.setdefault(fact.name, []).append(fact.text)
    laid: dict[str, list[str]] = {}
    for seat, own in enumerate(by_seat):
        for fact in own:
            if fact.is_laid and fact.cards:
                laid.setdefault(fact.name, [""] * seats)[seat] = fact.cards[0]
    return Sheet(
        tuple([fact for fact in table if fact.cards is None and len(lines[fact.name]) == 1]),
        tuple([fact for fact in table if fact.cards]),
        laid,
        {name: texts[-_LINES:] for name, texts in lines.items() if len(texts) > 1},
        tuple([tuple([fact for fact in own if not fact.is_laid and fact.cards != ()]) for own in by_seat]),
    )


@cache
def cards_of(rules: AnyRules) -> frozenset[str]:
    """Return the names of a game's cards as far as its first shuffle and its grammar tell them."""
    shuffle = rules.chance(rules.setup(rules.seats[0], {}))
    found = {*(shuffle.cards if shuffle else ()), *getattr(rules, "cards", ())}
    for places in rules.grammar.values():
        for place in places:
            found |= set(place) if found & set(place) else set()
    return frozenset(found)


def in_words(slug: str, value: Any) -> str:
    """Return a value of a message of a game as people read it: cards by their names, words in their language.

    Args:
        value: a number or a text; several of them become a list.
    """
    if not isinstance(value, str):
        return listed([in_words(slug, each) for each in value]) if isinstance(value, Sequence) else str(value)
    words = value.split(" ")
    rules = next((rules for rules in latest() if rules.slug == slug), None)
    if rules is None or not cards_of(rules).issuperset(words):
        return str(i18n.own_text(slug, value))
    template: Any = flask.current_app.jinja_env.get_template(f"games/{slug}/cards.html").module
    return str(template.card_names(words).unescape())


@dataclass(frozen=True, slots=True)
class Written:
    """How a move is written.

    Args:
        verb: of the move.
        example: a move with it.
        parts: the words after it: how many of which; the name of an earlier verb stands for the same words.
    """

    verb: str
    example: str
    parts: tuple[tuple[int, Sequence[str] | str], ...]


def in_writing(rules: AnyRules) -> list[Written]:
    """Return how the moves of a game are written, from its grammar."""
    found, known = [], dict[Sequence[str], str]()
    for verb, places in rules.grammar.items():
        parts = [(len(list(same)), words) for words, same in groupby(map(tuple, places))]
        told = tuple([(number, known.get(words, words)) for number, words in parts])
        found.append(Written(verb, example(verb, places), told))
        known |= {words: verb for _, words in parts if len(words) > _SHORT and words not in known}
    return found


# ---- the templates ----
# A package's templates stand under `games/<its slug>/` and nowhere else, so they replace none of the server's. They
# run with the rights of the server, like the package's code.

SLUG = re.compile(r"[\w-]+", re.ASCII)


class GameTemplates(FileSystemLoader):
    """Loads templates; in those of `templates/plain/`, `$slug` stands for the game that lacks its own."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return a template's source, its file, and whether it is up to date."""
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            folder, _, rest = template.partition("/")
            slug, _, name = rest.partition("/")
            if folder != "games" or not SLUG.fullmatch(slug):
                raise
            own = folder_of(slug)
            with suppress(TemplateNotFound):
                if own is not None:
                    return FileSystemLoader(own / "templates").get_source(environment, name)
            source, file, is_current = super().get_source(environment, f"plain/{name}")
            return source.replace("$slug", slug), file, is_current

    def list_templates(self) -> list[str]:
        """Return the names of the server's templates and of those that packages bring, in order."""
        found = set(super().list_templates())
        for rules in latest():
            own = folder_of(rules.slug)
            if own is not None:
                names = FileSystemLoader(own / "templates").list_templates()
                found |= {f"games/{rules.slug}/{name}" for name in names}
        return sorted(found)


def init_app(app: Flask) -> None:
    """Let an app load its templates this way, and tell the plain ones about their game."""
    app.jinja_loader = GameTemplates(str(config.TEMPLATES))
    app.jinja_env.globals["plain"] = SimpleNamespace(
        sheet=sheet,
        hand=hand,
        in_writing=in_writing,
        names=cards_of,
        is_sealed=is_sealed,
        takes_orders=takes_orders,
        no_order=no_order,
        rules=rules_of,
        title=title_of,
        paragraphs=paragraphs,
        about=about,
        long_rules=long_rules,
        sentence=sentence,
        translated=translated,
    )


def paragraphs(slug: str) -> list[str]:
    """Return what the module of a game says about it, one text a paragraph; none if it is not installed."""
    module = next((type(rules).__module__ for rules in latest() if rules.slug == slug), __name__)
    text = inspect.cleandoc(sys.modules[module].__doc__ or "") if module != __name__ else ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph]


def long_rules(slug: str) -> Markup:
    """Return the rules that a game brings as Markdown in `RULES`, of its class or module; empty if it has none.

    They become HTML. HTML in the text is escaped, and its highest headings are h3.
    """
    kind = type(rules_of(slug))
    return _from_markdown(getattr(kind, "RULES", "") or getattr(sys.modules[kind.__module__], "RULES", ""))


@cache
def _from_markdown(text: str) -> Markup:
    from markdown_it import MarkdownIt  # here: only games without templates need it

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(inspect.cleandoc(text))
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    highest = min((int(token.tag[1]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) - highest + 3)}"
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704 - escaped by markdown-it


def translated(slug: str, text: str) -> str:
    """Return a name of a game's own, such as that of a field, in the reader's language if its catalogue has it."""
    return i18n.DOMAIN.get_translations(slug).ugettext(text)


def is_sealed(slug: str, view: Any) -> bool:
    """Return whether what the viewer is asked is a sealed choice, as some questions of a game may be and others not."""
    rules, kind = rules_of(slug), (view.question or "").split(" ")[0]
    if not kind or kind in rules.sealed or kind in rules.grammar:
        return kind in rules.sealed
    # The moves are the same in each state that gives this view.
    moves = rules.moves(rules.sample_state(view, lambda _number: 0), view.viewer)
    return any(move.verb in rules.sealed for move in moves)


def takes_orders(slug: str) -> bool:
    """Return whether a game takes standing orders."""
    return type(rules_of(slug)).parse_order is not Rules.parse_order


def no_order(slug: str) -> RulesError | None:
    """Return with which words a game refuses an empty standing order; None if it takes it."""
    try:
        rules_of(slug).parse_order("")
    except RulesError as refusal:
        return refusal
    return None


def about(slug: str) -> str:
    """Return the first paragraph of what the module of a game says about it."""
    return next(iter(paragraphs(slug)), "")


@pass_eval_context
def sentence(context: EvalContext, message: Message, names: Sequence[str], me: int | None = None) -> str:
    """Return what followed from a move in the reader's language.

    Args:
        context: of the template, which is one of a game.
        message: the sentence.
        names: of the players, by seat.
        me: the reader's seat, or None.
    """
    own = message.you and me is not None and message.seats.get("name") == me

    def named(seat: Any) -> str:
        if isinstance(seat, Sequence):
            return Markup("%s %s") % (named(seat[0]), seat[1])
        return str(pgettext("a player in a list", "you")) if seat == me else names[seat]

    def placed(seats: Any) -> str:
        if not isinstance(seats, Sequence):
            return named(seats)
        if seats and isinstance(seats[0], Sequence):
            return escape(pgettext("within a list", ", ")).join(map(named, seats))
        return listed(list(map(named, seats)))

    text, slug = gettext(message.you if own else message.text), getattr(context, "slug", "")
    found = {place: in_words(slug, it) for place, it in message.places.items() if f"%({place})" in text}
    return escape(text) % (found | {place: placed(seats) for place, seats in message.seats.items()})
