"""Any input is read without an error, and input that no player wrote changes nothing (promise 13)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from server.mail.incoming import bounces, html_text, mime, receive, reply
from server.store import engine
from server.store.models import Game
from tests.conftest import NOW, Table
from tests.support.sample_mails import mailbox, sample_mails, with_replies

CORPUS = [letter.raw("play+abcdefghijklmnopqrstuvwxyz@byzanz.test", "") for letter in sample_mails()]
SHORT = [raw for raw in CORPUS if len(raw) < 10_000]
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PIECES = tuple(b'\n|\r\n\r\n|--|=?utf-8?b?|<|>|"|\x00|\xff|boundary=|\n> |:|('.split(b"|"))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw an email of the corpus with pieces removed, duplicated or inserted."""
    raw = bytearray(draw(st.sampled_from(SHORT)))
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(raw)))
        to = min(len(raw), at + draw(st.integers(0, 200)))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            del raw[at:to]
        elif kind == 1:
            raw[at:at] = raw[at:to]
        elif kind == 2:
            raw[at:at] = draw(st.sampled_from(PIECES))
        else:
            raw[at:to] = draw(st.binary(max_size=40))
    return bytes(raw)


@limits(max_examples=300, deadline=None)
@given(raw=st.binary(max_size=600) | mutated(), sender=st.sampled_from(["", "alice@example.org", "\x00<@"]))
def test_anything_can_be_read(raw: bytes, sender: str) -> None:
    letter = reply.parse_reply(mime.parse(raw), sender)
    assert len(letter.lines) <= reply.MOST_OWN_LINES + 1
    for line in letter.lines:
        assert line == line.strip()
        assert line.isprintable()
    report = bounces.parse_report(mime.parse(raw), sender)
    assert str(report.diagnostic).isprintable()
    assert len(reply.fingerprint(mime.parse(raw), sender)) == 64


@limits(max_examples=200, deadline=None)
@given(page=st.text(alphabet=st.sampled_from("<>/!-? ab\n&;\"'pdivbrqlocktespan=İ"), max_size=200))
def test_any_page_becomes_text(page: str) -> None:
    assert "<!--" not in html_text.as_text(page)


@limits(max_examples=200, deadline=None)
@given(text=st.text(max_size=300))
def test_unflowing_loses_no_word(text: str) -> None:
    plain = text.replace(">", "")
    assert "".join(reply.unflow(plain).split()) == "".join(plain.split())


def test_a_number_longer_than_numbers_are_spoils_no_page() -> None:
    assert html_text.as_text("<p>pass</p><p>&#" + "5" * 5000 + ";</p>").startswith("pass")


def test_no_mail_takes_long_to_read(pytestconfig: pytest.Config) -> None:
    # The dearest two are a quarter on each commit, and have a quarter of the time.
    nightly = pytestconfig.getoption("nightly")
    less, seconds = (1, 20) if nightly else (4, 5)
    hostile = {
        "angles": b"Content-Type: text/html\n\n" + b"<" * 200_000,
        "comments": b"Content-Type: text/html\n\n" + b"<!--" * 50_000,
        "declarations": b"Content-Type: text/html\n\n" + b"<![CDATA[" * 20_000,
        "scripts": b"Content-Type: text/html\n\n" + b"<script>" * 25_000,
        "wrote": b"\n" + b"On wrote schreef schrieb am op " * 6000,
        "lines that wrote": b"\n" + b"On 2 Mar 2026 somebody wrote\nschrieb am\n" * 4000,
        "labels": b"\n" + b"From: x\n\n" * 20_000,
        "quotes": b"\n" + (b">" * 100 + b"\nx\n") * 2000,
        "boundaries": b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n" * 100_000,
        "from": b'From: "' + b'\\"' * 2000 + b"(" * 2000 + b"\n\npass\n",
        "parameters": b"Content-Type: text/plain" + b"; a=" * 1000 + b"\n\npass\n",
        "encoded": b"Subject: " + b"=?a?b?" * 600 + b"\n\npass\n",
        "continued": b"Subject: x\n" + b" y\n" * 100_000 + b"\npass\n",
        "nested": nested(3000),
        "blocks": b"Content-Type: text/html\n\n" + b"<div>" * (40_000 // less),
        "formats": b"Content-Type: text/html\n\n" + b"<b><p>" * (33_000 // less),
        "fonts": b"Content-Type: text/html\n\n" + b"".join(b"<font size=%d>x" % n for n in range(12_000)),
        "sheets": b"Content-Type: text/html\n\n<style>"
        + b"div div{opacity:0}" * 2000
        + b"</style>"
        + b"<div>" * 20_000,
        "closings": b"\n" + "Cu stimă,\nAlice\n".encode() * 9000,
        "phones": b"\n" + b"iPhone\nx\n" * 20_000,
        "dates": b"\n" + b"Byzanz 2026 11:00:\n" * 10_000,
    }
    for name, raw in hostile.items():
        before = time.process_time()
        reply.parse_reply(mime.parse(raw), "alice@example.org")
        reply.parse_reply(mime.parse(raw), "alice@example.org", talk=True)
        bounces.parse_report(mime.parse(raw), "")
        allowed = seconds if name in ("blocks", "formats") else 20
        assert time.process_time() - before < allowed, name  # seconds of work; each takes a fraction of one


def nested(depth: int) -> bytes:
    """Nested parts, with equal and with different boundaries."""
    heads = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
    return heads + b"\n\npass\n"


@one_database
def test_what_no_player_wrote_changes_nothing(app: Flask, table: Callable[..., Table]) -> None:
    with_replies(app)
    game = table(4)
    box = mailbox()
    addresses = (
        box.reply,
        box.bounce,
        "complaints@byzanz.test",
        "play+@byzanz.test",
        "bounce+0-@byzanz.test",
    )

    @limits(max_examples=80, deadline=None)
    @given(
        raw=st.binary(max_size=300) | mutated(),
        to=st.sampled_from(addresses) | st.text(max_size=40),
        sender=st.sampled_from(["", "mallory@evil.example", "<>"]) | st.text(max_size=20),
    )
    def comes_in(raw: bytes, to: str, sender: str) -> None:
        harmless = raw.replace(b"alice@example.org", b"mallory@evil.example").replace(b"failed", b"fine")
        with suppress(receive.NoSuchAddress):
            receive.receive(harmless, sender, to, NOW)
        with engine.reading() as session:
            assert session.get_one(Game, game.id).head == 1

    comes_in()
