"""Who wrote an email, whether a machine did, and its text: flowed lines joined, the first text that says something."""

from __future__ import annotations

import pytest

from server.mail.incoming import mime, quoting, reply
from tests.support.folders import CORPUS

FLOWED = b"Content-Type: text/plain; charset=utf-8; format=%b\n\n%b"


def flowed(text: bytes, how: bytes = b"flowed") -> str:
    """Return the text of a flowed email."""
    return reply.body_text(mime.parse(FLOWED % (how, text)))


def test_a_line_that_ends_with_a_blank_goes_on() -> None:
    assert flowed(b"bid olive1 \nolive2\npass") == "bid olive1 olive2\npass"
    assert flowed(b"bid olive1 \nolive2\npass", b"Flowed; DelSp=no") == "bid olive1 olive2\npass"
    assert flowed(b"bid olive1 \nolive2", b"fixed") == "bid olive1 \nolive2"
    assert flowed(b"bid \nolive1 \nolive2\n\npass") == "bid olive1 olive2\n\npass"


@pytest.mark.parametrize("how", [b"flowed; delsp=yes", b"flowed; DelSp=Yes", b"FLOWED; DELSP=YES"])
def test_with_delsp_the_blank_that_lets_a_line_go_on_is_no_part_of_it(how: bytes) -> None:
    assert flowed(b"bid oli \nve1  \nolive2 \n\npass", how) == "bid olive1 olive2\npass"
    assert flowed(b"bid olive1\npass", how) == "bid olive1\npass"


def test_unless_told_otherwise_the_blank_is_part_of_the_line() -> None:
    assert reply.unflow("bid \nolive1") == "bid olive1"


def test_the_sign_above_a_signature_does_not_go_on() -> None:
    assert flowed(b"pass\n-- \nAlice") == "pass\n-- \nAlice"
    assert flowed(b"pass\n-- \nAlice", b"flowed; delsp=yes") == "pass\n-- \nAlice"
    signed = mime.parse(b"From: a@example.org\n" + FLOWED % (b"flowed", b"pass\n-- \nA b"))
    assert reply.parse_reply(signed, "x@y").lines == ("pass",)


def test_a_blank_that_was_stuffed_before_a_line_is_taken_away_once() -> None:
    assert flowed(b" From here\n  indented") == "From here\n indented"


def test_quotes_flow_within_their_depth() -> None:
    assert flowed(b"> on \n> and on\n>> deeper \n> back") == "> on and on\n>> deeper \n> back"
    assert flowed(b"> on \nmine") == "> on \nmine"
    assert flowed(b">quoted") == "> quoted"


def test_a_flowed_line_has_an_end() -> None:
    lines = flowed(b"x" * 99 + b" \n" + (b"x" * 99 + b" \n") * 99).split("\n")
    assert {len(line) for line in lines[:-1]} == {mime.LONGEST_HEADER}


# The text


def multipart(*pieces: tuple[bytes, bytes]) -> mime.Part:
    """Return an email of parts, each with its head and its body."""
    body = b"".join(b"--b\n%b\n\n%b\n" % piece for piece in pieces)
    return mime.parse(b"Content-Type: multipart/mixed; boundary=b\n\n" + body + b"--b--\n")


PLAIN, HTML = b"Content-Type: text/plain", b"Content-Type: text/html"


def test_every_text_of_a_mail_is_read() -> None:
    assert reply.body_text(multipart((PLAIN, b" \n"), (PLAIN, b"pass"), (PLAIN, b"bid"))) == "pass\nbid"
    assert reply.body_text(multipart((HTML, b"<b>say hello</b>"), (PLAIN, b"pass"))) == "say hello\npass"
    picture = b"Content-Type: image/png\nContent-Disposition: inline; filename=a.png"
    assert (
        reply.body_text(multipart((PLAIN, b"say hello"), (picture, b"x"), (PLAIN, b"pass")))
        == "say hello\npass"
    )
    assert reply.body_text(multipart((picture, b"x"))) == ""


