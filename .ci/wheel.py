"""Builds the wheel, installs it in an environment of its own and starts the demo there: `wheel.py FOLDER`."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0
"""Seconds for the demo to show its link; a newcomer waits less, a busy machine more."""


def main(folder: Path) -> None:
    """Does it all in `folder`, which it makes; stops with an error at the first thing wrong."""
    folder.mkdir(parents=True)
    wheel = built(folder)
    carries(wheel)
    bin_folder = installed(wheel, folder)
    shown = subprocess.run(
        [bin_folder / "byzanz", "--help"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert "simulate" in shown.stdout, shown.stdout
    plays(bin_folder, folder)
    print(f"{wheel.name}: carries its files, installs, and its demo opens a turn")


def built(folder: Path) -> Path:
    """The wheel, built from this checkout."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def carries(wheel: Path) -> None:
    """Every template and migration of the checkout is in the wheel, and no folder that is not for use."""
    files = set(ZipFile(wheel).namelist())
    tracked = ["git", "ls-files", "-z", "templates", "migrations", "server", "byzanz"]
    for name in subprocess.check_output(tracked, cwd=ROOT, text=True).split("\0"):
        place = f"server/{name}" if name.startswith(("templates/", "migrations/")) else name
        assert place in files or not name, f"{place} is not in the wheel"
    assert not [name for name in files if name.startswith(("tests/", "docs/", "instance/"))]


def installed(wheel: Path, folder: Path) -> Path:
    """The folder of the programs of an environment with the locked packages and the wheel."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    pip = [str(folder / "env/bin/python"), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements.txt")], check=True)
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return folder / "env/bin"


def plays(bin_folder: Path, folder: Path) -> None:
    """`byzanz demo` from the wheel prints a link that opens a turn to play."""
    said = folder / "demo.txt"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("BYZANZ_", "PYTHON"))}
    clean["PYTHONUNBUFFERED"] = "1"
    command = [str(bin_folder / "byzanz"), "demo", "--port", str(free_port())]
    with said.open("w") as out:
        demo = subprocess.Popen(command, cwd=folder, env=clean, stdout=out, stderr=out)
    try:
        with urlopen(link(said, demo), timeout=30) as answer:
            assert b"<form" in answer.read()
        demo.terminate()
        demo.wait(30)
    finally:
        demo.kill()


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def link(said: Path, demo: "subprocess.Popen[bytes]") -> str:
    """The link of a turn, as soon as the demo has printed it."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit and demo.poll() is None:
        if found := re.search(r"http://\S+/t/\w+", said.read_text()):
            return found[0]
        time.sleep(0.2)
    raise AssertionError(f"the demo printed no link to a turn: {said.read_text()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
