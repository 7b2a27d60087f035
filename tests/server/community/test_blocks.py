"""Blocks stand between two people, whoever of them wanted it."""

from __future__ import annotations

from collections.abc import Callable

from server.community import blocks
from server.store import engine
from tests.conftest import Table
from tests.support.rematches import block


def test_a_block_counts_in_both_directions_and_for_those_two_alone(table: Callable[..., Table]) -> None:
    a, b, c, d = table(4).people
    block(a, b)
    block(c, a)
    block(c, d)
    with engine.reading() as session:
        assert blocks.between(session, a, [b, c, d]) == {b, c}
        assert blocks.between(session, a, [d]) == set()
        assert blocks.between(session, b, [a, c, d]) == {a}
        assert blocks.between(session, d, []) == set()
