"""The names of browsers in the list of a person's sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.accounts.login import browser_name

CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36 Edg/140.0", "Edge, Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0) {CHROME} Safari/537.36 OPR/125.0", "Opera, Windows"),
        (f"Mozilla/5.0 (Linux; Android 10; K) {CHROME} Mobile Safari/537.36", "Chrome, Android"),
        (f"Mozilla/5.0 (Linux; Android 15) SamsungBrowser/28.0 {CHROME}", "Samsung Internet, Android"),
        (f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {CHROME} Safari/537.36", "Chrome, ChromeOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Version/18.6 Mobile/15E148 Safari/604.1",
            "Safari, iPhone",
        ),
        ("Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) CriOS/140.0 Safari/604.1", "Chrome, iPad"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.6 Safari/605.1.15", "Safari, macOS"),
        ("curl/8.5.0", ""),
        ("", ""),
    ],
)
def test_browser_and_system(agent: str, name: str) -> None:
    assert browser_name(agent) == name


@given(st.text())
def test_only_our_own_words_are_stored(agent: str) -> None:
    assert len(browser_name(f"Chrome/ Linux {agent} SamsungBrowser/ Android")) <= 60
