"""What the answer of a mail server means, for moderators who do not know its codes by heart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flask_babel import gettext

from server.i18n import N_
from server.mail import causes
from server.store import facts
from server.store.facts import Fact

FULL, REFUSES = N_("the mailbox is full"), N_("it refuses our emails")
NO_ADDRESS, CLOSED, REJECTED = (
    N_("the address does not exist"),
    N_("the mailbox is closed"),
    N_("it rejects the address"),
)
OF_ADDRESSES = (FULL, NO_ADDRESS, CLOSED, REJECTED)
"""What some servers also say when they object to us."""
MEANINGS = (
    (r"5\.1\.(?:2|8)|[45]\.4\.4", N_("the domain of the address does not exist")),
    (r"5\.1\.\d+|551|553", NO_ADDRESS),
    (r"[45]\.2\.2|552", FULL),
    (r"5\.2\.1", CLOSED),
    (r"[45]\.(?:2\.3|3\.4)", N_("the email is too large for it")),
    (r"530|534|535|5\.7\.(?:8|9|11)", N_("it does not accept our user name and password")),
    (r"5\.7\.\d+", N_("it refuses our emails, perhaps as spam")),
    (r"4\.7\.\d+|421|450|451|454", N_("it asks us to try again later")),
    (r"452|4\.3\.1", N_("it has no room at the moment")),
    (r"550", REJECTED),
    (r"554", REFUSES),
)
"""Codes of an answer (RFC 5321, RFC 3463), as they begin it, with what they mean; the first that fits counts."""
_CODES = re.compile(r"\W*([245]\d\d)\b(?:[ -]+([245]\.\d{1,3}\.\d{1,3})\b)?")


class Explained(NamedTuple):
    """An answer for people.

    Args:
        sentence: what has happened, with the meaning of the answer if it is known.
        words: the answer as it came, if the sentence does not have it.
    """

    sentence: str
    words: str


def explained(fact: Fact | None) -> Explained:
    """Return a fact as a sentence in which the words of a mail server stand by what they mean."""
    if fact is None:
        return Explained("", "")
    for words in _words(fact):
        if meant := meaning(words):
            return Explained(_ended(facts.sentence(_with(fact, words, meant))), words)
    return Explained(_ended(facts.sentence(fact)), "")


def meaning(answer: str) -> str:
    """Return what an answer means, in the reader's language; "" if nobody knows."""
    codes = _CODES.match(answer)
    if codes is None or answer.startswith("2"):
        return ""
    # What says most stands in the second code; 530 to 535 are about signing in, whatever follows.
    found = [codes[1], codes[2]] if codes[1].startswith("53") else [codes[2], codes[1]]
    for code in filter(None, found):
        for pattern, meant in MEANINGS:
            if re.fullmatch(pattern, code):
                return str(gettext(_agreed(meant, answer)))
    return ""


def _agreed(meant: str, answer: str) -> str:
    """Return a meaning that does not contradict what the server has made of the answer."""
    if meant in OF_ADDRESSES and causes.is_full(answer):
        return FULL
    return REFUSES if meant in OF_ADDRESSES and causes.cause_of(answer) == "ours" else meant


def _words(fact: Fact) -> Iterator[str]:
    """Find the words of other programs in a fact."""
    for value in fact.values.values():
        if isinstance(value, Fact):
            yield from _words(value)
        elif isinstance(value, str):
            yield value


def _with(fact: Fact, words: str, meant: str) -> Fact:
    values = {
        name: _with(value, words, meant) if isinstance(value, Fact) else meant if value == words else value
        for name, value in fact.values.items()
    }
    return Fact(fact.code, values)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!", "…")) else f"{sentence}."
