"""`byzanz check` passes the games at hand, and finds each mistake in a game's rules, templates and records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from flask import Flask
from jinja2 import ChoiceLoader, DictLoader

from byzanz import games, record
from byzanz.bots.simulate import simulate_game
from byzanz.games import latest, rules_of
from byzanz.kit import check
from byzanz.kit.conformance import CHECKS, Check, Game, faults, name_of
from byzanz.moves import Order
from server import i18n
from server.cli import drawings, kit, main
from server.cli.drawings import READ, check_files
from tests.support.folders import EXAMPLES, ROOT, example

GOOFSPIEL = EXAMPLES / "goofspiel" / "goofspiel.py"
Goofspiel = example("goofspiel").Goofspiel
DRAWN = (*drawings.CHECKS.each, *drawings.CHECKS.table, *drawings.CHECKS.once)
MAIL = (
    "{% macro chips(cards) %}{% endmacro %}{% macro table(view, names, show) %}{% endmacro %}"
    "{% macro options(view, moves, out_of_turn, show) %}{% endmacro %}"
)
"""The macros that each mail.html has."""


@pytest.fixture(autouse=True)
def no_games_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the games that a test adds."""
    monkeypatch.setattr(games, "_added", [*games._added])


@pytest.fixture
def no_translations_are_kept() -> Iterator[None]:
    """Forget the translations of games before and after a test."""
    kept = (i18n.translations, i18n._of_package)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """Return the application of the command."""
    return kit._app(tmp_path_factory.mktemp("check"))


@pytest.fixture
def application(made: Flask) -> Iterator[Flask]:
    """Return the application inside a request, without templates of earlier tests."""
    drawings._strict.cache_clear()
    with made.test_request_context():
        yield made
    drawings._strict.cache_clear()


@pytest.fixture(scope="module")
def played() -> Game:
    """Return a game of Goofspiel."""
    game = Game(Goofspiel(), 2, 1)
    game.play()
    return game


@pytest.mark.usefixtures("application")
@pytest.mark.parametrize("slug", [rules.slug for rules in latest()])
def test_the_templates_of_shipped_games_pass(
    slug: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, nightly = rules_of(slug), pytestconfig.getoption("nightly")
    if not nightly:
        monkeypatch.setattr(drawings, "_POSITIONS", 1)
        monkeypatch.setattr(drawings, "_MOST_ORDERS", 10)
    for seats in rules.seats if nightly else rules.seats[:1]:
        assert list(faults(Game(rules, seats, 1), DRAWN)) == []


@pytest.mark.usefixtures("application")
def test_the_form_of_empire_passes_where_a_sealed_choice_can_still_be_changed() -> None:
    game = Game(rules_of("empire"), 2, 7)
    assert list(faults(game, (drawings.check_forms,))) == []


def test_a_game_in_a_file_passes_and_every_check_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(GOOFSPIEL), "--seats", "2", "--games", "1"]) == 0
    said = capsys.readouterr().out
    for each in (*CHECKS, *DRAWN):
        assert f"\nok    {name_of(each)} " in said
    assert "WRONG" not in said
    assert said.endswith("checks found no fault in 1 games of 2 players.\n")


