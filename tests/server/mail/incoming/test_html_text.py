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
        ('pass <img src="https://cdn.test/e.png" alt="🤔">', ["pass 🤔"]),
        ('pass<img alt="❓" style="height:1em">', ["pass❓"]),
        ('pass<s><img alt="❓"></s><img alt="❓" hidden><img alt="❓" style="display: none">', ["pass"]),
        ('pass<br><img alt="Logo?"><img alt="--"><img alt=">"><img alt><img src="x.png">', ["pass", ""]),
        ("", [""]),
    ],
)
def test_blocks_are_lines_and_their_spaces_collapse(markup: str, lines: list[str]) -> None:
    assert as_text(markup).split("\n") == lines


@pytest.mark.parametrize(
    "hidden",
    [
        *("<style>p{color:red}</style>", "<script>if (1 < 2) bid()</script>", "<title>bid</title>"),
        *("<SCRIPT type='x'>bid</SCRIPT >", "<!-- bid -- > bid -->"),
        *("<textarea>bid</textarea>", "<svg><text>bid</text></svg>", "<!DOCTYPE bid>", "<?xml bid?>"),
        *("<select><option>bid</select>", "<noscript>bid</noscript>", "<template>bid</template>"),
    ],
)
def test_what_is_invisible_is_left_out(hidden: str) -> None:
    assert as_text(f"pa{hidden}ss") == "pass"


def test_what_is_invisible_without_an_end_hides_the_rest() -> None:
    assert as_text("pass<script>bid") == "pass"
    assert as_text("pass<!-- bid") == "pass"
    assert as_text("pass<script/> bid") == "pass"  # to browsers, it is no empty element
    assert as_text("pass</script> bid") == "pass bid"


@pytest.mark.parametrize(
    "markup",
    [
        *("<s>bid</s>", "<del>bid</del>", "<strike>bid</strike>", "<S CLASS=x><b>bid</b></S>"),
        *("<span style='text-decoration: line-through'>bid</span>", "<div style='display:none'>bid</div>"),
        *("<b style='TEXT-DECORATION:underline line-through !important'>bid</b>", "<p hidden>bid</p>"),
        *("<span style='text-decoration-line:line-through'>bid</span>", "<s><p>bid</p></s>"),
        *(
            "<div style='color:red;Display : None !important'>bid</div>",
            "<i style='visibility:hidden'>bid</i>",
        ),
        *(
            "<b style='font-size:0'>bid</b>",
            "<b style='font-size:0.0px'>bid</b>",
            "<b style='font-size:1px'>bid</b>",
        ),
        *("<div style='font-size:0'><b style='font-size:2em'>bid</b></div>", "<b style='opacity:0'>bid</b>"),
        *("<div style='mso-hide:all'>bid</div>", "<div style='max-height:0;overflow:hidden'>bid</div>"),
        *("<b style='color:transparent'>bid</b>", "<div class='x gmail_signature'>bid</div>"),
        *(
            "<style>.h{display:none}</style><p class=h>bid</p>",
            "<style>p.h, #i{opacity:0}</style><p id=i>bid</p>",
        ),
        "<style>/* x */ @media print{b{color:red}} .h{text-decoration:line-through}</style><p class=h>bid</p>",
    ],
)
def test_what_its_writer_did_not_see_or_struck_out_is_left_out(markup: str) -> None:
    assert as_text(f"<p>pass</p>{markup}<p>tax</p>").split() == ["pass", "tax"]


@pytest.mark.parametrize(
    "markup",
    [
        *("<div style='display:block'>bid</div>", "<b style='font-size:10px'>bid</b>", "<u>bid</u>"),
        *(
            "<div style='font-size:0'><b style='font-size:14px'>bid</b></div>",
            "<b style='opacity:0.9'>bid</b>",
        ),
        *(
            "<div style='visibility:hidden'><b style='visibility:visible'>bid</b></div>",
            "<p style='hidden'>bid</p>",
        ),
        *("<p style='display:none'>x<p>bid</p>", "<div style='max-height:0'>bid</div>", "<ins>bid</ins>"),
        *("<s></s>bid", "<s>x</s>bid</s>", "<style>@media print{.h{display:none}}</style><p class=h>bid</p>"),
        *("<style>.g{display:none}</style><p class=h>bid</p>", "<style>:::x{display:none}</style><p>bid</p>"),
        "<style>a:hover{display:none}</style><a>bid</a>",
    ],
)
def test_what_its_writer_saw_is_kept(markup: str) -> None:
    assert "bid" in as_text(f"<p>pass</p>{markup}").split()


