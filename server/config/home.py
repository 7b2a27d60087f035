"""The home: the folder with `.env` and with `instance/`, the embedded database and its key (docs/settings.md)."""

from __future__ import annotations

import logging
import os
import pwd
import secrets
from contextlib import suppress
from pathlib import Path

HOME = "BYZANZ_HOME"
DATABASE, KEY = Path("instance", "byzanz.db"), Path("instance", "secret_key")
"""The embedded database and its key, in the home."""
CHECKOUT = Path(__file__).resolve().parents[2]
SHORTEST_KEY = 16
LOGGER = logging.getLogger(__name__)


class ConfigError(Exception):
    """A setting is missing or invalid; the one-line message names it and says what is valid."""


class NoDatabase(ConfigError):
    """The database file does not exist, and this command does not create one."""


def find() -> Path | None:
    """Return the home, None if nothing says where it is.

    It is the folder in BYZANZ_HOME, else the checkout that this code lies in. An installed package takes the current
    folder, but only if that is a home already: otherwise a command in another folder would begin a second database.

    Raises:
        ConfigError: BYZANZ_HOME is not a folder, or the current folder is a home and the one chosen is not.
    """
    here, given = _current_folder(), os.environ.get(HOME)
    if given:
        home = Path(given).absolute()
        if not home.is_dir():
            raise ConfigError(f"{HOME}: there is no folder {home}: create it for the user that runs Byzanz")
    elif (CHECKOUT / "dev.py").is_file():
        home = CHECKOUT
    else:
        return here if here and ((here / DATABASE).exists() or _has_settings(here)) else None
    if here and here != home and _has_settings(here) and not (home / ".env").exists():
        raise ConfigError(_left_behind("settings (.env)", here, home))
    return home


def database(home: Path | None) -> Path:
    """Return the path of the embedded database.

    Raises:
        ConfigError: nothing says where the home is, or the current folder has a database and the home does not.
    """
    if home is None:
        raise ConfigError(f"{HOME} is not set: enter the folder in which Byzanz keeps its database and .env")
    here = _current_folder()
    if here and here != home and (here / DATABASE).exists() and not (home / DATABASE).exists():
        raise ConfigError(_left_behind("a database (instance/)", here, home))
    return home / DATABASE


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None


def _has_settings(folder: Path) -> bool:
    try:
        lines = (folder / ".env").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any(line.strip().removeprefix("export ").upper().startswith("BYZANZ_") for line in lines)


def _left_behind(what: str, here: Path, home: Path) -> str:
    return (
        f"the current folder {here} holds {what} and {home} does not: set {HOME}={here} to keep using it, "
        "or change to another folder"
    )


def read_key(home: Path) -> str:
    """Return the secret key in the home, "" if there is none.

    Raises:
        ConfigError: the file holds no valid key.
    """
    path = home / KEY
    try:
        key = path.read_text().strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): let the user that runs Byzanz own it"
        ) from None
    if len(key) < SHORTEST_KEY:
        raise ConfigError(f"{path} holds no valid key: move it away and restore a backup")
    return key


def create_folder(path: Path) -> None:
    """Create the folder of an embedded database.

    Raises:
        ConfigError: it cannot be created.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder {path} cannot be created: {error.strerror}") from None


def create_key(home: Path) -> str:
    """Create `instance/` with a secret key and return the key; of several processes at once, one makes it.

    Raises:
        ConfigError: the folder cannot be created.
    """
    path = home / KEY
    create_folder(path.parent)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):  # if several processes start at once, the first one's key is used
        os.link(fresh, path)
    fresh.unlink()
    return read_key(home)


def refuse_root(database: Path) -> None:
    """Check that root does not write beside a database of another user, who could not change the new files.

    A database that root creates in a folder of its own is reported in the log.

    Raises:
        ConfigError: root would; the message says as whom to run the command.
    """
    if os.geteuid() != 0:
        return
    places = (database, database.parent, database.parent.parent)
    existing = next((place for place in places if place.exists()), None)
    owner = _owner(existing) if existing else 0
    if owner != 0:
        name = _user(owner)
        raise ConfigError(
            f"{existing} belongs to {name} and you are root, whose files {name} could not change: run "
            f"`sudo -u {name} …` with the same command"
        )
    if existing != database:
        LOGGER.warning("%s is created as root: only a service that runs as root can use it", database)


def _owner(path: Path) -> int:
    return path.stat().st_uid


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"  # as sudo takes it
