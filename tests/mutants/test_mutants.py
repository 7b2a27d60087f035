"""The mutation run: each kind of fault, the choice of tests, and the verdicts on planted faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from coverage import CoverageData

from tests.mutants import __main__ as command
from tests.mutants import warm
from tests.mutants.copies import Copy
from tests.mutants.line_map import LineMap, bound, chosen, importers
from tests.mutants.mutations import Mutant, compiles, mutants
from tests.mutants.trial import (
    Planted,
    Verdict,
    area_of,
    every_mutant,
    missing,
    sample,
    table,
    try_all,
)
from tests.support.folders import ROOT


def changes(text: str) -> list[str]:
    """Return the text after each fault that can be planted in it."""
    found = mutants("server/x.py", text, {"_", "Refused"})
    assert all(compiles(mutant, text) for mutant in found)
    return [mutant.applied(text) for mutant in found]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a == b", ["a != b"]),
        ("a != b", ["a == b"]),
        ("a < b", ["a <= b"]),
        ("a <= b", ["a < b"]),
        ("a > b", ["a >= b"]),
        ("a >= b", ["a > b"]),
        ("a in b", ["a not in b"]),
        ("a not in b", ["a in b"]),
        ("a is b", ["a is not b"]),
        ("a is not b", ["a is b"]),
        ("a < b == c", ["a <= b == c", "a < b != c"]),
        ("a and b and c", ["a or b and c", "a and b or c"]),
        ("a or b", ["a and b"]),
        ("a + b", ["a - b"]),
        ("a - b", ["a + b"]),
        ("n += m", ["n -= m"]),
        ("n -= m", ["n += m"]),
        ("n = 7", ["n = 8", "n = 6"]),
        ("n = True", ["n = False"]),
        ("n = None", []),
        ("s = 'ab'", ["s = 'abXX'"]),
        ("s = '''ab'''", ["s = '''abXX'''"]),
        ("s = b'ab'", ["s = b'abXX'"]),
        ("s = f'a{b == c}'", ["s = f'a{b == c}XX'"]),
        ("x if y else z", ["x if not (y) else z"]),
        ("[x for x in y if z]", ["[x for x in y if not (z)]"]),
        ("while x:\n    y", ["while not (x):\n    y"]),
        ("if x:\n    y", ["if not (x):\n    y"]),
        ("for x in y:\n    break", ["for x in y:\n    continue"]),
        ("for x in y:\n    continue", ["for x in y:\n    break"]),
        ("f(x)", ["pass"]),
        ("y = f(x, a=b, c=d)", ["y = f(x, c=d)", "y = f(x, a=b)"]),
        ("y = f(a=b)", ["y = f()"]),
        ("y = q.where(a, (b), c)", ["y = q.where((b), c)", "y = q.where(a, c)", "y = q.where(a, (b))"]),
        ("y = q.where(a)", []),
        ("y = filter(a, b)", ["y = filter(b)", "y = filter(a)"]),
        ("y = sa.and_(a, b)", ["y = sa.and_(b)", "y = sa.and_(a)"]),
        ("y = sa.or_(a, b)", ["y = sa.or_(b)", "y = sa.or_(a)"]),
        ("y = f('a')", ["y = f('aXX')"]),
        ("y = f(k='a')", ["y = f(k='aXX')", "y = f()"]),
        ("y = g('a').b", ["y = g('aXX').b"]),
        ("y = _(n + m)", ["y = _(n - m)"]),
        ("@route('/a')\ndef f():\n    x", ["@route('/aXX')\ndef f():\n    x"]),
        ("y = lambda n: n == m", ["y = lambda n: n != m"]),
        ("def f():\n    return x", ["def f():\n    return None"]),
        ("def f():\n    return", []),
        ("def f():\n    return None", []),
    ],
)
def test_each_kind_of_fault(text: str, faults: list[str]) -> None:
    assert sorted(changes(f"{text}\n")) == sorted(f"{fault}\n" for fault in faults)


def test_an_operator_is_found_behind_brackets_and_comments() -> None:
    assert "x = ((a)  # ==\n  != (b))\n" in changes("x = ((a)  # ==\n  == (b))\n")
    assert "'é' if not (n == m) else 'ü'\n" in changes("'é' if n == m else 'ü'\n")
    assert "x = '=='if 'é' != b else c\n" in changes("x = '=='if 'é' == b else c\n")


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""',
        'class C:\n    """A docstring."""\n    x: Mapped["C"]\n    y: int\n    """One more."""',
        "def f(x: Literal['a'] = y) -> 'Other':\n    pass",
        "__all__ = ['a', 'b']",
        "if TYPE_CHECKING:\n    x = 1",
        "if __name__ == '__main__':\n    main()",
        "from a import b",
        "LOGGER.info('text %s', 1)",
        "assert x == 1, 'text'",
        "Kind: TypeAlias = Literal['a']",
        "Kind = Literal['a']",
        "@dataclass(frozen=True)\nclass C:\n    pass",
        "y = _('A text.')",
        "raise Refused('A %(text)s.')",
        "y = p.add_argument(x, help='a text')",
    ],
)
def test_types_texts_and_checks_are_left_alone(text: str) -> None:
    assert changes(f"{text}\n") == []


def test_a_mutant_knows_its_line_its_statement_and_when_it_runs() -> None:
    text = dedent("""\
        LIMIT = 3
        def f(n=1):
            return g(
                n == m,
            )
        """)
    found = {(m.kind, m.line, m.statement, m.at_import) for m in mutants("server/x.py", text)}
    assert found == {
        ("number", 1, 1, True),
        ("number", 2, 2, True),
        ("return", 3, 3, False),
        ("comparison", 4, 3, False),
    }


def test_a_diff_is_one_line() -> None:
    text = "x = f(\n    a,\n    b=c,\n)\nif a == b:\n    pass\n"
    argument, comparison, condition = sorted(mutants("server/x.py", text), key=lambda m: m.kind)
    assert argument.diff(text) == "b=c, → nothing"
    assert comparison.diff(text) == "if a == b: → if a != b:"
    assert condition.diff(text) == "if a == b: → if not (a == b):"


def test_the_rest_of_the_text_stays_as_it_is() -> None:
    text = "x  =  {  # why\n'a' :1 }\n"
    assert "x  =  {  # why\n'a' :2 }\n" in changes(text)


TOY = '''\
"""A toy."""

LIMIT = 3


def checked(n):
    return n == LIMIT


def run_only(n):
    return n == 4


def idle(n):
    return n == 5
'''
TOY_TESTS = """\
from server import toy

