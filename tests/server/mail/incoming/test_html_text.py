"""The text of an HTML email is what its writer saw: lines, quotes, and none of what is invisible."""

from __future__ import annotations

import pytest

from server.mail.incoming.html_text import RULE, as_text


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("pass", ["pass"]),
        ("<p>pass</p><p>bid olive1</p>", ["pass", "", "bid olive1", "", ""]),
        ("<div>pass</div>bid<br>olive1", ["pass", "bid", "olive1"]),
        ("pass<br><br/>bid", ["pass", "", "bid"]),
        ("<DIV>pass</DIV><Span>bid</SPAN> olive1", ["pass", "bid olive1"]),
        ("  bid \n olive1&nbsp;olive2 ", ["bid olive1 olive2"]),
        ("bid &lt;b&gt; &auml; &#228;", ["bid <b> ä ä"]),
        ("<table><tr><td>bid</td><td>olive1</td></tr></table>", ["bid olive1", ""]),
        ("1 < 2 and <b>3</b>", ["1 < 2 and 3"]),
        ("pass <unknown>bid</unknown>", ["pass bid"]),
        ("pass<b", ["pass"]),
        ("", [""]),
    ],
)
def test_blocks_are_lines_and_their_spaces_collapse(markup: str, lines: list[str]) -> None:
    assert as_text(markup).split("\n") == lines


@pytest.mark.parametrize(
    "hidden",
    [
        *("<style>p{color:red}</style>", "<script>if (1 < 2) bid()</script>", "<title>bid</title>"),
        *("<head><title>bid</title>bid</head>", "<SCRIPT type='x'>bid</SCRIPT >", "<!-- bid -- > bid -->"),
        *("<textarea>bid</textarea>", "<svg><text>bid</text></svg>", "<!DOCTYPE bid>", "<?xml bid?>"),
        *("<select><option>bid</select>", "<noscript>bid</noscript>", "<template>bid</template>"),
    ],
)
def test_what_is_invisible_is_left_out(hidden: str) -> None:
    assert as_text(f"pa{hidden}ss") == "pass"


def test_what_is_invisible_without_an_end_hides_the_rest() -> None:
    assert as_text("pass<script>bid") == "pass"
    assert as_text("pass<!-- bid") == "pass"
    assert as_text("pass<script/> bid") == "pass bid"
    assert as_text("pass</script> bid") == "pass bid"


def test_quotes_are_marked_by_their_depth() -> None:
    assert as_text("pass<blockquote>a<blockquote>b</blockquote>c</blockquote>d").split("\n") == [
        "pass",
        "> a",
        "> > b",
        "> c",
        "d",
    ]
    assert as_text("<blockquote>" * 5 + "a") == "> > > a"
    assert as_text("</blockquote></blockquote><blockquote>a") == "> a"
    assert as_text("<blockquote>a<br><br>b</blockquote>") == "> a\n>\n> b\n"


@pytest.mark.parametrize(
    "start",
    [
        *("<hr>", '<div id="appendonsend"></div>', "<div id=divRplyFwdMsg>", "<a name='x_stopSpelling'></a>"),
        *("<DIV CLASS='OutlookMessageHeader'>", "<div style='border:none;border-top:solid #E1E1E1 1.0pt'>"),
        *("<p style='border-top: solid #b5c4df 1pt'>", '<div class="x_appendonsend">'),
    ],
)
def test_where_outlook_quotes_a_rule_is_drawn(start: str) -> None:
    lines = as_text(f"<p>pass</p>{start}bid").split("\n")
    if start.startswith("<a "):  # not a block, so no line begins there
        assert RULE not in lines
        return
    assert lines[:2] == ["pass", ""]
    assert lines[-2:] == [RULE, "bid"] or lines[-3:] == [RULE, "", "bid"]


def test_other_blocks_draw_no_rule() -> None:
    assert RULE not in as_text(
        "<div id=mine>a</div><p style='border-top:solid #000'>b</p></div id=appendonsend>"
    )
