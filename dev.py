"""Set up the project's environment, then run a command in it.

    python3 dev.py demo           start a complete server with players and an inbox on this machine
    python3 dev.py test [ARGS]    run the tests; ARGS go to pytest, --nightly runs the slow ones as well
    python3 dev.py torture ARGS   run the tests that break things on purpose
    python3 dev.py records ARGS   check or extend the finished games that must replay forever
    python3 dev.py words [ARGS]   update the catalogues of all languages; --check only checks
    python3 dev.py mutants ARGS   plant small faults in the product and see whether the tests notice
    python3 dev.py bench [NAME]   measure the table of docs/benchmarks.md; --json prints one JSON object
    python3 dev.py peers          install the programs beside which the benchmarks measure Byzanz
    python3 dev.py docs           make the documentation site in site/; warnings are errors
    python3 dev.py lock [ARGS]    rewrite the lock files from pyproject.toml; ARGS (--upgrade) go to uv
    python3 dev.py COMMAND        run byzanz COMMAND (--help lists the commands)
    python3 dev.py                set up everything, start nothing

The environment is the folder .venv. It is created with uv if uv is on PATH, else with venv and pip. A changed lock
file is installed at the next start. The script runs on Python 3.9; the environment needs Python 3.11 or later.
After `. .venv/bin/activate`, `byzanz COMMAND` and pip work in any folder.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, NoReturn, Optional

try:
    import fcntl
except ImportError:
    sys.exit("dev.py: this needs Linux or macOS; on Windows, use the Subsystem for Linux.")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed"
LOCKS = {"run": ROOT / "requirements.txt", "dev": ROOT / "requirements-dev.txt"}
PEERS_LOCK = ROOT / "requirements-bench.txt"
PEERS = ROOT / ".peers"
PACKAGES_OF_PEERS = ("package.json", "package-lock.json")
HELD = {"run": ["run"], "dev": ["run", "dev"]}  # the dev lock contains the run lock, in the same versions
MODULES = {
    "test": "pytest",
    "torture": "tests.torture",
    "records": "tests.records",
    "words": "tests.words",
    "mutants": "tests.mutants",
    "bench": "benchmarks",
    "docs": "sphinx",
}
SITE = ["--fresh-env", "--fail-on-warning", "--keep-going", "--conf-dir", "docs", ".", "site"]
PARALLEL = ["-n", "auto", "--dist", "worksteal"]
NEEDS_DEV = ("", "lock", "peers", *MODULES)
NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"
COMMAND = """\
#!/bin/sh
exec {python} -P -m server.cli "$@"
"""
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"


class SetUpError(Exception):
    """Raised when the environment cannot be set up; the message says what to do."""


def main(words: List[str]) -> None:
    """Set up what the command needs and run it; print one line to stderr if that fails."""
    first, rest = (words[0], words[1:]) if words else ("", [])
    try:
        set_up("dev" if first in NEEDS_DEV else "run")
        if first == "":
            print(__doc__)
        elif first == "lock":
            write_locks(rest)
        elif first == "peers":
            install_peers()
        elif first in MODULES:
            os.chdir(ROOT)
            start(MODULES[first], [*always(first, rest), *rest])
        else:
            start("server.cli", words)
    except (SetUpError, OSError) as error:
        if "--stdin" in words:  # a mail server must keep the email that it hands over (EX_TEMPFAIL)
            print(f"dev.py: {error}", file=sys.stderr)
            sys.exit(75)
        sys.exit(f"dev.py: {error}")
    except KeyboardInterrupt:
        sys.exit("dev.py: interrupted; run the same command again to continue.")


def always(first: str, rest: List[str]) -> List[str]:
    """Return the arguments that a command's module gets before those given.

    All tests run on all cores; chosen ones run in one process, which starts faster."""
    if first == "docs":
        return SITE
    chosen = any(
        word[:1] != "-" or word.startswith(("-n", "--numprocesses", "--pdb", "--trace")) for word in rest
    )
    return PARALLEL if first == "test" and not chosen else []


def start(module: str, words: List[str]) -> NoReturn:
    """Replace this process with `python -m MODULE WORDS` in the environment."""
    sys.stdout.flush()
    os.execv(str(PYTHON), [str(PYTHON), "-m", module, *words])


def set_up(kind: str) -> None:
    """Install the lock file of `kind` ("run" or "dev") unless it is installed already.

    The stamp is removed first and written last, so an interrupted install is detected and redone from scratch.
    Raises SetUpError if the environment cannot be set up."""
    if is_ready(kind):
        return
    with only_one_at_a_time():
        if is_ready(kind):
            return
        print(
            "dev.py: setting up .venv; this takes up to a minute and happens once.",
            file=sys.stderr,
            flush=True,
        )
        uv = shutil.which("uv")
        sound = STAMP.exists() and runs(str(PYTHON), f"import pip; {NEW_ENOUGH}")
        STAMP.unlink(missing_ok=True)
        if not sound:
            shutil.rmtree(VENV, ignore_errors=True)
            make_environment(uv)
        install(LOCKS[kind], uv)
        put_checkout_on_path()
        unfinished = STAMP.with_suffix(".new")
        unfinished.write_text("".join(f"{name} {fingerprint(name)}\n" for name in HELD[kind]))
        unfinished.replace(STAMP)


def is_ready(kind: str) -> bool:
    """Whether the current lock file of `kind` is completely installed in this checkout."""
    return (
        PYTHON.exists() and STAMP.exists() and f"{kind} {fingerprint(kind)}" in STAMP.read_text().splitlines()
    )


def fingerprint(kind: str) -> str:
    """Return the SHA-256 of what the environment is made of, in hexadecimal.

    That is the lock file, the interpreter, the path of the checkout and what stands for the checkout in .venv."""
    parts = [LOCKS[kind].read_bytes(), os.fsencode(PYTHON.resolve()), os.fsencode(ROOT), COMMAND.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Wait until no other dev.py is setting up this checkout."""
    with open(ROOT / ".venv.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def make_environment(uv: Optional[str]) -> None:
    """Create .venv with pip, using uv if its path is given; uv finds a Python if PATH has none that is new enough."""
    if uv:
        run([uv, "venv", "-q", "--seed", "--python", python_to_use() or ">=3.11", str(VENV)])
    else:
        run([python_with_venv(), "-m", "venv", str(VENV)])


def install(lock: Path, uv: Optional[str]) -> None:
    """Install the locked packages, checking each against its hash."""
    if uv:
        run([uv, "pip", "install", "-q", "--python", str(PYTHON), "--require-hashes", "-r", str(lock)])
    else:
        pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq"]
        run([*pip, "install", "--require-hashes", "-r", str(lock)])


def install_peers() -> None:
    """Install what the benchmarks measure beside Byzanz; name what cannot be installed and go on."""
    for what, put in {
        "the web servers": install_web_servers,
        "the servers on Node.js": install_node_peers,
    }.items():
        try:
            put()
        except (SetUpError, OSError) as error:
            print(f"dev.py: {what} are missing: {error}", file=sys.stderr)
        else:
            print(f"dev.py: installed {what}.")


def install_web_servers() -> None:
    """Install the group `bench` beside what `python3 dev.py` has installed."""
    install(PEERS_LOCK, shutil.which("uv"))


def install_node_peers() -> None:
    """Let npm install the locked packages in .peers, which git ignores.

    One of them is compiled if its author's file cannot be downloaded; the headers that come with Node.js do for that.
    Raises SetUpError without npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not (node and npm):
        raise SetUpError("install Node.js and npm.")
    PEERS.mkdir(exist_ok=True)
    for name in PACKAGES_OF_PEERS:
        shutil.copy(ROOT / "benchmarks" / "peers" / name, PEERS)
    environment = dict(os.environ)
    prefix = Path(node).resolve().parent.parent
    if (prefix / "include" / "node" / "node.h").exists():
        environment.setdefault("npm_config_nodedir", str(prefix))
    run([npm, "ci", "--silent", "--no-audit", "--no-fund", "--prefix", str(PEERS)], environment)


def python_with_venv() -> str:
    """Return a Python that is new enough and can create environments.

    Raises SetUpError, naming the package to install, if there is none."""
    python = python_to_use()
    if python is None:
        here = "%d.%d" % sys.version_info[:2]
        raise SetUpError(
            f"Python 3.11 or later is needed and this is {here}: install python3.11 or later, or uv."
        )
    if not runs(python, "import venv, ensurepip"):
        version = said_by(python, VERSION)
        raise SetUpError(
            "this Python cannot create environments (ensurepip is not available). On Debian and Ubuntu, run"
            f" `apt install python{version}-venv`, or install uv."
        )
    return python


def python_to_use() -> Optional[str]:
    """Return this Python if it is new enough, else a newer one on PATH, else None."""
    names = ("python3.13", "python3.12", "python3.11", "python3.14", "python3")
    found = (sys.executable, *map(shutil.which, names))
    return next((path for path in found if path and runs(path, NEW_ENOUGH)), None)


def runs(python: str, code: str) -> bool:
    """Whether this interpreter starts and runs a line of code without an error."""
    try:
        return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def said_by(python: str, code: str) -> str:
    """Return what this interpreter prints when it runs a line of code."""
    return subprocess.check_output([python, "-c", code], text=True).strip()


def put_checkout_on_path() -> None:
    """Let the environment import the packages of this checkout from any folder, and count it as byzanz installed.

    With .venv/bin on PATH, `byzanz` runs the command line, and pip installs packages of games that need byzanz."""
    packages = Path(said_by(str(PYTHON), PACKAGES))
    (packages / "byzanz-checkout.pth").write_text(f"{ROOT}\n")
    for old in packages.glob("byzanz-*.dist-info"):
        shutil.rmtree(old)
    version = said_by(str(PYTHON), "import byzanz; print(byzanz.__version__)")
    info = packages / f"byzanz-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: byzanz\nVersion: {version}\n")
    (info / "INSTALLER").write_text("dev.py\n")
    (info / "RECORD").write_text(
        "".join(f"{info.name}/{name},,\n" for name in ("METADATA", "INSTALLER", "RECORD"))
    )
    command = PYTHON.with_name("byzanz")
    command.write_text(COMMAND.format(python=shlex.quote(str(PYTHON))))
    command.chmod(0o755)


def write_locks(words: List[str]) -> None:
    """Rewrite the lock files from pyproject.toml: versions and hashes for every platform, no host or path."""
    os.chdir(ROOT)
    # keep this machine's indexes and folders out of the lock files
    clean = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    shared = ["--no-config", "--system-certs", "--universal", "--python-version", "3.11", "--generate-hashes"]
    quiet = ["-q", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    uv, options = [str(VENV / "bin" / "uv"), "pip", "compile"], [*shared, *quiet, *words]
    command = [*uv, "pyproject.toml", *options]
    run([*command, "-o", "requirements.txt"], clean)
    run([*command, "--group", "dev", "-c", "requirements.txt", "-o", "requirements-dev.txt"], clean)
    # the group alone, in versions that fit beside the others
    bench = ["--group", "bench", "-c", "requirements-dev.txt", "-o", PEERS_LOCK.name]
    run([*uv, *options, *bench], clean)
    print("dev.py: wrote the lock files; the next command installs them.")


def run(command: List[str], environment: Optional[Dict[str, str]] = None) -> None:
    """Run a command, showing its output; raise SetUpError unless it succeeds."""
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        raise SetUpError(f"`{' '.join(command[:4])} …` failed, see above. Fix the cause and run it again.")


if __name__ == "__main__":
    main(sys.argv[1:])
