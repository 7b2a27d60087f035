"""What a report says about one of our emails: by its fields, or by its words if it has none."""

from __future__ import annotations

import email
from importlib import resources

import pytest
from flask import Flask
from flufl.bounce import all_failures

from server.mail import deliverability
from server.mail.incoming import bounces, mime
from tests.support.sample_mails import with_replies

HEAD = b"From: mailer-daemon@mx.example\nSubject: %b\n"
REPORT = b"Content-Type: multipart/report; boundary=b\n\n--b\n\nSorry.\n--b\nContent-Type: %b\n\n%b\n--b--\n"
STATUS = b"message/delivery-status"


def verdict(raw: bytes, envelope_sender: str = "reports@mx.example") -> tuple[str, str]:
    """Return the kind of a report and its diagnostic in English."""
    found = bounces.parse_report(mime.parse(raw), envelope_sender)
    return found.kind, str(found.diagnostic)


def by_status(*blocks: bytes, kind: bytes = STATUS) -> tuple[str, str]:
    """Return the verdict on a report with these blocks of fields."""
    return verdict(HEAD % b"A report" + REPORT % (kind, b"\n\n".join((b"Reporting-MTA: dns; mx", *blocks))))


def by_words(text: bytes, subject: bytes = b"A report") -> tuple[str, str]:
    """Return the verdict on a report that has only words."""
    return verdict(HEAD % subject + b"\n" + text)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (b"Action: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 no", ("failed", "5.1.1 550 no")),
        (b"Action: delayed\nStatus: 4.4.1\nDiagnostic-Code: smtp; 451 no", ("delayed", "4.4.1 451 no")),
        (b"ACTION: Failed (for good)\nStatus: 4.4.7", ("expired", "4.4.7")),
        (b"Action: failed\nStatus: 4.2.0\nDiagnostic-Code: smtp; 550 no", ("expired", "4.2.0 550 no")),
        (b"Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 451 no", ("expired", "5.0.0 451 no")),
        (b"Action: failed\nDiagnostic-Code: smtp;450 4.7.1 wait", ("expired", "450 4.7.1 wait")),
        (b"Action: failed\nStatus: 5.4.7\nDiagnostic-Code: smtp; 451 no", ("expired", "5.4.7 451 no")),
        (b"Action: failed\nDiagnostic-Code: smtp; 550 4.4.1", ("expired", "550 4.4.1")),
        (b"Action: DELAYED\nStatus: 5.0.0", ("delayed", "5.0.0")),
        (b"Action: failed", ("failed", "the email was not delivered")),
        (b"Action: delayed", ("delayed", "the email is delayed")),
        (b"Action: delivered\nStatus: 2.1.5", ("nothing", "the report does not mention a failure")),
        (b"Action: relayed\nStatus: 5.0.0", ("nothing", "the report does not mention a failure")),
        (b"Action: expanded\nStatus: 4.0.0", ("nothing", "the report does not mention a failure")),
    ],
)
def test_the_action_decides(fields: bytes, found: tuple[str, str]) -> None:
    assert by_status(fields) == found


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (b"5.1.1", ("failed", "5.1.1 no")),
        (b"4.4.1 (timeout)", ("delayed", "4.4.1 no")),
        (b"2.0.0", ("nothing", "the report does not mention a failure")),
        (b"unknown", ("nothing", "A report")),
        (b"15.1.1", ("nothing", "A report")),
    ],
)
def test_without_an_action_the_status_decides(status: bytes, found: tuple[str, str]) -> None:
    assert by_status(b"Status: " + status + b"\nDiagnostic-Code: smtp; no") == found


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (b"Action: error\nStatus: 5.0.0", "failed"),
        (b"Action: error\nStatus: 4.0.0", "delayed"),
        (b"Action: failure\nStatus: 553 too large", "failed"),
        (b"Action: delivered\nStatus: 5.0.0", "nothing"),
        (b"Remote-MTA: dns; mx", "failed"),
        (b"Status: 2.0.0", "nothing"),
        (b"Action: expanded", "nothing"),
    ],
)
def test_where_the_fields_have_no_verdict_the_words_decide(fields: bytes, kind: str) -> None:
    assert verdict(HEAD % b"Undelivered mail" + REPORT % (STATUS, fields))[0] == kind


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (b"smtp; 550 no such user; really", "5.1.1 550 no such user; really"),
        (b"550 no such user", "5.1.1 550 no such user"),
        (b"smtp;\n 550 no\n\tsuch user", "5.1.1 550 no such user"),
        (b"smtp; 550 5.1.1 no such user", "550 5.1.1 no such user"),
        (b"smtp;", "5.1.1 smtp;"),
    ],
)
def test_a_diagnostic_is_quoted_with_its_type_or_without(code: bytes, said: str) -> None:
    assert by_status(b"Action: failed\nStatus: 5.1.1\nDiagnostic-Code: " + code) == ("failed", said)


