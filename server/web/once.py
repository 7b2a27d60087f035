"""Macros that run once: what they make of the same arguments in the same language is always the same, so it is kept."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

import flask
from babel.support import NullTranslations
from flask import Flask
from jinja2.runtime import Macro

from server import i18n

MOST = 8192
"""Results that a process keeps: the drawings of all cards in all sizes and languages, and some thousands of moves."""


def init_app(app: Flask) -> None:
    """Give templates `once(macro, …)`, for macros of HTML that look at nothing but their arguments and the language."""

    @lru_cache(MOST, typed=True)  # markup and the same text are equal, but only the text is escaped
    def make(macro: Macro, _words: NullTranslations, _root: str, *arguments: Hashable) -> str:
        return macro(*arguments)

    def once(macro: Macro, *arguments: Hashable) -> str:
        request = flask.request._get_current_object() if flask.has_request_context() else None  # type: ignore[attr-defined]
        root = request.script_root if request else ""  # an email draws no addresses
        return make(macro, i18n.DOMAIN.get_translations(), root, *arguments)

    app.jinja_env.globals["once"] = once
