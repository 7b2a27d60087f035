"""Count the bounces of a seat, and remember when its player was last here: both limit what a forged bounce can do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("seat", sa.Column("bounces", sa.Integer(), nullable=False, server_default="0"))
    op.drop_column("seat", "lost")
    op.add_column("person", sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("person", "seen_at")
    op.add_column("seat", sa.Column("lost", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.drop_column("seat", "bounces")
