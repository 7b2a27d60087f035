"""Store the format of each game's record, and the order in which its cuts were made.

Games that have begun, and those that a process of the version before begins, keep the first format.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("game", sa.Column("record_format", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("game", sa.Column("cut_order", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("game", sa.Column("cuts_made", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("seat", sa.Column("cut_number", sa.Integer(), nullable=False, server_default="0"))
    connection = op.get_bind()
    seats = sa.text(
        "SELECT game_id, seat FROM seat WHERE status = 'seated' AND person_id IS NOT NULL AND answered_at IS NOT NULL"
        " AND game_id IN (SELECT id FROM game WHERE status = 'inviting') ORDER BY game_id, answered_at, seat"
    )
    number = sa.text("UPDATE seat SET cut_number = :number WHERE game_id = :game AND seat = :seat")
    made: dict[str, int] = {}
    for game, seat in connection.execute(seats).all():
        made[game] = made.get(game, 0) + 1
        connection.execute(number, {"number": made[game], "game": game, "seat": seat})
    for game, count in made.items():
        counted = sa.text("UPDATE game SET cuts_made = :count WHERE id = :game")
        connection.execute(counted, {"count": count, "game": game})


def downgrade() -> None:
    op.drop_column("seat", "cut_number")
    for column in ("cuts_made", "cut_order", "record_format"):
        op.drop_column("game", column)
