"""Facts instead of English sentences: what was stored in words becomes a code and its values.

A sentence is recognised by its words and keeps its reading in English; any other text, the words of a mail server
among them, becomes the code `text`. The sentences are those of the version before this one and never change here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COLUMNS = (
    ("received", "outcome", ("id",)),
    ("outbox", "error", ("id",)),
    ("person", "unreachable", ("id",)),
    ("person", "suppressed", ("id",)),
    ("turn", "refused", ("game_id", "seat")),
    ("standing_order", "reason", ("id",)),
    ("alarm", "text", ("id",)),
    ("game", "quarantine", ("id",)),
)
"""Table, column and primary key of each place where sentences were stored."""
NESTED = {"said", "why"}
"""Places that may hold a sentence themselves."""
SENTENCES = {
    "text": "%(text)s",
    "address_refused": "The address of a player is refused: %(said)s",
    "address_failed_before": "A player gets no mail, for his address did not take it before: %(said)s",
    "mail_unwanted": "A person has marked a mail of ours as unwanted and gets none any more: %(said)s",
    "mail_settings": "The mail server objects to our settings: %(said)s",
    "mail_late": "A mail (%(kind)s) waits since %(at)s UTC: %(said)s",
    "clock_jumped": (
        "The clock of the machine jumped. Nobody is played for until it is right: see byzanz doctor."
    ),
    "game_rests": "A game rests, for nobody in it answers.",
    "seat_left": "A player has left his game: give his seat to somebody else.",
    "seat_lost": "No mail has reached a player for 72 hours; the server plays for him.",
    "play_failed": "%(fault)s when the server or a bot was to play for a seat",
    "in_hand": "in hand",
    "ignored": "ignored: %(why)s",
    "another_address": "from another address",
    "carried_out": "%(done)s of %(of)s lines carried out",
    "failed": "failed: %(said)s",
    "delayed": "delayed: %(said)s",
    "complaint": "complaint: %(said)s",
    "nothing": "nothing: %(said)s",
    "ours": "it is a mail of ours",
    "too_big": "too big",
    "no_sender": "it has no sender to answer to",
    "automatic": "it was sent automatically: %(said)s",
    "bulk": "it is bulk mail",
    "machine": "a machine has sent it",
    "report": "it is a report",
    "automatic_subject": "its subject is that of an automatic answer",
    "not_delivered": "the mail was not delivered",
    "mail_delayed": "the mail is delayed",
    "no_failure": "a report that says nothing of a failure",
    "no_report": "no report",
    "no_address": "the person has no address any more",
    "silent": "the person wants no mail",
    "silent_here": "the person wants no mail about this game",
    "not_seated": "the person sits there no more",
    "has_left": "the person has left the game",
    "turn_over": "the turn is over",
    "no_time_left": "there is no time left to remind of",
    "not_over": "the game is not over",
    "invitation_closed": "the invitation is answered or withdrawn",
    "confirmation_closed": "the game is confirmed or called off",
    "link_dead": "the link is used or has expired",
    "no_digest": "the person wants no digest any more",
    "newer_digest": "a newer digest waits",
    "nothing_to_tell": "no game awaits the person",
    "told_by_another": "another mail has told it",
    "quarantined": "the game is set aside",
    "connection_lost": "connection lost: %(said)s",
    "no_connection": "no connection: %(said)s",
    "ascii_only": "the mail server takes no addresses with letters beyond ASCII",
    "bad_address": "no mail server can have this address",
    "game_over": "The game is over.",
    "left_game": "You have left the game.",
    "seat_replaced": "Somebody else has taken the seat.",
}
RULES = (
    "It could not be carried out as the table stands now.",
    "The price is %(price)s, and your order goes no further: your limit was %(limit)s.",
    "Nothing on your list for the tax is in the lot.",
    "Nothing on your list lies in the market.",
    "Nothing on your list for the hand limit is in your hand.",
    "None of the placements on your list is possible now.",
    "“%(move)s” is not possible any more.",
    "None of the cards on your list is in your hand.",
    "Nothing on your list can be answered now.",
)
"""Why an order stops, in the words of the rules; each is its own code."""
_PLACE = re.compile(r"%\((\w+)\)s")


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = _PLACE.split(sentence)
    parts[::2] = [re.escape(part) for part in parts[::2]]
    parts[1::2] = [f"(?P<{name}>.*)" for name in parts[1::2]]
    return re.compile("".join(parts), re.DOTALL)


_KNOWN = [(code, _pattern(said)) for code, said in (*SENTENCES.items(), *((said, said) for said in RULES))]
PATTERNS = sorted(_KNOWN, key=lambda known: known[0] == "text")  # any text at all, so it comes last


def fact(text: str) -> dict[str, Any]:
    """The code and the values of a stored text."""
    code, found = next((code, match) for code, pattern in PATTERNS if (match := pattern.fullmatch(text)))
    values = {name: fact(said) if name in NESTED else said for name, said in found.groupdict().items()}
    return {"code": code, "values": values}


def sentence(found: dict[str, Any]) -> str:
    """The English sentence of a fact."""
    values = {
        name: sentence(value) if isinstance(value, dict) else value for name, value in found["values"].items()
    }
    text: str = SENTENCES.get(found["code"], found["code"])
    return text % values if values else text


def upgrade() -> None:
    _rewrite(lambda text: json.dumps(fact(text), sort_keys=True, separators=(",", ":")))


def downgrade() -> None:
    _rewrite(lambda text: sentence(json.loads(text)))


def _rewrite(change: Callable[[str], str]) -> None:
    connection = op.get_bind()
    for name, column, keys in COLUMNS:
        table = sa.table(name, *(sa.column(key) for key in (column, *keys)))
        row = [table.c[key] == sa.bindparam(f"key_{key}") for key in keys]
        found = connection.execute(sa.select(table).where(table.c[column].is_not(None))).mappings().all()
        if found:
            values = [
                {"new": change(each[column])} | {f"key_{key}": each[key] for key in keys} for each in found
            ]
            connection.execute(sa.update(table).where(*row).values({column: sa.bindparam("new")}), values)