TEMPLATES = [
    ("table.html", "{{ vieww.viewer }}", "tables", "'vieww' is undefined"),
    ("table.html", "{{ view.vieweer }}", "tables", "has no attribute 'vieweer' (<template>, line 1)"),
    ("table.html", "{% for it in view.lots %}{% endfor %}", "tables", "has no attribute 'lots'"),
    ("table.html", "{{ 1 // 0 }}", "tables", "ZeroDivisionError"),
    ("table.html", "<p>{{ view.question or none }}</p>", "tables", "there is the text “None”"),
    ("table.html", "<p>{{ names[0]|safe }}</p>", "tables", "the name of a player is not escaped"),
    ("table.html", "<div><p></div>", "tables", "</div> stands where </p> should"),
    ("table.html", "<div>", "tables", "<div> is not closed"),
    ("table.html", "<p id='a'></p><p id='a'></p>", "tables", "the id “a” is given twice"),
    ("table.html", "<p style='color: red'></p>", "tables", "the attribute style"),
    ("table.html", "<script></script>", "tables", "there is a script"),
    ("table.html", "<h2>The prizes</h2>", "marked texts", "the text “The prizes” outside of _()"),
    ("table.html", '<p title="prize"></p>', "marked texts", "the text “prize” outside of _()"),
    ("form.html", "", "forms", "offers seat 0 no move"),
    ("form.html", '<button name="move" value="bid 99">1</button>', "forms", "not a legal move"),
    ("form.html", '<button name="verb" value="bidd">1</button>', "forms", "verbs bidd, which no move has"),
    ("words.html", "{% macro about() %}{% endmacro %}", "words", "about of words.html says nothing"),
    ("words.html", "{% macro about() %}1{% endmacro %}", "words", "'waiting'"),
    ("news.html", "{% macro strips(told, view, names, me) %}{% endmacro %}", "told news", "'rest'"),
    ("mail.txt", "{{ names[1] }}&amp;", "mails", "signs of HTML"),
    ("mail.html", "{% macro chips(cards) %}{% endmacro %}", "mails", "'table'"),
    (
        "mail.html",
        f"{MAIL}{{% macro missed(view, move) %}}{{{{ move.deed }}}}{{% endmacro %}}",
        "mails",
        "'deed'",
    ),
    (
        "mail.html",
        f"{MAIL}{{% macro choice(move) %}}{{% endmacro %}}",
        "mails",
        "The macro choice of mail.html",
    ),
    (
        "mail.html",
        f"{MAIL}{{% macro events(view, names, told) %}}<b>{{% endmacro %}}",
        "mails",
        "<b> is not closed",
    ),
    ("result.html", "{{ winner }}", "results", "'winner' is undefined"),
    ("emblem.html", "<svg></svg>", "rules page", "no group with the id emblem-goofspiel"),
    ("rules.html", "{{ rules.titel }}", "rules page", "has no attribute 'titel'"),
    (
        "tabel.html",
        "",
        "files",
        "templates/tabel.html is no file that the server reads, and no other template takes",
    ),
    ("tabel.html", "", "files", "takes it in. Is it table.html?"),
    ("parts/fan.svg", "", "files", "takes it in."),
]


def look(
    application: Flask, game: Game, planted: Mapping[str, str], checks: Sequence[Check] = DRAWN
) -> dict[str, str]:
    """What the checks of templates find wrong if some of them are these."""
    games.add(game.rules)
    with pytest.MonkeyPatch.context() as patch:
        own = DictLoader({f"games/{game.rules.slug}/{name}": text for name, text in planted.items()})
        assert application.jinja_loader
        patch.setattr(application, "jinja_loader", ChoiceLoader([own, application.jinja_loader]))
        return {fault.check: fault.wrong for fault in faults(game, checks)}


def test_a_slug_comes_before_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "byzanz").mkdir()
    monkeypatch.chdir(tmp_path)
    assert check.load("byzanz") is rules_of("byzanz")


def test_the_plain_templates_pass(application: Flask, played: Game) -> None:
    assert look(application, played, {}) == {}


@pytest.mark.parametrize(("name", "text", "by", "said"), TEMPLATES)
def test_a_mistake_in_a_template_is_found(
    application: Flask, played: Game, name: str, text: str, by: str, said: str
) -> None:
    wrong = look(application, played, {name: text}, [it for it in DRAWN if name_of(it) == by])
    assert said in wrong[by]


@pytest.mark.parametrize(
    "line", ['{% include "games/goofspiel/fan.html" %}', '{% import "games/goofspiel/fan.html" as fan %}']
)
def test_a_template_that_another_takes_in_is_read(application: Flask, played: Game, line: str) -> None:
    assert (
        look(
            application, played, {"fan.html": "", "style.css": "a {#b {}}", "table.html": line}, [check_files]
        )
        == {}
    )


