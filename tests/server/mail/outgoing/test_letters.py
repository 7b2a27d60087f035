"""What emails decide to show, without a database."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest
from flask import Flask
from markupsafe import Markup, escape

from byzanz.record import Entry
from server.mail.outgoing.compose import Blocks, HtmlBlocks, TextBlocks
from server.mail.outgoing.letters import (
    LEGAL_MOVES,
    NEWS,
    AnswerMail,
    EndingMail,
    InvitationMail,
    TurnMail,
)

ENTRY = Entry(
    seq=3,
    at="2026-03-02T10:00:00.000Z",
    seat=1,
    by="clock",
    move="pass",
    note=None,
    salt=None,
    hash="0" * 64,
)
TURN = TurnMail(
    link="https://byzanz.test/t/x",
    at="here.3",
    reply="play+x@byzanz.test",
    reminder=False,
    missed=False,
    moves=("pass", "bid wood1", "bid wood2"),
    fallback="pass",
    entries=(ENTRY,),
    left_out=0,
    facts={},
    stopped=(),
)


def test_a_turn_links_to_its_examples_which_one_can_type() -> None:
    assert [choice.move for choice in TURN.choices] == TURN.examples == ["pass", "bid wood1", "bid wood2"]
    assert TURN.choices[1].address == "https://byzanz.test/t/x?move=bid+wood1&at=here.3"
    assert all(choice.typed for choice in TURN.choices)
    assert TURN.other_examples == []


def test_without_an_address_nothing_is_shown_as_typed() -> None:
    turn = replace(
        TURN, reply=None, fallback="discard" + " wood1" * 12, moves=("discard" + " wood1" * 12, "keep w1")
    )
    assert [choice.typed for choice in turn.choices] == [False]
    assert turn.other_examples == []
    assert replace(turn, reply="play@x").other_examples == ["keep w1"]


@pytest.mark.parametrize(
    ("lines", "left_out", "shown", "whole"),
    [
        ("", 0, 0, True),
        ("one\n\n  two\n", 0, 2, False),
        ("one\ntwo", 5, 2, True),
        ("line\n" * (NEWS + 1), 0, NEWS, True),
    ],
)
def test_the_log_is_told_where_the_news_do_not_tell_all(
    lines: str, left_out: int, shown: int, whole: bool
) -> None:
    turn = replace(TURN, left_out=left_out)
    news = turn.newest(lines)
    assert (len(news.lines), news.whole) == (shown, whole)
    assert turn.is_logged(ENTRY, news) == whole
    assert turn.is_logged(replace(ENTRY, note="why"), news)
    assert turn.is_logged(replace(ENTRY, move="!pause"), news)


def test_a_move_by_the_clock_was_played_for_its_own_seat() -> None:
    assert TURN.is_default(ENTRY, 1)
    assert not TURN.is_default(ENTRY, 0)
    assert not TURN.is_default(replace(ENTRY, by="player"), 1)
    assert not TURN.is_default(replace(ENTRY, move="!credit 60"), 1)


def test_an_invitation_says_what_is_known_of_each_seat() -> None:
    mail = InvitationMail(
        reminder=False,
        before=None,
        own_game=False,
        company=True,
        message="",
        names=("Ann", "Bob", "", "Greedy bot", "Eve", "Finn"),
        statuses=("invited", "invited", "free", "seated", "declined", "seated"),
        bots=(3,),
        me=0,
    )
    assert [guest.known for guest in mail.guests] == ["you", "invited", "", "bot", "declined", ""]


ENDING = EndingMail(
    scores=(7, 9, 3), winners=(1,), ranking=((1, 1), (2, 0), (3, 2)), tied=(), abandoned=False, me=0
)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "placed"),
        ({"me": 1}, "won"),
        ({"winners": (1, 2)}, "shared"),
        ({"winners": (1, 2), "me": 2}, "won"),
        ({"scores": (7, 9)}, "lost"),
        ({"abandoned": True, "winners": ()}, "abandoned"),
    ],
)
def test_an_ending_is_told_from_its_readers_seat(changes: dict[str, object], outcome: str) -> None:
    assert replace(ENDING, **changes).outcome == outcome  # type: ignore[arg-type]


def test_an_ending_has_the_readers_place_and_both_scores() -> None:
    assert (ENDING.place, ENDING.own_score, ENDING.best_score) == (2, 7, 9)
    assert replace(ENDING, winners=()).best_score is None


PLAYED, REFUSED = {"text": "pass", "done": "played", "why": ""}, {"text": "fly", "done": None, "why": "No."}


@pytest.mark.parametrize(
    ("lines", "fault", "speech", "outcome"),
    [
        ((PLAYED,), "", "", "done"),
        ((PLAYED, REFUSED), "", "", "partly"),
        ((REFUSED,), "", "", "nothing_changed"),
        ((REFUSED,), "", "Said.", "nothing"),
        ((), "", "Said.", "said"),
        ((), "Empty.", "Said.", "fault"),
    ],
)
def test_an_answer_says_first_what_came_of_the_email(
    lines: tuple[dict[str, object], ...], fault: str, speech: str, outcome: str
) -> None:
    moves = ["pass"] * (LEGAL_MOVES + 2)
    mail = AnswerMail(lines=lines, fault=fault, speech=speech, asked=True, moves=moves)
    assert mail.outcome == outcome
    assert (len(mail.listed), mail.more) == (LEGAL_MOVES, 2)


# ---- the two forms ----


def test_both_forms_have_the_same_blocks_which_take_the_same() -> None:
    html, text = (
        {name for name in dir(form) if not name.startswith("_")} for form in (HtmlBlocks, TextBlocks)
    )
    assert html == text
    for name in html:
        given, told = (inspect.signature(getattr(form, name)).parameters for form in (HtmlBlocks, TextBlocks))
        assert "caller" in told or "caller" not in given, name


def test_a_block_is_laid_out_once_in_each_form(app: Flask) -> None:
    source = (
        "{% call mail.listed('Played:') %}{% for it in 'a<' %}{{ mail.item(it) }}{% endfor %}{% endcall %}"
    )
    source += "{% set one %}<i>{{ mail.p('b&') }}</i>{% endset %}{{ mail.drawn(one, 'c>') }}"
    blocks = Blocks()
    drawn = app.jinja_env.from_string(source).render(mail=blocks)
    assert (
        blocks.read(drawn, 0)
        == "<p>Played:</p>\n<ul>\n<li>a</li>\n<li>&lt;</li>\n</ul>\n<i><p>b&amp;</p>\n</i>"
    )
    assert blocks.read(drawn, 1) == "\n\nPlayed:\n- a\n- <\n\nc>"


def test_nobody_can_write_the_mark_of_a_block(app: Flask) -> None:
    blocks, other = Blocks(), Blocks()
    stolen = str(other.p("Secret"))
    drawn = app.jinja_env.from_string("{{ mail.p('Here') }}{{ mail.p(said) }}").render(
        mail=blocks, said=stolen
    )
    assert blocks.read(drawn, 0) == f"<p>Here</p>\n<p>{escape(stolen)}</p>\n"


def test_text_blocks_take_out_markup_and_keep_what_people_have_written() -> None:
    blocks = TextBlocks()
    assert blocks.p(Markup("<b>You</b> pass &amp; wait.")).strip() == "You pass & wait."
    assert blocks.p("<b>You</b> &amp;").strip() == "<b>You</b> &amp;"
    assert blocks.p("") == blocks.stop("Stop:", None) == blocks.fallback("https://x") == ""
    assert blocks.question("Byzanz", Markup("Bid?\n"), "Now.", True).split("\n\n")[1] == "Bid?\nNow."
    assert blocks.listed("Played:", caller=lambda: "\n\n") == ""
    assert blocks.listed("Played:", caller=lambda: "\n- a\n\n- b").strip() == "Played:\n- a\n- b"
    assert blocks.facts([("A", "x"), ("Long", "y")]).strip() == "A:     x\nLong:  y"
    assert blocks.choice("Pass", "https://x", "pass") == "- Pass\n  https://x\n  or reply: pass\n"
