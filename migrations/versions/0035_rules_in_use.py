"""An index of the rules in use, by which the scheduler finds games whose rules are not installed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

GOING_ON = sa.text("status IN ('asked', 'inviting', 'running') AND quarantine IS NULL")


def upgrade() -> None:
    op.create_index(
        "ix_game_rules", "game", ["slug", "rules"], sqlite_where=GOING_ON, postgresql_where=GOING_ON
    )


def downgrade() -> None:
    op.drop_index("ix_game_rules", "game")
