"""Store the organiser's personal line to the people they invite."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("game", sa.Column("message", sa.String(200), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("game", "message")
