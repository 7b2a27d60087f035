"""Templates find and call what Jinja's own ways would find and call."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from jinja2 import Environment, pass_context, pass_environment, pass_eval_context

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
