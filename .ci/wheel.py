"""Build the wheel, install it in a separate environment and start the demo there: `wheel.py FOLDER`."""

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen
from zipfile import ZipFile

from package import free_port, plays_a_package

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0
"""Seconds the demo may take to print its link; generous, because CI machines are busy."""


def main(folder: Path) -> None:
    """Run all checks in `folder`, which is created; stop with an error at the first failure."""
    folder.mkdir(parents=True)
    wheel = built(folder)
    carries(wheel)
    bin_folder = installed(wheel, folder)
    shown = subprocess.run(
        [bin_folder / "byzanz", "--help"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert "simulate" in shown.stdout, shown.stdout
    follows(bin_folder, folder)
    plays(bin_folder, folder)
    answers(bin_folder, folder)
    plays_a_package(bin_folder, folder)
    print(
        f"{wheel.name}: contains its files, installs, makes a new game, whose turns its demo opens, gunicorn serves "
        "it, and a game of examples/goofspiel is played by email"
    )


def built(folder: Path) -> Path:
    """Build the wheel from this checkout and return its path."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def carries(wheel: Path) -> None:
    """Check that the wheel contains every template and migration, and no tests, docs or instance data."""
    files = set(ZipFile(wheel).namelist())
    tracked = ["git", "ls-files", "-z", "templates", "migrations", "server", "byzanz"]
    for name in subprocess.check_output(tracked, cwd=ROOT, text=True).split("\0"):
        place = f"server/{name}" if name.startswith(("templates/", "migrations/")) else name
        assert place in files or not name, f"{place} is not in the wheel"
    for package in ("byzanz", "server"):
        assert f"{package}/py.typed" in files, f"{package} does not tell type checkers that it is typed"
    assert not [name for name in files if name.startswith(("tests/", "docs/", "instance/"))]


def installed(wheel: Path, folder: Path) -> Path:
    """Install the locked packages and the wheel in a new environment; return its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    pip = [str(folder / "env/bin/python"), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements.txt")], check=True)
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return folder / "env/bin"


def clean() -> dict[str, str]:
    """Return the environment without settings of this project or of Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("BYZANZ_", "PYTHON"))}


def follows(bin_folder: Path, folder: Path) -> None:
    """Check that docs/new-game.md can be followed with nothing but the wheel; its game stays installed."""
    command = [sys.executable, "-m", "tests.support.new_game_document", str(folder)]
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, cwd=ROOT, env=clean() | {"PATH": path}, check=True)


def plays(bin_folder: Path, folder: Path) -> None:
    """Check that `byzanz demo` from the wheel prints a link that opens a turn of the game made before."""
    said = folder / "demo.txt"
    environment = clean() | {"PYTHONUNBUFFERED": "1"}
    command = [str(bin_folder / "byzanz"), "demo", "--port", str(free_port()), "--game", "toll"]
    with said.open("w") as out:
        demo = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)
    try:
        with urlopen(link(said, demo), timeout=30) as answer:
            assert b"<form" in answer.read()
        demo.terminate()
        demo.wait(30)
    finally:
        demo.kill()


def answers(bin_folder: Path, folder: Path) -> None:
    """Check that `byzanz upgrade` makes a database from the wheel's migrations, and that gunicorn serves its pages."""
    environment = {**os.environ, "BYZANZ_HOME": str(folder)}
    subprocess.run([bin_folder / "byzanz", "upgrade"], cwd=folder, env=environment, check=True)
    port = free_port()
    bind = f"--bind=127.0.0.1:{port}"
    command = [str(bin_folder / "gunicorn"), "--no-control-socket", bind, "server:create_app()"]
    with subprocess.Popen(command, cwd=folder, env=environment) as server:
        try:
            assert b"<form" in page(f"http://127.0.0.1:{port}/sign-in", server)
        finally:
            server.terminate()


def page(url: str, server: "subprocess.Popen[bytes]") -> bytes:
    """Return a page as soon as the server answers."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit and server.poll() is None:
        with suppress(URLError), urlopen(url, timeout=30) as answer:
            return bytes(answer.read())
        time.sleep(0.2)
    raise AssertionError(f"nothing answers at {url}")


def link(said: Path, demo: "subprocess.Popen[bytes]") -> str:
    """Return the link to a turn as soon as the demo has printed it."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit and demo.poll() is None:
        if found := re.search(r"http://\S+/t/\w+", said.read_text()):
            return found[0]
        time.sleep(0.2)
    raise AssertionError(f"the demo printed no link to a turn: {said.read_text()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
