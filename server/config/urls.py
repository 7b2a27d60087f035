"""Checks of the URLs in settings: the database's and the mail server's."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from server.config.home import ConfigError

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def check_database(url: str) -> None:
    """Reject the URL of a database that is neither on PostgreSQL nor a permanent SQLite file.

    Raises:
        ValueError: a one-line message says what is valid.
    """
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):
        parts = None
    if (
        parts is None
        or parts.drivername not in {"sqlite", "postgresql", "postgresql+psycopg"}
        or not url.isprintable()
    ):
        raise ValueError(
            "must look like postgresql://user:password@host/byzanz or sqlite:////folder/byzanz.db"
        )
    if parts.drivername == "sqlite":
        name = parts.database or ""
        if not name or name != name.strip() or name.startswith((":memory:", "file:")) or parts.host:
            raise ValueError("must name a permanent file, like sqlite:////folder/byzanz.db")
    elif " " in url or not 1 <= (5432 if parts.port is None else parts.port) <= 65535:
        raise ValueError("contains a space, or a port outside 1 to 65535")


def check_secrecy(mail_url: str) -> None:
    """Reject a mail URL that leaves it unclear whether mail is encrypted in transit.

    Raises:
        ConfigError: a one-line message says what is valid.
    """
    parts = urlsplit(mail_url)
    options = parse_qs(parts.query, keep_blank_values=True)
    if set(options) - {"tls"} or options.get("tls", ["none"])[-1] not in {"starttls", "none", "smtps"}:
        raise ConfigError(
            "BYZANZ_MAIL_URL: the only option after the question mark is tls=starttls or tls=none"
        )
    open_to_all = parts.scheme == "smtp" and not options and parts.hostname not in LOOPBACK
    if parts.password and open_to_all:
        raise ConfigError(
            "BYZANZ_MAIL_URL would send the password unencrypted: add ?tls=starttls (or ?tls=none if you accept that)"
        )
