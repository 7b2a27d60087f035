"""The bytes of an email: what mail programs read in them, whatever people write, and the limits of mail servers."""

from __future__ import annotations

import email
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, default
from html import unescape

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from server.mail.outgoing import smtp
from server.mail.outgoing.smtp import PermanentFailure
from server.mail.text import one_line

ODD = (
    "=?utf-8?q?=42cc?=",
    "=?",
    '"',
    "\\",
    ", b <c@d.org>",
    "\r\nBcc: x",
    "\x00",
    "\u2028",
    ".",
    "Ünn",
    "😀",
)
BODIES = (
    "\n",
    "\r\n",
    "\r",
    " \n",
    "\t\n",
    ".\n",
    "From x\n",
    "=3D",
    "=_b",
    "ü",
    "x" * 75,
    "x" * 997,
    "x" * 998,
)
NAMES = st.lists(st.text(max_size=8) | st.sampled_from(ODD), max_size=5).map(
    lambda parts: one_line("".join(parts))
)
SIGNS = st.characters(exclude_categories=["C"])  # `one_line` leaves no others
TEXTS = st.lists(st.text(SIGNS, max_size=30) | st.sampled_from(BODIES), max_size=8).map(
    lambda parts: "".join((*parts, "\n"))
)


def raw(name: str = "Ann", text: str = "Hello.\n", html: str = "<p>Hello.</p>\n") -> bytes:
    headers = (smtp.header("To", name, "ann@example.org"), smtp.header("Subject", f"Byzanz: {name}"))
    return smtp.content(headers, text, html, "=_b")


def read_message(content: bytes) -> EmailMessage:
    return email.message_from_bytes(content, _class=EmailMessage, policy=default)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without the blanks at their ends, which mail servers may add or remove."""
    return [line.rstrip().decode() for line in text.encode().splitlines()]


def plain_header(content: bytes, name: str) -> str:
    return str(make_header(decode_header(email.message_from_bytes(content)[name])))


@limits(max_examples=150, deadline=None)
@given(name=NAMES)
def test_no_name_can_add_a_header_or_an_address(name: str) -> None:
    found = read_message(raw(name))
    assert found.keys() == ["To", "Subject", "MIME-Version", "Content-Type"]
    assert not found.defects
    (address,) = found["To"].addresses
    assert address.addr_spec == "ann@example.org"
    assert plain_header(raw(name), "Subject") == f"Byzanz: {name}"
    if "=?" in name or not name.isascii():
        assert plain_header(raw(name), "To") == f"{name} <ann@example.org>"


@limits(max_examples=150, deadline=None)
@given(name=NAMES.filter(lambda name: name.isascii() and "=?" not in name))
def test_an_ascii_header_is_that_of_the_email_package(name: str) -> None:
    theirs = EmailMessage(policy=SMTP.clone(max_line_length=smtp.LONGEST_LINE))
    theirs["To"] = Address(display_name=name, addr_spec="ann@example.org")
    theirs["Subject"] = f"Byzanz: {name}"
    assert raw(name).split(b"\r\n")[:2] == theirs.as_bytes().split(b"\r\n")[:2]


@limits(max_examples=150, deadline=None)
@given(text=TEXTS, html=TEXTS)
def test_the_parts_are_those_of_the_email_package(text: str, html: str) -> None:
    theirs = EmailMessage(policy=SMTP)
    theirs.set_content(text)
    theirs.add_alternative(html, subtype="html")
    parts = [
        list(whole.iter_parts())
        for whole in (read_message(raw(text=text, html=html)), read_message(theirs.as_bytes()))
    ]
    for ours, expected in zip(*parts, strict=True):
        assert not ours.defects
        assert ours.get_content_type() == expected.get_content_type()
        assert ours.get_content_charset() == expected.get_content_charset()
        assert lines_of(unescape(ours.get_content())) == lines_of(unescape(expected.get_content()))
        assert ours.get_content_subtype() == "html" or lines_of(ours.get_content()) == lines_of(text)


def test_html_needs_no_encoding() -> None:
    _, part = read_message(raw(html="<p>Größe: “5×”</p>\n")).iter_parts()
    assert part["Content-Transfer-Encoding"] == "7bit"
    assert part.get_content() == "<p>Gr&#246;&#223;e: &#8220;5&#215;&#8221;</p>\r\n"


@limits(max_examples=150, deadline=None)
@given(name=NAMES, text=TEXTS, html=TEXTS)
def test_lines_and_words_are_as_long_as_mail_servers_and_programs_accept(
    name: str, text: str, html: str
) -> None:
    content = raw(name, text, html)
    assert content.isascii()
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert b"\r" not in content.replace(b"\r\n", b"")
    assert all(len(line) <= smtp.LONGEST_LINE for line in content.split(b"\r\n"))
    assert all(len(word) <= 75 for word in content.split(b"\r\n\r\n")[0].split() if word.startswith(b"=?"))
    check_encoded_lines(content)


@pytest.mark.parametrize(
    "text", [*("ü" + "x" * size + " \n" for size in range(65, 76)), "x" * 998, "x" * 999]
)
def test_the_longest_lines_are_broken_in_time(text: str) -> None:
    content = raw(text=text)
    assert all(len(line) <= smtp.LONGEST_LINE for line in content.split(b"\r\n"))
    check_encoded_lines(content)


def check_encoded_lines(content: bytes) -> None:
    """Check that no line of a quoted-printable part is longer than RFC 2045 allows."""
    for part in content.split(b"\r\n--=_b")[1:-1]:
        head, body = part.split(b"\r\n\r\n", 1)
        assert b"7bit" in head or all(len(line) <= 76 for line in body.split(b"\r\n"))


@pytest.mark.parametrize("text", ["a\r\nBcc: all@example.org", "a\nb", "a\rb", "a\x00", "a\u2028b", "a\x85b"])
def test_a_header_that_could_end_early_is_never_made(text: str) -> None:
    with pytest.raises(ValueError, match="Subject"):
        smtp.header("Subject", text)
    with pytest.raises(ValueError, match="To"):
        smtp.header("To", text, "ann@example.org")
    with pytest.raises(ValueError, match="To"):
        smtp.header("To", "Ann", text)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "@example.org",
        "ann@",
        "a b@example.org",
        "ann@example.org, bob@example.org",
        "ann@example.org> <bob@example.org",
        "ann@example.org\r\nRCPT TO:<bob@example.org>",
        '"ann"@example.org',
        "ann@exa mple.org",
        "ann@ü..org",
    ],
)
def test_no_mail_is_made_to_what_is_no_address(address: str) -> None:
    with pytest.raises(PermanentFailure):
        smtp.reachable(address)


def test_an_address_beyond_ascii_is_read_as_it_is() -> None:
    assert smtp.reachable("ann@bücher.example") == "ann@xn--bcher-kva.example"
    content = smtp.header("To", 'Ünn, the "first"', smtp.reachable("änne@example.org")).encode()
    assert content == 'To: "Ünn, the \\"first\\"" <änne@example.org>\r\n'.encode()
