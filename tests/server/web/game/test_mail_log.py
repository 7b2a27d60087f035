"""What mail servers answer, in words for moderators."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_babel import force_locale

from server.i18n import NAMES
from server.mail.text import quoted
from server.store.facts import Fact
from server.web.game.mail_log import MEANINGS, explained, meaning


@pytest.fixture
def _request(app: Flask):
    """Let texts be translated."""
    with app.test_request_context():
        yield


ANSWERS = [
    ("550 5.1.1 no such user", "the address does not exist"),
    ("550-5.1.1 The email account that you tried to reach does not exist.", "the address does not exist"),
    ("553 sorry", "the address does not exist"),
    ("550 5.1.2 bad destination system", "the domain of the address does not exist"),
    ("450 4.4.4 no route", "the domain of the address does not exist"),
    ("452 4.2.2 full", "the mailbox is full"),
    ("552 mailbox full", "the mailbox is full"),
    ("550 5.2.1 disabled", "the mailbox is closed"),
    ("552 5.3.4 too big", "the email is too large for it"),
    ("530 5.7.0 Authentication required", "it does not accept our user name and password"),
    ("535 5.7.8 bad credentials", "it does not accept our user name and password"),
    ("535 5.1.1 odd", "it does not accept our user name and password"),
    ("550 5.7.1 blocked", "it refuses our emails, perhaps as spam"),
    ("451 4.7.1 greylisted", "it asks us to try again later"),
    ("421 busy", "it asks us to try again later"),
    ("452 4.3.1 no space", "it has no room at the moment"),
    ("550 no", "it rejects the address"),
    ("550 5.9.9 no", "it rejects the address"),
    ("554 5.9.9 no", "it refuses our emails"),
    ("550 your host is on our block list", "it refuses our emails"),
    ("550 5.1.1 rejected: listed in a spam database", "it refuses our emails"),
    ("550 mailbox is over quota", "the mailbox is full"),
    ("552 5.2.3 message too big", "the email is too large for it"),
    ("250 2.1.5 ok", ""),
    ("299", ""),
    ("timed out", ""),
    ("5501 no", ""),
    ("", ""),
]


@pytest.mark.usefixtures("_request")
@pytest.mark.parametrize(("answer", "meant"), ANSWERS)
def test_an_answer_has_a_meaning(answer: str, meant: str) -> None:
    assert meaning(answer) == meant


def test_each_meaning_is_the_meaning_of_some_answer() -> None:
    assert {meant for _codes, meant in MEANINGS} == {meant for _answer, meant in ANSWERS if meant}


@pytest.mark.usefixtures("_request")
def test_the_meaning_stands_in_the_sentence_and_the_answer_beside_it() -> None:
    settings = Fact("mail_settings", {"said": quoted("530 5.7.0 Authentication required")})
    assert explained(settings) == (
        "The mail server rejects our settings: it does not accept our user name and password.",
        "530 5.7.0 Authentication required",
    )
    assert explained(quoted("550 5.1.1 no such user")) == (
        "the address does not exist.",
        "550 5.1.1 no such user",
    )
    late = Fact(
        "mail_late", {"kind": "turn", "at": "10:00", "said": Fact("no_connection", {"said": "421 busy"})}
    )
    assert explained(late) == (
        "An email (turn) has been waiting since 10:00 UTC: no connection: it asks us to try again later.",
        "421 busy",
    )


@pytest.mark.usefixtures("_request")
def test_what_nobody_knows_stays_as_it_came() -> None:
    assert explained(None) == ("", "")
    assert explained(quoted("entry 2 is illegal")) == ("entry 2 is illegal.", "")
    assert explained(Fact("game_rests")) == ("A game is paused because nobody in it is responding.", "")
    assert explained(Fact("seat_left")).sentence.endswith("else.")
    assert explained(quoted("why?")) == ("why?", "")


@pytest.mark.usefixtures("_request")
@pytest.mark.parametrize("language", [code for code in NAMES if code != "en"])
def test_meanings_are_in_the_readers_language(language: str) -> None:
    english = {meaning(answer) for answer, meant in ANSWERS if meant}
    with force_locale(language):
        assert {meaning(answer) for answer, meant in ANSWERS if meant}.isdisjoint(english)
