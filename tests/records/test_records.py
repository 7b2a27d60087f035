"""Every recorded game replays bit for bit, and any change of play is detected at its entry."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from byzanz.bots.simulate import simulate_game
from byzanz.games import latest, rules_of
from byzanz.games.byzantium.rules import Byzantium
from byzanz.games.byzantium.state import State
from byzanz.moves import BadSetup, IllegalMove, Move
from byzanz.record import Record, read, write
from byzanz.rules import Rules
from tests.records import shelf
from tests.records.__main__ import FEWEST, add, check_all, main, played_over, rehash
from tests.records.replay import NEW_FORMAT, NEW_VERSION, Changed
from tests.records.shelf import FOLDER, Unreadable
from tests.records.sights import GAMES, MOMENTS, sights
from tests.support.sealed_game import Sealed

ROOT = Path(__file__).parents[2]
GAME = "byzantium/2-people-a-move-taken-back"
OTHER = "byzanz/3-people-abandoned-before-a-move"


# The games of this project


def test_every_game_replays_and_none_is_missing() -> None:
    finding = check_all(FOLDER)
    assert finding.faults == []
    assert finding.games.total() >= FEWEST


@pytest.mark.parametrize(
    "seed",
    [
        "0",
        pytest.param("1", marks=pytest.mark.nightly),
        pytest.param("2", marks=pytest.mark.nightly),
        "4294967295",
    ],
)
def test_every_game_replays_however_texts_are_hashed(seed: str) -> None:
    """The order of a set must show nowhere; each Python process orders the same strings differently."""
    command = [sys.executable, "-m", "tests.records", "check"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, ""), said.stderr
    assert " 0 faults" in said.stdout


def listed_records() -> dict[tuple[str, str], str]:
    """Return what the README of the folder says: which game shows what."""
    text = (FOLDER / "README.md").read_text()
    found = re.findall(r"^\| (\w+) \| (.+?) \| `([^`]+)` \|$", text, re.MULTILINE)
    return {(game, what): name for game, what, name in found}


def test_the_readme_names_a_game_for_every_rare_path_and_it_shows_it() -> None:
    named = listed_records()
    assert set(named) == {*MOMENTS, *GAMES}
    seen = {name: sights(shelf.load(FOLDER / f"{name}.jsonl")[0]) for name in set(named.values())}
    assert [row for row, name in named.items() if row not in seen[name]] == []


# Faults planted in the rules


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A folder with two short recorded games."""
    for name in (GAME, OTHER):
        (tmp_path / name).parent.mkdir()
        for ending in (".jsonl", ".hashes"):
            shutil.copy(FOLDER / f"{name}{ending}", tmp_path / f"{name}{ending}")
    return tmp_path


def with_rules(rules: Rules[Any, Any]) -> Callable[[str, int | None], Rules[Any, Any]]:
    """Return `rules_of` with the rules of one game replaced."""

    def find(slug: str, version: int | None = None) -> Rules[Any, Any]:
        return rules if slug == rules.slug else rules_of(slug, version)

    return find


class Dearer(Byzantium):
    def scores(self, state: State) -> tuple[int, ...]:
        return tuple(2 * points for points in super().scores(state))


class Stricter(Byzantium):
    def apply(self, state: State, seat: int | None, move: Move) -> State:
        if move.verb == "put" and move.args[2] == "s":
            raise IllegalMove("Nobody goes south.")
        return super().apply(state, seat, move)


class Crashing(Byzantium):
    def apply(self, state: State, seat: int | None, move: Move) -> State:
        return super().apply(state, {0: 0, None: None}[seat], move)


class Narrower(Byzantium):
    def moves(self, state: State, seat: int) -> tuple[Move, ...]:
        return super().moves(state, seat)[:3]


class Otherwise(Byzantium):
    def apply(self, state: State, seat: int | None, move: Move) -> State:
        after = super().apply(state, seat, move)
        return replace(after, kitty=after.kitty[::-1])


FAULTS: list[tuple[Rules[Any, Any], str]] = [
    (Dearer(), "the moves open after it, or the scores, are others"),
    (Stricter(), "IllegalMove: Nobody goes south."),
    (Crashing(), "KeyError: 1"),
    (Narrower(), "the moves open after it, or the scores, are others"),
    (Otherwise(), "the state after it is another"),
]


@pytest.mark.parametrize(("rules", "reason"), FAULTS, ids=lambda item: type(item).__name__)
def test_a_change_of_play_is_found_at_its_entry_and_asks_for_a_new_version(
    few: Path, rules: Rules[Any, Any], reason: str
) -> None:
    (fault,) = played_over(few, with_rules(rules)).faults
    assert fault.startswith(f"{few / GAME}.jsonl: entry ")
    assert reason in fault
    assert NEW_VERSION in fault
    assert (NEW_FORMAT in fault) == isinstance(rules, Otherwise)
    seq, move = re.findall(r": entry (\d+), “(.+?)”", fault)[0]
    entry = shelf.load(few / f"{GAME}.jsonl")[0].entries[int(seq) - 1]
    assert entry.move.startswith(move)
    assert f" of seat {entry.seat}" in fault or entry.seat is None


