"""Promise 13: bad input gets a clear answer and changes nothing; repeats that test with other seeds."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from tests.torture.report import Report

TEST = "tests/server/web/test_fuzz.py"
AT_ONCE = 2
BATCH = 500
"""Requests per run of the test."""
LONGEST = 600


def run(requests: int, seconds: float, seed: int) -> Report:
    """Send bad forms, API calls and files; the test reports wrong answers.

    Args:
        requests: at most, rounded to a batch; seconds: after which no further batch starts.
        seed: of the first batch; the others count on from there.
    """
    began = time.monotonic()
    seeds, statuses, faults = count(seed * 1_000_000), Counter[int](), list[str]()

    def work(_worker: int) -> None:
        while time.monotonic() < began + seconds and statuses.total() < requests and not faults:
            told, fault = _batch(next(seeds))
            statuses.update(told)
            faults.extend(fault)

    with ThreadPoolExecutor(AT_ONCE) as workers:
        for _ in workers.map(work, range(AT_ONCE)):
            pass
    answers = ", ".join(f"{times} × {status}" for status, times in sorted(statuses.items()))
    figures = f"answers: {answers}, {time.monotonic() - began:.0f} s"
    return Report("requests that nobody should send", statuses.total(), figures, tuple(faults))


def _batch(seed: int) -> tuple[dict[int, int], list[str]]:
    """Run the test once; return how often each status was the answer, and what was wrong."""
    words = ["-n0", "-q", "-s", "--nightly", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", TEST]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env=os.environ | {"TEST_REQUESTS": str(BATCH)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    told = re.search(r"^requests by status: (\{.*\})$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or told is None:
        return {}, [f"seed {seed}: {done.stdout[-3000:]}"]
    return ast.literal_eval(told[1]), []
