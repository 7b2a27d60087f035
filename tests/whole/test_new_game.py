"""docs/new-game.md is complete and correct: its commands and files, followed in order, make a game that people play."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from byzanz import games, record
from byzanz.rules import Rules
from server.store import engine
from server.store.models import Game
from tests.support import author
from tests.support import new_game_document as document
from tests.support.folders import ROOT
from tests.support.live_server import PlainHand, Player, live_server, organise, play_to_the_end
from tests.support.pages import assert_sound, look

SLUG = "toll"
ONE_TABLE = """\
#!/bin/sh
[ "$1" = check ] && set -- "$@" --games 1 --seats 3
exec {python} -P -m server.cli "$@"
"""
"""The command, which checks one table, so that it takes seconds."""


def document_environment(folder: Path) -> dict[str, str]:
    """Return the variables of the document's commands, with a checkout instead of an installed wheel."""
    variables = author.environment(folder)
    (folder / "bin/byzanz").write_text(ONE_TABLE.format(python=folder / "bin/python"))
    return variables


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that somebody has who followed the document."""
    folder = tmp_path_factory.mktemp("new-game")
    return document.follow(document.DOCUMENT.read_text(), folder, document_environment(folder / "env"))


@pytest.fixture
def game(project: Path, monkeypatch: pytest.MonkeyPatch) -> Rules[Any, Any]:
    """Return the game of the document, added to this process; a module of its name comes back afterwards."""
    monkeypatch.setitem(sys.modules, SLUG, None)
    rules = games.read(project / SLUG)
    monkeypatch.setattr(games, "_added", [rules])
    return rules


class Traveller(Player):
    """Plays a card that the page offers, or orders once and for all to play the lowest."""

    def __init__(self, address: str, orders: bool) -> None:
        super().__init__(address, PlainHand(), random.Random(address))
        self.orders = orders

    def play(self, address: str) -> None:
        """Answer a turn email on the pages behind its link."""
        if not self.orders:
            assert self.hand.open(address) == 200
            form = next(form for form in self.hand.forms() if "seen" in form.hidden)
            self._press(form, self.chance.choice([it for it in form.buttons if it.name == "move"]))
            return
        assert self.moves == 0, "the order answers"
        assert self.hand.open(f"{address}/orders") == 200
        typed = next(form for form in self.hand.forms() if "order" in form.hidden)
        assert self.hand.press(typed, typed.buttons[-1], [], {"order": "lowest"}) == 422
        assert "Write an order like this: play lowest." in self.hand.text()
        typed = next(form for form in self.hand.forms() if "order" in form.hidden)
        assert self.hand.press(typed, typed.buttons[-1], [], {"order": "order Play  lowest"}) == 200
        place = next(form for form in self.hand.forms() if form.buttons[-1].value == "leave")
        self._press(place, place.buttons[-1])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("game")
def test_friends_play_it_by_the_links_in_their_emails(database_url: str) -> None:
    with live_server(database_url) as server:
        friends: dict[str, Player] = {
            f"{name}@example.org": Traveller(f"{name}@example.org", orders=name == "alice")
            for name in ("alice", "bob")
        }
        organise(server, friends, SLUG)
        play_to_the_end(server, friends)
        with server.app.app_context(), engine.reading() as session:
            game_id = session.query(Game.id).scalar()
        client = server.app.test_client()
        for path in (f"/g/{game_id}", f"/g/{game_id}/history?at=9", f"/rules/{SLUG}", "/", "/new"):
            page = look(client, path)
            assert page.status == 200, path
            assert_sound(path, page)
        history = look(client, f"/g/{game_id}/history").text
        assert all(f"Gate {number}" in history for number in range(1, 8))
        assert len(list(look(client, f"/g/{game_id}").root.iter("tr"))) == 8
        german = client.get(f"/g/{game_id}/history?at=9", headers={"Accept-Language": "de"}).text
        assert 'aria-label="Tor ' in german
        assert "<dt>Noch vor euch</dt>" in german
        [kept] = record.read(client.get(f"/api/v1/games/{game_id}/record").text)
    assert record.verify(kept).unchecked == 0
    assert {entry.by for entry in kept.entries if entry.seat == 0} == {"order", "rules"}
    assert {entry.by for entry in kept.entries if entry.seat == 1} == {"player", "rules"}
    lowest = [f"play {number}" for number in range(1, 8)]
    assert [entry.move for entry in kept.entries if entry.seat == 0] == lowest


def test_its_code_is_sound(project: Path) -> None:
    file = str(project / SLUG / "__init__.py")
    style = [
        str(Path(sys.executable).with_name("ruff")),
        "check",
        "--ignore",
        "I001,ARG002",
        "--stdin-filename",
        "x.py",
    ]
    done = subprocess.run(
        [*style, "-"], cwd=ROOT, input=Path(file).read_text(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.nightly
def test_its_code_has_sound_types(project: Path, tmp_path: Path) -> None:
    tool = Path(sys.executable).with_name("mypy")
    words = [str(tool), "--strict", "--cache-dir", str(tmp_path), str(project / SLUG)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


MISTAKES = [
    ("byzanz play ./toll --watch", "byzanz play ./tolls --watch", "There is no file or folder"),
    ("card that only one seat has played", "card that one seat has played", "not what the document shows"),
]
"""Mistakes in the document, and what is said of each."""


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES)
def test_a_mistake_in_the_document_is_found(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    text = document.DOCUMENT.read_text().split("All seats choose")[0]
    assert right in text
    with pytest.raises(AssertionError, match=said):
        document.follow(text.replace(right, wrong), tmp_path, document_environment(tmp_path / "env"))