def test_the_first_recipient_with_a_verdict_counts() -> None:
    delayed, failed = b"Action: delayed\nStatus: 4.4.1", b"Action: failed\nStatus: 5.1.1"
    delivered = b"Action: delivered\nStatus: 2.0.0"
    assert by_status(delayed, failed) == ("delayed", "4.4.1")
    assert by_status(failed, delayed) == ("failed", "5.1.1")
    assert by_status(delivered, failed) == ("failed", "5.1.1")


def test_blocks_are_parted_by_lines_that_look_empty() -> None:
    assert by_status(b"Action: delivered\n \t\nAction: failed\nStatus: 5.1.1") == ("failed", "5.1.1")


def test_fields_that_come_late_are_read_but_not_without_end() -> None:
    filled = b"".join(b"X-%d: x\n" % number for number in range(199))
    assert by_status(filled + b"Status: 5.1.1") == ("failed", "5.1.1")
    assert by_status(filled + b"X: x\nStatus: 5.1.1")[0] == "nothing"


def test_a_status_after_kilobytes_of_other_fields_is_found() -> None:
    assert by_status(b"X-Trace: " + b"x" * 5000 + b"\nStatus: 5.1.1") == ("failed", "5.1.1")


@pytest.mark.parametrize(
    "kind", [b"message/delivery-status", b"message/delivery-status-1", b"message/global-delivery-status"]
)
def test_each_kind_of_status_is_read(kind: bytes) -> None:
    assert by_status(b"Action: failed\nStatus: 5.1.1", kind=kind) == ("failed", "5.1.1")


def test_fields_go_before_words() -> None:
    report = HEAD % b"Undeliverable" + REPORT % (STATUS, b"Action: delayed\nStatus: 4.4.1")
    assert verdict(report) == ("delayed", "4.4.1")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (b"Feedback-Type: abuse\nUser-Agent: Loop/1", ("complaint", "abuse, Loop/1")),
        (b"Feedback-Type: Fraud", ("complaint", "fraud")),
        (b"User-Agent: Loop/1", ("complaint", "abuse, Loop/1")),
        (b"Feedback-Type: not-spam\nUser-Agent: Loop/1", ("nothing", "not-spam")),
        (b"Feedback-Type: auth-failure", ("nothing", "auth-failure")),
        (b"Feedback-Type: DMARC", ("nothing", "dmarc")),
    ],
)
def test_a_feedback_report_is_a_complaint_unless_its_type_says_otherwise(
    fields: bytes, found: tuple[str, str]
) -> None:
    assert verdict(HEAD % b"Undeliverable" + REPORT % (b"message/feedback-report", fields)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"550 5.1.1 no such user", ("failed", "550 5.1.1 no such user")),
        (b"Alas:\n550 mailbox closed\n552 too", ("failed", "550 mailbox closed")),
        (b"Alas:\n550-mailbox closed", ("failed", "550-mailbox closed")),
        (b"We gave up: 4.4.1 connection refused", ("expired", "We gave up: 4.4.1 connection refused")),
        (b"We gave up. Call 450-480 or 4.", ("failed", "A report")),
        (b"The code was 5.7.1 today", ("ours", "The code was 5.7.1 today")),
        (b"There the code 554 was said", ("failed", "There the code 554 was said")),
        (b"451 try 4.7.1 later", ("delayed", "451 try 4.7.1 later")),
        (b"Alas:\n451 busy", ("delayed", "451 busy")),
        (b"Your mail is delayed", ("delayed", "A report")),
        (b"We gave up.", ("failed", "A report")),
        (b"Your mail has come.", ("nothing", "A report")),
        (b"See 10.550 or 1550 of ours, 250 ok, or 2.1.5", ("nothing", "See 10.550 or 1550 of ours, 250 ok, or 2.1.5")),
        (b"250 ok", ("nothing", "A report")),
    ],
)  # fmt: skip
def test_words_are_read_where_there_are_no_fields(text: bytes, found: tuple[str, str]) -> None:
    assert by_words(text) == found


