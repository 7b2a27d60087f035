"""Tables for who held which seat, results, reliability, blocks, rematches, open tables and table talk."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
COLUMNS = (
    ("game", "past_unknown", sa.Boolean(), sa.false()),
    ("game", "counted_at", TIME, None),
    ("game", "open_until", TIME, None),
    ("game", "asks", sa.Integer(), "0"),
    ("game", "keep_going", sa.Boolean(), sa.false()),
    ("game", "talk", sa.Boolean(), sa.true()),
    ("game", "said", sa.Integer(), "0"),
    ("seat", "offered_at", TIME, None),
    ("person", "handle", sa.String(20), None),
    ("person", "shown", sa.String(10), "nobody"),
    ("person", "talk", sa.String(10), "turns"),
    ("person", "silenced_until", TIME, None),
)
"""Table, column, type and default; those without a default may be empty."""
INDEXES = (
    ("ix_game_uncounted", "ended_at", "status = 'over' AND counted_at IS NULL"),
    ("ix_game_open", "open_until", "open_until IS NOT NULL"),
)

INDEXED = (
    ("tenure", "person_id"),
    ("standing", "person_id"),
    ("former_handle", "person_id"),
    ("block", "other_id"),
    ("wish", "person_id"),
    ("word", "person_id"),
    ("mute", "other_id"),
    ("notes", "person_id"),
)
TABLES = (
    *("tenure", "standing", "conduct", "reliability", "former_handle", "block"),
    *("rematch", "wish", "word", "mute", "notes"),
)


def _key(*columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns)


def _game(name: str = "game_id") -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    return sa.Column(name, sa.String(16), nullable=False), sa.ForeignKeyConstraint([name], ["game.id"])


def _person(
    name: str = "person_id", *, nullable: bool = False
) -> tuple[sa.Column[int], sa.ForeignKeyConstraint]:
    return sa.Column(name, sa.Integer(), nullable=nullable), sa.ForeignKeyConstraint([name], ["person.id"])


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _tables() -> None:
    op.create_table(
        "tenure",
        *_game(),
        *_numbers("seat", "from_seq"),
        *_person(nullable=True),
        sa.Column("bot", sa.String(20)),
        sa.Column("to_seq", sa.Integer()),
        _key("game_id", "seat", "from_seq"),
    )
    op.create_table(
        "standing",
        *_game(),
        *_numbers("seat", "place", "score"),
        *_person(nullable=True),
        sa.Column("bot", sa.String(20)),
        _key("game_id", "seat"),
    )
    op.create_table(
        "conduct",
        *_game(),
        *_person(),
        sa.Column("ended_at", TIME, nullable=False),
        sa.Column("abandoned", sa.Boolean(), nullable=False),
        sa.Column("substitute", sa.Boolean(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
        _key("game_id", "person_id"),
    )
    op.create_table(
        "reliability",
        *_person(),
        *_numbers("decisions", "missed", "median", "games", "abandoned"),
        _key("person_id"),
    )
    op.create_table(
        "former_handle",
        sa.Column("handle", sa.String(20), nullable=False),
        *_person(nullable=True),
        sa.Column("until", TIME, nullable=False),
        _key("handle"),
    )
    op.create_table(
        "block",
        *_person(),
        *_person("other_id"),
        sa.Column("at", TIME, nullable=False),
        _key("person_id", "other_id"),
    )
    op.create_table("rematch", *_game("after_id"), *_game(), _key("after_id"), sa.UniqueConstraint("game_id"))
    op.create_table(
        "wish",
        *_numbers("id"),
        *_person(),
        sa.Column("slug", sa.String(20)),
        sa.Column("size", sa.Integer()),
        sa.Column("pace", sa.Integer()),
        sa.Column("created_at", TIME, nullable=False),
        _key("id"),
    )
    op.create_table(
        "word",
        *_numbers("id"),
        *_game(),
        *_numbers("number"),
        *_person(),
        *_numbers("seat"),
        sa.Column("text", sa.String(500), nullable=False),
        sa.Column("at", TIME, nullable=False),
        *_numbers("seq"),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.Column("hidden_at", TIME),
        sa.Column("hidden_why", sa.String(200)),
        _key("id"),
        sa.UniqueConstraint("game_id", "number"),
        sa.UniqueConstraint("game_id", "person_id", "request_id"),
    )
    op.create_table("mute", *_person(), *_person("other_id"), _key("person_id", "other_id"))
    op.create_table(
        "notes",
        *_game(),
        *_person(),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        _key("game_id", "person_id"),
    )


def upgrade() -> None:
    for table, name, kind, default in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=default is None, server_default=default))
    for name, column, condition in INDEXES:
        where = sa.text(condition)
        op.create_index(name, "game", [column], sqlite_where=where, postgresql_where=where)
    op.create_index("ix_person_handle", "person", ["handle"], unique=True)
    _tables()
    held = sa.text("to_seq IS NULL")
    op.create_index("ix_tenure_held", "tenure", ["game_id", "seat"], sqlite_where=held, postgresql_where=held)
    op.create_index("ix_conduct_person_id", "conduct", ["person_id", "ended_at"])
    for table, column in INDEXED:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    op.drop_index("ix_person_handle", "person")
    for name, _column, _condition in INDEXES:
        op.drop_index(name, "game")
    for table, name, _kind, _default in reversed(COLUMNS):
        op.drop_column(table, name)
