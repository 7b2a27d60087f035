"""Drop `game.past_unknown`, which marked games whose seats were given away before tenures were kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("game", "past_unknown")


def downgrade() -> None:
    op.add_column("game", sa.Column("past_unknown", sa.Boolean(), nullable=False, server_default=sa.false()))
