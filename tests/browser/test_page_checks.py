"""The page checks detect faults: each kind is planted in a test page and must be reported."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.browser.chromium import Tab
from tests.support.browser.page_checks import axe, contrast, looks, moving
from tests.support.browser.playing import Keys

FRAME = "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>{}</main></html>"
AT = "position: absolute; top: {}px; left: 0; margin: 0"
LOOKS = {
    '<p style="width: 2000px">wide</p>': "px wide in a window",
    '<p style="margin-left: -60px">outside</p>': "out of the window: <p > “outside”",
    '<p style="width: 40px; overflow: hidden; white-space: nowrap">a long text</p>': "cut off by",
    '<p style="height: 9px; overflow: hidden">a tall<br>text</p>': "cut off by",
    f'<p style="{AT.format(200)}">one</p><p style="{AT.format(204)}">other</p>': "text on text: <p > “one” and",
    '<button style="width: 16px; height: 30px; padding: 0">x</button>': "a target of 16×30 px: <button > “x”",
    '<button style="width: 99px; height: 40px">one</button><button style="margin-left: -9px">or</button>': "one on ",
    '<details><summary style="height: 12px">more</summary>text</details>': "a target of",
    "<details><summary>more</summary> <div></div></details>": "nothing is folded: <details > “more”",
}
AXE = {
    "<button style='width: 30px; height: 30px'></button>": "button-name",
    "<p style='color: #999; background: #fff'>faint</p>": "color-contrast",
    "<input style='height: 30px'>": "label",
    "<h4>too deep</h4>": "heading-order",
    "<p lang=zz>strange</p>": "valid-lang",
}
MOVING = {
    "<style>p { animation: x 2s infinite } @keyframes x { to { opacity: .5 } }</style><p>turning</p>": "<p>",
    "<style>a { transition: color 1s }</style><a href='#'>slow</a>": "<a>",
}
KEYS = {
    "<style>* { outline: none }</style><button>blind</button>": "nothing shows the focus on <button> “blind”",
    "<div style='position: fixed; inset: 0; background: #fff'></div><button>under</button>": "the focus is out of",
}


def test_a_sound_page_passes(kept: Callable[..., Tab]) -> None:
    page = kept().page
    page.goto("about:blank")
    page.set_content(
        FRAME.format("<p>All is <a href='#'>well</a>.</p><button style='height: 30px'>go</button>")
    )
    assert axe(page) + looks(page, 320) + moving(page) == []
    keys = Keys(page)
    keys.begin()
    keys.press(page.locator("button"))
    assert keys.faults == []


def test_what_is_scrolled_away_lies_on_nothing(kept: Callable[..., Tab]) -> None:
    page = kept().page
    page.goto("about:blank")
    many = "<p><a href='#' style='display: block; height: 30px'>entry</a></p>" * 9
    page.set_content(
        FRAME.format(
            f"<div style='height: 60px; overflow: auto' tabindex=0>{many}</div><button>below</button>"
        )
    )
    assert not [fault for fault in looks(page, 320) if "one on another" in fault]


def test_each_fault_is_named(kept: Callable[..., Tab]) -> None:
    page = kept().page
    page.goto("about:blank")
    for judge, planted in ((looks, LOOKS), (axe, AXE), (moving, MOVING)):
        for markup, expected in planted.items():
            page.set_content(FRAME.format(markup))
            found = judge(page)
            assert any(expected in fault for fault in found), (markup, found)
    for markup, expected in KEYS.items():
        page.set_content(FRAME.format(f"<a href='#'>before</a>{markup}"))
        keys = Keys(page)
        keys.begin()
        keys.press(page.locator("button"))
        assert [fault for fault in keys.faults if expected in fault], (markup, keys.faults)


def test_a_button_that_tab_does_not_reach_is_noticed(kept: Callable[..., Tab]) -> None:
    page = kept().page
    page.goto("about:blank")
    page.set_content(FRAME.format("<a href='#'>one</a><button tabindex=-1>never</button>"))
    keys = Keys(page)
    keys.begin()
    with pytest.raises(AssertionError, match="Tab leads nowhere"):
        keys.press(page.locator("button"))


def test_colours_that_have_met_are_judged_once(kept: Callable[..., Tab]) -> None:
    page = kept().page
    page.goto("about:blank")
    sound: set[str] = set()
    page.set_content(FRAME.format("<p style='color: #444'>clear</p>"))
    assert contrast(page, sound) == []
    assert sound
    known = set(sound)
    for faint in (
        "<p style='color: #999'>faint</p>",
        "<p style='color: #444; opacity: .5'>pale</p>",
        "<div style='background: #555'><p style='color: #444'>dark on dark</p></div>",
        "<input value=typed style='color: #999; background: #fff' aria-label=x>",
    ):
        page.set_content(FRAME.format(f"<p style='color: #444'>clear</p>{faint}"))
        assert any("color-contrast" in fault for fault in contrast(page, sound)), faint
        assert sound == known
