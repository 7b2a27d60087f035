"""The commands that start the yardsticks, each with what is missing where it cannot run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import servers
from benchmarks.servers import Server

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent.parent / ".peers" / "node_modules"
"""Where `python3 dev.py peers` lets npm put its packages."""
FLATFILE, MINIMAL = "boardgame.io", "better-sqlite3"


class MissingError(Exception):
    """A yardstick cannot run here; the message says what is missing."""


@contextmanager
def on_node(package: str, script: str, folder: Path) -> Iterator[Server]:
    """Run a server written for Node.js.

    Args:
        package: that it needs from npm.
        script: its file beside this module.
        folder: for its data; it is made.

    Raises:
        MissingError: Node.js or the package is missing.
    """
    if not (node := shutil.which("node")):
        raise MissingError("Node.js is not installed")
    if not (MODULES / package).is_dir():
        raise MissingError(f"{package} is not installed: run `python3 dev.py peers`")
    folder.mkdir()
    port = servers.free_port()
    command = [node, str(HERE / script), str(port), str(folder)]
    with servers.started(command, port, {"NODE_PATH": str(MODULES), "NODE_ENV": "production"}) as server:
        yield server


@contextmanager
def flask_server(folder: Path, workers: int) -> Iterator[Server]:
    """Run the small Flask applications under the server of `byzanz web`."""
    port = servers.free_port()
    command = [sys.executable, "-m", "benchmarks.peers.flask_apps", str(port), str(workers)]
    with servers.started([*command, str(folder / "flask.db")], port) as server:
        yield server
