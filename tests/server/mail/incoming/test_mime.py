"""Parsing of emails, case by case, within limits of work and memory that no sender can exceed."""

from __future__ import annotations

import tracemalloc

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from server.mail import deliverability
from server.mail.incoming import bounces, mime
from tests.support.sample_mails import with_replies

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
    raw = nested(mime.MOST_NESTED, b"\n" * 40_000)
    tracemalloc.start()
    try:
        bounces.parse_report(mime.parse(raw), "")
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3 * (mime.MOST_NESTED + 1) * len(raw)  # flufl.bounce parses it once more


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
    mask = deliverability._mask

    def counted(proof: str) -> int:
        asked.append(proof)
        return mask(proof)

    monkeypatch.setattr(deliverability, "_mask", counted)
    assert deliverability.mail_id_in("bounce+1-aaaaaaaaaa@" * 1000) is None
    assert len(asked) == deliverability.MOST_SIGNATURES
    assert deliverability.mail_id_in(f"bounce+1-aaaaaaaaaa@ {deliverability.envelope_sender(7)}") == 7


# Heads


def test_a_head_is_read_by_its_names_whatever_their_case_and_folded_lines_are_joined() -> None:
    whole = mime.parse(b"SUBJECT : one\r\n\ttwo\r\nX: a\nx: b\nno head\n continued\nY: c\n\nbody\rmore")
    assert whole.headers == (("subject", "one two"), ("x", "a"), ("x", "b"), ("y", "c"))
    assert (whole.header("x"), whole.all_headers("x"), whole.header("z")) == ("a", ["a", "b"], "")
    assert (whole.body, whole.text()) == (b"body\rmore", "body\nmore")


def test_a_mail_may_have_no_head_or_no_body() -> None:
    assert (mime.parse(b"\npass").headers, mime.parse(b"\npass").body) == ((), b"pass")
    assert (mime.parse(b"X: a").headers, mime.parse(b"X: a").body) == ((("x", "a"),), b"")


def test_a_header_has_an_end() -> None:
    (whole,) = mime.parse(b"X: " + b"y" * 5000 + b"\n" + b" z" * 3000 + b"\n\n").headers
    assert len(whole[1]) == mime.LONGEST_HEADER
    assert mime.parse(b"X: " + b"y" * 5000 + b"\n\n").header("x") == "y" * (mime.LONGEST_HEADER - 3)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("Text/HTML; charset=utf-8", "text/html"),
        (" text/html ", "text/html"),
        ("application/vnd.x+xml", "application/vnd.x+xml"),
        ("html", "text/plain"),
        ("text/html/x", "text/plain"),
        ("", "text/plain"),
    ],
)
def test_the_type_of_a_part_is_plain_text_unless_it_says_another(head: str, kind: str) -> None:
    assert mime.parse(f"Content-Type: {head}\n\n".encode()).kind == kind


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ("text/plain; x=1; name=plain", "plain"),
        ('text/plain; NAME="two words; \\"quoted\\""', 'two words; "quoted"'),
        ("text/plain;name = spaced ; x=2", "spaced"),
        ("text/plain; filename=other", ""),
        ('text/plain; name=""', ""),
    ],
)
def test_a_parameter_is_quoted_or_bare(head: str, value: str) -> None:
    assert mime.parse(f"Content-Type: {head}\n\n".encode()).parameter("name") == value


@pytest.mark.parametrize(
    ("head", "attached"),
    [(" Attachment; filename=x", True), ("inline; filename=attachment", False), ("", False)],
)
def test_an_attachment_says_so(head: str, attached: bool) -> None:
    assert mime.parse(f"Content-Disposition: {head}\n\n".encode()).is_attachment == attached


# Texts


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"8bit", "grün".encode()),
        (b"Base64 ", b"Z3LD\nvG4="),
        (b"base64", b"Z3LDvG4"),
        (b"QUOTED-printable", b"gr=C3=\n=BCn"),
    ],
)
def test_a_text_is_decoded_from_its_encoding(encoding: bytes, body: bytes) -> None:
    assert mime.parse(b"Content-Transfer-Encoding: %b\n\n%b" % (encoding, body)).text() == "grün"


