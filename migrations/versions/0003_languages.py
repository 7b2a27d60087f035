"""Add the language a person has chosen."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("person", sa.Column("language", sa.String(length=5), nullable=True))


def downgrade() -> None:
    raise RuntimeError("there is no way back: what people have chosen would be lost")