def test_a_text_that_a_mail_repeats_as_html_is_read_once() -> None:
    for pieces in (
        ((PLAIN, b"pass\n\n> you may bid"), (HTML, b"<p>pass</p><blockquote>you may  bid</blockquote>")),
        ((HTML, b"<p>pass<br>you may bid</p>"), (PLAIN, b"pass\nyou may\nbid\n")),
    ):
        assert reply.body_text(multipart(*pieces)).count("pass") == 1
    assert reply.body_text(multipart((PLAIN, b"pass"), (PLAIN, b"pass"))) == "pass\npass"
    assert reply.body_text(multipart((HTML, b"pass"), (HTML, b"bid"), (HTML, b"pass"))) == "pass\nbid\npass"


def test_files_and_mails_in_a_mail_are_not_its_text() -> None:
    attached = PLAIN + b"\nContent-Disposition: attachment; filename=x"
    assert reply.body_text(multipart((attached, b"no"), (PLAIN, b"pass"))) == "pass"
    named = PLAIN + b"; name=notes.txt"
    assert reply.body_text(multipart((PLAIN, b"pass"), (named, b"no"))) == "pass"
    assert reply.body_text(multipart((named, b"pass"))) == "pass"  # programs that name the text itself
    mail = b"Content-Type: message/rfc822"
    assert reply.body_text(multipart((PLAIN, b"pass"), (mail, b"Subject: x\n\nno"))) == "pass"
    assert reply.body_text(multipart((b"Content-Type: text/calendar", b"no"), (PLAIN, b"pass"))) == "pass"
    digest = b"Content-Type: multipart/digest; boundary=d"
    assert reply.body_text(multipart((PLAIN, b"pass"), (digest, b"--d\n\nSubject: x\n\nno\n--d--"))) == "pass"


@pytest.mark.parametrize(
    ("plain", "page", "seen"),
    [
        (b"pass", b"<p>pass</p>", "pass"),
        (b"Your mail program cannot show HTML.", b"<p>pass</p>", "pass"),
        (b"pass\nbid olive1", b"<p><s>pass</s></p><p>bid olive1</p>", "bid olive1"),
        (b"pass", b"<p><s>pass</s></p>", ""),
        (b"pass", b"<div style='display:none'>pass</div>", ""),
        (b"pass", b"<img src=x>", "pass"),
        (b"pass", b"", "pass"),
        (b"", b"<p>pass</p>", "pass"),
    ],
)
def test_of_two_versions_the_one_that_its_writer_saw_is_read(plain: bytes, page: bytes, seen: str) -> None:
    both = mime.parse(
        b"Content-Type: multipart/alternative; boundary=b\n\n"
        b"--b\n%b\n\n%b\n--b\n%b\n\n%b\n--b--" % (PLAIN, plain, HTML, page)
    )
    assert reply.body_text(both).strip() == seen


def test_a_signed_text_is_read_without_its_armour() -> None:
    signed = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\npass\n- -- \nAlice\n"
        "-----BEGIN PGP SIGNATURE-----\n\nabcd\n=ef\n-----END PGP SIGNATURE-----\nbelow"
    )
    assert reply.unarmored(signed) == "pass\n-- \nAlice\nbelow"
    assert reply.unarmored(signed.partition("\n-----BEGIN PGP SIGNATURE")[0]) == "pass\n-- \nAlice"
    assert reply.unarmored("-----BEGIN PGP SIGNED MESSAGE-----") == ""
    for other in ("pass", "> " + signed, "pass\n" + signed, ""):
        assert reply.unarmored(other) == other


# The author


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("alice@example.org", ("alice@example.org", "")),
        (" Alice@Example.org ", ("alice@example.org", "")),
        ("Alice <Alice@Example.org>", ("alice@example.org", "Alice")),
        ('"Alice, A." <alice@example.org>', ("alice@example.org", "Alice, A.")),
        ("=?utf-8?q?=C3=84nne?= <a@example.org>", ("a@example.org", "Änne")),
        ("Alice (at (her) desk) <a@example.org>", ("a@example.org", "Alice (at (her) desk)")),
        ("alice@example.org (Alice (A))", ("alice@example.org", "")),
        ("Al (at (a (b@c)), d) <a@example.org>", ("a@example.org", "Al (at (a (b@c)), d)")),
        ("a@example.org (a (b (c (d))))", ("", "")),
        ("alice@example.org <alice@example.org>", ("alice@example.org", "alice@example.org")),
        ("bob@example.org <alice@example.org>", ("", "")),
        ("Alice, Bob <alice@example.org>", ("", "")),
        ("<alice@example.org>, <bob@example.org>", ("", "")),
        ("alice@example.org, bob@example.org", ("", "")),
        ("Friends: <alice@example.org>;", ("", "")),
        ("Alice", ("", "")),
    ],
)
def test_the_author_is_the_one_address_in_its_from(header: str, found: tuple[str, str]) -> None:
    assert reply.author(mime.parse(f"From: {header}\n\n".encode())) == found


