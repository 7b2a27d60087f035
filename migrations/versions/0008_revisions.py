"""Count the revisions of a game: changes of what its page shows beside the log, whoever makes them.

Triggers count, because a change that forgot to would leave an erased name on a kept page.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

GAME = "name, status, quarantine, result, seed, commitment, time_zone"
SEAT = "name, cut, uncut"
"""The columns that show on the page of a finished game."""


def upgrade() -> None:
    op.add_column("game", sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("0")))
    if op.get_bind().dialect.name == "sqlite":
        for table, columns, game_id in (("game", GAME, "id"), ("seat", SEAT, "game_id")):
            op.execute(
                f"CREATE TRIGGER {table}_revision AFTER UPDATE OF {columns} ON {table} "
                f"BEGIN UPDATE game SET revision = revision + 1 WHERE id = NEW.{game_id}; END"
            )
        return
    op.execute(
        "CREATE FUNCTION count_game_revision() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.revision := OLD.revision + 1; RETURN NEW; END $$"
    )
    op.execute(
        "CREATE FUNCTION count_seat_revision() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN UPDATE game SET revision = revision + 1 WHERE id = NEW.game_id; RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER game_revision BEFORE UPDATE OF {GAME} ON game "
        "FOR EACH ROW EXECUTE FUNCTION count_game_revision()"
    )
    op.execute(
        f"CREATE TRIGGER seat_revision AFTER UPDATE OF {SEAT} ON seat "
        "FOR EACH ROW EXECUTE FUNCTION count_seat_revision()"
    )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table in ("game", "seat"):
            op.execute(f"DROP TRIGGER {table}_revision")
    else:
        for table in ("game", "seat"):
            op.execute(f"DROP TRIGGER {table}_revision ON {table}")
            op.execute(f"DROP FUNCTION count_{table}_revision()")
    op.drop_column("game", "revision")