def test_the_command_names_file_entry_and_move(
    few: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shelf, "FOLDER", few)
    apply = Byzantium.apply

    def stricter(self: Byzantium, state: State, seat: int | None, move: Move) -> State:
        if move.args[1:] == ("on", "s"):
            raise IllegalMove("Nobody goes south.")
        return apply(self, state, seat, move)

    monkeypatch.setattr(Byzantium, "apply", stricter)
    assert main(["check"]) == 1
    told = capsys.readouterr()
    assert re.search(rf"{GAME}\.jsonl: entry \d+, “put \w+ on s” of seat \d: .*{NEW_VERSION}", told.err)
    assert "2 games replayed" in told.out


def test_a_version_that_is_no_longer_registered_is_missed(few: Path) -> None:
    def find(slug: str, version: int | None = None) -> Rules[Any, Any]:
        if slug == "byzantium":
            raise BadSetup("There are no rules 1 of byzantium.")
        return rules_of(slug, version)

    (fault,) = played_over(few, find).faults
    assert fault == f"{few / GAME}.jsonl: header: There are no rules 1 of byzantium.; {NEW_VERSION}"


def test_the_order_in_which_moves_are_listed_is_no_play(few: Path) -> None:
    class Backwards(Byzantium):
        def moves(self, state: State, seat: int) -> tuple[Move, ...]:
            return super().moves(state, seat)[::-1]

    assert played_over(few, with_rules(Backwards())).faults == []


UNORDERED = """
import sys
from pathlib import Path
from byzanz.games.byzantium import Byzantium
from tests.records import shelf
from tests.records.__main__ import played_over
from tests.records.replay import hashes_of

Byzantium.encode = lambda self, state: repr({f"card {card}" for hand in state.hands for card in hand})
folder, record = Path(sys.argv[1]), shelf.load(Path(sys.argv[2]))[0]
if sys.argv[3] == "keep":
    shelf.keep(folder, record, hashes_of(record))
print(len(played_over(folder).faults))
"""
"""Rules in which the order of a set shows."""


def test_rules_that_depend_on_how_texts_are_hashed_are_found(tmp_path: Path) -> None:
    def faults(seed: str, word: str) -> str:
        command = [sys.executable, "-c", UNORDERED, str(tmp_path), str(FOLDER / f"{GAME}.jsonl"), word]
        return subprocess.check_output(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, text=True
        ).strip()

    assert [faults("0", "keep"), faults("0", "check"), faults("1", "check")] == ["0", "0", "1"]


# A new format of the states


class Reformed(Byzantium):
    state_format = 2

    def encode(self, state: State) -> str:
        return f"[{super().encode(state)}]"


class ReformedAndDearer(Reformed, Dearer):
    pass


def test_a_new_format_of_the_states_is_hashed_anew_and_checked_again(few: Path) -> None:
    find = with_rules(Reformed())
    before = (few / f"{GAME}.hashes").read_text().splitlines()
    told = [fault for fault in check_all(few, find).faults if GAME in fault]
    assert len(told) == 1
    assert "states have format 2 now, these hashes are of 1: run `python3 dev.py records rehash`" in told[0]
    assert rehash(few, find) == [few / f"{GAME}.jsonl"]
    after = (few / f"{GAME}.hashes").read_text().splitlines()
    assert (before[0], after[0]) == ("byzantium/1/1", "byzantium/1/2")
    assert [line.split()[1] for line in after[1:]] == [line.split()[1] for line in before[1:]]
    assert all(line.split()[0] != was.split()[0] for line, was in zip(after[1:], before[1:], strict=True))
    finding = played_over(few, find)
    assert (finding.faults, finding.rewritten) == ([], [])
    assert "a state_format is never lowered" in played_over(few).faults[0]


def test_nothing_is_hashed_anew_when_play_changed_too_or_when_nothing_was_raised(few: Path) -> None:
    before = {file: file.read_bytes() for file in few.rglob("*.*")}
    with pytest.raises(Changed, match="nothing is hashed anew while a game does not replay"):
        rehash(few, with_rules(ReformedAndDearer()))
    with pytest.raises(Changed, match="raise its state_format"):
        rehash(few, with_rules(Otherwise()))
    assert rehash(few) == []
    assert {file: file.read_bytes() for file in few.rglob("*.*")} == before


# Faults planted in the files


def damaged(few: Path, ending: str, change: Callable[[list[str]], object]) -> str:
    """Return the fault that is found when the lines of one file were changed."""
    file = few / f"{GAME}{ending}"
    lines = file.read_text().splitlines(keepends=True)
    change(lines)
    file.write_text("".join(lines))
    (fault,) = played_over(few).faults
    assert fault.startswith(f"{few / GAME}")
    return fault


