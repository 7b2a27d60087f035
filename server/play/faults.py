"""What counts as a fault of a game's rules or log. Nothing else puts a game on hold.

A locked or lost database, a full disk, too little memory, a time limit, a thread that is stopped or a bug in the
server's own code is the server's own trouble: what failed is tried again.
"""

from __future__ import annotations

import dataclasses
import decimal
import json
from collections.abc import Iterator
from types import CodeType, TracebackType

from byzanz import games

COMPUTING = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError, NotImplementedError),
    *(RecursionError, StopIteration, TypeError, ValueError),
)
"""What code raises that computes from wrong data, or computes wrongly."""
_COMPUTERS = {module.__name__ for module in (dataclasses, decimal, json.decoder)} | {"builtins"}
"""Errors of these kinds count only if these modules define them: other libraries also raise subclasses of them when
something is wrong with the machine, such as a time zone that is not installed."""


def is_fault(error: BaseException) -> bool:
    """Whether an error shows that a game's rules are at fault: one of their own kinds, or raised while they ran."""
    kind = type(error)
    if _is_of_a_game(kind.__module__):
        return True
    return (kind is RuntimeError or is_of_computing(error)) and _passed_a_game(error.__traceback__)


def is_of_computing(error: BaseException) -> bool:
    """Whether an error shows that something was computed wrongly; while a log is read, it or its rules are to blame."""
    kind = type(error)
    return kind.__module__ in _COMPUTERS and issubclass(kind, COMPUTING)


def _is_of_a_game(module: str) -> bool:
    """Whether a module belongs to Byzanz' own games and what they are built on, or to a package with games."""
    owners = [games.__name__, *(type(rules).__module__ for rules in games.every())]
    return module.partition(".")[0] in {owner.partition(".")[0] for owner in owners}


def _passed_a_game(traceback: TracebackType | None) -> bool:
    """Whether the code of a game was running, or a method of its rules that they have from elsewhere."""
    methods = {code for rules in games.every() for code in _methods(type(rules))}
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code in methods or _is_of_a_game(str(frame.f_globals.get("__name__"))):
            return True
        traceback = traceback.tb_next
    return False


def _methods(kind: type) -> Iterator[CodeType]:
    for name in dir(kind):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if isinstance(code, CodeType):
            yield code
