"""Who may import whom: the contracts hold, no import goes in a circle, and nothing grows too long to be read."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from byzanz.games import latest
from byzanz.record import Cause
from server.store.models import GameStatus, LinkPurpose, MailStatus, SeatStatus
from tests.support.folders import ROOT

PACKAGES = ("byzanz", "server", "benchmarks")
LONGEST_FUNCTION = 60
LONGEST_MODULE = 600


def modules(root: Path = ROOT) -> Iterator[Path]:
    """Every module of the product."""
    for package in PACKAGES:
        yield from sorted((root / package).rglob("*.py"))


def import_graph(*packages: str) -> dict[str, set[str]]:
    """Each module with the modules that it imports, inside functions too."""
    graph = grimp.build_graph(*packages, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def rooms(graph: Mapping[str, set[str]], depth: int) -> dict[str, set[str]]:
    """The same graph between packages, each module counted as the package that holds it at this depth."""
    found: dict[str, set[str]] = {}
    for module, imported in graph.items():
        room = ".".join(module.split(".")[:depth])
        there = {".".join(other.split(".")[:depth]) for other in imported}
        found.setdefault(room, set()).update(there - {room})
    return found


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one import cycle, of any length; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def product() -> dict[str, set[str]]:
    """The import graph of the whole product."""
    return import_graph(*PACKAGES)


def test_no_module_imports_itself_in_a_circle(product: dict[str, set[str]]) -> None:
    assert cycle(product) == []


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_no_package_imports_itself_in_a_circle(product: dict[str, set[str]], depth: int) -> None:
    # `server` itself is the factory above them all; its name is also the prefix of all their names.
    graph = {module: imported - {"server"} for module, imported in product.items() if module != "server"}
    assert cycle(rooms(graph, depth)) == []


@pytest.mark.parametrize("length", [2, 3, 7])
def test_a_circle_of_any_length_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    package = tmp_path / f"circle{length}"
    package.mkdir()
    (package / "__init__.py").touch()
    for number in range(length):
        line = f"def late():\n    import {package.name}.room{(number + 1) % length}\n"
        (package / f"room{number}.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path)
    graph = import_graph(package.name)
    assert len(set(cycle(graph))) == length
    graph[f"{package.name}.room0"] = set()
    assert cycle(graph) == []


def test_a_circle_of_packages_is_found() -> None:
    graph = {"p.a.one": {"p.b.one"}, "p.b.one": set[str](), "p.b.two": {"p.a.two"}, "p.a.two": set[str]()}
    assert cycle(graph) == []
    assert set(cycle(rooms(graph, 2))) == {"p.a", "p.b"}


def too_long(name: str, text: str) -> list[str]:
    """The module and its functions that are longer than a reader can take in."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    lengths = {f"{name}: {node.name}": (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    found = [f"{where} has {lines} lines" for where, lines in lengths.items() if lines > LONGEST_FUNCTION]
    lines = len(text.splitlines())
    return found + ([f"{name} has {lines} lines"] if lines > LONGEST_MODULE else [])


def test_no_function_and_no_module_is_too_long() -> None:
    found = [each for path in modules() for each in too_long(str(path.relative_to(ROOT)), path.read_text())]
    assert found == []


def test_what_is_too_long_is_found() -> None:
    body = "    pass\n" * (LONGEST_FUNCTION - 1)
    assert too_long("m", f"def f():\n{body}") == []
    assert too_long("m", f"class C:\n  def f():\n{body}    pass\n") == [
        f"m: f has {LONGEST_FUNCTION + 1} lines"
    ]
    assert too_long("m", "\n" * LONGEST_MODULE) == []
    assert too_long("m", "\n" * (LONGEST_MODULE + 1)) == [f"m has {LONGEST_MODULE + 1} lines"]


SHARED_NAME = ("byzanz", "Byzanz", "BYZANZ")
"""The server and its first game have one name; only these modules use it as a text, for the server."""
USES_SHARED_NAME = {
    *(
        "server/cli/__init__.py",
        "server/cli/servers.py",
        "server/community/statistics.py",
        "server/community/profiles.py",
        "server/config/__init__.py",
    ),
    *("server/demo.py", "server/mail/incoming/lmtp.py", "server/ops/serve.py", "server/web/http.py"),
    "server/web/api/schema.py",
    "server/validation.py",
}


