"""Setup: what dev.py installs and when, what the lock files contain, and what the wheel contains."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import dev
from tests.support import author
from tests.support.folders import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PRODUCT = ("byzanz", "server", "migrations", "wsgi.py")
"""What the wheel contains or runs: it may import only what installing the wheel brings along."""
TOOLS = ("benchmarks", "tests", "docs", ".ci", "dev.py", "build_hook.py")
OWN = {"byzanz", "server", "benchmarks", "tests", "dev", "package"}


class Checkout:
    """A folder in which dev.py works, with installing replaced by writing down what was asked for."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.steps, self.breaks = root, [], False  # type: ignore[var-annotated]
        root.mkdir()
        self.locks = {kind: root / f"{kind}.txt" for kind in dev.LOCKS}
        for kind, lock in self.locks.items():
            lock.write_text(kind)
        monkeypatch.setattr(dev, "ROOT", root)
        monkeypatch.setattr(dev, "VENV", root / ".venv")
        monkeypatch.setattr(dev, "PYTHON", root / ".venv/bin/python")
        monkeypatch.setattr(dev, "STAMP", root / ".venv/installed")
        monkeypatch.setattr(dev, "LOCKS", self.locks)
        monkeypatch.setattr(dev, "make_environment", self.make)
        monkeypatch.setattr(dev, "install", self.install)
        monkeypatch.setattr(dev, "put_checkout_on_path", lambda: None)

    def make(self, _uv: str | None) -> None:
        self.steps.append("make")
        (self.root / ".venv/bin").mkdir(parents=True)
        (self.root / ".venv/bin/python").symlink_to(sys.executable)

    def install(self, lock: Path, _uv: str | None) -> None:
        self.steps.append(lock.stem)
        if self.breaks:
            raise KeyboardInterrupt

    def set_up(self, kind: str) -> list[str]:
        """The steps that setting up `kind` took."""
        self.steps.clear()
        dev.set_up(kind)
        return list(self.steps)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return Checkout(tmp_path / "checkout", monkeypatch)


def test_a_lock_is_installed_once_and_again_when_it_changed(checkout: Checkout) -> None:
    assert checkout.set_up("run") == ["make", "run"]
    assert checkout.set_up("run") == []
    checkout.locks["run"].write_text("another version")
    assert checkout.set_up("run") == ["run"]
    assert checkout.set_up("run") == []


def test_the_dev_lock_serves_play_too_until_the_other_changes(checkout: Checkout) -> None:
    assert checkout.set_up("dev") == ["make", "dev"]
    assert checkout.set_up("run") == []
    checkout.locks["run"].write_text("another version")
    assert checkout.set_up("run") == ["run"]
    assert checkout.set_up("dev") == ["dev"]


def test_an_install_broken_off_is_done_anew_from_the_start(checkout: Checkout) -> None:
    checkout.set_up("run")
    checkout.locks["run"].write_text("another version")
    checkout.breaks = True
    with pytest.raises(KeyboardInterrupt):
        dev.set_up("run")
    checkout.breaks = False
    assert checkout.set_up("run") == ["make", "run"]


def test_a_python_gone_makes_the_environment_anew(checkout: Checkout) -> None:
    checkout.set_up("run")
    (checkout.root / ".venv/bin/python").unlink()
    assert checkout.set_up("run") == ["make", "run"]