@pytest.mark.parametrize(("at", "what"), [(3, "the state after it is another"), (20, "are others")])
def test_a_flipped_hash_is_found_at_its_entry(few: Path, at: int, what: str) -> None:
    def flip(lines: list[str]) -> None:
        turned = lines[9].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
        lines[9] = lines[9][:at] + turned[at] + lines[9][at + 1 :]

    fault = damaged(few, ".hashes", flip)
    assert "entry 9, “" in fault
    assert what in fault


def test_hashes_of_too_few_entries_and_of_another_form_are_found(few: Path) -> None:
    assert "46 lines of hashes for 47 entries" in damaged(few, ".hashes", lambda lines: lines.pop())
    assert "two hashes for each entry" in damaged(few, ".hashes", lambda lines: lines.append("0\n"))
    assert "a line GAME/RULES/STATE_FORMAT" in damaged(few, ".hashes", lambda lines: lines.clear())


def test_a_changed_record_is_found(few: Path) -> None:
    def another_result(lines: list[str]) -> None:
        lines[-1] = lines[-1].replace('"scores":[', '"scores":[1')

    def another_id(lines: list[str]) -> None:
        lines[0] = lines[0].replace("taken", "given")

    assert "entry 47, “" in damaged(few, ".jsonl", another_result)
    assert "not one record" in damaged(few, ".jsonl", lambda lines: lines.append("\n"))
    (few / f"{GAME}.jsonl").write_bytes((FOLDER / f"{GAME}.jsonl").read_bytes())
    assert "should be named" in damaged(few, ".jsonl", another_id)
    assert "not JSON" in damaged(few, ".jsonl", lambda lines: lines.insert(0, "{"))
    assert "not plain ASCII" in damaged(few, ".jsonl", lambda lines: lines.insert(0, "é"))


def test_a_file_without_its_fellow_is_found(few: Path) -> None:
    (few / f"{GAME}.hashes").unlink()
    (few / f"{OTHER}.jsonl").unlink()
    assert played_over(few).faults == [
        f"{few / OTHER}.hashes: its record is missing",
        f"{few / GAME}.jsonl: 2-people-a-move-taken-back.hashes is missing",
    ]


def test_a_game_or_bot_without_a_record_and_fewer_than_sixty_are_found(few: Path) -> None:
    faults = check_all(few, games=(*latest(), Sealed())).faults
    assert f"2 games are kept, {FEWEST} or more should be" in faults
    assert "no record of sealed, rules 1, for 2: play one and add it (records add)" in faults
    assert any(fault.startswith("no record of byzantium, rules 1, for 3") for fault in faults)
    assert "no record of byzantium with the bot greedy: play one and add it (records add)" in faults
    assert not any(fault.startswith("no record of byzantium, rules 1, for 2") for fault in faults)


# Adding games


def record(number: int = 0) -> Record:
    return simulate_game(rules_of("byzantium"), 2, b"added", number, ["random", "greedy"])


def test_a_finished_game_is_added_once(few: Path, tmp_path: Path) -> None:
    source = tmp_path / "played.jsonl"
    source.write_text(write(record()))
    (file,) = add(few, [str(source)])
    assert file == few / f"byzantium/2-random-greedy-{record().header.id}.jsonl"
    assert file.read_text() == source.read_text()
    assert played_over(few).faults == []
    with pytest.raises(Unreadable, match="is kept already"):
        add(few, [str(source)])


def lie(true: Record) -> Record:
    assert true.result is not None
    return replace(true, result=replace(true.result, winners=()))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no record in it"),
        ("{}\n", "line 1: "),
        (write(replace(record(), result=None, head=None)), "is not over; only finished games are kept"),
        (write(record()) + write(lie(record(1))), "the result is"),
        (write(record()) * 2, "is kept already"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_added(few: Path, text: str, reason: str) -> None:
    source = few / "played.jsonl"
    source.write_text(text)
    before = set(few.rglob("*"))
    with pytest.raises(Unreadable, match=re.escape(reason)) as refused:
        add(few, [str(source)])
    assert str(refused.value).startswith(f"{source}: ")
    assert set(few.rglob("*")) == before


def test_the_command_adds_and_refuses_in_one_line(
    few: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shelf, "FOLDER", few)
    assert main(["add", str(FOLDER / f"{GAME}.jsonl")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["add", str(few / "nothing.jsonl")]) == 1
    source = few / "played.jsonl"
    source.write_text(write(record()))
    capsys.readouterr()
    assert main(["add", str(source)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "added: 1"
    assert main(["rehash"]) == 0
    for words in (["add"], ["check", "x"], ["forget"], []):
        with pytest.raises(SystemExit):
            main(words)


def test_people_are_not_named_by_files() -> None:
    (people,) = read((FOLDER / f"{GAME}.jsonl").read_text())
    assert people.header.seats == ("Alice", "Bob")
    assert shelf.name_of(people) == GAME
