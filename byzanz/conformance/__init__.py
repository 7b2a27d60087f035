"""Checks that any game can be judged by: its class of rules, played at random, and nothing else.

`byzanz check` runs them, and those of its templates, on a game that is shipped, installed or in the making. A check is
a function of a `Game`; its docstring says what must be true, and it raises a `Fault` where it is not.
"""

from __future__ import annotations

from byzanz.conformance.checks import CHECKS, TABLE_CHECKS, Check, Found, faults
from byzanz.conformance.game import Fault, Game, choice

__all__ = ["CHECKS", "TABLE_CHECKS", "Check", "Fault", "Found", "Game", "choice", "faults"]
