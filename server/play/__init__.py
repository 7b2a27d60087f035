"""The one way a running game changes: only this package appends entries, opens, starts, stops and closes turns, and
pauses, quarantines and ends games.

Functions that take a session work in the transaction of their caller, under the lock of the game. Every other function
is one transaction of its own: it locks the game, looks again whether what it was asked still holds, and commits the
entries, the snapshot and the turns together, with what `events` let others add.

Other packages change games through the names below, and read them through `history`, `positions`,
`turns`, `clock` and `autopilot`.
"""

from __future__ import annotations

from server.play.deliveries import (
    LATEST_DIGEST,
    NamedTurn,
    TurnKey,
    address_works,
    digest_accepted,
    digest_failed,
    digest_overdue,
    digest_switched_off,
    forget_reason,
    games_with_stopped_turns,
    has_stopped_turns,
    lock_games,
    mail_accepted,
    mail_dropped,
    mail_failed,
    mail_switched_off,
    turns_for_digest,
)
from server.play.moderation import moderate
from server.play.moves import (
    LEAVES,
    LONGEST_TEXT,
    REQUEST_ID,
    Receipt,
    begin,
    leave,
    reclaim,
    set_time_control,
    submit,
)
from server.play.orders import (
    MOST_ORDERS,
    OrderOutlook,
    OrderPreview,
    OrderResult,
    confirm_orders,
    outlooks,
    place_order,
    preview_order,
    withdraw_order,
)
from server.play.running import change, hold_or_release, in_hand, lock_game, quarantine, quarantine_if_faulty
from server.play.seats import (
    absent_since,
    end_trial,
    keep_trial,
    not_offered,
    offer_seat,
    offered_from,
    take_seat,
    withdraw_offer,
)
from server.play.timeouts import give_up, remind, reset_future_turns, time_out

__all__ = [
    "LATEST_DIGEST",
    "LEAVES",
    "LONGEST_TEXT",
    "MOST_ORDERS",
    "REQUEST_ID",
    "NamedTurn",
    "OrderOutlook",
    "OrderPreview",
    "OrderResult",
    "Receipt",
    "TurnKey",
    "absent_since",
    "address_works",
    "begin",
    "change",
    "confirm_orders",
    "digest_accepted",
    "digest_failed",
    "digest_overdue",
    "digest_switched_off",
    "end_trial",
    "forget_reason",
    "games_with_stopped_turns",
    "give_up",
    "has_stopped_turns",
    "hold_or_release",
    "in_hand",
    "keep_trial",
    "leave",
    "lock_game",
    "lock_games",
    "mail_accepted",
    "mail_dropped",
    "mail_failed",
    "mail_switched_off",
    "moderate",
    "not_offered",
    "offer_seat",
    "offered_from",
    "outlooks",
    "place_order",
    "preview_order",
    "quarantine",
    "quarantine_if_faulty",
    "reclaim",
    "remind",
    "reset_future_turns",
    "set_time_control",
    "submit",
    "take_seat",
    "time_out",
    "turns_for_digest",
    "withdraw_offer",
    "withdraw_order",
]
