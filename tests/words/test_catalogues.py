"""The catalogues contain every text in every language, and the check finds each kind of fault."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from babel.messages import Catalog

from server import i18n
from server.i18n import DEFAULT, NAMES
from server.store.facts import KEPT
from tests.words import __main__ as words
from tests.words import found
from tests.words.catalogues import faults, missing, read, update

OTHERS = [code for code in NAMES if code != DEFAULT]
HANDED_ON = {
    "byzanz/record/jsonl.py",
    "server/validation.py",  # repeats a message of the rules, with a form field
}
"""Places where an error is created from a text that is defined elsewhere."""


@pytest.fixture(scope="module")
def texts() -> Catalog:
    """Return every text of the project."""
    return found.texts()


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_translated_and_none_is_left_over(texts: Catalog, language: str) -> None:
    catalogue = read(i18n.catalogue_path(language), language)
    assert missing(catalogue, texts) == [], (
        "run `python3 dev.py words` and translate them (docs/languages.md)"
    )
    assert faults(catalogue, texts) == []


@pytest.mark.parametrize("language", OTHERS)
def test_letters_on_cards_differ(language: str) -> None:
    letters = [str(text.string) for text in i18n.catalogue(language) if text.context == "letter on a card"]
    assert len(letters) >= 6
    assert len(set(letters)) == len(letters)
    assert all(len(letter) <= 2 for letter in letters)


def test_every_refusal_is_a_sentence_that_is_found() -> None:
    """A call with anything but a string literal would stay English forever."""
    wrong = []
    kinds = dict.fromkeys(found.refusals(), 0) | {name: place[0] - 1 for name, place in found.KEEPING.items()}
    for path in found.code():
        name = str(path.relative_to(found.ROOT))
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and (place := kinds.get(_called(call))) is not None:
                said = call.args[place] if len(call.args) > place else None
                if (
                    not (isinstance(said, ast.Constant) and isinstance(said.value, str))
                    and name not in HANDED_ON
                ):
                    wrong.append(f"{name}:{call.lineno}")
    assert wrong == []


def _called(call: ast.Call) -> str:
    """Return the name of the called function; other objects' methods called `kept` do not count."""
    name = getattr(call.func, "attr", "")
    return getattr(call.func, "id", "" if name in found.KEEPING else name)


DECIDED = {
    "account/account.html": "account/account.py",
    "game/verified.html": "game/verify.py",
    "lobby/organiser.html": "lobby/organiser_page.py",
    "lobby/seat.html": "lobby/organiser_page.py",
    "lobby/your_games.html": "lobby/home.py",
    "moderation/desk.html": "moderation/view.py",
    "moderation/game.html": "moderation/view.py",
    "partials/seats.html": "lobby/organiser_page.py",
    "seat/keep.html": "seat/turn_page.py",
    "seat/outcome.html": "seat/orders.py",
    "seat/talk.html": "seat/turn_page.py",
    "seat/turn.html": "seat/turn_page.py",
}
"""Templates that say what a typed object has decided, and the module of `server/web` that marks its texts."""


def test_templates_mark_texts_and_not_what_they_have_looked_up() -> None:
    """`_(…)` of anything but a literal is not collected; N_ marks the texts nearby, or where they are decided."""
    looked_up = re.compile(r"(?<![\w.])(?:_|gettext)\(\s*(?![\"'\s])")
    wrong = set()
    for path in found.templates():
        text = path.read_text()
        if looked_up.search(text) and "N_(" not in text:
            wrong.add(str(path.relative_to(found.ROOT / "templates")))
    assert wrong == set(DECIDED)
    for module in DECIDED.values():
        assert "N_(" in (found.ROOT / "server" / "web" / module).read_text(), module


def test_what_is_kept_in_english_is_known(texts: Catalog) -> None:
    kept = {str(text.id) for text in texts if KEPT in text.auto_comments}
    assert "Nobody at this table answers any more." in kept
    assert "Passed for you: the price hit %(price)s, your limit was %(limit)s." in kept
    for language in OTHERS:
        assert {str(text.id) for text in i18n.catalogue(language) if KEPT in text.auto_comments} == kept


# ---- the check itself ----

HOUSE = {
    "byzanz/rules.py": 'raise IllegalMove("It is not your turn.")\nOrderAnswer(move, "Bid %(price)s for you.")\n'
    'Message("%(name)s wins.", told, who, "You win.")\nMessage("Nobody wins.")\n',
    "server/pages/door.py": '_("Come in, %(name)s.", name=name)\nkept("Nobody answers.")\n',
    "templates/door.html": '{{ ngettext("%(num)s card", "%(num)s cards", n) }}{{ pgettext("a list", " and ") }}',
    "templates/pages/style.css": '.door { content: _("no text") }',
}
"""A project with a text of each kind."""
WELL: dict[Any, Any] = {
    "It is not your turn.": "Je bent niet aan de beurt.",
    "Bid %(price)s for you.": "Voor je geboden: %(price)s.",
    "%(name)s wins.": "%(name)s wint.",
    "You win.": "Jij wint.",
    "Nobody wins.": "Niemand wint.",
    "Come in, %(name)s.": "Kom binnen, %(name)s.",
    "Nobody answers.": "Niemand antwoordt.",
    ("%(num)s card", "%(num)s cards"): ("%(num)s kaart", "%(num)s kaarten"),
    " and ": " en ",
}
"""Its translations, without faults."""


