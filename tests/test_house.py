"""The walls of the house: who may import whom, and that a wall broken is found."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imported(tree: ast.AST) -> set[str]:
    """The top-level names of all that a module imports from elsewhere."""
    nodes = list(ast.walk(tree))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain} | {
        (node.module or "").split(".")[0]
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not node.level
    }


def test_the_rules_import_the_standard_library_alone() -> None:
    for module in (ROOT / "byzanz").rglob("*.py"):
        assert imported(ast.parse(module.read_text())) <= sys.stdlib_module_names | {"byzanz"}, module


MODULES = {
    "byzanz": "rules chance umpire record bots games/__init__ games/byzanz games/empire",
    "server": "where config db clock schema log turns people orders outbox positions table acts play"
    " lifecycle mail/__init__ pages/__init__ pages/turn api jobs cli/__init__ cli/servers",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Every module of the plan, each empty, under the project's contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package, names in MODULES.items():
        for name in ["__init__", *names.split()]:
            module = tmp_path / package / f"{name}.py"
            module.parent.mkdir(parents=True, exist_ok=True)
            module.touch()
    return tmp_path


def broken_contracts(house: Path) -> set[str]:
    """The names of the contracts that import-linter finds broken."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    said = subprocess.run(command, cwd=house, capture_output=True, text=True, check=False)
    assert "Contracts: " in said.stdout, said.stdout + said.stderr
    broken = set(re.findall(r"^(.*) BROKEN$", said.stdout, re.MULTILINE))
    assert (said.returncode != 0) == bool(broken)
    return broken


def test_the_house_as_planned_keeps_its_contracts(house: Path) -> None:
    (house / "byzanz/record.py").write_text("import byzanz.umpire, byzanz.games")
    (house / "byzanz/umpire.py").write_text("import byzanz.chance, byzanz.rules")
    (house / "byzanz/games/byzanz.py").write_text("import byzanz.rules")
    (house / "server/__init__.py").write_text("import server.pages, server.db")
    (house / "server/cli/servers.py").write_text("import server, server.jobs")
    (house / "server/play.py").write_text("import server.log, server.positions, byzanz.umpire")
    assert broken_contracts(house) == set()


RULES = "The rules know no server, no clock and no generator of their own"
CONTRACT_ALONE = "A game and a bot know the contract of the rules and nothing else"


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("byzanz/umpire.py", "import server.log", RULES),
        ("byzanz/record.py", "from flask import g", RULES),
        ("byzanz/games/byzanz.py", "import time", RULES),
        ("byzanz/chance.py", "import secrets", RULES),
        ("byzanz/rules.py", "from byzanz import umpire", "Floors of byzanz"),
        ("byzanz/games/empire.py", "import byzanz.games.byzanz", "A game knows no other game"),
        ("byzanz/games/byzanz.py", "import byzanz.chance", CONTRACT_ALONE),
        ("byzanz/bots.py", "import byzanz.chance", CONTRACT_ALONE),
        ("server/log.py", "import server.turns", "Floors of server"),
        ("server/outbox.py", "from server.mail import compose", "Floors of server"),
        ("server/play.py", "import server.pages.turn", "Floors of server"),
        ("server/positions.py", "import server.turns", "A position knows the log and none of its neighbours"),
        ("server/log.py", "from server import create_app", "Only the command line makes the application"),
        ("server/shortcuts.py", "", "Floors of server"),
    ],
)
def test_a_wall_broken_is_found(house: Path, module: str, line: str, contract: str) -> None:
    (house / module).write_text(line)
    assert contract in broken_contracts(house)
