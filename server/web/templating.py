"""Jinja: filters, settings, and what every template gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from contextvars import ContextVar
from datetime import date, datetime, timedelta
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import flask
from babel.dates import format_skeleton, get_day_names
from babel.lists import format_list
from babel.numbers import format_decimal, format_percent
from babel.support import NullTranslations
from flask import Flask
from flask_babel import format_date, get_locale
from jinja2 import Template
from jinja2.runtime import Context, Macro
from jinja2.utils import missing
from markupsafe import Markup, escape
from werkzeug.routing import BuildError, Map

from byzanz import record
from server import i18n
from server.i18n.characters import Name, isolate_in_text, without_isolates
from server.mail.text import as_text
from server.play import history, names
from server.play.clock import Span
from server.store import mail_kinds
from server.store.statements import GameRow, SeatRow


def init_filters(app: Flask) -> None:
    """Register the filters."""
    app.jinja_env.globals["zone_of"] = i18n.zone_of
    app.jinja_env.filters |= {
        "as_text": as_text,
        "listed": listed,
        "weekday": weekday,
        "weekdays": weekdays,
        "wall": time_of_day,
        "dates": date_range,
        "day": day,
        "month": month,
        "decimal": decimal,
        "percent": percent,
        "called": called,
        "mail_label": mail_label,
        "cut": cut,
        "former": names.former,
        "player": names.shown,
        "then": as_of_then,
        "tuple": tuple,
    }


def listed(texts: Sequence[str]) -> str:
    """Return texts as a list in words: `Ann, Bob and Carol`."""
    language = i18n.current_language()
    isolated = any(isinstance(text, Name) for text in texts)
    found = format_list(
        [str(escape(text)) for text in texts] if isolated else texts,
        locale="en_GB" if language == "en" else language,
    )
    return Markup(found) if isolated else found  # noqa: S704 - its parts are escaped


def called(seat: SeatRow, game: GameRow, reader: names.Reader) -> str:
    """Return what the player of a seat is called, as its reader may read it; empty if the seat is free."""
    return names.of(game, seat, reader)


def cut(seat: SeatRow, game: GameRow, reader: names.Reader) -> str:
    """Return the cut of a seat, as its reader may read it."""
    return names.cut_of(game, seat, reader)


def mail_label(kind: str) -> str:
    """Return what lists of emails call a kind, to be translated; empty for a kind of a newer version."""
    return mail_kinds.of(kind).label


def as_of_then(
    entries: Sequence[record.Entry], named: Sequence[str], me: int | None
) -> list[tuple[record.Entry, Sequence[str], int | None]]:
    """Return the newest entries of a log, each with the names of that time and the reader's seat, if it was theirs."""
    former = history.taken_over(entries)
    whose = [former.get(entry.seq, frozenset[int]()) for entry in entries]
    return [
        (entry, names.former(named, seats), None if me in seats else me)
        for entry, seats in zip(entries, whose, strict=True)
    ]


def weekday(number: str) -> str:
    """Return the name of a weekday from its ISO number: `6` is Saturday."""
    return str(get_day_names("wide", locale=get_locale() or "en")[int(number) - 1])


def weekdays(numbers: str) -> str:
    """Return the names of several weekdays: `67` is Saturday and Sunday."""
    return listed([weekday(number) for number in numbers])


def time_of_day(minute: int) -> str:
    """Format a minute of the day: 23:00."""
    return f"{minute // 60:02}:{minute % 60:02}"


def date_range(span: Span, zone: str) -> str:
    """Format the first and the last day of an absence, in a time zone."""
    first, last = days_of(span, zone)
    texts = format_date(first, i18n.day_format(first)), format_date(last, i18n.day_format(last))
    return texts[0] if first == last else f"{texts[0]} – {texts[1]}"


def day(at: datetime, zone: str, now: datetime | None = None) -> str:
    """Format the day of a moment in a time zone: `18 Nov 2026`.

    Args:
        now: leave out the year of days that are near: `18 Nov`.
    """
    local = at.astimezone(i18n.zone(zone))
    near = now is not None and abs(at - now) < i18n.SAME_YEAR
    form = i18n.day_format() if near else f"{i18n.day_format()} y"
    return str(format_date(local, form, rebase=False))


def month(at: datetime) -> str:
    """Format the month of a moment: March 2026."""
    return str(format_skeleton("yMMMM", at, locale=get_locale() or "en"))


def decimal(value: float, digits: int) -> str:
    """Format a number with this many digits after the decimal point or comma."""
    return str(format_decimal(value, format=f"0.{'0' * digits}", locale=get_locale() or "en"))


def percent(value: int) -> str:
    """Format a whole percentage: `99%`, in German `99 %`."""
    return str(format_percent(value / 100, locale=get_locale() or "en"))


def days_of(span: Span, zone: str) -> tuple[date, date]:
    """Return the first and the last day that a span touches."""
    here = i18n.zone(zone)
    return span[0].astimezone(here).date(), (span[1] - timedelta(seconds=1)).astimezone(here).date()


# ---- what is drawn once ----

MOST = 8192
"""Results that a process keeps: the drawings of all cards in all sizes and languages, and some thousands of lines."""
Where = tuple[NullTranslations, str]
"""The language of what is drawn, and the path under which the server lies."""
_where: ContextVar[Where | None] = ContextVar("where", default=None)
"""Set while a template is rendered, so that each macro need not ask again."""


