"""A heartbeat of each process, with its machine and how far its clock is from the database's.

The table `beat` stays as it is: processes of the version before, which still run, go on writing to it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "process",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("part", sa.String(10), nullable=False),
        sa.Column("machine", sa.String(64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("off", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", "part", name="pk_process"),
    )


def downgrade() -> None:
    op.drop_table("process")
