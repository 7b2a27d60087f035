"""docs/new-game.md is complete and correct: a game made only from its code blocks is added, checked and played."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from types import ModuleType
from typing import Any

import html5lib
import pytest

from byzanz import games, record
from byzanz.bots.simulate import simulate_game
from byzanz.conformance import CHECKS, TABLE_CHECKS, Check, faults
from byzanz.conformance import Game as Played
from byzanz.moves import BadSetup, Move
from byzanz.rules import Rules
from server import config
from server.store import engine, links
from server.store.models import Game, Link
from tests.support.folders import ROOT
from tests.support.markup import assert_sound, forgotten, mark
from tests.support.pages import Page, look
from tests.support.whole_games import organise, play_to_the_end
from tests.support.world import Button, Form, PlainHand, Player, World, world

BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SLUG = "hippodrome"
RULES = f"byzanz/games/{SLUG}.py"
LIST = "byzanz/games/__init__.py"
LOOKS = f"templates/games/{SLUG}/"
DATA = re.compile(
    r"Byzanz|The Golden Horn|Alice|Bob|UTC|Berlin|[0-9a-f]{64}|drive 7|from the top|cut of \S+@example.org"
    r"|(Mon|Tue|Wed) \d+ Mar, \d\d:\d\d|\d+ Mar, \d\d:\d\d|\(Tue \d\d:\d\d\)"
)
"""Texts on the pages of this game that need no translation."""
Files = Mapping[str, str]


def files_of(text: str) -> dict[str, str]:
    """Return the blocks of a document that are files or additions to files, by path."""
    return dict(BLOCK.findall(text))


DOCUMENT = (ROOT / "docs" / "new-game.md").read_text()
FILES = files_of(DOCUMENT)


@contextmanager
def added(files: Files, folder: Path) -> Iterator[Rules[Any, Any]]:
    """Add a game as the document says, until the block ends.

    Args:
        files: what to add, by path.
        folder: for the new files and a copy of all templates.
    """
    shutil.copytree(config.TEMPLATES, folder / "templates")
    for path, text in files.items():
        if path != LIST:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "TEMPLATES", folder / "templates")
        patch.setattr(games, "__path__", [*games.__path__, str(folder / "byzanz" / "games")])
        try:
            patch.setattr(games, "_SHIPPED", changed(games, files[LIST])["_SHIPPED"])
            yield games.rules_of(SLUG)
        finally:
            sys.modules.pop(f"byzanz.games.{SLUG}", None)
            vars(games).pop(SLUG, None)


def changed(module: ModuleType, lines: str) -> dict[str, Any]:
    """Return the names of a module after these lines were added to it."""
    names = dict(vars(module))
    exec(lines, names)  # lines of our own document
    return names


@pytest.fixture
def game(tmp_path: Path) -> Iterator[Rules[Any, Any]]:
    """Return the game of the document, added."""
    with added(FILES, tmp_path) as rules:
        yield rules


def check_conformance(rules: Rules[Any, Any], checks: Sequence[Check] = (*CHECKS, *TABLE_CHECKS)) -> None:
    """Run the conformance suite on a game."""
    for seed in range(2):
        assert list(faults(Played(rules, 2, seed), checks)) == []


class Charioteer(Player):
    """Chooses a team and presses the button, after looking at everything there is to see."""

    server: World

    def play(self, address: str) -> None:
        """Play from the link of a turn email."""
        look_around(self.server)
        super().play(address)

    def _decide(self, form: Form) -> bool:
        assert form.boxes, "there is nothing to choose"
        assert self.hand.press(form, Button("verb", "drive"), [], {}) == 422
        assert self.hand.press(form, Button("verb", "drive"), ["13"], {}) == 422
        status = self.hand.press(form, Button("verb", "drive"), [self.chance.choice(form.boxes)], {})
        assert status == 200, self.hand.text()
        self.moves += 1
        return True


def pages(server: World) -> Iterator[tuple[str, Page]]:
    """Yield every page that draws something of the game."""
    with server.app.app_context(), engine.reading() as session:
        played = session.query(Game).one()
        doors = session.query(Link).filter_by(purpose="seat").all()
        seats = [f"/t/{links.token(link)}" for link in doors]
        table = f"/g/{played.id}"
        moments = [f"{door}/history?at={at}" for door in (*seats, table) for at in (1, played.head)]
    client = server.app.test_client()
    for path in (*seats, table, *moments, f"/rules/{SLUG}", "/", "/new"):
        yield path, look(client, path)
    with client.get(
        re.findall(r'rel="stylesheet" href="([^"]+)"', client.get(f"/rules/{SLUG}").text)[0]
    ) as looks:
        assert b".team{" in looks.get_data()


def look_around(server: World) -> None:
    """Check all pages for sound markup and untranslatable text, and the newest email for agreement of its parts."""
    check_mail(server.inbox.mails()[0].message)
    with pytest.MonkeyPatch.context() as patch:
        mark(patch)
        for path, page in pages(server):
            assert page.status == 200, path
            assert_sound(path, page)
            # These two name other games, too; their own tests know what is data there.
            assert path in ("/", "/new") or forgotten(page, DATA) == [], path


def race(database_url: str) -> record.Record:
    """Play a whole game between two friends, from the form to the result; return its verified record."""
    with world(database_url) as server:
        friends = {
            f"{name}@example.org": Charioteer(f"{name}@example.org", PlainHand(), random.Random(name))
            for name in ("alice", "bob")
        }
        for friend in friends.values():
            friend.server = server
        organise(server, dict(friends), SLUG)
        # No mail for a turn that its own move opened: five, if always the second to drive wins the lap.
        assert play_to_the_end(server, dict(friends))["turn"] >= 5
        look_around(server)
        assert all(friend.moves == 4 for friend in friends.values()), "the last team is driven by itself"
        with server.app.app_context(), engine.reading() as session:
            game_id = session.query(Game.id).scalar()
        check_story(look(server.app.test_client(), f"/g/{game_id}/history"), f"/g/{game_id}", server)
        exported = server.app.test_client().get(f"/api/v1/games/{game_id}/record").text
    [line] = record.read(exported)
    report = record.verify(line)
    assert report.replayed
    assert report.unchecked == 0
    return line


def check_story(history: Page, table: str, server: World) -> None:
    """Check that the history has five headings, one per lap, and that the public page has a chart with a table."""
    laps = [item for item in history.root.iter("details") if item.get("class") == "part"]
    heads = ["".join(item.itertext()) for lap in laps for item in lap.iter("h3")]
    assert heads == [f"Lap {lap}" for lap in range(1, 6)]
    finished = look(server.app.test_client(), table)
    assert "Laps won after each lap" in finished.text
    [rows] = [list(item) for item in finished.root.iter("tbody")]
    assert len(rows) == 5


def check_mail(message: EmailMessage) -> None:
    """Check that every line of the text of a turn email is in its HTML, and vice versa."""
    text, page = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert text is not None
    assert page is not None
    drawn = html5lib.parse(page.get_content(), namespaceHTMLElements=False)
    read = " ".join(" ".join(drawn.itertext()).split())
    said = text.get_content()
    for line in said.splitlines():
        assert not line.startswith("- ") or squeezed(line[2:]) in squeezed(read), line
    if "You can\n" in said.replace("\r\n", "\n"):
        assert re.search(r"^- Alice( \(you\))?: \d laps? won; \d teams? in hand", said, re.MULTILINE)
        assert re.search(r"^You can\r?\n- Drive team \d+", said, re.MULTILINE)


def squeezed(text: str) -> str:
    """Remove spaces and commas, because chips have none between them."""
    return re.sub(r"[\s,]", "", text)


def test_the_document_names_the_templates_that_it_has() -> None:
    named = re.findall(r"^\| `(\w+\.\w+)` \|", DOCUMENT, re.MULTILINE)
    assert {path for path in FILES if path.startswith(LOOKS)} == {LOOKS + name for name in named}
    assert set(FILES) >= {RULES, LIST}


def test_the_list_of_the_document_is_the_list_there_is_and_one_more(game: Rules[Any, Any]) -> None:
    written = re.findall(r"(\w+)\(\)", FILES[LIST])
    assert written == [type(rules).__name__ for rules in games._SHIPPED]
    names = re.search(r"_SHIPPED: .* = \((.*)\)", (ROOT / LIST).read_text())
    assert names
    assert [*re.findall(r"(\w+)\(\)", names[1]), type(game).__name__] == written


def test_the_game_keeps_the_contract(game: Rules[Any, Any]) -> None:
    check_conformance(game)


def test_its_simulated_games_verify_and_greed_pays(game: Rules[Any, Any]) -> None:
    wins = 0
    for number in range(200):
        bots = ["greedy", "random"] if number % 2 else ["random", "greedy"]
        played = simulate_game(game, 2, b"new game", number, bots)
        [kept] = record.read(record.write(played))
        assert record.verify(kept).replayed
        assert 8 <= sum(entry.by == "bot" for entry in kept.entries) <= 10
        wins += played.header.seats[played.result.winners[0]] == "greedy" if played.result else 0
    assert wins > 110


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("game")
def test_friends_play_it_by_the_links_in_their_mails(database_url: str) -> None:
    kept = race(database_url)
    assert (kept.header.game, kept.header.cuts) == (SLUG, ("from the top", "cut of bob@example.org"))
    assert [entry.by for entry in kept.entries] == ["chance", *["player"] * 8, *["rules"] * 2]


@pytest.mark.parametrize("command", [("ruff", "check"), ("ruff", "format", "--check")], ids=" ".join)
def test_its_rules_are_written_as_all_others(command: tuple[str, ...]) -> None:
    tool = Path(sys.executable).with_name(command[0])
    words = [str(tool), *command[1:], "--stdin-filename", RULES, "-"]
    said = subprocess.run(words, cwd=ROOT, input=FILES[RULES], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_its_rules_have_sound_types(tmp_path: Path) -> None:
    (tmp_path / f"{SLUG}.py").write_text(FILES[RULES])
    tool = Path(sys.executable).with_name("mypy")
    words = [
        str(tool),
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(tmp_path),
    ]
    words.append(str(tmp_path / f"{SLUG}.py"))
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def check_laps(rules: Rules[Any, Any]) -> None:
    """Return the winner of a lap, as step 1 of the document defines it."""
    for first, second, winner in (
        ("9", "10", 1),
        ("9", "8", 1),
        ("9", "7", 0),
        ("2", "12", 1),
        ("12", "1", 0),
    ):
        rest = tuple(team for team in ["3", "4", "5", "6", "11"])
        state = rules.state_type(((first, *rest[:2]), (second, *rest[2:])), (), (), 0, (0, 0))
        for seat, team in enumerate((first, second)):
            state = rules.apply(state, seat, Move("drive", (team,)))
        assert rules.scores(state) == (1 - winner, winner), (first, second)
        assert list(rules.awaited(state)) == [winner]


def test_a_lap_is_won_as_the_words_say(game: Rules[Any, Any]) -> None:
    check_laps(game)


FAULTS = [
    (RULES, "def sample_state", "def sample_stat", TypeError),
    (RULES, "hand if viewer in (seat, ALL) else None", "hand", AssertionError),
    (RULES, "int(ahead) - 1", "int(ahead) - 2", AssertionError),
    (LIST, ", Hippodrome()", "", BadSetup),
    (RULES, "len(view.driven) // 2 + 1, 5", "len(view.driven) // 2 + 1, 4", AssertionError),
    (LOOKS + "words.html", "macro waiting", "macro wating", AssertionError),
    (LOOKS + "words.html", "macro chart", "macro cart", AssertionError),
    (LOOKS + "form.html", 'name="card"', 'name="team"', AssertionError),
    (LOOKS + "table.html", '_("The track")', '"The track"', AssertionError),
    (LOOKS + "mail.html", "{{ words.option(move) }}", "", AssertionError),
]
"""Mistakes in the document, and the failure that each causes."""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "right", "wrong", "ends"), FAULTS, ids=[f"{path}: {wrong}" for path, _, wrong, _ in FAULTS]
)
def test_a_mistake_in_a_block_is_found(
    tmp_path: Path, database_url: str, path: str, right: str, wrong: str, ends: type[Exception]
) -> None:
    assert right in FILES[path]
    with pytest.raises(ends):
        everything(FILES | {path: FILES[path].replace(right, wrong)}, tmp_path, database_url)


@pytest.mark.nightly
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("path", sorted(FILES))
def test_a_missing_block_is_found(tmp_path: Path, database_url: str, path: str) -> None:
    with pytest.raises((AssertionError, KeyError, ModuleNotFoundError)):
        everything({name: text for name, text in FILES.items() if name != path}, tmp_path, database_url)


def everything(files: Files, folder: Path, database_url: str) -> None:
    """Run all checks on a game made of these files."""
    with added(files, folder) as rules:
        check_conformance(rules)
        check_laps(rules)
        race(database_url)
