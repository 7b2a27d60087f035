"""Signals to programs that a test has started."""

from __future__ import annotations

import ctypes
import signal
import subprocess
from pathlib import Path
from typing import Any


def terminate_through_another_thread(process: subprocess.Popen[Any]) -> None:
    """Send SIGTERM to a thread that is not the main one, as the kernel may; where threads cannot be named, to any.

    Python notes the signal there, and its main thread goes on waiting.
    """
    tasks = Path(f"/proc/{process.pid}/task")
    if not tasks.exists():
        process.terminate()
        return
    others = {int(task.name) for task in tasks.iterdir()} - {process.pid}
    assert ctypes.CDLL(None).tgkill(process.pid, min(others), signal.SIGTERM) == 0