@pytest.mark.parametrize(
    "words",
    [
        *("Undeliverable", "it could not be delivered", "it couldn't be delivered", "delivery has failed"),
        *("delivery failed", "a failure", "returned", "a permanent error", "we gave up", "given up"),
        *("unzustellbar", "nicht zugestellt", "es konnte nicht gesendet werden", "onbestelbaar"),
        *("niet afgeleverd", "niet bezorgd: niet worden geleverd", "rejected", "no such user"),
        *("unknown user", "user unknown"),
    ],
)
def test_each_way_to_say_that_it_failed(words: str) -> None:
    expected = "nothing" if words == "niet bezorgd: niet worden geleverd" else "failed"
    assert by_words(words.encode())[0] == expected
    assert by_words(b"Hello.", subject=words.encode())[0] == expected


@pytest.mark.parametrize(
    "words",
    [
        *("delayed", "a delay", "a warning", "it will be retried", "we will keep trying", "will continue"),
        *("not yet", "verzögert", "vertraagd", "vertraging", "noch nicht zugestellt"),
    ],
)
def test_each_way_to_say_that_it_is_delayed(words: str) -> None:
    if words != "noch nicht zugestellt":  # which also says that it failed, so it counts in a subject only
        assert by_words(words.encode())[0] == "delayed"
    assert by_words(b"Hello.", subject=words.encode())[0] == "delayed"


def test_a_report_of_both_a_delay_and_a_failure_is_one_of_what_its_subject_says() -> None:
    both = b"The warning before said delayed.\nNow delivery has failed: 550 no such user"
    assert by_words(both)[0] == "failed"
    assert by_words(both, subject=b"Delayed mail")[0] == "delayed"
    assert by_words(b"It is delayed.", subject=b"Delivery failure")[0] == "failed"
    assert by_words(b"550 no such user", subject=b"Warning: failure")[0] == "delayed"


def test_a_status_is_looked_for_in_the_beginning_of_a_text() -> None:
    assert by_words(b"x\n" * 1990 + b"550 no such user")[0] == "failed"
    assert by_words(b"x\n" * 2500 + b"550 no such user")[0] == "nothing"


@pytest.mark.parametrize(
    ("sender", "more", "text", "kind"),
    [
        (b"MAILER-DAEMON@mx.example", b"", b"550 no", "failed"),
        (b"mailerdaemon@mx.example", b"", b"550 no", "failed"),
        (b"Mail-Daemon@mx.example", b"", b"550 no", "failed"),
        (b"postmaster@mx.example", b"", b"550 no", "failed"),
        (b"postmasters@mx.example", b"", b"550 no", "nothing"),
        (b"the-postmaster@mx.example", b"", b"550 no", "nothing"),
        (b"alice@example.org", b"", b"550 no", "nothing"),
        (b"alice@example.org", b"X-Failed-Recipients: bob@example.org\n", b"550 no", "failed"),
        (b"alice@example.org", b"", b"This is the qmail-send program.\n550 no", "failed"),
    ],
)
def test_only_a_mail_server_writes_reports(sender: bytes, more: bytes, text: bytes, kind: str) -> None:
    raw = b"From: %b\n%bSubject: A report\n\n%b" % (sender, more, text)
    found = verdict(raw)
    assert found[0] == kind
    assert kind != "nothing" or found[1] == "it contains no report"


@pytest.mark.parametrize(
    ("subject", "more", "text", "kind"),
    [
        (b"Mail could not be delivered", b"", b"Sorry.", "failed"),
        (b"Nobody here", b"", b"Alas:\n550 5.1.1 mailbox closed", "failed"),
        (b"Nobody here", b"", b"Alas:\n451 4.7.1 try later", "delayed"),
        (b"Your mail is delayed", b"", b"Sorry.", "delayed"),
        (b"On holiday", b"", b"I shall have returned on Monday, unless my train is delayed.", "nothing"),
        (b"Mail could not be delivered", b"Auto-Submitted: auto-replied\n", b"550 5.1.1 no", "nothing"),
        (b"Mail could not be delivered", b"Auto-Submitted: auto-generated\n", b"550 5.1.1 no", "failed"),
    ],
)
def test_the_empty_sender_of_an_envelope_is_that_of_a_mail_server(
    subject: bytes, more: bytes, text: bytes, kind: str
) -> None:
    raw = b"From: system@mx.example\n%bSubject: %b\n\n%b" % (more, subject, text)
    assert verdict(raw, "<>")[0] == verdict(raw, "")[0] == kind
    assert verdict(raw, "alice@example.org")[0] == "nothing"


