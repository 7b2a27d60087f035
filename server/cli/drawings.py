"""Checks of a game's templates: each is drawn for each viewer in each language at several positions of a game.

They are run inside a request of an application, see `byzanz check`; the checks of the rules are in
`byzanz.conformance`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import PurePath
from typing import Any

import flask
import flask_babel
from jinja2 import Environment

from byzanz.conformance import Check, Game
from byzanz.conformance.game import expect, who
from byzanz.conformance.orders import orders_of
from byzanz.moves import ranked
from byzanz.record import Entry
from byzanz.rules import ALL, PUBLIC, Rules, Viewer
from server import i18n
from server.cli.drawn import NONE, Drawn, drawn, module, optional, template

_NAMES = ("Ann <zz>", "Bob & “B”", "Çelik", "D'Artagnan", "Eve", "Φωτεινή", "Gus", "Hal", "Ida", "Jon")
"""Names of players, which must be escaped."""
_POSITIONS = 4
_LATEST = 12
"""Moves of the log that are told."""
_MOST_MOVES = 10
_MOST_ORDERS = 40
_COMMAND = re.compile(r"macro first\(.*?endmacro", re.DOTALL)
"""The macro of orders.html that is an order as it is typed."""
_TAG = re.compile(r"<code.*?</code>|<style.*?</style>|<[^>]*\bcode\b[^>]*>[^<]*|<[^>]*>", re.DOTALL)
_LABEL = re.compile(r'\s(?:aria-label|title|alt|placeholder)="([^"]*)"')
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Scene:
    """What templates are given at a position.

    Args:
        viewer: who looks.
        view: what they see.
        names: of the players.
        answers, others: the viewer's legal moves, and those out of turn, as texts.
        told: the latest moves as the viewer may read them, each with what it did.
    """

    viewer: Viewer
    view: Any
    names: tuple[str, ...]
    answers: tuple[str, ...]
    others: tuple[str, ...]
    told: tuple[tuple[Entry, Any], ...]


def _scenes(game: Game) -> Iterator[Scene]:
    """Go through some positions, in each language and for each viewer."""
    whole = [at for at, (seat, _) in enumerate(game.made) if seat is not None] + [len(game.made)]
    for game.at in whole[:: 1 + len(whole) // _POSITIONS] + whole[-1:]:
        for language in i18n.NAMES:
            with flask_babel.force_locale(language):
                for viewer in (*game.readers, ALL):
                    yield _scene(game, game.at, viewer)


def _scene(game: Game, at: int, viewer: Viewer) -> Scene:
    rules, state = game.rules, game.states[at]
    view, seat = rules.view(state, viewer), viewer if isinstance(viewer, int) else -1
    latest = range(max(0, at - _LATEST), at)
    entries = [_entry(game, each, at, viewer) for each in latest]
    public = [_entry(game, each, at, PUBLIC).move for each in latest]
    return Scene(
        viewer,
        view,
        _NAMES[: game.seats] + tuple(f"P{seat}" for seat in range(len(_NAMES), game.seats)),
        tuple(map(str, rules.moves(state, seat))),
        tuple(map(str, rules.out_of_turn_moves(state, seat))),
        tuple(zip(entries, rules.news(view, public), strict=True)),
    )


def _entry(game: Game, at: int, now: int, viewer: Viewer) -> Entry:
    """Return an entry of the log as a viewer may read it at a later position."""
    rules, (seat, move) = game.rules, game.made[at]
    asked = set(rules.awaited(game.states[at]).values()) & set(rules.awaited(game.states[now]).values())
    text = rules.redact_move(move, seat, viewer, not asked)
    by = "chance" if seat is None else "player"
    return Entry(at + 1, "2026-11-23T18:00:00.000Z", seat, by, text, None, None, "0" * 64)


def _by_verb(moves: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for move in moves:
        found.setdefault(move.split(" ")[0], []).append(move)
    return found


def check_tables(game: Game) -> None:
    """The table is drawn for each viewer in each language."""
    table = template(game.rules, "table.html")
    for scene in _scenes(game):
        given = {"view": scene.view, "names": scene.names, "marked": [entry for entry, _ in scene.told]}
        for hands_shown in (False, True):
            drawn(
                f"table.html for {who(scene.viewer)}",
                table.render,
                given,
                answers=_by_verb(scene.answers),
                hands_shown=hands_shown,
            )


def check_forms(game: Game) -> None:
    """The form offers the seat to move its legal moves, and nothing that cannot be read."""
    rules = game.rules
    form, guide = template(rules, "form.html"), optional(rules, "guide.html")
    for scene in _scenes(game):
        if not isinstance(scene.viewer, int) or rules.outcome(game.states[game.at]) is not None:
            continue
        given = {"view": scene.view, "names": scene.names}
        moves = {"answers": _by_verb(scene.answers), "out_of_turn": _by_verb(scene.others)}
        for error in (None, "This is not possible."):
            made = drawn(
                f"form.html for {who(scene.viewer)}", form.render, given, **moves, ticked=(), error=error
            )
            _check_offer(game, made, scene)
        if guide is not None and scene.view.question:
            drawn("guide.html", guide.render, given)


def _check_offer(game: Game, made: Drawn, scene: Scene) -> None:
    legal = {*scene.answers, *scene.others}
    for move in made.moves:
        known = move in legal or move.split(" ")[0] in game.rules.unlisted
        expect(known, "form.html offers “%s”, which is not a legal move of seat %s.", move, scene.viewer)
    strange = set(made.verbs) - {move.verb for move in game.all_moves}
    expect(not strange, "form.html offers the verbs %s, which no move has.", ", ".join(sorted(strange)))
    expect(made.moves or made.verbs or not scene.answers, "form.html offers seat %s no move.", scene.viewer)


def check_words(game: Game) -> None:
    """Moves, questions and positions are put in words."""
    rules = game.rules
    words = module(rules, "words.html")
    for scene in _scenes(game):
        view, names, me = scene.view, scene.names, scene.viewer if isinstance(scene.viewer, int) else None
        heading = rules.heading(rules.view(game.states[game.at], PUBLIC))
        every = (*scene.answers, *scene.others)
        said: list[tuple[str, tuple[Any, ...]]] = [("about", ()), ("waiting", (view, names))]
        said += [("option", (move,)) for move in every[:: 1 + len(every) // _MOST_MOVES]]
        said += [("part", (part,)) for part in heading]
        said += [("describe", (entry, names, me, fact)) for entry, fact in scene.told]
        said += [(name, (view, names)) for name in ("asked", "help") if view.question]
        for name, arguments in said:
            made = drawn(f"The macro {name} of words.html", getattr(words, name), *arguments)
            expect(any(made.words) or name == "help", "The macro %s of words.html says nothing.", name)


def check_told_news(game: Game) -> None:
    """What happened since a viewer's last move is told on the page and in the email."""
    news, cards = module(game.rules, "news.html"), module(game.rules, "cards.html")
    for scene in _scenes(game):
        me = scene.viewer if isinstance(scene.viewer, int) else None
        given = (scene.told, scene.view, scene.names, me)
        for name, more in (("strips", ()), ("rest", ()), ("lines", (cards.card_names,))):
            drawn(f"The macro {name} of news.html", getattr(news, name), *given, *more)


