"""Games of installed packages: found by their entry points, and nobody suffers from one that fails."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from byzanz import games
from byzanz.games import GROUP, broken, latest, read, rules_of
from byzanz.moves import BadSetup
from tests.support.folders import example

SHIPPED = [rules.slug for rules in games.SHIPPED]
GOOFSPIEL = Path(example("goofspiel").__file__ or "")


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin with the games that are shipped, and forget those that a test installs."""
    monkeypatch.setattr(games, "_added", [])
    yield
    games._installed.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **sources: str) -> None:
    """Install a package with one game for each source, by the name of its entry point."""
    monkeypatch.syspath_prepend(tmp_path)
    points = []
    for name, source in sources.items():
        (tmp_path / f"pack_{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, f"pack_{name}", raising=False)
        points.append(EntryPoint(name, f"pack_{name}:Goofspiel", GROUP))
    monkeypatch.setattr(games, "entry_points", lambda **_: points)
    games._installed.cache_clear()


def test_an_installed_game_comes_after_those_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, goofspiel=GOOFSPIEL.read_text())
    assert [rules.slug for rules in latest()] == [*SHIPPED, "goofspiel"]
    assert rules_of("goofspiel", 1).title == "Goofspiel"
    assert broken() == ()


def test_versions_of_an_installed_game_come_as_a_sequence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both = GOOFSPIEL.read_text().replace("class Goofspiel(", "class First(") + (
        "\n\nclass Second(First):\n    slug, version = 'goofspiel', 2\n\n\nGoofspiel = (First, Second)\n"
    )
    install(monkeypatch, tmp_path, goofspiel=both)
    assert rules_of("goofspiel").version == 2
    assert rules_of("goofspiel", 1).version == 1


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no\\nnetwork')", "RuntimeError: no network"),
        ("Goofspiel = 7", "TypeError: pack_other:Goofspiel is no class of rules"),
        (
            GOOFSPIEL.read_text().replace('"goofspiel", 1', '"empire", 1'),
            "ValueError: the slug “empire” is taken by Byzanz itself",
        ),
        (
            GOOFSPIEL.read_text().replace("def resolve(", "def solve("),
            "TypeError: The game Goofspiel lacks: resolve.",
        ),
        (
            "import sys\nclass Goofspiel: pass\nimport nowhere",
            "ModuleNotFoundError: No module named 'nowhere'",
        ),
    ],
)
def test_a_broken_package_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, reason: str
) -> None:
    install(monkeypatch, tmp_path, other=source, sound=GOOFSPIEL.read_text())
    assert [rules.slug for rules in latest()] == [*SHIPPED, "goofspiel"]
    (failed,) = broken()
    assert failed.name == "other"
    assert failed.reason.startswith(reason)


def test_the_second_of_two_packages_with_one_slug_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path, first=GOOFSPIEL.read_text(), second=GOOFSPIEL.read_text())
    assert [rules.slug for rules in latest()] == [*SHIPPED, "goofspiel"]
    (failed,) = broken()
    assert failed.name == "second"
    assert failed.reason == "ValueError: the slug “goofspiel” is taken by pack_first:Goofspiel"


def test_a_game_is_read_from_a_file_and_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "goof"
    folder.mkdir()
    (folder / "__init__.py").write_text("from goof.game import Goofspiel\n")
    (folder / "game.py").write_text(GOOFSPIEL.read_text())
    assert read(GOOFSPIEL).slug == read(folder).slug == "goofspiel"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "must hold one game; it holds 0"),
        ("from byzanz.games.empire import Empire", "must hold one game; it holds 0"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (None, "There is no file or folder"),
    ],
)
def test_a_file_without_a_game_is_refused(tmp_path: Path, source: str | None, reason: str) -> None:
    file = tmp_path / "mine.py"
    if source is not None:
        file.write_text(source)
    with pytest.raises(BadSetup, match=reason):
        read(file)
    sys.modules.pop("mine", None)


@pytest.mark.parametrize("name", ["random", "flask", "byzanz"])
def test_a_game_takes_the_place_of_no_other_module(tmp_path: Path, name: str) -> None:
    importlib.import_module(name)
    file = tmp_path / f"{name}.py"
    file.write_text(GOOFSPIEL.read_text())
    there = sys.modules[name]
    with pytest.raises(BadSetup, match=rf"{name}\.py has the name of another Python module; rename it\."):
        read(file)
    assert sys.modules[name] is there


def test_a_game_in_the_making_is_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "_added", [])
    module: ModuleType = example("goofspiel")
    games.add(module.Goofspiel())
    games.add(module.Goofspiel())
    assert [rules.slug for rules in latest()] == [*SHIPPED, "goofspiel"]

    class Other(module.Goofspiel):  # type: ignore[misc,name-defined]
        slug = "empire"

    with pytest.raises(BadSetup, match="already a game “empire”"):
        games.add(Other())
