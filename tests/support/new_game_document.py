"""Follows docs/new-game.md: runs its commands and writes its files in their order, in any environment with Byzanz."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "new-game.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENDLESS = "byzanz demo"
"""A server, which runs until it is stopped; the document's own command for it is not run here."""


def follow(document: str, folder: Path, environment: Mapping[str, str]) -> Path:
    """Do what the document says; return the folder of the game.

    Args:
        document: its text.
        folder: in which to begin.
        environment: of the commands; its PATH leads to `byzanz`, `python` and `pip`.

    Raises:
        AssertionError: a command fails, or the document shows a file that differs from what is there.
    """
    here = folder
    for language, name, text in BLOCK.findall(document):
        if language == "sh":
            here = run(text, here, environment)
        elif not (here / name).exists():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(text)
        elif language == "python" and re.search("^class ", text, re.MULTILINE):
            assert (here / name).read_text() == text, f"{name} is not what the document shows"
        else:
            (here / name).write_text(edited((here / name).read_text(), text))
    return here


def run(commands: str, here: Path, environment: Mapping[str, str]) -> Path:
    """Run the commands of a block; return the folder in which they end."""
    lines = [line for line in commands.splitlines() if not line.startswith(ENDLESS)]
    script = "\n".join([*lines, "pwd"])
    done = subprocess.run(
        ["bash", "-euxc", script],
        cwd=here,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return Path(done.stdout.splitlines()[-1])


def edited(module: str, block: str) -> str:
    """Return a module with what a block has in the place of what it has, or added: imports, attributes, methods."""
    start = block.index("    def ")
    before = [line for line in block[:start].splitlines() if line]
    for line in (line for line in before if not line.startswith(" ")):
        source = line.split(" import ")[0]
        own = re.compile(rf"^{re.escape(source)} import .*$", re.MULTILINE)
        first = "from __future__ import annotations\n"
        module = own.sub(line, module) if own.search(module) else module.replace(first, f"{first}{line}\n")
    methods = "class Game:\n" + block[start:]
    for name, (begin, end) in places(methods, "Game").items():
        text = methods.splitlines(keepends=True)[begin:end]
        lines = module.splitlines(keepends=True)
        *_, game = [node.name for node in ast.parse(module).body if isinstance(node, ast.ClassDef)]
        there = places(module, game)
        if name in there:
            lines[slice(*there[name])] = text
        else:
            last = max(end for _, end in there.values())
            lines[last:last] = ["\n", *text]
        module = "".join(lines)
    fields = "".join(f"{line}\n" for line in before if line.startswith(" "))
    return module.replace("    def ", f"{fields}\n    def ", 1) if fields and fields not in module else module


def places(module: str, name: str) -> dict[str, tuple[int, int]]:
    """Return where the methods of a class stand: the first line, from 0, and the line after the last."""
    body = next(
        node for node in ast.parse(module).body if isinstance(node, ast.ClassDef) and node.name == name
    )
    return {
        node.name: (node.lineno - 1, node.end_lineno or node.lineno)
        for node in body.body
        if isinstance(node, ast.FunctionDef)
    }


if __name__ == "__main__":
    follow(DOCUMENT.read_text(), Path(sys.argv[1]), os.environ)
