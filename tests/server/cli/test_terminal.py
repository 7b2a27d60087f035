"""`byzanz play`: a whole game in the terminal, from piped lines, and nothing hidden on the screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from byzanz.games import latest
from byzanz.kit.terminal import Files, Terminal
from server.cli import main
from tests.support.folders import EXAMPLES

GOOFSPIEL = str(EXAMPLES / "goofspiel" / "goofspiel.py")
Play = Callable[..., tuple[int, str, str]]


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Play with these words and these lines of input; return the status, the output and the standard error."""

    def played(*words: str, lines: tuple[str, ...] = ()) -> tuple[int, str, str]:
        typed = tmp_path / "typed"
        typed.write_text("".join(f"{line}\n" for line in lines))
        with typed.open() as stdin, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", stdin)
            status = main(["play", *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return played


@pytest.mark.parametrize("game", [*(rules.slug for rules in latest()), GOOFSPIEL])
def test_a_game_is_played_to_its_end_by_numbers(terminal: Play, game: str) -> None:
    status, out, error = terminal(game, "--seed", "a", "--bot", "random", lines=("1",) * 600)
    assert (status, error) == (0, "")
    end = out.split("\nThe game is over")[1].splitlines()
    places = [re.fullmatch(r" +(\d)\. (You|Seat \d \(random bot\)): -?\d+", line) for line in end[1:]]
    assert len(places) >= 2
    assert all(places)
    assert places[0] is not None
    assert places[0][1] == "1"


def test_the_same_seed_gives_the_same_game_and_another_seed_another(terminal: Play) -> None:
    one, two, other = (
        terminal(GOOFSPIEL, "--seed", seed, "--bot", "random", lines=("1",) * 13)[1] for seed in "aab"
    )
    assert one == two
    assert one[60:] != other[60:]


def test_moves_are_typed_as_in_an_email_and_taken_back(terminal: Play) -> None:
    lines = ("undo", "B 4", "?", "undo", "bid 14", "9999", "bid 5", "", "quit", "bid 6")
    status, out, _ = terminal(GOOFSPIEL, "--seats", "3", "--seat", "1", lines=lines)
    screens = out.split("> ")
    assert status == 0
    assert len(screens) == 1 + lines.index("quit") + 1
    assert screens[1] == "You have not moved yet.\n"
    bids = (
        r"Seat 0 \(greedy bot\): bid \d+\nSeat 2 \(greedy bot\): bid \d+\nYou: bid 4\n  (.*\.)\n\n  offered "
    )
    told = re.match(bids, screens[2])
    assert told
    assert re.match(r"You bid 4 and win \d+\.|Seat \d \(greedy bot\) bids \d+ and wins|Tie at ", told[1])
    assert "undo   take your last move back" in screens[3]
    assert "In thirteen rounds all bid" in screens[3]
    assert "bid 4 " in screens[4]
    assert screens[5].startswith("There is no 14 here.")
    assert screens[6].startswith("The list has the moves 1 to 13.")
    assert "You: bid 5\n" in screens[7]
    assert "You: bid 5\n" not in screens[8]
    assert "  You: last 5;" in screens[8]


def test_what_followed_is_told_of_every_game(terminal: Play) -> None:
    _, out, _ = terminal("byzanz", "--seed", "a", lines=("pass", "pass", "pass"))
    assert re.search(r"Seat \d \(greedy bot\): bid .*\n  Seat \d \(greedy bot\) bids \d+: ", out)


def test_hundreds_of_moves_come_in_pages(terminal: Play) -> None:
    screens = terminal("empire", "--seed", "a", lines=("more",) * 5)[1].split("> ")
    numbers = [re.findall(r"^ +(\d+) redraw", screen, re.MULTILINE) for screen in screens[:6]]
    assert [len(page) for page in numbers[:5]] == [40] * 4 + [32]
    assert "     and 152 more: type more" in screens[0]
    assert "more: type" not in screens[4]
    assert numbers[5] == numbers[4]


def test_the_end_of_the_input_ends_the_game_quietly(terminal: Play) -> None:
    status, out, error = terminal(GOOFSPIEL)
    assert (status, error) == (0, "")
    assert out.endswith("> \n")


def test_ctrl_c_ends_the_game_quietly(terminal: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_terminal: Terminal, _line: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Terminal, "_answer", interrupted)
    status, out, error = terminal(GOOFSPIEL, "--watch", lines=("1",))
    assert (status, error) == (130, "")
    assert out.endswith("> ")


def test_the_screen_shows_nothing_hidden(terminal: Play) -> None:
    _, goofspiel, _ = terminal(GOOFSPIEL)
    assert "Seat 1 (greedy bot): choices sealed; scores 0" in goofspiel
    assert "Seat 1 (greedy bot): bid" not in goofspiel
    assert "to come" in goofspiel
    assert "shuffle deal\n" in goofspiel
    _, empire, _ = terminal("empire")
    [other] = re.findall(r"^  Seat 1 .*?\nYour hand", empire, re.MULTILINE | re.DOTALL)
    assert "; hand sizes" in other
    assert "hands" not in other


REFUSED = [
    (["chess"], 1, "There is no game “chess”; the games are: byzanz, "),
    (["./chess"], 1, "There is no file or folder "),
    (["./chess.py"], 1, "There is no file or folder "),
    (["."], 1, " is no Python file and no package."),
    (["byzanz", "--seats", "9"], 1, "Byzanz is for 3–6 players, not 9."),
    (["empire", "--seat", "2"], 1, "there is no seat 2; the seats are 0 to 1"),
    (["empire", "--bot", "clever"], 1, "There is no bot “clever”; the bots are: greedy, random, search."),
    (["empire", "--seat", "-1"], 2, "must be a seat number from 0"),
    (["empire", "--watch"], 2, "--watch needs the path of the game's file or folder, such as ./mine.py"),
]


@pytest.mark.parametrize(
    ("words", "status", "reason"), REFUSED, ids=lambda it: " ".join(it) if isinstance(it, list) else None
)
def test_what_cannot_be_played_is_told_in_one_line(
    terminal: Play, words: list[str], status: int, reason: str
) -> None:
    ended, out, error = terminal(*words)
    assert (ended, out) == (status, "")
    assert reason in error
    assert error.count("\n") == 1


def edited(monkeypatch: pytest.MonkeyPatch, file: Path, edits: list[tuple[str, str] | None]) -> None:
    """Replace a text in the file before each line of input; None leaves it alone."""
    changed = Files.changed

    def edit(files: Files) -> bool:
        change = edits.pop(0) if edits else None
        if change:
            file.write_text(file.read_text().replace(*change))
        return changed(files)

    monkeypatch.setattr(Files, "changed", edit)


@pytest.mark.parametrize("last", ["q", "quit"])
def test_a_game_is_left_with_a_letter_or_a_word(terminal: Play, last: str) -> None:
    status, out, _ = terminal(GOOFSPIEL, lines=("?", last, "1"))
    assert (status, out.count("> ")) == (0, 2)
    assert "q      end the game" in out


@pytest.mark.parametrize("is_package", [False, True])
def test_a_game_keeps_its_name_when_its_file_becomes_a_folder(
    terminal: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_package: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "goof/templates").mkdir(parents=True)
    file = tmp_path / ("goof/__init__.py" if is_package else "goof.py")
    file.write_text(Path(GOOFSPIEL).read_text())
    status, out, _ = terminal("./goof", "--watch", lines=("q",))
    assert status == 0
    assert out.startswith("Goofspiel for 2 ")


@pytest.mark.parametrize("is_package", [False, True])
def test_a_changed_game_is_reloaded_and_the_moves_played_again(
    terminal: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_package: bool
) -> None:
    path = file = tmp_path / "goof.py"
    if is_package:
        path = tmp_path / "goof"
        path.mkdir()
        (path / "__init__.py").write_text("from goof.rules import Goofspiel\n")
        file = path / "rules.py"
    file.write_text(Path(GOOFSPIEL).read_text())
    edits = [
        None,
        ("prize * (seat == winner)", "prize * 0"),
        ("prize * 0", "1 / 0"),
        ("1 / 0", "100"),
        ("100", "100)"),
        ("100)", "100"),
        ("100", "200"),
        ("range(1, 14)", "range(7, 14)"),
    ]
    edited(monkeypatch, file, edits)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    lines = ("bid 1", "", "quit")
    _, out, _ = terminal(str(path), "--watch", "--seed", "a", lines=lines)
    assert out.count("\nReloaded.\n") == 4
    assert "  You: last 1; scores 0" in out
    assert "ZeroDivisionError: division by zero" in out
    assert "  You: last 1; scores 100" in out
    assert "  You: last 1; scores 200" in out
    assert "SyntaxError: closing parenthesis ')'" in out
    assert "The game goes on as it was.\n" in out
    assert "The moves so far no longer fit (“bid 1” is not possible." in out
    assert out.endswith("> ")
    assert "last none" in out.split("The game starts again.")[1]
