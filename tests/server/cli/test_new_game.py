"""`byzanz new-game`: the package that it writes, and the names and places that it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from byzanz import games
from byzanz.kit.conformance import CHECKS, Game, faults
from server.cli import main


@pytest.fixture(autouse=True)
def no_game_stays_imported() -> Iterator[None]:
    """Forget the modules of new games: where one is imported, no other may have its name."""
    yield
    for slug in ("harbour", "rowing"):
        sys.modules.pop(slug, None)


def test_a_new_game_is_written_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-game", "harbour"]) == 0
    told = "Your game is in harbour. Play it:\n  cd harbour\n  byzanz play ./harbour --watch\n"
    assert capsys.readouterr() == (told, "")
    files = {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*.*")}
    folder = "harbour/"
    assert set(files) == {
        folder + name for name in ("README.md", "pyproject.toml", "harbour.py", "tests/test_harbour.py")
    }
    assert 'harbour = "harbour:Harbour"' in files["harbour/pyproject.toml"]
    assert "toll" not in "".join(files.values()).lower()


@pytest.mark.parametrize("slug", ["abbey", "zebra"])
def test_the_code_of_a_new_game_needs_no_tidying_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-game", slug]) == 0
    ruff = [
        str(Path(sys.executable).with_name("ruff")),
        "check",
        "--isolated",
        "--no-cache",
        "--line-length=120",
    ]
    done = subprocess.run(
        [*ruff, "--select=E,F,I,B,UP,RUF", "."],
        cwd=tmp_path / slug,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_only_one_test_of_a_new_game_is_about_the_rules_that_it_starts_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-game", "harbour"]) == 0
    rules = tmp_path / "harbour/harbour.py"
    rules.write_text(rules.read_text().replace("CARDS", "SHIPS"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=rules.parent, capture_output=True, text=True, check=False)
    assert "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("slug", ["harbour", "rowing"])
def test_a_new_game_is_sound_whatever_its_games_bring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-game", slug]) == 0
    rules = games.read(tmp_path / slug / f"{slug}.py")
    monkeypatch.delitem(sys.modules, slug)
    checks = [check for check in CHECKS if check.__name__ in {"check_worlds", "check_views"}]
    assert len(checks) == 2
    for seed in range(8):
        found = faults(Game(rules, seats=2, seed=seed), checks)
        assert [fault.wrong for fault in found] == [], seed


REFUSED = [
    ("Harbour", ".", 2, "'Harbour' cannot be the name of a game: use 2 to 20 lower-case letters and digits"),
    ("a", ".", 2, "cannot be the name"),
    ("two-words", ".", 2, "cannot be the name"),
    ("../harbour", ".", 2, "cannot be the name"),
    ("x" * 21, ".", 2, "cannot be the name"),
    ("empire", ".", 1, "there is already a game 'empire'"),
    ("random", ".", 1, "there is already a Python module 'random'; choose another name"),
    ("class", ".", 1, "'class' is a word of Python; choose another name"),
    ("harbour", ".", 1, "harbour exists already"),
    ("harbour", "nowhere", 1, "there is no folder nowhere"),
]


@pytest.mark.parametrize(("slug", "into", "status", "reason"), REFUSED)
def test_a_name_or_place_that_will_not_do_is_refused_and_nothing_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    slug: str,
    into: str,
    status: int,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harbour").mkdir()
    assert main(["new-game", slug, "--into", into]) == status
    said = capsys.readouterr()
    assert (said.out, reason in said.err, said.err.count("\n")) == ("", True, 1)
    assert [path.name for path in tmp_path.rglob("*")] == ["harbour"]
