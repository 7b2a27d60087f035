"""The one way a running game changes; only this package appends entries and opens, starts, stops or closes turns.

Each function is one transaction under the lock of one game.
"""

from __future__ import annotations

from server.play.moderation.moderate import moderate
from server.play.moves import LONGEST_TEXT, REQUEST_ID, Receipt, begin, submit
from server.play.seat import (
    LEAVES,
    MOST_ORDERS,
    Ordered,
    Previewed,
    confirm_orders,
    leave_game,
    leave_order,
    preview_order,
    reclaim,
    withdraw_order,
)
from server.play.timeouts import give_up, time_out

__all__ = [
    "LEAVES",
    "LONGEST_TEXT",
    "MOST_ORDERS",
    "REQUEST_ID",
    "Ordered",
    "Previewed",
    "Receipt",
    "begin",
    "confirm_orders",
    "give_up",
    "leave_game",
    "leave_order",
    "moderate",
    "preview_order",
    "reclaim",
    "submit",
    "time_out",
    "withdraw_order",
]