def test_a_copy_of_the_checkout_does_not_trust_the_stamp(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.set_up("run")
    monkeypatch.setattr(dev, "ROOT", checkout.root.parent)
    assert not dev.is_ready("run")


def test_in_the_environment_of_a_checkout_its_command_and_pip_work_anywhere(tmp_path: Path) -> None:
    variables = author.environment(tmp_path / "env")

    def run(*words: str, here: str = ".") -> str:
        done = subprocess.run(
            words, cwd=tmp_path / here, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (tmp_path / "server").mkdir()  # of somebody else
    assert "byzanz new-game" in run("byzanz", "new-game", "--help")
    assert "Return the legal answers" in run("python", "-m", "pydoc", "byzanz.rules")
    run("byzanz", "new-game", "abbey")
    run("pip", "install", "--editable", ".", here="abbey")
    run("pip", "check")
    assert "Abbey for 2 " in run("byzanz", "play", "abbey", "--seed", "a")


@pytest.mark.parametrize(
    ("words", "kind", "started"),
    [
        (["demo", "--port", "0"], "run", ("server.cli", ["demo", "--port", "0"])),
        (["verify", "test"], "run", ("server.cli", ["verify", "test"])),
        (["test", "-k", "x"], "dev", ("pytest", ["-k", "x"])),
        (["test", "-n", "1"], "dev", ("pytest", ["-n", "1"])),
        (["test", "--pdb"], "dev", ("pytest", ["--pdb"])),
        (["test", "--nightly"], "dev", ("pytest", [*dev.PARALLEL, "--nightly"])),
        (["test"], "dev", ("pytest", dev.PARALLEL)),
        (["torture", "--ci"], "dev", ("tests.torture", ["--ci"])),
        (["records", "check"], "dev", ("tests.records", ["check"])),
        (["words"], "dev", ("tests.words", [])),
        (["docs", "-q"], "dev", ("sphinx", [*dev.SITE, "-q"])),
        (["mutants", "--list"], "dev", ("tests.mutants", ["--list"])),
        (["bench", "rates"], "dev", ("benchmarks", ["rates"])),
        ([], "dev", None),
    ],
)
def test_words_choose_what_is_installed_and_started(
    words: list[str], kind: str, started: tuple[str, list[str]] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    monkeypatch.setattr(dev, "set_up", calls.append)
    monkeypatch.setattr(dev, "start", lambda module, rest: calls.append((module, rest)))
    monkeypatch.chdir(ROOT)
    dev.main(words)
    assert calls == [kind, started] if started else [kind]


def test_dev_starts_on_python_3_9_with_the_standard_library_alone() -> None:
    tree = ast.parse((ROOT / "dev.py").read_text(), feature_version=(3, 9))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names


def test_an_old_python_without_a_newer_one_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "runs", lambda _python, _code: False)
    with pytest.raises(dev.SetUpError, match=r"3\.11 or later is needed .* install python3\.11") as told:
        dev.python_with_venv()
    assert "\n" not in str(told.value)


def test_a_newer_python_on_path_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name on PATH may be a wrapper that starts nothing, so each is tried."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(dev, "runs", lambda python, _code: python == "/bin/python3.11")
    assert dev.python_to_use() == "/bin/python3.11"


def test_a_missing_ensurepip_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    really_runs = dev.runs
    monkeypatch.setattr(
        dev, "runs", lambda python, code: "ensurepip" not in code and really_runs(python, code)
    )
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(dev.SetUpError, match=rf"apt install python{here}-venv") as told:
        dev.python_with_venv()
    assert "\n" not in str(told.value)


def test_a_step_that_fails_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "set_up", lambda _kind: dev.run(["false"]))
    with pytest.raises(SystemExit, match=r"^dev\.py: `false …` failed"):
        dev.main(["demo"])


def test_a_mail_server_keeps_an_email_that_a_broken_set_up_cannot_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "set_up", lambda _kind: dev.run(["false"]))
    with pytest.raises(SystemExit) as ended:
        dev.main(["mail-in", "--stdin"])
    assert ended.value.code == 75
    assert capsys.readouterr().err.startswith("dev.py: `false …` failed")


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that installing the peers runs; nothing is installed."""
    commands: list[list[str]] = []
    monkeypatch.setattr(dev, "set_up", lambda _kind: None)
    monkeypatch.setattr(dev, "PEERS", tmp_path / "peers")
    monkeypatch.setattr(dev, "run", lambda command, _environment=None: commands.append(command))
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "uv" else f"/usr/bin/{name}")
    return commands


def test_the_peers_are_installed_as_locked(peers: list[list[str]]) -> None:
    dev.main(["peers"])
    (pip, npm) = peers
    assert pip[-4:] == ["install", "--require-hashes", "-r", str(ROOT / "requirements-bench.txt")]
    assert npm[:2] == ["/usr/bin/npm", "ci"]
    for name in ("package.json", "package-lock.json"):
        assert (dev.PEERS / name).read_bytes() == (ROOT / "benchmarks/peers" / name).read_bytes()


def test_a_peer_that_cannot_be_installed_is_named_and_the_others_are(
    peers: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    dev.main(["peers"])
    assert len(peers) == 1
    told = capsys.readouterr()
    assert "installed the web servers" in told.out
    assert "the servers on Node.js are missing: install Node.js and npm." in told.err


def test_the_peers_on_node_are_locked_without_a_host() -> None:
    folder = ROOT / "benchmarks/peers"
    wanted, locked = (json.loads((folder / name).read_text()) for name in dev.PACKAGES_OF_PEERS)
    packages = {path.removeprefix("node_modules/"): lock for path, lock in locked["packages"].items()}
    for name, version in (wanted["dependencies"] | wanted["overrides"]).items():
        assert packages[name]["version"] == version
    assert all("integrity" in lock and "resolved" not in lock for path, lock in packages.items() if path)


def pins(lock: str) -> dict[str, set[tuple[str, frozenset[str]]]]:
    """What a lock holds: name → versions, each with its hashes; more than one where platforms differ."""
    found: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / lock).read_text().replace("\\\n", "")):
        line, *hashes = re.split(r"\s+--hash=", entry.strip())
        wanted = Requirement(line)
        (pin,) = wanted.specifier
        assert pin.operator == "==", line
        assert wanted.url is None, line
        assert hashes, f"{line} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in hashes), line
        found.setdefault(wanted.name, set()).add((pin.version, frozenset(hashes)))
    return found


def test_the_dev_lock_holds_the_other_in_the_same_versions() -> None:
    everything = pins("requirements-dev.txt")
    for name, versions in pins("requirements.txt").items():
        assert versions == everything[name]


def test_the_lock_of_the_benchmarks_fits_beside_the_others() -> None:
    """It is installed into the same environment, so it may not bring another version of anything."""
    everything = pins("requirements-dev.txt")
    for name, versions in pins("requirements-bench.txt").items():
        assert versions == everything.get(name, versions)
        for wanted in declared("bench", project=False):
            if wanted.name == name:
                assert all(Version(version) in wanted.specifier for version, _ in versions), wanted


def declared(*groups: str, project: bool = True) -> list[Requirement]:
    """The dependencies of the project and of these groups, with the groups that they include."""
    lines = list(PYPROJECT["project"]["dependencies"]) if project else []
    waiting = list(groups)
    while waiting:
        for line in PYPROJECT["dependency-groups"][waiting.pop()]:
            if isinstance(line, str):
                lines.append(line)
            else:
                waiting.append(line["include-group"])
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize(
    ("lock", "groups"), [("requirements.txt", []), ("requirements-dev.txt", ["dev"])], ids=["run", "dev"]
)
def test_the_locks_keep_the_ranges_of_the_project(lock: str, groups: list[str]) -> None:
    locked = pins(lock)
    for wanted in declared(*groups):
        for version, _ in locked[wanted.name]:
            assert Version(version) in wanted.specifier, f"{wanted}: run `python3 dev.py lock`"


def undeclared(paths: Iterable[Path], allowed: Iterable[Requirement]) -> set[str]:
    """The imports of these files that are neither ours nor the standard library's nor an allowed library's."""
    libraries = packages_distributions()
    names = {canonicalize_name(wanted.name) for wanted in allowed}
    known = {module for module, dists in libraries.items() if names & set(map(canonicalize_name, dists))}
    known |= names  # one that is not installed is known by its own name
    imported = {module for path in paths for module in imports(path)}
    return imported - known - sys.stdlib_module_names - OWN


def imports(path: Path) -> Iterator[str]:
    """The first part of each name that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def sources(places: Iterable[str]) -> Iterator[Path]:
    """The Python files of these folders and files."""
    for place in places:
        path = ROOT / place
        yield from path.rglob("*.py") if path.is_dir() else [path]


