"""The settings, read from the environment or a `.env` file and checked at startup (docs/formats.md §6)."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from email.utils import getaddresses, parseaddr
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from flask import current_app
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

INSTANCE = Path("instance")
_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    """Find a folder of non-code files: beside the packages in a checkout, inside `server` in an installed wheel."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


TEMPLATES = _folder("templates")
MIGRATIONS = _folder("migrations")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_LETTERS = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_MAILBOX = re.compile(rf"(?=.{{1,64}}@){_LETTERS}(?:\.{_LETTERS})*@{_DOMAIN}")
_HOST = rf"(?:{_DOMAIN}|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?"
_BASE = re.compile(rf"https?://{_HOST}(?:/[A-Za-z0-9._~-]+)*/*")
_MAIL = re.compile(rf"smtps?://(?:[^\s@/?#]+@)?{_HOST}/?(?:\?[^\s#]*)?")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class ConfigError(Exception):
    """A setting is missing or invalid; the one-line message names it and says what is valid."""


class Settings(BaseSettings):
    """The settings; each one is read from the variable `BYZANZ_` plus its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="BYZANZ_", env_file=".env", extra="ignore")

    database_url: str = ""
    mail_url: str = ""
    mail_from: str = "Byzanz <byzanz@localhost>"
    mail_domain: str = ""
    base_url: str = "http://127.0.0.1:8000"
    secret_key: SecretStr = SecretStr("")
    proxy_hops: int = Field(default=0, ge=0, le=10)
    rate_limits: bool = True
    tick: float = Field(default=5.0, gt=0, le=3600)

    @field_validator("database_url")
    @classmethod
    def _database(cls, url: str) -> str:
        if url.startswith("postgres://"):  # as hosting services write it
            url = "postgresql://" + url.removeprefix("postgres://")
        if url:
            _check_database(url)
        return url

    @field_validator("mail_url")
    @classmethod
    def _mail_server(cls, url: str) -> str:
        if url and not (_MAIL.fullmatch(url) and url.isprintable()):
            raise ValueError(
                "must look like smtp://user:password@host:587?tls=starttls; escape special characters, e.g. # as %23"
            )
        _check_port(url)
        return url

    @field_validator("mail_from")
    @classmethod
    def _sender(cls, text: str) -> str:
        _name, address = parseaddr(text)
        complete = text == address or text.endswith(f"<{address}>")
        alone = complete and len(getaddresses([text])) == 1
        if not (alone and text.isprintable() and _MAILBOX.fullmatch(address)):
            raise ValueError("must be a single address, like Byzanz <games@example.org>")
        return text

    @field_validator("mail_domain")
    @classmethod
    def _mail_domain(cls, text: str) -> str:
        if text and not re.fullmatch(_DOMAIN, text):
            raise ValueError("must be a domain, like example.org")
        return text

    @field_validator("base_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if not _BASE.fullmatch(url):
            raise ValueError("must look like https://byzanz.example.org")
        _check_port(url)
        return url.rstrip("/")

    @property
    def sender_domain(self) -> str:
        """The domain used in Message-IDs: BYZANZ_MAIL_DOMAIN, else the domain of BYZANZ_MAIL_FROM."""
        return self.mail_domain or self.mail_from.rpartition("@")[2].strip(" >") or "localhost"


def _check_port(url: str) -> None:
    """Reject an impossible port, and square brackets that hold no IPv6 address."""
    try:
        proper = urlsplit(url).port != 0
    except ValueError:
        proper = False
    if not proper:
        raise ValueError("has an impossible host or port; ports are numbers from 1 to 65535")


def _check_database(url: str) -> None:
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


def _check_secrecy(mail_url: str) -> None:
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
    open_to_all = parts.scheme == "smtp" and not options and parts.hostname not in _LOOPBACK
    if parts.password and open_to_all:
        raise ConfigError(
            "BYZANZ_MAIL_URL would send the password unencrypted: add ?tls=starttls (or ?tls=none if you accept that)"
        )


Role = Literal["any", "mailing"]


def load(role: Role = "any") -> Settings:
    """Read and check the settings, fill in the defaults and create the secret key of an embedded database.

    Args:
        role: `mailing` for serve, web and scheduler, which need BYZANZ_MAIL_URL.

    Raises:
        ConfigError: a one-line message names the setting and says what is valid.
    """
    try:
        settings = Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "BYZANZ_" + "_".join(str(part) for part in first["loc"]).upper()
        raise ConfigError(f"{name}: {first['msg'].removeprefix('Value error, ')}") from None
    if role == "mailing" and not settings.mail_url:
        raise ConfigError(
            "BYZANZ_MAIL_URL is not set: enter your mail server, e.g. smtp://user:password@host:587?tls=starttls"
        )
    if role == "mailing":
        _check_secrecy(settings.mail_url)
    return _with_defaults(settings)


def _with_defaults(settings: Settings) -> Settings:
    embedded = not settings.database_url
    secret = settings.secret_key.get_secret_value()
    if not secret and not embedded:
        raise ConfigError(
            "BYZANZ_SECRET_KEY is not set: BYZANZ_DATABASE_URL requires it (at least 32 random characters)"
        )
    if secret and len(secret) < 16:
        raise ConfigError("BYZANZ_SECRET_KEY is too short: use at least 32 random characters")
    changes: dict[str, object] = {}
    if embedded:
        file = _instance_folder() / "byzanz.db"
        changes["database_url"] = str(URL.create("sqlite", database=str(file)))  # escapes % and ? in the path
    if not secret:
        changes["secret_key"] = SecretStr(_load_or_create_secret())
    return settings.model_copy(update=changes)


def _instance_folder() -> Path:
    try:
        INSTANCE.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder {INSTANCE.absolute()} cannot be created: {error.strerror}") from None
    return INSTANCE.absolute()


def _load_or_create_secret() -> str:
    path = _instance_folder() / "secret_key"
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # if several processes start at once, the first one's key is used
            os.link(fresh, path)
        fresh.unlink()
    secret = path.read_text().strip()
    if len(secret) < 16:
        raise ConfigError(f"{path} holds no valid key: delete it to have a new one generated")
    return secret


def settings() -> Settings:
    """Return the settings of the running app."""
    found = current_app.config["BYZANZ"]
    assert isinstance(found, Settings)
    return found


def for_flask(settings: Settings) -> dict[str, object]:
    """Return the configuration of Flask and its extensions."""
    return {
        "BYZANZ": settings,
        "SECRET_KEY": settings.secret_key.get_secret_value(),
        "SQLALCHEMY_DATABASE_URI": settings.database_url,
        "SQLALCHEMY_ENGINE_OPTIONS": _engine_options(settings.database_url),
        "SESSION_COOKIE_NAME": "byzanz",
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        "SESSION_COOKIE_SECURE": settings.base_url.startswith("https://"),
        "PERMANENT_SESSION_LIFETIME": 90 * 86400,
        "WTF_CSRF_TIME_LIMIT": None,
        "RATELIMIT_ENABLED": settings.rate_limits,
        "MAX_CONTENT_LENGTH": 2 * 1024 * 1024,
        "MAX_FORM_MEMORY_SIZE": 200_000,
        "MAX_FORM_PARTS": 200,
    }


def _engine_options(database_url: str) -> dict[str, object]:
    if database_url.startswith("postgresql"):
        # No prepared statements: a pooler in transaction mode hands each transaction to another connection.
        return {"pool_pre_ping": True, "connect_args": {"prepare_threshold": None}}
    return {}
