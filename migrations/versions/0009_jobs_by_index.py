"""Add what lets each job of the scheduler start from the few rows concerned, and old emails be deleted.

Emails that were sent before are emptied. Those without a game are deleted after another month.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

DIGEST = sa.text("cadence = 'digest'")
PARTIAL = {
    "ix_turn_unstarted": ("turn", "opened_at", "started_at IS NULL AND refused IS NULL"),
    "ix_seat_invited": ("seat", "invited_at", "status = 'invited'"),
    "ix_outbox_waiting": ("outbox", "not_before", "status = 'waiting'"),
    "ix_outbox_failed": ("outbox", "not_before", "status = 'failed'"),
    "ix_outbox_person_id": ("outbox", "person_id", "kind <> 'turn'"),
    "ix_outbox_expiring": ("outbox", "delete_at", "delete_at IS NOT NULL"),
    "ix_game_undated": ("game", "ended_at", "ended_at IS NOT NULL AND NOT mails_dated"),
}
"""New indexes of few rows: table, column and condition."""


TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    long_ago = sa.text("'2000-01-01 00:00:00.000000'")
    if op.get_bind().dialect.name == "postgresql":
        long_ago = sa.text("'2000-01-01 00:00:00+00'")
    op.add_column("person", sa.Column("digest_at", TIME, nullable=False, server_default=long_ago))
    op.drop_index("ix_person_digest", "person")
    op.create_index("ix_person_digest", "person", ["digest_at"], sqlite_where=DIGEST, postgresql_where=DIGEST)
    op.add_column("outbox", sa.Column("delete_at", TIME, nullable=True))
    op.add_column("game", sa.Column("mails_dated", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "total",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_total")),
    )
    _forget_sent_mail(op.get_bind())
    op.drop_index("ix_outbox_waiting", "outbox")
    op.drop_index(op.f("ix_outbox_person_id"), "outbox")
    op.create_index("ix_outbox_reader", "outbox", ["game_id", "person_id"])
    op.drop_index(op.f("ix_outbox_game_id"), "outbox")
    for name, (table, column, condition) in PARTIAL.items():
        where, plain = sa.text(condition), sa.text(condition.replace("NOT mails_dated", "mails_dated = 0"))
        op.create_index(name, table, [column], sqlite_where=plain, postgresql_where=where)


def _forget_sent_mail(connection: sa.Connection) -> None:
    """Empty the emails that were sent or dropped, and date the deletion of those without a game."""
    outbox = sa.table(
        "outbox",
        *(sa.column(name) for name in ("status", "kind", "details", "game_id")),
        sa.column("delete_at", TIME),
    )
    finished = sa.update(outbox).where(outbox.c.status != "waiting")
    read_later = ("confirm", "digest")
    connection.execute(finished.where(outbox.c.kind.not_in(read_later)).values(details="{}"))
    in_a_month = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=30)
    connection.execute(finished.where(outbox.c.game_id.is_(None)).values(delete_at=in_a_month))


def downgrade() -> None:
    for name, (table, _column, _condition) in PARTIAL.items():
        op.drop_index(name, table)
    op.drop_table("total")
    op.drop_column("game", "mails_dated")
    op.drop_column("outbox", "delete_at")
    op.create_index(op.f("ix_outbox_game_id"), "outbox", ["game_id"])
    op.create_index(op.f("ix_outbox_person_id"), "outbox", ["person_id"])
    op.create_index("ix_outbox_waiting", "outbox", ["status", "not_before"])
    op.drop_index("ix_outbox_reader", "outbox")
    op.drop_index("ix_person_digest", "person")
    op.create_index("ix_person_digest", "person", ["id"], sqlite_where=DIGEST, postgresql_where=DIGEST)
    op.drop_column("person", "digest_at")