def test_text_with_line_breaks_of_its_own_keeps_them() -> None:
    assert as_text("<pre>pass\n\n&gt; bid</pre>").split("\n") == ["pass", "", "> bid", ""]
    assert as_text("<div style='white-space: pre-wrap'>pass\nbid</div>").split("\n") == ["pass", "bid", ""]
    assert as_text("<div>pass\nbid</div>").split("\n") == ["pass bid", ""]


def test_what_is_struck_out_goes_on_in_the_next_block_until_it_ends() -> None:
    assert as_text("<div><s>pass</div><div>bid</s>tax</div>").split() == ["tax"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            'class="gmail_quote"',
            "class='x yahoo_quoted'",
            "id=ydp1a2yahoo_quoted_77",
            'class="moz-cite-prefix"',
        ),
        *('class="gmail_quote gmail_quote_container"', "class=protonmail_quote", "class=zmail_extra"),
    ],
)
def test_what_a_program_marks_as_a_quote_is_one(name: str) -> None:
    assert as_text(f"pass<div {name}>bid</div>tax").split("\n") == ["pass", "> bid", "tax"]
    lines = as_text(f"pass<div {name}>Ann:<blockquote>bid</blockquote>tax</div>").split("\n")
    assert lines == ["pass", RULE, "Ann:", "> bid", "tax", ""]  # answers may stand between its quotes


def test_what_nests_too_deep_is_read_without_its_marks() -> None:
    assert as_text("pass" + "<div>" * 300 + "bid" + "</div>" * 300 + "tax").split() == ["pass", "bid", "tax"]
    assert as_text("<blockquote>" * 300 + "bid" + "</blockquote>" * 300 + "tax").split()[-1] == "tax"
    assert as_text("<b>" * 100 + "pass" + "</b>" * 100 + "<s>bid</s>").split() == ["pass"]
    assert as_text("<p>pass" * 300).split() == ["pass"] * 300


def test_quotes_are_marked_by_their_depth() -> None:
    assert as_text("pass<blockquote>a<blockquote>b</blockquote>c</blockquote>d").split("\n") == [
        "pass",
        "> a",
        "> > b",
        "> c",
        "d",
    ]
    assert as_text("<blockquote>" * 5 + "a").strip() == "> > > a"
    assert as_text("</blockquote></blockquote><blockquote>a").strip() == "> a"
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
    assert [line for line in lines[2:] if line] == [RULE, "bid"]


def test_other_blocks_draw_no_rule() -> None:
    assert RULE not in as_text(
        "<div id=mine>a</div><p style='border-top:solid #000'>b</p></div id=appendonsend>"
    )


@pytest.mark.parametrize(
    "hidden",
    [
        *(
            '<span style="position:absolute;clip:rect(0,0,0,0)">pass</span>',
            '<b style="clip-path: inset(50%)">pass</b>',
        ),
        *('<p style="position:absolute;left:-9999px">pass</p>', '<p style="text-indent:-999em">pass</p>'),
        *(
            '<p style="color:#FFF">pass</p>',
            '<font color="white">pass</font>',
            '<p style="color:rgb(255, 255, 255)">pass</p>',
        ),
        *('<p style="color:#fff;background:white">pass</p>', '<p style="color:rgba(0,0,0,0)">pass</p>'),
        *(
            '<div style="width:0;overflow:hidden">pass</div>',
            '<p style="font-size:0.01em">pass</p>',
            "<dialog>pass</dialog>",
        ),
        *(
            '<p style="transform: scale(0)">pass</p>',
            '<p style="display:/**/none">pass</p>',
            '<p style="display:n\\6fne">pass</p>',
        ),
    ],
)
def test_what_cannot_be_seen_is_not_read(hidden: str) -> None:
    assert as_text(f"<p>bid</p>{hidden}").split() == ["bid"]


@pytest.mark.parametrize(
    "shown",
    [
        *(
            '<body style="background:#222;color:#fff"><p>pass</p>',
            '<table bgcolor="black"><td><font color="white">pass</font>',
        ),
        *(
            '<p style="color:#fff;background-image:url(x)">pass</p>',
            '<div style="color:#fff"><p style="color:#000">pass</p></div>',
        ),
        *(
            '<p style="color:rgb(255, 0, 0)">pass</p>',
            '<p style="color:hsl(0,0%,0%)">pass</p>',
            '<p style="color:rgb(0 0 0 / 87%)">pass</p>',
        ),
        *(
            '<p style="text-indent:-20px;margin-left:-10px">pass</p>',
            '<span aria-hidden="true">pass</span>',
            "<ins>pass</ins>",
        ),
        *('<p style="max-height:0">pass</p>', '<p style="transform:scale(0.5)">pass</p>'),
    ],
)
def test_what_can_be_seen_is_read(shown: str) -> None:
    assert as_text(shown).split() == ["pass"]