def test_two_heads_or_none_name_no_author() -> None:
    assert reply.author(mime.parse(b"From: a@example.org\nFrom: a@example.org\n\n")) == ("", "")
    assert reply.author(mime.parse(b"To: a@example.org\n\n")) == ("", "")


# Machines


def ignored(head: str, sender: str = "alice@example.org", author: str = "alice@example.org") -> str | None:
    """Return why an email with this head is ignored, in English; None if it is not."""
    found = reply.parse_reply(mime.parse(f"From: {author}\n{head}\n\npass".encode()), sender)
    assert found.ignored is None or found.lines == ()
    return str(found.ignored) if found.ignored else None


def doubted(head: str, sender: str = "alice@example.org", author: str = "alice@example.org") -> str | None:
    """Return what about this head suggests a program, in English; None if nothing does. The email is read."""
    found = reply.parse_reply(mime.parse(f"From: {author}\n{head}\n\npass".encode()), sender)
    assert found.ignored is None
    assert "multipart" in head or list(found.lines) == ["pass"]
    return str(found.doubt) if found.doubt else None


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("Auto-Submitted: auto-replied (vacation)", "it was sent automatically: auto-replied (vacation)"),
        ("Auto-Submitted: Auto-Generated; x=y", "it was sent automatically: auto-generated"),
        ("Auto-Submitted: auto-notified", "it was sent automatically: auto-notified"),
        ("Precedence: auto_reply", "it is bulk email"),
        ("Precedence: auto-reply", "it is bulk email"),
        ("Content-Type: multipart/report; boundary=b", "it is a delivery report"),
        *((f"{name}: x", f"it was sent automatically: {name}") for name in reply._PROOFS),
    ],
)
def test_what_a_machine_wrote_by_its_own_account_is_ignored_for_a_reason(head: str, why: str) -> None:
    assert ignored(head) == why


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("Auto-Submitted: " + "ab-" * 20, "it was sent automatically: " + "ab-" * 13 + "a"),
        ("Precedence: bulk", "it is bulk email"),
        ("Precedence: Junk", "it is bulk email"),
        ("Precedence: list", "it is bulk email"),
        *((f"{name}: x", f"it was sent automatically: {name}") for name in reply._SIGNS),
        ("Subject: Out of office", "its subject is that of an automatic reply"),
        ("Subject: Automatic reply: gone", "its subject is that of an automatic reply"),
        ("Subject: Abwesenheitsnotiz", "its subject is that of an automatic reply"),
        ("Subject: =?utf-8?b?VW5kZWxpdmVyZWQ=?= mail", "its subject is that of an automatic reply"),
    ],
)
def test_what_only_suggests_a_machine_is_read_with_a_doubt(head: str, why: str) -> None:
    assert doubted(head) == why


@pytest.mark.parametrize("sender", ["", "<>", " < > "])
def test_what_has_no_sender_is_ignored(sender: str) -> None:
    assert ignored("Subject: x", sender) == "it has no sender to reply to"


@pytest.mark.parametrize(
    "address", ["MAILER-DAEMON@mx.example", "no-reply@x.example", "bounces+1=a@x.example"]
)
def test_mail_from_a_machines_address_is_doubted(address: str) -> None:
    assert doubted("Subject: x", author=address) == "it was sent by a program"
    of_envelope = ignored if address.startswith("MAILER") else doubted  # as Postfix names an empty sender
    assert (of_envelope("Subject: x", sender=f"<{address}>") or "").startswith(
        ("it was sent", "it has no sender")
    )


@pytest.mark.parametrize(
    "head",
    [
        *("Auto-Submitted: no", "Auto-Submitted: No; x=y", "Precedence: normal", "Subject: Re: Byzanz"),
        *("Subject: I was out of office", "Content-Type: multipart/mixed; boundary=b"),
    ],
)
def test_what_a_person_wrote_is_read(head: str) -> None:
    assert doubted(head) is None


