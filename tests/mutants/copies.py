"""Copies of the checkout in which faults are planted and tests run; the checkout itself is never changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

LEFT_OUT = (
    ".venv",
    ".git",
    ".mutants",
    "shots",
    "site",
    "instance",
    "dist",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
)
"""What a copy does not need; the environment is linked."""
STARTING = 40.0
"""Seconds that starting pytest may take on a busy machine."""
PATIENCE = 3.0
"""How many times longer than recorded the tests may take before a mutant counts as killed."""
PASSED, FAILED = 0, 1
OUTPUT = ".output"


class Copy:
    """A copy of the checkout in a temporary folder, removed at the end of the `with` block.

    Args:
        source: the checkout.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.root = Path()
        self.changes = 0

    def __enter__(self) -> Copy:
        self.root = Path(tempfile.mkdtemp(prefix="byzanz-mutants-"))
        shutil.copytree(self.source, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)
        if (self.source / ".venv").exists():
            (self.root / ".venv").symlink_to(self.source / ".venv")
        return self

    def __exit__(self, *_: object) -> None:
        if "warm" in self.__dict__:
            self.warm.communicate()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that imports the copy, before the checkout that `.venv` names."""
        return os.environ | {"PYTHONPATH": str(self.root)}

    @cached_property
    def warm(self) -> subprocess.Popen[str]:
        """The process that runs the tests."""
        command = [sys.executable, "-m", "tests.mutants.warm"]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdin=pipe, stdout=pipe, text=True, bufsize=1
        )

    def write(self, path: str, text: str) -> None:
        """Write a module with a time of its own: Python trusts compiled code of the same second and size."""
        file = self.root / path
        file.write_text(text)
        self.changes += 1
        made = file.stat().st_mtime + 10 * self.changes
        os.utime(file, (made, made))

    def run(self, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run tests up to the first failure; return pytest's exit code, None after the time-out, and its output.

        Args:
            seconds: how long the tests took when they were recorded.
        """
        assert self.warm.stdin is not None
        assert self.warm.stdout is not None
        output = self.root / OUTPUT
        request = {"tests": list(tests), "output": str(output), "seconds": STARTING + PATIENCE * seconds}
        self.warm.stdin.write(f"{json.dumps(request)}\n")
        code = json.loads(self.warm.stdout.readline())
        return code, output.read_text(errors="replace")