def test_checked():
    assert toy.checked(3)
    assert not toy.checked(4)

def test_run_only():
    toy.run_only(4)

def test_broken():
    assert not toy.checked(3)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Return a checkout of one module and its tests, with this tool."""
    root = tmp_path / "checkout"
    (root / "server").mkdir(parents=True)
    (root / "server/__init__.py").touch()
    (root / "server/toy.py").write_text(TOY)
    (root / "tests/server").mkdir(parents=True)
    (root / "tests/server/test_toy.py").write_text(TOY_TESTS)
    (root / "tests/conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--nightly', action='store_true')"
    )
    shutil.copytree(ROOT / "tests/mutants", root / "tests/mutants", ignore=shutil.ignore_patterns("test_*"))
    return root


@pytest.mark.nightly
@pytest.mark.usefixtures("capfd")
def test_planted_faults_get_their_verdicts(toy: Path) -> None:
    lines = LineMap(toy / ".mutants")
    assert not lines.exists
    assert lines.record(toy, ["tests/server"]) == 1  # one test fails, and is left out
    assert set(lines.seconds) == {
        "tests/server/test_toy.py::test_checked",
        "tests/server/test_toy.py::test_run_only",
    }
    planted = [
        each for each in every_mutant(toy) if each.mutant.kind == "comparison" or each.mutant.at_import
    ]
    verdicts = {
        each.planted.mutant.applied(TOY): each.how
        for each in try_all(planted, toy, lines, most_tests=9, workers=1)
    }
    assert verdicts == {
        TOY.replace("= 3", "= 4"): "killed",
        TOY.replace("= 3", "= 2"): "killed",
        TOY.replace("n == LIMIT", "n != LIMIT"): "killed",
        TOY.replace("n == 4", "n != 4"): "survived",
        TOY.replace("n == 5", "n != 5"): "not executed",
    }
    assert (toy / "server/toy.py").read_text() == TOY  # the checkout is not changed
    assert lines.changed(toy) == set()
    (toy / "server/toy.py").write_text(f"{TOY}\n")
    assert lines.changed(toy) == {"server/toy.py"}


def measured(file: Path, lines: dict[str, list[int]]) -> Path:
    """Write what coverage.py would have measured: the lines of the toy that each test runs."""
    data = CoverageData(str(file))
    for test, run in lines.items():
        data.set_context(test)
        data.add_lines({"server/toy.py": run})
    data.write()
    return file


def test_a_record_is_extended_or_replaced(tmp_path: Path) -> None:
    lines = LineMap(tmp_path / ".mutants")
    lines.folder.mkdir()
    lines.add(
        [measured(tmp_path / "a", {"": [3], "one": [7], "two": [7, 8]})],
        {"one": 1.0, "two": 2.0},
        keeps=False,
    )
    lines.add([measured(tmp_path / "b", {"three": [8]})], {"three": 3.0}, keeps=True)
    assert lines.seconds == {"one": 1.0, "two": 2.0, "three": 3.0}
    assert lines.lines("server/toy.py") == {3: {""}, 7: {"one", "two"}, 8: {"two", "three"}}
    lines.add([measured(tmp_path / "c", {"four": [8]})], {"four": 4.0}, keeps=False)
    assert lines.seconds == {"four": 4.0}
    assert lines.lines("server/toy.py") == {8: {"four"}}
    assert lines.lines("server/other.py") == {}


def test_the_tests_of_a_line_are_found(toy: Path) -> None:
    (toy / "server/page.py").write_text("from server.toy import LIMIT\n\ndef page():\n    return LIMIT\n")
    lines = LineMap(toy / ".mutants")
    lines.folder.mkdir()
    run = {"": [1, 3, 6, 10, 15], "one": [7], "two": [11], "failed": [7]}
    lines.add([measured(toy / "a", run)], {"one": 1.0, "two": 2.0, "user": 3.0}, keeps=False)
    lines.data.set_context("user")
    lines.data.add_lines({"server/page.py": [4]})

    def covering(line: int, statement: int, at_import: bool) -> dict[str, float]:
        mutant = Mutant("server/toy.py", "number", line, statement, at_import, 0, 0, "")
        return lines.covering(mutant, toy, {"server/toy.py": {"server/page.py"}})

    assert covering(7, 7, False) == {"one": 1.0}
    assert covering(12, 11, False) == {"two": 2.0}  # a line of its own in the text, not in the compiled code
    assert covering(8, 8, False) == {}
    assert covering(3, 3, True) == {"one": 1.0, "user": 3.0}  # those that run a line with LIMIT
    assert covering(10, 10, True) == {"one": 1.0, "two": 2.0, "user": 3.0}  # a default of a function
    assert covering(15, 15, False) == covering(10, 10, True)  # a function that runs only at import
    assert covering(4, 4, True) == {}


def test_what_a_line_binds() -> None:
    text = "class A:\n    b: int = 1\n    def c(d=2):\n        pass\ne, f = g = h\ni()\n"
    found = [" ".join(sorted(bound(text, line))) for line in range(1, 7)]
    assert found == ["A", "A b", "", "", "e f g", ""]


def test_a_run_that_takes_too_long_is_ended() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    assert warm.waited(sleeper.pid, 0.1) is None
    sleeper.returncode = -9
    with pytest.raises(ProcessLookupError):
        os.kill(sleeper.pid, 0)
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(4)"], start_new_session=True)
    assert warm.waited(ended.pid, 60) == 4
    ended.returncode = 4


def test_a_mutated_module_has_a_time_of_its_own(toy: Path) -> None:
    with Copy(toy) as copy:
        file = copy.root / "server/toy.py"
        times = [file.stat().st_mtime]
        for text in (TOY.replace("3", "2"), TOY, TOY.replace("3", "4")):
            copy.write("server/toy.py", text)
            times.append(file.stat().st_mtime)
        assert len({int(time) for time in times}) == 4
    assert not copy.root.exists()


def toys() -> list[Planted]:
    """Return the mutants of a few lines as if they were in three areas."""
    found = []
    for path in ("byzanz/x.py", "server/mail/x.py", "server/web/x.py"):
        text = "".join(f"x{n} = {n}\n" for n in range(2, 40))
        found += [
            Planted(each, text, f"{len(each.new)}{each.line}{each.new}") for each in mutants(path, text)
        ]
    return found


def test_a_sample_has_as_many_of_each_area() -> None:
    drawn = sample(toys(), 5)
    assert [area_of(each.mutant.path) for each in drawn] == ["rules"] * 5 + ["mail"] * 5 + ["pages"] * 5
    assert sample(reversed(toys()), 5) == drawn
    assert len(sample(toys(), 1000)) == len(toys())


def test_the_seed_decides_the_sample(toy: Path) -> None:
    draws = [[str(each) for each in sample(every_mutant(toy, seed=seed), 5)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_a_change_elsewhere_does_not_redraw(toy: Path) -> None:
    before = [each.mutant.diff(each.text) for each in sample(every_mutant(toy, seed=3), 5)]
    (toy / "server/toy.py").write_text(f"# a comment\n\n{TOY}")
    assert [each.mutant.diff(each.text) for each in sample(every_mutant(toy, seed=3), 5)] == before


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("byzanz/chance.py", "rules"),
        ("server/accounts/login.py", "store"),
        ("server/play/turns.py", "turns"),
        ("server/mail/text.py", "mail"),
        ("server/lobby/create.py", "pages"),
        ("server/config/__init__.py", "rest"),
    ],
)
def test_each_module_is_in_one_area(path: str, area: str) -> None:
    assert area_of(path) == area


def test_the_quickest_and_nearest_tests_are_chosen() -> None:
    near = {f"tests/server/mail/test_a.py::test_{n}": 1.0 + n for n in range(9)}
    far = {f"tests/server/web/test_b.py::test_{n}": 0.1 + n / 100 for n in range(9)}
    lone = {"tests/whole/test_c.py::test_0": 3.5, "tests/server/mail/test_d.py::test_0[postgresql]": 0.1}
    found = chosen("server/mail/text.py", near | far | lone, most=6)
    assert found == [
        "tests/server/web/test_b.py::test_0",
        "tests/server/mail/test_a.py::test_0",
        "tests/server/mail/test_a.py::test_1",
        "tests/server/mail/test_a.py::test_2",
        "tests/whole/test_c.py::test_0",
        "tests/server/mail/test_d.py::test_0[postgresql]",
    ]
    assert chosen("server/mail/text.py", {"a": 50.0, "b": 500.0, "c": 9.0}) == ["c", "a"]
    assert chosen("server/mail/text.py", {"b": 500.0}) == ["b"]


def test_a_test_with_many_cases_leaves_room_for_the_others() -> None:
    file = "tests/server/mail/test_text.py"
    cases = {f"{file}::test_a[{n}]": 0.1 for n in range(9)}
    found = chosen("server/mail/text.py", cases | {f"{file}::test_b": 1.0, f"{file}::test_c": 2.0}, most=6)
    assert {f"{file}::test_b", f"{file}::test_c"} <= set(found)


def test_importers_are_followed_through_a_package(tmp_path: Path) -> None:
    for name, text in {
        "byzanz/__init__.py": "",
        "server/models/__init__.py": "from server.models.games import Game",
        "server/models/games.py": "class Game: pass",
        "server/page.py": "from server.models import Game",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = importers(tmp_path)
    assert found["server/models/games.py"] == {"server/models/__init__.py", "server/page.py"}


def test_a_test_that_is_gone_is_recognised() -> None:
    output = (
        "ERROR: not found: /tmp/copy/tests/server/test_x.py::test_gone\n(no match in any of [<Module x>])\n"
    )
    assert missing(output) == {"tests/server/test_x.py::test_gone"}
    assert missing("ERROR: found no collectors for /tmp/copy/tests/server/test_x.py::test_y\n") == set()


def test_the_table_counts_by_area() -> None:
    hows = ["killed", "timed out", "survived", "not executed", "killed"]
    verdicts = [Verdict(planted, how) for planted, how in zip(toys(), hows, strict=False)]
    assert table(verdicts).splitlines()[2:] == [
        "| rules | 5 | 3 | 1 | 2 | 1 | 60 % |",
        "| all | 5 | 3 | 1 | 2 | 1 | 60 % |",
    ]


def test_a_verdict_is_one_line() -> None:
    planted = toys()[0]
    assert str(Verdict(planted, "killed", 3, 4)) == "killed: byzanz/x.py:1: number: x2 = 2 → x2 = 1"
    assert str(Verdict(planted, "survived", 3, 4)).startswith("survived (3 of 4 tests): byzanz/x.py:1: ")
    survived = {
        how for how in ("killed", "timed out", "survived", "not executed") if Verdict(planted, how).survived
    }
    assert survived == {"survived", "not executed"}


def test_the_command_lists_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "--path", "server/i18n/__init__.py", "--sample", "3"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 3
    assert all(line.startswith("server/i18n/__init__.py:") and " → " in line for line in listed)
