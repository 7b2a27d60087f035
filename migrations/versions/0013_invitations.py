"""Store who has accepted an invitation and who wants none, and count the invitations of an hour by an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

INVITATION = sa.text("kind IN ('invite', 'nudge')")
KNOWN = (
    "moderator OR EXISTS (SELECT 1 FROM seat WHERE seat.person_id = person.id AND seat.status = 'seated')"
    " OR EXISTS (SELECT 1 FROM game WHERE game.organiser_id = person.id AND game.status <> 'asked')"
)
"""People who had accepted an invitation or sent some before."""


def upgrade() -> None:
    for name in ("accepted", "no_invitations"):
        op.add_column("person", sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false()))
    true = "true" if op.get_bind().dialect.name == "postgresql" else "1"
    op.execute(f"UPDATE person SET accepted = {true} WHERE {KNOWN}")
    op.create_index(
        "ix_outbox_invitations",
        "outbox",
        ["created_at"],
        sqlite_where=INVITATION,
        postgresql_where=INVITATION,
    )


def downgrade() -> None:
    op.drop_index("ix_outbox_invitations", "outbox")
    for name in ("no_invitations", "accepted"):
        op.drop_column("person", name)
