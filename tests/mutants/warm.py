"""A process that has the libraries loaded and forks for each run of pytest: `python -m tests.mutants.warm`.

It reads one request a line from standard input, `{"tests": […], "output": FILE, "seconds": LIMIT}`, and answers each
with pytest's exit code, or `null` after the time-out. The product and its tests are imported only after the fork, as
they are in the folder at that moment.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence

import pytest

LIBRARIES = (
    "aiosmtpd.smtp",
    "alembic.command",
    "apscheduler.schedulers.background",
    "babel.messages.pofile",
    "css_inline",
    "flask_babel",
    "flask_limiter",
    "flask_migrate",
    "flask_sqlalchemy",
    "flask_wtf",
    "html5lib",
    "hypothesis.strategies",
    "icalendar",
    "prometheus_client",
    "psycopg",
    "pydantic_settings",
    "sqlalchemy.dialects.sqlite",
    "time_machine",
    "wtforms",
)
"""What the product and its tests import from elsewhere and what takes long to load."""
MEMORY = 6 << 30
"""Bytes of address space for one run: a mutant may append to a list forever."""
OPTIONS = (
    "-x",
    "--nightly",
    "-q",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "--tb=no",
    "-W",
    "ignore::pytest.PytestWarning",
)
"""How pytest runs; the warnings are about libraries loaded before it."""


def main() -> None:
    """Answer requests until standard input ends."""
    for name in LIBRARIES:
        importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run(request["tests"], request["output"])
        print(json.dumps(waited(child, request["seconds"])), flush=True)


def run(tests: Sequence[str], output: str) -> None:
    """Run tests in this process, which ends with pytest's exit code."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with open(output, "w") as file, open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    code = 70
    try:
        code = int(pytest.main([*OPTIONS, *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def waited(child: int, seconds: float) -> int | None:
    """Wait for a run to end and return its exit code, or None if it takes too long; end all that it started."""
    limit = time.monotonic() + seconds
    ended, status = 0, 0
    while not ended and time.monotonic() < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0 if ended else 0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if ended:
        return os.waitstatus_to_exitcode(status)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    main()