def named_games(name: str, text: str) -> list[str]:
    """The places in a module where a text names a game; docstrings may."""
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    games = {word.casefold() for rules in latest() for word in (rules.slug, rules.title)}
    words = re.compile(rf"\b({'|'.join(games - {SHARED_NAME[0]})})\b", re.IGNORECASE)
    return [
        f"{name}:{node.lineno}: {node.value[:60]!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        if words.search(node.value) or (node.value in SHARED_NAME and name not in USES_SHARED_NAME)
    ]


def test_no_module_of_the_server_names_a_game() -> None:
    paths = sorted((ROOT / "server").rglob("*.py"))
    found = [each for path in paths for each in named_games(str(path.relative_to(ROOT)), path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'DECISIONS = {"empire": 20}',
        'if slug == "byzanz": pass',
        'text = "a game of Byzantium"',
        'f"{name} of Empire and Foes"',
    ],
)
def test_a_named_game_is_found(line: str) -> None:
    assert named_games("server/community/results.py", line) != []
    assert named_games("server/community/results.py", f"def f():\n    '''{line}'''") == []


STATES: Mapping[str, frozenset[str]] = {
    "status": frozenset([*GameStatus, *SeatStatus, *MailStatus]),
    "by": frozenset(Cause),
    "purpose": frozenset(LinkPurpose),
}
"""Attributes whose texts are members of a StrEnum."""


def sides(node: ast.AST) -> list[ast.expr]:
    """What a comparison compares, an assignment sets or a call with keywords hands over, attributes first."""
    match node:
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.Assign():
            return [*node.targets, node.value]
        case ast.Call(func=ast.Attribute(value=asked, attr="in_" | "not_in")):
            return [asked, *node.args]
        case ast.keyword(arg=str(name)):
            return [ast.Attribute(node.value, name), node.value]
        case ast.Match():
            patterns = (each for case in node.cases for each in ast.walk(case.pattern))
            return [node.subject, *(each.value for each in patterns if isinstance(each, ast.MatchValue))]
    return []


def bare_states(name: str, text: str) -> list[str]:
    """The places in a module where an attribute with a StrEnum meets a text instead of a member."""
    found = []
    for node in ast.walk(ast.parse(text)):
        flat = [
            each
            for side in sides(node)
            for each in (side.elts if isinstance(side, ast.Tuple | ast.Set | ast.List) else [side])
        ]
        told = {each.attr for each in flat if isinstance(each, ast.Attribute)} & set(STATES)
        texts = {part.value for each in flat for part in ast.walk(each) if isinstance(part, ast.Constant)}
        meant = {str(each).strip("'") for each in texts} & {state for each in told for state in STATES[each]}
        found += [f"{name}: {state!r}" for state in sorted(meant)]
    return found


