"""Every game on the shelf replays bit for bit, and whatever changes how one is played is found at its entry."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.records.__main__ import check_all
from tests.records.shelf import FOLDER

ROOT = Path(__file__).parents[2]


def test_every_game_replays() -> None:
    finding = check_all(FOLDER)
    assert finding.faults == []


@pytest.mark.parametrize("seed", ["0", "1", "2", "4294967295"])
def test_every_game_replays_however_texts_are_hashed(seed: str) -> None:
    """A set's order must not show anywhere: each process of Python orders the same texts in its own way."""
    command = [sys.executable, "-m", "tests.records", "check"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, ""), said.stderr
    assert " 0 faults" in said.stdout
