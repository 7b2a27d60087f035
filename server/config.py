"""The settings, read from the environment or a `.env` and checked once at the start (formats.md §6)."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from flask import current_app
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

INSTANCE = Path("instance")
_POSTGRES = ("postgres://", "postgresql://")


class ConfigError(Exception):
    """A setting is missing or bad; the text is one line that says which and what would do."""


class Settings(BaseSettings):
    """Every setting has the environment name `BYZANZ_` + its own in capitals."""

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
    def _one_driver(cls, url: str) -> str:
        for prefix in _POSTGRES:
            if url.startswith(prefix):
                return "postgresql+psycopg://" + url.removeprefix(prefix)
        if url and not url.startswith(("sqlite:///", "postgresql+psycopg://")):
            raise ValueError("must begin with sqlite:/// or postgresql://")
        return url

    @field_validator("mail_url")
    @classmethod
    def _mail_server(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in {"smtp", "smtps"} or not parts.hostname):
            raise ValueError("must look like smtp://user:password@host:587?tls=starttls")
        return url

    @field_validator("mail_from", "mail_domain")
    @classmethod
    def _one_line(cls, text: str) -> str:
        if any(ord(letter) < 32 for letter in text):
            raise ValueError("must be one line")
        return text

    @field_validator("base_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must look like https://byzanz.example.org")
        return url.rstrip("/")

    @property
    def sender_domain(self) -> str:
        """The domain in Message-IDs: BYZANZ_MAIL_DOMAIN, else that of BYZANZ_MAIL_FROM."""
        return self.mail_domain or self.mail_from.rpartition("@")[2].strip(" >") or "localhost"


Role = Literal["any", "mailing"]


def load(role: Role = "any") -> Settings:
    """Read and check the settings, fill the defaults of an embedded database, make its secret key when absent.

    Args:
        role: `mailing` for serve, web and scheduler, which need BYZANZ_MAIL_URL.

    Raises:
        ConfigError: one line naming the setting and what would do.
    """
    try:
        settings = Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "BYZANZ_" + "_".join(str(part) for part in first["loc"]).upper()
        raise ConfigError(f"{name}: {first['msg'].removeprefix('Value error, ')}") from None
    if role == "mailing" and not settings.mail_url:
        raise ConfigError(
            "BYZANZ_MAIL_URL is not set: name your mail server, as smtp://user:password@host:587?tls=starttls"
        )
    return _with_defaults(settings)


def _with_defaults(settings: Settings) -> Settings:
    embedded = not settings.database_url
    secret = settings.secret_key.get_secret_value()
    if not secret and not embedded:
        raise ConfigError(
            "BYZANZ_SECRET_KEY is not set: with BYZANZ_DATABASE_URL it is required (32 random characters or more)"
        )
    if secret and len(secret) < 16:
        raise ConfigError("BYZANZ_SECRET_KEY is too short: give 32 random characters or more")
    changes: dict[str, object] = {}
    if embedded:
        changes["database_url"] = f"sqlite:///{_instance() / 'byzanz.db'}"
    if not secret:
        changes["secret_key"] = SecretStr(_kept_secret())
    return settings.model_copy(update=changes)


def _instance() -> Path:
    try:
        INSTANCE.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder {INSTANCE.absolute()} cannot be made: {error.strerror}") from None
    return INSTANCE.absolute()


def _kept_secret() -> str:
    path = _instance() / "secret_key"
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        with suppress(
            FileExistsError
        ):  # of several processes starting at once, the first one's key is everybody's
            os.link(fresh, path)
        fresh.unlink()
    kept = path.read_text().strip()
    if len(kept) < 16:
        raise ConfigError(f"{path} holds no key: remove it to have a new one made")
    return kept


def settings() -> Settings:
    """The settings of the running app."""
    found = current_app.config["BYZANZ"]
    assert isinstance(found, Settings)
    return found


def for_flask(settings: Settings) -> dict[str, object]:
    """What Flask and its extensions want to know, made from the settings."""
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
