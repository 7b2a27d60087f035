"""Checks of what a game's package brings: each template is drawn for each viewer in each language at several positions
of a game, none of its files is left unread, and its catalogues translate what there is.

They are run inside a request of an application, see `byzanz check`; the checks of the rules are in
`byzanz.kit.conformance`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, TypeAlias, cast

import flask
import flask_babel
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_file
from babel.support import NullTranslations
from jinja2 import Environment, Template, TemplateNotFound, Undefined, meta
from jinja2.utils import missing

from byzanz.games import folder_of
from byzanz.kit.check import Checks
from byzanz.kit.conformance import Fault, Game
from byzanz.kit.moves import orders_of
from byzanz.kit.played import expect, who
from byzanz.moves import Message, RulesError, ranked
from byzanz.record import Cause, Entry
from byzanz.rules import ALL, PUBLIC, Rules, Viewer
from byzanz.umpire import followed, read_followed
from server import i18n

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
NONE = re.compile(r"^None$|[\w,:(\[=] ?None\b|\w+\(\w+=")
"""A value that was forgotten, or an object of Python, in a text for people."""


class Drawn(HTMLParser):
    """A piece of HTML, checked while it is read.

    Attributes:
        moves: the values of its buttons and choices that are whole moves.
        verbs: the values of its buttons that are verbs.
        ids: of its elements.
        words: its texts, those of labels in attributes included.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.moves: list[str] = []
        self.verbs: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self._select = ""
        self.feed(html)
        self.close()
        expect(not self._open, "<%s> is not closed", self._open[-1] if self._open else "")
        twice = sorted({each for each in self.ids if self.ids.count(each) > 1})
        expect(not twice, "the id “%s” is given twice", *twice[:1])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that stays open."""
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check an element and note what it offers."""
        given = dict(attrs)
        expect(tag != "zz", "the name of a player is not escaped")
        expect(tag != "script", "there is a script, which the security policy forbids")
        expect(len(given) == len(attrs), "<%s> has an attribute twice", tag)
        for name, value in attrs:
            expect(
                name != "style" and not name.startswith("on"),
                "<%s> has the attribute %s, which the security policy forbids",
                tag,
                name,
            )
            expect(not NONE.search(value or ""), "the attribute %s of <%s> is “%s”", name, tag, value)
        self._select = given.get("name") or "" if tag == "select" else self._select
        field = self._select if tag == "option" else given.get("name")
        if field and tag in ("button", "option", "input") and field.startswith(("move", "verb")):
            (self.verbs if field == "verb" else self.moves).append(given.get("value") or "")
        self.ids += [given["id"] or ""] if "id" in given else []
        self.words += [given.get(name) or "" for name in ("aria-label", "title", "alt", "placeholder")]

    def handle_endtag(self, tag: str) -> None:
        """Check that the element was the last one that was opened."""
        last = self._open.pop() if self._open else "nothing"
        expect(last == tag, "</%s> stands where </%s> should", tag, last)

    def handle_data(self, data: str) -> None:
        """Check a text."""
        text = data.strip()
        expect(not NONE.search(text), "there is the text “%s”", text[:80])
        if "style" not in self._open and "code" not in self._open:
            self.words.append(text)


class _Unknown(Undefined):
    """A name that nobody gave, which is an error; it may be asked whether an object has a field, but no more."""

    __hash__ = Undefined.__hash__
    __str__ = __iter__ = __len__ = Undefined._fail_with_undefined_error

    def __bool__(self) -> bool:
        if self._undefined_obj is missing and self._undefined_hint is None:
            self._fail_with_undefined_error()
        return False

    def __eq__(self, other: object) -> bool:
        return bool(self) or self is other


@lru_cache(1)
def _strict(environment: Environment) -> Environment:
    """Return the environment of an app in which an unknown name is an error."""
    return environment.overlay(undefined=_Unknown)


def template(rules: Rules[Any, Any], name: str) -> Template:
    """Return a template of a game.

    Raises:
        Fault: it is missing, or one that it takes something from.
    """
    found = optional(rules, name)
    if found is None:
        raise Fault(f"The template games/{rules.slug}/{name} is missing.")
    return found


def optional(rules: Rules[Any, Any], name: str) -> Template | None:
    """Return a template that a game need not have; None if it has none."""
    try:
        return _strict(flask.current_app.jinja_env).get_template(f"games/{rules.slug}/{name}")
    except TemplateNotFound:
        return None


def module(rules: Rules[Any, Any], name: str) -> Any:
    """Return the macros of a template of a game."""
    return template(rules, name).module


def drawn(what: str, draw: Callable[..., str], *arguments: Any, **given: Any) -> Drawn:
    """Return what a template or macro makes in the current language.

    Args:
        what: begins the sentence about a fault.
        draw: makes the HTML from the arguments.

    Raises:
        Fault: it fails, or what it makes is wrong.
    """
    try:
        return Drawn(str(draw(*arguments, **given)))
    except Exception as error:
        kind = "" if isinstance(error, Fault) else f"{type(error).__name__}: "
        frames = [it for it in traceback.extract_tb(error.__traceback__) if not it.filename.endswith(".py")]
        where = f" ({PurePath(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        raise Fault(f"{what}, in {i18n.current_language()}: {kind}{error}{where}.") from error


