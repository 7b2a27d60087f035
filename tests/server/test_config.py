"""Settings: a missing or invalid one gives one clear line."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import make_url

from server import config
from server.config import home
from tests.support.folders import ROOT


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a home without instance and .env, in an environment without settings."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    for name in [name for name in os.environ if name.startswith("BYZANZ_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BYZANZ_HOME", str(home))
    return home


def test_without_settings_it_makes_a_database_and_a_key_of_its_own(empty_folder: Path) -> None:
    first = config.load(create=True)
    assert first.database_url == f"sqlite:///{empty_folder}/instance/byzanz.db"
    assert len(first.secret_key.get_secret_value()) == 64
    assert config.load(create=True).secret_key == first.secret_key
    assert list((empty_folder / "instance").iterdir()) == [empty_folder / "instance" / "secret_key"]
    assert stat.S_IMODE((empty_folder / "instance" / "secret_key").stat().st_mode) == 0o600


def test_with_a_key_of_ones_own_it_makes_the_folder_all_the_same(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    config.load(create=True)
    assert list((empty_folder / "instance").iterdir()) == []


def test_the_embedded_database_stands_in_a_folder_of_any_name(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = empty_folder / "50%41 off?b=c#1"
    odd.mkdir()
    monkeypatch.setenv("BYZANZ_HOME", str(odd))
    assert make_url(config.load(create=True).database_url).database == f"{odd}/instance/byzanz.db"


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
        config.read()
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
    assert getattr(config.read("any" if name != "MAIL_URL" else "mailing"), name.lower()) == value


def test_a_database_of_ones_own_needs_a_key_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "postgres://me@db/byzanz")
    with pytest.raises(config.ConfigError, match="BYZANZ_SECRET_KEY"):
        config.load()
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    assert config.load().database_url == "postgresql://me@db/byzanz"


def test_who_sends_mail_must_name_a_mail_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(config.ConfigError, match="BYZANZ_MAIL_URL is not set"):
        config.read("mailing")
    monkeypatch.setenv("BYZANZ_MAIL_URL", "smtp://mail.example.org")
    assert config.read("mailing").mail_url == "smtp://mail.example.org"


@pytest.mark.parametrize("url", ["smtp://h?tls=no", "smtp://h?tsl=starttls", "smtp://ann:secret@h"])
def test_who_sends_mail_must_say_properly_how_it_is_kept_secret(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("BYZANZ_MAIL_URL", url)
    with pytest.raises(config.ConfigError, match="BYZANZ_MAIL_URL") as caught:
        config.read("mailing")
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)
    assert config.read().mail_url == url


def test_the_same_keys_may_stand_in_a_file(empty_folder: Path) -> None:
    (empty_folder / ".env").write_text(
        "BYZANZ_BASE_URL=https://games.example.org/\nBYZANZ_RATE_LIMITS=off\nBYZANZ_OLD=1\nPATH=x\n"
    )
    loaded = config.read()
    assert loaded.base_url == "https://games.example.org"
    assert loaded.rate_limits is False


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder that is not the home."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def install_package(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the code seem to lie in a folder of installed packages, without a home in the environment."""
    monkeypatch.setattr(home, "CHECKOUT", folder)
    monkeypatch.delenv("BYZANZ_HOME")


def make_database(folder: Path) -> None:
    """Put an embedded database with a key into a folder."""
    (folder / "instance").mkdir()
    (folder / home.DATABASE).touch()
    (folder / home.KEY).write_text("k" * 64)


