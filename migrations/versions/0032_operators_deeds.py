"""Deeds of the operator, who is no person in the database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("deed") as table:
        table.alter_column("person_id", existing_type=sa.Integer(), nullable=True)


def downgrade() -> None:
    op.execute("DELETE FROM deed WHERE person_id IS NULL")  # an older version lists those of moderators only
    with op.batch_alter_table("deed") as table:
        table.alter_column("person_id", existing_type=sa.Integer(), nullable=False)
