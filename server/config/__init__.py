"""The settings, read from the environment, `.env` and files with secrets, and checked at startup (docs/settings.md)."""

from __future__ import annotations

import hmac
import os
import re
from difflib import get_close_matches
from email.utils import getaddresses, parseaddr
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from flask import current_app, has_app_context
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, DotEnvSettingsSource, SettingsConfigDict
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from byzanz import games
from byzanz.games import AnyRules
from server.config import home
from server.config.home import ConfigError as ConfigError
from server.config.home import NoDatabase as NoDatabase

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


# ---- settings ----

_PACKAGE = Path(__file__).resolve().parents[1]


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
_WEB_PAGE = re.compile(rf"https://{_HOST}(?:/\S*)?")
_MAIL = re.compile(rf"smtps?://(?:[^\s@/?#]+@)?{_HOST}/?(?:\?[^\s#]*)?")
IN_FILES = ("database_url", "mail_url", "secret_key", "metrics_token")
"""The settings with secrets: `BYZANZ_SECRET_KEY_FILE` names a file that holds the value of BYZANZ_SECRET_KEY."""


class Settings(BaseSettings):
    """The settings; each one is read from the variable `BYZANZ_` plus its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="BYZANZ_", extra="ignore")

    home: Path | None = None
    database_url: str = ""
    database_url_file: str = ""
    mail_url: str = ""
    mail_url_file: str = ""
    mail_from: str = "Byzanz <byzanz@localhost>"
    mail_domain: str = ""
    base_url: str = "http://127.0.0.1:8000"
    contact: str = ""
    """An email address or the URL of a page for questions about privacy, barriers and security; public."""
    secret_key: SecretStr = SecretStr("")
    secret_key_file: str = ""
    proxy_hops: int = Field(default=0, ge=0, le=10)
    rate_limits: bool = True
    tick: float = Field(default=5.0, gt=0, le=3600)
    mailer: str = Field(default="", max_length=40)
    """The name under which this process sends mail: it frees at its start what it was about to send when it died."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    metrics_token: SecretStr = SecretStr("")
    """A request with it as a bearer token may read /metrics; without it, only this machine may."""
    metrics_token_file: str = ""
    games: str = ""

    @model_validator(mode="before")
    @classmethod
    def _read_files(cls, given: dict[str, Any]) -> dict[str, Any]:
        return given | {name: _in_file(given, name) for name in IN_FILES if given.get(f"{name}_file")}

    @field_validator("database_url")
    @classmethod
    def _database(cls, url: str) -> str:
        if url.startswith("postgres://"):  # as hosting services write it
            url = "postgresql://" + url.removeprefix("postgres://")
        if url:
            check_database(url)
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

    @field_validator("contact")
    @classmethod
    def _contact(cls, text: str) -> str:
        if text and not _MAILBOX.fullmatch(text) and not (_WEB_PAGE.fullmatch(text) and text.isprintable()):
            raise ValueError(
                "must be an address like you@example.org, or that of a page like https://example.org/contact"
            )
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

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _word(cls, text: object) -> object:
        return text.lower() if isinstance(text, str) else text

    @field_validator("metrics_token")
    @classmethod
    def _long_enough(cls, token: SecretStr) -> SecretStr:
        if not re.fullmatch(r"|[\x21-\x7e]{16,}", token.get_secret_value()):
            raise ValueError("must have at least 16 characters, without blanks or accents")
        return token

    def key(self, use: str) -> bytes:
        """Return the key for one use, derived from the secret key: codes made for one use say nothing in another."""
        return hmac.digest(self.secret_key.get_secret_value().encode(), f"byzanz {use}".encode(), "sha256")

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


def _in_file(given: dict[str, Any], name: str) -> str:
    """Return the value of a setting that is in a file of its own."""
    setting, path = f"BYZANZ_{name.upper()}", given[f"{name}_file"]
    if given.get(name):
        raise ValueError(f"{setting} and {setting}_FILE are both set: remove one of them")
    try:
        text = Path(path).read_text().strip()
    except (OSError, UnicodeError) as error:
        raise ValueError(
            f"{setting}_FILE: {path} cannot be read: {getattr(error, 'strerror', 'no text')}"
        ) from None
    if not text:
        raise ValueError(f"{setting}_FILE: {path} is empty")
    return text


Role = Literal["any", "mailing"]


