"""Sets up the project's environment, then starts what was asked for.

    python3 dev.py demo           a whole server with players and an inbox, on this machine alone
    python3 dev.py test [ARGS]    the tests; ARGS go to pytest
    python3 dev.py torture ARGS   the tests that break things on purpose
    python3 dev.py lock [ARGS]    rewrites the locks from pyproject.toml; ARGS (--upgrade) go to uv
    python3 dev.py WORDS          byzanz WORDS (byzanz --help lists them)
    python3 dev.py                sets up everything, starts nothing

The environment is the folder .venv. It is set up by uv where uv is on PATH, else by venv and pip, and set up anew
whenever the lock has changed. Starts on Python 3.9, sets up an environment of 3.11 or later.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, NoReturn, Optional

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed"
LOCKS = {"run": ROOT / "requirements.txt", "dev": ROOT / "requirements-dev.txt"}
OLDEST = (3, 11)
NEWER_NAMES = ("python3.13", "python3.12", "python3.11", "python3.14")


class SetUpError(Exception):
    """The environment cannot be set up; the message says what to do."""


def main(words: List[str]) -> None:
    """Sets up what `words` need, then becomes the program they name; ends with one line if that fails."""
    first, rest = (words[0], words[1:]) if words else ("", [])
    try:
        set_up("dev" if first in ("", "test", "torture", "lock") else "run")
        if first == "":
            print(__doc__)
        elif first == "lock":
            write_locks(rest)
        elif first in ("test", "torture"):
            os.chdir(ROOT)
            start(["pytest" if first == "test" else "tests.torture", *rest])
        else:
            start(["server.cli", *words])
    except SetUpError as error:
        sys.exit(f"dev.py: {error}")
    except KeyboardInterrupt:
        sys.exit("dev.py: stopped; the same command goes on from here.")


def start(module_and_words: List[str]) -> NoReturn:
    """Replaces this process by `python -m MODULE WORDS` in the environment."""
    sys.stdout.flush()
    os.execv(str(PYTHON), [str(PYTHON), "-m", *module_and_words])


def set_up(kind: str) -> None:
    """Installs the lock of `kind` ("run" or "dev") unless that was done; the stamp is written last."""
    wanted = fingerprint(kind)
    if wanted is not None and stamps().get(kind) == wanted:
        return
    with only_one_at_a_time():
        wanted = fingerprint(kind)
        if wanted is not None and stamps().get(kind) == wanted:
            return
        print("dev.py: setting up .venv; this takes up to a minute, once.", file=sys.stderr, flush=True)
        if STAMP.exists():
            STAMP.unlink()
        install(LOCKS[kind])
        put_checkout_on_path()
        done = ["run", "dev"] if kind == "dev" else ["run"]  # the dev lock holds all of the other, same versions
        unfinished = STAMP.with_suffix(".new")
        unfinished.write_text("".join(f"{name} {fingerprint(name)}\n" for name in done))
        unfinished.replace(STAMP)


def fingerprint(kind: str) -> Optional[str]:
    """SHA-256 over lock, interpreter and place of the checkout; None where there is no environment."""
    if not PYTHON.exists():
        return None
    parts = [LOCKS[kind].read_bytes(), os.fsencode(PYTHON.resolve()), os.fsencode(ROOT)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def stamps() -> Dict[str, str]:
    """The fingerprints of what was installed to the end, by kind of lock."""
    lines = STAMP.read_text().splitlines() if STAMP.exists() else []
    return dict(line.split(" ", 1) for line in lines if " " in line)


@contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Waits until no other dev.py of this checkout is setting up."""
    with open(ROOT / ".venv.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def install(lock: Path) -> None:
    """Makes .venv if there is none that works, and installs the locked packages, each checked against its hash."""
    uv = shutil.which("uv")
    if uv:
        if not runs(PYTHON, "import sys"):
            run([uv, "venv", "-q", "--clear", "--python", python_to_use() or ">=3.11", str(VENV)])
        run([uv, "pip", "install", "-q", "--python", str(PYTHON), "--require-hashes", "-r", str(lock)])
        return
    if not runs(PYTHON, "import pip"):
        run([python_with_venv(), "-m", "venv", "--clear", str(VENV)])
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    run([*pip, "install", "-q", "--require-hashes", "-r", str(lock)])


def python_with_venv() -> str:
    """A Python that is new enough and can make environments.

    Raises SetUpError, with the package to install, where there is none."""
    python = python_to_use()
    if python is None:
        raise SetUpError(
            "Python 3.11 or later is needed, and this is %d.%d: install python3.11 or later, or uv." % sys.version_info[:2]
        )
    if not runs(python, "import venv, ensurepip"):
        version = subprocess.check_output([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True)
        raise SetUpError(
            f"{python} cannot make environments (ensurepip is not available): on Debian and Ubuntu"
            f" `apt install python{version.strip()}-venv`, or install uv."
        )
    return python


def python_to_use() -> Optional[str]:
    """This Python if it is new enough, else a newer one on PATH, else None."""
    if sys.version_info >= OLDEST:
        return sys.executable
    found = (shutil.which(name) for name in NEWER_NAMES)
    return next((path for path in found if path and runs(path, "import sys")), None)


def runs(python: "os.PathLike[str] | str", code: str) -> bool:
    """Whether this interpreter starts and gets through a line of code."""
    try:
        return subprocess.run([python, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def put_checkout_on_path() -> None:
    """Lets the environment import the packages of this checkout from any folder."""
    where = subprocess.check_output([str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    Path(where.strip(), "byzanz-checkout.pth").write_text(f"{ROOT}\n")


def write_locks(words: List[str]) -> None:
    """Writes both locks anew: versions and hashes for every platform; no host, no path."""
    os.chdir(ROOT)
    hidden = ("UV_", "PIP_")  # a machine's own indexes and folders stay out of the lock
    clean = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    compile_lock = [
        str(VENV / "bin" / "uv"), "pip", "compile", "-q", "--no-config", "--system-certs", "--universal",
        "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links",
        "--no-header", "--no-annotate", *words, "pyproject.toml",
    ]  # fmt: skip
    run([*compile_lock, "-o", "requirements.txt"], clean)
    run([*compile_lock, "--extra", "dev", "-c", "requirements.txt", "-o", "requirements-dev.txt"], clean)
    print("dev.py: both locks are written; the next command installs them.")


def run(command: List[str], environment: Optional[Dict[str, str]] = None) -> None:
    """Runs a command, its output shown; raises SetUpError unless it succeeds."""
    if subprocess.run(command, env=environment).returncode != 0:
        raise SetUpError(f"`{' '.join(command[:4])} …` failed, see above; put it right and give the same command again.")


if __name__ == "__main__":
    main(sys.argv[1:])