SAMPLES = {
    path.name: path.read_bytes()
    for path in resources.files("flufl.bounce.tests.data").iterdir()
    if path.name.endswith(".txt")
}
"""The samples that flufl.bounce is tested with, as they are installed."""
NOT_FOUND = {"bounce_01.txt", "simple_38.txt"}
"""A report in which the reason stands in an attached log alone, and the answer of a program that a recipient runs."""
NO_REPORTS = {"groupwise_03.txt", "qmail_08.txt"}
"""A person's email, and an automatic answer."""
OURS = {"simple_42.txt"}
"""A report that a filter took the email for spam."""
EXPIRED = {
    *(
        "bounce_03.txt",
        "dsn_02.txt",
        "dsn_04.txt",
        "hotpop_01.txt",
        "netscape_01.txt",
        "newmailru_01.txt",
        "postfix_02.txt",
    ),
    *(
        "postfix_04.txt",
        "qmail_02.txt",
        "qmail_06.txt",
        "qmail_07.txt",
        "sendmail_01.txt",
        "simple_01.txt",
        "simple_07.txt",
    ),
    *(
        "simple_09.txt",
        "simple_14.txt",
        "simple_32.txt",
        "simple_44.txt",
        "smtp32_01.txt",
        "smtp32_02.txt",
        "yahoo_01.txt",
    ),
    *("yahoo_02.txt", "yahoo_04.txt"),
}
"""Reports of full mailboxes, of servers that did not answer, of loops: failures that may pass."""


def named_in(raw: bytes) -> tuple[str, bool]:
    """Return an address that the library finds in a report, or "", and whether it calls the failure a lasting one."""
    delayed, failed = all_failures(email.message_from_bytes(raw))
    return next((address.decode() for address in sorted(failed or delayed)), ""), bool(failed)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_reports_of_many_mail_servers_are_read(name: str) -> None:
    recipient, lasting = named_in(SAMPLES[name])
    found = bounces.parse_report(mime.parse(SAMPLES[name]), "", recipient).kind
    assert (found == "nothing") is (name in NOT_FOUND | NO_REPORTS)
    if found not in ("nothing", "delayed"):
        assert found == ("expired" if name in EXPIRED else "ours" if name in OURS else "failed")
    if recipient and name not in NOT_FOUND:
        assert (found == "delayed") is not lasting


def test_there_are_samples() -> None:
    assert len(SAMPLES) == 115


def test_a_library_that_fails_on_a_report_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flufl.bounce.all_failures", {}.__getitem__)
    assert verdict(SAMPLES["sina_01.txt"], "")[0] == "nothing"
    assert verdict(b"From: alice@example.org\nSubject: Hello\n\nHello.") == (
        "nothing",
        "it contains no report",
    )
    assert by_words(b"Hello.") == ("nothing", "A report")


def test_no_more_of_a_report_is_read_than_there_may_be() -> None:
    big = HEAD % b"A report" + b"X: " + b"x" * bounces.LARGEST_REPORT
    assert verdict(big + b"\n\n550 no such user")[0] == "nothing"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_mail_that_a_complaint_quotes_is_found_in_its_heads_and_texts(app: Flask) -> None:
    with_replies(app)
    address = (deliverability.envelope_sender(7) or "").encode()
    quoted = b"Content-Type: multipart/report; boundary=b\n\n--b\n\nSorry.\n--b\n%b\n--b--\n"
    assert (
        bounces.reported_mail_id(
            mime.parse(quoted % (b"Content-Type: message/rfc822\n\nReturn-Path: " + address))
        )
        == 7
    )
    assert bounces.reported_mail_id(mime.parse(quoted % (b"Return-Path: <" + address + b">\n\nHello."))) == 7
    assert bounces.reported_mail_id(mime.parse(b"X: x\n\n" + b"x" * bounces.LARGEST_REPORT + address)) is None
    assert bounces.reported_mail_id(mime.parse(b"To: complaints@byzanz.test\n\nHello.")) is None


# Whose verdict counts


GUESSED = b"From: %b\nSubject: %b\n%b\nfailed addresses follow:\n alice@example.org\nmessage text follows:\n"
"""A report that only the library can read."""


def test_a_verdict_of_others_counts_only_about_our_recipient() -> None:
    raw = GUESSED % (b"relay@mx.example", b"Trouble", b"")
    for recipient in ("alice@example.org", "Alice@Example.org", "alice+byzanz@example.org"):
        assert bounces.parse_report(mime.parse(raw), "", recipient).kind == "failed"
    for recipient in ("", "bob@example.org", "alice@example.com", "malice@example.org"):
        assert bounces.parse_report(mime.parse(raw), "", recipient).kind == "nothing"


