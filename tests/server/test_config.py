"""Settings: a missing or bad one is one clear line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from server import config


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without instance and .env, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in config.Settings.model_fields:
        monkeypatch.delenv(f"BYZANZ_{name.upper()}", raising=False)
    return tmp_path


def test_without_settings_it_makes_a_database_and_a_key_of_its_own(empty_folder: Path) -> None:
    first = config.load()
    assert first.database_url == f"sqlite:///{empty_folder}/instance/byzanz.db"
    assert len(first.secret_key.get_secret_value()) == 64
    assert config.load().secret_key == first.secret_key
    assert stat.S_IMODE((empty_folder / "instance" / "secret_key").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DATABASE_URL", "mysql://x", "BYZANZ_DATABASE_URL"),
        ("MAIL_URL", "http://x", "BYZANZ_MAIL_URL"),
        ("MAIL_URL", "smtp://", "BYZANZ_MAIL_URL"),
        ("BASE_URL", "byzanz.example.org", "BYZANZ_BASE_URL"),
        ("BASE_URL", "https://x/?a=b", "BYZANZ_BASE_URL"),
        ("PROXY_HOPS", "many", "BYZANZ_PROXY_HOPS"),
        ("PROXY_HOPS", "-1", "BYZANZ_PROXY_HOPS"),
        ("RATE_LIMITS", "perhaps", "BYZANZ_RATE_LIMITS"),
        ("TICK", "0", "BYZANZ_TICK"),
        ("SECRET_KEY", "short", "BYZANZ_SECRET_KEY"),
        ("MAIL_FROM", "a@b\nBcc: x@y", "BYZANZ_MAIL_FROM"),
    ],
)
def test_a_bad_setting_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"BYZANZ_{name}", value)
    with pytest.raises(config.ConfigError) as caught:
        config.load()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_of_ones_own_needs_a_key_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "postgres://me@db/byzanz")
    with pytest.raises(config.ConfigError, match="BYZANZ_SECRET_KEY"):
        config.load()
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    assert config.load().database_url == "postgresql+psycopg://me@db/byzanz"


def test_who_sends_mail_must_name_a_mail_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(config.ConfigError, match="BYZANZ_MAIL_URL is not set"):
        config.load("mailing")
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://mail.example.org")
    assert config.load("mailing").mail_url == "smtp://mail.example.org"


def test_the_same_keys_may_stand_in_a_file(empty_folder: Path) -> None:
    (empty_folder / ".env").write_text("BYZANZ_BASE_URL=https://games.example.org/\nBYZANZ_RATE_LIMITS=off\n")
    loaded = config.load()
    assert loaded.base_url == "https://games.example.org"
    assert loaded.rate_limits is False