@pytest.fixture
def house(tmp_path: Path) -> Catalog:
    """The texts of that project."""
    for path, text in HOUSE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return found.texts(tmp_path)


def catalogue(said: Mapping[Any, Any] = MappingProxyType({}), without: Sequence[Any] = ()) -> Catalog:
    """Return the Dutch translations of that project.

    Args:
        said: different or additional translations.
        without: texts that are left out.
    """
    told = Catalog(locale="nl", fuzzy=False)
    for text, words_of_it in (WELL | dict(said)).items():
        if text not in without:
            told.add(text, words_of_it, context="a list" if text == " and " else None)
    return told


def test_a_house_that_is_well_has_no_faults(house: Catalog) -> None:
    assert {text.id for text in house if text.id} == set(WELL)
    assert {text.id for text in house if KEPT in text.auto_comments} == {
        "Bid %(price)s for you.",
        "Nobody answers.",
    }
    assert missing(catalogue(), house) == []
    assert faults(catalogue(), house) == []


@pytest.mark.parametrize(
    ("text", "words_of_it"),
    [
        ("It is not your turn.", None),
        ("It is not your turn.", ""),
        (("%(num)s card", "%(num)s cards"), ("%(num)s kaart", "")),
    ],
)
def test_a_missing_text_is_found(house: Catalog, text: str, words_of_it: object) -> None:
    told = catalogue(without=[text]) if words_of_it is None else catalogue({text: words_of_it})
    assert missing(told, house) == [text if isinstance(text, str) else text[0]]


def test_a_text_without_its_context_is_missing(house: Catalog) -> None:
    told = catalogue(without=[" and "])
    told.add(" and ", " en ")
    assert missing(told, house) == [" and  (a list)"]
    assert faults(told, house) == ["unused:  and "]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"Go away.": "Ga weg."}, "unused: Go away."),
        ({"Come in, %(name)s.": "Kom binnen."}, "other places to be filled: Come in, %(name)s."),
        ({"Come in, %(name)s.": "%(naam)s, kom."}, "other places to be filled: Come in, %(name)s."),
        ({"Come in, %(name)s.": "100% %(name)s"}, "other places to be filled: Come in, %(name)s."),
        (
            {"Come in, %(name)s.": "%(name)s %(name)s"},
            "other places to be filled: Come in, %(name)s.",
        ),
        ({" and ": "en"}, "other blanks at an end:  and  (a list)"),
        ({"Nobody answers.": "Niemand.\n"}, "other blanks at an end: Nobody answers."),
        (
            {("%(num)s card", "%(num)s cards"): ("een kaart", "kaarten")},
            "other places to be filled: %(num)s card",
        ),
        (
            {("%(num)s card", "%(num)s cards"): ("%(num)s kaart",)},
            "a form too few or too many: %(num)s card",
        ),
    ],
)
def test_a_fault_is_found(house: Catalog, said: dict[Any, Any], fault: str) -> None:
    assert set(faults(catalogue(said), house)) == {fault}


def test_a_guess_is_a_fault(house: Catalog) -> None:
    told = catalogue()
    told["Nobody answers."].flags.add("fuzzy")
    assert faults(told, house) == ["guessed: Nobody answers."]


def test_what_is_brought_up_to_date_keeps_its_words_and_stays(house: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "nl" / "messages.po"
    assert len(missing(update(path, "nl", house), house)) == len(WELL)
    first = path.read_text()
    assert "docs/languages.md" in first
    path.write_text(
        first.replace('msgid "Nobody answers."\nmsgstr ""', 'msgid "Nobody answers."\nmsgstr "Niemand."')
        + '\nmsgid "Gone"\nmsgstr "Weg"\n'
    )
    told = update(path, "nl", house)
    assert len(missing(told, house)) == len(WELL) - 1
    assert faults(read(path, "nl"), house) == []
    assert "Niemand." in path.read_text()
    assert "Weg" not in path.read_text()
    again = path.read_bytes()
    update(path, "nl", house)
    assert path.read_bytes() == again


def test_the_command_says_what_is_missing(
    house: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(i18n, "FOLDER", tmp_path / "translations")
    monkeypatch.setattr(words, "texts", lambda: house)
    assert words.main(["--check"]) == 1
    assert list((tmp_path / "translations").rglob("*.po")) == []
    assert words.main([]) == 0
    assert "Deutsch: 9 texts, 9 missing, 0 faults" in capsys.readouterr().out
    assert len(list((tmp_path / "translations").rglob("*.po"))) == len(OTHERS)
