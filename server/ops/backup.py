"""`byzanz backup` and `byzanz restore`: an SQLite database and its secret key in one file."""

from __future__ import annotations

import fcntl
import io
import os
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from server.config import ConfigError, Settings, database_file, home
from server.ops.doctor import TRIGGERS
from server.store import migrate

DATABASE, KEY = "byzanz.db", "secret_key"
"""The names in a backup, which is a tar archive."""
LARGEST_KEY = 10_000
SHARED_BYTES, FIRST_SHARED_BYTE = 510, 0x40000002
"""The bytes of a database file on which each open connection holds a lock (https://sqlite.org/lockingv3.html)."""


def backup(settings: Settings, file: Path) -> str:
    """Copy the database while the server runs, check the copy, and write it and the secret key to a new file.

    Returns:
        The revision of the database.

    Raises:
        ConfigError: the database is not SQLite or is damaged, or the file exists already.
    """
    live = _database(settings)
    if file.exists():
        raise ConfigError(f"{file} exists already: choose another name")
    with TemporaryDirectory(dir=file.absolute().parent, prefix=".byzanz-backup-") as folder:
        copy, packed = Path(folder, DATABASE), Path(folder, "packed")
        with _database_errors(live), _opened(live) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # so that the copy is a single file
        revision = _checked(copy, live)
        if revision not in migrate.OLDER:  # those are backed up before they are upgraded by an older version
            migrate.refuse_unknown(revision)
        with _new(packed) as out, tarfile.open(fileobj=out, mode="w") as archive:
            archive.add(copy, DATABASE, filter=_private)
            archive.addfile(*_member(KEY, settings.secret_key.get_secret_value().encode()))
        os.replace(packed, file)
    return revision


def restore(settings: Settings, file: Path, now: datetime) -> tuple[str, Path | None]:
    """Replace the database and its key by those of a backup; the former files are kept.

    Args:
        now: names the folder of the former files.

    Returns:
        The revision of the restored database, and the folder with the former files, None if there were none.

    Raises:
        ConfigError: the file is no sound backup, the server is running, or the key is set to another one.
    """
    target = _database(settings)
    home.refuse_root(target)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with (
        _unused(target),
        TemporaryDirectory(dir=target.parent, prefix=".byzanz-restore-") as folder,
    ):
        copy, key = _unpack(file, Path(folder))
        revision = _checked(copy, file)
        migrate.refuse_unknown(revision)
        keeps_key = _keeps_key(settings, target)
        if not keeps_key and key != settings.secret_key.get_secret_value():
            raise ConfigError(
                f"BYZANZ_SECRET_KEY differs from the key in {file}, without which no emailed link works: set it to "
                f"what `tar xOf {file} {KEY}` prints"
            )
        former = _set_aside(target, keeps_key, target.parent / f"replaced-{now:%Y%m%dT%H%M%SZ}")
        if keeps_key:
            with _new(target.with_name(KEY)) as out:
                out.write(key.encode())
        os.replace(copy, target)
        _sync(target.parent)
    return revision, former


def _database(settings: Settings) -> Path:
    file = database_file(settings)
    if file is None:
        raise ConfigError("the database is PostgreSQL: use pg_dump and pg_restore (docs/backup.md)")
    return file


def _keeps_key(settings: Settings, target: Path) -> bool:
    """Whether the key is the file beside the embedded database, and not a setting."""
    if settings.home is None or target != settings.home / home.DATABASE:
        return False
    return settings.secret_key.get_secret_value() == home.read_key(settings.home)


@contextmanager
def _unused(database: Path) -> Iterator[None]:
    """Lock a database that no process has open, even if it is damaged."""
    if not database.exists():
        yield
        return
    with database.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, FIRST_SHARED_BYTE)
        except OSError:
            raise ConfigError(
                f"a process has {database} open: stop the server, the scheduler and mail-in"
            ) from None
        yield


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing database; one that is only read would leave its write-ahead log behind."""
    with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True)) as connection:
        yield connection


@contextmanager
def _database_errors(named: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise ConfigError(f"{named}: {error}") from error


def _checked(copy: Path, named: Path) -> str:
    """Check a copy of a database and return its revision; faults are reported under the name of its source."""
    with _database_errors(named), _opened(copy) as connection:
        faults = [row[0] for row in connection.execute("PRAGMA integrity_check(1)") if row[0] != "ok"]
        faults += [f"broken reference in {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]
        triggers = {
            row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        }
        faults += [f"trigger {name} is missing" for name in sorted(TRIGGERS["sqlite"] - triggers)]
        if faults:
            raise ConfigError(f"{named} is damaged: {' '.join(faults[0].split())}")
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def _new(file: Path) -> io.FileIO:
    """Open a new file that only its owner may read."""
    return _Synced(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")


class _Synced(io.FileIO):
    """A file that is on disk when it is closed."""

    def close(self) -> None:
        """Write everything to disk first."""
        if not self.closed:
            os.fsync(self.fileno())
        super().close()


def _sync(folder: Path) -> None:
    place = os.open(folder, os.O_RDONLY)
    os.fsync(place)
    os.close(place)


def _private(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode, member.uid, member.gid, member.uname, member.gname = 0o600, 0, 0, "", ""
    return member


def _member(name: str, content: bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    member = _private(tarfile.TarInfo(name))
    member.size = len(content)
    return member, io.BytesIO(content)


def _unpack(file: Path, folder: Path) -> tuple[Path, str]:
    """Write the database in a backup to a folder; return its path and the key."""
    copy = folder / DATABASE
    try:
        with tarfile.open(file, "r:") as archive:
            database, key = archive.extractfile(DATABASE), archive.extractfile(KEY)
            assert database is not None
            assert key is not None
            with _new(copy) as out:
                while block := database.read(1 << 20):
                    out.write(block)
            return copy, key.read(LARGEST_KEY).decode().strip()
    except (tarfile.TarError, KeyError, AssertionError, UnicodeError) as error:
        raise ConfigError(f"{file} is not a backup made by `byzanz backup`") from error


def _set_aside(target: Path, with_key: bool, folder: Path) -> Path | None:
    """Move the former files, the write-ahead log with its database, into a folder; return it, None without files."""
    names = [target.name, f"{target.name}-wal", f"{target.name}-shm", *([KEY] if with_key else [])]
    files = [target.with_name(name) for name in names if target.with_name(name).exists()]
    if not files:
        return None
    folder.mkdir(mode=0o700)
    for file in files:
        os.replace(file, folder / file.name)
    _sync(folder)
    return folder
