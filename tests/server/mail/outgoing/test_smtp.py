"""Each failure of a mail server is classified: permanent, temporary, or our own error."""

from __future__ import annotations

import ssl

import pytest

from server.config import ConfigError
from server.demo import LOOPBACK, free_port
from server.mail.outgoing.smtp import (
    MailServer,
    Message,
    PermanentFailure,
    TemporaryFailure,
    Transport,
    ascii_domain,
    parse_mail_url,
)
from tests.support.mail_servers import FaultyServer, speaking


def message(to: str = "ann@example.org", text: str = "Your turn.\n") -> Message:
    content = f"From: Byzanz <games@byzanz.test>\nTo: {to}\nMessage-ID: <one@byzanz.test>\n\n{text}"
    return Message("games@byzanz.test", to, content.replace("\n", "\r\n").encode())


def test_mails_go_out_over_one_connection() -> None:
    with FaultyServer().running() as server, server.transport() as transport:
        for name in ("ann", "bob", "cleo"):
            transport.send(message(f"{name}@example.org"))
    assert server.recipients == ["ann@example.org", "bob@example.org", "cleo@example.org"]
    assert server.connections == 1


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
@pytest.mark.parametrize("answer", ["550 5.1.1 no such user", "554 5.7.1 not from you", "552 too big"])
def test_a_5xx_about_the_recipient_is_final_and_the_next_mail_goes_out(command: str, answer: str) -> None:
    with FaultyServer(**{command: [answer]}).running() as server, server.transport() as transport:
        with pytest.raises(PermanentFailure, match=answer[:3]):
            transport.send(message())
        transport.send(message("bob@example.org"))
    assert server.recipients[-1] == "bob@example.org"


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
def test_a_4xx_is_for_now(command: str) -> None:
    with (
        FaultyServer(**{command: ["451 4.7.1 greylisted"]}).running() as server,
        server.transport() as transport,
    ):
        with pytest.raises(TemporaryFailure, match="greylisted") as caught:
            transport.send(message())
        assert not caught.value.our_fault
        assert not caught.value.connection_lost
        transport.send(message())
    assert server.connections == 1


def test_a_5xx_about_our_sender_is_our_fault_and_nobody_elses() -> None:
    with (
        FaultyServer(MAIL=["553 5.7.1 sender not allowed"]).running() as server,
        server.transport() as transport,
        pytest.raises(TemporaryFailure) as caught,
    ):
        transport.send(message())
    assert caught.value.our_fault


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize("fault", ["reset", "hang", "421 4.3.2 shutting down"])
def test_a_lost_connection_is_for_now_and_the_next_mail_gets_a_new_one(command: str, fault: str) -> None:
    with FaultyServer(**{command: [fault]}).running() as server, server.transport(timeout=0.3) as transport:
        with pytest.raises(TemporaryFailure) as caught:
            transport.send(message())
        assert caught.value.connection_lost
        assert "connection_lost" not in str(caught.value), "there is no sentence for this code"
        assert not caught.value.our_fault
        transport.send(message())
    assert server.connections == 2


def test_a_refusal_stands_even_if_the_server_hangs_up_after_it() -> None:
    talk = (b"220 hi\r\n", b"250 hello\r\n", b"250 sender ok\r\n", b"550 no such user\r\n")
    with speaking(*talk, pause=0.05) as port:
        transport = Transport(MailServer(LOOPBACK, port, "none"), "byzanz.test", timeout=2, send_timeout=3)
        with transport, pytest.raises(PermanentFailure, match="no such user"):
            transport.send(message())


@pytest.mark.parametrize(
    ("greeting", "ours"), [(b"554 5.7.1 go away\r\n", True), (b"421 busy\r\n", False), (b"", False)]
)
def test_a_server_that_does_not_greet_is_for_now(greeting: bytes, ours: bool) -> None:
    with speaking(greeting) as port:
        transport = Transport(MailServer(LOOPBACK, port, "none"), "byzanz.test", timeout=1, send_timeout=2)
        with transport, pytest.raises(TemporaryFailure) as caught:
            transport.send(message())
    assert caught.value.connection_lost
    assert caught.value.our_fault is ours


def test_nobody_listens() -> None:
    transport = Transport(MailServer(LOOPBACK, free_port(), "none"), "byzanz.test", timeout=1)
    with transport, pytest.raises(TemporaryFailure, match="no connection") as caught:
        transport.send(message())
    assert caught.value.connection_lost
    assert not caught.value.our_fault


