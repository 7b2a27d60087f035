"""What `byzanz doctor` finds out about the settings and this machine, without a connection to anything."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import make_url

from byzanz.games import latest
from server import config
from server.config import Settings, home, offered
from server.ops.finding import Finding

LEAST_SPACE = 200 * 1024 * 1024
"""Bytes that must be free where the database lies: an upgrade rewrites it, and a full disk stops every move."""
FS_IOC_GETFLAGS, FS_IMMUTABLE_FL = 0x80086601, 0x10
"""How Linux is asked for the attributes of a file, and the one that forbids changes."""
BESIDE = ("-wal", "-shm", ".lock")
"""What lies beside an SQLite database while it is used, by the ends of the names."""
USUAL_HOMES = (Path("/var/lib/byzanz"), Path("/srv/byzanz"))
"""Where packages and containers keep the database (docs/deploy)."""
PRIVATE_ENDINGS = (".local", ".localhost", ".lan", ".home.arpa", ".internal", ".test")


def findings(settings: Settings) -> Iterator[Finding]:
    """Yield what is wrong with the settings and the files, and which files are used."""
    yield from _paths(settings)
    yield from (Finding(False, line) for line in config.unknown())
    yield from _games(settings)
    yield from _base_url(settings)
    if (
        _is_public(urlsplit(settings.base_url).hostname or "")
        and "mail_from" not in settings.model_fields_set
    ):
        what = (
            f"emails come from {settings.mail_from}, to which nobody can write: BYZANZ_MAIL_FROM is not set"
        )
        yield Finding(False, what, "set it to an address of your domain, like Byzanz <byzanz@example.org>")
    file = config.database_file(settings)
    if file is not None and file.exists():
        yield _writable(file)
        yield _space(file.parent)


def elsewhere(settings: Settings) -> Path | None:
    """Return another home that holds an embedded database, if these settings lead to one of their own choice."""
    file = config.database_file(settings)
    if settings.home is None or file != settings.home / home.DATABASE:
        return None
    places = (Path.cwd(), home.CHECKOUT, *USUAL_HOMES)
    found = (place for place in places if place != settings.home and (place / home.DATABASE).is_file())
    return next(found, None)


def no_database(settings: Settings) -> Finding:
    """Say that there is no database file, and where one is instead."""
    file, other = config.database_file(settings), elsewhere(settings)
    if other is not None:
        remedy = f"set {home.HOME}={other} if that is yours; else create one with `byzanz upgrade`"
        return Finding(False, f"there is no database {file}, but one in {other / home.DATABASE}", remedy)
    return Finding(
        False, f"there is no database {file}", "run `byzanz serve` or `byzanz upgrade` to create it"
    )


def _paths(settings: Settings) -> Iterator[Finding]:
    env = settings.home and settings.home / ".env"
    yield Finding(True, f"settings from {env}" if env and env.exists() else "no settings file .env")
    file = config.database_file(settings)
    where = file or make_url(settings.database_url).render_as_string(hide_password=True)
    yield Finding(True, f"database at {where}")


def _games(settings: Settings) -> Iterator[Finding]:
    """Tell which games are installed, and which packages and settings do not lead to one."""
    yield Finding(True, f"games: {', '.join(rules.slug for rules in latest())}")
    for line in offered.warnings(settings):
        yield Finding(False, line, "repair or remove the package, or correct BYZANZ_GAMES, and restart")


def _base_url(settings: Settings) -> Iterator[Finding]:
    """Check that players can open the links in emails, and nobody on the way can read them."""
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    if settings.mail_url and "base_url" not in settings.model_fields_set:
        what = f"emails link to {settings.base_url}, which only this machine can open: BYZANZ_BASE_URL is not set"
        yield Finding(False, what, "set it to the address that players open, like https://byzanz.example.org")
    elif settings.mail_url and _is_here(host) and not _is_here(urlsplit(settings.mail_url).hostname or ""):
        what = f"emails link to {settings.base_url}, which only this machine can open"
        yield Finding(False, what, "set BYZANZ_BASE_URL to the address that players open")
    elif parts.scheme == "http" and _is_public(host):
        what = f"{settings.base_url} is not encrypted: anybody on the way can read the links to seats"
        yield Finding(False, what, "let the proxy serve HTTPS and set BYZANZ_BASE_URL to https://…")
    elif parts.scheme == "https" and not settings.proxy_hops:
        what = (
            "BYZANZ_PROXY_HOPS is 0, but HTTPS needs a proxy in front: all visitors share the limits of one"
        )
        yield Finding(False, what, "set BYZANZ_PROXY_HOPS=1, or to the number of proxies")
    else:
        yield Finding(True, f"emails link to {settings.base_url}")


def _is_here(host: str) -> bool:
    """Whether a name or an address is this machine's alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_public(host: str) -> bool:
    """Whether a name or an address is one of the Internet's, and not of a private network."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(PRIVATE_ENDINGS)


def _writable(file: Path) -> Finding:
    """Check that the owner of an SQLite database may write it and its folder, which holds its write-ahead log."""
    beside = [path for name in BESIDE if (path := file.with_name(f"{file.name}{name}")).exists()]
    for place in (file, *beside, file.parent):
        wrong = _why_not_written(place, file)
        if wrong is not None:
            return wrong
    return Finding(True, f"the database belongs to {_owner(file)}, who may write it")


def _why_not_written(place: Path, file: Path) -> Finding | None:
    """Return what keeps this user from writing a file or folder of the database, the cause before its effects."""
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        what = f"the file system of {place} is mounted read-only"
        return Finding(
            False, what, "mount it writable; if it was, the log of the kernel (dmesg) says why it changed"
        )
    if not place.stat().st_mode & 0o200:
        return Finding(False, f"{place} is read-only", f"allow its owner to write: chmod u+w {place}")
    if os.access(place, os.W_OK):
        return None
    if _is_immutable(place):
        return Finding(False, f"{place} is protected against changes", f"remove that: chattr -i {place}")
    if place not in (file, file.parent) and _owner(place) != _owner(file):
        what = f"{place} belongs to {_owner(place)}, but the database to {_owner(file)}"
        return Finding(False, what, f"stop Byzanz, then: chown {_owner(file)} {place}")
    remedy = f"run doctor as its owner ({_owner(place)}), or let the user that runs Byzanz own it"
    return Finding(False, f"this user may not write {place}", remedy)


def _is_immutable(place: Path) -> bool:
    """Whether a file or folder is protected even against root (chattr), where the file system can tell."""
    try:
        opened = os.open(place, os.O_RDONLY)
    except OSError:
        return False
    try:
        flags = fcntl.ioctl(opened, FS_IOC_GETFLAGS, bytes(8))
        return bool(int.from_bytes(flags[:4], sys.byteorder) & FS_IMMUTABLE_FL)
    except OSError:
        return False
    finally:
        os.close(opened)


def _owner(place: Path) -> str:
    try:
        return place.owner()
    except KeyError:
        return f"user {place.stat().st_uid}"


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    told = f"{free // 1024**2:,} MB free in {folder}"
    if free < LEAST_SPACE:
        return Finding(False, f"only {told}", "make room: without it no move can be stored")
    return Finding(True, told)