# ---- templates ----

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
        told: the latest moves as the viewer may read them, each with what followed from it.
    """

    viewer: Viewer
    view: Any
    names: tuple[str, ...]
    answers: tuple[str, ...]
    others: tuple[str, ...]
    told: tuple[tuple[Entry, Sequence[Message]], ...]


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
    views = [rules.view(state, PUBLIC) for state in game.states[latest.start : at + 1]]
    lines = [followed(rules, *pair) for pair in pairwise(views)]
    return Scene(
        viewer,
        view,
        _NAMES[: game.seats] + tuple(f"P{seat}" for seat in range(len(_NAMES), game.seats)),
        tuple(map(str, rules.moves(state, seat))),
        tuple(map(str, rules.out_of_turn_moves(state, seat))),
        tuple(zip(entries, map(read_followed, lines), strict=True)),
    )


def _entry(game: Game, at: int, now: int, viewer: Viewer) -> Entry:
    """Return an entry of the log as a viewer may read it at a later position."""
    rules, (seat, move) = game.rules, game.made[at]
    asked = set(rules.awaited(game.states[at]).values()) & set(rules.awaited(game.states[now]).values())
    text = rules.redact_move(move, seat, viewer, not asked)
    by = Cause.CHANCE if seat is None else Cause.PLAYER
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
        said += [("describe", (entry, names, me, messages)) for entry, messages in scene.told]
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


# ---- files and catalogues ----

READ = (
    "cards.html", "emblem.html", "form.html", "guide.html", "highlights.html", "mail.html", "mail.txt", "moment.html",
    "news.html", "orders.html", "picture.html", "result.html", "rules.html", "sprite.svg", "style.css", "table.html",
    "words.html",
)  # fmt: skip
"""The files of a game that the server reads, see docs/game-templates.md."""


def check_files(game: Game) -> None:
    """Every template is one that the server draws or that another one takes in, and lies in its folder."""
    environment, slug = flask.current_app.jinja_env, game.rules.slug
    names = environment.list_templates(filter_func=lambda name: name.startswith(f"games/{slug}/"))
    taken = {each for name in names for each in _taken_in(environment, name)}
    for name in names:
        file = name.removeprefix(f"games/{slug}/")
        like = get_close_matches(file, READ, 1)
        expect(
            file in READ or name in taken,
            "templates/%s is no file that the server reads, and no other template takes it in.%s",
            file,
            f" Is it {like[0]}?" if like else "",
        )
    folder = folder_of(slug)
    for path in _strays(folder) if folder else ():
        expect(False, "%s lies outside of the folders templates/ and static/, so nobody reads it.", path)


def _taken_in(environment: Environment, name: str) -> Iterator[str]:
    """Yield the names of the templates that a template includes or imports."""
    if not name.endswith(".css"):
        assert environment.loader is not None
        source, _, _ = environment.loader.get_source(environment, name)
        yield from filter(None, meta.find_referenced_templates(environment.parse(source)))


def _strays(folder: Path) -> Iterator[Path]:
    for path in sorted(path.relative_to(folder) for path in folder.rglob("*")):
        if path.suffix in (".html", ".css") and path.parts[0] not in ("templates", "static"):
            yield path


Text: TypeAlias = tuple[str | None, str]
"""Its context, and the text itself."""


@contextmanager
def heard() -> Iterator[set[Text]]:
    """Collect the texts that are looked up in catalogues meanwhile, such as the names of facts."""
    found: set[Text] = set()
    looked_up = i18n.DOMAIN.get_translations

    @cache  # the same translations are the same object, as `once` expects
    def listener(translations: NullTranslations) -> NullTranslations:
        return cast("NullTranslations", _Listener(translations, found))

    i18n.DOMAIN.get_translations = lambda slug="": listener(looked_up(slug))  # type: ignore[method-assign]
    try:
        yield found
    finally:
        del i18n.DOMAIN.get_translations  # the method of its class is back


class _Listener:
    """Translations that note what they are asked for."""

    def __init__(self, translations: NullTranslations, found: set[Text]) -> None:
        self._translations, self._found = translations, found

    def ugettext(self, text: str) -> str:
        if isinstance(text, str):  # a template may ask for something undefined, and its check tells so
            self._found.add((None, text))
        return self._translations.ugettext(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._translations, name)


def untranslated(slug: str, also: Iterable[Text]) -> Iterator[str]:
    """Yield, for each language of which a game's package has a catalogue, the texts that are missing there.

    Args:
        also: texts besides those that stand in the package's code and templates.
    """
    folder = folder_of(slug)
    texts = sorted({*_written_in(folder), *also}, key=lambda text: (text[1], text[0] or "")) if folder else []
    for language in i18n.NAMES:
        lacking = [
            each
            for each in texts
            if language != i18n.DEFAULT and i18n.lacks(slug, language, each[1], each[0])
        ]
        if lacking:
            yield f"Not translated into {i18n.NAMES[language]}:"
        for meaning, text in lacking:
            yield "".join(
                (f"    msgctxt {_quoted(meaning)}\n" if meaning else "", f"    msgid {_quoted(text)}")
            )


def _written_in(folder: Path) -> Iterator[Text]:
    """Yield the texts that are marked for translation in the files of a package."""
    refusals = {kind.__name__: (1,) for kind in _kinds(RulesError)}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _METHODS):
        method = _METHODS[path.suffix]
        for more in (
            ({"OrderAnswer": (2,), "Message": (1,)}, {"Message": (4,)}) if method == "python" else ({},)
        ):
            keywords: Any = DEFAULT_KEYWORDS | refusals | more
            for _line, text, _comments, meaning in extract_from_file(method, path, keywords=keywords):
                yield meaning, text if isinstance(text, str) else text[0]


def _kinds(base: type[Exception]) -> Iterator[type[Exception]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


_METHODS = {".py": "python", ".html": "jinja2", ".txt": "jinja2", ".svg": "jinja2"}
"""How texts are found in files, by the ends of their names."""

CHECKS = Checks(
    each=(
        check_tables,
        check_forms,
        check_words,
        check_told_news,
        check_mails,
        check_results,
        check_orders_pages,
    ),
    table=(check_rules_page, check_marked_texts),
    once=(check_files,),
)
