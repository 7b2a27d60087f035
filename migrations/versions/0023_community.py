"""Tables for who held which seat, results, reliability, blocks, rematches, open tables and table talk."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
COLUMNS = (
    ("game", "past_unknown", sa.Boolean(), sa.false()),
    ("game", "counted_at", TIME, None),
    ("game", "open_until", TIME, None),
    ("game", "listed_at", TIME, None),
    ("game", "asks", sa.Integer(), "0"),
    ("game", "keep_going", sa.Boolean(), sa.false()),
    ("game", "talk", sa.Boolean(), sa.true()),
    ("game", "said", sa.Integer(), "0"),
    ("game", "noted", sa.Boolean(), sa.false()),
    ("seat", "offered_at", TIME, None),
    ("entry", "seconds", sa.Integer(), None),
    ("turn", "mail_failed", sa.Boolean(), sa.false()),
    ("person", "handle", sa.String(20), None),
    ("person", "skeleton", sa.String(20), None),
    ("person", "shown", sa.String(10), "nobody"),
    ("person", "talk", sa.String(10), "turns"),
    ("person", "silenced_until", TIME, None),
    ("person", "silenced_why", sa.String(200), None),
)
"""Table, column, type and default; those without a default may be empty."""
INDEXES = (
    (
        "ix_game_uncounted",
        "game",
        ("ended_at",),
        "started_at IS NOT NULL AND ended_at IS NOT NULL AND counted_at IS NULL",
    ),
    ("ix_game_open", "game", ("open_until",), "open_until IS NOT NULL"),
    ("ix_game_took", "game", ("slug", "allowance", "ended_at"), "status = 'over'"),
    ("ix_seat_offered", "seat", ("offered_at",), "offered_at IS NOT NULL"),
)

INDEXED = (
    ("tenure", "person_id"),
    ("standing", "person_id"),
    ("former_handle", "person_id"),
    ("block", "other_id"),
    ("wish", "person_id"),
    ("word", "person_id"),
    ("mute", "other_id"),
    ("notes", "person_id"),
)
TABLES = (
    *("tenure", "standing", "conduct", "reliability", "former_handle", "block"),
    *("rematch", "wish", "word", "mute", "notes"),
)


def _key(*columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns)


def _game(name: str = "game_id") -> tuple[sa.Column[str], sa.ForeignKeyConstraint]:
    return sa.Column(name, sa.String(16), nullable=False), sa.ForeignKeyConstraint([name], ["game.id"])


def _person(
    name: str = "person_id", *, nullable: bool = False
) -> tuple[sa.Column[int], sa.ForeignKeyConstraint]:
    return sa.Column(name, sa.Integer(), nullable=nullable), sa.ForeignKeyConstraint([name], ["person.id"])


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _tables() -> None:
    op.create_table(
        "tenure",
        *_game(),
        *_numbers("seat", "from_seq"),
        *_person(nullable=True),
        sa.Column("bot", sa.String(20)),
        sa.Column("to_seq", sa.Integer()),
        _key("game_id", "seat", "from_seq"),
    )
    op.create_table(
        "standing",
        *_game(),
        *_numbers("seat", "place", "score"),
        *_person(nullable=True),
        sa.Column("bot", sa.String(20)),
        _key("game_id", "seat"),
    )
    op.create_table(
        "conduct",
        *_game(),
        *_person(),
        sa.Column("ended_at", TIME, nullable=False),
        sa.Column("abandoned", sa.Boolean(), nullable=False),
        sa.Column("substitute", sa.Boolean(), nullable=False),
        sa.Column("answers", sa.Text(), nullable=False),
        _key("game_id", "person_id"),
    )
    op.create_table(
        "reliability",
        *_person(),
        *_numbers("decisions", "missed", "median", "games", "abandoned"),
        _key("person_id"),
    )
    op.create_table(
        "former_handle",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.Column("handle", sa.String(20)),
        *_person(nullable=True),
        _key("digest"),
    )
    op.create_table(
        "block",
        *_person(),
        *_person("other_id"),
        sa.Column("at", TIME, nullable=False),
        _key("person_id", "other_id"),
    )
    op.create_table("rematch", *_game("after_id"), *_game(), _key("after_id"), sa.UniqueConstraint("game_id"))
    op.create_table(
        "wish",
        *_numbers("id"),
        *_person(),
        sa.Column("slug", sa.String(20)),
        sa.Column("size", sa.Integer()),
        sa.Column("pace", sa.Integer()),
        sa.Column("created_at", TIME, nullable=False),
        _key("id"),
    )
    op.create_table(
        "word",
        *_numbers("id"),
        *_game(),
        *_numbers("number"),
        *_person(),
        *_numbers("seat"),
        sa.Column("text", sa.String(500), nullable=False),
        sa.Column("at", TIME, nullable=False),
        *_numbers("seq"),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.Column("hidden_at", TIME),
        sa.Column("hidden_why", sa.String(200)),
        _key("id"),
        sa.UniqueConstraint("game_id", "number"),
        sa.UniqueConstraint("game_id", "person_id", "request_id"),
    )
    op.create_table("mute", *_person(), *_person("other_id"), _key("person_id", "other_id"))
    op.create_table(
        "notes",
        *_game(),
        *_person(),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        _key("game_id", "person_id"),
    )


def _index_of_outbox(old: str, new: str, kinds: str) -> None:
    """Replace the index that counts the emails to strangers within an hour."""
    op.drop_index(old, "outbox")
    where = sa.text(kinds)
    op.create_index(new, "outbox", ["created_at"], sqlite_where=where, postgresql_where=where)


def upgrade() -> None:
    for table, name, kind, default in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=default is None, server_default=default))
    for name, table, columns, condition in INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, [*columns], sqlite_where=where, postgresql_where=where)
    op.create_index(
        "ix_game_kept_going",
        "game",
        ["ended_at"],
        sqlite_where=sa.text("keep_going = 1"),
        postgresql_where=sa.text("keep_going"),
    )
    op.create_index("ix_person_skeleton", "person", ["skeleton"], unique=True)
    _tables()
    held = sa.text("to_seq IS NULL")
    op.create_index("ix_tenure_held", "tenure", ["game_id", "seat"], sqlite_where=held, postgresql_where=held)
    hidden = sa.text("hidden_at IS NOT NULL")
    op.create_index("ix_word_hidden", "word", ["hidden_at"], sqlite_where=hidden, postgresql_where=hidden)
    op.create_index("ix_conduct_person_id", "conduct", ["person_id", "ended_at"])
    for table, column in INDEXED:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
    _index_of_outbox("ix_outbox_invitations", "ix_outbox_reaching", "kind IN ('invite', 'nudge', 'signin')")
    _open_tables()


def _open_tables() -> None:
    """Let listed tables that wait for players wait three weeks more."""
    free = "SELECT 1 FROM seat WHERE seat.game_id = game.id AND seat.status = 'free'"
    true = "1" if op.get_bind().dialect.name == "sqlite" else "true"
    later = (
        "CAST(strftime('%s', 'now', '+21 days') AS INTEGER) * 1000000"  # microseconds, as all times there
        if op.get_bind().dialect.name == "sqlite"
        else "now() + interval '21 days'"
    )
    op.execute(
        f"UPDATE game SET open_until = {later}, listed_at = created_at "
        f"WHERE listed = {true} AND status = 'inviting' AND EXISTS ({free})"
    )

    op.execute("UPDATE turn SET mail_failed = (refused IS NOT NULL OR anew)")
    _fill_tenures()


GAME = sa.table("game", sa.column("id"), sa.column("started_at"), sa.column("past_unknown"))
SEAT = sa.table("seat", *map(sa.column, ("game_id", "seat", "person_id", "bot", "left")))
PERSON = sa.table("person", sa.column("id"), sa.column("email"), sa.column("silent", sa.Boolean()))
ENTRY = sa.table("entry", *map(sa.column, ("game_id", "seq", "seat", "move")))
TENURE = sa.table("tenure", *map(sa.column, ("game_id", "seat", "from_seq", "person_id", "bot", "to_seq")))
AT_ONCE = 1000


def _fill_tenures() -> None:
    """Write who held the seats of the games that have begun.

    Without a `!replace`, the holder of a seat has held it from the start, except between leaving and returning, which
    the log says. With one, nobody knows who sat there before: each seat gets one tenure, of its present holder, so that
    later acts find one to end; such a game is marked, and never counted. An erased person holds nothing.
    """
    run = op.get_bind()
    acts: dict[tuple[str, int], list[tuple[int, str]]] = {}
    unknown = set()
    move = ENTRY.c.move
    wanted = move.like("!replace %") | move.like("!leave %") | move.like("!autopilot % off")
    found = sa.select(ENTRY).where(wanted).order_by(ENTRY.c.game_id, ENTRY.c.seq)
    for game_id, seq, seat, text in run.execute(found):
        acts.setdefault((game_id, seat), []).append((seq, text))
        if text.startswith("!replace"):
            unknown.add(game_id)
    rows = []
    for seat in run.execute(_seats()).all():
        known = seat.game_id not in unknown
        rows += _tenures(seat, acts.get((seat.game_id, seat.seat), []) if known else [])
    for at in range(0, len(rows), AT_ONCE):
        run.execute(TENURE.insert(), rows[at : at + AT_ONCE])
    if unknown:
        marked = GAME.update().where(GAME.c.id == sa.bindparam("game")).values(past_unknown=sa.true())
        run.execute(marked, [{"game": game_id} for game_id in sorted(unknown)])


def _seats() -> sa.Select[tuple[object, ...]]:
    """Select the seats of games that have begun, each with its holder unless they were erased."""
    erased = PERSON.c.email.is_(None) & PERSON.c.silent  # a visitor has no address either
    holder = sa.case((erased, sa.null()), else_=SEAT.c.person_id).label("holder")
    return (
        sa.select(SEAT.c.game_id, SEAT.c.seat, SEAT.c.bot, SEAT.c.left, holder)
        .join(GAME, GAME.c.id == SEAT.c.game_id)
        .outerjoin(PERSON, PERSON.c.id == SEAT.c.person_id)
        .where(GAME.c.started_at.is_not(None))
        .order_by(SEAT.c.game_id, SEAT.c.seat)
    )


def _tenures(seat: sa.Row[tuple[object, ...]], acts: list[tuple[int, str]]) -> list[dict[str, object]]:
    """Return the tenures of a seat.

    Args:
        acts: with which its player left and returned, as seq and move; none if they are not to be trusted.
    """
    changes, gone = [(0, bool(seat.left) and not acts)], False
    for seq, move in acts:
        if move.startswith("!leave") != gone:
            gone = not gone
            changes.append((seq, gone))
    ends = [seq for seq, _ in changes[1:]] + [None]
    return [
        {
            "game_id": seat.game_id,
            "seat": seat.seat,
            "from_seq": seq,
            "to_seq": end,
            "person_id": None if left else seat.holder,
            "bot": None if left else seat.bot,
        }
        for (seq, left), end in zip(changes, ends, strict=True)
    ]


def downgrade() -> None:
    _index_of_outbox("ix_outbox_reaching", "ix_outbox_invitations", "kind IN ('invite', 'nudge')")
    for table in reversed(TABLES):
        op.drop_table(table)
    op.drop_index("ix_person_skeleton", "person")
    op.drop_index("ix_game_kept_going", "game")
    for name, table, _columns, _condition in INDEXES:
        op.drop_index(name, table)
    for table, name, _kind, _default in reversed(COLUMNS):
        op.drop_column(table, name)
