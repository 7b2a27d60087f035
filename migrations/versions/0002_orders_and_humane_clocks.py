"""Add standing orders, the hours that a clock leaves out, and incoming email."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _widen()
    op.create_table(
        "absence",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("from_at", TIME, nullable=False),
        sa.Column("to_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_absence_person_id_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_absence")),
    )
    op.create_index(op.f("ix_absence_person_id"), "absence", ["person_id"])
    op.create_table(
        "standing_order",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("game_id", sa.String(length=16), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("occasion", sa.String(length=40), nullable=False),
        sa.Column("left_at", TIME, nullable=False),
        sa.Column("left_seq", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("ended_seq", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name=op.f("fk_standing_order_game_id_game")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_standing_order")),
        sa.UniqueConstraint("game_id", "seat", "number", name=op.f("uq_standing_order_game_id_seat_number")),
    )
    op.create_index("ix_standing_order_place", "standing_order", ["game_id", "seat", "status"])
    op.create_table(
        "received",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("game_id", sa.String(length=16), nullable=True),
        sa.Column("seat", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_received_person_id_person")),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name=op.f("fk_received_game_id_game")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_received")),
        sa.UniqueConstraint("digest", name=op.f("uq_received_digest")),
    )
    op.create_index(op.f("ix_received_person_id"), "received", ["person_id"])
    op.create_index(op.f("ix_received_game_id"), "received", ["game_id"])


def _widen() -> None:
    """Add columns; the server default fills existing rows, and the application writes every later value."""
    nothing, none, no = sa.text("''"), sa.text("0"), sa.false()
    columns = {
        "person": [
            sa.Column("suppressed", sa.Text(), nullable=True),
            sa.Column("cadence", sa.String(length=10), nullable=False, server_default=sa.text("'each'")),
            sa.Column("quiet_from", sa.Integer(), nullable=True),
            sa.Column("quiet_to", sa.Integer(), nullable=True),
        ],
        "game": [
            sa.Column("bank", sa.Integer(), nullable=False, server_default=none),
            sa.Column("days_off", sa.String(length=7), nullable=False, server_default=nothing),
        ],
        "seat": [
            sa.Column("bank", sa.Integer(), nullable=False, server_default=none),
            sa.Column("missed", sa.Integer(), nullable=False, server_default=none),
            sa.Column("autopilot", sa.Boolean(), nullable=False, server_default=no),
            sa.Column("lost", sa.Boolean(), nullable=False, server_default=no),
        ],
        "link": [sa.Column("seq", sa.Integer(), nullable=True)],
        "turn": [
            sa.Column("hours", sa.Text(), nullable=False, server_default=sa.text("'{}'")),
            sa.Column("bank", sa.Integer(), nullable=False, server_default=none),
            sa.Column("refused_at", TIME, nullable=True),
        ],
    }
    for table, added in columns.items():
        for column in added:
            op.add_column(table, column)
    op.create_index(op.f("ix_turn_refused_at"), "turn", ["refused_at"])
    digest = sa.text("cadence = 'digest'")
    op.create_index("ix_person_digest", "person", ["id"], sqlite_where=digest, postgresql_where=digest)


def downgrade() -> None:
    raise RuntimeError("there is no way back: orders and evidence would be lost")