def check_mails(game: Game) -> None:
    """The email of a turn is written, in text and in HTML."""
    rules = game.rules
    text, part, cards = template(rules, "mail.txt"), module(rules, "mail.html"), module(rules, "cards.html")
    for scene in _scenes(game):
        if not scene.answers:
            continue
        view, names, moves, others = scene.view, scene.names, list(scene.answers), list(scene.others)
        if hasattr(part, "board"):
            drawn("The macro board of mail.html", part.board, view, names, scene.told)
        else:
            drawn("The macro table of mail.html", part.table, view, names, part.chips)
        for show in (part.chips, cards.card_names):
            drawn("The macro options of mail.html", part.options, view, moves, others, show)
        if hasattr(part, "hand"):
            drawn("The macro hand of mail.html", part.hand, view)
        if hasattr(part, "events"):
            drawn("The macro events of mail.html", part.events, view, names, scene.told)
        fallback = str(rules.fallback(view, [rules.parse(move) for move in moves]))
        for name, given in (
            ("choice", (view, fallback)),
            ("missed", (view, fallback)),
            ("reply", (view, fallback)),
        ):
            if hasattr(part, name):
                drawn(f"The macro {name} of mail.html", getattr(part, name), *given)
        written = text.render(view=view, names=names, told=scene.told, moves=moves, out_of_turn=others)
        expect(
            "&lt;" not in written and "&amp;" not in written, "mail.txt shows signs of HTML, such as &amp;."
        )
        expect(not NONE.search(written), "mail.txt shows “None”, or an object of Python.")