def test_base64_is_read_as_far_as_it_goes() -> None:
    assert mime.parse(b"Content-Transfer-Encoding: base64\n\ncGFzA").text() == "pas"
    assert mime.parse(b"Content-Transfer-Encoding: base64\n\nc-G.F z").text() == "pas"


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("grün".encode(), "utf-8", "grün"),
        ("grün".encode(), "", "grün"),
        ("grün".encode(), "us-ascii", "grün"),
        ("grün".encode("latin-1"), "", "grün"),
        ("grün€".encode("cp1252"), "ascii", "grün€"),
        ("grün".encode("latin-1"), "ISO-8859-1", "grün"),
        ("grün".encode("utf-16le"), "utf-16le", "grün"),
        ("Вий".encode("koi8-r"), "koi8-r", "Вий"),
        ("grün".encode(), "idna", "grün"),
        ("grün".encode(), "iso-8859-99", "grün"),
        (b"gr\xff", "utf-8", "gr\ufffd"),
        (b"\x81", "", "\ufffd"),
    ],
)
def test_bytes_are_read_in_the_charset_they_claim_if_it_is_in_use(
    content: bytes, charset: str, text: str
) -> None:
    assert mime.decode(content, charset) == text
    if charset:
        part = mime.Part((("content-type", f"text/plain; charset={charset}"),), content)
        assert part.text() == text


def test_a_text_has_an_end() -> None:
    assert len(mime.parse(b"\n" + b"x" * (mime.LONGEST_BODY + 9)).text()) == mime.LONGEST_BODY
    wide = "\U0001f600".encode() * mime.LARGEST_BODY
    assert len(mime.parse(b"\n" + wide).text().encode()) == mime.LARGEST_BODY


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=?utf-8?B?Z3LDvG4=?= =?UTF-8?q?=C3=BCber_all?= x", "grünüber all x"),
        ("a =?iso-8859-1?Q?gr=FCn?= b", "a grün b"),
        ("=?utf-8?x?abc?=", "=?utf-8?x?abc?="),
    ],
)
def test_the_words_of_a_header_are_decoded(value: str, text: str) -> None:
    assert mime.decode_header(value) == text


# Parts


def test_parts_are_walked_in_order_and_not_too_deep() -> None:
    inner = b"Content-Type: multipart/mixed; boundary=i\n\n--i\n\nb\n--i\n\nc\n--i--\n"
    whole = mime.parse(
        b"Content-Type: multipart/mixed; boundary=o\n\n--o\n\na\n--o\n%b\n--o\n\nd\n--o--\n" % inner
    )
    assert [(part.body, part.depth) for part in mime.walk(whole) if not part.subparts()] == [
        (b"a", 1), (b"b", 2), (b"c", 2), (b"d", 1),
    ]  # fmt: skip
    deep = mime.parse(nested(mime.MOST_NESTED + 3, b"x"))
    assert max(part.depth for part in mime.walk(deep)) == mime.MOST_NESTED


def test_only_a_multipart_with_a_boundary_has_parts() -> None:
    assert mime.parse(b"Content-Type: text/plain; boundary=b\n\n--b\n\na\n--b--").subparts() == []
    assert mime.parse(b"Content-Type: multipart/mixed\n\n--\n\na\n----").subparts() == []


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("boundary*0=b; boundary*1=1", "b1"),
        ("boundary*0=b; boundary*1=1; boundary*3=x", "b1"),
        ("boundary*=utf-8''b%31", "b1"),
        ("boundary*0*=utf-8''b%; boundary*1*=%31", "b%1"),
        ("boundary*0*=us-ascii'en'%62; boundary*1=\"1\"", "b1"),
        ("boundary=b1; boundary*0=x", "b1"),
        ("boundary*1=1; boundary*0=b", "b1"),
        ("boundary*x=1", ""),
        ("boundary*=b1", "b1"),
    ],
)
def test_a_parameter_in_pieces_or_encoded(given: str, value: str) -> None:
    part = mime.parse(f"Content-Type: multipart/mixed; {given}\n\n--b1\n\npass\n--b1--".encode())
    assert part.parameter("boundary") == value
    assert part.subparts() == ([b"\npass"] if value == "b1" else [])


@pytest.mark.parametrize(
    ("charset", "python"),
    [
        *(
            ("windows-874", "cp874"),
            ("TIS-620", "tis-620"),
            ("ks_c_5601-1987", "cp949"),
            ("ISO-2022-KR", "iso2022_kr"),
        ),
        *(("iso-8859-8-i", "iso-8859-8"), ("windows-31j", "cp932"), ("utf-32", "utf-32"), ("cp866", "cp866")),
    ],
)
def test_charsets_under_the_names_that_mails_use(charset: str, python: str) -> None:
    assert mime.decode("pass 1".encode(python), charset) == "pass 1"


def test_a_mail_is_cut_by_its_bytes_header_and_all() -> None:
    whole = mime.parse(b"To: a\n\nbody")
    assert (whole.size, whole.shortened(11)) == (11, whole)
    assert [whole.shortened(most).body for most in (9, 7, 3)] == [b"bo", b"", b""]
    assert mime.parse(b"\r\nbody").shortened(4).body == b"bo"
