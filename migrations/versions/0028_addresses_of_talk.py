"""Addresses of table talk get a purpose of their own; words lose the email addresses and tokens that they show."""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None

EMAIL = re.compile(r"[^\s<>]+@[^\s<>]+")
TOKEN = re.compile(r"[^\s<>]*\b[A-Za-z2-7]{26}\b[^\s<>]*")
LONGEST = 500


def upgrade() -> None:
    # A reply address has the head of the log when its turn opened; only those of table talk have none.
    op.execute("UPDATE link SET purpose = 'talk' WHERE purpose = 'reply' AND seq IS NULL")
    word = sa.table("word", sa.column("id", sa.Integer), sa.column("text", sa.String))
    connection = op.get_bind()
    for number, text in connection.execute(sa.select(word.c.id, word.c.text)).all():
        masked = TOKEN.sub("[link]", EMAIL.sub("[address]", text))[:LONGEST]
        if masked != text:
            connection.execute(sa.update(word).where(word.c.id == number).values(text=masked))


def downgrade() -> None:
    op.execute("UPDATE link SET purpose = 'reply' WHERE purpose = 'talk'")