def read(role: Role = "any") -> Settings:
    """Read and check the settings and fill in the defaults; nothing is created.

    Args:
        role: `mailing` for serve, web and scheduler, which need BYZANZ_MAIL_URL.

    Returns:
        The settings; the secret key is empty if the embedded database does not exist yet.

    Raises:
        ConfigError: a one-line message names the setting and says what is valid.
    """
    folder = home.find()
    try:
        settings = Settings(
            _env_file=folder and folder / ".env",
            _secrets_dir=os.environ.get("CREDENTIALS_DIRECTORY"),  # type: ignore[call-arg]
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = "".join(f"BYZANZ_{part}: ".upper() for part in first["loc"])
        raise ConfigError(name + first["msg"].removeprefix("Value error, ")) from None
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        remedy = "let the user that runs Byzanz own it, as a file of text (UTF-8)"
        raise ConfigError(f"{folder and folder / '.env'} cannot be read ({why}): {remedy}") from None
    if settings.home is not None and home.HOME not in os.environ:
        raise ConfigError(f"{home.HOME} must be set in the environment, not in {folder}/.env")
    if role == "mailing" and not settings.mail_url:
        raise ConfigError(
            "BYZANZ_MAIL_URL is not set: enter your mail server, e.g. smtp://user:password@host:587?tls=starttls"
        )
    if role == "mailing":
        check_secrecy(settings.mail_url)
    return _with_defaults(settings, folder)


def _with_defaults(settings: Settings, folder: Path | None) -> Settings:
    secret = settings.secret_key.get_secret_value()
    if not secret and settings.database_url:
        raise ConfigError(
            "BYZANZ_SECRET_KEY is not set: BYZANZ_DATABASE_URL requires it (at least 32 random characters)"
        )
    if secret and len(secret) < home.SHORTEST_KEY:
        raise ConfigError("BYZANZ_SECRET_KEY is too short: use at least 32 random characters")
    changes: dict[str, object] = {"home": folder}
    if not settings.database_url:
        file = home.database(folder)
        changes["database_url"] = str(URL.create("sqlite", database=str(file)))  # escapes % and ? in the path
        changes["secret_key"] = SecretStr(secret or home.read_key(file.parent.parent))
    return settings.model_copy(update=changes)


def load(role: Role = "any", *, create: bool = False) -> Settings:
    """Read and check the settings as `read` does, and check that there is a database file and its key.

    Args:
        role: as for `read`.
        create: create the folder and the secret key of an embedded database that does not exist yet.

    Raises:
        ConfigError: as for `read`; or the key of an existing database is missing, or root would write for another user.
        NoDatabase: there is no database file, and `create` is not given.
    """
    settings = read(role)
    file = database_file(settings)
    if file is None:
        return settings
    if not file.exists() and not create:
        setting = (
            home.HOME if settings.home and file == settings.home / home.DATABASE else "BYZANZ_DATABASE_URL"
        )
        raise NoDatabase(
            f"there is no database {file}: run `byzanz serve` or `byzanz upgrade` to create it, or correct {setting}"
        )
    home.refuse_root(file)
    if settings.secret_key.get_secret_value():
        if create and settings.home is not None and file == settings.home / home.DATABASE:
            home.create_folder(file.parent)
        return settings
    if missing := missing_key(settings):
        raise ConfigError(missing)
    assert settings.home is not None
    return settings.model_copy(update={"secret_key": SecretStr(home.create_key(settings.home))})


def missing_key(settings: Settings) -> str | None:
    """Return what is wrong if an embedded database exists and its secret key does not."""
    file = database_file(settings)
    if file is None or settings.secret_key.get_secret_value() or not file.exists():
        return None
    assert settings.home is not None
    return (
        f"{settings.home / home.KEY} is missing: restore it from a backup, for no emailed link works without it; "
        f"or move {file} away to begin anew"
    )


def database_file(settings: Settings) -> Path | None:
    """Return the file of an SQLite database, None if the database is PostgreSQL."""
    url = make_url(settings.database_url)
    return Path(url.database).absolute() if url.drivername == "sqlite" and url.database else None


def unknown() -> list[str]:
    """Return a line for each variable that begins with `BYZANZ_` and is no setting, with the one it resembles."""
    folder = home.find()
    in_file = DotEnvSettingsSource(Settings, env_file=folder and folder / ".env").env_vars
    given = {name.upper() for name in (*os.environ, *in_file)}
    names = {name.removeprefix("BYZANZ_").lower() for name in given if name.startswith("BYZANZ_")}
    lines = []
    for name in sorted(names - set(Settings.model_fields)):
        similar = [
            f": did you mean BYZANZ_{known.upper()}?"
            for known in get_close_matches(name, Settings.model_fields, 1)
        ]
        lines.append(f"BYZANZ_{name.upper()} is not a setting{''.join(similar)}")
    return lines


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
        "SESSION_COOKIE_PATH": urlsplit(settings.base_url).path or "/",
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
        connect = {"prepare_threshold": None, "connect_timeout": 10}
        # A connection whose other end has vanished ends within a minute.
        connect |= {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
        connect |= {"tcp_user_timeout": 60_000}
        return {"pool_pre_ping": True, "pool_timeout": 5, "connect_args": connect}
    return {}


# ---- games that can be started ----
# Games that run already go on, whether they are offered or not.


def offered_games() -> tuple[AnyRules, ...]:
    """Return the latest rules of the games that can be started; all if the setting names none that is installed."""
    known = {rules.slug: rules for rules in games.latest()}
    named = _named(settings()) if has_app_context() else ()
    return tuple(known[slug] for slug in named if slug in known) or tuple(known.values())


def game_warnings(settings: Settings) -> list[str]:
    """Return lines about installed packages whose games cannot be played, and about unknown games in the setting."""
    slugs = {rules.slug for rules in games.latest()}
    lines = [f"the game {it.name} of {it.package} cannot be played: {it.reason}" for it in games.broken()]
    missing = [slug for slug in _named(settings) if slug not in slugs]
    if missing:
        lines.append(f"BYZANZ_GAMES names games that are not installed: {', '.join(missing)}")
    return lines


def _named(settings: Settings) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[^\s,]+", settings.games.lower())))
