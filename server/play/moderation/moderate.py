"""The entry point for every act of a moderator."""

from __future__ import annotations

from datetime import datetime

from server.errors import Stale
from server.play import mailing, running
from server.play.moderation import acts, powers
from server.play.moderation.act import Act, Newcomer
from server.play.quarantines import quarantine_if_broken
from server.store.engine import transaction


def moderate(
    game_id: str,
    act: str,
    *,
    reason: str,
    person_id: int,
    now: datetime,
    newcomer: Newcomer | None = None,
    seen: int | None = None,
    keep_link: bool = False,
    warned: bool = False,
) -> int:
    """Carry out a moderator's act: an entry with its reason, its effect, and an email to the table.

    One transaction, which locks the game.

    Args:
        act: as the log writes it (docs/formats.md §2): `!void 7`, `!extend 2 3600`.
        reason: one line, public for good.
        person_id: the moderator; stored beside the log, not in it.
        newcomer: the new player of a `!replace`.
        seen: the head of the log when the moderator decided; the act is refused if the log has grown since.
        keep_link: of a `!link`: email the same link again instead of a new one that revokes it.
        warned: the only moderator, who has a stake at this table, has confirmed that the table reads so.

    Returns:
        The seq of the act's entry.

    Raises:
        Conflict: the moderator has a stake at this table.
        Refused: the act is unknown, malformed, or not possible now; nothing has changed.
    """
    with (
        quarantine_if_broken(game_id, now),
        transaction(game_id) as session,
        running.in_hand(session, game_id, now) as table,
    ):
        if seen is not None and seen != table.game.head:
            raise Stale("The game has moved on since the preview. Look again.")
        words = tuple(act.split())
        acts.check_known(words)
        by = powers.Asker(person_id, reason.strip(), warned)
        seats = acts.gives_time(session, game_id, words)
        deed = powers.use(session, words[0], by, now, game_id=game_id, gives_time=seats, longest=None)
        acts.check(session, table.game, words, reason)
        assert deed.reason is not None
        seq = deed.seq = acts.carry_out(table, Act(words, deed.reason, person_id, now, newcomer, keep_link))
        # These acts send that seat an email of their own.
        own = words[0] == "!replace" or (words[0] == "!autopilot" and words[2] == "on")
        left_out = int(words[1]) if own else None
        mailing.mail_table(table, "act", f"act:{game_id}:{seq}", now, seq=seq, leave_out=left_out)
        return seq
