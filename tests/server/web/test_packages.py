"""A package brings templates, styles, other files and translations of its own, which touch nothing of others."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from byzanz import games
from byzanz.moves import Message, RulesError
from server import config, i18n, validation
from server.config import Settings
from server.errors import InvalidInput
from server.mail.outgoing import view
from server.ops import checks, serve
from server.store.models import Game
from server.web import assets, http
from tests.conftest import Table
from tests.support.folders import EXAMPLES
from tests.support.games import row
from tests.support.mails import one_database, send_waiting, text_of

pytestmark = one_database
CATALOGUE = """msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\\n"

msgid "Prizes to come"
msgstr "Preise, die noch kommen"

msgid "To come"
msgstr "Noch <da>"

msgid "Privacy"
msgstr "Etwas anderes"

msgid "You do not hold %(card)s."
msgstr "Etwas anderes: %(card)s"

msgid "Bid less than %(most)s."
msgstr "Biete weniger als %(most)s."

msgid "the Queen of %(suit)s"
msgstr "die Dame in %(suit)s"

msgid "clubs"
msgstr "Kreuz"
"""
CARDS = """{% macro card_name(card) %}No. {{ card }}{% endmacro %}
{% macro card_names(cards) -%}
{% for card in cards %}{{ card_name(card) }}{{ " & " if not loop.last }}{% endfor %}
{%- endmacro %}{% macro card(name, silent=false) %}{{ name }}{% endmacro %}"""

TABLE = '{% import "games/goofspiel/words.html" as words %}<i>{{ words.label("to come") }}</i>'
TABLE += '<section id="mine"><p>{{ _("Prizes to come") }} {{ "<b>" }} {{ _("Privacy") }}</p></section>'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install Goofspiel as a package with files of its own; return its folder."""
    folder = tmp_path / "goof_package"
    for name, text in {
        "templates/table.html": TABLE,
        "templates/base.html": "not the server's",
        "templates/style.css": ".ours {#mine { color: blue; } }",
        "static/style.css": ".mine {\n color: red; }",
        "templates/sprite.svg": '<svg><title>{{ _("Privacy") }}</title></svg>',
        "static/picture.svg": "<svg/>",
        "translations/de/LC_MESSAGES/messages.po": CATALOGUE,
        "translations/nl/LC_MESSAGES/messages.po": 'msgid "broken',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "__init__.py").write_text((EXAMPLES / "goofspiel/goofspiel.py").read_text())
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("goofspiel", "goof_package:Goofspiel", games.GROUP)
    monkeypatch.setattr(games, "entry_points", lambda **_: [point])
    forget()
    yield folder
    monkeypatch.undo()
    forget()
    sys.modules.pop("goof_package", None)


def forget() -> None:
    for cached in (
        games._installed,
        i18n.translations,
        i18n._of_package,
        assets._concatenate,
        assets._drawings,
    ):
        cached.cache_clear()


@pytest.fixture
def game(app: Flask, package: Path, table: Callable[..., Table]) -> Iterator[Table]:  # noqa: ARG001
    templates = app.jinja_env.cache
    assert templates is not None
    templates.clear()
    yield table(3, slug="goofspiel")
    templates.clear()


def shown(client: FlaskClient, path: str, language: str = "de") -> str:
    answer = client.get(path, headers={"Accept-Language": language})
    assert answer.status_code == 200, path
    return answer.get_data(as_text=True)


def test_a_package_draws_its_table_in_its_own_words(game: Table, client: FlaskClient) -> None:
    page = shown(client, f"/g/{game.id}")
    assert "<i>Noch &lt;da&gt;</i>" in page
    (own,) = re.findall(r'<section id="mine">.*?</section>', page)
    assert own == '<section id="mine"><p>Preise, die noch kommen &lt;b&gt; Datenschutz</p></section>'
    assert "not the server's" not in page
    assert "Prizes to come" in shown(client, f"/g/{game.id}", "nl"), "its Dutch catalogue is broken"


def test_the_other_templates_of_a_package_are_the_plain_ones(game: Table, client: FlaskClient) -> None:
    page = shown(client, f"/t/{game.tokens[0]}")
    assert len(re.findall(r'name="move" value="bid (\d+)"', page)) == 13
    assert all("- Bid 1\n" in text_of(mail) for mail in send_waiting())


