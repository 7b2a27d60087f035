"""The text and the HTML of an email say the same."""

from __future__ import annotations

import re


def assert_same(text: str, shown: str) -> None:
    """Check that each sentence of the text is in the HTML; the text counts cards, the HTML shows each."""
    lines = [line.removeprefix("- ") for line in text.splitlines() if line and "https://" not in line]
    for line in lines:
        if line.endswith(":"):  # before a link; the label of its button
            assert line[:-1] in shown
        elif re.search(r"(Olives|Cloth|Grain|Spice|Wine|Wood|erchant)", line):
            for word in re.sub(r"[,:.;]| and |\d+ ?×", " ", line).split():
                assert word.lower().rstrip("s") in shown.lower(), (word, line)
        else:
            assert " ".join(line.split()) in shown
