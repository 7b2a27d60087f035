"""Pages, emails and a browser's moves of this checkout beside those of another one, in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

from benchmarks import servers
from benchmarks.report import Figures, Size
from benchmarks.servers import ROOT, Plan, Server, form_request, get_request

OTHER = "other_"
"""What the names of the other checkout's figures begin with."""
Line: TypeAlias = tuple[str, str, int]
"""A move of a script: the seat's token, the move, and the head of the log before it."""


def beside(size: Size, figures: Figures, other: Path | None = None) -> None:
    """Let both checkouts take turns; a first round warms them up and is not counted.

    Args:
        other: the folder of another checkout, set up by its own dev.py; this one is measured alone without it.
    """
    if other is None:
        figures.missing["the other checkout"] = "name the folder of one with --beside"
    with ExitStack() as stack:
        checkouts = {"": stack.enter_context(running(ROOT, sys.executable))}
        if other is not None:
            python = other / ".venv" / "bin" / "python"
            checkouts[OTHER] = stack.enter_context(running(other, str(python)))
        for number in range(size.rounds + 1):
            into = figures if number else Figures()
            for prefix, checkout in list(checkouts.items())[:: -1 if number % 2 else 1]:
                for name, value in checkout.measured(size).items():
                    into.add(f"{prefix}{name}", value)


class Checkout:
    """A process that measures the code of a checkout.

    Args:
        process: of checkout.py.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measured(self, size: Size) -> dict[str, float]:
        """Return the figures of one round."""
        return {
            **self._ask("pages", size.page_moves),
            **self._ask("mails", size.mails),
            **_browse(self._ask("browsers", size.moves)),
        }

    def _ask(self, name: str, number: int) -> dict[str, Any]:
        to, answers = self._process.stdin, self._process.stdout
        assert to is not None
        assert answers is not None
        return _asked(to, answers, name, number)


def _asked(to: IO[str], answers: IO[str], name: str, number: int) -> dict[str, Any]:
    print(json.dumps([name, number]), file=to, flush=True)
    answer = answers.readline()
    if not answer:
        raise RuntimeError(f"a checkout cannot be measured: its {name} failed, as told above")
    found: dict[str, Any] = json.loads(answer)
    return found


@contextmanager
def running(folder: Path, python: str) -> Iterator[Checkout]:
    """Run the measuring process in a checkout.

    Args:
        folder: of the checkout.
        python: the interpreter of its environment.
    """
    with subprocess.Popen(
        [python, "-P", str(ROOT / "benchmarks" / "checkout.py")],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Checkout(process)


def _browse(server: dict[str, Any]) -> dict[str, float]:
    """Let browsers make moves: each sends the form of a page and follows the redirect to the next one."""
    plan = Plan(server["port"], [_ways(lines) for lines in server["games"]], statuses=(303, 200))
    outcome, cpu = servers.costing(Server(server["pid"], server["port"]), plan)
    return {
        "browser_moves_per_second": outcome.per_second / 2,
        "cpu_milliseconds_a_browser_move": cpu * 2000 / outcome.answers,
    }


def _ways(lines: Sequence[Line]) -> list[str]:
    return [request for line in lines for request in _way(*line)]


def _way(token: str, move: str, seen: int) -> tuple[str, str]:
    fields = {"move": move, "seen": seen, "request_id": f"request-{seen}"}
    return form_request(f"/t/{token}", fields), get_request(f"/t/{token}?played={seen + 1}")
