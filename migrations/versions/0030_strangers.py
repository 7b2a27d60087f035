"""Presence by table; the browser that used a sign-in link; whose network caused an email or a visitor's game."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0028"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
COLUMNS = (
    ("link", "used_by", sa.String(64)),
    ("outbox", "counts_at", TIME),
    ("outbox", "origin", sa.String(40)),
    ("game", "origin", sa.String(40)),
)
REACHING = "kind IN ('invite', 'nudge', 'signin')"


def _index(name: str, column: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "outbox", [column], sqlite_where=where, postgresql_where=where)


def upgrade() -> None:
    for table, name, kind in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=True))
    op.drop_index("ix_outbox_reaching", "outbox")
    op.execute(f"UPDATE outbox SET counts_at = created_at WHERE {REACHING}")
    _index("ix_outbox_counted", "counts_at", "counts_at IS NOT NULL")
    op.create_table(
        "presence",
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("game_id", sa.String(16), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"]),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"]),
        sa.PrimaryKeyConstraint("person_id", "game_id"),
    )
    op.drop_column("person", "seen_at")  # nobody knows at which table


def downgrade() -> None:
    op.add_column("person", sa.Column("seen_at", TIME, nullable=True))
    op.drop_table("presence")
    op.drop_index("ix_outbox_counted", "outbox")
    _index("ix_outbox_reaching", "created_at", REACHING)
    for table, name, _kind in reversed(COLUMNS):
        op.drop_column(table, name)