def test_a_messenger_shows_the_picture_of_a_package_or_else_the_icon(
    package: Path, client: FlaskClient
) -> None:
    def picture() -> tuple[str, str, bytes]:
        tags = dict(
            re.findall(
                r'<meta (?:property|name)="([\w:]+)" content="([^"]*)">', shown(client, "/rules/goofspiel")
            )
        )
        with client.get(
            tags["og:image"].removeprefix(tags["og:url"].removesuffix("/rules/goofspiel"))
        ) as answer:
            assert answer.status_code == 200
            return tags["twitter:card"], tags["og:image:width"], answer.data

    assert picture()[:2] == ("summary", "512")
    (package / "static/share.png").write_bytes(b"drawn")
    assert picture() == ("summary_large_image", "1200", b"drawn")


@pytest.mark.usefixtures("game")
def test_a_template_that_is_broken_stops_no_server(
    app: Flask, package: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "templates/form.html").write_text("{% if %}")
    wanted = [
        f"games/goofspiel/{name}"
        for name in ("base.html", "form.html", "sprite.svg", "style.css", "table.html")
    ]
    listed = sorted(app.jinja_env.list_templates())
    assert [name for name in listed if name.startswith("games/goofspiel/")] == wanted
    monkeypatch.setattr(app.jinja_env, "list_templates", lambda filter_func: [*filter(filter_func, wanted)])
    monkeypatch.setattr("gc.freeze", lambda: None)
    serve.load(app)
    lines = [each.getMessage().partition(" cannot be ")[0] for each in caplog.records]
    form, dutch = "the template games/goofspiel/form.html", "the translations of goofspiel into Nederlands"
    assert set(lines) <= {form, dutch}
    assert lines.count(form) == 1


def test_a_refusal_of_the_rules_is_said_in_the_words_of_their_package(game: Table, app: Flask) -> None:
    unknown = RulesError("Bid less than %(most)s.", most=7)
    known = RulesError("You do not hold %(card)s.", card="x")
    with app.test_request_context(headers={"Accept-Language": "de"}):
        assert http.refusal_text(unknown, "goofspiel") == "Biete weniger als 7."
        assert http.refusal_text(unknown, "empire") == "Biete weniger als 7.", (
            "no other game has a text for it"
        )
        assert http.refusal_text(known, "goofspiel") == "Du hast x nicht."
    assert row(Game, game.id) is not None


@pytest.mark.usefixtures("game")
def test_the_values_in_a_message_are_said_in_the_words_of_their_package(app: Flask, package: Path) -> None:
    (package / "templates/cards.html").write_text(CARDS)
    suit = RulesError("Bid less than %(most)s.", most="clubs")
    cards = RulesError("Choose one of these: %(held)s.", held="1 13")
    typed = RulesError("Write a move like this: %(example)s.", example="bid 1")
    told = Message("the Queen of %(suit)s", {"suit": ("clubs", "7")})
    with app.test_request_context(headers={"Accept-Language": "de"}):
        assert http.refusal_text(suit, "goofspiel") == "Biete weniger als Kreuz."
        assert http.refusal_text(suit, "empire") == "Biete weniger als clubs."
        assert http.refusal_text(cards, "goofspiel") == "Choose one of these: No. 1 & No. 13."
        assert http.refusal_text(typed, "goofspiel").endswith("so: bid 1.")
        stored = {"message": suit.message, "places": suit.places | {"number": 3}}
        assert view._refusal_text(stored, "goofspiel") == "Biete weniger als Kreuz."
        assert view._refusal_text(stored, "empire") == "Biete weniger als clubs."
        words: Any = app.jinja_env.get_template("games/goofspiel/words.html").module
        assert words.followed([told], ("Ann",)) == "die Dame in Kreuz und No. 7"
        assert words.option("bid 7") == "Bid No. 7"


def test_the_styles_of_a_package_come_to_its_pages_alone(game: Table, client: FlaskClient) -> None:
    sheets = {path: linked(client, path) for path in (f"/g/{game.id}", "/rules/empire", "/about")}
    with_own = [path for path, sheet in sheets.items() if ".mine{color:red}" in client.get(sheet).text]
    assert with_own == [f"/g/{game.id}"]
    assert ".ours{#mine{color:blue}}" in client.get(sheets[f"/g/{game.id}"]).text
    assert ".plain-moves{" in client.get(sheets[f"/g/{game.id}"]).text


@pytest.mark.usefixtures("game")
def test_a_package_brings_drawings_that_many_cards_share(app: Flask, client: FlaskClient) -> None:
    with app.test_request_context(headers={"Accept-Language": "de"}):
        address = assets.sprite_url("goofspiel")
    with client.get(address) as answer:
        assert (answer.mimetype, answer.get_data(as_text=True)) == (
            "image/svg+xml",
            "<svg><title>Datenschutz</title></svg>",
        )
    assert client.get("/static/chess-de-00000000.svg").status_code == 404


