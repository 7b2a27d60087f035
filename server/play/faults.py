"""What counts as a fault of a game's rules or log. Nothing else puts a game on hold.

A locked or lost database, a full disk, too little memory, a time limit or a thread that is stopped is the server's own
trouble: it passes, and what failed is tried again.
"""

from __future__ import annotations

import dataclasses
import decimal
import json
from types import TracebackType

from byzanz import games

COMPUTING = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError, NotImplementedError),
    *(RecursionError, StopIteration, TypeError, ValueError),
)
"""What code raises that computes from wrong data, or computes wrongly."""
_COMPUTERS = {module.__name__ for module in (dataclasses, decimal, json.decoder)} | {"builtins"}
"""The modules whose errors of these kinds are meant; those of other libraries tell of the machine, such as that a time
zone is not installed."""


def is_fault(error: BaseException) -> bool:
    """Whether an error, met while a game was played on, shows that its rules or its log are at fault."""
    kind = type(error)
    if _is_of_a_game(kind.__module__):
        return True
    if kind is RuntimeError:  # Python's own word for many troubles, among them that no thread can be started
        return _passed_a_game(error.__traceback__)
    return kind.__module__ in _COMPUTERS and issubclass(kind, COMPUTING)


def _is_of_a_game(module: str) -> bool:
    """Whether a module belongs to Byzanz' own games and what they are built on, or to a package with games."""
    owners = [games.__name__, *(type(rules).__module__ for rules in games.every())]
    return module.partition(".")[0] in {owner.partition(".")[0] for owner in owners}


def _passed_a_game(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if _is_of_a_game(str(traceback.tb_frame.f_globals.get("__name__"))):
            return True
        traceback = traceback.tb_next
    return False