def test_every_imported_library_is_declared() -> None:
    assert undeclared(sources(PRODUCT), declared()) == set()
    assert undeclared(sources(TOOLS), declared("dev", "bench")) == set()


def test_an_undeclared_library_is_found(tmp_path: Path) -> None:
    """Also one that a declared library brings along, imported inside a function."""
    module = tmp_path / "module.py"
    module.write_text("import os\nimport flask.app\n\ndef lazy():\n    from itsdangerous import Signer\n")
    assert undeclared([module], declared()) == {"itsdangerous"}
    module.write_text("import pytest\n")
    assert undeclared([module], declared()) == {"pytest"}
    assert undeclared([module], declared("dev")) == set()


def test_no_lock_names_a_host_or_a_path() -> None:
    for lock in ROOT.glob("requirements*"):
        assert not re.search(r"://|/|^-|@|index|find-links|trusted", lock.read_text(), re.MULTILINE), (
            lock.name
        )


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: which files belong to the project is not known")
    never = ["py" + "pi.org", "python" + "hosted", "npm" + "js.org", "/opt/" + "pypi", "/opt/" + "wheels"]
    never += ["/ro" + "ot/", "/wo" + "rk/", "--index" + "-url http", "--find" + "-links /"]
    for path in filter(Path.is_file, (ROOT / name for name in listed.stdout.split("\0") if name)):
        text = path.read_bytes()
        assert not [word for word in never if word.encode() in text], path


