"""What templates translate: what they show and nothing else, with placeholders escaped where the page is HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import flask_babel
import pytest
from flask import Flask
from flask.testing import FlaskClient
from markupsafe import Markup

from server import i18n
from tests.conftest import Table
from tests.support.game_data import SEATS
from tests.support.games import asked, url
from tests.support.pages import Marked, look, mark

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Counted(Marked):
    """Translations that put brackets around every text and keep what they were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ugettext(self, text: str) -> str:
        """Return the text in brackets."""
        self.asked.append(text)
        return super().ugettext(text)

    def upgettext(self, context: str, text: str) -> str:
        """Return the text in brackets."""
        self.asked.append(text)
        return super().upgettext(context, text)


@one_database
@pytest.mark.parametrize("slug", SEATS)
def test_a_page_translates_hardly_more_than_it_shows(
    client: FlaskClient, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    game = table(SEATS[slug], slug=slug)
    counted = Counted()
    mark(monkeypatch)
    monkeypatch.setattr(i18n.Domain, "get_translations", lambda _self, _slug="": counted)
    for path in (url(game, asked(game)), f"/t/{game.tokens[0]}/history?at=1", "/nothing", "/new"):
        counted.asked.clear()
        shown = look(client, path).html.count("⟦")
        unseen = Counter(counted.asked).most_common()
        assert len(counted.asked) <= 1.1 * shown, f"{path} translates {unseen}, and shows {shown} texts"


def rendered(app: Flask, template: str, language: str, **values: object) -> str:
    """Render a template in a language."""
    made = app.jinja_env.from_string(template)
    with app.test_request_context(), flask_babel.force_locale(language):
        return made.render(**values)


@one_database
def test_templates_translate_into_the_language_of_the_moment(app: Flask) -> None:
    german = i18n.translations("de")
    word, meaning = german.ugettext("Legacy"), german.upgettext("before the last of a list", " and ")
    assert (word, meaning) == ("Vermächtnis", " und ")
    template = '{{ _("Legacy") }}{{ pgettext("before the last of a list", " and ") }}{{ gettext("Legacy") }}'
    assert rendered(app, template, "de") == "Vermächtnis und Vermächtnis"
    with app.test_request_context(), flask_babel.force_locale("en"):
        made = app.jinja_env.from_string(template)
        assert made.render() == "Legacy and Legacy"
        with flask_babel.force_locale("de"):  # as an email in another language than the page that sends it
            assert made.render() == "Vermächtnis und Vermächtnis"
        assert made.render() == "Legacy and Legacy"


@one_database
def test_numbers_choose_the_form_and_fill_in_their_placeholder(app: Flask) -> None:
    template = '{{ ngettext("%(num)s card", "%(num)s cards", n) }}'
    told = [rendered(app, template, code, n=n) for code in ("en", "de") for n in (0, 1, 2)]
    assert told == ["0 cards", "1 card", "2 cards", "0 Karten", "1 Karte", "2 Karten"]
    assert rendered(app, '{{ ngettext("%(num)s card", "%(num)s cards", 2, num="{n}") }}', "en") == "{n} cards"


@one_database
def test_placeholders_are_escaped_in_html_only_and_two_per_cents_are_one(app: Flask) -> None:
    template = (
        '{% autoescape html %}{{ _("%(name)s passes.", name=name) }}{{ _("100%%") }}{% endautoescape %}'
    )
    plain = rendered(app, template, "en", html=False, name="<Ann>")
    assert plain == "<Ann> passes.100%"
    assert rendered(app, template, "en", html=True, name="<Ann>") == "&lt;Ann&gt; passes.100%"
    assert rendered(app, template, "en", html=True, name=Markup("<b>Ann</b>")) == "<b>Ann</b> passes.100%"
