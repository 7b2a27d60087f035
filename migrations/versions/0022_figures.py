"""Figures of any size for the metrics, since when a mail cannot be sent, and indexes of what an alert asks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_outbox_tried", "outbox", "tried_at", "status = 'waiting' AND tried_at IS NOT NULL"),
    ("ix_alarm_open", "alarm", "at", "cleared_at IS NULL"),
    ("ix_game_on_hold", "game", "id", "quarantine IS NOT NULL"),
)


def upgrade() -> None:
    with op.batch_alter_table("total") as table:
        table.alter_column(
            "value", type_=sa.BigInteger(), existing_type=sa.Integer(), existing_nullable=False
        )
    op.execute("DELETE FROM total WHERE name = 'mail_attempts'")
    op.add_column("outbox", sa.Column("tried_at", sa.DateTime(timezone=True), nullable=True))
    for name, table_name, column, condition in INDEXES:
        where = sa.text(condition)
        op.create_index(name, table_name, [column], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    for name, table_name, _column, _condition in INDEXES:
        op.drop_index(name, table_name)
    op.drop_column("outbox", "tried_at")
    op.execute("DELETE FROM total")  # an older version knows none of these figures
    with op.batch_alter_table("total") as table:
        table.alter_column(
            "value", type_=sa.Integer(), existing_type=sa.BigInteger(), existing_nullable=False
        )
