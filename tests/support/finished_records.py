"""A finished game's record, for tests of verification."""

from functools import cache
from typing import Any

import pytest

from byzanz.bots.simulate import simulate_game
from byzanz.games import rules_of
from byzanz.record import InvalidRecord, Record, verify
from byzanz.rules import Rules
from tests.support.recorded_games import find
from tests.support.sealed_game import Sealed

BYZANZ = rules_of("byzanz")


def find_any(slug: str, version: int | None = None) -> Rules[Any, Any]:
    return find(slug, version) if slug == "sealed" else rules_of(slug, version)


@cache
def finished(slug: str, number: int = 0) -> Record:
    rules: Rules[Any, Any] = Sealed() if slug == "sealed" else BYZANZ
    return simulate_game(rules, min(rules.seats), b"verify", number, ["random"])


def wrong(record: Record) -> InvalidRecord:
    with pytest.raises(InvalidRecord) as found:
        verify(record, find_any)
    assert "\n" not in str(found.value)
    return found.value
