"""Store rows in fewer bytes: salts and hashes as bytes, times as numbers on SQLite, and the log without row ids.

What every entry says is compared before and after. On SQLite, no time had a type of its own; each becomes the
microseconds since 1970 instead of a text. On PostgreSQL, only the log kept its times as texts.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

COLUMNS = ("game_id", "seq", "at", "seat", "by", "move", "note", "salt", "hash", "request_id")
REQUESTS, REQUEST = "uq_entry_game_id_seat_request_id", ["game_id", "seat", "request_id"]
"""The key of what players asked for; entries that nobody asked for are left out of it now."""
CHECK, LENGTHS = "ck_entry_lengths", "length(salt) = 16 AND length(hash) = 32"
"""Refuses the texts of a server of the version before that still runs; both databases would store them as bytes."""
SHORT = {"at": sa.DateTime(timezone=True), "salt": sa.LargeBinary(16), "hash": sa.LargeBinary(32)}
LONG = {"at": sa.String(24), "salt": sa.String(32), "hash": sa.String(64)}
"""The types of the three columns of an entry that change: after the upgrade and before it."""

MICROSECONDS = (
    "CAST(strftime('%s', substr({0}, 1, 19)) AS INTEGER) * 1000000"
    " + CAST(substr(substr(rtrim({0}, 'Z'), 21) || '000000', 1, 6) AS INTEGER)"
)
TEXT = "strftime('%Y-%m-%d{1}%H:%M:%S', {0} / 1000000, 'unixepoch') || printf('{2}', {0} % 1000000 / {3})"
STAMP = r"'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'"
SHORTENED = {
    "sqlite": {
        "at": f"coalesce({MICROSECONDS.format('at')}, 0)",
        "salt": "CASE length(salt) WHEN 32 THEN from_hex(salt) ELSE zeroblob(16) END",
        "hash": "CASE length(hash) WHEN 64 THEN from_hex(hash) ELSE zeroblob(32) END",
    },
    "postgresql": {
        "at": f"CASE WHEN at ~ {STAMP} THEN at::timestamptz ELSE 'epoch' END",
        "salt": "decode(CASE WHEN salt ~ '^[0-9a-f]{32}$' THEN salt ELSE repeat('00', 16) END, 'hex')",
        "hash": "decode(CASE WHEN hash ~ '^[0-9a-f]{64}$' THEN hash ELSE repeat('00', 32) END, 'hex')",
    },
}
"""Each of them from its text; a text that is not as the format demands gives something that the comparison notices."""
WRITTEN = {
    "sqlite": {
        "at": TEXT.format("at", "T", ".%03dZ", 1000),
        "salt": "lower(hex(salt))",
        "hash": "lower(hex(hash))",
    },
    "postgresql": {
        "at": """to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
        "salt": "encode(salt, 'hex')",
        "hash": "encode(hash, 'hex')",
    },
}
"""Each of them as text again."""


def upgrade() -> None:
    connection = op.get_bind()
    kind = connection.dialect.name
    if kind == "sqlite":
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.create_function("from_hex", 1, _from_hex, deterministic=True)
        op.rename_table("entry", "entry_before")
        _copy_log(
            SHORT, SHORTENED[kind], sa.CheckConstraint(LENGTHS, name=op.f(CHECK)), sqlite_with_rowid=False
        )
    else:
        op.execute("CREATE TEMPORARY TABLE entry_before AS SELECT * FROM entry")
        op.drop_constraint(REQUESTS, "entry")
        _alter_log(SHORT, SHORTENED[kind])
        op.create_check_constraint(op.f(CHECK), "entry", LENGTHS)
    _compare(connection, WRITTEN[kind])
    op.drop_table("entry_before")
    made = sa.text("request_id IS NOT NULL")
    op.create_index(REQUESTS, "entry", REQUEST, unique=True, sqlite_where=made, postgresql_where=made)
    if kind == "sqlite":
        _keep_the_log()
        _rewrite_times(connection, MICROSECONDS)


def downgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        op.drop_index(REQUESTS, "entry")
        op.drop_constraint(op.f(CHECK), "entry")
        _alter_log(LONG, WRITTEN["postgresql"])
        op.create_unique_constraint(REQUESTS, "entry", REQUEST)
        return
    op.rename_table("entry", "entry_before")
    _copy_log(LONG, WRITTEN["sqlite"], sa.UniqueConstraint(*REQUEST, name=REQUESTS))
    op.drop_table("entry_before")
    _keep_the_log()
    _rewrite_times(connection, TEXT.format("{0}", " ", ".%06d", 1))


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return bytes(len(text) // 2)


def _alter_log(types: Mapping[str, sa.types.TypeEngine[object]], values: Mapping[str, str]) -> None:
    """Change the three columns in PostgreSQL, which writes the table once and keeps its keys and triggers."""
    dialect = op.get_bind().dialect
    changes = (
        f"ALTER {name} TYPE {kind.compile(dialect)} USING {values[name]}" for name, kind in types.items()
    )
    op.get_bind().exec_driver_sql(f"ALTER TABLE entry {', '.join(changes)}")


def _copy_log(
    types: Mapping[str, sa.types.TypeEngine[object]],
    values: Mapping[str, str],
    constraint: sa.Constraint,
    **options: bool,
) -> None:
    """Make the table anew in SQLite, from `entry_before`; dropping that drops its triggers."""
    op.create_table(
        "entry",
        sa.Column("game_id", sa.String(length=16), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", types["at"], nullable=False),
        sa.Column("seat", sa.Integer(), nullable=True),
        sa.Column("by", sa.String(length=10), nullable=False),
        sa.Column("move", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("salt", types["salt"], nullable=False),
        sa.Column("hash", types["hash"], nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name=op.f("fk_entry_game_id_game")),
        sa.PrimaryKeyConstraint("game_id", "seq", name=op.f("pk_entry")),
        constraint,
        **options,
    )
    found = ", ".join(values.get(name, name) for name in COLUMNS)
    connection = op.get_bind()
    connection.exec_driver_sql(
        f"INSERT INTO entry ({', '.join(COLUMNS)}) SELECT {found} FROM entry_before ORDER BY game_id, seq"
    )


def _compare(connection: sa.Connection, written: Mapping[str, str]) -> None:
    """Refuse to go on unless every entry says what it said before.

    Raises:
        RuntimeError: an entry differs.
    """
    now = ", ".join(f"{written.get(name, name)} AS {name}" for name in COLUMNS)
    differ = "IS NOT" if connection.dialect.name == "sqlite" else "IS DISTINCT FROM"
    changed = " OR ".join(f"before.{name} {differ} now.{name}" for name in COLUMNS)
    found = connection.exec_driver_sql(
        f"SELECT before.game_id, before.seq FROM entry_before AS before LEFT JOIN (SELECT {now} FROM entry) AS now"
        f" ON now.game_id = before.game_id AND now.seq = before.seq WHERE {changed} LIMIT 1"
    ).first()
    if found:
        raise RuntimeError(
            f"game {found[0]}, entry {found[1]}: its time, salt or hash is not written as docs/formats.md demands;"
            " nothing was changed. Restore the entry from a backup, then upgrade again"
        )


def _keep_the_log() -> None:
    """Create SQLite's triggers that refuse every change or removal of an entry."""
    for what in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER entry_no_{what.lower()} BEFORE {what} ON entry "
            "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        )


def _rewrite_times(connection: sa.Connection, value: str) -> None:
    """Rewrite all times in SQLite, except those of the log.

    Args:
        value: the new one as an expression of the column `{0}`.
    """
    found = sa.inspect(connection)
    for table in found.get_table_names():
        times = [each["name"] for each in found.get_columns(table) if isinstance(each["type"], sa.DateTime)]
        if times and table != "entry":
            changes = ", ".join(f"{name} = {value.format(name)}" for name in times)
            connection.exec_driver_sql(f"UPDATE {table} SET {changes}")
