"""The email addresses of table talk have a purpose of their own, so that their tokens play nothing."""

from __future__ import annotations

from alembic import op

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A reply address has the head of the log when its turn opened; only those of table talk have none.
    op.execute("UPDATE link SET purpose = 'talk' WHERE purpose = 'reply' AND seq IS NULL")


def downgrade() -> None:
    op.execute("UPDATE link SET purpose = 'reply' WHERE purpose = 'talk'")