def test_no_module_compares_a_state_with_a_text() -> None:
    paths = [path for path in modules() if path.relative_to(ROOT).parts[0] in ("server", "byzanz")]
    found = [each for path in paths for each in bare_states(str(path.relative_to(ROOT)), path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("line", "member"),
    [
        ('if game.status == "running": pass', "if game.status == GameStatus.RUNNING: pass"),
        ('if "over" != table.game.status: pass', "if GameStatus.OVER != table.game.status: pass"),
        (
            'if game.status in ("over", "cancelled"): pass',
            "if game.status in (GameStatus.OVER, GameStatus.CANCELLED): pass",
        ),
        ('alive = Game.status.in_(("asked",))', "alive = Game.status.in_((GameStatus.ASKED,))"),
        (
            """over = Game.status == literal_column("'over'")""",
            """over = Game.status == literal_column(f"'{GameStatus.OVER}'")""",
        ),
        ('game.trial, game.status = True, "over"', "game.trial, game.status = True, GameStatus.OVER"),
        ('seat.status, seat.cut = "free", ""', 'seat.status, seat.cut = SeatStatus.FREE, ""'),
        ('own = entry.by == "player"', "own = entry.by == Cause.PLAYER"),
        ('append(by="clock", move="!pause")', 'append(by=Cause.CLOCK, move="!pause")'),
        ('live = Link.purpose.in_(("move",))', "live = Link.purpose.in_((LinkPurpose.MOVE,))"),
        ('if mail.status != "waiting": pass', "if mail.status != MailStatus.WAITING: pass"),
        ('Game(status="asked")', "Game(status=GameStatus.ASKED)"),
        ('match game.status:\n  case "over": pass', "match game.status:\n  case GameStatus.OVER: pass"),
    ],
)
def test_a_state_as_a_text_is_found(line: str, member: str) -> None:
    assert bare_states("m", line) != []
    assert bare_states("m", member) == []


def tables_by_game(text: str) -> int:
    """How many dictionaries of a module have slugs of games as keys, alone or with other values."""
    slugs = {rules.slug for rules in latest()}

    def names(key: ast.expr | None) -> bool:
        if isinstance(key, ast.Tuple):
            return any(map(names, key.elts))
        return isinstance(key, ast.Constant) and key.value in slugs

    return sum(
        isinstance(node, ast.Dict) and any(map(names, node.keys)) for node in ast.walk(ast.parse(text))
    )


def test_what_tests_know_of_a_game_stands_in_its_own_module() -> None:
    """A game is added without a change here. A test may play one game as its sample and may be about one game.

    The tests of one game are named after it or stand in its folder; in all others, what differs from game to game
    comes from tests/games/ (`tests/support/game_data.py`).
    """
    slugs = [rules.slug for rules in latest()]
    found = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        own = any(
            name.startswith("tests/games/") or f"_{slug}.py" in name or f"/games/{slug}/" in name
            for slug in slugs
        )
        if not own and (tables := tables_by_game(path.read_text())):
            found[name] = tables
    assert found == {}


def test_a_table_by_game_is_found() -> None:
    assert tables_by_game('SEATS = {"empire": 2}\nDEEP = {("byzanz", 3): 1, **SEATS}') == 2
    assert tables_by_game('form = {"game": "empire"}\nSEATS = {rules.slug: 2 for rules in latest()}') == 0


def imported_packages(tree: ast.AST) -> set[str]:
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
        allowed = sys.stdlib_module_names | {"byzanz"}
        assert imported_packages(ast.parse(module.read_text())) <= allowed, module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The product's modules, each empty, under the project's contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path in modules():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    return tmp_path


def broken_contracts(checkout: Path) -> set[str]:
    """The names of the contracts that import-linter finds broken."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert "Contracts: " in done.stdout, done.stdout + done.stderr
    broken = set(re.findall(r"^(.*) BROKEN$", done.stdout, re.MULTILINE))
    assert (done.returncode != 0) == bool(broken)
    return broken


RULES = "The rules know no server, no clock and no random generator"
BYZANZ = "Layers of byzanz"
MAIL = "Layers of mail"
SERVER = "Layers of the server"
KIT = "Only the command line imports the kit for makers of games"
FACTORY = "Only the command line, the demo and the benchmarks make the application"


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("byzanz/umpire.py", "import server.store.log", RULES),
        ("byzanz/kit/check.py", "import server.cli.drawings", RULES),
        ("byzanz/kit/terminal.py", "import time", RULES),
        ("byzanz/record/verify.py", "from flask import g", RULES),
        ("byzanz/games/byzanz/rules.py", "import time", RULES),
        ("byzanz/chance.py", "import secrets", RULES),
        ("byzanz/rules.py", "from byzanz import umpire", BYZANZ),
        ("byzanz/bots/simulate.py", "from byzanz.kit import played", BYZANZ),
        ("byzanz/games/byzanz/rules.py", "import byzanz.umpire", BYZANZ),
        ("byzanz/games/empire/rules.py", "import byzanz.games.byzanz", "A game knows no other game"),
        ("server/mail/outgoing/smtp.py", "import server.mail.incoming.reply", MAIL),
        ("server/mail/deliverability.py", "from server.mail.outgoing import smtp", MAIL),
        ("server/store/log.py", "import server.play.turns", SERVER),
        ("server/store/outbox.py", "from server.mail.outgoing import compose", SERVER),
        ("server/play/moves.py", "import server.web.seat.turn", SERVER),
        ("server/lobby/create.py", "import server.mail.deliverability", SERVER),
        ("server/errors.py", "import server.store.log", SERVER),
        ("server/store/log.py", "from server import create_app", FACTORY),
        ("server/ops/doctor.py", "from byzanz.kit import check", KIT),
        ("server/play/moves.py", "import byzanz.kit", KIT),
        ("server/shortcuts.py", "", SERVER),
        ("byzanz/helpers.py", "", BYZANZ),
    ],
)  # fmt: skip
def test_a_broken_contract_is_found(checkout: Path, module: str, line: str, contract: str) -> None:
    assert (checkout / module).exists() or not line, f"{module} has moved"
    (checkout / module).write_text(line)
    assert contract in broken_contracts(checkout)


def test_empty_modules_break_no_contract(checkout: Path) -> None:
    assert broken_contracts(checkout) == set()
