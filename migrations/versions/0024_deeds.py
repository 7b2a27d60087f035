"""What each use of a moderator's power was, whom it concerned and why, also of those that no log has."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("deed") as table:
        table.add_column(sa.Column("power", sa.String(10), nullable=False, server_default="act"))
        table.add_column(sa.Column("about_id", sa.Integer(), nullable=True))
        table.add_column(sa.Column("reason", sa.Text(), nullable=True))
        table.alter_column("game_id", existing_type=sa.String(16), nullable=True)
        table.alter_column("seq", existing_type=sa.Integer(), nullable=True)
        table.create_foreign_key("fk_deed_about_id_person", "person", ["about_id"], ["id"])
        table.create_index("ix_deed_about_id", ["about_id"])
    with op.batch_alter_table("deed") as table:
        table.alter_column("power", existing_type=sa.String(10), existing_nullable=False, server_default=None)


def downgrade() -> None:
    op.execute("DELETE FROM deed WHERE game_id IS NULL OR seq IS NULL")  # an older version lists entries only
    with op.batch_alter_table("deed") as table:
        table.drop_index("ix_deed_about_id")
        table.drop_constraint("fk_deed_about_id_person", type_="foreignkey")
        table.alter_column("game_id", existing_type=sa.String(16), nullable=False)
        table.alter_column("seq", existing_type=sa.Integer(), nullable=False)
        for column in ("power", "about_id", "reason"):
            table.drop_column(column)
