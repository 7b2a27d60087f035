"""Sending to the mail server, and the message that is sent.

A 5xx reply about the recipient or the mail is permanent (`PermanentFailure`); anything else is temporary
(`TemporaryFailure`). A 5xx about ourselves (greeting, login, sender) is an error in our settings, for which no
recipient may be marked as unreachable.
"""

from __future__ import annotations

import contextlib
import re
import smtplib
import socket
import ssl
from binascii import b2a_qp
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.header import Header
from email.utils import quote
from threading import Timer
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit

from server import validation
from server.config import ConfigError
from server.i18n.characters import hides_something, without_isolates
from server.mail import causes
from server.mail.text import quoted
from server.store.facts import Fact

REPLY_TIMEOUT = 30.0
"""Seconds to wait for one reply of the mail server."""
SEND_TIMEOUT = 120.0
"""Seconds for one mail in total, however slowly the server drips its replies."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class DeliveryFailure(Exception):
    """The mail server has not taken a mail.

    Args:
        said: the words of the server, or what went wrong on the way.

    Attributes:
        cause: what a server that has said so means by it.
    """

    def __init__(self, said: str | Fact) -> None:
        super().__init__(said)
        self.said = said if isinstance(said, Fact) else quoted(said)
        self.cause: causes.Cause = "failed" if isinstance(said, Fact) else causes.cause_of(said)


class PermanentFailure(DeliveryFailure):
    """The mail server will never take this mail for this recipient."""


class TemporaryFailure(DeliveryFailure):
    """The mail could not be sent this time.

    Args:
        reply: the server's reply, or what went wrong on the way.
        connection_lost: the connection is gone; other mails of the batch should wait, too.
        our_fault: the server rejects us rather than the recipient; an administrator must check the settings.
    """

    def __init__(self, reply: str | Fact, *, connection_lost: bool = False, our_fault: bool = False) -> None:
        super().__init__(reply)
        self.connection_lost = connection_lost
        self.our_fault = our_fault


@dataclass(frozen=True, slots=True)
class Message:
    """A mail as a mail server gets it.

    Args:
        sender: of the envelope, to which bounces go.
        content: headers and body.
    """

    sender: str
    recipient: str
    content: bytes


@dataclass(frozen=True, slots=True)
class MailServer:
    """The mail server named by BYZANZ_MAIL_URL; `tls` is "smtps", "starttls" or "none"."""

    host: str
    port: int
    tls: str
    user: str = ""
    password: str = ""


def parse_mail_url(url: str) -> MailServer:
    """Parse `smtp://user:password@host:587?tls=starttls` or `smtps://user:password@host`.

    Raises:
        ConfigError: a one-line message says what is valid.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise ConfigError("BYZANZ_MAIL_URL: the port must be a number from 1 to 65535") from None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ConfigError("BYZANZ_MAIL_URL must look like smtp://user:password@host:587?tls=starttls")
    tls_option = parse_qs(parts.query).get("tls", [""])[-1]
    tls = "smtps" if parts.scheme == "smtps" else tls_option or "none"
    if tls not in ("smtps", "starttls", "none"):
        raise ConfigError("BYZANZ_MAIL_URL: tls must be starttls or none")
    if parts.password and tls == "none" and not tls_option and parts.hostname not in LOOPBACK:
        raise ConfigError(
            "BYZANZ_MAIL_URL would send the password unencrypted: add ?tls=starttls (or ?tls=none if you accept that)"
        )
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(
        parts.hostname, port or {"smtps": 465, "starttls": 587}.get(tls, 25), tls, user, password
    )


