"""The whole schema, with the triggers that keep the log append-only and count what changes beside it.

Columns have a default where an earlier migration added them to tables with rows; the application writes every value
itself.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
GENESIS = "0" * 64
"""The hash before the first entry, as docs/formats.md §2 defines it."""
GAME = "name, status, quarantine, result, seed, commitment, time_zone"
SEAT = "name, cut, uncut"
"""The columns that show on the page of a finished game; a change of one raises the game's `revision`."""


def upgrade() -> None:
    _people()
    _community()
    _games()
    _seats()
    _log()
    _turns()
    _moderators()
    _results()
    _talk()
    _links()
    _mail()
    _server()
    sqlite = op.get_bind().dialect.name == "sqlite"
    (_triggers_of_sqlite if sqlite else _triggers_of_postgresql)()


def downgrade() -> None:
    raise RuntimeError("there is nothing before the first tables: a log is never dropped")


def _index(
    name: str, table: str, *columns: str, unique: bool = False, where: str = "", on_sqlite: str = ""
) -> None:
    """Create an index, of the rows that a condition holds for if one is given.

    Args:
        on_sqlite: the condition as queries write it there, if it differs.
    """
    op.create_index(
        name,
        table,
        [*columns],
        unique=unique,
        postgresql_where=sa.text(where) if where else None,
        sqlite_where=sa.text(on_sqlite or where) if where else None,
    )


