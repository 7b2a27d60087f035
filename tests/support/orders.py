"""Standing orders: the examples in docs/orders.md, and what the games' makers of random ones share."""

from __future__ import annotations

import re

from byzanz.chance import Draw
from byzanz.games import latest
from byzanz.kit.played import choice
from tests.support.folders import ROOT

PAGE = ROOT / "docs" / "orders.md"


ROW = re.compile(r"\| `([^`]+)` \| `([^`]+)` \| .+ \|")


def rows(page):
    """Game, what is written, and what is kept, of each line of a table."""
    titles = {rules.title: rules for rules in latest()}
    found, rules = [], None
    for line in page.splitlines():
        if line.startswith("## "):
            rules = titles[line.removeprefix("## ")]
        elif row := ROW.fullmatch(line):
            found.append((rules, *row.groups()))
    return found


# ---- random orders ----


def some_of(draw: Draw, words: tuple[str, ...], most: int) -> list[str]:
    """Return some of these words, each once.

    Args:
        most: how many there may be.
    """
    return list(dict.fromkeys(choice(draw, words) for _ in range(1 + draw(most))))
