"""What followed from the newest moves: kept beside the stored state, so that no page replays a log to tell it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from byzanz import record, umpire
from byzanz.moves import Message
from byzanz.parsing import written
from byzanz.rules import PUBLIC, Rules

LOGGER = logging.getLogger(__name__)
NEWEST = 64
"""It is kept of the moves among this many newest entries, more than a turn page or an email shows."""

Followed: TypeAlias = Mapping[int, Sequence[Message]]
"""What followed from each move from which something did, by the seq of its entry."""


def is_told(rules: Rules[Any, Any]) -> bool:
    """Whether a game says itself what followed from a move."""
    return type(rules).followed is not Rules.followed


def messages(rules: Rules[Any, Any], before: Any, after: Any) -> tuple[Message, ...]:
    """What followed from one move, as it is stored; nothing if the game fails to say it, so that the game goes on.

    Args:
        before: PUBLIC's view before it.
        after: PUBLIC's view after it.
    """
    try:
        told = [Message(*each) for each in json.loads(written(rules.followed(before, after)))]
        for each in told:
            for sentence in (each.text, each.you):
                sentence % {**each.places, **each.seats}  # a place that is missing is found here
    except Exception:
        LOGGER.exception("%s does not say what followed from a move", rules.slug)
        return ()
    return tuple(told)


def extended(
    rules: Rules[Any, Any], state: Any, kept: Followed, entries: Iterable[tuple[int, int | None, str]]
) -> Followed:
    """What followed from the newest moves after more entries.

    Args:
        state: before these entries.
        kept: what was told by then.
        entries: seq, seat and move of each; no move comes after a void.
    """
    if not is_told(rules):
        return {}
    found, seq, before = dict(kept), 0, rules.view(state, PUBLIC)
    for seq, seat, move in entries:
        if move.startswith("!void "):
            found = {each: told for each, told in found.items() if each < int(move.split(" ")[1])}
        elif not move.startswith("!"):
            state = rules.apply(state, seat, umpire.read_logged(rules, move))
            after = rules.view(state, PUBLIC)
            if told := messages(rules, before, after):
                found[seq] = told
            before = after
    return {each: told for each, told in found.items() if each > seq - NEWEST}


def of_log(rules: Rules[Any, Any], state: Any, entries: Sequence[record.Entry]) -> Followed:
    """What followed from the newest moves of a whole log.

    Args:
        state: before its first entry.
    """
    return extended(
        rules, state, {}, [(each.seq, each.seat, each.move) for each in record.effective(entries)]
    )


def encode(found: Followed) -> str:
    """One line of text."""
    return written({str(seq): told for seq, told in found.items()})


def decode(text: str) -> Followed:
    """What `encode` wrote.

    Raises:
        ValueError, TypeError: the text is of another format.
    """
    return {int(seq): tuple([Message(*each) for each in told]) for seq, told in json.loads(text).items()}
