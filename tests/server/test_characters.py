"""Characters: what cannot be seen, what looks alike, and what makes a link."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import validation
from server.errors import InvalidInput
from server.i18n import characters

FAMILY, ENGLAND = "👨\u200d👩\u200d👧", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "name",
    [
        "می\u200cخواهم", "ශ්\u200dරී", "ക്\u200dഷ", "न\u094d\u200dम", "র\u200d্যান্ডি", FAMILY, "❤\ufe0f Ann",
        "👩🏽\u200d🚀", ENGLAND,
        "葛\U000e0100城", "🫨", "Nguyễn Thị Ánh", "שָׁלוֹם", "น้ำผึ้ง", "བསྒྲུབས", "Ирина", "Ελένη", "李雷", "محمد",
        "St.John", "A.B.Smith",
        "J.R.R.Tolkien", "mr.bean", "Dr.Who", "St. John", "Bob 2.0", "Sophia", "Ben Bot", "Mo", "Meyer",
        "Du Bois", "Botond",
    ],
)  # fmt: skip
def test_names_of_all_scripts_are_names(name: str) -> None:
    clean = validation.clean_name(name)
    assert clean == unicodedata.normalize("NFC", name)
    assert validation.clean_name(clean) == clean


@pytest.mark.parametrize(
    "name",
    [
        "\u3164", "\u2800", "\uffa0", "\u115f", "\u1160", "\u2800 \u3164", "Ann\u3164", "Ann\u034f",
        "Ann\ufe0f", "Ann\u180b",
        "Ann\u17b5", "Ann\u00ad", "A\u200dnn", "A\u200cnn", "Ann\u200d", "\u200dAnn", "👨\u200d", "\u200d👨",
        "Ann\U000e0041",
        "\U000e0067\U000e007f", "Ann\U0001d159", "\U00013441", "Ann\ufffc", "Ann\u2063", "Ann\u202e",
        "Ann\u200f", "a" + "\u0301" * 6,
        "a" + "\u0336\u0489" * 18, "Z\u0336\u0325\u030ao", "👩\u0336\u0325\u030a",
        "\u0301Ann", "Ann \u0301", "Ann\U000e0100", "\u2067Ann", "\x7f\u200d",
        "a\ud800\u200c",
    ],
)  # fmt: skip
def test_nothing_unseen_and_no_towers_of_marks(name: str) -> None:
    with pytest.raises(InvalidInput):
        validation.clean_name(name)


@pytest.mark.parametrize(
    "twin",
    [
        "Аnn", "Αnn", "ANN", "аnn", "Ａｎｎ", "𝐀𝐧𝐧", "𝒜nn", "Ann\u3164", "Ann \u2800", "Ann\u034f", "Ann\ufe0f",
        "A\u00adnn", " ann ",
        "Annո"[:2] + "ո",
    ],
)  # fmt: skip
def test_a_twin_looks_like_its_model(twin: str) -> None:
    assert characters.look_alike(twin, "Ann")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bill", "BiII"), ("Adam", "Adarn"), ("Bob", "B0b"), ("ВОВ", "вов"), ("ВОВ", "Bob"), ("Νίκη", "ΝΊΚΗ"),
        ("Zoë", "Zoe\u0308"),
        ("Straße", "STRASSE"), ("José", "JOSÉ"), ("paypaI", "paypal"), ("Ann–B", "Ann-B"), ("Ann’s", "Ann's"),
        ("ش", "ﺵ"), ("Bob.", "Bob"), ("(Bob)", "Bob"), ("Bob…", "Bob"), ("Bob’", "Bob"), ("Ϲhris", "Chris"),
        ("ᴀɴɴ", "Ann"), ("🅐nn", "Ann"), ("ʟisa", "Lisa"), ("VVim", "Wim"), ("ꮇax", "Max"),
    ],
)  # fmt: skip
def test_these_look_alike(one: str, other: str) -> None:
    assert characters.look_alike(one, other)


def test_different_names_differ() -> None:
    names = [
        "Ann",
        "Anna",
        "Hanna",
        "Nanna",
        "Ирина",
        "Арина",
        "Ελένη",
        "José",
        "Jose",
        "Eva",
        "Uwe",
        "Yve",
        "李雷",
        "李雪",
        "محمد",
        "أحمد",
    ]
    assert not [pair for pair in itertools.combinations(names, 2) if characters.look_alike(*pair)]


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_a_text_looks_like_itself_however_it_is_typed(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC"):
        assert characters.look_alike(text, unicodedata.normalize(form, text))
    assert characters.look_alike(text, text.upper())
    assert characters.look_alike(text, text.casefold())


@pytest.mark.parametrize(
    "name",
    [
        "Moderator", "moderator", "Mоderatоr", "MODERATOR", "Moderator 2", "[Moderator]", "★ Moderator ★",
        "Ann (Moderator)",
        "Moderator Ann", "M0derator", "Byzanz", "Вyzanz", "You", "you", "Du", "Jij", "the server",
        "The Server", "De server",
        "Der Server", "Organiser", "Organisator", "Gastgeber", "Beheerder", "Bob (bot)", "Bob [bot]",
        "Bob (b0t)", "Bob (Воt)",
        "Bob (bot, strong)", "Bob – bot", "Bot", "bot, strong", "Greedy bot", "Former player", "free",
        "Systeem", "Administrator", "Moderation", "Die Moderation", "Moderatie", "Moderatorin",
        "Spielleitung", "Byzanz Team", "Team Byzanz", "Byzanz Support", "M o d e r a t o r", "B y z a n z",
        "ᴍᴏᴅᴇʀᴀᴛᴏʀ", "🅼oderator", "🇲🇴🇩", "мoderator", "ꮇoderator",
    ],
)  # fmt: skip
def test_nobody_is_called_like_the_server_or_its_staff(name: str) -> None:
    with pytest.raises(InvalidInput):
        validation.clean_name(name)


@pytest.mark.parametrize(
    "title", ["Byzanz", "Byzanz on Fridays", "You and me", "Bots only", "Ann (bot hunt)"]
)
def test_a_game_may_be_called_after_its_rules(title: str) -> None:
    assert validation.clean_title(title) == title


@pytest.mark.parametrize("title", ["Moderator", "The server", "Mоderator", "Du", "Ann\u3164"])
def test_a_title_is_no_word_of_the_server(title: str) -> None:
    with pytest.raises(InvalidInput):
        validation.clean_title(title)


@pytest.mark.parametrize(
    "address",
    ["moderator@example.org", "byzanz@example.org", "you@example.org", "bot@x.org", "admin.2@x.org"],
)
def test_a_name_made_from_an_address_is_a_name(address: str) -> None:
    assert validation.name_from_address(address) == "Guest"


@pytest.mark.parametrize(
    "text",
    [
        "example.org", "Example.Org", "evil.com", "EVIL.COM", "evil。com", "evil．com", "evil․com",
        "go to evil.example/now", "x.yz:8080",
        "пример.рф", "evil.xn--p1ai", "evil.com-offer", "Ann, evil.com.", "evil.co.uk", "www.x", "mailto:a@b",
        "10.0.0.1", "t.co",
    ],
)  # fmt: skip
def test_a_link_is_a_link(text: str) -> None:
    assert characters.has_link(text)


@pytest.mark.parametrize(
    "text", ["St.John", "A.B.Smith", "e.g. this", "i.e.", "1.5", "v2.0.1", "Hm...what", "Mr.T", "ann.smith"]
)
def test_a_dot_alone_makes_no_link(text: str) -> None:
    assert not characters.has_link(text)


def test_an_isolated_name_that_was_copied_is_the_name() -> None:
    assert validation.clean_name("\u2068محمد\u2069") == "محمد"
