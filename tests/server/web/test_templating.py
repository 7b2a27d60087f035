"""Templates find and call what Jinja's own ways would find and call."""

from __future__ import annotations

from typing import Any

import flask
import pytest
from flask import Flask
from jinja2 import Environment, Template, pass_context, pass_environment, pass_eval_context
from markupsafe import Markup

from byzanz.record import Cause
from server.i18n.characters import Name
from server.web import templating


@pass_context
def seen(context: Any, name: str) -> str:
    """Return what a name means where it is called, those of a loop included."""
    return str(context.resolve(name))


@pass_environment
def newline(environment: Environment) -> str:
    """Return a setting of the environment."""
    return repr(environment.newline_sequence)


@pass_eval_context
def escaped(context: Any, word: str = "no") -> str:
    """Return whether output is escaped here."""
    return f"{word} {context.autoescape}"


class Said:
    """An object that can be called, and has a method that can."""

    def __call__(self, *words: str) -> str:
        """Return the words."""
        return "+".join(words)

    method = __call__


@pytest.mark.parametrize("text", [
    "{{ seen('x') }}",
    "{% for y in (2, 3) %}{% set x = y %}{{ seen('x') }}{% endfor %}",
    "{{ newline() }}",
    "{{ escaped() }} {% for y in (2,) %}{{ escaped(word='yes') }}{% endfor %}",
    "{{ plain('a') }}{% for y in (2,) %}{{ plain(word='b') }}{% endfor %}",
    "{{ said('a', 'b') }}{{ said.method('c') }}{% for y in (2,) %}{{ 'd,e'.split(',')[1] }}{% endfor %}",
    "{% macro m(a) %}<{{ a }}>{{ caller() if caller else '' }}{% endmacro %}{{ m('&') }}",
    "{% macro m(a, b='&') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, '<') }}{{ m(b=2, a=1) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m(4) }}",
    "{% macro m(a) %}{{ caller(a) }}{% endmacro %}{% for y in 'c' %}{% call(b)m(y) %}{{ b }}{% endcall %}{% endfor %}",
    "{% for y in (2,) %}{{ loop.cycle('odd', 'even') }}{% endfor %}{{ nothing is undefined }}",
])  # fmt: skip
def test_a_call_passes_what_jinja_would_pass(text: str) -> None:
    given = {
        "seen": seen,
        "newline": newline,
        "escaped": escaped,
        "said": Said(),
        "plain": lambda word: word * 2,
    }
    ours, theirs = Environment(autoescape=True), Environment(autoescape=True)
    ours.context_class = templating.QuickContext
    assert ours.from_string(text).render(x=1, **given) == theirs.from_string(text).render(x=1, **given) != ""


def test_a_template_knows_its_own_globals_beside_those_of_all(app: Flask) -> None:
    template = app.jinja_env.from_string("{{ own }} {{ languages.en }}", globals={"own": "mine"})
    assert template.render() == "mine English"
    assert "own" not in app.jinja_env.globals


@pytest.mark.parametrize(
    "value", ["<a&'\">", Markup("<b>&amp;</b>"), 7, True, None, 1.5, Cause.CLOCK, Name("\u05d3<")]
)
def test_a_template_escapes_what_jinja_would_escape(app: Flask, value: object) -> None:
    theirs = Environment(autoescape=True)
    text = "{{ v }}{{ v ~ '<' }}{% set w %}{{ v }}{% endset %}{{ w }}{% macro m(a) %}{{ a }}{% endmacro %}{{ m(v) }}"
    assert Template.render(app.jinja_env.from_string(text), v=value) == theirs.from_string(text).render(
        v=value
    )


def test_addresses_are_those_of_flask(app: Flask) -> None:
    ours: Any = app.jinja_env.globals["url_for"]
    given: dict[str, Any]
    more: dict[str, Any]
    values: dict[str, Any] = {
        "token": "a" * 26,
        "game_id": "g_1-x",
        "filename": "icon-180.png",
        "slug": "byzanz",
        "kind": "csv",
    }
    odd: dict[str, Any] = {
        "token": "a/ü%s b",
        "slug": "mark1",
        "filename": "",
        "number": 3,
        "seq": 5,
        "handle": "é",
    }
    for base in ("", "/below"):
        with app.test_request_context("/", environ_overrides={"SCRIPT_NAME": base}):
            for rule in app.url_map.iter_rules():
                for given in (values, odd, odd | values):
                    fitting = {name: given.get(name, "1") for name in rule.arguments}
                    for more in ({}, {"page": "2"}, {"_anchor": "x"}, {"page": "a b&"}, {"n": None}):
                        try:
                            wanted = flask.url_for(rule.endpoint, **fitting, **more)
                        except Exception as error:
                            with pytest.raises(type(error)):
                                ours(rule.endpoint, **fitting, **more)
                        else:
                            assert ours(rule.endpoint, **fitting, **more) == wanted