@pytest.mark.usefixtures("game")
def test_a_file_of_a_package_is_kept_by_its_hash(app: Flask, client: FlaskClient) -> None:
    with app.test_request_context():
        address = assets.url("goofspiel", "picture.svg")
    with (
        client.get(address) as current,
        client.get(address.replace("/games/goofspiel/", "/games/goofspiel/0")) as old,
    ):
        assert (current.get_data(), current.mimetype) == (b"<svg/>", "image/svg+xml")
        assert current.headers["Cache-Control"] == "public, immutable, max-age=31536000"
        assert old.headers["Cache-Control"] == "no-cache"
    for name in ("../__init__.py", "%2e%2e/__init__.py", "..%2f__init__.py", "nothing.svg", "/etc/hostname"):
        assert client.get(f"/static/games/goofspiel/0/{name}").status_code == 404, name
    assert client.get("/static/games/chess/0/picture.svg").status_code == 404


def linked(client: FlaskClient, path: str) -> str:
    """Return the stylesheet of a page."""
    (found,) = re.findall(r'<link rel="stylesheet" href="([^"]+)"', shown(client, path))
    return str(found)


RULES = """
# Aim

Win <b>prizes</b> & [more](javascript:alert(1)), [here](https://example.org).

## Bids <script>alert(1)</script>

| bid | prize |
|---|---|
| 1 | `x` |
"""
DRAWN = """<h3>Aim</h3>
<p>Win &lt;b&gt;prizes&lt;/b&gt; &amp; [more](javascript:alert(1)), <a href="https://example.org">here</a>.</p>
<h4>Bids &lt;script&gt;alert(1)&lt;/script&gt;</h4>
<table>"""


@pytest.mark.usefixtures("game")
@pytest.mark.parametrize("where", ["class", "module"])
def test_the_long_rules_of_a_game_are_markdown(
    client: FlaskClient, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(games.rules_of("goofspiel"))
    monkeypatch.setattr(
        kind if where == "class" else sys.modules[kind.__module__], "RULES", RULES, raising=False
    )
    page = shown(client, "/rules/goofspiel")
    assert DRAWN in page
    assert "<td><code>x</code></td>" in page


# Which games are offered


@pytest.mark.usefixtures("package")
def test_the_setting_says_which_games_can_be_started_and_in_which_order(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = [rules.slug for rules in games.latest()]
    assert everything[:4] == ["byzanz", "empire", "byzantium", "goofspiel"]

    def offer(names: str) -> list[str]:
        monkeypatch.setitem(app.config, "BYZANZ", app.config["BYZANZ"].model_copy(update={"games": names}))
        return [rules.slug for rules in config.offered_games()]

    assert offer("") == everything
    assert offer("chess") == everything
    assert offer("goofspiel, Empire,chess,empire") == ["goofspiel", "empire"]
    assert config.game_warnings(app.config["BYZANZ"]) == [
        "BYZANZ_GAMES names games that are not installed: chess"
    ]
    assert re.findall(r'name="game" value="(\w+)"', shown(client, "/new")) == ["goofspiel", "empire"]
    assert "/rules/byzantium" not in shown(client, "/")
    assert shown(client, "/rules/byzantium"), "it may still be played"
    for slug, text in (
        ("byzanz", "There is no game “byzanz”; the games are: goofspiel, empire."),
        ("empire", ""),
    ):
        answer = client.post("/play", data={"game": slug})
        assert answer.status_code == (422 if text else 303)
        assert text in answer.text
    with pytest.raises(InvalidInput, match="the games are: goofspiel, empire"):
        validation.game_rules("byzantium")


def test_a_broken_package_is_one_line_and_the_others_play(
    app: Flask, package: Path, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    (package / "__init__.py").write_text("raise OSError('no\\nlibrary')")
    sys.modules.pop("goof_package", None)
    forget()
    line = "the game goofspiel of goof_package:Goofspiel cannot be played: OSError: no library"
    assert config.game_warnings(Settings()) == [line]
    assert any(str(each).count(line) for each in checks.machine_findings(app.config["BYZANZ"]) if not each.ok)
    with caplog.at_level(logging.WARNING):
        serve._prepare(app, lambda: None)
    assert [each.getMessage() for each in caplog.records].count(line) == 1
    assert client.get("/").status_code == 200
