"""Forms that were sent; and skeletons of handles in which `rn` is written like `m`, which it looks like."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

PERSON = sa.table(
    "person", sa.column("id", sa.Integer), sa.column("handle", sa.String), sa.column("skeleton", sa.String)
)
ALIKE = str.maketrans("oli_s", "011-5")


def upgrade() -> None:
    """Write them anew; where two people have had handles that now look alike, both keep them."""
    connection = op.get_bind()
    op.create_table(
        "submission",
        sa.Column("key", sa.LargeBinary(), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", sa.String(300)),
    )
    op.create_index("ix_submission_at", "submission", ["at"])
    held = connection.execute(
        sa.select(PERSON.c.id, PERSON.c.skeleton).where(PERSON.c.skeleton.is_not(None)).order_by(PERSON.c.id)
    ).all()
    taken = {skeleton for _id, skeleton in held}
    for person, skeleton in held:
        new = skeleton.replace("rn", "m")
        if new not in taken:
            taken.add(new)
            connection.execute(sa.update(PERSON).where(PERSON.c.id == person).values(skeleton=new))


def downgrade() -> None:
    """Write them as before."""
    op.drop_table("submission")
    connection = op.get_bind()
    held = sa.select(PERSON.c.id, PERSON.c.handle).where(PERSON.c.skeleton.is_not(None))
    for person, handle in connection.execute(held).all():
        old = handle.casefold().translate(ALIKE)
        connection.execute(sa.update(PERSON).where(PERSON.c.id == person).values(skeleton=old))