def test_without_a_home_in_the_environment_a_checkout_is_the_home(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BYZANZ_HOME")
    assert home.find() == ROOT
    assert list(elsewhere.iterdir()) == []


def test_an_installed_package_takes_the_current_folder_only_if_it_is_a_home(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_package(monkeypatch, elsewhere)
    with pytest.raises(config.ConfigError, match=r"^BYZANZ_HOME is not set: "):
        config.read()
    (elsewhere / ".env").write_text("NAME=x\n")  # of another program
    assert home.find() is None
    make_database(elsewhere)
    assert config.load().home == elsewhere


def test_an_installed_package_needs_no_home_if_everything_is_in_the_environment(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_package(monkeypatch, elsewhere)
    monkeypatch.setenv("BYZANZ_DATABASE_URL", "postgresql://me@db/byzanz")
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    assert config.load().home is None
    assert config.unknown() == []


def test_a_home_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BYZANZ_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(config.ConfigError, match=rf"^BYZANZ_HOME: there is no folder {tmp_path}/nowhere: "):
        config.read()


def test_the_home_belongs_in_the_environment(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_package(monkeypatch, empty_folder)
    (empty_folder / ".env").write_text("BYZANZ_HOME=/srv/other\n")
    with pytest.raises(config.ConfigError, match=r"^BYZANZ_HOME must be set in the environment, not in "):
        config.read()


def test_only_what_may_create_a_database_goes_on_without_one(empty_folder: Path) -> None:
    with pytest.raises(
        config.NoDatabase, match=rf"^there is no database {empty_folder}/instance/byzanz\.db: "
    ):
        config.load()
    assert list(empty_folder.iterdir()) == []


def test_a_database_file_of_its_own_must_exist_as_well(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32)
    monkeypatch.setenv("BYZANZ_DATABASE_URL", f"sqlite:///{empty_folder}/mine.db")
    with pytest.raises(config.NoDatabase, match=r"or correct BYZANZ_DATABASE_URL$"):
        config.load()
    config.load(create=True)
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize("create", [False, True])
def test_a_database_that_has_lost_its_key_gets_no_new_one(empty_folder: Path, create: bool) -> None:
    make_database(empty_folder)
    (empty_folder / home.KEY).unlink()
    with pytest.raises(config.ConfigError, match="/instance/secret_key is missing: restore it"):
        config.load(create=create)


@pytest.mark.parametrize("create", [False, True])
def test_a_database_left_behind_in_the_current_folder_stops_every_command(
    empty_folder: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, create: bool
) -> None:
    make_database(elsewhere)
    with pytest.raises(config.ConfigError) as caught:
        config.load(create=create)
    for told in (
        f"current folder {elsewhere} holds a database",
        str(empty_folder),
        f"BYZANZ_HOME={elsewhere} ",
    ):
        assert told in str(caught.value)
    monkeypatch.setenv("BYZANZ_HOME", str(elsewhere))
    assert config.load(create=create).home == elsewhere
    monkeypatch.setenv("BYZANZ_HOME", str(empty_folder))
    make_database(empty_folder)
    assert config.load(create=create).home == empty_folder


def test_settings_left_behind_in_the_current_folder_stop_every_command(
    empty_folder: Path, elsewhere: Path
) -> None:
    (elsewhere / ".env").write_text("BYZANZ_TICK=7\n")
    with pytest.raises(config.ConfigError, match=r"holds settings \(\.env\) and .*/home does not: set "):
        config.read()
    (empty_folder / ".env").write_text("BYZANZ_TICK=8\n")
    assert config.read().tick == 8


def test_root_does_not_write_for_another_user(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(home, "_owner", lambda _path: 1234)
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: SimpleNamespace(pw_name="byzanz"))
    with pytest.raises(
        config.ConfigError, match=r"home belongs to byzanz and you are root, .*`sudo -u byzanz "
    ):
        config.load(create=True)
    assert list(empty_folder.iterdir()) == []
    make_database(empty_folder)
    with pytest.raises(config.ConfigError, match=r"byzanz\.db belongs to byzanz and you are root"):
        config.load()


def test_what_root_creates_is_told_once(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(home, "_owner", lambda _path: 0)
    config.load(create=True)
    told = (
        f"{empty_folder}/instance/byzanz.db is created as root: only a service that runs as root can use it"
    )
    assert [record.getMessage() for record in caplog.records] == [told]
    (empty_folder / home.DATABASE).touch()
    config.load()
    assert [record.getMessage() for record in caplog.records] == [told]


@pytest.mark.parametrize("name", config.IN_FILES)
def test_a_secret_may_be_in_a_file(empty_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    value = {
        "database_url": "sqlite:////x/y.db",
        "mail_url": "smtp://mail",
        "metrics_token": "t" * 16,
        "secret_key": "s" * 32,
    }
    monkeypatch.setenv("BYZANZ_SECRET_KEY", "k" * 32) if name != "secret_key" else None
    setting, file = f"BYZANZ_{name.upper()}", empty_folder / "secret"
    monkeypatch.setenv(f"{setting}_FILE", str(file))
    with pytest.raises(config.ConfigError, match=f"^{setting}_FILE: {file} cannot be read: No such file"):
        config.read()
    file.write_text("\n")
    with pytest.raises(config.ConfigError, match=rf"^{setting}_FILE: {file} is empty$"):
        config.read()
    file.write_text(value[name] + "\n")
    read = getattr(config.read(), name)
    assert (read.get_secret_value() if hasattr(read, "get_secret_value") else read) == value[name]
    monkeypatch.setenv(setting, value[name])
    with pytest.raises(config.ConfigError, match=f"^{setting} and {setting}_FILE are both set: "):
        config.read()


def test_a_setting_may_be_a_credential_of_systemd(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(empty_folder))
    (empty_folder / "byzanz_secret_key").write_text("s" * 32 + "\n")
    (empty_folder / "byzanz_mail_url").write_text("smtp://mail\n")
    read = config.read("mailing")
    assert (read.secret_key.get_secret_value(), read.mail_url) == ("s" * 32, "smtp://mail")


def test_an_unknown_setting_is_named_with_the_one_it_resembles(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_folder / ".env").write_text("BYZANZ_MAILURL=x\nBYZANZ_TICK=1\nPATH=x\n")
    monkeypatch.setenv("BYZANZ_QQ", "1")
    assert config.unknown() == [
        "BYZANZ_MAILURL is not a setting: did you mean BYZANZ_MAIL_URL?",
        "BYZANZ_QQ is not a setting",
    ]
