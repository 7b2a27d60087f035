"""Store when an address failed, and when one that failed for a time is tried again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("lost_at", "retry_at"):
        op.add_column("person", sa.Column(name, sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    for name in ("retry_at", "lost_at"):
        op.drop_column("person", name)
