"""Add indexes for the moderators' desk: games that need attention, and the newest games."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_game_created_at"), "game", ["created_at"])
    lost = sa.text("unreachable IS NOT NULL OR suppressed IS NOT NULL")
    op.create_index("ix_person_lost", "person", ["id"], sqlite_where=lost, postgresql_where=lost)
    away = sa.text("autopilot")
    op.create_index(
        "ix_seat_autopilot", "seat", ["game_id"], sqlite_where=sa.text("autopilot = 1"), postgresql_where=away
    )


def downgrade() -> None:
    op.drop_index("ix_seat_autopilot", "seat")
    op.drop_index("ix_person_lost", "person")
    op.drop_index(op.f("ix_game_created_at"), "game")
