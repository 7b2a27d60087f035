"""Replies in 43 languages and 27 shapes: nearly all are read, and in none is anything from the quote played or said.

`pytest -s -k figures` prints the figures of docs/mail-in.md.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from email.message import EmailMessage
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from byzanz.games import rules_of
from server.mail.incoming import commands, mime, receive, reply
from server.mail.incoming.quoting import Known
from tests.conftest import NOW, Table
from tests.support.databases import kept, restore
from tests.support.mail_languages import LANGUAGES
from tests.support.mails import html_of
from tests.support.reply_shapes import NAME, SHAPES, Letter, Turn
from tests.support.sample_mails import ALICE, moves_of, send_and_return, with_replies
from tests.support.talk import said

one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
BYZANZ: Any = SimpleNamespace(game=SimpleNamespace(slug="byzanz", rules=1))
RULES = rules_of("byzanz")
KNOWN = Known(
    names=("Alice",),
    addresses=frozenset({ALICE, "games@byzanz.test"}),
    domain="byzanz.test",
    site="byzanz.test",
    sender="Byzanz",
)
RIGHT = 0.95
"""The share of replies that has to be read."""
MOVES = ("pass", "bid olive1", "bid olive1 olive2", "order pass this lot", "orders off", "tax wine1")


@pytest.fixture
def turn(app: Flask, table: Callable[..., Table]) -> Turn:
    """Send the email about a turn."""
    with_replies(app)
    table(4)
    (message,) = send_and_return()
    return turn_mail(message)


def turn_mail(message: EmailMessage) -> Turn:
    """Return the email about a turn as it is quoted."""
    text = message.get_body(("plain",))
    assert text is not None
    return Turn(text.get_content(), html_of(message), str(message["Reply-To"]))


def moves_in(letter: Letter, turn: Turn) -> list[str] | None:
    """Return what a reply would play and order; None if it is refused."""
    read = reply.parse_reply(mime.parse(letter.raw(turn.address)), ALICE, known=KNOWN)
    assert read.ignored is None
    asked = commands.read_reply(BYZANZ, read.lines)
    lines = commands.read_lines(RULES, asked.moves)
    if asked.fault or not lines or len(lines) > reply.MOST_OWN_LINES or any(line.fault for line in lines):
        return None
    assert not asked.words
    return [line.source.casefold() for line in lines]


def words_in(letter: Letter, turn: Turn) -> str:
    """Return what an answer to table talk would say to the table."""
    read = reply.parse_reply(mime.parse(letter.raw(turn.address)), ALICE, talk=True, known=KNOWN)
    return commands.read_talk(BYZANZ, read.lines).words


def read_all(turn: Turn, own: str) -> dict[tuple[str, str], str]:
    """Read a reply of each shape in each language: `right`, `refused` or `wrong`."""
    found = {}
    for (shape, make), (code, language) in itertools.product(SHAPES.items(), LANGUAGES.items()):
        moves = moves_in(make(own, language, turn), turn)
        found[shape, code] = "right" if moves == [own] else "refused" if moves is None else f"wrong: {moves}"
    return found


@one_database
def test_the_figures_of_replies_in_all_languages(turn: Turn) -> None:
    found = read_all(turn, "pass")
    for place, name in ((0, "shape"), (1, "language")):
        print(f"\n{name:32} right refused wrong")
        for each in dict.fromkeys(key[place] for key in found):
            counted = Counter(how.partition(":")[0] for key, how in found.items() if key[place] == each)
            print(f"{each:32} {counted['right']:5} {counted['refused']:7} {counted['wrong']:5}")
    counted = Counter(how.partition(":")[0] for how in found.values())
    print(
        f"of {len(found)}: {dict(counted)}, not right: {[key for key, how in found.items() if how != 'right']}"
    )
    assert not counted["wrong"]
    assert counted["right"] >= RIGHT * len(found)


@one_database
@pytest.mark.parametrize("own", ["", "bid olive1"])
def test_no_move_in_a_quote_is_played_in_any_language(turn: Turn, own: str) -> None:
    dice = random.Random(own)
    for (shape, make), (code, language) in itertools.product(SHAPES.items(), LANGUAGES.items()):
        paragraphs = turn.text.strip().split("\n\n")
        for _ in range(3):
            paragraphs.insert(dice.randrange(len(paragraphs) + 1), dice.choice(MOVES))
        page = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        full = Turn("\n\n".join(paragraphs), page, turn.address)
        assert moves_in(make(own, language, full), full) in (None, [own]), (shape, code)


PIECES = st.lists(
    st.sampled_from(MOVES)
    | st.sampled_from(("Bid for the lot, or pass.", "Your hand", "##- Reply above this line -##", ""))
)


@limits(max_examples=400, deadline=None)
@given(
    shape=st.sampled_from(list(SHAPES)),
    code=st.sampled_from(list(LANGUAGES)),
    own=st.sampled_from(("", "Hi!", "bid olive1 olive2")),
    begins=PIECES,
    ends=PIECES,
)
def test_whatever_a_quote_says_is_not_played(
    shape: str, code: str, own: str, begins: list[str], ends: list[str]
) -> None:
    quoted = [
        "Bid for the lot, or pass.",
        *begins,
        "##- Reply above this line -##",
        *ends,
        "https://byzanz.test/t/x",
    ]
    turn = Turn("\n\n".join(quoted), "".join(f"<p>{piece}</p>" for piece in quoted), "play+a@byzanz.test")
    assert moves_in(SHAPES[shape](own, LANGUAGES[code], turn), turn) in (None, [own])


@one_database
def test_words_end_where_the_quote_begins_in_every_language(turn: Turn) -> None:
    cut = 0
    for (shape, make), (code, language) in itertools.product(SHAPES.items(), LANGUAGES.items()):
        said_there = words_in(make("Well played!", language, turn), turn)
        rest = said_there.replace("Well played!", "", 1)
        for allowed in (language.closing, NAME, "Alice", language.phone, ","):
            rest = rest.replace(allowed, "")
        cut += not rest.strip()
        assert "@" not in said_there, (shape, code, said_there)
        assert "/t/" not in said_there, (shape, code, said_there)
    assert cut >= RIGHT * len(SHAPES) * len(LANGUAGES)


@one_database
def test_a_reply_of_each_shape_arrives(app: Flask, table: Callable[..., Table]) -> None:
    with_replies(app)
    game = table(4)
    (message, *_others) = send_and_return()
    turn = turn_mail(message)
    fresh = kept(app)
    languages = itertools.cycle(LANGUAGES.values())
    for (shape, make), language in zip(SHAPES.items(), languages, strict=False):
        restore(fresh)
        receive.receive(make("pass", language, turn).raw(turn.address), ALICE, turn.address, NOW)
        assert moves_of(game.id, 0) == ["pass"], (shape, language.gmail)
        assert said(game) == []