def check_results(game: Game) -> None:
    """The result is drawn, with the highlights and charts of the game."""
    rules, last = game.rules, game.states[-1]
    game.at = len(game.made)
    outcome, views = rules.outcome(last), [rules.view(state, PUBLIC) for state in game.states[1:]]
    assert outcome is not None
    result = {"scores": outcome.scores, "winners": outcome.winners, "reason": outcome.reason}
    page, telling = template(rules, "result.html"), optional(rules, "highlights.html")
    for language in i18n.NAMES:
        with flask_babel.force_locale(language):
            scene = _scene(game, game.at, ALL)
            given = {"view": scene.view, "names": scene.names, "game": {"slug": rules.slug, "name": "A game"}}
            places = ranked(rules.places(last))
            for reader in (None, 0):
                drawn("result.html", page.render, given, result=result, ranking=places, reader=reader)
            words = module(rules, "words.html")
            if hasattr(words, "rule"):
                drawn("The macro rule of words.html", words.rule, scene.view, scene.names, result, places)
            for chart in rules.charts(views):
                said = drawn("The macro chart of words.html", words.chart, chart.name)
                expect(any(said.words), "The macro chart of words.html does not know “%s”.", chart.name)
            for each in rules.highlights(views, outcome.winners) if telling else ():
                assert telling
                for name in ("title", "part", "figure", "said", "drawn"):
                    more = (scene.names,) if name == "said" else ()
                    drawn(f"The macro {name} of highlights.html", getattr(telling.module, name), each, *more)


def check_rules_page(game: Game) -> None:
    """The page of the rules and the emblem are drawn."""
    rules = game.rules
    view = rules.view(rules.setup(game.seats, {}), PUBLIC)
    picture = optional(rules, "picture.html")
    for language in i18n.NAMES:
        with flask_babel.force_locale(language):
            drawn("rules.html", template(rules, "rules.html").render, rules=rules, view=view, step=1)
            emblem = drawn("emblem.html", template(rules, "emblem.html").render)
            named = f"emblem-{rules.slug}" in emblem.ids
            expect(named, "emblem.html has no group with the id emblem-%s.", rules.slug)
            for kind in ("", "invite") if picture else ():
                assert picture
                drawn("picture.html", picture.render, kind=kind)


def check_orders_pages(game: Game) -> None:
    """A game that takes standing orders says what they are and offers some."""
    rules = game.rules
    if type(rules).parse_order is Rules.parse_order:
        return
    ordering = module(rules, "orders.html")
    texts = list(dict.fromkeys(orders_of(game)))[:_MOST_ORDERS]
    for scene in _scenes(game):
        if not isinstance(scene.viewer, int) or rules.outcome(game.states[game.at]) is not None:
            continue
        for standing in ((), *((text,) for text in texts)):
            for heading, fields in ordering.forms:
                given = (scene.view, scene.names, standing)[: len(fields.arguments)]
                drawn(f"The form “{heading}” of orders.html", fields, *given)
            if first := getattr(ordering, "first", None):
                given = (scene.view, standing)[: len(first.arguments)]
                drawn("The macro first of orders.html", first, *given)
        for text in texts:
            said = drawn("The macro describe of orders.html", ordering.describe, text)
            expect(any(said.words), "The macro describe of orders.html does not know the order “%s”.", text)
            for case in rules.foresee_order(rules.parse_order(text), scene.view):
                drawn("The macro case of orders.html", ordering.case, case.when)


def check_marked_texts(game: Game) -> None:
    """Every text of the game's own templates is marked for translation."""
    environment, slug = flask.current_app.jinja_env, game.rules.slug
    assert environment.loader is not None
    for name in environment.list_templates(filter_func=lambda name: name.startswith(f"games/{slug}/")):
        if name.endswith(".html"):
            source, _, _ = environment.loader.get_source(environment, name)
            for text in _bare_texts(environment, _COMMAND.sub("", source)):
                file = PurePath(name).name
                expect(not _WORD.search(text), "%s has the text “%s” outside of _().", file, text[:80])


def _bare_texts(environment: Environment, source: str) -> Iterator[str]:
    """Yield the texts and labels of a template that are written outside of expressions."""
    html = "".join(
        value if kind == "data" else "0"
        for _, kind, value in environment.lex(source)
        if kind in ("data", "variable_begin")
    )
    yield from map(unescape, _TAG.split(html))
    yield from _LABEL.findall(html)


DRAWING_CHECKS: tuple[Check, ...] = (
    check_tables,
    check_forms,
    check_words,
    check_told_news,
    check_mails,
    check_results,
    check_orders_pages,
)
"""Checks of each game that is played."""
DRAWING_TABLE_CHECKS: tuple[Check, ...] = (check_rules_page, check_marked_texts)
"""Checks that one game of each number of players is enough for."""