@pytest.mark.parametrize("head", ["X-Autoreply: no", "X-Mail-Autoreply: 0", "X-Autorespond: False"])
def test_a_header_that_denies_it_proves_nothing(head: str) -> None:
    assert doubted(head) is None


ABSENT = (CORPUS.parent / "absences.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("subject", ABSENT)
def test_an_absence_note_is_known_by_its_subject_in_many_languages(subject: str) -> None:
    assert doubted(f"Subject: {subject}") == "its subject is that of an automatic reply"


@pytest.mark.parametrize(
    "subject", ["Re: Byzanz: Urlaub", "AW: Byzanz: The Golden Horn", "Re: Empire: Absence", "pass"]
)
def test_the_name_of_a_game_makes_no_absence_note(subject: str) -> None:
    assert doubted(f"Subject: {subject}") is None


def test_a_mail_that_is_too_big_is_not_read() -> None:
    head = b"From: alice@example.org\n\n"
    raw = head + b"x" * (reply.LARGEST_MAIL - len(head))
    assert reply.parse_reply(mime.parse(raw), "alice@example.org").ignored is None
    assert str(reply.parse_reply(mime.parse(raw + b"x"), "alice@example.org").ignored) == "too big"


def test_one_line_more_is_read_than_a_reply_may_have() -> None:
    raw = b"From: alice@example.org\n\n" + b"pass\n" * 99
    assert len(reply.parse_reply(mime.parse(raw), "alice@example.org").lines) == reply.MOST_OWN_LINES + 1


# What identifies it


def mark(raw: bytes, recipient: str) -> str:
    return reply.fingerprint(mime.parse(raw), recipient)


def test_a_mail_is_the_same_by_its_id_and_recipient_else_by_its_body() -> None:
    by_id = b"Message-ID: <1@example.org>\n\n"
    assert mark(by_id + b"a", "X@y") == reply.fingerprint(mime.parse(b"To: z\n" + by_id + b"b"), "x@Y")
    assert mark(by_id, "x@y") != mark(by_id, "z@y")
    assert mark(by_id, "x@y") != reply.fingerprint(mime.parse(by_id.replace(b"1", b"2")), "x@y")
    assert mark(b"To: a\n\nbody", "x@y") == reply.fingerprint(mime.parse(b"To: b\n\nbody"), "x@y")
    assert mark(b"To: a\n\nbody", "x@y") != reply.fingerprint(mime.parse(b"To: a\n\nother"), "x@y")


@pytest.mark.parametrize(
    "subject",
    [
        *(
            "Re: x",
            "AW: x",
            "Antw: x",
            "SV: x",
            "VS: x",
            "R: x",
            "RIF: x",
            "Odp: x",
            "YNT: x",
            "Vá: x",
            "Trả lời: x",
        ),
        *(
            "回复：x",
            "答覆: x",
            "返信: x",
            "답장: x",
            "השב: x",
            "رد: x",
            "ตอบกลับ: x",
            "ΑΠ: x",
            "Отв: x",
            "Відп: x",
            "Ats.: x",
        ),
        *("Re[2]: x", "RE(3): x", "[EXTERNAL] Re: x", "*** SPAM *** Re: x", "Rép : x"),
    ],
)
def test_an_answer_is_known_by_its_subject(subject: str) -> None:
    assert reply.parse_reply(mime.parse(f"Subject: {subject}\n\nHello.".encode()), "a@x").answers


@pytest.mark.parametrize(
    "subject",
    ["Poza domem", "Nav uz vietas", "Reise bis 3. März", "Regarding: x", "Va y vuelve", "", "tl;dr: x"],
)
def test_another_mail_is_no_answer_unless_it_names_ours(subject: str) -> None:
    for named in ("", "In-Reply-To: <a@other.example>\n"):
        raw = f"Subject: {subject}\n{named}\nHello.".encode()
        assert not reply.parse_reply(
            mime.parse(raw), "a@x", known=quoting.Known(domain="byzanz.test")
        ).answers
    for head in ("In-Reply-To", "References"):
        raw = f"Subject: {subject}\n{head}: <b@x> <g1.table@byzanz.test>\n\nHello.".encode()
        assert reply.parse_reply(mime.parse(raw), "a@x", known=quoting.Known(domain="byzanz.test")).answers
