"""Remember which mailer holds a lease, so that it frees its own at once when it starts again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("leased_by", sa.String(40), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "leased_by")
