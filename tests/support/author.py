"""The environment of somebody who writes a game beside a checkout: made as dev.py makes it, without a package index."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import dev


def environment(folder: Path) -> dict[str, str]:
    """Make an environment, and return the variables with which commands run in it.

    Args:
        folder: for the environment; is created.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dev, "PYTHON", python)
        packages = Path(dev.said_by(str(python), dev.PACKAGES))
        (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        dev.put_checkout_on_path()
    pip = folder / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec {python} -m pip --disable-pip-version-check "$@"\n')
    pip.chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BYZANZ_", "PIP_", "PYTHON"))
    }
    # The tools that pip would download to build a package are there already.
    alone = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | alone | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
