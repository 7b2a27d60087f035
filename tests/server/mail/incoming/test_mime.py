"""Parsing of emails, case by case, within limits of work and memory that no sender can exceed."""

from __future__ import annotations

import tracemalloc

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from server.mail import envelope
from server.mail.incoming import bounces, mime
from tests.support.letters import with_replies

LINES = st.sampled_from(
    [b"--b", b"--b ", b"--b\t\r", b"--b--", b"--b-- ", b"--bb", b"-b", b" --b", b"x", b"", b"\n"]
)


def line_by_line(body: bytes) -> list[bytes]:
    """Return the text between boundaries `b`, reading RFC 2046 line by line."""
    pieces: list[list[bytes]] = []
    for line in body.split(b"\n"):
        bare = line.rstrip()
        if bare == b"--b--":
            break
        if bare == b"--b":
            pieces.append([])
        elif pieces:
            pieces[-1].append(line)
    return [b"\n".join(piece) for piece in pieces]


@limits(max_examples=300, deadline=None)
@given(lines=st.lists(LINES, max_size=12))
def test_parts_are_what_stands_between_the_boundaries(lines: list[bytes]) -> None:
    body = b"\n".join(lines)
    whole = mime.Part((("content-type", "multipart/mixed; boundary=b"),), body)
    assert whole.subparts() == line_by_line(body)


def test_no_more_parts_are_looked_at_than_there_may_be() -> None:
    head = b"Content-Type: multipart/mixed; boundary=b\n\n"
    whole = mime.parse(head + b"--b\n\nx\n" * 3 * mime.MOST_PARTS)
    assert len(list(mime.walk(whole))) == mime.MOST_PARTS


def nested(depth: int, rest: bytes) -> bytes:
    """Nested parts, each of which extends to the end."""
    heads = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
    return b"".join(heads) + b"\n" + rest


def test_parts_in_parts_take_no_more_memory_than_a_copy_each() -> None:
    raw = nested(mime.MOST_NESTED, b"\n" * 400_000)
    tracemalloc.start()
    try:
        bounces.parse_report(raw)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2 * (mime.MOST_NESTED + 1) * len(raw)


@pytest.mark.parametrize("line", [b" \n", b"a: b\n", b"x\n"])
def test_a_head_has_an_end_however_its_lines_begin(line: bytes) -> None:
    whole = mime.parse(b"Subject: x\n" + line * (mime.MOST_LINES + 1) + b"From: a@example.org\n\npass\n")
    assert whole.header("subject").strip() == "x"
    assert whole.header("from") == ""
    assert whole.body == b"pass\n"


def test_long_lines_do_not_make_a_head_longer() -> None:
    whole = mime.parse(b"Subject: x\nX: " + b"y" * mime.LARGEST_HEAD + b"\nFrom: a@example.org\n\npass\n")
    assert (whole.header("subject"), whole.header("from"), whole.body) == ("x", "", b"pass\n")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_few_of_the_addresses_in_a_mail_are_put_to_the_proof(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_replies(app)
    asked: list[str] = []
    mask = envelope._mask

    def counted(proof: str) -> int:
        asked.append(proof)
        return mask(proof)

    monkeypatch.setattr(envelope, "_mask", counted)
    assert envelope.mail_id_in("bounce+1-aaaaaaaaaa@" * 1000) is None
    assert len(asked) == envelope.MOST_SIGNATURES
    assert envelope.mail_id_in(f"bounce+1-aaaaaaaaaa@ {envelope.envelope_sender(7)}") == 7
