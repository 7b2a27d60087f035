"""What a run was measured on: the machine and the commit."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from pathlib import Path

from benchmarks.clients import ROOT

CPUINFO = Path("/proc/cpuinfo")


def describe() -> dict[str, str]:
    """Return the processor, its cores, the kernel, the versions of what runs, and the commit."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "Node.js": _said("node", "--version") or "not installed",
        "commit": commit(),
    }


def processor() -> str:
    """Return the model of the processor."""
    lines = CPUINFO.read_text().splitlines() if CPUINFO.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def commit() -> str:
    """Return the commit of this checkout, and whether files have changed since."""
    known = _said("git", "rev-parse", "--short=12", "HEAD")
    if not known:
        return "unknown"
    return f"{known} with changes" if _said("git", "status", "--porcelain", "-uno") else known


def _said(program: str, *words: str) -> str:
    """Return what a program prints; nothing if it is missing or fails."""
    path = shutil.which(program)
    if path is None:
        return ""
    done = subprocess.run([path, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
