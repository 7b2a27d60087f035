"""Indexes for jobs that read whole tables: the rules in use, and what becomes too old to keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

GOING_ON = sa.text("status NOT IN ('over', 'cancelled') AND quarantine IS NULL")


def upgrade() -> None:
    op.create_index(
        "ix_game_rules", "game", ["slug", "rules", "id"], sqlite_where=GOING_ON, postgresql_where=GOING_ON
    )
    over = sa.text("status = 'over'")
    op.create_index("ix_game_newest", "game", ["slug", "ended_at"], sqlite_where=over, postgresql_where=over)
    op.create_index(
        "ix_person_moderator",
        "person",
        ["id"],
        sqlite_where=sa.text("moderator = 1"),
        postgresql_where=sa.text("moderator"),
    )
    op.create_index("ix_presence_at", "presence", ["at"])
    op.create_index("ix_former_handle_until", "former_handle", ["until"])


def downgrade() -> None:
    op.drop_index("ix_former_handle_until", "former_handle")
    op.drop_index("ix_presence_at", "presence")
    op.drop_index("ix_person_moderator", "person")
    op.drop_index("ix_game_newest", "game")
    op.drop_index("ix_game_rules", "game")
