"""The commands in the documents: each exists, and runs here, in a named test or in CI, or says what it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import pytest

import dev
from byzanz import games
from server import cli
from tests.support.folders import ROOT

FOLDERS = ("docs", "tests", ".github")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for name in FOLDERS for path in (ROOT / name).rglob("*.md"))])
OURS = r"byzanz (?!unix)[a-z]|(?:/usr/bin/)?python3? |\.venv/bin/|\.ci/"
OTHERS = "flask |gunicorn |uv |pip |curl |sqlite3 |pre-commit |git |bash "
COMMAND = re.compile(rf"(?:[A-Z_]+=\S+ )*(?:{OURS}|{OTHERS})")
"""How a command begins, with settings before it or not; "byzanz unix" is a line of Postfix's."""
PASS_ON = ("test", "docs", "lock", "peers")
"""The commands of dev.py that pass their arguments on to another program, or take none."""
TOOLS: dict[str, Callable[[list[str]], int]] = {
    name: import_module(f"{module}.__main__").main
    for name, module in dev.MODULES.items()
    if name not in PASS_ON
}
"""The others that are not commands of `byzanz`."""

RUN_HERE = {
    "python3 dev.py words --check": [],
    "python3 dev.py simulate byzanz --players 4 --games 2 --seed 0453 --bots greedy,random --out -": [],
    "python3 dev.py simulate byzanz --players 4 --games 1000 --seed 2026 --out F": [("1000", "2")],
    "python3 dev.py verify F": [],
}
"""Commands that the test below runs, in this order, each with what it makes smaller."""
RUN_ELSEWHERE = {
    "python3 dev.py": (".ci/run", 'step "set-up" python3 dev.py'),
    ".ci/run": (".ci/run", "step"),
    ".ci/run nightly": (".ci/run", "nightly"),
    "python3 dev.py WORDS…": ("tests/test_setup.py", "test_words_choose_what_is_installed_and_started"),
    ".venv/bin/ruff check": (".ci/run", ".venv/bin/ruff check"),
    ".venv/bin/ruff format --check": (".ci/run", ".venv/bin/ruff format --check"),
    ".venv/bin/mypy": (".ci/run", ".venv/bin/mypy"),
    ".venv/bin/lint-imports --no-logo": (".ci/run", ".venv/bin/lint-imports --no-logo"),
    ".venv/bin/python .ci/wheel.py FOLDER": (".ci/run", ".venv/bin/python .ci/wheel.py"),
    ".venv/bin/python -m hatchling build -t wheel": (".ci/wheel.py", '"hatchling", "build", "-t", "wheel"'),
    "python3 dev.py docs": (".ci/run", "python3 dev.py docs"),
    "python3 dev.py test": (".ci/run", "python3 dev.py test"),
    "python3 dev.py test --nightly": (".ci/run", "--nightly"),
    "TEST_GAME=* python3 dev.py test": (".ci/run", "TEST_GAME="),
    "python3 dev.py test tests/*": (".ci/run", "python3 dev.py test"),
    "python3 dev.py torture*": (".ci/run", "python3 dev.py torture"),
    "python3 dev.py mutants*": ("tests/mutants/test_mutants.py", "def test_"),
    "python3 dev.py peers": ("tests/test_setup.py", "test_the_peers_are_installed_as_locked"),
    "python3 dev.py bench*": ("tests/benchmarks/test_main.py", "test_one_benchmark_can_be_asked_for"),
    "python3 dev.py words": ("tests/words/test_catalogues.py", "test_the_command_says_what_is_missing"),
    "python3 dev.py records check": ("tests/records/test_records.py", "test_every_game_replays"),
    "python3 dev.py records rehash": ("tests/records/test_records.py", 'main(["rehash"])'),
    "python3 dev.py records add *": ("tests/records/test_records.py", "test_the_command_adds_and_refuses"),
    "python3 dev.py simulate byzanz --players 3 *": ("tests/test_docs.py", "shows_a_true_game"),
    "python3 dev.py verify game.jsonl": ("tests/test_docs.py", "shows_a_true_game"),
    "python3 dev.py demo": ("tests/server/cli/test_cli.py", "test_a_demo_opens_a_turn"),
    "python3 dev.py serve": ("tests/server/cli/test_cli.py", "test_serve_makes_its_database"),
    "python3 dev.py upgrade": ("tests/server/cli/test_cli.py", "test_an_upgrade_tells_from_which_revision"),
    "python3 dev.py web --workers 4": ("tests/server/cli/test_cli.py", "test_web_and_scheduler_run_apart"),
    "python3 dev.py scheduler": ("tests/server/cli/test_cli.py", "test_web_and_scheduler_run_apart"),
    "python3 dev.py doctor": ("tests/server/ops/test_doctor.py", "test_nothing_is_wrong_with_a_sound_server"),
    "python3 dev.py moderator add *": ("tests/server/cli/test_cli.py", "test_moderators_come_and_go"),
    "python3 dev.py person *": ("tests/server/cli/test_cli.py", "test_a_person_is_exported_and_erased"),
    "python3 dev.py export ID": ("tests/server/cli/test_cli.py", "test_a_game_is_made_and_exported"),
    "python3 dev.py mail-in": ("tests/server/mail/incoming/test_lmtp.py", '"mail-in", "--port", "0"'),
    "python3 dev.py mail-in --stdin *": ("tests/server/mail/incoming/test_lmtp.py", '["mail-in", "--stdin"'),
    ".venv/bin/pip install byzanz-goofspiel": (".ci/package.py", '"-m", "pip"'),
    "gunicorn 'server:create_app()'": (".ci/wheel.py", '"server:create_app()"'),
    "python3 dev.py backup *": ("tests/server/ops/test_backup.py", 'run("backup"'),
    "byzanz backup *": ("tests/server/ops/test_backup.py", 'run("backup"'),
    "byzanz restore *": ("tests/server/ops/test_backup.py", 'run("restore"'),
    "python -m pydoc byzanz.rules": ("tests/test_setup.py", '"pydoc", "byzanz.rules"'),
    "byzanz new-game toll": ("tests/whole/test_new_game.py", "document.follow"),
    "byzanz play ./toll*": ("tests/whole/test_new_game.py", "document.follow"),
    "byzanz check ./toll*": ("tests/whole/test_new_game.py", "document.follow"),
    "byzanz simulate toll *": ("tests/whole/test_new_game.py", "document.follow"),
    "byzanz verify games.jsonl": ("tests/whole/test_new_game.py", "document.follow"),
    "python -m pytest -q": ("tests/whole/test_new_game.py", "document.follow"),
    "pip install --editable .": (".ci/wheel.py", "new_game_document"),
    "pip wheel --no-deps .": (".ci/wheel.py", "new_game_document"),
    "pip install pytest": (".ci/wheel.py", "new_game_document"),
    "byzanz demo --game toll": (".ci/wheel.py", '"--game", "toll"'),
    "byzanz *": ("tests/server/cli/test_cli.py", "test_every_command_has_help"),
}
"""Patterns of commands, each with the file that runs such a command and a text that stands there."""
NOT_RUN = {
    "python3 dev.py lock*": "needs the package index",
    "pre-commit install": "If you use",
    "sqlite3 instance/byzanz.db *": "with the program `sqlite3`",
}
"""Commands that need what a test does not have, each with the words that say so beside it in the document."""
GONE = {"byzanz bench"}
"""Commands that only CHANGELOG.md may show, because it says that they are gone."""


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands that a Markdown text shows, in blocks or in a line, each with the lines around it."""
    lines = text.splitlines()
    fenced = False
    for number, line in enumerate(lines):
        around = "\n".join(lines[max(0, number - 4) : number + 5])
        if line.lstrip().startswith("```"):
            fenced = not fenced
        block = fenced or line.startswith("    ")
        for shown in [re.sub(r"^.*(ExecStart|argv)=", "", line)] if block else re.findall(r"`([^`]+)`", line):
            plain = re.sub(r"\s+# .*", "", shown.strip().removeprefix("$ "))
            for command in re.split(r" \| | && | > ", plain):
                if COMMAND.match(command):
                    yield command.strip().removeprefix("/usr/bin/"), around


def unknown_words(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The name, options and files in a command of ours that do not exist."""
    ours = re.match(r"(python3 dev\.py|byzanz) ([a-z][\w-]*)(.*)", command)
    if not ours or ours[2] in PASS_ON:
        return [word for word in re.findall(r"tests/[\w./]+", command) if not (ROOT / word).exists()]
    program, name, rest = ours.groups()
    used = re.findall(r"(?<!\S)\[?(--[a-z-]+)", rest)
    if program != "byzanz" and name in TOOLS:
        known = shown_help(TOOLS[name], [], capsys)
        used += re.findall(r"^ ([a-z]\w*)", rest)
    elif name in shown_help(cli.main, [], capsys):
        known = shown_help(cli.main, [name], capsys)
        action = re.match(r" ([a-z]+)", rest)
        if action and "ACTION" in known:
            known |= shown_help(cli.main, [name, action[1]], capsys)
    else:
        return [name]
    return [word for word in used if word not in known]


