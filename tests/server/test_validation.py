"""Validation of names, addresses, lists of friends and cuts; accepted input is safe in pages and email headers."""

from __future__ import annotations

import unicodedata

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byzanz.games import rules_of
from server import validation
from server.errors import InvalidInput
from server.lobby import create
from server.store import people
from server.validation import Guest

HARMLESS = st.text(st.characters(codec="utf-8"), max_size=60)


@given(HARMLESS)
def test_a_name_that_passes_can_stand_anywhere(text: str) -> None:
    try:
        name = validation.clean_name(text)
    except InvalidInput:
        return
    assert 1 <= len(name) <= 40
    assert name == name.strip()
    assert not any(unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for sign in name)
    assert "://" not in name
    assert "@" not in name
    assert validation.clean_name(name) == name


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "a\nb", "a\r\nBcc: x", "a\tb", "x\0", "\u202eevil", "zero\u200bwidth", "line\u2028sep", "\u0301",
        "http://x", "see www.evil", "evil.com", "evil。com", "evil．com", "go to evil.example/now", "//evil",
        "10.0.0.1", "me@home", "x" * 41, "a\ud800",
    ],
)  # fmt: skip
def test_these_are_no_names(text: str) -> None:
    with pytest.raises(InvalidInput):
        validation.clean_name(text)


@pytest.mark.parametrize(
    "text", ["Ann", "J. R. R. Tolkien", "Zoë", "李雷", "O'Neill", "Ann & Bob", "<b>", "Dr. No", "Σ 7"]
)
def test_these_are_names(text: str) -> None:
    assert validation.clean_name(f"  {text} ") == text


@given(HARMLESS)
def test_an_address_that_passes_can_stand_in_a_header(text: str) -> None:
    try:
        address = validation.clean_address(text)
    except InvalidInput:
        return
    assert address.isascii()
    assert address.isprintable()
    assert " " not in address
    assert address.count("@") == 1
    assert len(address) <= 254
    assert validation.clean_address(address) == address == people.normalize_address(address)


@pytest.mark.parametrize(
    "text",
    [
        "", "@", "ann", "ann@", "@example.org", "ann@example", "a b@example.org", "ann@exa mple.org",
        "ann@@example.org", "ann@example.org\nx", "ann@example.org,bob@example.org", "<ann@example.org>",
        ".ann@example.org", "a..b@example.org",
        "ann@-a.org", "ann@10.0.0.1", f"{'a' * 65}@example.org", f"ann@{'a' * 64}.org", f"ann@{'a.' * 130}org",
        "ann@\udcffexample.org", "ünn@example.org", '"a b"@example.org', "ann@[10.0.0.1]", "ann@example.org\0",
    ],
)  # fmt: skip
def test_these_are_no_addresses(text: str) -> None:
    with pytest.raises(InvalidInput):
        validation.clean_address(text)


@pytest.mark.parametrize(
    "domain",
    ["office.local", "x.test", "x.invalid", "de--x.org", "xn----7sbabb6a.xn--p1ai", "xn--10cl1a0b660p.com"],
)
def test_a_domain_of_a_network_of_its_own_or_in_punycode_is_taken_as_it_is(domain: str) -> None:
    assert validation.clean_address(f"ann@{domain}") == f"ann@{domain}"


def test_a_domain_in_letters_becomes_ascii() -> None:
    assert validation.clean_address("Ann.Lee+byz@Bücher.Example") == "ann.lee+byz@xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("domain", "exact", "older"),
    [
        ("Straße.de", "xn--strae-oqa.de", "strasse.de"),
        ("faß.de", "xn--fa-hia.de", "fass.de"),
        ("βόλος.com", "xn--nxasmm1c.com", "xn--nxasmq6b.com"),  # ends in the final form of sigma
        ("ශ්\u200dරී.com", "xn--10cl1a0b660p.com", "xn--10cl1a0b.com"),
        ("نامه\u200cای.com", "xn--mgba3gch31f060k.com", "xn--mgba3gch31f.com"),  # a non-joiner
    ],
)
def test_a_domain_that_two_standards_read_differently_is_shown_back(
    domain: str, exact: str, older: str
) -> None:
    with pytest.raises(InvalidInput) as shown:
        validation.clean_address(f"ann@{domain}")
    assert {f"ann@{exact}", f"ann@{older}"} <= set(shown.value.places.values())
    for chosen in (f"ann@{exact}", f"ann@{older}"):
        assert validation.clean_address(chosen) == chosen


@given(HARMLESS, st.sampled_from(["ß", "ς", "\u200c", "\u200d", "\u00ad", "ẞ"]))
def test_no_address_is_sent_to_a_domain_that_was_not_typed(text: str, special: str) -> None:
    domain = f"{text}{special}{text}.de"
    try:
        host = validation.clean_address(f"ann@{domain}").partition("@")[2]
    except InvalidInput:
        return
    assert host == idna.encode(domain.strip(), uts46=True).decode()


def test_guests_are_read_from_lines() -> None:
    text = 'Ann <ann@example.org>\n\n  "Bob, the" <bob@example.org>\ncharlie.brown+x@example.org\n'
    text += "d@x.org, e@x.org; f@x.org\r\n"
    assert validation.parse_guests(text) == (
        Guest("Ann", "ann@example.org"),
        Guest("Bob, the", "bob@example.org"),
        Guest("Charlie Brown", "charlie.brown+x@example.org"),
        Guest("D", "d@x.org"),
        Guest("E", "e@x.org"),
        Guest("F", "f@x.org"),
    )


@pytest.mark.parametrize("text", ["Ann", "Ann <ann>", "<>", "Ann <ann@x.org", "a@x.org,"])
def test_a_line_that_names_nobody_is_quoted(text: str) -> None:
    if text == "a@x.org,":
        assert validation.parse_guests(text) == (Guest("A", "a@x.org"),)
        return
    with pytest.raises(InvalidInput):
        validation.parse_guests(text)


@given(HARMLESS)
def test_any_text_of_guests_is_read_or_refused(text: str) -> None:
    try:
        guests = validation.parse_guests(text)
    except InvalidInput:
        return
    for guest in guests:
        assert validation.clean_name(guest.name) == guest.name
        assert validation.clean_address(guest.address) == guest.address


def test_offered_names_and_cuts_pass_their_own_checks() -> None:
    for _ in range(200):
        assert validation.clean_cut(create.random_cut())
        assert validation.clean_name(create.random_game_name())


@pytest.mark.parametrize(("slug", "count", "needs"), [("byzanz", 2, "3 to 6"), ("byzanz", 7, "3 to 6")])
def test_too_few_or_too_many_players_are_told_how_many_a_game_needs(
    slug: str, count: int, needs: str
) -> None:
    with pytest.raises(InvalidInput, match=f"needs {needs} players; this table has {count}"):
        validation.check_player_count(rules_of(slug), count)
    for enough in (3, 6):
        validation.check_player_count(rules_of(slug), enough)