class Transport:
    """A connection to the mail server, opened with the first mail and reopened when it was lost.

    Args:
        server: the mail server.
        helo: the name for the greeting: the domain of our mails.
        timeout, send_timeout: seconds for one reply, and for one mail in total.
    """

    def __init__(
        self,
        server: MailServer,
        helo: str,
        *,
        timeout: float = REPLY_TIMEOUT,
        send_timeout: float = SEND_TIMEOUT,
    ) -> None:
        self._server = server
        self._helo = helo
        self._timeout = timeout
        self._send_timeout = send_timeout
        self._smtp: smtplib.SMTP | None = None

    def __enter__(self) -> Transport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, message: Message) -> None:
        """Send one mail; return when the server has accepted it.

        Raises:
            PermanentFailure: it will never be accepted. TemporaryFailure: it was not this time.
        """
        try:
            smtp = self._connection()
            with self._time_limit(smtp):
                self._transmit(smtp, message)
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            raise TemporaryFailure(
                Fact("connection_lost", {"said": quoted(str(error))}), connection_lost=True
            ) from None

    def check_connection(self) -> None:
        """Connect and log in without sending anything.

        Raises:
            TemporaryFailure: that failed.
        """
        self._connection()

    def check_recipient(self, sender: str, recipient: str) -> None:
        """Ask whether the server would take an email, without sending any.

        Raises:
            PermanentFailure, TemporaryFailure: it would not.
        """
        try:
            smtp = self._connection()
            with self._time_limit(smtp):
                self._check_reply(*smtp.mail(sender), at_recipient=False)
                self._check_reply(*smtp.rcpt(recipient), at_recipient=True)
                self._reset()
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            raise TemporaryFailure(
                Fact("connection_lost", {"said": quoted(str(error))}), connection_lost=True
            ) from None

    def close(self) -> None:
        """Say goodbye, or hang up if the server does not listen."""
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            with contextlib.suppress(smtplib.SMTPException, OSError), self._time_limit(smtp):
                smtp.quit()
            smtp.close()

    def _connection(self) -> smtplib.SMTP:
        if self._smtp is None:
            try:
                self._smtp = self._connect()
            except smtplib.SMTPResponseException as error:
                our_fault = error.smtp_code >= 500
                raise TemporaryFailure(
                    _reply_line(error.smtp_code, error.smtp_error), connection_lost=True, our_fault=our_fault
                ) from None
            except (smtplib.SMTPNotSupportedError, ssl.SSLError) as error:
                raise TemporaryFailure(str(error), connection_lost=True, our_fault=True) from None
            except (smtplib.SMTPException, OSError) as error:
                raise TemporaryFailure(
                    Fact("no_connection", {"said": quoted(str(error))}), connection_lost=True
                ) from None
        return self._smtp

    def _connect(self) -> smtplib.SMTP:
        server = self._server
        smtp = (
            smtplib.SMTP_SSL(
                timeout=self._timeout, local_hostname=self._helo, context=ssl.create_default_context()
            )
            if server.tls == "smtps"
            else smtplib.SMTP(timeout=self._timeout, local_hostname=self._helo)
        )
        smtp._host = server.host  # type: ignore[attr-defined]  # the name the certificate is checked against
        with self._time_limit(smtp):
            try:
                code, reply = smtp.connect(server.host, server.port)
                if code != 220:
                    raise smtplib.SMTPConnectError(code, reply)
                if server.tls == "starttls":
                    smtp.starttls(context=ssl.create_default_context())
                smtp.ehlo_or_helo_if_needed()
                if server.user:
                    smtp.login(server.user, server.password)
            except BaseException:
                smtp.close()
                raise
        return smtp

    def _transmit(self, smtp: smtplib.SMTP, message: Message) -> None:
        options: Sequence[str] = ()
        if not (message.content.isascii() and (message.sender + message.recipient).isascii()):
            if not smtp.has_extn("smtputf8"):
                raise PermanentFailure(Fact("ascii_only"))
            options = ("SMTPUTF8", "BODY=8BITMIME")
        self._check_reply(*smtp.mail(message.sender, options), at_recipient=False)
        self._check_reply(*smtp.rcpt(message.recipient), at_recipient=True)
        self._check_reply(*_data(smtp, message.content), at_recipient=True)

    def _check_reply(self, code: int, reply: bytes | str, *, at_recipient: bool) -> None:
        """Return after a 2xx reply; raise the failure that any other reply means."""
        if 200 <= code < 300:
            return
        connection_lost = code == 421 or not self._reset()
        if connection_lost:
            self.close()
        if code // 100 == 5 and at_recipient:
            raise PermanentFailure(_reply_line(code, reply))
        raise TemporaryFailure(
            _reply_line(code, reply), connection_lost=connection_lost, our_fault=code >= 500
        )

    def _reset(self) -> bool:
        """Reset the connection for the next mail; the outcome of this one stands whether or not that works."""
        try:
            return self._smtp is not None and self._smtp.rset()[0] == 250
        except (smtplib.SMTPException, OSError):
            return False

    @contextlib.contextmanager
    def _time_limit(self, smtp: smtplib.SMTP) -> Iterator[None]:
        """Hang up when the server takes too long in total, so that the next read or write fails."""

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                if smtp.sock is not None:
                    smtp.sock.shutdown(socket.SHUT_RDWR)

        timer = Timer(self._send_timeout, hang_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def ascii_domain(address: str) -> str:
    """Return an address with its domain in ASCII form.

    Raises:
        UnicodeError: the domain has none.
    """
    local, _, domain = address.rpartition("@")
    return address if domain.isascii() else f"{local}@{validation.ascii_domain(domain)}"


def _data(smtp: smtplib.SMTP, content: bytes) -> tuple[int, bytes | str]:
    """Return the last reply to a mail's content, or the first if the server refuses to receive it."""
    try:
        return smtp.data(content)
    except smtplib.SMTPDataError as error:
        return error.smtp_code, error.smtp_error


def _reply_line(code: int, reply: bytes | str) -> str:
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else reply
    return f"{code} {' '.join(text.split())}"[:500]


# ---- the message ----
# The email package would build and fold an object for each header and each part; that took a quarter of an email's
# time. Two rules keep people's words in their place: a header consists of printable characters only, so that none ends
# it, and whatever a mail program might decode is encoded (RFC 2047).

LONGEST_LINE = 998
"""The longest line that mail servers pass on."""
_SPECIAL = re.compile(r'[()<>[\]:;@\\,."]')
"""What a name must not contain, unless it is quoted."""
_ADDRESS = re.compile(r'[^\s()<>[\]:;@\\,"]+@[^\s()<>:;@\\,"]+')


def header(name: str, text: str, address: str = "") -> str:
    """Return a header on one line, since folding would break ids and links; only encoded words are folded.

    Args:
        text: its text, or the name that belongs to the address.
        address: as `reachable` returns it.

    Raises:
        ValueError: a character could end the header.
    """
    seen = text.isprintable() or not hides_something(without_isolates(text))
    if not (seen and address.isprintable()):
        raise ValueError(f"the header {name} contains a character that is not printable")
    encodable = address.isascii()  # else the mail server must take UTF-8 anyway
    if encodable and ("=?" in text or not text.isascii()):
        text = Header(text, "utf-8", maxlinelen=75, header_name=name).encode(linesep="\r\n")
        text += "\r\n" if address else ""
    elif address and _SPECIAL.search(text):
        text = f'"{quote(text)}"'
    address = f" <{address}>" if address and text else address
    return f"{name}: {text}{address}\r\n"


def reachable(address: str) -> str:
    """Return an address with its domain in ASCII form.

    Raises:
        PermanentFailure: no mail can be sent there.
    """
    try:
        found = ascii_domain(address)
    except UnicodeError:
        found = ""
    if not _ADDRESS.fullmatch(found):
        raise PermanentFailure(Fact("bad_address"))
    return found


def content(headers: Iterable[str], text: str, html: str, boundary: str) -> bytes:
    """Return a mail in text and in HTML.

    Args:
        boundary: between the parts; it contains "=_", which no encoded part does.
    """
    kind = f'multipart/alternative; boundary="{boundary}"'
    head = "".join((*headers, "MIME-Version: 1.0\r\n", f"Content-Type: {kind}\r\n"))
    # With character references HTML needs no encoding, which would cost a third of the time that its template takes.
    parts = (_part("plain", text.encode()), _part("html", html.encode("ascii", "xmlcharrefreplace")))
    between = f"\r\n--{boundary}".encode()
    return b"".join((head.encode(), *(between + b"\r\n" + part for part in parts), between, b"--\r\n"))


def _part(subtype: str, text: bytes) -> bytes:
    lines = [line.rstrip() for line in text.splitlines()]
    body = b"\r\n".join((*lines, b""))
    encoding = "7bit"
    if not body.isascii() or max(map(len, lines), default=0) >= LONGEST_LINE:
        encoding, body = "quoted-printable", b2a_qp(body)
    head = f'Content-Type: text/{subtype}; charset="utf-8"\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n'
    return head.encode() + body
