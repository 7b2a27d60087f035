"""Checks of messages: each refusal says why in a sentence that can be translated."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import CodeType, FunctionType, TracebackType
from typing import Any

from byzanz.conformance.game import expect
from byzanz.moves import RulesError

_PLACE = re.compile(r"%\((\w+)\)s")


def refusal(act: Callable[..., Any], *arguments: Any) -> RulesError | None:
    """Return the error with which rules refuse something, its words checked; None if they accept it.

    Args:
        act: a method of the rules.
        arguments: of the method.

    Raises:
        Fault: the refusal has no words that can be translated.
    """
    try:
        act(*arguments)
    except RulesError as error:
        check_words(error)
        return error
    return None


def check_words(error: RulesError) -> None:
    """Check that the message of a refusal is a sentence written in the code, with named places.

    Raises:
        Fault: it is not.
    """
    kind = type(error).__name__
    expect(len(str(error)) > 10, "A refusal must say why; this %s says “%s”.", kind, str(error))
    is_literal = _is_written_on_the_way(error.message, error.__traceback__)
    check_template(f"The message of {kind}", error.message, error.places, is_literal)


def check_template(what: str, message: str, places: Mapping[str, object], is_literal: bool) -> None:
    """Check that a message can be translated.

    Args:
        what: begins the sentence about a fault.
        message: the template.
        places: its values.
        is_literal: whether it is written in the code.

    Raises:
        Fault: it cannot.
    """
    expect(
        is_literal,
        "%s, “%s”, is put together when it is raised, so it cannot be translated. Write it as "
        'a literal with named places: IllegalMove("Bid above %%(highest)s.", highest=9).',
        what,
        message,
    )
    named = set(_PLACE.findall(message)) if places else set()
    expect(
        named == set(places),
        "%s, “%s”, has the places %s, but the values %s.",
        what,
        message,
        sorted(named),
        sorted(places),
    )
    expect(
        "%" not in _PLACE.sub("", message) or not places,
        "%s, “%s”, has a place without a name.",
        what,
        message,
    )


def _is_written_on_the_way(message: str, trace: TracebackType | None) -> bool:
    """Return whether a message stands in a function through which an error came, or in the module of one."""
    while trace is not None:
        frame = trace.tb_frame
        if message in texts_of(frame.f_code) or message in texts_of(frame.f_globals.get("__name__")):
            return True
        trace = trace.tb_next
    return False


@cache
def texts_of(code: CodeType | str | None) -> frozenset[str]:
    """Return the texts written in a function, or in a module of this name: its functions, classes and tables."""
    if isinstance(code, CodeType):
        return frozenset(_texts(code, set()))
    return (
        frozenset(_texts(tuple(vars(sys.modules[code]).values()), set()))
        if code in sys.modules
        else frozenset()
    )


def _texts(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        for inner in _parts(value):
            yield from _texts(inner, seen)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, CodeType):
        return value.co_consts
    if isinstance(value, FunctionType):
        return (value.__code__, value.__defaults__)
    if isinstance(value, Mapping):
        return (*value, *value.values())
    if isinstance(value, tuple | list | frozenset | set):
        return value
    return tuple(vars(value).values()) if isinstance(value, type) else ()
