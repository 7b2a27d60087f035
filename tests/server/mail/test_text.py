"""Texts of emails: lines of at most 78 characters, broken where nothing is torn apart."""

from __future__ import annotations

from server.mail.text import LINE, wrapped

HASH = "0123456789abcdef" * 4


def test_long_lines_are_broken_between_words_and_short_ones_kept() -> None:
    words = " ".join(["twelve"] * 30)
    broken = wrapped(f"  a  b\n\n{words}").split("\n")
    assert broken[:2] == ["  a  b", ""]
    assert " ".join(broken[2:]) == words
    assert all(len(line) <= LINE < len(f"{line} twelve") for line in broken[2:-1])


def test_the_rest_of_an_item_or_of_a_fact_is_indented() -> None:
    for begin, indent in (("- ", 2), ("  ", 2), ("Players:  ", 10), ("    - ", 6)):
        first, *rest = wrapped(begin + "word " * 30 + "end").split("\n")
        assert first.startswith(begin + "word")
        assert rest
        assert all(line.startswith(" " * indent + "word") or line.strip() == "end" for line in rest)


def test_a_link_and_a_fingerprint_keep_their_line() -> None:
    for whole in (f"  https://byzanz.test/{'a' * 90}", f"“{'so ' * 30}head 5:{HASH}” – Ann"):
        assert wrapped(whole) == whole