@pytest.fixture
def build(tmp_path: Path) -> Callable[[str], list[str]]:
    """Builds a wheel of that kind from a small copy of the project and lists its files."""
    for name in ("pyproject.toml", "build_hook.py", "LICENSE", "byzanz/__init__.py", "byzanz/py.typed"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in (
        "README.md",
        "server/__init__.py",
        "server/py.typed",
        "server/translations/nl/LC_MESSAGES/messages.po",
        "templates/seat/turn.html",
        "migrations/versions/one.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def files(kind: str) -> list[str]:
        (wheel,) = WheelBuilder(str(tmp_path)).build(directory=str(tmp_path / "dist"), versions=[kind])
        return ZipFile(wheel).namelist()

    return files


def test_a_wheel_carries_templates_and_migrations(build: Callable[[str], list[str]]) -> None:
    files = build("standard")
    assert {"byzanz/__init__.py", "server/__init__.py", "byzanz/py.typed", "server/py.typed"} <= set(files)
    assert "server/translations/nl/LC_MESSAGES/messages.po" in files
    assert {"server/templates/seat/turn.html", "server/migrations/versions/one.py"} <= set(files)


def test_a_wheel_asks_for_no_development_tool(build: Callable[[str], list[str]], tmp_path: Path) -> None:
    (metadata,) = [name for name in build("standard") if name.endswith("/METADATA")]
    (wheel,) = (tmp_path / "dist").iterdir()
    lines = ZipFile(wheel).read(metadata).decode().partition("\n\n")[0].splitlines()
    asked = {Requirement(line.partition(": ")[2]).name for line in lines if line.startswith("Requires-Dist")}
    assert asked == {wanted.name for wanted in declared()}
    assert not [line for line in lines if line.startswith("Provides-Extra")]


def test_an_editable_wheel_leaves_them_in_the_checkout(build: Callable[[str], list[str]]) -> None:
    assert not [name for name in build("editable") if "templates" in name or "migrations" in name]


def faulty_hooks(configuration: str) -> list[str]:
    """The commands of a pre-commit configuration that this environment does not have, and whatever would download."""
    sources = re.findall(r"(?:repo|language): (.+)", configuration)
    faults = [source for source in sources if source not in ("local", "system")]
    for entry in re.findall(r"entry: (.+)", configuration):
        program, *words = entry.split()
        if program.startswith(".venv/bin/"):
            known = Path(sys.executable).with_name(program.removeprefix(".venv/bin/")).exists()
        else:
            known = [program, words[0]] == ["python3", "dev.py"] and words[1] in dev.MODULES
        if not known:
            faults.append(entry)
    return faults


def test_the_hooks_for_commits_run_what_the_environment_has() -> None:
    configuration = (ROOT / ".pre-commit-config.yaml").read_text()
    assert configuration.count("entry: ") == configuration.count("- id: ") > 0
    assert faulty_hooks(configuration) == []


def test_a_hook_without_a_command_is_found() -> None:
    planted = """
  - repo: https://example.org/hooks
    hooks:
      - entry: .venv/bin/ruff check
        language: python
      - entry: .venv/bin/rough check
      - entry: python3 dev.py wrods --check
      - entry: sh dev.py words
"""
    assert faulty_hooks(planted) == [
        "https://example.org/hooks",
        "python",
        ".venv/bin/rough check",
        "python3 dev.py wrods --check",
        "sh dev.py words",
    ]
