"""The examples in docs/orders.md."""

from __future__ import annotations

import re

from byzanz.games import latest
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