def _current_where() -> Where:
    request = flask.request._get_current_object() if flask.has_request_context() else None  # type: ignore[attr-defined]
    root = request.script_root if request else ""  # an email draws no addresses
    return i18n.DOMAIN.get_translations(), root


def init_once(app: Flask) -> None:
    """Give templates `once(macro, …)`, for macros of HTML that look at nothing but their arguments and the language."""

    @lru_cache(MOST, typed=True)  # markup and the same text are equal, but only the text is escaped
    def make(macro: Macro, _where: Where, *arguments: Hashable) -> str:
        return macro(*arguments)

    def once(macro: Macro, *arguments: Hashable) -> str:
        return make(macro, _where.get() or _current_where(), *arguments)

    app.jinja_env.globals["once"] = once


# ---- addresses ----

_PLAIN = re.compile(r"[0-9A-Za-z_.-]*")
"""Values that stand in an address as they are."""


def init_addresses(app: Flask) -> None:
    """Give templates a `url_for` that asks the routes only once for each kind of address."""
    theirs = app.url_for

    def url_for(endpoint: str, **values: Any) -> str:
        path = _path(app.url_map, endpoint, *values)
        plain = path is not None and all(type(it) is str and _PLAIN.fullmatch(it) for it in values.values())
        return flask.request.script_root + path % values if path and plain else theirs(endpoint, **values)

    app.jinja_env.globals["url_for"] = url_for


@lru_cache(1024)
def _path(routes: Map, endpoint: str, *names: str) -> str | None:
    """Return the path of a page, to be filled in with values of these names; None if it depends on more."""
    if endpoint.startswith(".") or any(name.startswith("_") for name in names):
        return None
    marks = {name: f"mark{number}x" for number, name in enumerate(names)}
    try:
        path = routes.bind("").build(endpoint, marks).replace("%", "%%")
    except (BuildError, ValueError):  # such as a number
        return None
    for name, mark in marks.items():
        path = path.replace(mark, f"%({name})s")
    return path


# ---- settings ----
# Names and calls are rendered as Jinja does it, in less time: a turn page has hundreds of them.

_BARE = re.compile(
    r"""<(?P<tag>title|desc|text|option|textarea|script)\b.*?</(?P=tag)>|(?P<typed>\bvalue)?=\s*"[^"]*"|='[^']*'""",
    re.DOTALL,
)
"""Where a page has text that cannot hold elements."""


def init_app(app: Flask) -> None:
    """Let an app render its templates this way."""
    environment = app.jinja_env

    def make_globals(own: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        return {**environment.globals, **(own or {})}  # Jinja chains the two in Python code

    environment.make_globals = make_globals  # type: ignore[method-assign, assignment]
    environment.context_class = QuickContext
    environment.template_class = PageTemplate
    init_addresses(app)


class PageTemplate(Template):
    """A template that isolates names: where there is only text, and in attributes, by characters instead of `<bdi>`."""

    @classmethod
    def from_code(cls, *given: Any, **named: Any) -> Template:
        """Return the template of compiled code, which escapes with less ado."""
        made = super().from_code(*given, **named)
        made.root_render_func.__globals__["escape"] = _escaped
        return made

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Render the page, as Jinja does."""
        with i18n.drawing():
            before = _where.set(_current_where())
            try:
                page = super().render(*args, **kwargs)
            finally:
                _where.reset(before)
        return _BARE.sub(_in_characters, page) if "<bdi>" in page else page


def _escaped(value: Any) -> str:
    """Escape what a template writes; MarkupSafe would copy markup, and ask whether a number is some."""
    kind = type(value)
    if kind is Markup:
        return value  # type: ignore[no-any-return]
    return str(value) if kind is int else escape(value)


def _in_characters(found: re.Match[str]) -> str:
    text = isolate_in_text(found[0])
    return without_isolates(text) if found["typed"] else text


class QuickContext(Context):
    """What a template is rendered with; Jinja's own asks of each function three times what it wants to be passed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        folder, _, rest = (self.name or "").partition("/")
        if folder == "games":  # its texts are looked up in the game's own catalogue, too
            self.eval_ctx.slug = rest.partition("/")[0]  # type: ignore[attr-defined]

    def call(self, wanted: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        """Call a macro, a method such as `split`, or a function that at most wants the context of evaluation."""
        kind = type(wanted)
        if kind is Macro:
            named.pop("_loop_vars", None)
            named.pop("_block_vars", None)
            return self._call_macro(wanted, args, named)  # type: ignore[arg-type]
        passed = getattr(wanted, "jinja_pass_arg", None) if kind in (FunctionType, MethodType) else None
        if passed is not None and passed.name == "eval_context":
            args = (self.eval_ctx, *args)
        elif passed is not None or kind not in (FunctionType, BuiltinFunctionType, MethodType):
            return super().call(wanted, *args, **named)
        if named:
            named.pop("_loop_vars", None)
            named.pop("_block_vars", None)
        return wanted(*args, **named)

    def _call_macro(self, macro: Macro, args: tuple[Any, ...], named: dict[str, Any]) -> str:
        lacking = macro._argument_count - len(args)
        if named or lacking < 0 or macro.caller or macro.catch_kwargs or macro.catch_varargs:
            return macro(self.eval_ctx, *args, **named)
        drawn = macro._func(*args, *(missing,) * lacking)
        return Markup(drawn) if self.eval_ctx.autoescape else drawn  # noqa: S704 - as Jinja's own macros do
