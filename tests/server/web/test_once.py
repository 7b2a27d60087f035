"""A macro whose result is kept gives the same as without, for each language, path and kind of argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flask_babel
import pytest
from flask import Flask
from markupsafe import Markup

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
MACRO = """{%- macro card(name, silent=false) -%}
{{ ran() }}{{ _("Profit") }} {{ name }}{{ "!" if silent }} {{ url_for("home.index") }}
{%- endmacro -%}"""


@pytest.fixture
def runs(app: Flask) -> list[None]:
    """Count how often the macro of these tests runs."""
    counted: list[None] = []

    def ran() -> str:
        counted.append(None)
        return ""

    app.extensions["ran"] = ran
    return counted


@pytest.fixture
def card(app: Flask, runs: list[None]) -> Any:  # noqa: ARG001 - called by the macro
    """Return the macro."""
    with app.test_request_context():
        template = app.jinja_env.from_string(MACRO, globals={"ran": app.extensions["ran"]})
        return template.module.card  # type: ignore[attr-defined]


@pytest.fixture
def once(app: Flask) -> Callable[..., str]:
    """Return what templates call."""
    found: Callable[..., str] = app.jinja_env.globals["once"]  # type: ignore[assignment]
    return found


@one_database
def test_a_macro_runs_once_for_each_language_path_and_argument(
    app: Flask, runs: list[None], card: Any, once: Callable[..., str]
) -> None:
    seen = []
    for _again in range(3):
        for language, root in (("en", ""), ("en", "/games"), ("de", ""), ("de", "/games")):
            with (
                app.test_request_context(environ_overrides={"SCRIPT_NAME": root}),
                flask_babel.force_locale(language),
            ):
                seen += [(once(card, *given), card(*given)) for given in (("A",), ("A", True), ("B",))]
    assert [kept for kept, _ in seen] == [fresh for _, fresh in seen]
    assert len(set(seen)) == 12
    assert len(runs) == len(seen) + 12
    assert {kept.split()[0] for kept, _ in seen} == {"Profit", "Gewinn"}


@one_database
def test_text_that_equals_markup_is_escaped_all_the_same(
    app: Flask, card: Any, once: Callable[..., str]
) -> None:
    with app.test_request_context():
        assert "<b>" in once(card, Markup("<b>"))
        assert "&lt;b&gt;" in once(card, "<b>")
        assert isinstance(once(card, "<b>"), Markup)
