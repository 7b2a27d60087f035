"""Comparing what two calls cost, so that a test of speed asserts a ratio and never a time."""

from __future__ import annotations

import time
from collections.abc import Callable

NOISE = 0.003
"""Seconds that decide nothing."""
ROUNDS = 12
"""How often both are measured: other work on the machine makes a call slower, never faster."""


def costs_at_most(factor: float, much: Callable[[], object], small: Callable[[], object]) -> bool:
    """Whether one call costs at most a number of times what another costs, in the least processor time of each."""
    least = {much: float("inf"), small: float("inf")}
    for _ in range(ROUNDS):
        for call in least:
            began = time.thread_time()
            call()
            least[call] = min(least[call], time.thread_time() - began)
        if least[much] <= factor * least[small] + NOISE:
            return True
    return False