def test_a_file_outside_of_its_folder_is_found(tmp_path: Path, application: Flask) -> None:
    package = tmp_path / "goof"
    for name in ("__init__.py", "templates/table.html", "static/more.css", "template/form.html"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(GOOFSPIEL.read_text() if name == "__init__.py" else "")
    game = Game(check.load(str(package)), 2, 1)
    [fault] = faults(game, [check_files])
    assert (
        fault.wrong
        == "template/form.html lies outside of the folders templates/ and static/, so nobody reads it."
    )
    assert application


@pytest.mark.usefixtures("no_translations_are_kept")
def test_the_texts_that_a_catalogue_of_the_package_lacks_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "goof"
    for name, text in {
        "__init__.py": GOOFSPIEL.read_text(),
        "templates/emblem.html": '<svg><g id="emblem-goofspiel"></g></svg>'
        '{{ pgettext("a prize", "first") }}{{ _("He said “%(it)s\\n”", it="x") if false }}{{ _("Your hand") }}',
        "translations/de/LC_MESSAGES/messages.po": 'msgid "To come"\nmsgstr "Noch da"\n',
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(drawings, "_POSITIONS", 1)
    assert main(["check", str(package), "--seats", "2", "--games", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("Not translated into") == 1
    lacking = said.split("Not translated into Deutsch:\n")[1].splitlines()[:-1]
    assert '    msgid "Offered"' in lacking, "the name of a fact"
    assert '    msgid "You bid %(bid)s and win %(prizes)s."' in lacking, "what follows from a move"
    assert '    msgctxt "a prize"' in lacking
    assert '    msgid "He said “%(it)s\\n”"' in lacking, "it was never drawn"
    assert not any("To come" in line or "Your hand" in line for line in lacking)
    assert "get_translations" not in vars(i18n.DOMAIN), "nobody listens any more"


BROKEN = {
    "a file without an end": ("more.py", '"""', "The texts to translate cannot be collected"),
    "a template that is no text": ("templates/table.html", "\udcff", "UnicodeDecodeError"),
    "an unknown name of a text": ("templates/table.html", '{{ _({"a": "b"}["c"]) }}', "no attribute 'c'"),
    "a template without an end": ("templates/table.html", '{{ _("x" }}', "TemplateSyntaxError"),
}


@pytest.mark.parametrize(("name", "text", "said"), BROKEN.values(), ids=BROKEN)
@pytest.mark.usefixtures("no_translations_are_kept")
def test_a_broken_file_is_told_without_a_traceback(
    tmp_path: Path, name: str, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "goof"
    for path, content in {
        "__init__.py": GOOFSPIEL.read_text(),
        "translations/de/LC_MESSAGES/messages.po": 'msgid "To come"\nmsgstr "Noch da"\n',
        name: text,
    }.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(content, errors="surrogateescape")
    assert main(["check", str(package), "--seats", "2", "--games", "1"]) == 1
    assert said in capsys.readouterr().out


LEAVES = {
    "sys.exit(0)": ("def chance(self, state):", "SystemExit: 0 (goof.py, line "),
    "raise KeyError(state)": (
        "seats = property(lambda self: {}[0])\n    def chance(self, state):",
        "KeyError: 0",
    ),
}


@pytest.mark.parametrize("act", LEAVES)
def test_a_game_that_breaks_the_check_itself_is_told_in_one_line(
    tmp_path: Path, act: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head, said = LEAVES[act]
    path = tmp_path / "goof.py"
    path.write_text(f"{GOOFSPIEL.read_text()}\n    {head}\n        import sys\n        {act}\n")
    assert main(["check", str(path), "--games", "1"]) == 1
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == 1
    assert "Traceback" not in told.out
    assert main(["check", str(path), "--games", "1", "--traceback"]) == 1
    assert "Traceback" in capsys.readouterr().out


def test_a_position_that_cannot_be_shown_does_not_end_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "goof.py"
    path.write_text(f"{GOOFSPIEL.read_text()}\n    def question_of(self, state):\n        pass\n")
    path.write_text(path.read_text() + "\n    def view(self, state, viewer):\n        return {}[viewer]\n")
    assert main(["check", str(path), "--games", "1", "--seats", "2", "--at", "0"]) == 1
    said = capsys.readouterr().out
    assert "It cannot be shown any further: KeyError" in said
    assert "WRONG views" in said


def test_a_look_at_one_position_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = tmp_path / "goof.py", ["--seats", "2", "--at"]
    path.write_text(
        f"{GOOFSPIEL.read_text()}\n"
        "    def moves(self, state, seat):\n"
        "        found = super().moves(state, seat)\n"
        "        return found + found[:1] if len(state.position.to_come) == 5 else found\n"
    )
    assert main(["check", str(path), *words, "0"]) == 0
    summary, left_out = capsys.readouterr().out.splitlines()[-2:]
    assert "found no fault at position 0 in 1 games" in summary
    assert left_out.startswith("Faults at other positions are not shown: ")
    assert "listed is accepted (2 players, position " in left_out
    assert left_out.endswith("Each check stops at its first fault; leave out --at to see all of these.")
    assert main(["check", str(path), "--games", "1", "--seats", "2"]) == 1
    told = capsys.readouterr().out
    assert "other position" not in told
    again = re.search(r"--at (\d+)", told)
    assert again is not None
    assert main(["check", str(path), *words, again[1]]) == 1
    assert f" found a fault at position {again[1]} in 1 games" in capsys.readouterr().out
    path.write_text(GOOFSPIEL.read_text())
    assert main(["check", str(path), *words, "3"]) == 0
    assert capsys.readouterr().out.endswith("\nNo check found a fault at another position.\n")


def test_the_move_that_is_played_for_the_absent_is_told_without_looking_for_cards(application: Flask) -> None:
    """`take spice` names a pile of the market, which the mail once looked up as a card."""
    told = drawings.module(rules_of("byzanz"), "mail.html").missed
    for move in ("take spice", "take merchant", "pass", "done", "tax grain1", "sell wood1 wood2 wood3"):
        state = rules_of("byzanz").setup(4, {})
        assert str(told(rules_of("byzanz").view(state, 0), move)).strip()
    told = drawings.module(rules_of("empire"), "mail.html").missed
    state = rules_of("empire").setup(2, {})
    for move in ("redraw", "decline", "meld", "respond", "accept"):
        assert str(told(rules_of("empire").view(state, 0), move)).strip()
    assert application


def test_the_document_lists_the_files_that_are_read() -> None:
    document = (ROOT / "docs/game-templates.md").read_text()
    assert set(re.findall(r"^\| `([\w.]+\.(?:html|txt|css|svg))`", document, re.MULTILINE)) == set(READ)


class TakesOrders(Goofspiel):  # type: ignore[misc, valid-type]
    """Standing orders without templates."""

    def parse_order(self, text: str) -> Order:
        return Order(str(self.parse(text)), "bid")


def test_the_plain_templates_draw_orders_as_they_are_written(application: Flask) -> None:
    assert look(application, Game(TakesOrders(), 2, 1), {}) == {}


MISTAKES = {
    'str(asked[asks]) if asks in asked else ""': ('""', "views", "says that its viewer is asked “”"),
    "if not self._is_open(state, seat):": (
        "if move.args == ('unicorn',):\n            {}[seat]\n        if not self._is_open(state, seat):",
        "refusals",
        "KeyError: 0 (mistaken.py, line ",
    ),
    "tuple([Move(self.verb, (card,)) for card in self.held(state.position, seat)])": (
        "tuple({str(card): Move(self.verb, (card,)) for card in {*self.held(state.position, seat)}}.values())",
        "restart",
        "does it use the order of a set?",
    ),
}
"""Mistakes in the base class of the game, copied into its file."""


def mistaken(folder: Path, right: str, wrong: str) -> Path:
    """Write a game with a mistake into a file."""
    base = Path(games.__file__).with_name("sealed.py").read_text()
    assert right in base
    game = GOOFSPIEL.read_text().replace('"goofspiel"', '"mistaken"').partition("CARDS =")[2]
    file = folder / "mistaken.py"
    imports = "from dataclasses import replace\nfrom byzanz.chance import shuffled\n"
    file.write_text(base.replace(right, wrong) + f"\n{imports}CARDS =" + game)
    return file


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_is_told_with_the_command_that_shows_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str
) -> None:
    wrong, by, said = MISTAKES[right]
    file = mistaken(tmp_path, right, wrong)
    assert main(["check", str(file), "--seats", "2", "--games", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"WRONG {by} "))
    assert said in lines[at + 1]
    assert "Traceback" not in "".join(lines)
    assert "byzanz check " in lines[at + 2]
    if by != "views":  # one is enough
        return
    again = lines[at + 2].partition("byzanz check ")[2].split()
    games._added.clear()
    assert main(["check", *again, "--traceback"]) == 1
    shown = capsys.readouterr().out
    assert "View of seat 0\n  viewer: 0\n" in shown
    assert "Seat 0 is asked “bid 1”; legal: bid 1, bid 2, " in shown
    assert "Played next: bid " in shown
    assert f"WRONG {by} " in shown
    assert "Traceback" in shown


def test_the_records_of_a_package_must_replay(tmp_path: Path) -> None:
    package = tmp_path / "goof"
    (package / "records").mkdir(parents=True)
    (package / "__init__.py").write_text(GOOFSPIEL.read_text())
    rules = check.load(str(package))
    game = Game(rules, 2, 1)
    kept = package / "records" / "first.jsonl"
    kept.write_text(record.write(simulate_game(rules, 2, b"kept", 0, ["random"])))
    assert list(faults_of(game)) == []
    text = kept.read_text()
    kept.write_text(text.replace('"reason":"finished"', '"reason":"fallen"'))
    [fault] = faults_of(game)
    assert "first.jsonl, record 1: " in fault
    assert "the result is" in fault


def faults_of(game: Game) -> list[str]:
    """What is wrong with the records of a game's package."""
    return [fault.wrong for fault in faults(game, [check.check_kept_records])]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "chess"], "There is no game “chess”"),
        (["check", "no-such-file.py"], "There is no file or folder "),
        (["check", "./nothing"], "There is no file or folder "),
        (["check", "byzantium", "--seats", "9"], "Byzantium is for 2 to 4 players"),
        (["check", "byzantium", "--seats", "2", "--at", "9999"], "the game has the positions 0 to "),
    ],
)
def test_what_cannot_be_checked_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.setattr(check, "faults", lambda *_: [])
    assert main(words) in (1, 2)
    printed = capsys.readouterr()
    assert said in printed.err
    assert len(printed.err.splitlines()) == 1