@pytest.mark.parametrize(
    ("sender", "author", "subject", "more"),
    [
        ("alice@example.org", b"alice@example.org", b"Re: Byzanz", b""),
        ("", b"Alice <alice@example.org>", b"Re: Byzanz", b""),
        ("eve@example.org", b"eve@example.org", b"Re: Byzanz", b""),
        ("", b"office@example.org", "Frånvarande".encode(), b""),
        ("", b"office@example.org", b"x", b"Auto-Submitted: auto-replied\n"),
        ("", b"office@example.org", b"x", b"X-Autoreply: yes\n"),
        ("", b"office@example.org", b"x", b"Precedence: auto_reply\n"),
    ],
)
def test_nor_about_what_a_person_or_an_autoresponder_wrote(
    sender: str, author: bytes, subject: bytes, more: bytes
) -> None:
    assert (
        bounces.parse_report(mime.parse(GUESSED % (author, subject, more)), sender, "alice@example.org").kind
        == "nothing"
    )


@pytest.mark.parametrize("sender", ["", "alice@example.org"])
@pytest.mark.parametrize(
    "note",
    [
        "In urgent cases write to Bob, bob@example.org, please.",
        "Ask Bob, bob@example.org, or Carol, carol@example.org, instead.",
        "--\nAlice Example, alice@example.org, +44 1632 960000",
        "> To: a@example.org, alice@example.org, c@example.org",
    ],
)
def test_an_absence_note_that_names_people_between_commas_is_no_report(sender: str, note: str) -> None:
    for head in ("Auto-Submitted: auto-replied\n", "Subject: Automatische Antwort\n", ""):
        raw = f"From: Alice <alice@example.org>\n{head}\nI am away.\n{note}\n".encode()
        assert bounces.parse_report(mime.parse(raw), sender, "alice@example.org").kind == "nothing"


def test_the_copy_of_our_mail_says_nothing_about_why_it_came_back() -> None:
    report = "The message could not be delivered.\n\n  alice@example.org\n    user unknown\n\n"
    for begin in (
        "--- Below this line is a copy of the message.",
        "Return-Path: <x@y>",
        "> Received: from a",
    ):
        copied = f"{report}{begin}\nX-Spam-Status: blocked by spamhaus\nMailbox is full\n"
        assert by_words(copied.encode())[0] == "failed"
    named = f"{report.replace('user unknown', 'no reason')}Subject: Byzanz: Spam club\n"
    assert by_words(named.encode())[0] == "failed"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"The mail could not be delivered:\n  retry timeout exceeded", ("expired", "retry timeout exceeded")),
        (b"The mail could not be delivered:\n  mailbox is full", ("expired", "mailbox is full")),
        (b"An error has occurred while attempting it:\nDomain does not exist", ("failed", "Domain does not exist")),
        (b"It was returned:\n550 5.7.1 rejected as spam", ("ours", "550 5.7.1 rejected as spam")),
        (b"It was returned:\nyour host is on our block list", ("ours", "your host is on our block list")),
    ],
)  # fmt: skip
def test_words_tell_why_it_was_given_up(text: bytes, found: tuple[str, str]) -> None:
    assert by_words(text) == found


def test_a_status_without_a_reply_is_explained_by_the_words_beside_it() -> None:
    said = REPORT.replace(b"Sorry.", b"We could not reach mx.example for 5 days.\n  retry timeout exceeded")
    report = HEAD % b"A report" + said % (STATUS, b"Action: failed\nStatus: 5.0.0")
    assert verdict(report) == ("expired", "5.0.0 We could not reach mx.example for 5 days.")


def test_hotmail_complains_with_a_copy_of_our_mail_alone() -> None:
    head = b"From: staff@hotmail.example\nSubject: %b\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
    copy = head + b"Content-Type: message/rfc822\n\n%b: a@b\n\nBid\n--b--\n"
    about = b"complaint about message from 192.0.2.1"
    assert verdict(copy % (b"x", b"X-HmXmrOriginalRecipient"))[0] == "complaint"
    assert verdict(copy % (about, b"To")) == ("complaint", "complaint about message from 192.0.2.1")
    assert verdict(copy % (b"x", b"To"))[0] == "nothing"
    assert verdict(head % about + b"\nHello.\n--b--\n")[0] == "nothing"


@pytest.mark.parametrize(
    "note",
    [
        "Ich bin vom 4.3.26 bis zum 5.4.26 unterwegs.",
        "Call 555 1234 or 450-480.",
        "Tel. 555 123 456",
        "555 1234 is my number",
        "Back on 5.4.26.",
    ],
)
def test_neither_a_date_nor_a_telephone_number_is_a_code(note: str) -> None:
    raw = f"From: Office <office@example.org>\nSubject: Byzanz\n\nI am away.\n{note}\n".encode()
    assert bounces.parse_report(mime.parse(raw), "", "alice@example.org").kind == "nothing"
