"""What others read shows no email address and no token, whoever's they are, and nothing else is taken from it."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.community.talk import ADDRESS, LINK, cleaned, is_masked, masked
from tests.support.costs import costs_at_most

TOKEN = "abcdefghijklmnopqrstuvwx23"


def stored_text(text: str) -> str:
    """Return a text as the table reads it."""
    return cleaned(text, longest=500, most_lines=20, for_others=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Write to alice@example.org.", "Write to [address]."),
        ("<alice@example.org>!", "<[address]>!"),
        (f"Byzanz <talk+{TOKEN}@play.test> a écrit :", "Byzanz <[address]> a écrit :"),
        ("bounce+1x-abcdefghij@play.test", "[address]"),
        ("a@b", "[address]"),
        ("bob@localhost or o'neil@example.org", "[address] or [address]"),
        ("alice@example.org,bob@example.org;c@d.org", "[address],[address];[address]"),
        ("alice@example.org/bob@example.org", "[address]/[address]"),
        ("mailto:alice@example.org?subject=x", "mailto:[address]"),
        ("alice%40example.org", "[address]"),
        ("alice＠example.org", "[address]"),
        ("al\u200bice@exam\u00adple.org", "[address]"),
        ("संपर्क@डाटामेल.भारत", "[address]"),
        ("地址是alice@example.org，好", "[address]，好"),
        ('"al ice"@example.org', "[address]"),
        ("alice@[192.0.2.1]", "[address]"),
        ("alice@192.0.2.1", "[address]"),
        ("alice @ example.org", "[address]"),
        ("alice [at] example.org, alice(at)example.org", "[address], [address]"),
        ("ann@exam\nple.org", "[address]"),
        ("ann@\nexample.org", "[address]"),
        ("ann\n@example.org", "[address]"),
        ("to ann@exam\n> ple.org.", "to [address]."),
        ("to ann@\n   example.org, please", "to [address], please"),
        ("ann\n\n>> @example.org", "[address]"),
        ("ann@exam\u00ad\nple.org, an\u200bn\n\u200b@example.org", "[address], [address]"),
        ("ann@example\n.org", "[address]"),
        ("ann@example.\norg", "[address]"),
        ("ann@exam=\nple.org", "[address]"),
        ("ann (at)\nexample.org", "[address]"),
        ("ann@example.org\nbyzanz.test is down", "[address]\nbyzanz.test is down"),
        ("alice [at] example [dot] org, alice (@) example.org", "[address], [address]"),
    ],
)
def test_no_email_address_is_shown(text: str, shown: str) -> None:
    assert stored_text(text) == shown
    assert is_masked(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"https://byzanz.test/t/{TOKEN}?move=pass is mine", "[link] is mine"),
        (f"(byzanz.test/t/{TOKEN})", "([link])"),
        (f"/feed/{TOKEN}.ics", "[link]"),
        (TOKEN, "[link]"),
        (TOKEN.upper(), "[link]"),
        (f"我的{TOKEN}在这里", "我的[link]在这里"),
        (f"play+{TOKEN}", "play+[link]"),
        (f"talk%2B{TOKEN}%40byzanz.test", "[address]"),
        (f"talk%2B{TOKEN}", "talk%2B[link]"),
    ],
)
def test_no_token_is_shown(text: str, shown: str) -> None:
    assert stored_text(text) == shown
    assert is_masked(shown)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "@bob, your turn",
            "3@5",
            "wine @ 3.50",
            "meet @ home",
            "meet @ noon. ok then",
            "https://social.test/@bob",
            "at once",
            "see you @ 8\nok.",
            "see you @\nnoon. ok then",
            "I sold 3@5\nok.then",
            "thanks\n@bob, your turn",
            "at home\n\n@carol: e.g. now",
        ),
        *("Donaudampfschifffahrtsgesellschaft", "https://byzanz.test/g/abcdefgh", "x" * 27, "x" * 25),
    ],
)
def test_what_is_neither_is_said_as_typed(text: str) -> None:
    assert stored_text(text) == text
    assert not is_masked(text)


def test_a_text_is_as_long_as_it_is_shown() -> None:
    assert len(stored_text("a@b " * 50)) == len(f"{ADDRESS} " * 50) - 1
    with pytest.raises(Exception, match="at most 500 characters"):
        stored_text("a@b " * 60)
    assert cleaned("a@b", longest=3, most_lines=1) == "a@b"  # notes to oneself


@given(st.text(max_size=80), st.text(max_size=80))
def test_whatever_stands_around_an_address_or_a_link(before: str, after: str) -> None:
    for secret in (
        "talk+zxywvutsrqponmlkjihgfe2345@byzanz.test",
        "https://byzanz.test/t/zxywvutsrqponmlkjihgfe2345",
    ):
        shown = masked(f"{before} {secret} {after}")
        assert "zxywvutsrqponmlkjihgfe2345" not in shown
        assert ADDRESS in shown or LINK in shown


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        *((unit, 10_000) for unit in ("a", ".")),  # each of these signs takes as long as hundreds of others
        *(
            (unit, 40_000)
            for unit in ("a@", "a ", "(at)", "@", "/", '"', "a@b\n", "a\n", "@a\n >", "\n >", "a@a\n.")
        ),
    ],
)
def test_masking_twice_as_much_takes_about_twice_as_long(unit: str, size: int) -> None:
    small, much = (partial(masked, unit * (each // len(unit)) + TOKEN) for each in (size, 2 * size))
    assert costs_at_most(2.3, much, small)
