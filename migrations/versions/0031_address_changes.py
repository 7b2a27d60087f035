"""A table for the addresses that are about to change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "address_change",
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("asked_at", TIME, nullable=False),
        sa.Column("confirmed_at", TIME),
        *(sa.Column(name, sa.Boolean(), nullable=False) for name in ("joins", "other_handle", "by_operator")),
        sa.PrimaryKeyConstraint("person_id"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"]),
    )


def downgrade() -> None:
    op.drop_table("address_change")
