"""Why mail servers refuse emails, read from what the servers of the world say; refusals/ holds one reply a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.mail import causes
from server.mail.outgoing.smtp import PermanentFailure, TemporaryFailure
from server.store.facts import Fact

REFUSALS = {
    cause: [
        (said.strip(), status.strip())
        for status, _bar, said in (
            line.partition("|")
            for line in (Path(__file__).parent / "refusals" / f"{cause}.txt").read_text("utf-8").splitlines()
        )
    ]
    for cause in ("failed", "expired", "ours")
}


def test_there_are_many() -> None:
    assert {cause: len(found) >= 60 for cause, found in REFUSALS.items()} == dict.fromkeys(REFUSALS, True)
    assert len(REFUSALS["ours"]) >= 131


@pytest.mark.parametrize(
    ("cause", "said", "status"),
    [(cause, said, status) for cause, found in REFUSALS.items() for said, status in found],
)
def test_what_servers_say_is_understood(cause: str, said: str, status: str) -> None:
    assert causes.cause_of(said, status) == cause
    assert causes.recognized(said, status) == cause
    assert PermanentFailure(said).cause == TemporaryFailure(said).cause == causes.cause_of(said)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        *(
            ("5.1.1", "failed"),
            ("5.1.2", "failed"),
            ("5.1.10", "failed"),
            ("5.2.1", "failed"),
            ("5.2.2", "expired"),
        ),
        *(
            ("5.3.1", "expired"),
            ("5.3.4", "ours"),
            ("4.4.7", "expired"),
            ("5.4.7", "expired"),
            ("5.5.2", "ours"),
        ),
        *(
            ("5.6.0", "ours"),
            ("5.6.7", "failed"),
            ("5.7.1", "ours"),
            ("5.7.17", "failed"),
            ("5.7.29", "ours"),
        ),
        *(
            ("5.7.20", "ours"),
            ("5.7.26", "ours"),
            ("5.7.509", "ours"),
            ("5.7.606", "ours"),
            ("5.1.8", "ours"),
        ),
        *(
            ("5.0.0", "failed"),
            ("4.2.2", "expired"),
            ("4.7.1", "expired"),
            ("4.7.23", "ours"),
            ("", "failed"),
        ),
    ],
)
def test_a_code_alone_says_it(status: str, cause: str) -> None:
    assert causes.cause_of("", status) == cause
    assert causes.cause_of(f"{status} no" if status else "no") == cause


@pytest.mark.parametrize(
    ("said", "status", "cause"),
    [
        ("550 5.7.1 blocked", "5.1.1", "ours"),  # the reply knows more than the report
        ("550 no", "5.2.2", "expired"),
        ("451 no", "5.0.0", "expired"),
        ("550 192.0.2.10 said 5.1.1 and no more", "", "failed"),
        ("connected to 5.7.26.1, which said no", "", "failed"),  # an address
        ("550 5.1.1 no such user at spam.example, see https://spf.example/blocked", "", "failed"),
    ],
)
def test_of_several_codes_the_most_telling_counts(said: str, status: str, cause: str) -> None:
    assert causes.cause_of(said, status) == cause


def test_nothing_is_recognized_in_other_words() -> None:
    for said in ("", "Hello.", "We are sorry.", "5.0.0"):
        assert causes.recognized(said) in (None, "failed")
    assert causes.recognized("Hello.") is None


@pytest.mark.parametrize(
    ("said", "full"),
    [("552 5.2.2 no", True), ("552 mailbox is full", True), ("4.4.7 expired", False), ("550 no", False)],
)
def test_a_full_mailbox_is_known(said: str, full: bool) -> None:
    assert causes.is_full(said) is full


def test_what_went_wrong_on_our_side_says_nothing_about_an_address_but_a_bad_one() -> None:
    assert PermanentFailure(Fact("bad_address")).cause == "failed"
