"""The tables of docs/orders.md match the code: each line is an order and is stored as the page says."""

from __future__ import annotations

import pytest

from tests.support import game_data
from tests.support.orders import PAGE, rows


@pytest.mark.parametrize(("rules", "written", "kept"), rows(PAGE.read_text("utf-8")))
def test_a_line_of_the_page_is_read_as_it_says(rules, written, kept):
    assert str(rules.parse_order(written)) == kept
    assert str(rules.parse_order(kept)) == kept


def test_the_page_shows_every_order_of_every_game():
    shown: dict[str, set[str]] = {}
    for rules, _, kept in rows(PAGE.read_text("utf-8")):
        shown.setdefault(rules.slug, set()).add(kept.split()[0])
    assert shown == game_data.of_all("ORDER_KINDS")


def test_no_line_of_a_table_is_overlooked():
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert len(lines) == len(rows(PAGE.read_text("utf-8")))


def test_a_wrong_line_is_noticed():
    ((rules, written, kept),) = rows("## Byzanz\n| `tax lowest` | `tax most` | Something. |")
    with pytest.raises(AssertionError):
        test_a_line_of_the_page_is_read_as_it_says(rules, written, kept)
