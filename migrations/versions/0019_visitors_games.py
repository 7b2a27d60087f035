"""Mark the games that visitors play against bots without an address."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("game", sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(
        "ix_game_trial",
        "game",
        ["created_at"],
        sqlite_where=sa.text("trial = 1"),
        postgresql_where=sa.text("trial"),
    )


def downgrade() -> None:
    op.drop_index("ix_game_trial", "game")
    op.drop_column("game", "trial")
