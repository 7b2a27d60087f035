"""Table talk on the page of a turn: what was said, who may say something, and what is said along with a move."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import flask

from server.community import talk
from server.community.plain_text import is_masked
from server.community.talk import Said
from server.errors import Closed, Refused
from server.play.game import Table
from server.store.links import SeatAccess
from server.store.models import Word
from server.web.game.history import HistoryLine
from server.web.game.talk import MOST, dated, woven
from server.web.http import refusal_text

NEWEST = 3
"""The words of others that stand among the news, shortened; the log has them whole."""
DONE = ("said", "masked", "reported", "muted", "deleted", "noted")
"""What the page confirms."""


def context(
    table: Table,
    access: SeatAccess,
    shown: Mapping[str, Sequence[HistoryLine]],
    after: int,
    zone: str,
    now: datetime,
) -> dict[str, Any]:
    """Return what the page of a turn says of table talk, and the log with it.

    Args:
        shown: the `lines` of the log since the player's last move, the oldest first, and those `earlier`.
        after: the entry before `lines`.
        zone: the reader's time zone.
    """
    game, me = table.game, access.link.person_id
    lines, earlier = shown["lines"], shown["earlier"]
    if game.trial:
        return {"woven": lines, "before": earlier, "news_said": (), "talk": None, "notes": None}
    said: list[Said] = []
    notes = ""
    if game.said or game.noted:
        first = earlier[0].entry.seq if earlier else after
        said, notes = talk.at_table(table.session, game.id, me, first, MOST)
    words = dated(said, zone)
    since = [word for word in words if word.said.seq >= after]
    company = any(seat.person_id not in (None, me) for seat in table.seats)
    done = flask.request.args.get("done", "")
    return {
        "woven": woven(lines, since),
        "before": woven(earlier, [word for word in words if word.said.seq < after]),
        "news_said": [word for word in since if not word.said.own and not word.said.hidden][-NEWEST:],
        "talk": {
            "shown": company or bool(words),
            "closed": _closed(table, access, now),
            "words": bool(words),
            "longest": talk.LONGEST,
            "request_id": secrets.token_urlsafe(16),
            "done": done if done in DONE else "",
        },
        "notes": notes,
    }


def _closed(table: Table, access: SeatAccess, now: datetime) -> str:
    """Return why this player cannot say anything now; empty if they can."""
    try:
        talk.check_open(table.game, now)
        if access.seat.person is not None:
            talk.check_silenced(access.seat.person, now)
        talk.check_present(access.seat)
    except Closed as why:
        return refusal_text(why)
    return ""


def done_with(word: Word) -> str:
    """Return what the page confirms about something that was just said."""
    return "masked" if is_masked(word.text) else "said"


def say_along(access: SeatAccess, request_id: str, now: datetime) -> tuple[Refused | None, str | None]:
    """Say what the form of a move, which has been played, brought along.

    Returns:
        Why that was refused, if it was, and what the page has to confirm about it, if anything.
    """
    text = flask.request.form.get("say", "")
    if not text.strip():
        return None, None
    try:
        word = talk.say(
            access.game.id,
            access.link.person_id,
            text,
            request_id=f"move.{request_id}"[:64],
            now=now,
            link_id=access.link.id,
        )
    except Refused as refusal:
        return refusal, None
    return None, "masked" if is_masked(word.text) else None