def _people() -> None:
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    long_ago = "2000-01-01 00:00:00.000000" if on_sqlite else "2000-01-01 00:00:00+00"
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("email", sa.String(254), unique=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("time_zone", sa.String(64)),
        sa.Column("moderator", sa.Boolean(), nullable=False),
        sa.Column("silent", sa.Boolean(), nullable=False),
        sa.Column("unreachable", sa.Text()),
        sa.Column("suppressed", sa.Text()),
        sa.Column("cadence", sa.String(10), nullable=False, server_default="each"),
        sa.Column("quiet_from", sa.Integer()),
        sa.Column("quiet_to", sa.Integer()),
        sa.Column("language", sa.String(5)),
        sa.Column("digest_at", TIME, nullable=False, server_default=long_ago),
        sa.Column("accepted", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("no_invitations", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("lost_at", TIME),
        sa.Column("retry_at", TIME),
        sa.Column("handle", sa.String(20)),
        sa.Column("skeleton", sa.String(20)),
        sa.Column("shown", sa.String(10), nullable=False, server_default="nobody"),
        sa.Column("talk", sa.String(10), nullable=False, server_default="turns"),
        sa.Column("silenced_until", TIME),
        sa.Column("silenced_why", sa.String(200)),
        sa.Column("no_player_news", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    _index("ix_person_digest", "person", "digest_at", where="cadence = 'digest'")
    _index("ix_person_lost", "person", "id", where="unreachable IS NOT NULL OR suppressed IS NOT NULL")
    _index("ix_person_skeleton", "person", "skeleton", unique=True)
    op.create_table(
        "absence",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), nullable=False, index=True),
        sa.Column("from_at", TIME, nullable=False),
        sa.Column("to_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )
    op.create_table(
        "address_change",
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("asked_at", TIME, nullable=False),
        sa.Column("confirmed_at", TIME),
        sa.Column("joins", sa.Boolean(), nullable=False),
        sa.Column("other_handle", sa.Boolean(), nullable=False),
        sa.Column("by_operator", sa.Boolean(), nullable=False),
    )


def _community() -> None:
    op.create_table(
        "former_handle",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("until", TIME, nullable=False),
        sa.Column("handle", sa.String(20)),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
    )
    op.create_table(
        "reliability",
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("decisions", sa.Integer(), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.Column("median", sa.Integer(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("abandoned", sa.Integer(), nullable=False),
    )
    op.create_table(
        "block",
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("other_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True, index=True),
        sa.Column("at", TIME, nullable=False),
    )
    op.create_table(
        "mute",
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("other_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True, index=True),
    )
    op.create_table(
        "wish",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), nullable=False, index=True),
        sa.Column("slug", sa.String(20)),
        sa.Column("size", sa.Integer()),
        sa.Column("pace", sa.Integer()),
        sa.Column("created_at", TIME, nullable=False),
    )


def _games() -> None:
    op.create_table(
        "game",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("slug", sa.String(20), nullable=False),
        sa.Column("rules", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("organiser_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("status", sa.String(10), nullable=False, index=True),
        sa.Column("allowance", sa.Integer(), nullable=False),
        sa.Column("seed", sa.String(64), nullable=False),
        sa.Column("commitment", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False, index=True),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.String(64), nullable=False),
        sa.Column("listed", sa.Boolean(), nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("ended_at", TIME),
        sa.Column("head", sa.Integer(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("result", sa.Text()),
        sa.Column("quarantine", sa.Text()),
        sa.Column("bank", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("days_off", sa.String(7), nullable=False, server_default=""),
        sa.Column("head_hash", sa.String(64), nullable=False, server_default=GENESIS),
        sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("mails_dated", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("record_format", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("cut_order", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("cuts_made", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("message", sa.String(200), nullable=False, server_default=""),
        sa.Column("past_unknown", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("counted_at", TIME),
        sa.Column("open_until", TIME),
        sa.Column("listed_at", TIME),
        sa.Column("asks", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("keep_going", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("talk", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("said", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("noted", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("origin", sa.String(40)),
    )
    _index("ix_game_kept_going", "game", "ended_at", where="keep_going", on_sqlite="keep_going = 1")
    _index("ix_game_on_hold", "game", "id", where="quarantine IS NOT NULL")
    _index("ix_game_open", "game", "open_until", where="open_until IS NOT NULL")
    _index("ix_game_took", "game", "slug", "allowance", "ended_at", where="status = 'over'")
    _index("ix_game_trial", "game", "created_at", where="trial", on_sqlite="trial = 1")
    ended = "started_at IS NOT NULL AND ended_at IS NOT NULL AND counted_at IS NULL"
    _index("ix_game_uncounted", "game", "ended_at", where=ended)
    _index(
        "ix_game_undated",
        "game",
        "ended_at",
        where="ended_at IS NOT NULL AND NOT mails_dated",
        on_sqlite="ended_at IS NOT NULL AND mails_dated = 0",
    )


def _seats() -> None:
    op.create_table(
        "seat",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("seat", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("bot", sa.String(20)),
        sa.Column("cut", sa.Text(), nullable=False),
        sa.Column("uncut", sa.Boolean(), nullable=False),
        sa.Column("silent", sa.Boolean(), nullable=False),
        sa.Column("invited_at", TIME),
        sa.Column("answered_at", TIME),
        sa.Column("bank", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("missed", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("autopilot", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("left", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("held_since", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("cut_number", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("bounces", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("offered_at", TIME),
    )
    _index("ix_seat_autopilot", "seat", "game_id", where="autopilot", on_sqlite="autopilot = 1")
    _index("ix_seat_invited", "seat", "invited_at", where="status = 'invited'")
    _index("ix_seat_offered", "seat", "offered_at", where="offered_at IS NOT NULL")
    op.create_table(
        "presence",
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("at", TIME, nullable=False),
    )


def _log() -> None:
    op.create_table(
        "entry",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("seat", sa.Integer()),
        sa.Column("by", sa.String(10), nullable=False),
        sa.Column("move", sa.Text(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("request_id", sa.String(64)),
        sa.Column("seconds", sa.Integer()),
        sa.CheckConstraint("length(salt) = 16 AND length(hash) = 32", name="lengths"),
        sqlite_with_rowid=False,
    )
    _index(
        "uq_entry_game_id_seat_request_id",
        "entry",
        "game_id",
        "seat",
        "request_id",
        unique=True,
        where="request_id IS NOT NULL",
    )
    op.create_table(
        "snapshot",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("format", sa.String(40), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
    )


def _turns() -> None:
    op.create_table(
        "turn",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("seat", sa.Integer(), primary_key=True),
        sa.Column("question", sa.String(40), nullable=False),
        sa.Column("opened_seq", sa.Integer(), nullable=False),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("bot", sa.Boolean(), nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("extra", sa.Integer(), nullable=False),
        sa.Column("credited", sa.Integer(), nullable=False),
        sa.Column("due_at", TIME, index=True),
        sa.Column("remind_at", TIME, index=True),
        sa.Column("refused", sa.Text()),
        sa.Column("hours", sa.Text(), nullable=False, server_default="{}"),
        sa.Column("bank", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("refused_at", TIME, index=True),
        sa.Column("anew", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("mail_failed", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    _index("ix_turn_bots", "turn", "opened_at", where="bot", on_sqlite="bot = 1")
    _index("ix_turn_unstarted", "turn", "opened_at", where="started_at IS NULL AND refused IS NULL")
    op.create_table(
        "standing_order",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("occasion", sa.String(40), nullable=False),
        sa.Column("left_at", TIME, nullable=False),
        sa.Column("left_seq", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("ended_at", TIME),
        sa.Column("ended_seq", sa.Integer()),
        sa.UniqueConstraint("game_id", "seat", "number"),
    )
    _index("ix_standing_order_place", "standing_order", "game_id", "seat", "status")


def _moderators() -> None:
    op.create_table(
        "deed",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), index=True),
        sa.Column("seq", sa.Integer()),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("power", sa.String(10), nullable=False),
        sa.Column("about_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("reason", sa.Text()),
    )


def _results() -> None:
    op.create_table(
        "tenure",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("seat", sa.Integer(), primary_key=True),
        sa.Column("from_seq", sa.Integer(), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("bot", sa.String(20)),
        sa.Column("to_seq", sa.Integer()),
    )
    _index("ix_tenure_held", "tenure", "game_id", "seat", where="to_seq IS NULL")
    op.create_table(
        "standing",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("seat", sa.Integer(), primary_key=True),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("bot", sa.String(20)),
    )
    op.create_table(
        "conduct",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True),
        sa.Column("ended_at", TIME, nullable=False),
        sa.Column("abandoned", sa.Boolean(), nullable=False),
        sa.Column("substitute", sa.Boolean(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
    )
    _index("ix_conduct_person_id", "conduct", "person_id", "ended_at")
    op.create_table(
        "rematch",
        sa.Column("after_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), nullable=False, unique=True),
    )


def _talk() -> None:
    op.create_table(
        "word",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), nullable=False, index=True),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(500), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.Column("hidden_at", TIME),
        sa.Column("hidden_why", sa.String(200)),
        sa.UniqueConstraint("game_id", "number"),
        sa.UniqueConstraint("game_id", "person_id", "request_id"),
    )
    _index("ix_word_hidden", "word", "hidden_at", where="hidden_at IS NOT NULL")
    op.create_table(
        "notes",
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), primary_key=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True, index=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
    )


def _links() -> None:
    op.create_table(
        "browser_session",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), nullable=False, index=True),
        sa.Column("browser", sa.String(60), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("used_at", TIME, nullable=False),
    )
    op.create_table(
        "link",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("purpose", sa.String(10), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), nullable=False, index=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), index=True),
        sa.Column("expires_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.Column("used_at", TIME),
        sa.Column("seq", sa.Integer()),
        sa.Column("used_by", sa.String(64)),
    )


def _mail() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(120), nullable=False, unique=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("not_before", TIME, nullable=False),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id")),
        sa.Column("seat", sa.Integer()),
        sa.Column("seq", sa.Integer()),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("leased_until", TIME),
        sa.Column("finished_at", TIME),
        sa.Column("error", sa.Text()),
        sa.Column("delete_at", TIME),
        sa.Column("leased_by", sa.String(40)),
        sa.Column("tried_at", TIME),
        sa.Column("counts_at", TIME),
        sa.Column("origin", sa.String(40)),
    )
    _index("ix_outbox_counted", "outbox", "counts_at", where="counts_at IS NOT NULL")
    _index("ix_outbox_expiring", "outbox", "delete_at", where="delete_at IS NOT NULL")
    _index("ix_outbox_failed", "outbox", "not_before", where="status = 'failed'")
    _index("ix_outbox_person_id", "outbox", "person_id", where="kind <> 'turn'")
    _index("ix_outbox_reader", "outbox", "game_id", "person_id")
    _index("ix_outbox_tried", "outbox", "tried_at", where="status = 'waiting' AND tried_at IS NOT NULL")
    _index("ix_outbox_waiting", "outbox", "not_before", where="status = 'waiting'")
    op.create_table(
        "received",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id"), index=True),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id"), index=True),
        sa.Column("seat", sa.Integer()),
    )


def _server() -> None:
    op.create_table(
        "alarm",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(120), nullable=False, unique=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("game_id", sa.String(16), sa.ForeignKey("game.id")),
        sa.Column("cleared_at", TIME),
    )
    _index("ix_alarm_open", "alarm", "at", where="cleared_at IS NULL")
    op.create_table(
        "beat",
        sa.Column("part", sa.String(10), primary_key=True),
        sa.Column("at", TIME, nullable=False),
    )
    op.create_table(
        "process",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("part", sa.String(10), primary_key=True),
        sa.Column("machine", sa.String(64), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("off", sa.Integer(), nullable=False),
    )
    op.create_table(
        "outage",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("part", sa.String(10), nullable=False),
        sa.Column("from_at", TIME, nullable=False),
        sa.Column("to_at", TIME, nullable=False, index=True),
        sa.UniqueConstraint("part", "from_at"),
    )
    op.create_table(
        "submission",
        sa.Column("key", sa.LargeBinary(), primary_key=True),
        sa.Column("at", TIME, nullable=False, index=True),
        sa.Column("answer", sa.String(300)),
    )
    op.create_table(
        "total",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.BigInteger(), nullable=False),
    )


def _triggers_of_sqlite() -> None:
    for what in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER entry_no_{what.lower()} BEFORE {what} ON entry "
            "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        )
    for table, columns, game_id in (("game", GAME, "id"), ("seat", SEAT, "game_id")):
        op.execute(
            f"CREATE TRIGGER {table}_revision AFTER UPDATE OF {columns} ON {table} "
            f"BEGIN UPDATE game SET revision = revision + 1 WHERE id = NEW.{game_id}; END"
        )


def _triggers_of_postgresql() -> None:
    bodies = {
        "entry_is_append_only": "RAISE EXCEPTION 'the log is append-only';",
        "count_game_revision": "NEW.revision := OLD.revision + 1; RETURN NEW;",
        "count_seat_revision": "UPDATE game SET revision = revision + 1 WHERE id = NEW.game_id; RETURN NULL;",
    }
    for name, body in bodies.items():
        op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$")
    for trigger in (
        "entry_no_change BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION entry_is_append_only()",
        "entry_no_truncate BEFORE TRUNCATE ON entry FOR EACH STATEMENT EXECUTE FUNCTION entry_is_append_only()",
        f"game_revision BEFORE UPDATE OF {GAME} ON game FOR EACH ROW EXECUTE FUNCTION count_game_revision()",
        f"seat_revision AFTER UPDATE OF {SEAT} ON seat FOR EACH ROW EXECUTE FUNCTION count_seat_revision()",
    ):
        op.execute(f"CREATE TRIGGER {trigger}")
