"""Sets up the project's environment, then starts what was asked for.

    python3 dev.py demo           a whole server with players and an inbox, on this machine alone
    python3 dev.py test [ARGS]    the tests; ARGS go to pytest
    python3 dev.py torture ARGS   the tests that break things on purpose
    python3 dev.py records ARGS   the finished games that must replay for ever: check them, add some
    python3 dev.py words [ARGS]   brings the catalogues of all languages up to date; --check only looks
    python3 dev.py bench [NAME]   the benchmarks; --json for one JSON object
    python3 dev.py lock [ARGS]    rewrites the locks from pyproject.toml; ARGS (--upgrade) go to uv
    python3 dev.py WORDS          byzanz WORDS (--help lists them)
    python3 dev.py                sets up everything, starts nothing

The environment is the folder .venv. uv makes it where uv is on PATH, else venv and pip, and a changed lock is
installed at the next start. Starts on Python 3.9; the environment is of Python 3.11 or later.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, NoReturn, Optional

try:
    import fcntl
except ImportError:
    sys.exit("dev.py: this needs Linux, macOS, or on Windows the Subsystem for Linux.")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed"
LOCKS = {"run": ROOT / "requirements.txt", "dev": ROOT / "requirements-dev.txt"}
HELD = {"run": ["run"], "dev": ["run", "dev"]}  # the dev lock holds all of the other, in the same versions
MODULES = {
    "test": "pytest",
    "torture": "tests.torture",
    "records": "tests.records",
    "words": "tests.words",
    "bench": "benchmarks",
}
NEEDS_DEV = ("", "lock", *MODULES)
NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"


class SetUpError(Exception):
    """The environment cannot be set up; the message says what to do."""


def main(words: List[str]) -> None:
    """Sets up what `words` need, then becomes the program they name; one line on stderr if that fails."""
    first, rest = (words[0], words[1:]) if words else ("", [])
    try:
        set_up("dev" if first in NEEDS_DEV else "run")
        if first == "":
            print(__doc__)
        elif first == "lock":
            write_locks(rest)
        elif first in MODULES:
            os.chdir(ROOT)
            start(MODULES[first], rest)
        else:
            start("server.cli", words)
    except (SetUpError, OSError) as error:
        sys.exit(f"dev.py: {error}")
    except KeyboardInterrupt:
        sys.exit("dev.py: stopped; the same command starts anew.")


def start(module: str, words: List[str]) -> NoReturn:
    """Replaces this process by `python -m MODULE WORDS` in the environment."""
    sys.stdout.flush()
    os.execv(str(PYTHON), [str(PYTHON), "-m", module, *words])


def set_up(kind: str) -> None:
    """Installs the lock of `kind` ("run" or "dev") unless that is done already.

    The stamp goes first and comes back last: without one, an install was broken off, and all is made anew.
    Raises SetUpError where that cannot be done."""
    if is_ready(kind):
        return
    with only_one_at_a_time():
        if is_ready(kind):
            return
        print("dev.py: setting up .venv; this takes up to a minute, once.", file=sys.stderr, flush=True)
        uv = shutil.which("uv")
        sound = STAMP.exists() and runs(str(PYTHON), NEW_ENOUGH if uv else f"import pip; {NEW_ENOUGH}")
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
    """Whether the lock of `kind`, as it stands now, was installed to the end here."""
    return (
        PYTHON.exists() and STAMP.exists() and f"{kind} {fingerprint(kind)}" in STAMP.read_text().splitlines()
    )


def fingerprint(kind: str) -> str:
    """SHA-256 over the lock, the interpreter and the place of the checkout, in hexadecimal."""
    parts = [LOCKS[kind].read_bytes(), os.fsencode(PYTHON.resolve()), os.fsencode(ROOT)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Waits until no other dev.py of this checkout is setting up."""
    with open(ROOT / ".venv.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def make_environment(uv: Optional[str]) -> None:
    """Makes .venv, by uv if its path is given; uv finds a Python where PATH has none that is new enough."""
    if uv:
        run([uv, "venv", "-q", "--python", python_to_use() or ">=3.11", str(VENV)])
    else:
        run([python_with_venv(), "-m", "venv", str(VENV)])


def install(lock: Path, uv: Optional[str]) -> None:
    """Installs the locked packages, each checked against its hash."""
    if uv:
        run([uv, "pip", "install", "-q", "--python", str(PYTHON), "--require-hashes", "-r", str(lock)])
    else:
        pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq"]
        run([*pip, "install", "--require-hashes", "-r", str(lock)])


def python_with_venv() -> str:
    """A Python that is new enough and can make environments.

    Raises SetUpError, naming the package to install, where there is none."""
    python = python_to_use()
    if python is None:
        here = "%d.%d" % sys.version_info[:2]
        raise SetUpError(
            f"Python 3.11 or later is needed and this is {here}: install python3.11 or later, or uv."
        )
    if not runs(python, "import venv, ensurepip"):
        version = said_by(python, VERSION)
        raise SetUpError(
            "this Python cannot make environments (ensurepip is not available): on Debian and Ubuntu"
            f" `apt install python{version}-venv`, or install uv."
        )
    return python


def python_to_use() -> Optional[str]:
    """This Python if it is new enough, else a newer one on PATH, else None."""
    names = ("python3.13", "python3.12", "python3.11", "python3.14", "python3")
    found = (sys.executable, *map(shutil.which, names))
    return next((path for path in found if path and runs(path, NEW_ENOUGH)), None)


def runs(python: str, code: str) -> bool:
    """Whether this interpreter starts and gets through a line of code."""
    try:
        return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def said_by(python: str, code: str) -> str:
    """What this interpreter prints when it runs a line of code."""
    return subprocess.check_output([python, "-c", code], text=True).strip()


def put_checkout_on_path() -> None:
    """Lets the environment import the packages of this checkout from any folder."""
    Path(said_by(str(PYTHON), PACKAGES), "byzanz-checkout.pth").write_text(f"{ROOT}\n")


def write_locks(words: List[str]) -> None:
    """Writes both locks anew from pyproject.toml: versions and hashes for every platform, no host or path."""
    os.chdir(ROOT)
    # a machine's own indexes and folders stay out of the lock
    clean = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    shared = ["--no-config", "--system-certs", "--universal", "--python-version", "3.11", "--generate-hashes"]
    quiet = ["-q", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command = [str(VENV / "bin" / "uv"), "pip", "compile", "pyproject.toml", *shared, *quiet, *words]
    run([*command, "-o", "requirements.txt"], clean)
    run([*command, "--extra", "dev", "-c", "requirements.txt", "-o", "requirements-dev.txt"], clean)
    print("dev.py: both locks are written; the next command installs them.")


def run(command: List[str], environment: Optional[Dict[str, str]] = None) -> None:
    """Runs a command, its output shown; raises SetUpError unless it succeeds."""
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        raise SetUpError(f"`{' '.join(command[:4])} …` failed, see above; then give the same command again.")


if __name__ == "__main__":
    main(sys.argv[1:])