def shown_help(
    main: Callable[[list[str]], int], words: list[str], capsys: pytest.CaptureFixture[str]
) -> set[str]:
    """The words in the help of a command."""
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    return set(re.findall(r"[\w-]+", capsys.readouterr().out))


def fate(command: str, around: str) -> str | None:
    """What is wrong with how a command is tried, or None."""
    if command in RUN_HERE:
        return None
    for pattern, (path, text) in RUN_ELSEWHERE.items():
        if fnmatchcase(command, pattern):
            return None if text in (ROOT / path).read_text() else f"{path} does not run it"
    for pattern, words in NOT_RUN.items():
        if fnmatchcase(command, pattern):
            return None if words in around else f"the document does not say: {words}"
    return "nothing runs it"


def faults_of(document: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is wrong with the commands of a document."""
    found = []
    for command, around in commands(document.read_text()):
        if command in GONE and document.name == "CHANGELOG.md":
            continue
        found += [f"{command}: there is no {word}" for word in unknown_words(command, capsys)]
        if fault := fate(command, around):
            found.append(f"{command}: {fault}")
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_exists_and_runs_somewhere(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert faults_of(document, capsys) == []


@pytest.mark.usefixtures("capsys")
def test_commands_run_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for shown, changes in RUN_HERE.items():
        command = shown.removeprefix("python3 dev.py ")
        for long, short in changes:
            command = command.replace(long, short)
        name, *words = command.split()
        assert (TOOLS[name](words) if name in TOOLS else cli.main([name, *words])) == 0, shown


CHECK = """#!/bin/sh
echo "checked: $*"
touch "begun-$2"
for _ in $(seq 100); do
    if [ "$(ls begun-* | wc -l)" -ge 2 ]; then break; fi  # the games are checked side by side
    sleep 0.1
done
[ "$(ls begun-* | wc -l)" -ge 2 ] && [ "$2" != "$FAULTY" ]
"""
"""A stand-in for `byzanz` that fails if it waits alone, or for one game."""


@pytest.mark.parametrize("nightly", ["", "nightly"])
def test_a_commit_checks_every_shipped_game_at_its_smallest_table(tmp_path: Path, nightly: str) -> None:
    script = (ROOT / ".ci/run").read_text()
    (function,) = re.findall(r"^games\(\) \{\n.*?^\}\n", script, re.MULTILINE | re.DOTALL)
    assert re.search(r"^at_once .*\bgames\b", script, re.MULTILINE)
    for name, text in (("byzanz", CHECK), ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')):
        path = tmp_path / ".venv/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(faulty: str = "") -> tuple[list[str], int]:
        for begun in tmp_path.glob("begun-*"):
            begun.unlink()
        command = ["bash", "-c", f"set -euo pipefail\nnightly={nightly}\n{function}\ngames"]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "FAULTY": faulty}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return sorted(done.stdout.splitlines()), done.returncode

    smallest = "" if nightly else " --seats {} --games 1"
    told = sorted(f"checked: check {rules.slug}{smallest.format(rules.seats[0])}" for rules in games.latest())
    assert run() == (told, 0)
    assert run(games.latest()[0].slug)[1] != 0


def test_a_busy_machine_has_time_for_the_tests_of_a_commit() -> None:
    (limit,) = re.findall(r"^tests_limit=(\d+)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert int(limit) >= 2700  # an idle one with two slow cores took 1,088 s for 7,790 tests


def test_the_lists_name_no_command_that_no_document_shows() -> None:
    shown = {command for document in DOCUMENTS for command, _ in commands(document.read_text())}
    for pattern in (*RUN_HERE, *RUN_ELSEWHERE, *NOT_RUN, *GONE):
        assert any(fnmatchcase(command, pattern) for command in shown), pattern


def test_a_command_that_is_wrong_or_tried_nowhere_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = tmp_path / "README.md"
    planted.write_text("""
Run `byzanz dance` or `byzanz serve [--prot N]`, `python3 dev.py torture kill8`, `python3 dev.py lock`
and `python3 dev.py test tests/nowhere.py`. In words, not a command: `verify`.

    $ python3 dev.py simulate byzanz --players 4 --colour | python3 dev.py verify G && curl https://example.org

```
ExecStart=/usr/bin/python3 dev.py serve --quietly   # a comment
byzanz bench
```
""")
    assert faults_of(planted, capsys) == [
        "byzanz dance: there is no dance",
        "byzanz serve [--prot N]: there is no --prot",
        "python3 dev.py torture kill8: there is no kill8",
        "python3 dev.py lock: the document does not say: needs the package index",
        "python3 dev.py test tests/nowhere.py: there is no tests/nowhere.py",
        "python3 dev.py simulate byzanz --players 4 --colour: there is no --colour",
        "python3 dev.py simulate byzanz --players 4 --colour: nothing runs it",
        "python3 dev.py verify G: nothing runs it",
        "curl https://example.org: nothing runs it",
        "python3 dev.py serve --quietly: there is no --quietly",
        "python3 dev.py serve --quietly: nothing runs it",
        "byzanz bench: there is no bench",
    ]
