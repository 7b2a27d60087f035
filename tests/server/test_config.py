"""Settings: a missing or invalid one gives one clear line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from sqlalchemy import make_url

from server import config


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder without instance and .env, in an environment without settings."""
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


def test_the_embedded_database_stands_in_a_folder_of_any_name(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = empty_folder / "50%41 off?b=c#1"
    odd.mkdir()
    monkeypatch.chdir(odd)
    assert make_url(config.load().database_url).database == f"{odd}/instance/byzanz.db"


BAD = [
    ("PROXY_HOPS", "many"),
    ("PROXY_HOPS", "-1"),
    ("RATE_LIMITS", "perhaps"),
    ("TICK", "0"),
    ("SECRET_KEY", "short"),
    *(("DATABASE_URL", url) for url in (
        "mysql://x", "postgresql://u@h:abc/x", "postgresql://u@h:99999/x", "postgresql://u@h:0/x",
        "postgresql://u@h/x\n", "postgresql://u@my host/x", "sqlite:///", "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true", "sqlite:///x.db ", "sqlite:///x\0.db", "sqlite://", " ",
    )),
    *(("MAIL_URL", url) for url in (
        "http://x", "smtp://", "smtp://:25", "smtp://h:99999", "smtp://h:0", "smtp://h:abc", "smtp://h\n",
        "smtp://my host", "smtp://[::1", "smtp://h/x", "smtp://u:pa#ss@h", "smtp://h:25#x", "smtp://-", " ",
    )),
    *(("MAIL_FROM", text) for text in (
        "a@b\nBcc: x@y", "Byzanz", "a@b@c", "Byzanz <a@b@c>", "a@b, c@d", "Byz, Inc <a@b>", "A <a@b> c@d", "",
        "a@", "@b", "a b@c", "Byzanz <a@b", "a..b@c", "a@exa mple", "a@b.", "a@b\n", "é@b", "a@é", "x: a@b;",
        "<>", "Byz\tanz <a@b>", f"{'a' * 65}@b", "a\u2028 <a@b>",
    )),
    *(("MAIL_DOMAIN", text) for text in ("exa mple", "a@b", "a..b", "-a", "a\n", "é.org", "a" * 64, " ")),
    *(("BASE_URL", url) for url in (
        "byzanz.example.org", "https://x/?a=b", "https://x/?", "https://x/#", "https://x\n", "https://x ",
        " https://x", "https://x:abc", "https://x:99999", "https://x:0", "https://", "https://a b", "ftp://x",
        "https://ann@x", "https://x/a b", 'https://x/"', "HTTPS://x", "https://[::1", "", "https://x\0",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_setting_is_one_line_that_names_it(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    if "\0" in value:  # no environment holds it, a file may
        (empty_folder / ".env").write_text(f"BYZANZ_{name}='{value}'\n")
    else:
        monkeypatch.setenv(f"BYZANZ_{name}", value)
    with pytest.raises(config.ConfigError) as caught:
        config.load()
    said = str(caught.value)
    assert said.startswith(f"BYZANZ_{name}")
    assert said.isprintable()
    assert 20 < len(said) < 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "sqlite:////srv/my games/byzanz.db"),
        ("DATABASE_URL", "postgresql://u:p%40ss@db.example.org:5433/byzanz"),
        ("DATABASE_URL", "postgresql+psycopg://postgres:@/x?host=/run/postgresql"),
        ("MAIL_URL", "smtp://ann:p%23ss@mail.example.org:587?tls=starttls"),
        ("MAIL_URL", "smtps://[::1]/"),
        ("MAIL_URL", "smtp://mail_relay:25"),
        ("MAIL_FROM", "games@example.org"),
        ("MAIL_FROM", '"Byzanz, by mail" <games+x@byzanz.example.org>'),
        ("MAIL_FROM", "Búzas <games@localhost>"),
        ("MAIL_DOMAIN", "xn--bcher-kva.example"),
        ("BASE_URL", "https://games.example.org:8443/byzanz"),
        ("BASE_URL", "http://[::1]:8000"),
        ("BASE_URL", "http://my_host"),
    ],
)
def test_a_good_setting_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    monkeypatch.setenv(f"BYZANZ_{name}", value)
    assert getattr(config.load("any" if name != "MAIL_URL" else "mailing"), name.lower()) == value


def test_a_database_of_ones_own_needs_a_key_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "postgres://me@db/byzanz")
    with pytest.raises(config.ConfigError, match="BYZANZ_SECRET_KEY"):
        config.load()
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    assert config.load().database_url == "postgresql://me@db/byzanz"


def test_who_sends_mail_must_name_a_mail_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(config.ConfigError, match="BYZANZ_MAIL_URL is not set"):
        config.load("mailing")
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://mail.example.org")
    assert config.load("mailing").mail_url == "smtp://mail.example.org"


@pytest.mark.parametrize("url", ["smtp://h?tls=no", "smtp://h?tsl=starttls", "smtp://ann:secret@h"])
def test_who_sends_mail_must_say_properly_how_it_is_kept_secret(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", url)
    with pytest.raises(config.ConfigError, match="BYZANZ_MAIL_URL") as caught:
        config.load("mailing")
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)
    assert config.load().mail_url == url


def test_the_same_keys_may_stand_in_a_file(empty_folder: Path) -> None:
    (empty_folder / ".env").write_text("BYZANZ_BASE_URL=https://games.example.org/\nBYZANZ_RATE_LIMITS=off\n")
    loaded = config.load()
    assert loaded.base_url == "https://games.example.org"
    assert loaded.rate_limits is False
