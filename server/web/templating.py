"""How templates are rendered: names and calls as Jinja does it, in less time, and names from right to left isolated.

A turn page has hundreds of names and calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

from flask import Flask
from jinja2 import Template
from jinja2.runtime import Context, Macro

from server.i18n.characters import isolate_in_text, without_isolates

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


class PageTemplate(Template):
    """A template that isolates names: where there is only text, and in attributes, by characters instead of `<bdi>`."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Render the page, as Jinja does."""
        page = super().render(*args, **kwargs)
        return _BARE.sub(_in_characters, page) if "<bdi>" in page else page


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
        passed = getattr(wanted, "jinja_pass_arg", None) if kind is FunctionType else None
        if kind is Macro or (passed is not None and passed.name == "eval_context"):
            args = (self.eval_ctx, *args)
        elif passed is not None or kind not in (FunctionType, BuiltinFunctionType):
            return super().call(wanted, *args, **named)
        named.pop("_loop_vars", None)
        named.pop("_block_vars", None)
        return wanted(*args, **named)
