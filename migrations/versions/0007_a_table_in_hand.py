"""Store what every move and page asks: the hash of the newest entry, who has left, and since when a player sits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

GENESIS = "0" * 64
"""The hash before the first entry, as docs/formats.md §2 defines it."""


def upgrade() -> None:
    op.add_column("game", sa.Column("head_hash", sa.String(64), nullable=False, server_default=GENESIS))
    op.add_column("seat", sa.Column("left", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("seat", sa.Column("held_since", sa.Integer(), nullable=False, server_default="0"))
    connection = op.get_bind()
    connection.execute(
        sa.text(
            "UPDATE game SET head_hash = (SELECT hash FROM entry WHERE game_id = game.id AND seq = game.head)"
            " WHERE head > 0"
        )
    )
    acts = sa.text(
        "SELECT game_id, seq, move FROM entry WHERE move LIKE '!leave %' OR move LIKE '!replace %'"
        " OR move LIKE '!autopilot % off' ORDER BY game_id, seq"
    )
    left: dict[tuple[str, int], bool] = {}
    for game_id, seq, move in connection.execute(acts).all():
        verb, seat, *_switch = move.split(" ")
        left[game_id, int(seat)] = verb == "!leave"
        if verb == "!replace":
            _set(connection, "held_since", seq, game_id, int(seat))
    for (game_id, seat), gone in left.items():
        if gone:
            _set(connection, "left", True, game_id, seat)


def _set(connection: sa.Connection, column: str, value: object, game_id: str, seat: int) -> None:
    seats = sa.table("seat", sa.column("game_id"), sa.column("seat"), sa.column(column))
    one = sa.update(seats).where(seats.c.game_id == game_id, seats.c.seat == seat)
    connection.execute(one.values({column: value}))


def downgrade() -> None:
    op.drop_column("seat", "held_since")
    op.drop_column("seat", "left")
    op.drop_column("game", "head_hash")