def test_a_tarpit_is_left() -> None:
    drips = [b"220-patience\r\n"] * 200
    with speaking(*drips, pause=0.05) as port:
        transport = Transport(MailServer(LOOPBACK, port, "none"), "byzanz.test", timeout=5, send_timeout=0.4)
        with transport, pytest.raises(TemporaryFailure) as caught:
            transport.send(message())
    assert caught.value.connection_lost


def test_a_server_without_starttls_is_not_trusted_in_the_clear() -> None:
    with FaultyServer().running() as server:
        transport = Transport(MailServer(LOOPBACK, server.port, "starttls"), "byzanz.test", timeout=1)
        with transport, pytest.raises(TemporaryFailure) as caught:
            transport.send(message())
    assert caught.value.our_fault
    assert server.kept == []


def test_a_wrong_password_is_our_fault() -> None:
    with FaultyServer().running() as server:  # it offers no login at all
        transport = Transport(
            MailServer(LOOPBACK, server.port, "none", "ann", "pw"), "byzanz.test", timeout=1
        )
        with transport, pytest.raises(TemporaryFailure) as caught:
            transport.send(message())
    assert caught.value.our_fault


def test_a_certificate_that_fits_nothing_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_words: object) -> None:
        raise ssl.SSLCertVerificationError("self-signed certificate")

    monkeypatch.setattr("server.mail.outgoing.smtp.smtplib.SMTP_SSL.connect", refuse)
    transport = Transport(MailServer(LOOPBACK, 465, "smtps"), "byzanz.test", timeout=1)
    with transport, pytest.raises(TemporaryFailure, match="self-signed") as caught:
        transport.send(message())
    assert caught.value.our_fault


def test_addresses_beyond_ascii() -> None:
    assert ascii_domain("ann@bücher.example") == "ann@xn--bcher-kva.example"
    assert ascii_domain("ann@straße.example") == "ann@xn--strae-oqa.example"
    assert ascii_domain("ann@example.org") == "ann@example.org"
    with FaultyServer().running() as server, server.transport() as transport:
        transport.send(message(ascii_domain("ann@bücher.example")))
        transport.send(message("änne@example.org"))
    assert server.recipients == ["ann@xn--bcher-kva.example", "änne@example.org"]


def test_a_server_without_smtputf8_can_never_reach_such_an_address() -> None:
    talk = (b"220 hi\r\n", b"250 hello\r\n", b"250 reset\r\n", b"221 bye\r\n")
    with speaking(*talk, pause=0.05) as port:
        transport = Transport(MailServer(LOOPBACK, port, "none"), "byzanz.test", timeout=2, send_timeout=3)
        with transport, pytest.raises(PermanentFailure, match="non-ASCII"):
            transport.send(message("änne@example.org"))


def test_dots_and_long_lines_come_through_whole() -> None:
    text = ".a line that begins with a dot\n" + "x" * 900 + "\n.\nend\n"
    with FaultyServer().running() as server, server.transport() as transport:
        transport.send(message(text=text))
    assert server.mails[0].get_content().replace("\r\n", "\n") == text


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", MailServer("mail.example.org", 25, "none")),
        (
            "smtp://ann:p%40ss@mail.example.org:2525?tls=starttls",
            MailServer("mail.example.org", 2525, "starttls", "ann", "p@ss"),
        ),
        (
            "smtp://a:b@mail.example.org?tls=starttls",
            MailServer("mail.example.org", 587, "starttls", "a", "b"),
        ),
        ("smtps://a:b@mail.example.org", MailServer("mail.example.org", 465, "smtps", "a", "b")),
        ("smtp://a:b@127.0.0.1:1025", MailServer("127.0.0.1", 1025, "none", "a", "b")),
        ("smtp://a:b@mail.example.org?tls=none", MailServer("mail.example.org", 25, "none", "a", "b")),
        ("smtp://[::1]:25", MailServer("::1", 25, "none")),
    ],
)
def test_the_mail_url(url: str, server: MailServer) -> None:
    assert parse_mail_url(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://mail.example.org",
        "smtp://",
        "smtp://h:99999",
        "smtp://h:x",
        "smtp://h?tls=perhaps",
        "smtp://a:b@mail.example.org",
    ],
)
def test_a_bad_mail_url_gets_one_clear_line(url: str) -> None:
    with pytest.raises(ConfigError, match="BYZANZ_MAIL_URL") as caught:
        parse_mail_url(url)
    assert "\n" not in str(caught.value)
    assert "b@" not in str(caught.value)
