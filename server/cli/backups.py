"""Commands that back up a server's data and restore it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add these commands to `byzanz`."""
    backup = commands.add_parser(
        "backup",
        help="copy the SQLite database and the secret key into one file, while the server runs",
        description="Copy the SQLite database while the server runs, check the copy, and write it and the secret key "
        "to FILE, a tar archive that only you can read. With PostgreSQL, use pg_dump.",
    )
    restore = commands.add_parser(
        "restore",
        help="put a backup in the place of the SQLite database; the server must be stopped",
        description="Check a backup and put its database and secret key in the place of the present ones, which are "
        "moved to a folder beside them. The server must be stopped.",
    )
    for each in (backup, restore):
        each.add_argument("file", metavar="FILE", type=Path)
    backup.set_defaults(run=_backup)
    restore.set_defaults(run=_restore)


def _backup(args: Namespace) -> None:
    from server import config
    from server.ops import backup

    revision = backup.backup(config.load(), args.file)
    print(f"{args.file} holds the database at revision {revision} and the secret key.")
    print("Keep it safe: with both, anyone can open every seat.")


def _restore(args: Namespace) -> None:
    from server import config
    from server.ops import backup
    from server.store import engine

    revision, former = backup.restore(config.read(), args.file, engine.utc_now())
    print(f"The database is at revision {revision} again, with the key of the emailed links.")
    if former:
        print(f"The former files are in {former}.")
    print("Start the server, then run `byzanz doctor --after-restore` to see which moves were lost.")
